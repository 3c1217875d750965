"""Markov chains over Kolmogorov models: a sweep draws every psi_i, every theta_u, the noise and the priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import counting_order
from kolmogorov.descent.problem import USER_SIDE
from kolmogorov.draws.features import Features
from kolmogorov.draws.levels import nearest
from kolmogorov.draws.posterior import on_grid
from kolmogorov.draws.priors import PsiPrior, ThetaPrior

Codes = NDArray[np.uint8]
#: Random streams of a chain beside those of its users and items: its start, and its priors.
START, PRIORS = 2, 3
#: How often a sweep goes over the pairs of a user's events. By judgement.
USER_ROUNDS = 2
#: What a draw of one level takes, in multiplications; how rows are dealt to threads depends on it, no result does.
LEVEL_COST = 64


def psi_variance(*, noisy: bool = False, hidden: bool = False) -> float:
    """Return what the prior of psi's precision is around, as a variance by event.

    With noisy ratings it has to be small: events that are not needed must be able to have nearly the same levels.
    Where ratings are hidden behind yes and no nothing bounds them, and it is wide.
    """
    return 0.5 if hidden else 0.01 if noisy else 0.1


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


class Chain(ABC):
    """Draws from the posterior given one table, by Gibbs sampling.

    The priors of theta and psi know `features`. The `concentration` of theta's prior is a precision
    with noise, the sum of the Dirichlet's parameters with yes/no data; None learns it. An entry that was not observed
    weighs `unobserved`, as an answer of 0. The seed and the number of a sweep fix every random number.
    """

    #: Variances are InverseGamma(noise_shape, scale); the scale is Gamma(1, noise_rate), the rate in units of the data.
    noise_shape = 3.0
    #: The numbers of the priors on which chains should agree.
    prior_names: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        observations: Observations,
        features: Features,
        *,
        n_events: int,
        concentration: float | None,
        seed: int,
        dealer: Threads,
        levels: Floats,
        unobserved: float = 0.0,
    ) -> None:
        self.observations = observations
        self.features = features
        self.n_events = n_events
        self.concentration = concentration
        self.unobserved = unobserved
        self.seed = seed
        self.dealer = dealer
        self.levels = levels
        self.psi_variance = psi_variance(noisy=False)
        self._drawn: tuple[Floats, Codes] | None = None
        self.noise_rate = 1.0 / (self.noise_shape * max(float(np.var(observations.values)), 1e-4))
        rows = observations.rows
        self.seen_users, self.seen_items = rows.counts > 0, observations.columns.counts > 0
        self.mass = rows.counts.astype(np.float64)
        if rows.weights.size:
            owners = rows.owners(0, len(self.mass))
            self.mass = np.bincount(owners, weights=rows.weights, minlength=len(self.mass)).astype(np.float64)

    @cached_property
    def by_items(self) -> NDArray[Any]:
        """Where the entries by items stand among those by users."""
        return counting_order(self.observations.rows.indices, self.observations.n_items)

    def codes(self, psi: Floats) -> Codes:
        """Return the numbers of psi's levels, which are known of what was drawn last."""
        if self._drawn is not None and self._drawn[0] is psi:
            return self._drawn[1]
        return nearest(psi, self.levels)

    def decoded(self, codes: Codes) -> Floats:
        """Return psi drawn as numbers of levels."""
        psi: Floats = self.levels[codes]
        self._drawn = psi, codes
        return psi

    @property
    def positions(self) -> Floats:
        """Where the levels stand in the items' normal prior."""
        return self.levels

    def first_theta_prior(self, concentration: float) -> ThetaPrior:
        """Return the prior of theta before anything is learned."""
        return ThetaPrior.start(self.features.users, self.n_events, concentration, self.features.user_blocks)

    def first_psi_prior(self, mean: float) -> PsiPrior:
        """Return the prior of psi before anything is learned."""
        return PsiPrior.start(self.features.items, self.n_events, mean, self.features.item_blocks)

    @property
    def from_factors(self) -> bool:
        """Whether chains start from factors without the simplex: these settle in a few sweeps, psi in hundreds."""
        return False

    @abstractmethod
    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the numbers that `prior_names` names."""

    def row_seeds(self, index: int, side: int) -> NDArray[np.uint64]:
        """Return the seeds of all users or items in a sweep."""
        n_rows = self.observations.n_users if side == USER_SIDE else self.observations.n_items
        return row_seeds(self.seed, index, side, np.arange(n_rows))

    def sample(self, state: ChainState) -> Sample:
        """Return the model of a state."""
        psi, noise = state.psi.astype(np.float32), state.noise.astype(np.float32)
        return Sample(on_grid(state.theta), psi, noise, self.priors(state))

    @abstractmethod
    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw everything once; the priors of theta and psi are learned only while `learning`."""
