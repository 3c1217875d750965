"""Row solvers: small quadratic programs, a batch at a time.

problems: what is solved, and the answer · contract: what a solver is · registry: names · bqp: the door for problems of
your own · rows: normal equations and values · simplex, box (and no constraint) · exhaustive, flips, dmo: bits without a
relaxation · gd (Algorithms 1 and 2), newton, quasi_newton: bits by its dual; lanczos (5), rounding (3) · sdr
"""

from kolmogorov.solvers.contract import Batch, RowSolver
from kolmogorov.solvers.registry import SOLVERS, names, resolve

__all__ = ["SOLVERS", "Batch", "RowSolver", "names", "resolve"]
