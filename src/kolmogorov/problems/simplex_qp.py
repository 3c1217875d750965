"""The users' problem: a convex quadratic over the probability simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov.problems.quadratic import QuadraticProgram


class SimplexQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x >= 0, sum(x) = 1. `gram` is positive semidefinite.

    Examples
    --------
    >>> problem = SimplexQP([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    >>> problem.value([0.5, 0.5]), problem.gap([0.5, 0.5])
    (-0.5, 0.0)
    """

    def gap(self, x: ArrayLike) -> float:
        """Return the Frank-Wolfe gap; value(x) lies at most twice this above the optimum."""
        point = np.asarray(x, dtype=np.float64)
        gradient = self.gram @ point - self.moment
        return float(gradient @ point - gradient.min())
