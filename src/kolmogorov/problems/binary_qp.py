"""The items' problem: a quadratic over {0,1}^D."""

from __future__ import annotations

from kolmogorov.problems.quadratic import QuadraticProgram


class BinaryQP(QuadraticProgram):
    """Minimise x^T gram x - 2 x^T moment over x in {0,1}^D.

    Examples
    --------
    >>> problem = BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])
    >>> problem.value([0, 1])
    -1.0
    """
