"""The paper's Algorithm 2: the same descent with EVDs only in phase II-B, and its accelerations of Section IV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import Boolean, OneOf, Positive
from kolmogorov.solvers.binary.dual import DESCENT_RULES, MAX_VARIABLES, descended
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver


@dataclass(frozen=True)
class EnhancedGradientDescent(BinarySolver):
    """Gradient descent on h_gamma through the four sub-phases I-A, I-B, II-A, II-B, then Gaussian rounding.

    It visits the same dual points as `gd`. While all dual variables are equal (phase I) the eigenpairs of -A serve, and
    where Weyl's inequality excludes a positive eigenvalue (phase II-A) there is nothing to decompose; the
    trial points of the line search are judged in the same way.

    Parameters
    ----------
    gamma, n_draws, tol, max_iter, step, shrink, armijo, initial_dual, screened, trace
        As in `gd`.
    initial_step : bool
        Section IV-A: the first step jumps to where C has its first positive eigenvalue.
    evd : {"full", "lanczos"}
        Section IV-B: in phase II-B use Ritz pairs of the Lanczos method (Algorithm 5) instead of a full EVD.
    a : float
        Section IV-C: larger values lower the threshold at which Lanczos stops. The paper's Fig. 6 belongs to a = 1.
    reorthogonalised : bool
        Orthogonalise every Lanczos vector against all earlier ones. False is the recurrence of three terms that the
        paper prints.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> solution = EnhancedGradientDescent().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]))
    >>> solution.x.tolist(), list(solution.phases)
    ([0.0, 1.0], ['I-A', 'I-B', 'II-A', 'II-B'])
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
    initial_step: bool = False
    evd: Literal["full", "lanczos"] = "full"
    a: float = 100.0
    reorthogonalised: bool = True
    trace: bool = False

    name = "enhanced_gd"
    max_variables = MAX_VARIABLES
    requirements: ClassVar = {
        **DESCENT_RULES,
        "initial_step": Boolean(),
        "evd": OneOf(("full", "lanczos")),
        "a": Positive(),
        "reorthogonalised": Boolean(),
    }

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        return descended(
            self,
            gram,
            moment,
            seeds,
            enhanced=True,
            initial_step=bool(self.initial_step),
            lanczos=self.evd == "lanczos",
            a=float(self.a),
            reorthogonalised=bool(self.reorthogonalised),
        )
