"""From a table and a plan to draws: features, chains wherever they run, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data.attributes.reading import TableAttributes
from kolmogorov.data.table.observations import Observations
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.base import checked
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.state import SamplerState
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.placement import attributed
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.sampler import Sampler, SamplingProgress


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is to be drawn.

    `on_draw` is told of every sweep and may end the drawing. `test` are held-out data on the table's scale,
    `known` attributes of its users and items.
    """

    plan: Plan
    seed: int
    on_draw: Callable[[SamplingProgress], bool]
    test: Observations | None = None
    max_seconds: float | None = None
    known: TableAttributes = field(default_factory=TableAttributes)

    def run(
        self, table: Observations, execution: Threads | Cuda | Dask, *, keep_interrupted: bool = False
    ) -> tuple[Posterior, bool]:
        """Return the draws, and whether Ctrl-C ended them early, which some must have been kept to survive."""
        with one_blas_thread():
            features = pattern_features(table, self.plan.n_features).with_attributes(self.known)
            progress = SamplerState(self.seed)
            sampler = Sampler(self.plan, table, features, progress, self.test, self.on_draw, self.max_seconds)
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
