"""Row solvers: small quadratic programs, a batch at a time.

contract: what every solver is · registry: names · convex: simplex, box, no constraint · binary: enumeration, flips ·
dual: the paper's descents, and Newton's · what the paper compares with: sdr, dmo, quasi_newton · stopping: time limits
and Ctrl-C
"""

from kolmogorov.solvers.contract import Batch, BinarySolver, RowSolver
from kolmogorov.solvers.registry import names, resolve

__all__ = ["Batch", "BinarySolver", "RowSolver", "names", "resolve"]
