"""The loop over sweeps, whatever runs the chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.state import ChainState, Sample
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
