"""One call for any problem and any solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov.errors import DataError
from kolmogorov.problems import BinaryQP, LevelQP, Solution
from kolmogorov.problems.quadratic import QuadraticProgram, row_count
from kolmogorov.solvers import RowSolver, resolve

#: Descents over levels, as many as `solvers.binary.auto` takes. By judgement.
_THOROUGH_STARTS = 100


def solve(
    S: ArrayLike | BinaryQP | LevelQP,
    v: ArrayLike | None = None,
    *,
    levels: ArrayLike | None = None,
    solver: str | RowSolver = "auto",
    start: ArrayLike | None = None,
    random_state: Any = 0,
    **options: Any,
) -> Solution:
    """Minimise x^T S x - 2 x^T v over x in {0,1}^D, or over x in levels^D.

    Parameters
    ----------
    S : array-like of shape (D, D), BinaryQP or LevelQP
        Real and symmetric, definite or not; dense or sparse. Numbers of size up to 1e100 / D^2 are accepted.
    v : array-like of shape (D,), optional
        Zero by default; not given with a `BinaryQP` or `LevelQP`.
    levels : array-like of shape (L,), optional
        The values that each variable may take, increasing; 0 and 1 by default.
    solver : str or solver object
        `kolmogorov.solvers.names("binary")` lists them, and with levels `names("levels")`; `docs/solvers.md` says which
        when.
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
    >>> solve([[1.0, 0.0], [0.0, 1.0]], [0.3, 3.0], levels=[0.0, 0.5, 1.0]).x.tolist()
    [0.5, 1.0]
    """
    problem = _problem(S, v, levels)
    method = lone_solver(solver, over_levels=isinstance(problem, LevelQP), **options)
    return method.solve(problem, start=start, random_state=random_state)


def _problem(S: Any, v: ArrayLike | None, levels: ArrayLike | None) -> BinaryQP | LevelQP:
    if isinstance(S, (BinaryQP, LevelQP)):
        if v is not None:
            raise DataError(f"A {type(S).__name__} has its own moment; 'v' goes with a matrix.")
        if levels is not None:
            raise DataError(f"A {type(S).__name__} has its own levels; 'levels' goes with a matrix.")
        return S
    if isinstance(S, QuadraticProgram):
        raise DataError(f"A BinaryQP, a LevelQP or a matrix is expected, got a {type(S).__name__}.")
    moment = np.zeros(row_count(S)) if v is None else v
    return BinaryQP(S, moment) if levels is None else LevelQP(S, moment, levels)


def lone_solver(solver: str | RowSolver, /, *, over_levels: bool = False, **options: Any) -> RowSolver:
    """Make the solver for a problem on its own, which deserves more work than one of thousands in a sweep.

    "auto" looks at more points; over levels, where no solver has that name, it is `coordinate`.
    """
    if solver != "auto":
        return resolve("levels" if over_levels else "binary", solver, **options)
    if over_levels:
        return resolve("levels", "coordinate", **{"n_starts": _THOROUGH_STARTS, **options})
    return resolve("binary", "auto", **{"thorough": True, **options})
