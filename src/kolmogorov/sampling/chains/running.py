"""The loop over sweeps, whatever runs the chains; and chains that run side by side on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from kolmogorov.execution import Threads
from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.source import ChainSource
from kolmogorov.sampling.chains.start import started
from kolmogorov.sampling.chains.state import ChainState, Sample, SamplerState
from kolmogorov.sampling.plan import Plan

Kept = TypeVar("Kept", covariant=True)


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
def threaded_group(dealer: Threads, source: ChainSource, progress: SamplerState) -> Iterator[ThreadedGroup]:
    """Open as many chains as there are threads; what threads are left go to their rows."""
    numbers = progress.next_numbers(source.plan.next_look(progress.chain), at_once=dealer.n_threads)
    n = len(numbers)
    with ExitStack() as stack:
        dealers = [stack.enter_context(Threads(max(1, dealer.n_threads // n))) for _ in numbers]
        pool = stack.enter_context(ThreadPoolExecutor(n)) if n > 1 else None
        chains = [source.chain(number, own) for number, own in zip(numbers, dealers, strict=True)]
        states = progress.current or started(chains, dealer)
        yield ThreadedGroup([RunningChain(*given) for given in zip(chains, states, strict=True)], pool)
