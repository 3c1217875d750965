"""The users' problem: a convex quadratic over the probability simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov.errors import DataError
from kolmogorov.problems.quadratic import QuadraticProgram, real_array


class SimplexQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x >= 0, sum(x) = 1. `gram` is positive semidefinite.

    Examples
    --------
    >>> problem = SimplexQP([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    >>> problem.value([0.5, 0.5]), problem.gap([0.5, 0.5])
    (-0.5, 0.0)
    """

    def __init__(self, gram: ArrayLike, moment: ArrayLike, offset: float = 0.0) -> None:
        super().__init__(gram, moment, offset)
        least = float(np.linalg.eigvalsh(self.gram)[0])
        if least < -1e-9 * max(float(np.abs(self.gram).max()), 1e-300):
            raise DataError(
                f"'gram' must be positive semidefinite for a problem on the simplex; its least eigenvalue is {least:g}."
            )

    def gap(self, x: ArrayLike) -> float:
        """Return the Frank-Wolfe gap; value(x) lies at most twice this above the optimum."""
        point = real_array(x, "x", ndim=1)
        if point.size != self.size:
            raise DataError(f"'x' must have {self.size} entries, one per variable, got {point.size}.")
        gradient = self.gram @ point - self.moment
        return float(gradient @ point - gradient.min())
