"""Exact pairwise descent: mass moves from one coordinate to another, by the best amount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import MOST_ROUNDS, Integer, Real
from kolmogorov.kernels.rows.simplex import pairwise_descent
from kolmogorov.solvers.certificate import Certified
from kolmogorov.solvers.families import SimplexSolver


@dataclass(frozen=True)
class Pairwise(Certified, SimplexSolver):
    """Pairwise descent with exact steps, to a certified gap.

    Parameters
    ----------
    tol : float
        Stop when the Frank-Wolfe gap is below `tol` times the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on moves per row.

    Examples
    --------
    >>> from kolmogorov.problems import SimplexQP
    >>> Pairwise().solve(SimplexQP([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).x.round(6).tolist()
    [0.333333, 0.666667]
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    name = "pairwise"
    exact = True
    requirements: ClassVar = {"tol": Real(0.0), "max_iter": Integer(1, MOST_ROUNDS)}

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: NDArray[np.int64]) -> None:
        pairwise_descent(gram, moment, x, float(self.tol), int(self.max_iter), gaps, iterations)
