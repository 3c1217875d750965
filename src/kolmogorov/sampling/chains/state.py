"""Where a chain is after a sweep, what is kept of it, and where all chains of a fit are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import (
    LARGEST_NUMBER,
    LEAST_NUMBER,
    check_among,
    check_array,
    check_between,
    check_bounded,
    check_simplex,
)
from kolmogorov._support.typing import Floats
from kolmogorov.errors import InvariantError
from kolmogorov.sampling.priors import LEAST_SHAPE, MOST_SHAPE, PRIOR_DRAWS, PsiPrior, ThetaPrior


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

    def validate(self, n_users: int, n_items: int, n_events: int, levels: Floats) -> None:
        """Raise `InvariantError` where this is no model of such a table; for arrays that come from a file."""
        _check_model(self, np.float32, n_users, n_items, n_events, levels)
        check_between("the priors", np.array(list(self.priors.values())), LEAST_NUMBER, LARGEST_NUMBER)


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

    def validate(self, n_users: int, n_items: int, n_events: int, levels: Floats) -> None:
        """Raise `InvariantError` where no chain of such a table can be in this state."""
        _check_model(self, np.float64, n_users, n_items, n_events, levels)
        check_array("alpha", self.alpha, np.float64, (n_events,))
        check_between("the noise's shape", np.array([self.shape]), LEAST_SHAPE, MOST_SHAPE)
        theta, psi = self.theta_prior, self.psi_prior
        check_array("the mean", theta.mean, np.float64, (n_events,))
        check_array("the draws", theta.prior_draws, np.float64, (PRIOR_DRAWS, n_events))
        check_array("the items' precision", psi.precision, np.float64, (n_events, n_events))
        check_simplex("the mean", theta.mean)
        check_simplex("the draws", theta.prior_draws)
        for what, prior in (("the slopes", theta), ("the items' slopes", psi)):
            check_array(what, prior.slopes, np.float64, (prior.features.shape[1], n_events))
            check_bounded(what, prior.slopes)
        for number in (self.alpha, np.array([self.scale]), np.array([theta.concentration])):
            check_between("a prior", number, LEAST_NUMBER, LARGEST_NUMBER)
        check_bounded("the items' precision", psi.precision)
        if not (psi.precision == psi.precision.T).all() or np.linalg.eigvalsh(psi.precision)[0] <= 0.0:
            raise InvariantError("the items' precision must be symmetric and positive definite")


def _check_model(
    model: Sample | ChainState, kind: type, n_users: int, n_items: int, n_events: int, levels: Floats
) -> None:
    check_array("theta", model.theta, kind, (n_users, n_events))
    check_array("psi", model.psi, kind, (n_items, n_events))
    check_array("the noise", model.noise, kind, (n_users,))
    check_simplex("theta", model.theta)
    check_among("psi", model.psi, levels.astype(kind))
    check_between("the noise", model.noise, LEAST_NUMBER, LARGEST_NUMBER)


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
