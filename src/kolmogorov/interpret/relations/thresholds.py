"""Thresholds between the ratings of a scale: what "at least 4 stars" means for what items are in events."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import middles
from kolmogorov._support.typing import Floats
from kolmogorov.fitted.point import Fitted

# Values come through divisions, and those of draws in single precision.
_ROUNDING, _SINGLE = 1e-9, 1e-6


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds of a model that tell ratings apart, lowest first; of yes and no there is one.

    Attributes
    ----------
    levels : float64[T]
        What an item must be in an event to reach each threshold.
    ratings : float64[T]
        The ratings that this means, on the probability scale: at least these.
    said : bool
        Whether statements say their threshold, "Alien >= 4"; with yes and no they are "Alien".

    Examples
    --------
    >>> thresholds = Thresholds.between(np.array([-0.5, 0.0, 0.5, 1.0, 1.5]), np.array([0.2, 0.4, 0.6, 0.8, 1.0]))
    >>> thresholds.levels.tolist(), thresholds.ratings.tolist()
    ([0.5, 1.0], [0.6, 1.0])
    """

    levels: Floats
    ratings: Floats
    said: bool = True

    @classmethod
    def of(cls, fitted: Fitted) -> Thresholds:
        """Return the thresholds of a model.

        Where an item may be anything in an event, a threshold is where rounding to the nearest rating changes. On a
        scale of very many ratings, the levels are the thresholds.
        """
        if fitted.psi.dtype == bool:
            return cls.one(0.5)
        said, points = not fitted.training.is_binary, fitted.points
        if fitted.levels is None:
            return cls(middles(points), points[1:], said)
        if not fitted.has_few_points:
            inside = (fitted.levels > points[0]) & (fitted.levels <= points[-1])
            points = np.append(points[0], fitted.levels[inside])
        return cls.between(fitted.levels, points, said)

    @classmethod
    def one(cls, level: float) -> Thresholds:
        """Return the threshold between no and yes."""
        return cls(np.array([level]), np.array([1.0]), said=False)

    @classmethod
    def between(cls, levels: Floats, points: Floats, said: bool = True) -> Thresholds:
        """Return the levels that tell ratings apart.

        Of several that tell the same ratings apart, the lowest is taken that is nearer to the upper of the two, as
        rounding to the nearest rating would.
        """
        found, ratings = [], []
        for below, rating in pairwise(points.tolist()):
            between = levels[(levels > below + _ROUNDING) & (levels <= rating + _ROUNDING)]
            if between.size:
                upper = between[between >= (below + rating) / 2 - _ROUNDING]
                found.append(float(upper[0] if upper.size else between[-1]))
                ratings.append(float(rating))
        return cls(np.array(found), np.array(ratings), said)

    def __len__(self) -> int:
        return len(self.levels)

    def bits(self, psi: NDArray[Any]) -> NDArray[np.bool_]:
        """Return in which events items reach each threshold: bool[n_items, T, n_events]."""
        reached: NDArray[np.bool_] = psi[:, None, :] >= self.levels[:, None] - _SINGLE
        return reached

    def least(self, likes: float | None) -> int:
        """Return the number of the lowest threshold whose rating is at least `likes`."""
        return int(np.searchsorted(self.ratings, likes - _ROUNDING)) if self.said and likes is not None else 0
