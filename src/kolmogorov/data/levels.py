"""The values that an item may take in an event where models are drawn: two, or a grid of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.observations import Observations

#: An item's value in an event is kept as one byte; a reach of ten scales either way is beyond all use. By judgement.
MOST_LEVELS, FURTHEST_LEVEL = 64, 10.0
#: The step of a grid where the ratings' own is finer or coarser, with the two between which that serves. By judgement.
_USUAL_STEP, _FINEST_STEP, _COARSEST_STEP = 0.2, 0.15, 0.25
#: Ratings looked at to find their step. By judgement.
_LOOK = 1 << 20


def are_levels(grid: NDArray[Any]) -> bool:
    """Tell whether numbers, of a file say, are levels: increasing, not too many and not too far away."""
    shaped = grid.ndim == 1 and 2 <= grid.size <= MOST_LEVELS
    return bool(shaped and (np.abs(grid) <= FURTHEST_LEVEL).all() and (np.diff(grid) > 0.0).all())


def nearest(values: NDArray[Any], points: NDArray[np.float64]) -> NDArray[Any]:
    """Return which of some increasing points is nearest to each value; half-way between two it is the lower one.

    The numbers are of the smallest unsigned type that holds them: up to 256 points take a byte each.

    Examples
    --------
    >>> nearest(np.array([-7.0, 0.24, 0.25, 0.9]), np.array([0.0, 0.5, 1.0])).tolist()
    [0, 0, 0, 2]
    """
    return np.searchsorted(middles(points), values).astype(np.min_scalar_type(points.size - 1))


def middles(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where rounding to the nearest of some increasing points changes."""
    return 0.5 * (points[1:] + points[:-1])


def step_of(table: Observations) -> float:
    """Return the distance of neighbouring ratings where it makes a grid of sensible size, or else the usual one."""
    found = np.unique(table.values[:_LOOK].round(9))
    step = float(np.diff(found).min()) if 2 <= found.size <= MOST_LEVELS else 0.0
    return step if _FINEST_STEP <= step <= _COARSEST_STEP else _USUAL_STEP
