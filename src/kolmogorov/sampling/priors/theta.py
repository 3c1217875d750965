"""The prior of theta where answers have normal noise: around what the pattern of the table says of a user."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats

#: The least sum of squares that a variance is made of, so that it is not 0.
TINY = 1e-9
#: Draws from the prior by which the concentration is learned. By judgement.
PRIOR_DRAWS = 256
#: What slopes are shrunk by: as by so many users, or in so many rounds by as many as makes them likely.
#: By judgement.
FEATURE_RIDGE, RIDGE_ROUNDS = 20.0, 5


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """theta_u ~ Normal(mean + features_u . slopes, 1 / concentration), restricted to the simplex.

    The three are learned during burn-in and fixed after it, by each chain for itself: what a chain keeps are draws from
    one posterior. Features say with which items a user was observed, whatever was answered. By `prior_draws`,
    float64[n, D], which come from the prior itself for the first users, the concentration is learned.
    """

    features: Floats
    mean: Floats
    slopes: Floats
    concentration: float
    prior_draws: Floats

    @classmethod
    def start(cls, features: Floats, n_events: int, concentration: float) -> ThetaPrior:
        """Begin with equal events for all."""
        mean = np.full(n_events, 1.0 / n_events)
        prior_draws = np.tile(mean, (PRIOR_DRAWS, 1))
        return cls(features, mean, np.zeros((features.shape[1], n_events)), concentration, prior_draws)

    @property
    def centre(self) -> Floats:
        """The mean of each user; float64[n_users, D]."""
        return self.mean + self.features @ self.slopes

    def located(self, theta: Floats, seen: NDArray[np.bool_]) -> ThetaPrior:
        """Fit mean and slopes to the thetas of the users observed."""
        mean = theta[seen].mean(axis=0)
        known = self.features[seen]
        ridge = FEATURE_RIDGE * np.eye(known.shape[1])
        slopes = np.linalg.solve(known.T @ known + ridge, known.T @ (theta[seen] - mean))
        return replace(self, mean=mean, slopes=slopes)

    def shrunk(self, theta: Floats, seen: NDArray[np.bool_]) -> ThetaPrior:
        """Fit mean and slopes as `located` does, with the ridge that makes the thetas likely.

        Features that say nothing of thetas must not be believed. The rounds are MacKay's: the ridge is the number of
        slopes that are determined by the thetas over the sum of their squares.
        """
        known, mean = self.features[seen], theta[seen].mean(axis=0)
        apart = theta[seen] - mean
        slopes = np.zeros_like(self.slopes)
        if slopes.size:
            gram, moment, total = known.T @ known, known.T @ apart, float((apart**2).sum())
            ridge = FEATURE_RIDGE
            for _ in range(RIDGE_ROUNDS):
                inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
                slopes = inverse @ moment
                variance = max(total - float((slopes * moment).sum()), TINY) / apart.size
                determined = slopes.size - ridge * apart.shape[1] * float(np.trace(inverse))
                ridge = (1.0 + determined) / (1.0 / FEATURE_RIDGE + float((slopes**2).sum()) / variance)
        return replace(self, mean=mean, slopes=slopes)
