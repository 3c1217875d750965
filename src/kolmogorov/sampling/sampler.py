"""Chains from their start to their last draw: side by side here or on a GPU, or each as a task of a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data import Observations
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.base import by_users, entry_rows
from kolmogorov.fitted.emission import bounds_of
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.chain import Chain, Sample
from kolmogorov.sampling.chains.group import Abreast, chains_on_device, chains_on_threads
from kolmogorov.sampling.checkpoint import ChainCheckpoint, SamplerState
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors.features import Features

#: Seconds between two checkpoints.
_PAUSE = 10.0
#: Seconds that chains are left to themselves, about, and sweeps at most.
_LOOK, _LONGEST = 0.5, 20
#: Sweeps after which the length of the others is known, and the share of the time left that they may take.
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


@dataclass
class Sampler:
    """One run over all chains, from where `progress` is; `on_draw` is told every sweep and may end it."""

    plan: Plan
    table: Observations
    features: Features
    progress: SamplerState
    keeper: ChainCheckpoint | None
    test: Observations | None
    on_draw: Callable[[SamplingProgress], bool]
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        self._held_out = None if self.test is None else HeldOutError(self.table, self.test, self.plan)
        self._began = self._written = time.monotonic()
        self._rounds = 0

    def execute(self, execution: Threads | Cuda | Dask) -> None:
        """Run all chains, on threads here, on a GPU, or as tasks of a cluster."""
        with execution as place:
            if isinstance(place, Dask):
                self.run_on(place)
            else:
                self.run(place)

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
        chains = [chain[:least] for chain in chains]
        samples = [sample for chain in chains for sample in chain]
        return Posterior(
            theta=np.array([sample.theta for sample in samples]),
            psi=np.array([sample.psi for sample in samples]),
            noise=np.array([sample.noise for sample in samples]),
            n_chains=len(chains),
            likelihood=self.plan.likelihood,
            training=by_users(self.table),
            priors={name: np.array([sample.priors[name] for sample in samples]) for name in self.plan.prior_names},
            levels=self.plan.levels,
            unobserved=self.plan.unobserved,
        )

    def run(self, place: Threads | Cuda) -> None:
        """Go through the chains, as many side by side as there are threads, or as the memory of a GPU holds."""
        progress = self.progress
        for chain in progress.samples:
            self._look(*chain)
        while progress.chain < self.plan.n_chains and self._worth_another():
            with self._opened(place) as abreast:
                if self._run_abreast(abreast):
                    return
            progress.chain, progress.sweep, progress.current = progress.chain + len(abreast), 0, []
            self._rounds += 1
            self._write()

    @contextmanager
    def _opened(self, place: Threads | Cuda) -> Iterator[Abreast]:
        """Make the next chains, or take up those under way."""
        progress, plan = self.progress, self.plan

        def make(number: int, dealer: Threads) -> Chain:
            return plan.chain(self.table, self.features, progress.seed, number, dealer)

        numbers = range(progress.chain, progress.chain + len(progress.current) if progress.current else plan.n_chains)
        given = (make, numbers, progress.current)
        with (
            chains_on_device(place, *given) if isinstance(place, Cuda) else chains_on_threads(place, *given) as abreast
        ):
            if not progress.current:
                progress.samples += [[] for _ in range(len(abreast))]
            yield abreast

    def _run_abreast(self, abreast: Abreast) -> bool:
        """Sweep some chains until their last draw; tell whether sampling is to end before that."""
        progress, stopping = self.progress, False
        began = look = time.monotonic()
        first = progress.sweep
        trial = first + _TRIAL if progress.chain == 0 else -1
        stride = 1
        while progress.sweep < self.plan.n_sweeps:
            ends = [progress.sweep + stride, self.plan.n_sweeps, *([trial] if progress.sweep < trial else [])]
            sweeps = range(progress.sweep + 1, min(ends) + 1)
            kept = [iter(models) for models in abreast.run(sweeps, self.plan)]
            for index in sweeps:
                stopping = self._take(index, kept) or stopping
                if (stopping or self._left() <= 0.0) and any(progress.samples):
                    return True
            now = time.monotonic()
            stride = max(1, min(int(min(_LOOK, _PAUSE) * len(sweeps) / max(now - look, 1e-9)), _LONGEST))
            look = now
            if progress.sweep == trial:
                self._fit_into_time((now - began) / _TRIAL)
            if self.keeper is not None and now - self._written > _PAUSE:
                progress.current = abreast.states()
                self._write()
        return False

    def _take(self, index: int, kept: list[Iterator[Sample]]) -> bool:
        """Take over what some chains kept of a sweep, and tell of it; return whether sampling is to end."""
        progress = self.progress
        progress.sweep = index
        if self.plan.keeps(index):
            for samples, models in zip(progress.samples[progress.chain :], kept, strict=True):
                samples.append(next(models))
                self._look(samples[-1])
        numbers = range(progress.chain, progress.chain + len(kept))
        said = [self.on_draw(self._draw(number, index)) for number in numbers]
        return any(said)

    # --- time -----------------------------------------------------------------------------------------------------

    def _left(self) -> float:
        return math.inf if self.max_seconds is None else self.max_seconds - (time.monotonic() - self._began)

    def _fit_into_time(self, seconds: float) -> None:
        """Shorten the plan to what the time left is enough for, given the seconds of a sweep."""
        plan = self.plan
        if self._left() < math.inf:
            begun = self.progress.sweep
            self.plan = plan.shortened(begun + int(_RESERVE * self._left() / seconds), begun)
        if self.plan is not plan:
            # Another run would not come to the same draws.
            self.keeper = None

    def _worth_another(self) -> bool:
        """Whether as many chains as before can be run in the time left."""
        gone = time.monotonic() - self._began
        return not self._rounds or self._left() > gone / self._rounds

    def run_on(self, dask: Dask) -> None:
        """Make each chain a task; chains come back whole, in their order."""
        plan, progress = self.plan, self.progress
        # Chains that were under way begin again.
        progress.sweep, progress.current = 0, []
        del progress.samples[progress.chain :]
        for chain in progress.samples:
            self._look(*chain)
        table = dask.hold("load-table", self.table)
        features = dask.hold("load-features", self.features)
        numbers = range(progress.chain, plan.n_chains)
        tasks = [dask.submit("sample-chain", sampled, plan, table, features, progress.seed, k) for k in numbers]
        for number, task in zip(numbers, tasks, strict=True):
            samples: list[Sample] = dask.gather([task])[0]
            progress.samples.append(samples)
            self._look(*samples)
            progress.chain = number + 1
            self._write()
            if self.on_draw(self._draw(number, plan.n_sweeps)):
                return

    def _draw(self, chain: int, sweep: int) -> SamplingProgress:
        rmse = None if self._held_out is None else self._held_out.rmse
        return SamplingProgress(chain, sweep, self.plan.n_chains, self.plan.n_sweeps, rmse)

    def _look(self, *samples: Sample) -> None:
        if self._held_out is not None:
            for sample in samples:
                self._held_out.add(sample)

    def _write(self) -> None:
        if self.keeper is not None:
            self.keeper.write(self.progress)
        self._written = time.monotonic()


def sampled(plan: Plan, table: Observations, features: Features, seed: int, number: int) -> list[Sample]:
    """Run one chain from start to end, on one thread; what a task does."""
    samples = []
    with one_blas_thread(), Threads(1) as dealer:
        chain = plan.chain(table, features, seed, number, dealer)
        state = chain.start()
        for sweep in range(1, plan.n_sweeps + 1):
            state = chain.sweep(state, sweep, learning=sweep <= plan.burn_in)
            if plan.keeps(sweep):
                samples.append(chain.sample(state))
    return samples


class HeldOutError:
    """The running average of predictions on held-out entries whose user and item are known, and its error."""

    def __init__(self, table: Observations, test: Observations, plan: Plan) -> None:
        users, items = entry_rows(table, test)
        # A row -1 is unknown; the flag behind the last row says so.
        seen_users, seen_items = (np.append(view.counts > 0, False) for view in (table.rows, table.columns))
        known = seen_users[users] & seen_items[items]
        self._users, self._items = users[known], items[known]
        self._values = test.values[known]
        self._bounds = bounds_of(plan.likelihood, plan.levels)
        self._sum = np.zeros(len(self._values))
        self._count = 0

    def add(self, sample: Sample) -> None:
        """Take in one more draw."""
        theta = sample.theta[self._users].astype(np.float64)
        self._sum += np.clip(np.einsum("nd,nd->n", theta, sample.psi[self._items]), *self._bounds)
        self._count += 1

    @property
    def rmse(self) -> float | None:
        """Error of the average so far; None before the first draw is kept."""
        if not self._count or not len(self._values):
            return None
        return float(np.sqrt(((self._sum / self._count - self._values) ** 2).mean()))
