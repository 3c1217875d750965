"""Interchangeable row solvers: one algorithm per file, one contract, found by the name of their file."""

from kolmogorov.solvers.contract import Batch, RowSolver
from kolmogorov.solvers.families import BinarySolver, BoxSolver, RidgeSolver, SimplexSolver
from kolmogorov.solvers.registry import names, resolve

__all__ = [
    "Batch",
    "BinarySolver",
    "BoxSolver",
    "RidgeSolver",
    "RowSolver",
    "SimplexSolver",
    "names",
    "resolve",
]
