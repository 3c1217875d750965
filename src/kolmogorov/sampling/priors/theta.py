"""The prior of theta where answers have normal noise: around what is known of a user beside answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.sampling.priors.shrinkage import PATTERN_RIDGE, Blocks, shrunk_slopes

#: Draws from the prior by which the concentration is learned. By judgement.
PRIOR_DRAWS = 256


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """theta_u ~ Normal(mean + features_u . slopes, 1 / concentration), restricted to the simplex.

    The three are learned during burn-in and fixed after it, by each chain for itself: what a chain keeps are draws from
    one posterior. Features say with which items a user was observed, whatever was answered, and the last of them, in
    `blocks`, which attributes a user has. By `prior_draws`, float64[n, D], which come from the prior itself for the
    first users, the concentration is learned.
    """

    features: Floats
    mean: Floats
    slopes: Floats
    concentration: float
    prior_draws: Floats
    blocks: Blocks = ()

    @classmethod
    def start(cls, features: Floats, n_events: int, concentration: float, blocks: Blocks = ()) -> ThetaPrior:
        """Begin with equal events for all."""
        mean = np.full(n_events, 1.0 / n_events)
        prior_draws = np.tile(mean, (PRIOR_DRAWS, 1))
        return cls(features, mean, np.zeros((features.shape[1], n_events)), concentration, prior_draws, blocks)

    @property
    def centre(self) -> Floats:
        """The mean of each user; float64[n_users, D]."""
        return self.mean + self.features @ self.slopes

    def located(self, theta: Floats, seen: NDArray[np.bool_]) -> ThetaPrior:
        """Fit mean and slopes to the thetas of the users observed."""
        mean = theta[seen].mean(axis=0)
        known = self.features[seen]
        ridge = PATTERN_RIDGE * np.eye(known.shape[1])
        slopes = np.linalg.solve(known.T @ known + ridge, known.T @ (theta[seen] - mean))
        return replace(self, mean=mean, slopes=slopes)

    def shrunk(self, theta: Floats, seen: NDArray[np.bool_]) -> ThetaPrior:
        """Fit mean and slopes as `located` does, with the ridges that make the thetas likely."""
        known, mean = self.features[seen], theta[seen].mean(axis=0)
        apart = theta[seen] - mean
        slopes = np.zeros_like(self.slopes)
        if slopes.size:
            gram, moment, total = known.T @ known, known.T @ apart, float((apart**2).sum())
            slopes = shrunk_slopes(gram, moment, total, len(apart), self.blocks)
        return replace(self, mean=mean, slopes=slopes)
