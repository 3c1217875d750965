"""From a table and a plan to draws: chains from their start to their last draw, wherever they run, with callbacks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.cluster.dask import Dask
from kolmogorov.data import Observations
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.descent.fitted import entry_rows
from kolmogorov.draws.chain import ChainState, Sample
from kolmogorov.draws.emission import chances_of_yes, hides_ratings
from kolmogorov.draws.features import pattern_features
from kolmogorov.draws.placement import attributed
from kolmogorov.draws.plan import LOOKS, Plan
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.running import ChainGroup, ChainSource, ClusterGroups, chain_kind, threaded_group
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.draws import gpu_group

#: Seconds that chains are left to themselves, about, and sweeps at most: what a callback waits for. By judgement.
_LOOK, _LONGEST = 0.5, 20
#: Training entries at which chains are compared. By judgement.
_ENTRIES = 5_000
#: Sweeps after which the length of the others is known, and the share of the time left they may take. By judgement.
_TRIAL, _RESERVE = 5, 0.9


@dataclass(frozen=True)
class SamplingProgress:
    """Progress of sampling, as a callback sees it.

    Attributes
    ----------
    chain, sweep : int
        Counted from 0 and from 1.
    n_chains, n_sweeps : int
    rmse : float or None
        Of the average of the draws kept so far on the test data, on the probability scale.
    """

    chain: int
    sweep: int
    n_chains: int
    n_sweeps: int
    rmse: float | None


def drawn(
    plan: Plan,
    table: Observations,
    seed: int,
    execution: Threads | Cuda | Dask,
    on_draw: Callable[[SamplingProgress], bool],
    *,
    known: TableAttributes | None = None,
    test: Observations | None = None,
    max_seconds: float | None = None,
    keep_interrupted: bool = False,
) -> tuple[Posterior, bool]:
    """Return draws, and whether Ctrl-C ended them early, which some must have been kept to survive.

    `on_draw` is told of every sweep and may end the drawing. `test` are held-out data on the table's scale, `known`
    attributes of its users and items.
    """
    interrupted, known = False, known or TableAttributes()
    with one_blas_thread():
        features = pattern_features(table, plan.n_features).with_attributes(known)
        sampler = Sampler(ChainSource(plan, table, features, seed), on_draw, test, max_seconds)
        try:
            sampler.run(execution)
        except KeyboardInterrupt:
            if not keep_interrupted or not sampler.kept:
                raise
            interrupted = True
        posterior = sampler.posterior().checked()
        return attributed(posterior, known) if known else posterior, interrupted


@dataclass
class Sampler:
    """One run over all chains; `on_draw` is told of every sweep and may end it.

    Chains begin in `states`, one of each, or where chains of their table do. Draws are by chain: `n_through` of them
    are through, the others are under way and have as many each.
    """

    source: ChainSource
    on_draw: Callable[[SamplingProgress], bool]
    test: Observations | None = None
    max_seconds: float | None = None
    states: list[ChainState] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plan, self.table = self.source.plan, self.source.table
        self.samples: list[list[Sample]] = []
        self.n_through = self._n_groups = 0
        self._held_out = None if self.test is None else HeldOutError(self.table, self.test, self.plan)
        self._began = time.monotonic()

    @property
    def kept(self) -> bool:
        """Whether there are any draws."""
        return any(self.samples)

    def posterior(self) -> Posterior:
        """Return the draws kept. Chains that were ended early are left out, unless no other is through."""
        chains = self.samples[: self.n_through] if self.n_through else self.samples
        # Ctrl-C may come between the draws of chains that run side by side.
        least = min(map(len, chains))
        samples = [sample for chain in chains for sample in chain[:least]]
        names = chain_kind(self.plan).prior_names
        return Posterior(
            theta=np.array([sample.theta for sample in samples]),
            psi=np.array([sample.psi for sample in samples]),
            noise=np.array([sample.noise for sample in samples]),
            n_chains=len(chains),
            likelihood=self.plan.likelihood,
            training=self.table.over(),
            priors={name: np.array([sample.priors[name] for sample in samples]) for name in names},
            levels=self.plan.levels,
            unobserved=self.plan.unobserved,
        )

    def run(self, execution: Threads | Cuda | Dask) -> None:
        """Go through the chains, group by group; as many of them run side by side as the execution has room for."""
        with execution as place:
            opened = self._groups(place)
            while self.n_through < self.plan.n_chains and self._worth_another() and not self._enough():
                with opened(self.n_through) as group:
                    self.samples += [[] for _ in range(len(group))]
                    last, stopping = self._sweep(group)
                if last >= self.plan.n_sweeps:
                    self.n_through += len(group)
                    self._n_groups += 1
                if stopping:
                    return

    def _groups(self, place: Threads | Cuda | Dask) -> Callable[[int], AbstractContextManager[ChainGroup]]:
        """Return what opens the next group of chains, from that of a number on."""
        if isinstance(place, Dask):
            return ClusterGroups(place, self.source)
        if isinstance(place, Cuda):
            return partial(gpu_group, place, self.source)
        return partial(threaded_group, place, self.source, self.states)

    def _sweep(self, group: ChainGroup) -> tuple[int, bool]:
        """Sweep a group until its last draw; return the last sweep and whether sampling is to end, maybe before."""
        began = look = time.monotonic()
        trial = _TRIAL if self.max_seconds is not None and self.n_through == 0 else 0
        done, stride, stopping = 0, self.plan.n_sweeps if group.unseen else 1, False
        while done < self.plan.n_sweeps:
            last = min(done + stride, self.plan.n_sweeps)
            if done < trial < last:
                last = trial
            sweeps = range(done + 1, last + 1)
            kept = iter(group.run(sweeps, self.plan))
            for index in sweeps:
                stopping = self._take(index, kept, index == last or not group.unseen) or stopping
                if (stopping or self._left() <= 0.0) and self.kept:
                    return index, True
            now = time.monotonic()
            stride = max(1, min(int(_LOOK * len(sweeps) / max(now - look, 1e-9)), _LONGEST))
            look, done = now, last
            if last == trial:
                # What the time left is enough for, given the seconds of a sweep.
                n_sweeps = done + int(_RESERVE * self._left() * _TRIAL / (now - began))
                self.plan = self.plan.shortened(n_sweeps, done)
        return done, stopping

    def _take(self, index: int, kept: Iterator[list[Sample]], told: bool) -> bool:
        """Take over what a group kept of a sweep, and tell of it; return whether sampling is to end."""
        under_way = self.samples[self.n_through :]
        if self.plan.keeps(index):
            for samples, sample in zip(under_way, next(kept), strict=True):
                samples.append(sample)
                if self._held_out is not None:
                    self._held_out.add(sample)
        if not told:
            return False
        rmse = None if self._held_out is None else self._held_out.rmse
        sizes = (self.plan.n_chains, self.plan.n_sweeps)
        said = [self.on_draw(SamplingProgress(self.n_through + k, index, *sizes, rmse)) for k in range(len(under_way))]
        return any(said)

    def _enough(self) -> bool:
        """Whether the average of the chains has settled: more of them would hardly take anything off its error."""
        plan, n_chains = self.plan, self.n_through
        if not plan.enough or n_chains not in LOOKS:
            return False
        return averaging_left(self.table, self.samples, hides_ratings(plan.likelihood, plan.levels)) < plan.enough

    # --- time -----------------------------------------------------------------------------------------------------

    def _left(self) -> float:
        return math.inf if self.max_seconds is None else self.max_seconds - (time.monotonic() - self._began)

    def _worth_another(self) -> bool:
        """Whether another group can be run in the time left, if it takes as long as those before."""
        gone = time.monotonic() - self._began
        return not self._n_groups or self._left() > gone / self._n_groups


class HeldOutError:
    """The running average of predictions on held-out entries whose user and item are known, and its error."""

    def __init__(self, table: Observations, test: Observations, plan: Plan) -> None:
        users, items = entry_rows(table, test)
        # A row -1 is unknown; the flag behind the last row says so.
        seen_users, seen_items = (np.append(view.counts > 0, False) for view in (table.rows, table.columns))
        known = seen_users[users] & seen_items[items]
        self._users, self._items = users[known], items[known]
        self._values = test.values[known]
        self._hidden = hides_ratings(plan.likelihood, plan.levels)
        self._sum = np.zeros(len(self._values))
        self._count = 0

    def add(self, sample: Sample) -> None:
        """Take in one more draw."""
        self._sum += said_of(sample, self._users, self._items, self._hidden)
        self._count += 1

    @property
    def rmse(self) -> float | None:
        """Error of the average so far; None before the first draw is kept."""
        if not self._count or not len(self._values):
            return None
        return float(np.sqrt(((self._sum / self._count - self._values) ** 2).mean()))


def said_of(sample: Sample, users: Rows, items: Rows, hidden: bool) -> Floats:
    """Return what a draw says of aligned rows: its products, or the chances of a yes where ratings are `hidden`."""
    said: Floats = np.einsum("nd,nd->n", sample.theta[users].astype(np.float64), sample.psi[items])
    return chances_of_yes(said) if hidden else said


def averaging_left(table: Observations, chains: list[list[Sample]], hidden: bool) -> float:
    """Return the share of the squared error that an average over endlessly many chains would be without.

    Averages of n independent chains vary by V / n, where V is how much those of single chains do; it is measured at
    some of the training entries, beside the squared error there.
    """
    chosen = np.linspace(0, len(table) - 1, min(len(table), _ENTRIES)).astype(np.int64)
    users, items, values = table.user_rows()[chosen], table.item_rows()[chosen], table.values[chosen]
    means = np.zeros((len(chains), chosen.size))
    for mean, samples in zip(means, chains, strict=True):
        for sample in samples:
            mean += said_of(sample, users, items, hidden)
        mean /= len(samples)
    error = float(((means.mean(axis=0) - values) ** 2).mean())
    return float(means.var(axis=0, ddof=1).mean()) / len(chains) / max(error, 1e-12)
