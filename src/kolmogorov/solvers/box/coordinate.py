"""Exact coordinate descent over the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import MOST_ROUNDS, Integer, Real
from kolmogorov.kernels.rows.box import coordinate_descent
from kolmogorov.solvers.certificate import Certified
from kolmogorov.solvers.families import BoxSolver
from kolmogorov.solvers.stopping import stop_cell


@dataclass(frozen=True)
class Coordinate(Certified, BoxSolver):
    """Minimise over one coordinate after another, exactly, to a certified gap.

    Parameters
    ----------
    tol : float
        Gap at which to stop, relative to the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on rounds over all coordinates.

    Examples
    --------
    >>> from kolmogorov.problems import BoxQP
    >>> Coordinate().solve(BoxQP([[1.0, 0.0], [0.0, 1.0]], [0.25, 3.0])).x.tolist()
    [0.25, 1.0]
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    name = "coordinate"
    exact = True
    requirements: ClassVar = {"tol": Real(0.0), "max_iter": Integer(1, MOST_ROUNDS)}

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: NDArray[np.int64]) -> None:
        coordinate_descent(gram, moment, x, float(self.tol), int(self.max_iter), stop_cell(), gaps, iterations)
