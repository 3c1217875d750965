"""The items' problem where psi holds chances: a convex quadratic over the box."""

from __future__ import annotations

from kolmogorov.problems.quadratic import QuadraticProgram


class BoxQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x in [0,1]^D. `gram` is positive semidefinite.

    Examples
    --------
    >>> BoxQP([[1.0]], [0.5]).value([0.5])
    -0.25
    """
