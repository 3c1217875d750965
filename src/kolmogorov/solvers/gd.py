"""Algorithms 1 and 2: gradient descent on the dual, plain (`gd`) and through four phases (`enhanced_gd`).

They are one loop and visit the same points. Algorithm 1 makes an EVD at every point that it looks at. Algorithm 2 makes
them in phase II-B only: while all dual variables are equal (phase I) the eigenpairs of -A serve, and where Weyl's
inequality excludes a positive eigenvalue (phase II-A) there is nothing to decompose. A long step may go back from II-B
to II-A. Section IV's accelerations are options: the first step (IV-A), and Ritz pairs by Algorithm 5 (IV-B, IV-C).
"""

from collections import namedtuple
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kolmogorov._support.jit import fill_normal, kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, stop_cell
from kolmogorov.solvers.dual import (
    FARTHEST,
    HALVINGS,
    DualSolver,
    Results,
    dual_gradient,
    dual_value,
    record,
    round_dual,
    shifted,
)
from kolmogorov.solvers.lanczos import ritz_pairs
from kolmogorov.solvers.rounding import lift

# Columns of `phases`.
I_A, I_B, II_A, II_B = 0, 1, 2, 3
# A step this much shorter than the first is no step.
SHORTEST = 2.0**-HALVINGS


#: How a descent goes, for kernels: options of `EnhancedGradientDescent`, and which of the two it is.
Descent = namedtuple(
    "Descent", "gamma tol max_iter step shrink armijo screened initial_step a reorthogonalised enhanced lanczos"
)


@kernel
def evaluate(lifted, dual, how, start, own_values, own_vectors, out, row):
    """Return h, the eigenpairs that matter, and the phase at one dual point; `own_...` are the eigenpairs of -A."""
    n = dual.size
    if how.enhanced:
        if np.all(dual == dual[0]):
            values = own_values - dual[0]
            phase = I_B if values[n - 1] > 0.0 else I_A
            return dual_value(dual, how.gamma, values), values, own_vectors, phase
        if own_values[n - 1] - np.min(dual) <= 0.0:
            return np.sum(dual), np.zeros(n), own_vectors, II_A
    if not np.max(np.abs(dual)) <= FARTHEST:
        return np.inf, np.zeros(n), own_vectors, II_B
    c = shifted(lifted, dual)
    if how.lanczos and n > 2:
        out.n_lanczos[row] += 1
        values, vectors = ritz_pairs(c, how.a, how.reorthogonalised, start)
    else:
        out.n_evd[row] += 1
        values, vectors = np.linalg.eigh(c)
    return dual_value(dual, how.gamma, values), values, vectors, II_B


@kernel
def least_value(dual, gamma, values, vectors, gradient, t):
    """Return a lower bound of h(dual - t gradient) without an EVD, from the eigenpairs at `dual`.

    The diagonal of a symmetric matrix in any orthonormal basis is majorised by its eigenvalues (Schur), and the sum of
    max(l, 0)^2 is convex; here the basis are the eigenvectors at `dual`.
    """
    # How the Rayleigh quotient of every eigenvector grows along -gradient.
    quotients = np.dot(gradient, vectors * vectors)
    return dual_value(dual - t * gradient, gamma, values + t * quotients)


@kernel
def descend(lifted, how, start, stop, out, row):
    """Gradient descent with backtracking on h (Algorithms 1 and 2) from the dual point in `out`, which are `Results`.

    The EVD of an accepted trial point serves as that point's own. An iteration counts for the phase of the point from
    which it starts. `start` begins every Lanczos run; `stop` ends the descent where it is. Returns the eigenpairs at
    the end, as the algorithm knows them.
    """
    dual = out.dual[row]
    n = dual.size
    own_values, own_vectors = np.zeros(n), np.zeros((n, n))
    if how.enhanced:
        own_values, own_vectors = np.linalg.eigh(-lifted)
        out.n_evd[row] += 1
    h, values, vectors, phase = evaluate(lifted, dual, how, start, own_values, own_vectors, out, row)
    gradient = np.empty(n)
    # From a dual point nearby steps are short: trials begin at 1 / gamma, of the order of the inverse curvature, and
    # then at twice the last step, and not at `how.step`.
    carried, t = not np.all(dual == dual[0]), how.shrink / how.gamma
    for iteration in range(how.max_iter):
        record(out, row, h)
        dual_gradient(how.gamma, values, vectors, gradient)
        slope = np.sum(gradient * gradient)
        if how.enhanced:
            out.phases[row, phase] += 1
        t = min(t / how.shrink, how.step) if carried else how.step
        if how.initial_step and iteration == 0 and phase == I_A:
            # Just far enough that the largest eigenvalue of C becomes 1 / gamma.
            t = dual[0] - own_values[n - 1] + 1.0 / how.gamma
        if how.screened and not how.lanczos and phase != II_A:
            # Trials at which a lower bound alone shows that h would not fall enough, rounding aside, need no EVD.
            noise = 1e-12 * (abs(h) + np.sum(np.abs(dual)) + t * slope)
            shortest = t * SHORTEST
            while t * how.shrink >= shortest:
                least = least_value(dual, how.gamma, values, vectors, gradient, t)
                if not least > h - how.armijo * t * slope + noise:
                    break
                t *= how.shrink
        while True:
            trial = dual - t * gradient
            h_new, values_new, vectors_new, phase_new = evaluate(
                lifted, trial, how, start, own_values, own_vectors, out, row
            )
            moved = h_new <= h - how.armijo * t * slope
            if moved or stop[0] or t * how.shrink < how.step * SHORTEST:
                break
            t *= how.shrink
        out.iterations[row] += 1
        if not moved:
            break
        dual[:] = trial
        h, values, vectors, phase = h_new, values_new, vectors_new, phase_new
        if t * np.sqrt(slope) <= how.tol:
            out.converged[row] = 1
            break
    record(out, row, h)
    return values, vectors


@kernel
def gradient_batch(gram, moment, seeds, how, n_draws, stop, out):
    """Descend and round (Algorithm 3) on every row; `how` is a `Descent`, `out` are `Results`."""
    rows, size = out.x.shape
    lifted = np.empty((size + 1, size + 1))
    start = np.empty(size + 1)
    for row in range(rows):
        lift(gram[row], moment[row], lifted)
        state = fill_normal(seeds[row], start)
        start /= np.sqrt(np.sum(start * start))
        values, vectors = descend(lifted, how, start, stop, out, row)
        round_dual(lifted, how.gamma, values, vectors, n_draws, state, stop, out.x[row])


@dataclass(frozen=True)
class GradientDescent(DualSolver):
    """Algorithm 1: gradient descent on h_gamma, then Gaussian rounding.

    Parameters
    ----------
    gamma : float
        Regularisation of the relaxation: larger is tighter and slower.
    n_draws : int
        Gaussian draws rounded to signs; the best is kept.
    tol : float
        Stop when a step is shorter than this.
    step, shrink, armijo : float
        First trial step, its reduction, and the share of the promised decrease that is asked for. The paper prints
        none of them; these are the textbook's.
    initial_dual : float
        u_0: every dual variable's value at the start. The larger, the longer the descent runs through points at which
        C has no positive eigenvalue, where `enhanced_gd` makes no EVD and `gd` makes one for each.
    screened : bool
        Leave out the EVDs of trial points that a lower bound from the last EVD already rules out (not in the paper).
        The points visited are the same, the EVDs a fraction.
    trace : bool
        Keep the dual value and the dual point of every iteration.
    """

    step: float = 1.0
    shrink: float = 0.5
    armijo: float = 0.3
    initial_dual: float = 1.0
    screened: bool = False
    trace: bool = False

    name = "gd"

    def _minimise(self, gram: Floats, moment: Floats, seeds: Seeds, out: Results) -> None:
        options = {"initial_step": False, "a": 1.0, "reorthogonalised": True, **vars(self)}
        options |= {"enhanced": self.name == "enhanced_gd", "lanczos": options.get("evd") == "lanczos"}
        how = Descent(**{name: options[name] for name in Descent._fields})
        gradient_batch(gram, moment, seeds, how, self.n_draws, stop_cell(), out)


@dataclass(frozen=True)
class EnhancedGradientDescent(GradientDescent):
    """Algorithm 2: the same through the phases I-A, I-B, II-A, II-B, then Gaussian rounding (Algorithm 3).

    The trial points of the line search are judged by the same phases. The options of `gd`, and these:

    Parameters
    ----------
    initial_step : bool
        Section IV-A: the first step jumps to where C has its first positive eigenvalue.
    evd : {"full", "lanczos"}
        Section IV-B: in phase II-B use Ritz pairs of the Lanczos method (Algorithm 5) instead of a full EVD.
    a : float
        Section IV-C: larger values lower the threshold at which Lanczos stops. The paper's Fig. 6 belongs to a = 1.
    reorthogonalised : bool
        Orthogonalise every Lanczos vector against all earlier ones. False is the recurrence of three terms that the
        paper prints.
    """

    initial_step: bool = False
    evd: Literal["full", "lanczos"] = "full"
    a: float = 100.0
    reorthogonalised: bool = True

    name = "enhanced_gd"

    def _judged(self, gram: Floats, moment: Floats, known: Known) -> Known:
        known = super()._judged(gram, moment, known)
        if self.evd == "lanczos":
            # With Ritz pairs a short step may come from a wrong gradient: there the exact one has to be short as well,
            # for a step of 1 / gamma, which is of the order of the inverse curvature.
            known["converged"] = known["converged"] & (known["gradient_norm"] <= self.gamma * self.tol)
        return known
