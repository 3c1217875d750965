"""A primal active-set method: solve on a support, drop what turns negative, add what would gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import MOST_ROUNDS, Integer, Real
from kolmogorov.kernels.rows.active_set import active_set, active_set_rows
from kolmogorov.solvers.certificate import Certified
from kolmogorov.solvers.families import SimplexSolver
from kolmogorov.solvers.stopping import stop_cell


@dataclass(frozen=True)
class ActiveSet(Certified, SimplexSolver):
    """Exact in finitely many rounds where the matrix is definite; pairwise descent finishes the other rows.

    Parameters
    ----------
    tol : float
        Gap that counts as none, relative to the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on rounds and moves per row.

    Examples
    --------
    >>> from kolmogorov.problems import SimplexQP
    >>> ActiveSet().solve(SimplexQP([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).x.round(6).tolist()
    [0.333333, 0.666667]
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    name = "active_set"
    exact = True
    from_table = True
    # Every round factors the support again: some ten seconds at this size.
    max_variables = 500
    requirements: ClassVar = {"tol": Real(0.0), "max_iter": Integer(1, MOST_ROUNDS)}

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: NDArray[np.int64]) -> None:
        active_set(gram, moment, x, float(self.tol), int(self.max_iter), stop_cell(), gaps, iterations)

    def solve_rows(self, table: tuple[Any, ...], first: int, last: int, out: Floats, reached: Floats) -> None:
        """Solve some rows of a table."""
        active_set_rows(table, float(self.tol), int(self.max_iter), stop_cell(), first, last, out, reached)
