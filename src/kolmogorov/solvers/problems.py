"""The small problems behind every half-step, as immutable values: a quadratic program for each set, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from numbers import Real
from typing import Any, ClassVar

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

    family: ClassVar[str]
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

    @classmethod
    def first(cls, size: int) -> Floats:
        """Return the point from which solvers start where none is given."""
        return np.zeros(size)

    @classmethod
    def nearest(cls, point: Floats) -> Floats:
        """Return the point of the set nearest to one that lies between points of the set."""
        return point

    @classmethod
    def check_points(cls, points: Floats, name: str) -> None:
        """Raise where points are not in the set."""
        raise NotImplementedError

    def _point(self, x: ArrayLike) -> Floats:
        point = real_array(x, "x", ndim=1)
        if point.size != self.size:
            raise DataError(f"'x' must have {self.size} entries, one per variable, got {point.size}.")
        return point


class BinaryQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x in {0,1}^D.

    Examples
    --------
    >>> problem = BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])
    >>> problem.value([0, 1])
    -1.0
    """

    family = "binary"

    @classmethod
    def nearest(cls, point: Floats) -> Floats:
        """Return the point of the set nearest to one that lies between points of the set."""
        return (point > 0.5).astype(np.float64)

    @classmethod
    def check_points(cls, points: Floats, name: str) -> None:
        """Raise where points are not in the set."""
        if not ((points == 0.0) | (points == 1.0)).all():
            raise DataError(f"{name} must hold only 0 and 1.")


class SimplexQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x >= 0, sum(x) = 1. `gram` is positive semidefinite.

    Examples
    --------
    >>> problem = SimplexQP([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    >>> problem.value([0.5, 0.5]), problem.gap([0.5, 0.5])
    (-0.5, 0.0)
    """

    family = "simplex"

    def __init__(self, gram: ArrayLike, moment: ArrayLike, offset: float = 0.0) -> None:
        super().__init__(gram, moment, offset)
        least = float(np.linalg.eigvalsh(self.gram)[0])
        if least < -1e-9 * max(float(np.abs(self.gram).max()), 1e-300):
            raise DataError(
                f"'gram' must be positive semidefinite for a problem on the simplex; its least eigenvalue is {least:g}."
            )

    @classmethod
    def first(cls, size: int) -> Floats:
        """Return the point from which solvers start where none is given."""
        return np.full(size, 1.0 / size)

    @classmethod
    def check_points(cls, points: Floats, name: str) -> None:
        """Raise where points are not in the set."""
        if not (points >= 0).all() or np.abs(points.sum(axis=-1) - 1.0).max() > 1e-9:
            raise DataError(f"{name} must be non-negative and sum to 1.")

    def gap(self, x: ArrayLike) -> float:
        """Return the Frank-Wolfe gap; value(x) lies at most twice this above the optimum."""
        point = self._point(x)
        gradient = self.gram @ point - self.moment
        return float(gradient @ point - gradient.min())


class BoxQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x in [0,1]^D. `gram` is positive semidefinite.

    Examples
    --------
    >>> BoxQP([[1.0]], [0.5]).value([0.5])
    -0.25
    """

    family = "box"

    @classmethod
    def first(cls, size: int) -> Floats:
        """Return the point from which solvers start where none is given."""
        return np.full(size, 0.5)

    @classmethod
    def check_points(cls, points: Floats, name: str) -> None:
        """Raise where points are not in the set."""
        if not ((points >= 0.0) & (points <= 1.0)).all():
            raise DataError(f"{name} must lie in [0, 1].")


class RidgeQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over all x. `gram` is positive semidefinite.

    Examples
    --------
    >>> RidgeQP([[2.0]], [1.0]).value([0.5])
    -0.5
    """

    family = "ridge"

    @classmethod
    def check_points(cls, points: Floats, name: str) -> None:
        """Raise where points are not in the set."""
        if not np.isfinite(points).all():
            raise DataError(f"{name} must be finite.")


class Status(Enum):
    """How much is known about a solution."""

    OPTIMAL = "optimal"  #: proved to the solver's tolerance
    FEASIBLE = "feasible"  #: a point of the set; no proof that it is the best
    ITERATION_LIMIT = "iteration_limit"  #: stopped before the solver's own criterion was met


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved problem.

    Attributes
    ----------
    x : ndarray of shape (D,)
    value : float
        The problem's value at `x`.
    lower_bound : float or None
        No point of the set has a value below this, where the solver can tell.
    status : Status
    seconds : float
    iterations : int or None
    n_evd, n_lanczos : int or None
        Eigendecompositions that the method made, those of line searches included: full ones, and Lanczos runs. The one
        from which `lower_bound` and `gradient_norm` are taken at the end is not among them.
    gradient_norm : float or None
        Norm of the dual's gradient at the end, from a full EVD.
    nodes : int or None
        Of a search tree.
    phases : dict or None
        Iterations of the enhanced gradient descent in its phases I-A, I-B, II-A, II-B.
    dual : ndarray of shape (D + 1,) or None
        Final dual variables.
    trace : ndarray or None
        With the option ``trace=True``: the dual value at the start and after every iteration.
    dual_trace : ndarray or None
        The dual points that belong to `trace`.
    """

    x: Floats
    value: float
    lower_bound: float | None
    status: Status
    seconds: float
    iterations: int | None = None
    n_evd: int | None = None
    n_lanczos: int | None = None
    gradient_norm: float | None = None
    nodes: int | None = None
    phases: dict[str, int] | None = None
    dual: Floats | None = None
    trace: Floats | None = None
    dual_trace: Floats | None = None

    @property
    def gap(self) -> float | None:
        """Value minus lower bound, where there is a bound."""
        return None if self.lower_bound is None else self.value - self.lower_bound


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
