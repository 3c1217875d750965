"""Chains that run side by side: on threads, each a share of them, or all at once on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from kolmogorov.execution import Cuda, Threads
from kolmogorov.sampling.chains.chain import Chain, ChainState, Sample
from kolmogorov.sampling.chains.discrete import AnswerChain
from kolmogorov.sampling.gpu.chain import fitting_chains
from kolmogorov.sampling.gpu.discrete import SCRATCH, AnswerDeviceChains
from kolmogorov.sampling.gpu.gaussian import GaussianDeviceChains
from kolmogorov.sampling.plan import Plan

Make = Callable[[int, Threads], Chain]


class Abreast(Protocol):
    """Some chains, all after the same number of sweeps."""

    def __len__(self) -> int: ...

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps; return each chain's models of those that the plan keeps."""

    def states(self) -> list[ChainState]:
        """Return where they are."""


class ThreadedChains:
    """Chains on threads of a pool, or one after another where there is none."""

    def __init__(self, chains: list[Chain], states: list[ChainState], pool: ThreadPoolExecutor | None) -> None:
        self._chains = chains
        self._spread: Callable[..., Any] = map if pool is None else pool.map
        self._states = states

    def __len__(self) -> int:
        return len(self._chains)

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps, each chain at its own pace: where they kept step, all would wait for Python at once.

        Return each chain's models of the sweeps that the plan keeps.
        """

        def one(chain: Chain, state: ChainState) -> tuple[ChainState, list[Sample]]:
            kept = []
            for index in sweeps:
                state = chain.sweep(state, index, learning=plan.learns(index))
                if plan.keeps(index):
                    kept.append(chain.sample(state))
            return state, kept

        swept = list(self._spread(one, self._chains, self._states))
        self._states = [state for state, _ in swept]
        return [kept for _, kept in swept]

    def states(self) -> list[ChainState]:
        """Return where they are."""
        return self._states


@contextmanager
def chains_on_threads(dealer: Threads, make: Make, numbers: range, states: list[ChainState]) -> Iterator[Abreast]:
    """Open as many chains of some numbers as there are threads; what threads are left go to their rows."""
    n = len(states) or min(dealer.n_threads, len(numbers))
    with ExitStack() as stack:
        dealers = [stack.enter_context(Threads(max(1, dealer.n_threads // n))) for _ in range(n)]
        pool = stack.enter_context(ThreadPoolExecutor(n)) if n > 1 else None
        chains = [make(number, own) for number, own in zip(numbers, dealers, strict=False)]
        yield ThreadedChains(chains, states or chains[0].started(chains, dealer), pool)


@contextmanager
def chains_on_device(cuda: Cuda, make: Make, numbers: range, states: list[ChainState]) -> Iterator[Abreast]:
    """Open as many chains of some numbers as the device's memory holds; they start on the host, on all its threads."""
    with Threads(-1) as dealer:
        first = make(numbers[0], dealer)
        answers = isinstance(first, AnswerChain)
        n = len(states) or min(fitting_chains(cuda, first, SCRATCH if answers else 0), len(numbers))
        chains: list[Any] = [first, *(make(number, dealer) for number in numbers[1:n])]
        states = states or first.started(chains, dealer)
    opened = AnswerDeviceChains if answers else GaussianDeviceChains
    with cuda.guarded("Run fewer chains at once: execution=Cuda(memory=...) with less than is free."):
        yield opened(cuda, chains, states)
