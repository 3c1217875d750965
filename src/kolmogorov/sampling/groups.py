"""Chains of a fit in groups that run side by side: on threads, on a GPU, or as tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial, singledispatch
from typing import Any, Protocol

from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.sampling.chains.running import threaded_group
from kolmogorov.sampling.chains.source import ChainSource
from kolmogorov.sampling.chains.state import ChainState, Sample, SamplerState
from kolmogorov.sampling.cluster import ClusterGroups
from kolmogorov.sampling.gpu.group import gpu_group
from kolmogorov.sampling.plan import Plan


class ChainGroup(Protocol):
    """Some chains, all after the same number of sweeps."""

    #: Whether nothing is seen of them before their last sweep.
    unseen: bool

    def __len__(self) -> int: ...

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps; return, for each that the plan keeps, the models of all chains."""

    def states(self) -> list[ChainState]:
        """Return where they are."""


#: Opens the next group: of chains that are under way, if there are any, or else of those that come next.
Groups = Callable[[SamplerState], AbstractContextManager[ChainGroup]]


@singledispatch
def chain_groups(execution: Any, source: ChainSource) -> Groups:
    """Return what opens the groups of chains of an execution: `Threads`, `Cuda` or `Dask`."""
    raise TypeError(f"There are no chains for {type(execution).__name__}.")


@chain_groups.register
def _(execution: Threads, source: ChainSource) -> Groups:
    return partial(threaded_group, execution, source)


@chain_groups.register
def _(execution: Cuda, source: ChainSource) -> Groups:
    return partial(gpu_group, execution, source)


@chain_groups.register
def _(execution: Dask, source: ChainSource) -> Groups:
    return ClusterGroups(execution, source)
