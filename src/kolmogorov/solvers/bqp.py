"""Binary quadratic programs on their own: minimise x^T S x - 2 x^T v over {0,1}^D, for any real symmetric S.

Examples
--------
>>> from kolmogorov import bqp
>>> solution = bqp.solve([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])
>>> solution.x.tolist(), solution.value, solution.status.value
([0.0, 1.0], -1.0, 'optimal')
"""

from __future__ import annotations

import os
import time
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov._support.optional import require
from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError, FileFormatError
from kolmogorov.solvers.contract import Batch, RowSolver
from kolmogorov.solvers.problems import (
    MOST_VARIABLES,
    BinaryQP,
    QuadraticProgram,
    Solution,
    Status,
    check_points,
    first_point,
    real_array,
    row_count,
)
from kolmogorov.solvers.registry import resolve, usual
from kolmogorov.solvers.stopping import interruptible

__all__ = ["BinaryQP", "Solution", "Status", "from_dimod", "read", "solve", "solve_many"]

# Up to this many variables every solver ends in milliseconds (benchmarks/solvers.py), and a thread to interrupt would
# be the larger part.
_MOMENTARY = 16


def solve(
    S: ArrayLike | QuadraticProgram,
    v: ArrayLike | None = None,
    *,
    solver: str | RowSolver = "auto",
    start: ArrayLike | None = None,
    random_state: Any = 0,
    **options: Any,
) -> Solution:
    """Minimise x^T S x - 2 x^T v over x in {0,1}^D, or solve a problem of `kolmogorov.problems` over another set.

    Parameters
    ----------
    S : array-like of shape (D, D) or problem
        Real and symmetric, definite or not; dense or sparse. Numbers of size up to 1e100 / D^2 are accepted.
    v : array-like of shape (D,), optional
        Zero by default; not given with a problem, which has its own.
    solver : str or solver object
        `kolmogorov.solvers.names("binary")` lists them; `docs/solvers.md` says which when.
    start : array-like of shape (D,), optional
        A point of the set for the solvers that start from one.
    random_state : int, Generator or None
        Seed of the solvers that draw random numbers.
    **options
        Of the solver.

    Examples
    --------
    >>> solve([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0], solver="enhanced_gd", gamma=100).x.tolist()
    [0.0, 1.0]
    """
    if not isinstance(S, QuadraticProgram):
        problem: QuadraticProgram = BinaryQP(S, np.zeros(row_count(S)) if v is None else v)
    elif v is None:
        problem = S
    else:
        raise DataError(f"A {type(S).__name__} has its own moment; 'v' goes with a matrix.")
    return _solved([problem], solver, options, None if start is None else [start], random_state)[0]


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
    solver, random_state, **options
        As for `solve`, the same for all problems.
    start : array-like of shape (n, D), optional

    Returns
    -------
    list of Solution
        Each as `solve` returns it, but for `seconds`, which is the n-th part of those of the call.

    Examples
    --------
    >>> many = solve_many([[2.0, 1.0], [1.0, 1.0]], [[0.5, 1.0], [2.0, 0.0]])
    >>> [solution.x.tolist() for solution in many]
    [[0.0, 1.0], [1.0, 0.0]]
    """
    moments, matrices = real_array(v, "v", ndim=2), real_array(S, "S", ndim=3 if np.ndim(S) == 3 else 2)
    n = len(moments)
    if matrices.ndim == 3 and len(matrices) != n:
        raise DataError(f"'S' must be one matrix, or one for each of the {n} rows of 'v', got {len(matrices)}.")
    starts = None if start is None else list(real_array(start, "start", ndim=2))
    if starts is not None and len(starts) != n:
        raise DataError(f"'start' must have a row for each of the {n} rows of 'v', got {len(starts)}.")
    if n == 0:
        return []
    problems = [BinaryQP(matrices if matrices.ndim == 2 else matrices[row], moments[row]) for row in range(n)]
    return _solved(problems, solver, options, starts, random_state)


def _solved(
    problems: Sequence[QuadraticProgram],
    solver: str | RowSolver,
    options: dict[str, Any],
    starts: Sequence[ArrayLike] | None,
    random_state: Any,
) -> list[Solution]:
    """Solve problems of one family and size; bounds are computed when the clock has stopped."""
    n, size, family = len(problems), problems[0].size, problems[0].family
    if solver != "auto":
        method = resolve(family, solver, **options)
    elif family == "binary":  # A problem on its own deserves more work than one of thousands in a sweep.
        method = resolve(family, solver, **{"thorough": True, **options})
    else:
        method = resolve(family, usual(family, size).name, **options)
    method.check_size(size)
    points = [first_point(family, size)] * n if starts is None else [_start(point, family, size) for point in starts]
    seeds = row_seeds(base_seed(random_state), 0, 0, np.zeros(n, dtype=np.int64))

    def work() -> tuple[Batch, dict[str, Any], float]:
        began = time.perf_counter()
        # Kernels would be compiled again for arrays that are read-only, for half a minute: copies are not.
        gram, moment = (np.stack([getattr(problem, name) for problem in problems]) for name in ("gram", "moment"))
        batch = method._solved(gram, moment, np.stack(points), seeds)
        seconds = time.perf_counter() - began
        return batch, batch.more(), seconds

    # Here and not in the thread that works: threadpoolctl obeys the thread alone that asked first.
    with one_blas_thread():
        batch, known, seconds = work() if size <= _MOMENTARY and n == 1 else interruptible(work)
    if not np.isfinite(batch.x).all():
        raise DataError(
            f"Solver '{method.name}' found no finite solution: the entries of this problem differ by too many "
            "orders of magnitude. Rescale the variables, or add a ridge to the diagonal of 'gram'."
        )
    return [_solution(problem, batch.x[k], known, k, seconds / n) for k, problem in enumerate(problems)]


def _start(start: ArrayLike, family: str, size: int) -> Floats:
    try:
        point = real_array(start, "start", ndim=1)
    except DataError:
        raise DataError("'start' must be an array of numbers, one per variable, all of them finite.") from None
    if point.shape != (size,):
        raise DataError(f"'start' must have shape ({size},), got {point.shape}.")
    check_points(family, point, "'start'")
    return point


def _solution(problem: QuadraticProgram, x: Floats, known: dict[str, Any], row: int, seconds: float) -> Solution:
    """Return what is known about a row, as the answer to its problem."""
    own = {name: column[row] for name, column in known.items()}
    own = {name: entry.item() if isinstance(entry, np.generic) else entry for name, entry in own.items()}
    ended, proved = own.pop("converged", True), own.pop("proved", False)
    bound = own.pop("lower_bound", None)
    return Solution(
        x=x,
        value=problem.value(x),
        lower_bound=None if bound is None else bound + problem.offset,
        status=Status.ITERATION_LIMIT if not ended else Status.OPTIMAL if proved else Status.FEASIBLE,
        seconds=seconds,
        **own,
    )


def read(path: str | os.PathLike[str]) -> BinaryQP:
    """Read a problem: ``.npz`` with arrays S, v and offset, else text in Biq Mac's sparse format.

    In an ``.npz`` v and offset may be missing.
    The text's first line holds the number of variables and of entries; every further line "i j q" an entry, counted
    from 1. An off-diagonal line stands for both q_ij and q_ji. The problem is to minimise x^T Q x.
    """
    try:
        file = Path(path)
    except TypeError:
        raise FileFormatError(f"The path of a file is expected, got {path!r}.") from None
    try:
        return _read_arrays(file) if file.suffix == ".npz" else _read_sparse(file)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of numbers.") from None
    except (ValueError, TypeError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(f"{path}: {error}") from None


def _read_arrays(path: Path) -> BinaryQP:
    with np.load(path, allow_pickle=False) as content:
        if "S" not in content.files:
            raise DataError(f"it must hold an array S (and v), it holds: {', '.join(content.files)}.")
        matrix = content["S"]
        moment = content["v"] if "v" in content.files else np.zeros(matrix.shape[:1])
        return BinaryQP(matrix, moment, content["offset"] if "offset" in content.files else 0.0)


def _read_sparse(path: Path) -> BinaryQP:
    lines = path.read_text(encoding="ascii").splitlines()
    rows = [(f"line {number}:", line.split()) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise DataError("the file is empty.")
    place, first = rows[0]
    try:
        size, entries = (int(field) for field in first)
    except ValueError:
        raise DataError(f"{place} expected two integers, got {' '.join(first)!r}.") from None
    if not 1 <= size <= MOST_VARIABLES:
        raise DataError(f"{place} expected 1 to {MOST_VARIABLES} variables, got {size}.")
    if entries != len(rows) - 1:
        raise DataError(f"{place} announces {entries} entries, {len(rows) - 1} follow.")
    matrix, seen = np.zeros((size, size)), set()
    for place, fields in rows[1:]:
        try:
            left, right, text = fields
            i, j, value = int(left), int(right), float(text)
        except ValueError:
            raise DataError(f"{place} expected 'i j q', got {' '.join(fields)!r}.") from None
        if not (1 <= i <= size and 1 <= j <= size):
            raise DataError(f"{place} indices must lie between 1 and {size}, got {i} and {j}.")
        if not np.isfinite(value):
            raise DataError(f"{place} an entry must be finite, got {text}.")
        if (min(i, j), max(i, j)) in seen:
            raise DataError(f"{place} entry ({i}, {j}) is a duplicate.")
        seen.add((min(i, j), max(i, j)))
        matrix[i - 1, j - 1] = matrix[j - 1, i - 1] = value
    return BinaryQP(matrix, np.zeros(size))


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
    dimod = require("dimod", extra="qubo", purpose="from_dimod")
    if not isinstance(bqm, dimod.BinaryQuadraticModel):
        raise DataError(f"Expected a dimod.BinaryQuadraticModel, got {type(bqm).__name__}.")
    model = bqm.change_vartype("BINARY", inplace=False)
    position = {variable: k for k, variable in enumerate(model.variables)}
    if len(position) > MOST_VARIABLES:
        raise DataError(f"A problem may have at most {MOST_VARIABLES:,} variables, this model has {len(position):,}.")
    gram = np.zeros((len(position), len(position)))
    for (left, right), bias in model.quadratic.items():
        gram[position[left], position[right]] += bias / 2.0
        gram[position[right], position[left]] += bias / 2.0
    moment = np.array([-model.linear[variable] / 2.0 for variable in model.variables], dtype=np.float64)
    return BinaryQP(gram, moment, float(model.offset))
