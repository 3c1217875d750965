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
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov._support.optional import require
from kolmogorov.errors import DataError, FileFormatError
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.solvers.problems import (
    MOST_VARIABLES,
    BinaryQP,
    QuadraticProgram,
    Solution,
    Status,
    real_array,
    row_count,
)

__all__ = ["BinaryQP", "Solution", "Status", "from_dimod", "read", "solve", "solve_many"]


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
        Real and symmetric, definite or not; dense or sparse. Numbers of size up to 1e100 / D^2 are accepted.
    v : array-like of shape (D,), optional
        Zero by default; not given with a `BinaryQP`.
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
    return _thorough(solver, options).solve(_problem(S, v), start=start, random_state=random_state)


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
    return _thorough(solver, options).solve_many(problems, start=starts, random_state=random_state)


def _thorough(solver: str | RowSolver, options: dict[str, Any]) -> RowSolver:
    """Return the solver; a problem on its own deserves more work than one of thousands in a sweep."""
    more = {"thorough": True} if isinstance(solver, str) and solver == "auto" else {}
    return resolve("binary", solver, **more, **options)


def _problem(S: Any, v: ArrayLike | None) -> BinaryQP:
    if isinstance(S, BinaryQP):
        if v is not None:
            raise DataError("A BinaryQP has its own moment; 'v' goes with a matrix.")
        return S
    if isinstance(S, QuadraticProgram):
        raise DataError(f"A BinaryQP or a matrix is expected, got a {type(S).__name__}.")
    return BinaryQP(S, np.zeros(row_count(S)) if v is None else v)


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
    except IsADirectoryError:
        raise FileFormatError(f"{path} is a directory.") from None
    except DataError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None


def _read_arrays(path: Path) -> BinaryQP:
    try:
        with np.load(path, allow_pickle=False) as content:
            names = {name.lower(): name for name in content.files}
            gram = names.get("s") or names.get("gram")
            moment = names.get("v") or names.get("moment")
            if gram is None:
                raise FileFormatError(f"{path} must hold an array S (and v), it holds: {', '.join(content.files)}.")
            matrix = content[gram]
            offset = content["offset"] if "offset" in content.files else 0.0
            return BinaryQP(matrix, content[moment] if moment else np.zeros(matrix.shape[:1]), offset)
    except MemoryError:
        raise FileFormatError(f"{path} announces arrays that do not fit in memory.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, TypeError, RuntimeError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError, FileFormatError)):
            raise
        raise FileFormatError(f"{path} is not an archive of arrays: {error}.") from None
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path}: {error}") from None


def _read_sparse(path: Path) -> BinaryQP:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of numbers.") from None
    rows = [(number, line.split()) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise FileFormatError(f"{path} is empty.")
    number, first = rows[0]
    try:
        size, entries = (int(field) for field in first)
    except ValueError:
        raise FileFormatError(f"{path}, line {number}: expected two integers, got {' '.join(first)!r}.") from None
    if not 1 <= size <= MOST_VARIABLES:
        raise FileFormatError(f"{path}, line {number}: expected 1 to {MOST_VARIABLES} variables, got {size}.")
    if entries != len(rows) - 1:
        raise FileFormatError(f"{path}: line {number} announces {entries} entries, {len(rows) - 1} follow.")
    matrix = np.zeros((size, size))
    seen: set[tuple[int, int]] = set()
    for number, fields in rows[1:]:
        try:
            left, right, text = fields
            i, j, value = int(left), int(right), float(text)
        except ValueError:
            raise FileFormatError(f"{path}, line {number}: expected 'i j q', got {' '.join(fields)!r}.") from None
        if not (1 <= i <= size and 1 <= j <= size):
            raise FileFormatError(f"{path}, line {number}: indices must lie between 1 and {size}, got {i} and {j}.")
        if not np.isfinite(value):
            raise FileFormatError(f"{path}, line {number}: an entry must be finite, got {text}.")
        if (min(i, j), max(i, j)) in seen:
            raise FileFormatError(f"{path}, line {number}: entry ({i}, {j}) is a duplicate.")
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
