"""Interchangeable row solvers: one algorithm per file, one contract, found by the name of their file."""

from kolmogorov.solvers.composition import BestOf, Polished, Recorded
from kolmogorov.solvers.contract import Batch, BinarySolver, RowSolver, SimplexSolver
from kolmogorov.solvers.registry import names, register, resolve

__all__ = [
    "Batch",
    "BestOf",
    "BinarySolver",
    "Polished",
    "Recorded",
    "RowSolver",
    "SimplexSolver",
    "names",
    "register",
    "resolve",
]
