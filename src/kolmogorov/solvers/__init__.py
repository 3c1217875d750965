"""Interchangeable row solvers: one algorithm per file, one contract, found by the name of their file."""

from kolmogorov.solvers.composition import BestOf, Polished, Recorded
from kolmogorov.solvers.contract import Batch, RowSolver
from kolmogorov.solvers.families import BinarySolver, BoxSolver, LevelSolver, RidgeSolver, SimplexSolver
from kolmogorov.solvers.registry import names, register, resolve

__all__ = [
    "Batch",
    "BestOf",
    "BinarySolver",
    "BoxSolver",
    "LevelSolver",
    "Polished",
    "Recorded",
    "RidgeSolver",
    "RowSolver",
    "SimplexSolver",
    "names",
    "register",
    "resolve",
]
