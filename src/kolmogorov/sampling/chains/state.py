"""Where a chain is after a sweep, what is kept of it, and where all chains of a fit are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.sampling.priors import PsiPrior, ThetaPrior


@dataclass(frozen=True, eq=False)
class Sample:
    """What is kept of a state: the model itself.

    `theta` lies on the grid of `fitted.posterior`, psi on the levels. `priors` are numbers on which chains that have
    settled agree.
    """

    theta: NDArray[np.float32]
    psi: NDArray[Any]
    noise: NDArray[np.float32]
    priors: dict[str, float]


@dataclass(frozen=True, eq=False)
class ChainState:
    """One state of a chain. Arrays are never changed in place.

    `noise`, the variance of each user's answers, has a prior with a `scale` and a `shape`; with yes/no data neither is
    used, and theta has a Dirichlet prior with `alpha` instead of `theta_prior`.
    """

    theta: Floats
    psi: Floats
    noise: Floats
    psi_prior: PsiPrior
    theta_prior: ThetaPrior
    scale: float
    alpha: Floats
    shape: float = 3.0


@dataclass
class SamplerState:
    """Draws kept so far, and where sampling is.

    `samples` are by chain; those under way come last and have as many each. `chain` counts the chains that are through;
    `sweep` is the last one of those under way, and `current` their states after it, none before the first.
    """

    seed: int
    samples: list[list[Sample]] = field(default_factory=list)
    chain: int = 0
    sweep: int = 0
    current: list[ChainState] = field(default_factory=list)

    def next_numbers(self, n_chains: int, *, at_once: int) -> range:
        """Return the numbers of the chains under way, or else of those that come next, so many at once at most."""
        n = len(self.current) or min(at_once, n_chains - self.chain)
        return range(self.chain, self.chain + n)
