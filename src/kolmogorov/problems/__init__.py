"""The small problems behind every half-step, as immutable values, and what solvers say about them."""

from kolmogorov.problems.programs import BinaryQP, BoxQP, RidgeQP, SimplexQP
from kolmogorov.problems.solution import Solution, Status

__all__ = ["BinaryQP", "BoxQP", "RidgeQP", "SimplexQP", "Solution", "Status"]
