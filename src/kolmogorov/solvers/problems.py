"""Small quadratic programs as immutable values, one class for each set, and what is known of one that was solved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

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
    """Minimise x^T gram x - 2 x^T moment + offset over a set: `BinaryQP`, `SimplexQP`, `BoxQP` or `RidgeQP`.

    Parameters
    ----------
    gram : array-like or sparse matrix of shape (D, D)
        Real and symmetric; definite or not over bits, positive semidefinite over the other sets.
    moment : array-like of shape (D,)
    offset : float
        A constant, for problems that come with one.

    Notes
    -----
    All numbers must be finite and of size at most 1e100 / D^2, so that neither values nor their squares overflow; D is
    at most 20,000.

    Examples
    --------
    >>> BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]).value([0, 1])
    -1.0
    """

    family: ClassVar[str]
    gram: Floats
    moment: Floats
    offset: float

    def __init__(self, gram: ArrayLike, moment: ArrayLike, offset: float = 0.0) -> None:
        if row_count(gram) > MOST_VARIABLES:  # before it is copied: sparse matrices are small until then
            raise DataError(
                f"A problem may have at most {MOST_VARIABLES:,} variables, got {row_count(gram):,}: its matrix is "
                "dense. Split it, or fix variables that are known."
            )
        matrix, vector = real_array(gram, "gram", ndim=2), real_array(moment, "moment", ndim=1)
        if matrix.shape != (vector.size, vector.size):
            raise DataError(
                f"'gram' must be square with one row per entry of 'moment', got shapes {matrix.shape} and "
                f"{vector.shape}."
            )
        if vector.size == 0:
            raise DataError("The problem has no variables; at least one is needed.")
        if isinstance(offset, bool) or not isinstance(offset, (Real, np.ndarray)) or np.ndim(offset) != 0:
            raise DataError(f"'offset' must be a real number, got {offset!r}.")
        constant = real_array(offset, "offset", ndim=0)
        for name, array in (("gram", matrix), ("moment", vector), ("offset", constant)):
            largest, limit = max(abs(float(array.max())), abs(float(array.min()))), LARGEST_SUM / vector.size**2
            if largest > limit:
                raise DataError(
                    f"'{name}' holds a number of size {largest:.3g}; with {vector.size} variable(s) at most "
                    f"{limit:.3g} can be computed with. Divide gram, moment and offset by a common factor: the best "
                    "point stays the same."
                )
        _make_symmetric(matrix)
        least = float(np.linalg.eigvalsh(matrix)[0]) if self.family == "simplex" else 0.0
        if least < -1e-9 * max(float(np.abs(matrix).max()), 1e-300):
            raise DataError(
                f"'gram' must be positive semidefinite for a problem on the simplex; its least eigenvalue is {least:g}."
            )
        for array in (matrix, vector):
            array.setflags(write=False)
        vars(self).update(gram=matrix, moment=vector, offset=float(constant))

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.moment.size

    def value(self, x: ArrayLike) -> float:
        """Return x^T gram x - 2 x^T moment + offset."""
        point = real_array(x, "x", ndim=1)
        if point.size != self.size:
            raise DataError(f"'x' must have {self.size} entries, one per variable, got {point.size}.")
        return float(point @ self.gram @ point - 2.0 * (point @ self.moment)) + self.offset


class BinaryQP(QuadraticProgram):
    """Over x in {0,1}^D: an item's problem, the paper's BQP."""

    family = "binary"


class SimplexQP(QuadraticProgram):
    """Over x >= 0 with sum(x) = 1: a user's problem, the paper's LCQP."""

    family = "simplex"


class BoxQP(QuadraticProgram):
    """Over x in [0,1]^D: an item's problem in the nonnegative model that the paper compares with."""

    family = "box"


class RidgeQP(QuadraticProgram):
    """Over all x: a row's problem in matrix factorisation by alternating least squares."""

    family = "ridge"


#: Of every set: which points it holds, what others are told, and each entry of the point from which solvers start.
_SETS: dict[str, tuple[Any, str, Any]] = {
    "binary": (lambda x: ((x == 0.0) | (x == 1.0)).all(), "hold only 0 and 1", lambda size: 0.0),
    "simplex": (
        lambda x: (x >= 0.0).all() and np.abs(x.sum(axis=-1) - 1.0).max() <= 1e-9,
        "be non-negative and sum to 1",
        lambda size: 1.0 / size,
    ),
    "box": (lambda x: ((x >= 0.0) & (x <= 1.0)).all(), "lie in [0, 1]", lambda size: 0.5),
    "ridge": (lambda x: np.isfinite(x).all(), "be finite", lambda size: 0.0),
}


def check_points(family: str, points: Floats, name: str) -> None:
    """Raise where points are not in the set of a family."""
    holds, words, _ = _SETS[family]
    if not holds(points):
        raise DataError(f"{name} must {words}.")


def first_point(family: str, size: int) -> Floats:
    """Return the point from which solvers start where none is given."""
    return np.full(size, _SETS[family][2](size))


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
            kinds = {"c": "complex ones", "U": "text", "S": "text"}
            found = kinds.get(array.dtype.kind, f"the type {array.dtype}")
            raise DataError(f"'{name}' must be an array of real numbers, got {found}.")
        array = np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"'{name}' must be an array of real numbers in which all rows have the same length; numpy cannot make one "
            f"of this {type(values).__name__}."
        ) from None
    if array.ndim != ndim:
        raise DataError(f"'{name}' must have {ndim} dimension(s), got an array of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"'{name}' must be finite, but holds NaN or infinity; replace or remove these entries.")
    return array


def row_count(matrix: Any) -> int:
    """Count the rows of what should be a matrix; none where it is not."""
    shape = getattr(matrix, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(matrix) if hasattr(matrix, "__len__") else 0


def _make_symmetric(matrix: Floats) -> None:
    """Replace the matrix by the mean of itself and its transpose, which must agree up to rounding."""
    scale = max(abs(float(matrix.max())), abs(float(matrix.min())))
    for first in range(0, len(matrix), _BLOCK):
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
