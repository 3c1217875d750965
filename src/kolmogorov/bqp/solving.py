"""One call for any problem and any solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov.errors import DataError
from kolmogorov.problems import BinaryQP, Solution
from kolmogorov.problems.quadratic import QuadraticProgram, row_count
from kolmogorov.solvers import RowSolver, resolve


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
    return lone_solver(solver, **options).solve(_problem(S, v), start=start, random_state=random_state)


def _problem(S: Any, v: ArrayLike | None) -> BinaryQP:
    if isinstance(S, BinaryQP):
        if v is not None:
            raise DataError("A BinaryQP has its own moment; 'v' goes with a matrix.")
        return S
    if isinstance(S, QuadraticProgram):
        raise DataError(f"A BinaryQP or a matrix is expected, got a {type(S).__name__}.")
    return BinaryQP(S, np.zeros(row_count(S)) if v is None else v)


def lone_solver(solver: str | RowSolver, /, **options: Any) -> RowSolver:
    """Make the solver for a problem on its own, which deserves more work than one of thousands in a sweep."""
    return resolve("binary", solver, **({"thorough": True} if solver == "auto" else {}), **options)
