"""The small problems behind every half-step: one quadratic program for each set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov.errors import DataError
from kolmogorov.problems.quadratic import QuadraticProgram


class BinaryQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x in {0,1}^D.

    Examples
    --------
    >>> problem = BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])
    >>> problem.value([0, 1])
    -1.0
    """


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
        point = self._point(x)
        gradient = self.gram @ point - self.moment
        return float(gradient @ point - gradient.min())


class BoxQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x in [0,1]^D. `gram` is positive semidefinite.

    Examples
    --------
    >>> BoxQP([[1.0]], [0.5]).value([0.5])
    -0.25
    """


class RidgeQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over all x. `gram` is positive semidefinite.

    Examples
    --------
    >>> RidgeQP([[2.0]], [1.0]).value([0.5])
    -0.5
    """
