"""What chains of a fit are made of, and groups of them that run side by side: on threads, or as tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov.cluster.dask import Dask
from kolmogorov.data import Observations
from kolmogorov.draws.chain import Chain, ChainState, Sample
from kolmogorov.draws.discrete import DiscreteChain
from kolmogorov.draws.emission import hides_ratings
from kolmogorov.draws.features import Features
from kolmogorov.draws.gaussian import GaussianChain, ProbitChain
from kolmogorov.draws.plan import Plan
from kolmogorov.draws.start import started

Kept = TypeVar("Kept", covariant=True)


def chain_kind(plan: Plan) -> type[Chain]:
    """Return the class of the chains of a plan."""
    if plan.likelihood == "gaussian":
        return GaussianChain
    return ProbitChain if hides_ratings(plan.likelihood, plan.levels) else DiscreteChain


@dataclass(frozen=True, eq=False)
class ChainSource:
    """A plan, a table, what is known of its users and items, and a seed."""

    plan: Plan
    table: Observations
    features: Features
    seed: int

    def chain(self, number: int, dealer: Threads) -> Chain:
        """Make a chain. Chains of one seed must not share streams with those of the next."""
        plan, kind = self.plan, chain_kind(self.plan)
        return kind(
            self.table,
            self.features,
            n_events=plan.n_events,
            concentration=plan.concentration,
            unobserved=plan.unobserved,
            seed=(self.seed * 1_000_003 + number) % 2**63,
            dealer=dealer,
            levels=plan.levels,
        )


class Sweeping(Protocol[Kept]):
    """One chain, or several in step."""

    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw everything once."""

    def kept(self) -> Kept:
        """Return what is kept of where it is."""


def swept(chains: Sweeping[Kept], sweeps: range, plan: Plan) -> list[Kept]:
    """Go through some sweeps; return what is kept of those that the plan keeps."""
    found = []
    for index in sweeps:
        chains.sweep(index, learning=plan.learns(index))
        if plan.keeps(index):
            found.append(chains.kept())
    return found


@dataclass
class RunningChain:
    """A chain, and where it is."""

    chain: Chain
    state: ChainState

    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw everything once."""
        self.state = self.chain.sweep(self.state, index, learning=learning)

    def kept(self) -> Sample:
        """Return the model of the state."""
        return self.chain.sample(self.state)


class ChainGroup(Protocol):
    """Some chains, all after the same number of sweeps."""

    #: Whether nothing is seen of them before their last sweep.
    unseen: bool

    def __len__(self) -> int: ...

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps; return, for each that the plan keeps, the models of all chains."""


class ThreadedGroup:
    """Chains on threads of a pool, or one after another where there is none."""

    unseen = False

    def __init__(self, chains: list[RunningChain], pool: ThreadPoolExecutor | None) -> None:
        self._chains = chains
        self._spread: Callable[..., Any] = map if pool is None else pool.map

    def __len__(self) -> int:
        return len(self._chains)

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps, each chain at its own pace: where they kept step, all would wait for Python at once.

        Return, for each that the plan keeps, the models of all chains.
        """
        found = self._spread(partial(swept, sweeps=sweeps, plan=plan), self._chains)
        return [list(models) for models in zip(*found, strict=True)]


@contextmanager
def threaded_group(
    dealer: Threads, source: ChainSource, states: list[ChainState], first: int
) -> Iterator[ThreadedGroup]:
    """Open chains from the first on: those of some states, or as many as threads; what are left go to their rows."""
    n = len(states) or min(dealer.n_threads, source.plan.next_look(first) - first)
    with ExitStack() as stack:
        dealers = [stack.enter_context(Threads(max(1, dealer.n_threads // n))) for _ in range(n)]
        pool = stack.enter_context(ThreadPoolExecutor(n)) if n > 1 else None
        chains = [source.chain(first + k, own) for k, own in enumerate(dealers)]
        states = states or started(chains, dealer)
        yield ThreadedGroup([RunningChain(*given) for given in zip(chains, states, strict=True)], pool)


class ClusterGroup:
    """A chain that is a task of a cluster, from which it comes back whole."""

    unseen = True

    def __init__(self, dask: Dask, task: Any) -> None:
        self._dask, self._task = dask, task

    def __len__(self) -> int:
        return 1

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Wait for the task; return the model of each sweep that the plan keeps."""
        return [[sample] for sample in self._dask.gather([self._task])[0]]


class ClusterGroups:
    """Every chain is a task from the first group on."""

    def __init__(self, dask: Dask, source: ChainSource) -> None:
        self._dask, self._source = dask, source
        self._tasks: list[Any] | None = None

    @contextmanager
    def __call__(self, first: int) -> Iterator[ClusterGroup]:
        """Open the next chain."""
        if self._tasks is None:
            dask, source = self._dask, self._source
            given = source.plan, dask.hold("load-table", source.table), dask.hold("load-features", source.features)
            numbers = range(source.plan.n_chains)
            self._tasks = [dask.submit("sample-chain", sampled, *given, source.seed, number) for number in numbers]
        yield ClusterGroup(self._dask, self._tasks[first])


def sampled(plan: Plan, table: Observations, features: Features, seed: int, number: int) -> list[Sample]:
    """Run one chain to its end, on one thread; what a task does."""
    with one_blas_thread(), Threads(1) as dealer:
        chain = ChainSource(plan, table, features, seed).chain(number, dealer)
        return swept(RunningChain(chain, started([chain], dealer)[0]), range(1, plan.n_sweeps + 1), plan)
