"""The paper's way: a descent on the dual of the semidefinite relaxation, then Gaussian rounding.

`gd` is the paper's Algorithm 1: backtracking, an EVD for every point looked at. `enhanced_gd` is its Algorithm 2: the
same descent with EVDs only in phase II-B, and the accelerations of Section IV. `newton` is the semismooth Newton method
for the nearest correlation matrix, which the dual is in disguise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import BOOLEAN, MOST_ROUNDS, POSITIVE, Requirement, between, integer, one_of, real
from kolmogorov.errors import ParameterError
from kolmogorov.solvers.contract import Batch, BinarySolver
from kolmogorov.solvers.dual_kernels import (
    CONVERGED,
    FULL_EVDS,
    ITERATIONS,
    LANCZOS_EVDS,
    Descent,
    Results,
)
from kolmogorov.solvers.relaxation import certify_duals, gradient_batch, newton_batch
from kolmogorov.solvers.stopping import stop_cell

#: The methods make some hundred eigendecompositions; above this size each takes a good part of a second.
MAX_VARIABLES = 1_000
# Numbers kept for the traces of a batch: 800 MB.
_LONGEST_TRACE = 100_000_000
#: A line search shortens its step by at least this, or it would not come to an end.
LEAST_SHRINKING = 0.99
#: Rules of the options that the two gradient descents have in common.
DESCENT_RULES: dict[str, Requirement] = {
    "gamma": POSITIVE,
    "n_draws": integer(1, MOST_ROUNDS),
    "tol": real(0.0),
    "max_iter": integer(1, MOST_ROUNDS),
    "step": POSITIVE,
    "shrink": between(0.0, LEAST_SHRINKING),
    "armijo": between(0.0, 1.0),
    "initial_dual": real(-1e100, 1e100),
    "screened": BOOLEAN,
    "trace": BOOLEAN,
}
#: Rules of the options of the two Newton methods.
NEWTON_RULES = {name: DESCENT_RULES[name] for name in ("gamma", "n_draws", "tol", "max_iter", "trace")}


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
    >>> from kolmogorov.solvers.problems import BinaryQP
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
    >>> from kolmogorov.solvers.problems import BinaryQP
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
        "initial_step": BOOLEAN,
        "evd": one_of(("full", "lanczos")),
        "a": POSITIVE,
        "reorthogonalised": BOOLEAN,
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


@dataclass(frozen=True)
class Newton(BinarySolver):
    """Newton's method on h_gamma (Qi and Sun 2006, Borsdorf and Higham 2010), then Gaussian rounding.

    `<X, A> + |X|^2 / (2 gamma)` is `|X + gamma A|^2 / (2 gamma)` up to a constant, so the relaxation projects -gamma A
    onto the correlation matrices. Convergence is quadratic: some eight iterations to a gradient norm of 1e-8.

    Parameters
    ----------
    gamma, n_draws, max_iter, trace
        As in `gd`.
    tol : float
        Norm of the gradient at which to stop.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import BinaryQP
    >>> Newton().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    gamma: float = 100.0
    n_draws: int = 100
    tol: float = 1e-8
    max_iter: int = 200
    trace: bool = False

    name = "newton"
    max_variables = MAX_VARIABLES
    requirements: ClassVar = NEWTON_RULES

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        results = room_for(self, moment)
        numbers = float(self.gamma), float(self.tol), int(self.max_iter), int(self.n_draws)
        newton_batch(gram, moment, seeds, *numbers, stop_cell(), results)
        return batch_of(results, gram, moment, self.gamma)


# --- what they share --------------------------------------------------------------------------------------------------


def room_for(solver: Any, moment: Floats) -> Results:
    """Make room for the results of the problems with these moments, and for traces where the solver keeps them."""
    n, size = moment.shape
    length = int(solver.max_iter) + 1 if solver.trace else 0
    if n * length * (size + 1) > _LONGEST_TRACE:
        raise ParameterError(
            f"A trace of up to {length:,} points of {size + 1} numbers does not fit; at most "
            f"{_LONGEST_TRACE:,} numbers are kept. Lower 'max_iter', or set trace=False."
        )
    return Results(
        x=np.zeros((n, size)),
        counts=np.zeros((n, 4), dtype=np.int64),
        phases=np.zeros((n, 4), dtype=np.int64),
        duals=np.empty((n, size + 1)),
        trace=np.empty((n, length)),
        points=np.empty((n, length, size + 1)),
    )


def batch_of(
    results: Results,
    gram: Floats,
    moment: Floats,
    gamma: float,
    *,
    with_phases: bool = False,
    longest: float = np.inf,
) -> Batch:
    """Put results into the form of the contract.

    Bounds and norms of gradients are left for later: they take a full EVD, which a fit does not need and a clock must
    not see. A row whose gradient is above `longest` did not converge.
    """

    def certified(batch: Batch) -> Batch:
        bounds, norms = np.empty(len(moment)), np.empty(len(moment))
        certify_duals(gram, moment, float(gamma), results.duals, bounds, norms)
        ended = (results.counts[:, CONVERGED] == 1) & ~(norms > longest)
        return replace(batch, lower_bound=bounds, gradient_norm=norms, converged=ended)

    steps = results.counts[:, ITERATIONS]
    traced = results.trace.shape[1] > 0
    return Batch(
        x=results.x,
        iterations=steps,
        converged=results.counts[:, CONVERGED] == 1,
        n_evd=results.counts[:, FULL_EVDS],
        n_lanczos=results.counts[:, LANCZOS_EVDS],
        phases=results.phases if with_phases else None,
        dual=results.duals,
        trace=[h[: k + 1] for h, k in zip(results.trace, steps, strict=True)] if traced else None,
        dual_trace=[p[: k + 1] for p, k in zip(results.points, steps, strict=True)] if traced else None,
        later=certified,
    )


def descended(solver: Any, gram: Floats, moment: Floats, seeds: Seeds, **options: Any) -> Batch:
    """Run a gradient descent with the settings of a solver; `options` are those of a `Descent` that Algorithm 2 adds.

    Every number is converted to the type that the kernel is compiled for. With Ritz pairs a short step may come from a
    wrong gradient: there the exact one has to be short as well, for a step of 1 / gamma, which is of the order of the
    inverse curvature.
    """
    how = Descent(
        gamma=float(solver.gamma),
        tol=float(solver.tol),
        max_iter=int(solver.max_iter),
        step=float(solver.step),
        shrink=float(solver.shrink),
        armijo=float(solver.armijo),
        initial_dual=float(solver.initial_dual),
        screened=bool(solver.screened),
        **options,
    )
    results = room_for(solver, moment)
    gradient_batch(gram, moment, seeds, how, int(solver.n_draws), stop_cell(), results)
    longest = how.gamma * how.tol if how.lanczos else np.inf
    return batch_of(results, gram, moment, how.gamma, with_phases=how.enhanced, longest=longest)
