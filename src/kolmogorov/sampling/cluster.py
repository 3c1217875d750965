"""Chains that are tasks of a cluster, each on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data import Observations
from kolmogorov.execution import Dask, Threads
from kolmogorov.sampling.chains.running import RunningChain, swept
from kolmogorov.sampling.chains.source import ChainSource
from kolmogorov.sampling.chains.start import started
from kolmogorov.sampling.chains.state import ChainState, Sample, SamplerState
from kolmogorov.sampling.features import Features
from kolmogorov.sampling.plan import Plan


class ClusterGroup:
    """Chains that are tasks of a cluster, from which they come back whole."""

    unseen = True

    def __init__(self, dask: Dask, tasks: list[Any]) -> None:
        self._dask, self._tasks = dask, tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Wait for the tasks; return, for each sweep that the plan keeps, the models of all chains."""
        return [list(models) for models in zip(*self._dask.gather(self._tasks), strict=True)]

    def states(self) -> list[ChainState]:
        """Return nothing: where chains end is not sent back."""
        return []


class ClusterGroups:
    """Every chain that is still to run is a task from the first group on; those under way are one group."""

    def __init__(self, dask: Dask, source: ChainSource) -> None:
        self._dask, self._source = dask, source
        self._tasks: list[Any] | None = None

    @contextmanager
    def __call__(self, progress: SamplerState) -> Iterator[ClusterGroup]:
        """Open the next group."""
        n = len(progress.next_numbers(self._source.plan.n_chains, at_once=1))
        if self._tasks is None:
            self._tasks = self._submitted(progress)
        group, self._tasks = self._tasks[:n], self._tasks[n:]
        yield ClusterGroup(self._dask, group)

    def _submitted(self, progress: SamplerState) -> list[Any]:
        dask, source = self._dask, self._source
        held = dask.hold("load-table", source.table), dask.hold("load-features", source.features)
        tasks = []
        for place, number in enumerate(range(progress.chain, source.plan.n_chains)):
            begun = (progress.current[place], progress.sweep) if place < len(progress.current) else (None, 0)
            tasks.append(dask.submit("sample-chain", sampled, source.plan, *held, source.seed, number, *begun))
        return tasks


def sampled(
    plan: Plan,
    table: Observations,
    features: Features,
    seed: int,
    number: int,
    state: ChainState | None = None,
    done: int = 0,
) -> list[Sample]:
    """Run one chain to its end, on one thread, from its start or from a state after some sweeps; what a task does."""
    with one_blas_thread(), Threads(1) as dealer:
        chain = ChainSource(plan, table, features, seed).chain(number, dealer)
        running = RunningChain(chain, state or started([chain], dealer)[0])
        return swept(running, range(done + 1, plan.n_sweeps + 1), plan)
