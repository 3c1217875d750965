"""What is to be sampled: how many chains of which kind, how long, and which sweeps are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Observations
from kolmogorov.execution import Threads
from kolmogorov.sampling.chain import BernoulliChain, Chain, GaussianChain

Floats = NDArray[np.float64]
_CHAINS: dict[str, type[Chain]] = {"gaussian": GaussianChain, "bernoulli": BernoulliChain}


@dataclass(frozen=True)
class Plan:
    """What is to be sampled, as the parameters of `BayesianKolmogorovModel` say."""

    likelihood: str
    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    n_classes: int
    concentration: float | None

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain."""
        return self.burn_in + self.n_samples * self.thin

    @property
    def prior_names(self) -> tuple[str, ...]:
        """Names of the numbers of the priors that a draw comes with."""
        return _CHAINS[self.likelihood].prior_names

    def chain(self, table: Observations, features: Floats, seed: int, number: int, dealer: Threads) -> Chain:
        """Make a chain. Chains of one seed must not share streams with those of the next."""
        return _CHAINS[self.likelihood](
            table,
            features,
            n_events=self.n_events,
            n_classes=self.n_classes,
            concentration=self.concentration,
            seed=(seed * 1_000_003 + number) % 2**63,
            dealer=dealer,
        )

    def keeps(self, sweep: int) -> bool:
        """Whether the state after a sweep (from 1) is kept."""
        past = sweep - self.burn_in
        return past > 0 and past % self.thin == 0
