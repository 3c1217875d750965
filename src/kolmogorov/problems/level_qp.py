"""The items' problem of a many-valued model: a quadratic over a grid of values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolmogorov.errors import DataError
from kolmogorov.problems.quadratic import QuadraticProgram, real_array

#: Beyond this a level squared times a matrix entry may not be a number.
LARGEST_LEVEL = 1e6


class LevelQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment + offset over x in levels^D.

    Parameters
    ----------
    gram, moment, offset
        As of every quadratic program; `gram` may be definite or not.
    levels : array-like of shape (L,)
        The values that each variable may take: at least two, increasing.

    Examples
    --------
    >>> problem = LevelQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0], levels=[0.0, 0.5, 1.0])
    >>> problem.value([0, 1]), problem.value([0.5, 0.5])
    (-1.0, -0.25)
    """

    levels: NDArray[np.float64]

    def __init__(self, gram: ArrayLike, moment: ArrayLike, levels: ArrayLike, offset: float = 0.0) -> None:
        super().__init__(gram, moment, offset)
        object.__setattr__(self, "levels", level_values(levels))


def level_values(levels: ArrayLike) -> NDArray[np.float64]:
    """Return levels as a frozen array, or say what is wrong with them."""
    values = real_array(levels, "levels", ndim=1)
    if values.size < 2 or not (np.diff(values) > 0.0).all():
        raise DataError(f"'levels' must be at least two increasing numbers, got {values.tolist()}.")
    if max(-values[0], values[-1]) > LARGEST_LEVEL:
        raise DataError(
            f"'levels' may be of size {LARGEST_LEVEL:g} at most, got {values.tolist()}. Rescale 'gram' too."
        )
    values.setflags(write=False)
    return values
