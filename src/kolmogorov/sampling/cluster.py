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
from kolmogorov.sampling.chains.state import Sample, SamplerState
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


class ClusterGroups:
    """Every chain is a task from the first group on."""

    def __init__(self, dask: Dask, source: ChainSource) -> None:
        self._dask, self._source = dask, source
        self._tasks: list[Any] | None = None

    @contextmanager
    def __call__(self, progress: SamplerState) -> Iterator[ClusterGroup]:
        """Open the next group."""
        if self._tasks is None:
            self._tasks = self._submitted()
        yield ClusterGroup(self._dask, [self._tasks[progress.chain]])

    def _submitted(self) -> list[Any]:
        dask, source = self._dask, self._source
        given = source.plan, dask.hold("load-table", source.table), dask.hold("load-features", source.features)
        return [dask.submit("sample-chain", sampled, *given, source.seed, k) for k in range(source.plan.n_chains)]


def sampled(plan: Plan, table: Observations, features: Features, seed: int, number: int) -> list[Sample]:
    """Run one chain to its end, on one thread; what a task does."""
    with one_blas_thread(), Threads(1) as dealer:
        chain = ChainSource(plan, table, features, seed).chain(number, dealer)
        return swept(RunningChain(chain, started([chain], dealer)[0]), range(1, plan.n_sweeps + 1), plan)
