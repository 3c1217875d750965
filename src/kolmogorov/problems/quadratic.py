"""What the quadratic programs share: a symmetric matrix, a vector, and the value of a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolmogorov.errors import DataError


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Minimise x^T gram x - 2 x^T moment + offset over a set that subclasses name.

    Parameters
    ----------
    gram : array-like of shape (D, D)
        Real and symmetric; definite or not.
    moment : array-like of shape (D,)
    offset : float
        A constant, for problems that come with one.
    """

    gram: NDArray[np.float64]
    moment: NDArray[np.float64]
    offset: float

    def __init__(self, gram: ArrayLike, moment: ArrayLike, offset: float = 0.0) -> None:
        matrix = _real_array(gram, "gram", ndim=2)
        vector = _real_array(moment, "moment", ndim=1)
        if matrix.shape != (vector.size, vector.size):
            raise DataError(
                f"'gram' must be square with one row per entry of 'moment', got shapes {matrix.shape} and "
                f"{vector.shape}."
            )
        if vector.size == 0:
            raise DataError("The problem has no variables; at least one is needed.")
        scale = np.abs(matrix).max()
        gap = np.abs(matrix - matrix.T)
        if gap.max() > 1e-9 * scale:
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            raise DataError(
                f"'gram' must be symmetric, but entry ({i}, {j}) is {matrix[i, j]:g} and ({j}, {i}) is "
                f"{matrix[j, i]:g}. Pass (S + S.T) / 2, which has the same values."
            )
        object.__setattr__(self, "gram", _frozen((matrix + matrix.T) / 2))
        object.__setattr__(self, "moment", _frozen(vector))
        object.__setattr__(self, "offset", float(offset))

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.moment.size

    def value(self, x: ArrayLike) -> float:
        """Return x^T gram x - 2 x^T moment + offset."""
        point = np.asarray(x, dtype=np.float64)
        return float(point @ self.gram @ point - 2.0 * (point @ self.moment)) + self.offset


def _real_array(values: Any, name: str, ndim: int) -> NDArray[np.float64]:
    if np.iscomplexobj(values):
        raise DataError(f"'{name}' must be an array of real numbers, got complex ones.")
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(f"'{name}' must be an array of real numbers: {error}.") from None
    if array.ndim != ndim:
        raise DataError(f"'{name}' must have {ndim} dimension(s), got an array of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"'{name}' must be finite, but holds NaN or infinity.")
    return array


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
