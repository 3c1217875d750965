"""A primal active-set method: solve on a support, drop what turns negative, add what would gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, Real
from kolmogorov.kernels.rows.active_set import active_set
from kolmogorov.solvers.certificate import certified
from kolmogorov.solvers.contract import Batch, Floats, SimplexSolver
from kolmogorov.solvers.stopping import stop_cell


@dataclass(frozen=True)
class ActiveSet(SimplexSolver):
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
    # Every round factors the support again: some ten seconds at this size.
    max_variables = 500
    rules: ClassVar = {"tol": Real(0.0), "max_iter": Integer(1)}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        return certified(active_set, gram, moment, start, self.tol, self.max_iter, stop_cell())
