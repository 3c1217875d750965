"""Chains from their start to their last draw: one after another here, or each as a task of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data import Observations
from kolmogorov.execution import Dask, Threads
from kolmogorov.fitting.trained import by_users
from kolmogorov.sampling.chain import FLOOR, Sample
from kolmogorov.sampling.checkpoint import ChainCheckpoint, SamplerState
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.posterior import Posterior

Floats = NDArray[np.float64]
#: Seconds between two checkpoints.
_PAUSE = 10.0


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
    features: Floats
    progress: SamplerState
    keeper: ChainCheckpoint | None
    test: Observations | None
    on_draw: Callable[[SamplingProgress], bool]

    def __post_init__(self) -> None:
        self._held_out = None if self.test is None else HeldOutError(self.table, self.test, self.plan.likelihood)
        self._written = time.monotonic()

    def execute(self, execution: Threads | Dask) -> None:
        """Run all chains, on threads here or as tasks of a cluster."""
        with execution as place:
            if isinstance(place, Dask):
                self.run_on(place)
            else:
                self.run(place)

    def posterior(self) -> Posterior:
        """Return the draws kept. A chain that was ended early is left out, unless it is the only one."""
        progress = self.progress
        samples = progress.samples[: progress.chain * self.plan.n_samples] if progress.chain else progress.samples
        return Posterior(
            theta=np.array([sample.theta for sample in samples]),
            psi=np.array([sample.psi for sample in samples]),
            noise=np.array([sample.noise for sample in samples]),
            n_chains=max(progress.chain, 1),
            likelihood=self.plan.likelihood,
            training=by_users(self.table),
            priors={name: np.array([sample.priors[name] for sample in samples]) for name in self.plan.prior_names},
        )

    def run(self, dealer: Threads) -> None:
        """Go through the chains one after another, with all threads on each."""
        plan, progress, stopping = self.plan, self.progress, False
        self._look(*progress.samples)
        while progress.chain < plan.n_chains:
            chain = plan.chain(self.table, self.features, progress.seed, progress.chain, dealer)
            state = chain.start() if progress.current is None else progress.current
            while progress.sweep < plan.n_sweeps:
                progress.sweep += 1
                state = progress.current = chain.sweep(state, progress.sweep, learning=progress.sweep <= plan.burn_in)
                if plan.keeps(progress.sweep):
                    progress.samples.append(chain.sample(state))
                    self._look(progress.samples[-1])
                stopping = self.on_draw(self._draw(progress.chain, progress.sweep)) or stopping
                if stopping and progress.samples:
                    return
                if time.monotonic() - self._written > _PAUSE:
                    self._write()
            progress.chain, progress.sweep, progress.current = progress.chain + 1, 0, None
            self._write()

    def run_on(self, dask: Dask) -> None:
        """Make each chain a task; chains come back whole, in their order."""
        plan, progress = self.plan, self.progress
        progress.sweep, progress.current = 0, None
        # A chain that was under way begins again.
        del progress.samples[progress.chain * plan.n_samples :]
        self._look(*progress.samples)
        table = dask.hold("load-table", self.table)
        features = dask.hold("load-features", self.features)
        numbers = range(progress.chain, plan.n_chains)
        tasks = [dask.submit("sample-chain", sampled, plan, table, features, progress.seed, k) for k in numbers]
        for number, task in zip(numbers, tasks, strict=True):
            samples: list[Sample] = dask.gather([task])[0]
            progress.samples += samples
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


def sampled(plan: Plan, table: Observations, features: Floats, seed: int, number: int) -> list[Sample]:
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

    def __init__(self, table: Observations, test: Observations, likelihood: str) -> None:
        users = table.users.translate(test.users)[test.user_rows()]
        items = table.items.translate(test.items)[test.item_rows()]
        # A row -1 is unknown; the flag behind the last row says so.
        seen_users, seen_items = (np.append(view.counts > 0, False) for view in (table.rows, table.columns))
        known = seen_users[users] & seen_items[items]
        self._users, self._items = users[known], items[known]
        self._values = test.values[known]
        self._floor = FLOOR if likelihood == "bernoulli" else 0.0
        self._sum = np.zeros(len(self._values))
        self._count = 0

    def add(self, sample: Sample) -> None:
        """Take in one more draw."""
        theta = sample.theta[self._users].astype(np.float64)
        chance = np.einsum("nd,nd->n", theta, sample.psi[self._items])
        self._sum += self._floor + (1.0 - 2.0 * self._floor) * chance
        self._count += 1

    @property
    def rmse(self) -> float | None:
        """Error of the average so far; None before the first draw is kept."""
        if not self._count or not len(self._values):
            return None
        return float(np.sqrt(((self._sum / self._count - self._values) ** 2).mean()))
