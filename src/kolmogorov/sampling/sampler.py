"""Chains from their start to their last draw, with callbacks and a limit of time, wherever they run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.base import by_users, entry_rows
from kolmogorov.fitted.emission import chances_of_yes, hides_ratings
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.running import threaded_group
from kolmogorov.sampling.chains.source import ChainSource, chain_kind
from kolmogorov.sampling.chains.state import Sample, SamplerState
from kolmogorov.sampling.cluster import ClusterGroups
from kolmogorov.sampling.features import Features
from kolmogorov.sampling.gpu import gpu_group
from kolmogorov.sampling.plan import LOOKS, Plan

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


class ChainGroup(Protocol):
    """Some chains, all after the same number of sweeps."""

    #: Whether nothing is seen of them before their last sweep.
    unseen: bool

    def __len__(self) -> int: ...

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps; return, for each that the plan keeps, the models of all chains."""


def _groups(
    execution: Threads | Cuda | Dask, source: ChainSource
) -> Callable[[SamplerState], AbstractContextManager[ChainGroup]]:
    """Return what opens the next group: of chains that are under way, if there are any, or else of those to come."""
    if isinstance(execution, Dask):
        return ClusterGroups(execution, source)
    if isinstance(execution, Cuda):
        return partial(gpu_group, execution, source)
    return partial(threaded_group, execution, source)


@dataclass
class Sampler:
    """One run over all chains, from where `progress` is; `on_draw` is told every sweep and may end it."""

    plan: Plan
    table: Observations
    features: Features
    progress: SamplerState
    test: Observations | None
    on_draw: Callable[[SamplingProgress], bool]
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        self._held_out = None if self.test is None else HeldOutError(self.table, self.test, self.plan)
        self._began = time.monotonic()
        self._n_groups = 0

    @property
    def kept(self) -> bool:
        """Whether there are any draws."""
        return any(self.progress.samples)

    def posterior(self) -> Posterior:
        """Return the draws kept. Chains that were ended early are left out, unless no other is through."""
        progress = self.progress
        chains = progress.samples[: progress.chain] if progress.chain else progress.samples
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
            training=by_users(self.table),
            priors={name: np.array([sample.priors[name] for sample in samples]) for name in names},
            levels=self.plan.levels,
            unobserved=self.plan.unobserved,
        )

    def run(self, execution: Threads | Cuda | Dask) -> None:
        """Go through the chains, group by group; as many of them run side by side as the execution has room for."""
        progress = self.progress
        with execution as place:
            opened = _groups(place, ChainSource(self.plan, self.table, self.features, progress.seed))
            while progress.chain < self.plan.n_chains and self._worth_another() and not self._enough():
                if self._run_group(opened(progress)):
                    return

    def _run_group(self, opened: AbstractContextManager[ChainGroup]) -> bool:
        """Run a group to its last draw; tell whether sampling is to end then or ended before."""
        progress = self.progress
        with opened as group:
            if not progress.current:
                progress.samples += [[] for _ in range(len(group))]
            stopping = self._sweep(group)
        if progress.sweep >= self.plan.n_sweeps:
            progress.chain, progress.sweep, progress.current = progress.chain + len(group), 0, []
            self._n_groups += 1
        return stopping

    def _sweep(self, group: ChainGroup) -> bool:
        """Sweep a group until its last draw; tell whether sampling is to end, which may be before that."""
        progress = self.progress
        began = look = time.monotonic()
        timed = self.max_seconds is not None and progress.chain == 0
        trial = progress.sweep + _TRIAL if timed else 0
        stride, stopping = self.plan.n_sweeps if group.unseen else 1, False
        while progress.sweep < self.plan.n_sweeps:
            last = min(progress.sweep + stride, self.plan.n_sweeps)
            if progress.sweep < trial < last:
                last = trial
            sweeps = range(progress.sweep + 1, last + 1)
            kept = iter(group.run(sweeps, self.plan))
            for index in sweeps:
                stopping = self._take(index, kept, index == last or not group.unseen) or stopping
                if (stopping or self._left() <= 0.0) and self.kept:
                    return True
            now = time.monotonic()
            stride = max(1, min(int(_LOOK * len(sweeps) / max(now - look, 1e-9)), _LONGEST))
            look = now
            if last == trial:
                self._fit_into_time((now - began) / _TRIAL)
        return False

    def _take(self, index: int, kept: Iterator[list[Sample]], told: bool) -> bool:
        """Take over what a group kept of a sweep, and tell of it; return whether sampling is to end."""
        progress = self.progress
        progress.sweep = index
        under_way = progress.samples[progress.chain :]
        if self.plan.keeps(index):
            for samples, sample in zip(under_way, next(kept), strict=True):
                samples.append(sample)
                if self._held_out is not None:
                    self._held_out.add(sample)
        if not told:
            return False
        rmse = None if self._held_out is None else self._held_out.rmse
        sizes = (self.plan.n_chains, self.plan.n_sweeps)
        said = [self.on_draw(SamplingProgress(progress.chain + k, index, *sizes, rmse)) for k in range(len(under_way))]
        return any(said)

    def _enough(self) -> bool:
        """Whether the average of the chains has settled: more of them would hardly take anything off its error."""
        plan, n_chains = self.plan, self.progress.chain
        if not plan.enough or n_chains not in LOOKS:
            return False
        return (
            averaging_left(self.table, self.progress.samples[:n_chains], hides_ratings(plan.likelihood, plan.levels))
            < plan.enough
        )

    # --- time -----------------------------------------------------------------------------------------------------

    def _left(self) -> float:
        return math.inf if self.max_seconds is None else self.max_seconds - (time.monotonic() - self._began)

    def _fit_into_time(self, seconds: float) -> None:
        """Shorten the plan to what the time left is enough for, given the seconds of a sweep."""
        begun = self.progress.sweep
        self.plan = self.plan.shortened(begun + int(_RESERVE * self._left() / seconds), begun)

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
