"""What is to be sampled: how many chains of which kind, how long, and which sweeps are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.sampling.sizes import Sizes

#: Share of the sweeps that fit into a given time which are not kept. By judgement.
_BURN_IN_SHARE = 0.6
#: Numbers of chains after which one looks whether they are enough: the same however many run side by side.
LOOKS = (2, 4)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Sizes):
    """What is to be sampled, as `BayesianKolmogorovModel` is told."""

    likelihood: str
    levels: Floats
    concentration: float | None = None
    unobserved: float = 0.0
    #: Chains are enough when more would take no larger share of the squared error away; at 0 all are run.
    enough: float = 0.0

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain."""
        return self.burn_in + self.n_samples * self.thin

    def next_look(self, n_chains: int) -> int:
        """Return how many chains have to be through, after so many, before one may look whether they are enough."""
        return min((look for look in LOOKS if self.enough and look > n_chains), default=self.n_chains)

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
