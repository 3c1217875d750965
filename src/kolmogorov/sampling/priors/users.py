"""Priors that are learned from the data: of a user's events, and of the noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import (
    check_array,
    check_between,
    check_simplex,
)
from kolmogorov.sampling.priors.bounds import SENSIBLE

Floats = NDArray[np.float64]
TINY = 1e-9
_LEAST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class UserPrior:
    """theta_u ~ Normal(mean + features_u . slopes, 1 / concentration), restricted to the simplex.

    The three are learned during burn-in and fixed after it, by each chain for itself: what a chain keeps are draws from
    one posterior.

    Attributes
    ----------
    features : float64[n_users, n_features]
        What is known of users from which items they were observed with, whatever they said to them.
    mean : float64[D]
    slopes : float64[n_features, D]
    concentration : float
    prior_draws : float64[n, D]
        Draws from the prior itself for the first users, by which the concentration is learned.
    """

    features: Floats
    mean: Floats
    slopes: Floats
    concentration: float
    prior_draws: Floats

    @classmethod
    def start(cls, features: Floats, n_events: int, concentration: float) -> UserPrior:
        """Begin with equal events for all."""
        mean = np.full(n_events, 1.0 / n_events)
        prior_draws = np.tile(mean, (PRIOR_DRAWS, 1))
        return cls(features, mean, np.zeros((features.shape[1], n_events)), concentration, prior_draws)

    def validate(self, n_events: int) -> None:
        """Raise `InvariantError` where this is no prior of its users; for arrays that come from a file."""
        check_array("the mean", self.mean, np.float64, (n_events,))
        check_array("the slopes", self.slopes, np.float64, (self.features.shape[1], n_events))
        check_array("the draws", self.prior_draws, np.float64, (PRIOR_DRAWS, n_events))
        check_simplex("the mean", self.mean)
        check_between("the slopes", self.slopes, -SENSIBLE[1], SENSIBLE[1])
        check_simplex("the draws", self.prior_draws)
        check_between("the concentration", np.array([self.concentration]), *SENSIBLE)

    @property
    def centre(self) -> Floats:
        """The mean of each user; float64[n_users, D]."""
        return self.mean + self.features @ self.slopes

    def located(self, theta: Floats, seen: NDArray[np.bool_]) -> UserPrior:
        """Fit mean and slopes to the thetas of the users observed."""
        mean = theta[seen].mean(axis=0)
        known = self.features[seen]
        ridge = FEATURE_RIDGE * np.eye(known.shape[1])
        slopes = np.linalg.solve(known.T @ known + ridge, known.T @ (theta[seen] - mean))
        return replace(self, mean=mean, slopes=slopes)

    def shrunk(self, theta: Floats, seen: NDArray[np.bool_]) -> UserPrior:
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


#: Draws from the prior by which the concentration is learned.
PRIOR_DRAWS = 256
#: What slopes are shrunk by: as by so many users, or in so many rounds by as many as makes them likely.
FEATURE_RIDGE, RIDGE_ROUNDS = 20.0, 5


@dataclass(frozen=True, eq=False)
class NoisePrior:
    """Variances by user: InverseGamma(shape, scale), the scale ~ Gamma(1, rate) learned with them."""

    scale: float
    shape: float
    rate: float

    def redrawn(self, residual: Floats, count: Floats, rng: np.random.Generator) -> tuple[Floats, NoisePrior]:
        """Draw the variances given residual sums of squares and (weighted) counts, then the scale given them."""
        noise = (self.scale + 0.5 * residual) / rng.gamma(self.shape + 0.5 * count)
        # A table that can be fitted exactly would draw the noise to nothing.
        noise = np.maximum(noise, _LEAST_NOISE)
        return noise, self.rescaled(len(noise), float((1.0 / noise).sum()), rng)

    def rescaled(self, n: int, inverses: float, rng: np.random.Generator) -> NoisePrior:
        """Draw the scale given the sum of `n` inverse variances."""
        scale = rng.gamma(1.0 + self.shape * n) / (self.rate + inverses)
        return NoisePrior(float(scale), self.shape, self.rate)
