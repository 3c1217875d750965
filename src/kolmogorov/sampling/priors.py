"""Priors that are learned from the data: of an item's bits, of a user's events, of the noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import (
    check_array,
    check_between,
    check_simplex,
)
from kolmogorov.data import Observations
from kolmogorov.kernels.draws.gibbs import draw_simplex
from kolmogorov.sampling.limits import SENSIBLE

Floats = NDArray[np.float64]
# Items are grouped by how often they were observed, since what is seen often is liked more often.
_BUCKETS = 6
_TINY = 1e-9
_LEAST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class ItemPrior:
    """Items fall into classes; in a class every event has its own frequency.

    psi_id ~ Bernoulli(frequency[class_i, d]), frequency ~ Beta(1, 1), class_i ~ weights of the item's bucket, weights ~
    Dirichlet(1). All conditionals are exact.

    Attributes
    ----------
    bucket : int64[n_items]
    member : int64[n_items]
        The class of each item.
    frequency : float64[n_classes, D]
    """

    bucket: NDArray[np.int64]
    member: NDArray[np.int64]
    frequency: Floats

    @classmethod
    def start(cls, observations: Observations, n_classes: int, n_events: int, rng: np.random.Generator) -> ItemPrior:
        """Put items into random classes that know nothing yet."""
        n = observations.n_items
        counts = observations.columns.counts
        place = np.searchsorted(np.sort(counts), counts)
        bucket = place * min(_BUCKETS, n) // n
        return cls(bucket, rng.integers(n_classes, size=n), np.full((n_classes, n_events), 0.5))

    def validate(self, n_items: int, n_events: int) -> None:
        """Raise `InvariantError` where this is no prior of so many items; for arrays that come from a file."""
        n_classes = len(self.frequency)
        check_array("the buckets", self.bucket, np.int64, (n_items,))
        check_array("the classes", self.member, np.int64, (n_items,))
        check_array("the frequencies", self.frequency, np.float64, (n_classes, n_events))
        check_between("the buckets", self.bucket, 0, min(_BUCKETS, n_items) - 1)
        check_between("the classes", self.member, 0, n_classes - 1)
        check_between("the frequencies", self.frequency, 0.0, 1.0)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what a checkpoint holds of this."""
        return {"bucket": self.bucket, "member": self.member, "frequency": self.frequency}

    @property
    def logit(self) -> Floats:
        """Log odds of each bit; float64[n_items, D]."""
        safe = np.clip(self.frequency, _TINY, 1.0 - _TINY)
        odds: Floats = (np.log(safe) - np.log1p(-safe))[self.member]
        return odds

    def redrawn(self, psi: Floats, rng: np.random.Generator) -> ItemPrior:
        """Draw frequencies, weights and classes, each given the rest."""
        n_classes = len(self.frequency)
        member = np.eye(n_classes)[self.member]
        count, ones = member.sum(axis=0), member.T @ psi
        frequency = np.clip(rng.beta(1.0 + ones, 1.0 + count[:, None] - ones), _TINY, 1.0 - _TINY)
        weights = rng.gamma(1.0 + np.eye(self.bucket.max() + 1)[self.bucket].T @ member)
        weights /= weights.sum(axis=1, keepdims=True)
        log_density = psi @ np.log(frequency).T + (1.0 - psi) @ np.log1p(-frequency).T + np.log(weights)[self.bucket]
        # The largest of log densities with Gumbel noise is a draw from them.
        member = np.argmax(log_density + rng.gumbel(size=log_density.shape), axis=1)
        return ItemPrior(self.bucket, member, frequency)


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
    def start(cls, features: Floats, n_events: int, concentration: float, n_draws: int | None = None) -> UserPrior:
        """Begin with equal events for all."""
        mean = np.full(n_events, 1.0 / n_events)
        prior_draws = np.tile(mean, (n_draws or min(len(features), _PRIOR_DRAWS), 1))
        return cls(features, mean, np.zeros((features.shape[1], n_events)), concentration, prior_draws)

    def validate(self, n_events: int, n_draws: int | None = None) -> None:
        """Raise `InvariantError` where this is no prior of its users; for arrays that come from a file."""
        check_array("the mean", self.mean, np.float64, (n_events,))
        check_array("the slopes", self.slopes, np.float64, (self.features.shape[1], n_events))
        expected = n_draws or min(len(self.features), _PRIOR_DRAWS)
        check_array("the draws", self.prior_draws, np.float64, (expected, n_events))
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

    def learned(self, theta: Floats, seen: NDArray[np.bool_], rng: np.random.Generator, *, spread: bool) -> UserPrior:
        """Fit mean and slopes to the thetas of the users observed, and with `spread` the concentration too.

        The likelihood of the concentration rises where thetas lie closer to their centres than draws from the prior
        do. The prior's normalising constant is unknown, but its draws are not: the step is along that difference.
        """
        fresh = self.located(theta, seen)
        if not spread:
            return fresh
        n, size = self.prior_draws.shape
        centre, pull = fresh.centre, self.concentration
        prior_draws = np.empty_like(self.prior_draws)
        gram = np.tile(pull * np.eye(size), (n, 1, 1))
        draw_simplex(
            gram, pull * centre[:n], self.prior_draws, rng.integers(2**63, size=n).astype(np.uint64), 2, prior_draws
        )
        distance = [
            float(((x - c) ** 2).sum(axis=1).mean())
            for x, c in ((prior_draws, centre[:n]), (theta[seen], centre[seen]))
        ]
        step = float(np.clip(pull * (distance[0] - distance[1]) / size, -_LARGEST_STEP, _LARGEST_STEP))
        return replace(
            fresh, prior_draws=prior_draws, concentration=float(np.clip(pull * np.exp(step), *_CONCENTRATIONS))
        )


_PRIOR_DRAWS = 128
#: Draws from the prior by which the concentration of many-valued models is learned.
PRIOR_DRAWS = 256
_LARGEST_STEP = 0.2
_CONCENTRATIONS = (0.1, 1e4)
#: What slopes are shrunk by: as by so many users.
FEATURE_RIDGE = 20.0


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
