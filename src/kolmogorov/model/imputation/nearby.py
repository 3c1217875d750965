"""What rows nearby leave: a column's rest after straight relations and events, smoothed over rows that are alike.

A normal process over the other columns says what is left of a row, given what is left of those around it. So curves
count that straight relations and a few events do not follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats

#: How far rows reach, in deviations of a column, and by how much noise may exceed what is smooth. By judgement, and
#: tried on made-up kinds, curves and factors.
_REACH, _RIDGES = 1.0, (0.1, 0.3, 1.0, 3.0, 10.0)
#: A column whose rows differ by less than this share of the scale tells nothing.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Nearby:
    """What is added to a column's values by rows that are alike in the others."""

    #: [n, q]: the other columns of the rows that it was learned from, in their deviations.
    places: Floats
    #: [q]
    deviations: Floats
    #: [n]: what each row adds where it is near.
    weights: Floats
    #: The share of the variance that is left around this.
    share: float

    @classmethod
    def of(cls, others: Floats, left: Floats) -> Self:
        """Learn from what is left of rows, given their other columns; float64[n, q], [n].

        How much noise there is, and how far to believe it, is what would have been best for rows that were left out,
        each in its turn.
        """
        deviations = np.maximum(others.std(axis=0), _LEAST)
        places, total = others / deviations, float(left @ left)
        best, weights = total, np.zeros(left.size)
        with one_blas_thread():
            sizes, axes = np.linalg.eigh(_kernel(places, places))
            turned = axes.T @ left
            for ridge in _RIDGES:
                inverse = 1.0 / (np.maximum(sizes, 0.0) + ridge)
                found = axes @ (inverse * turned)
                out = left - found / ((axes**2) @ inverse)
                size = float(out @ out)
                belief = min(max(float(left @ out) / size, 0.0), 1.0) if size > 0.0 else 0.0
                rest = float(((left - belief * out) ** 2).sum())
                if rest < best:
                    best, weights = rest, belief * found
        return cls(places, deviations, weights, best / total if total > 0.0 else 1.0)

    def added(self, others: Floats) -> Floats:
        """Return what is added to the values of rows, given their other columns."""
        found: Floats = _kernel(others / self.deviations, self.places) @ self.weights
        return found


def _kernel(rows: Floats, others: Floats) -> Floats:
    """Return how much rows have in common: 1 where they are the same."""
    squares = (rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * rows @ others.T
    found: Floats = np.exp(-np.maximum(squares, 0.0) / (2.0 * _REACH**2 * max(rows.shape[1], 1)))
    return found
