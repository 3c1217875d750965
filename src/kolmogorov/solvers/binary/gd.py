"""The paper's Algorithm 1: gradient descent on the dual with backtracking, an EVD for every point looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.binary.dual import DESCENT_RULES, MAX_VARIABLES, descended
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver


@dataclass(frozen=True)
class GradientDescent(BinarySolver):
    """Gradient descent on h_gamma, then Gaussian rounding.

    The paper prints neither its first step nor its Armijo constants; these are the textbook's (unit first step, halved
    until the decrease is 0.3 of what the slope promises).

    Parameters
    ----------
    gamma : float
        Regularisation of the relaxation: larger is tighter and slower.
    n_draws : int
        Gaussian draws rounded to signs; the best is kept.
    tol : float
        Stop when a step is shorter than this.
    max_iter : int
    step, shrink, armijo : float
        First trial step, its reduction, and the share of the promised decrease that is asked for.
    initial_dual : float
        u_0: every dual variable's value at the start. The larger, the longer the descent runs through points at which
        C has no positive eigenvalue, where `enhanced_gd` makes no EVD and `gd` makes one for each.
    screened : bool
        Leave out the EVDs of trial points that a lower bound from the last EVD already rules out (not in the paper).
        The points visited are the same, the EVDs a fraction.
    trace : bool
        Keep the dual value (and the dual point) of every iteration.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> solution = GradientDescent().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]))
    >>> solution.x.tolist(), bool(solution.lower_bound <= solution.value)
    ([0.0, 1.0], True)
    """

    gamma: float = 100.0
    n_draws: int = 100
    tol: float = 1e-4
    max_iter: int = 1_000
    step: float = 1.0
    shrink: float = 0.5
    armijo: float = 0.3
    initial_dual: float = 1.0
    screened: bool = False
    trace: bool = False

    name = "gd"
    max_variables = MAX_VARIABLES
    requirements: ClassVar = DESCENT_RULES

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        return descended(self, gram, moment, seeds)
