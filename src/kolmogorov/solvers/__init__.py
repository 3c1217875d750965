"""Row solvers: small quadratic programs, a batch at a time.

contract: what a solver is · registry: names · bqp: problems of your own · rows: normal equations and values
simplex (LCQP), box (and no constraint) · exhaustive, flips, dmo: bits without a relaxation
dual (Lemma 1): gd (Algorithms 1 and 2), lanczos (Algorithm 5), newton, quasi_newton · sdr · rounding (Algorithm 3)
"""

from kolmogorov.solvers.contract import RowSolver
from kolmogorov.solvers.registry import SOLVERS, names, resolve

__all__ = ["SOLVERS", "RowSolver", "names", "resolve"]
