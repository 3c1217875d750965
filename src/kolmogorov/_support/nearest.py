"""Numbers put onto the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
