"""From a table and a plan to draws: features, chains wherever they run, a checkpoint, and Ctrl-C."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from kolmogorov._support.files import check_writable
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data.attributes.reading import TableAttributes
from kolmogorov.data.table.observations import Observations
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.base import checked
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.state import SamplerState
from kolmogorov.sampling.checkpoint import ChainCheckpoint
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.placement import attributed
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.sampler import Sampler, SamplingProgress


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is to be drawn.

    `on_draw` is told of every sweep and may end the drawing. With a `fixed_seed` a checkpoint must have this seed;
    otherwise its own is taken up. `test` are held-out data on the table's scale, `known` attributes of its users and
    items.
    """

    plan: Plan
    seed: int
    on_draw: Callable[[SamplingProgress], bool]
    checkpoint: str | os.PathLike[str] | None = None
    fixed_seed: bool = True
    test: Observations | None = None
    max_seconds: float | None = None
    known: TableAttributes = field(default_factory=TableAttributes)

    def run(
        self, table: Observations, execution: Threads | Cuda | Dask, *, keep_interrupted: bool = False
    ) -> tuple[Posterior, bool]:
        """Return the draws, and whether Ctrl-C ended them early, which some must have been kept to survive."""
        with one_blas_thread():
            features = pattern_features(table, self.plan.n_features).with_attributes(self.known)
            keeper, progress = None, SamplerState(self.seed)
            if self.checkpoint is not None:
                keeper = ChainCheckpoint(self.checkpoint, self._identity(table), self.seed if self.fixed_seed else None)
                check_writable(self.checkpoint)
                progress = keeper.read(features, table, self.plan) or progress
            sampler = Sampler(self.plan, table, features, progress, keeper, self.test, self.on_draw, self.max_seconds)
            try:
                sampler.run(execution)
            except KeyboardInterrupt:
                if not keep_interrupted or not sampler.kept:
                    raise
                return self._ended(sampler), True
            return self._ended(sampler), False

    def _ended(self, sampler: Sampler) -> Posterior:
        posterior = checked(sampler.posterior())
        return attributed(posterior, self.known) if self.known else posterior

    def _identity(self, table: Observations) -> str:
        """Return a digest of everything but the seed that the draws depend on."""
        plan = vars(self.plan) | {"levels": self.plan.levels.tolist()}
        text = repr((plan, table.fingerprint(), *([self.known.digest()] if self.known else [])))
        return hashlib.sha256(text.encode()).hexdigest()
