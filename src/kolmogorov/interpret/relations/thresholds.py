"""Thresholds between the ratings of a scale: what "at least 4 stars" means for what items are in events."""

from __future__ import annotations

from dataclasses import dataclass
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
    >>> import kolmogorov as km
    >>> table = km.Observations.from_arrays(["ann", "bob", "cas"], ["tea"] * 3, [1, 2, 4], minimum=0)
    >>> model = km.KolmogorovModel(1, levels="chances", learn_from="ratings", random_state=0).fit(table)
    >>> thresholds = Thresholds.of(model.fitted_)
    >>> thresholds.levels.tolist(), thresholds.ratings.tolist()
    ([0.375, 0.75], [0.5, 1.0])
    """

    levels: Floats
    ratings: Floats
    said: bool = True

    @classmethod
    def of(cls, fitted: Fitted) -> Thresholds:
        """Return the thresholds of a model.

        Where an item may be anything in an event, a threshold is where rounding to the nearest rating changes.
        """
        if fitted.psi.dtype == bool:
            return cls.one(0.5)
        points = fitted.points
        return cls(middles(points), points[1:], not fitted.training.is_binary)

    @classmethod
    def one(cls, level: float) -> Thresholds:
        """Return the threshold between no and yes."""
        return cls(np.array([level]), np.array([1.0]), said=False)

    def __len__(self) -> int:
        return len(self.levels)

    def bits(self, psi: NDArray[Any]) -> NDArray[np.bool_]:
        """Return in which events items reach each threshold: bool[n_items, T, n_events]."""
        reached: NDArray[np.bool_] = psi[:, None, :] >= self.levels[:, None] - _SINGLE
        return reached

    def least(self, likes: float | None) -> int:
        """Return the number of the lowest threshold whose rating is at least `likes`."""
        return int(np.searchsorted(self.ratings, likes - _ROUNDING)) if self.said and likes is not None else 0
