"""The paper's BQP (4) on its own: minimise x^T S x - 2 x^T v over {0,1}^D, for any real symmetric S.

Examples
--------
>>> from kolmogorov import bqp
>>> solution = bqp.solve([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])
>>> solution.x.tolist(), solution.value, solution.status.value
([0.0, 1.0], -1.0, 'optimal')
"""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov._support.outside import require
from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError, FileFormatError
from kolmogorov.solvers import resolve
from kolmogorov.solvers.contract import Known, RowSolver, solving
from kolmogorov.solvers.dual import DualSolver

__all__ = ["BinaryQP", "Solution", "Status", "from_dimod", "read", "solve", "solve_many"]

#: A dense matrix of this size takes 800 MB.
_MOST_VARIABLES = 10_000
#: What no sum over the entries may exceed: its square is still a number, and the solvers square.
_LARGEST_SUM = 1e100
#: What `auto` does for a problem on its own, which deserves more work than one of thousands in a sweep: all points take
#: a tenth of a second, and the descents find the optimum of every instance that `benchmarks/solvers.py` looks at.
_THOROUGH = {"exact_up_to": 24, "n_starts": 100}


@dataclass(frozen=True, eq=False)
class BinaryQP:
    """Minimise x^T gram x - 2 x^T moment + offset over x in {0,1}^D.

    Parameters
    ----------
    gram : array-like or sparse matrix of shape (D, D)
        Real and symmetric, definite or not. D is at most 10,000, and entries are at most 1e100 / D^2.

    Examples
    --------
    >>> BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]).value([0, 1])
    -1.0
    """

    gram: Floats
    moment: Floats
    offset: float = 0.0

    def __post_init__(self) -> None:
        gram, moment = _numbers(self.gram, "gram", 2), _numbers(self.moment, "moment", 1).copy()
        offset = float(_numbers(self.offset, "offset", 0))
        if gram.shape != (moment.size, moment.size) or moment.size == 0:
            raise DataError(
                f"'gram' must be square with one row per entry of 'moment', got shapes {gram.shape} and {moment.shape}."
            )
        largest, limit = np.abs(gram).max(), _LARGEST_SUM / moment.size**2
        if max(largest, np.abs(moment).max(), abs(offset)) > limit:
            raise DataError(
                f"With {moment.size} variable(s) numbers up to {limit:.3g} can be computed with. Divide gram, moment "
                "and offset by a common factor: the best point stays the same."
            )
        if np.abs(gram - gram.T).max() > 1e-9 * largest:
            raise DataError("'gram' must be symmetric. Pass (S + S.T) / 2, which has the same values.")
        vars(self).update(gram=(gram + gram.T) / 2, moment=moment, offset=offset)

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.moment.size

    def value(self, x: ArrayLike) -> float:
        """Return the value at a point."""
        point = _numbers(x, "x", 1)
        if point.shape != (self.size,):
            raise DataError(f"'x' must have shape ({self.size},), got {point.shape}.")
        return float(point @ self.gram @ point - 2.0 * (point @ self.moment) + self.offset)


class Status(Enum):
    """How much is known about a solution."""

    OPTIMAL = "optimal"  #: proved
    FEASIBLE = "feasible"  #: no proof that it is the best
    ITERATION_LIMIT = "iteration_limit"  #: stopped before the solver's own criterion was met


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved problem.

    Attributes
    ----------
    lower_bound : float or None
        No point has a value below this, where the solver can tell.
    iterations : int or None
        Those of the method; points, descents or boxes where it looks at such.
    n_evd, n_lanczos : int or None
        Eigendecompositions that the method made, those of line searches included: full ones, and Lanczos runs.
    gradient_norm : float or None
        Norm of the dual's gradient at the end, from a full EVD that is not counted.
    phases : dict or None
        Iterations of the enhanced gradient descent in its phases I-A, I-B, II-A, II-B.
    dual : ndarray of shape (D + 1,) or None
        The dual point at the end, from which a similar problem may `start`.
    trace, dual_trace : ndarray or None
        With the option ``trace=True``: the dual value and the dual point at the start and after every iteration.
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
    phases: dict[str, int] | None = None
    dual: Floats | None = None
    trace: Floats | None = None
    dual_trace: Floats | None = None


def _numbers(values: Any, name: str, ndim: int) -> Floats:
    """Return an array as float64, or say what is wrong with it."""
    if max(getattr(values, "shape", ()), default=0) > _MOST_VARIABLES:  # before a sparse matrix becomes dense
        raise DataError(f"A problem may have at most {_MOST_VARIABLES:,} variables: its matrix is dense.")
    values = values.toarray() if hasattr(values, "toarray") else values
    try:
        array = None if np.iscomplexobj(values) else np.array(values, dtype=np.float64, order="C", ndmin=ndim)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.ndim != ndim or np.ndim(values) != ndim or not np.isfinite(array).all():
        raise DataError(f"'{name}' must be an array of finite real numbers with {ndim} dimension(s).")
    return array


def solve(
    S: ArrayLike | BinaryQP,
    v: ArrayLike | None = None,
    *,
    solver: str | RowSolver = "auto",
    start: ArrayLike | None = None,
    random_state: Any = 0,
    **options: Any,
) -> Solution:
    """Minimise x^T S x - 2 x^T v over x in {0,1}^D.

    Parameters
    ----------
    S : array-like of shape (D, D) or BinaryQP
        Real and symmetric, definite or not; dense or sparse.
    v : array-like of shape (D,), optional
        Zero by default; not given with a problem, which has its own.
    solver : str or solver object
        `kolmogorov.solvers.names("binary")` lists them; `docs/solvers.md` says which when.
    start : array-like of shape (D,) or (D + 1,), optional
        A point for the solvers that start from one; for methods on the dual the `dual` of an earlier solution.
    random_state : int, Generator or None
    **options
        Of the solver.

    Examples
    --------
    >>> solve([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0], solver="enhanced_gd", gamma=100).x.tolist()
    [0.0, 1.0]
    """
    if isinstance(S, BinaryQP) and v is not None:
        raise DataError("A BinaryQP has its own moment; 'v' goes with a matrix.")
    if not isinstance(S, BinaryQP):
        gram = _numbers(S, "gram", 2)
        S = BinaryQP(gram, np.zeros(len(gram)) if v is None else _numbers(v, "moment", 1))
    return _solutions([S], solver, options, None if start is None else [start], random_state)[0]


def solve_many(
    S: ArrayLike,
    v: ArrayLike,
    *,
    solver: str | RowSolver = "auto",
    start: ArrayLike | None = None,
    random_state: Any = 0,
    **options: Any,
) -> list[Solution]:
    """Solve many problems over {0,1}^D in one call, which for small ones takes a fraction of the time of many calls.

    Parameters
    ----------
    S : array-like of shape (D, D) or (n, D, D)
        One matrix for all problems, or one for each.
    v : array-like of shape (n, D)
    start : array-like of shape (n, D) or (n, D + 1), optional
    solver, random_state, **options
        As for `solve`, the same for all problems.

    Returns
    -------
    list of Solution
        What `solve` would return for each; `seconds` is an equal share of the time of the call.

    Examples
    --------
    >>> [solution.x.tolist() for solution in solve_many([[2.0, 1.0], [1.0, 1.0]], [[0.5, 1.0], [3.0, 0.0]])]
    [[0.0, 1.0], [1.0, 0.0]]
    """
    grams, moments = np.asarray(S), _numbers(v, "v", 2)
    if grams.ndim != 3:
        grams = np.broadcast_to(grams, (len(moments), *grams.shape))
    if len(grams) != len(moments):
        raise DataError(f"'S' must be one matrix, or one for each of the {len(moments)} rows of 'v', got {len(grams)}.")
    problems = [BinaryQP(gram, moment) for gram, moment in zip(grams, moments, strict=True)]
    return _solutions(problems, solver, options, start, random_state) if problems else []


def _solutions(problems: list[BinaryQP], solver: Any, options: Any, start: Any, random_state: Any) -> list[Solution]:
    """Solve problems of one size; bounds are computed when the clock has stopped."""
    n, size = len(problems), problems[0].size
    method = resolve("binary", solver, **{**_THOROUGH, **options} if solver == "auto" else options)
    method.check_size(size)
    points = np.zeros((n, size)) if start is None else _numbers(start, "start", 2)
    duals = isinstance(method, DualSolver) and points.shape == (n, size + 1)
    if not duals and (points.shape != (n, size) or not ((points == 0.0) | (points == 1.0)).all()):
        raise DataError(
            f"'start' must hold only 0 and 1, a row of {size} for each of {n} problem(s); a method on the dual also "
            f"takes dual points, rows of {size + 1}."
        )
    seeds = row_seeds(base_seed(random_state), 0, 0, np.zeros(n, dtype=np.int64))

    def work() -> tuple[Floats, Known, float]:
        began = time.perf_counter()
        gram = np.stack([problem.gram for problem in problems])
        moment = np.stack([problem.moment for problem in problems])
        x, known = method._solved(gram, moment, points, seeds)
        seconds = time.perf_counter() - began
        return x, method._judged(gram, moment, known), seconds

    with one_blas_thread():
        x, known, seconds = _interruptible(work)
    rows = [{name: column[k] for name, column in known.items()} for k in range(n)]
    return [_solution(*one, seconds / n) for one in zip(problems, x, rows, strict=True)]


def _interruptible(work: Callable[[], Any]) -> Any:
    """Return what `work` returns; Ctrl-C ends the wait for it, and the work soon after.

    Compiled loops keep control until they return, and Python handles signals in the main thread between two of its own
    instructions. So another thread works, and looks at a cell that is set here.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    cell, answer = np.zeros(1, dtype=np.int64), Future[Any]()

    def run() -> None:
        solving.cell = cell
        try:
            answer.set_result(work())
        except BaseException as error:  # Handed to whoever waits.
            answer.set_exception(error)

    threading.Thread(target=run, name="kolmogorov-solve", daemon=True).start()
    try:
        while not answer.done():
            wait([answer], 0.2)  # again and again: some platforms deliver Ctrl-C only between two waits
        return answer.result()
    except BaseException:
        cell[0] = 1
        wait([answer], 0.3)  # for it to wind up; then its thread is left behind
        raise


def _solution(problem: BinaryQP, x: Floats, known: Known, seconds: float) -> Solution:
    """Return what is known about a row, as the answer to its problem."""
    own = {name: entry.item() if isinstance(entry, np.generic) else entry for name, entry in known.items()}
    ended, proved, bound = own.pop("converged", True), own.pop("proved", False), own.pop("lower_bound", None)
    value = problem.value(x)
    if proved:
        # What rounding may have added to the value.
        bound = value - problem.offset - 2.0**-50 * (2.0 * np.abs(problem.moment).sum() + np.abs(problem.gram).sum())
    status = Status.ITERATION_LIMIT if not ended else Status.OPTIMAL if proved else Status.FEASIBLE
    return Solution(x, value, None if bound is None else bound + problem.offset, status, seconds, **own)


def read(path: str | os.PathLike[str]) -> BinaryQP:
    """Read a problem in the sparse text format of Beasley and Biq Mac: minimise x^T Q x.

    The first line holds the number of variables and of entries; every further line "i j q" an entry, counted from 1. An
    off-diagonal line stands for both q_ij and q_ji.
    """
    try:
        with open(path, encoding="ascii") as file:
            size, entries = map(int, file.readline().split())
            lines = np.loadtxt(file, ndmin=2).reshape(-1, 3)
        places = lines[:, :2].astype(np.int64) - 1
        pairs = {tuple(sorted(pair)) for pair in places.tolist()}
        if not 1 <= size <= _MOST_VARIABLES or not len(pairs) == len(lines) == entries or (places < 0).any():
            raise ValueError(f"it must have {entries} lines 'i j q', each for another pair and counted from 1")
        matrix = np.zeros((size, size))
        matrix[tuple(places.T)] = matrix[tuple(places.T[::-1])] = lines[:, 2]
    except (OSError, ValueError, IndexError) as error:
        raise FileFormatError(f"{path} is no such problem: {error}.") from None
    return BinaryQP(matrix, np.zeros(len(matrix)))


def from_dimod(bqm: Any) -> BinaryQP:
    """Turn a dimod binary quadratic model into a problem; variables keep the order of ``bqm.variables``.

    A spin model is rewritten in bits first. The value of a point is the model's energy, offset included.

    Examples
    --------
    >>> import dimod
    >>> problem = from_dimod(dimod.BinaryQuadraticModel({"a": -1.0}, {("a", "b"): 2.0}, 0.5, "BINARY"))
    >>> problem.value([1, 0])
    -0.5
    """
    require("dimod", extra="qubo", purpose="from_dimod")
    model = bqm.change_vartype("BINARY", inplace=False)
    linear, (rows, columns, biases), _ = model.to_numpy_vectors(list(model.variables))
    gram = np.zeros((len(linear), len(linear)))
    np.add.at(gram, (rows, columns), biases / 2.0)
    return BinaryQP(gram + gram.T, -np.asarray(linear, dtype=np.float64) / 2.0, float(model.offset))
