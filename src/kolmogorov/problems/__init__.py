"""The small problems behind every half-step, as immutable values, and what solvers say about them."""

from kolmogorov.problems.binary_qp import BinaryQP
from kolmogorov.problems.box_qp import BoxQP
from kolmogorov.problems.level_qp import LevelQP
from kolmogorov.problems.ridge_qp import RidgeQP
from kolmogorov.problems.simplex_qp import SimplexQP
from kolmogorov.problems.solution import Solution, Status

__all__ = ["BinaryQP", "BoxQP", "LevelQP", "RidgeQP", "SimplexQP", "Solution", "Status"]
