"""What chains of a fit are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kolmogorov.data import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitted.emission import Emission, hides_ratings
from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.discrete import DiscreteChain
from kolmogorov.sampling.chains.gaussian import GaussianChain
from kolmogorov.sampling.chains.probit import ProbitChain
from kolmogorov.sampling.features import Features
from kolmogorov.sampling.plan import Plan


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
        more: dict[str, Any] = {"unobserved": plan.unobserved}
        if kind is DiscreteChain:
            more = {"emission": Emission.of_chances(plan.levels)}
        return kind(
            self.table,
            self.features,
            n_events=plan.n_events,
            concentration=plan.concentration,
            seed=(self.seed * 1_000_003 + number) % 2**63,
            dealer=dealer,
            levels=plan.levels,
            **more,
        )
