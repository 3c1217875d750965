"""What the quadratic programs share: a symmetric matrix, a vector, and the value of a point."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError

#: A dense matrix of this size takes 3 GB.
MOST_VARIABLES = 20_000
#: What no sum over the entries may exceed: its square is still a number, and the solvers square.
LARGEST_SUM = 1e100
# Rows compared with columns at a time, so that no second matrix is made.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Minimise x^T gram x - 2 x^T moment + offset over a set that subclasses name.

    Parameters
    ----------
    gram : array-like or sparse matrix of shape (D, D)
        Real and symmetric; definite or not.
    moment : array-like of shape (D,)
    offset : float
        A constant, for problems that come with one.

    Notes
    -----
    All numbers must be finite and of size at most 1e100 / D^2, so that neither values nor their squares overflow; D is
    at most 20,000.
    """

    gram: Floats
    moment: Floats
    offset: float

    def __init__(self, gram: ArrayLike, moment: ArrayLike, offset: float = 0.0) -> None:
        _check_size(gram)
        matrix = real_array(gram, "gram", ndim=2)
        vector = real_array(moment, "moment", ndim=1)
        if matrix.shape != (vector.size, vector.size):
            raise DataError(
                f"'gram' must be square with one row per entry of 'moment', got shapes {matrix.shape} and "
                f"{vector.shape}."
            )
        if vector.size == 0:
            raise DataError("The problem has no variables; at least one is needed.")
        if isinstance(offset, bool) or not isinstance(offset, (Real, np.ndarray)) or np.ndim(offset) != 0:
            raise DataError(f"'offset' must be a real number, got {offset!r}.")
        constant = float(real_array(offset, "offset", ndim=0))
        for name, array in (("gram", matrix), ("moment", vector), ("offset", np.array(constant))):
            _check_magnitude(array, name, vector.size)
        _make_symmetric(matrix)
        object.__setattr__(self, "gram", _frozen(matrix))
        object.__setattr__(self, "moment", _frozen(vector))
        object.__setattr__(self, "offset", constant)

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.moment.size

    def value(self, x: ArrayLike) -> float:
        """Return x^T gram x - 2 x^T moment + offset."""
        point = self._point(x)
        return float(point @ self.gram @ point - 2.0 * (point @ self.moment)) + self.offset

    def _point(self, x: ArrayLike) -> Floats:
        point = real_array(x, "x", ndim=1)
        if point.size != self.size:
            raise DataError(f"'x' must have {self.size} entries, one per variable, got {point.size}.")
        return point


def real_array(values: Any, name: str, ndim: int) -> Floats:
    """Return a copy as float64, or say what is wrong with it."""
    if hasattr(values, "toarray"):
        values = values.toarray()
    if np.ma.is_masked(values):
        raise DataError(f"'{name}' must hold a number in every place, but some of its entries are masked.")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise DataError(f"'{name}' must be an array of real numbers, got {_kind_of(array)}.")
        array = np.array(array, dtype=np.float64, order="C")
    except DataError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"'{name}' must be an array of real numbers in which all rows have the same length; numpy cannot make one "
            f"of this {type(values).__name__}."
        ) from None
    if array.ndim != ndim:
        raise DataError(f"'{name}' must have {ndim} dimension(s), got an array of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"'{name}' must be finite, but holds NaN or infinity; replace or remove these entries.")
    return array


def _kind_of(array: NDArray[Any]) -> str:
    return {"c": "complex ones", "U": "text", "S": "text"}.get(array.dtype.kind, f"the type {array.dtype}")


def row_count(matrix: Any) -> int:
    """Count the rows of what should be a matrix; none where it is not."""
    shape = getattr(matrix, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(matrix) if hasattr(matrix, "__len__") else 0


def _check_size(gram: Any) -> None:
    """Refuse what would not fit in memory before it is copied; sparse matrices are small until then."""
    rows = row_count(gram)
    if rows > MOST_VARIABLES:
        raise DataError(
            f"A problem may have at most {MOST_VARIABLES:,} variables, got {rows:,}: its matrix is dense. Split it, "
            "or fix variables that are known."
        )


def _check_magnitude(array: Floats, name: str, size: int) -> None:
    limit = LARGEST_SUM / size**2
    largest = max(abs(float(array.max())), abs(float(array.min())))
    if largest > limit:
        raise DataError(
            f"'{name}' holds a number of size {largest:.3g}; with {size} variable(s) at most {limit:.3g} can be "
            "computed with. Divide gram, moment and offset by a common factor: the best point stays the same."
        )


def _make_symmetric(matrix: Floats) -> None:
    """Replace the matrix by the mean of itself and its transpose, which must agree up to rounding."""
    size = len(matrix)
    scale = max(abs(float(matrix.max())), abs(float(matrix.min())))
    for first in range(0, size, _BLOCK):
        rows = slice(first, first + _BLOCK)
        gap = np.abs(matrix[rows, first:] - matrix[first:, rows].T)
        if gap.max() > 1e-9 * scale:
            i, j = (first + int(k) for k in np.unravel_index(int(gap.argmax()), gap.shape))
            raise DataError(
                f"'gram' must be symmetric, but entry ({i}, {j}) is {matrix[i, j]:g} and ({j}, {i}) is "
                f"{matrix[j, i]:g}. Pass (S + S.T) / 2, which has the same values."
            )
        mean = (matrix[rows, first:] + matrix[first:, rows].T) / 2
        matrix[rows, first:] = mean
        matrix[first:, rows] = mean.T


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
