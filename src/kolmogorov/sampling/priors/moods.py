"""The prior of moods: how large they are, and how long they last."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats

#: Shares of the answers' variance between which that of moods lies.
_LEAST, _MOST = 1e-4, 1.0
#: The half-life lies between these multiples of the shortest time between two answers of a user and of the longest
#: between the first and the last. By judgement.
_SHORTER, _LONGER = 0.1, 10.0
#: The least half-life, in any unit: below, nothing is left of it in a sum.
_SHORTEST = 1e-9
#: Sizes of the proposals on the log scale. By judgement.
_LONG, _SHORT = 0.3, 0.07


@dataclass(frozen=True)
class MoodPrior:
    """Variance and half-life of moods: both uniform on the log scale, between ends that the table suggests."""

    variances: tuple[float, float]
    half_lives: tuple[float, float]

    @classmethod
    def of(cls, times: Floats, indptr: NDArray[np.int64], variance: float) -> MoodPrior:
        """Return what suits answers of some variance; `times` are by users and increase for each.

        Examples
        --------
        >>> prior = MoodPrior.of(np.array([0.0, 60.0, 7.0]), np.array([0, 2, 3]), 0.04)
        >>> prior.half_lives
        (6.0, 600.0)
        """
        owners = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        gaps = np.diff(times)[np.diff(owners) == 0]
        gaps = gaps[gaps > 0.0]
        seen = np.diff(indptr) > 0
        spans = times[indptr[1:][seen] - 1] - times[indptr[:-1][seen]]
        shortest, longest = (float(gaps.min()), float(spans.max())) if gaps.size else (1.0, 1.0)
        usual, least = max(variance, 1e-4), max(_SHORTER * shortest, _SHORTEST)
        return cls((_LEAST * usual, _MOST * usual), (least, max(_LONGER * longest, 2.0 * least)))

    @property
    def middle(self) -> tuple[float, float]:
        """A variance and a half-life between the ends: where chains start."""
        return math.sqrt(self.variances[0] * self.variances[1]), math.sqrt(self.half_lives[0] * self.half_lives[1])

    def redrawn(
        self, now: tuple[float, float], log_density: Callable[[float, float], float], rng: np.random.Generator
    ) -> tuple[float, float]:
        """Take two Metropolis steps for both given the log density of answers: a long one, then a short one.

        One long step in two is to a half-life anywhere.
        """
        density = log_density(*now)
        anywhere = math.exp(rng.uniform(math.log(self.half_lives[0]), math.log(self.half_lives[1])))
        far = rng.random() < 0.5
        for step in (_LONG, _SHORT):
            factor = np.exp(step * rng.standard_normal(2)).tolist()
            wanted = now[0] * factor[0], now[1] * factor[1]
            if far and step == _LONG:
                wanted = now[0], anywhere
            now, density = self._stepped(now, density, wanted, log_density, rng)
        return now

    def _stepped(
        self,
        now: tuple[float, float],
        density: float,
        wanted: tuple[float, float],
        log_density: Callable[[float, float], float],
        rng: np.random.Generator,
    ) -> tuple[tuple[float, float], float]:
        """Return where a proposal leads, and the log density there."""
        luck = math.log(rng.random())
        ends = zip(wanted, (self.variances, self.half_lives), strict=True)
        if all(low <= x <= high for x, (low, high) in ends):
            found = log_density(*wanted)
            if luck < found - density:
                return wanted, found
        return now, density
