"""Row solvers: small quadratic programs, a batch at a time.

contract: what every solver is · registry: names · convex: simplex, box, no constraint · binary: enumeration, flips,
branch and bound · dual: the paper's descents and their rivals · sdr: the relaxation by interior points · stopping:
time limits and Ctrl-C
"""

from kolmogorov.solvers.contract import Batch, BinarySolver, RowSolver
from kolmogorov.solvers.registry import names, resolve

__all__ = ["Batch", "BinarySolver", "RowSolver", "names", "resolve"]
