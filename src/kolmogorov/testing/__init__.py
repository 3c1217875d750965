"""Suites that say what a part of the library promises, for the parts that others write.

They need pytest or nothing to run, and Hypothesis to make problems; `import kolmogorov` needs neither.
"""

from kolmogorov.testing.contract import RowSolverContract
from kolmogorov.testing.families import (
    BinarySolverContract,
    BoxSolverContract,
    RidgeSolverContract,
    SimplexSolverContract,
    check_solver,
)

__all__ = [
    "BinarySolverContract",
    "BoxSolverContract",
    "RidgeSolverContract",
    "RowSolverContract",
    "SimplexSolverContract",
    "check_solver",
]
