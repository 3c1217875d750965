"""What is to be sampled: how many chains of which kind, how long, and which sweeps are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.table.levels import Levels, grid_of
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Threads
from kolmogorov.fitted.emission import emission_of
from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.discrete import AnswerChain
from kolmogorov.sampling.chains.gaussian import GaussianChain
from kolmogorov.sampling.priors.features import Features
from kolmogorov.sampling.value_grid import REACHING, value_grid

#: With yes and no and the paper's two values, the chance that an answer goes against its event.
ASTRAY = 0.01
#: Share of the sweeps that fit into a given time which are not kept.
_BURN_IN_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be sampled, as `BayesianKolmogorovModel` is told."""

    likelihood: str
    levels: Floats
    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    concentration: float | None = None
    unobserved: float = 0.0

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain."""
        return self.burn_in + self.n_samples * self.thin

    @property
    def kind(self) -> type[Chain]:
        """The class of the chains."""
        return GaussianChain if self.likelihood == "gaussian" else AnswerChain

    @property
    def prior_names(self) -> tuple[str, ...]:
        """Names of the numbers of the priors that a draw comes with."""
        return self.kind.prior_names

    def chain(self, table: Observations, features: Features, seed: int, number: int, dealer: Threads) -> Chain:
        """Make a chain. Chains of one seed must not share streams with those of the next."""
        more: dict[str, Any] = {"unobserved": self.unobserved}
        if self.kind is AnswerChain:
            more = {"emission": emission_of(self.likelihood, self.levels, table)}
        return self.kind(
            table,
            features.users,
            n_events=self.n_events,
            concentration=self.concentration,
            seed=(seed * 1_000_003 + number) % 2**63,
            dealer=dealer,
            item_features=features.items,
            levels=self.levels,
            **more,
        )

    def learns(self, sweep: int) -> bool:
        """Whether priors are still learned in a sweep (from 1)."""
        return sweep <= self.burn_in

    def keeps(self, sweep: int) -> bool:
        """Whether the state after a sweep (from 1) is kept."""
        past = sweep - self.burn_in
        return past > 0 and past % self.thin == 0

    def shortened(self, n_sweeps: int, begun: int) -> Plan:
        """Return the same plan with at most so many sweeps of a chain, `begun` of which are done; some are kept."""
        if n_sweeps >= self.n_sweeps:
            return self
        n_sweeps = max(n_sweeps, begun + 1)
        if begun > self.burn_in:
            # Draws are kept already, and all chains must keep as many.
            return replace(self, n_samples=max(1, (n_sweeps - self.burn_in) // self.thin))
        burn_in = max(begun, int(_BURN_IN_SHARE * n_sweeps))
        thin = max(1, min(self.thin, (n_sweeps - burn_in) // self.n_samples))
        n_samples = max(1, min(self.n_samples, (n_sweeps - burn_in) // thin))
        return replace(self, burn_in=burn_in, thin=thin, n_samples=n_samples)


def likelihood_of(table: Observations) -> str:
    """Return the likelihood that suits a table: yes and no where it holds nothing else, as often as weights say."""
    whole = table.weights is None or bool((table.weights == np.floor(table.weights)).all())
    return "bernoulli" if table.is_binary and whole else "gaussian"


def settled_weight(wanted: float, table: Observations) -> float:
    """Return what an unobserved entry weighs where so much was wanted: less than anything observed."""
    least = 1.0 if table.weights is None else float(table.weights.min())
    # Just below the weights of what was observed: then all cells weigh the same.
    return min(wanted, least * (1.0 - 1e-6))


def level_grid(levels: Levels, table: Observations, likelihood: str, n_events: int) -> Floats:
    """Return the values that chains draw from; the paper's two are 0 and 1, or nearly so with yes and no."""
    if likelihood == "categorical":
        if isinstance(levels, str):
            return emission_of(likelihood, np.empty(0), table).levels
        raise ParameterError("With likelihood 'categorical' the levels are the ratings themselves: levels='auto'.")
    if isinstance(levels, str):
        return value_grid(table, n_events) if likelihood == "gaussian" else REACHING
    grid = grid_of(levels, table)
    if grid is None:
        return np.array([0.0, 1.0]) if likelihood == "gaussian" else np.array([ASTRAY, 1.0 - ASTRAY])
    return grid
