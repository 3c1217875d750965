"""The small problems behind every half-step, as immutable values, and what solvers say about them."""

from kolmogorov.problems.binary_qp import BinaryQP
from kolmogorov.problems.simplex_qp import SimplexQP
from kolmogorov.problems.solution import Solution, Status

__all__ = ["BinaryQP", "SimplexQP", "Solution", "Status"]
