"""The rows of alternating least squares: a convex quadratic without constraints."""

from __future__ import annotations

from kolmogorov.problems.quadratic import QuadraticProgram


class RidgeQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over all x. `gram` is positive semidefinite.

    Examples
    --------
    >>> RidgeQP([[2.0]], [1.0]).value([0.5])
    -0.5
    """
