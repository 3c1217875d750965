"""Newton's method on the dual of Lemma 1, which the paper did not try.

<X, A> + |X|^2 / (2 gamma) is |X + gamma A|^2 / (2 gamma) up to a constant: the relaxation projects -gamma A onto the
correlation matrices. The best known solver of that is the semismooth Newton method of Qi and Sun (2006) with the
improvements of Borsdorf and Higham (2010).
"""

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import stop_cell
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
from kolmogorov.solvers.rounding import lift

# Stiffness, gamma times the size of A, above which the method comes to its problem by way of easier ones, and that of
# the first of them. By judgement: from zero it copes with some thousands.
PATH_FROM = 1e4
PATH_START = 1e2


@kernel
def hessian_parts(values, vectors):
    """Return W_ab = (max(l_a, 0) - max(l_b, 0)) / (l_a - l_b) for the positive eigenvalues l_b, and their eigenvectors.

    W vanishes between two non-positive ones. An entry whose l_a is not positive is there twice, for the two places at
    which it stands in the sum.
    """
    n = values.size
    # Eigenvalues that are positive by rounding alone would make W depend on noise.
    noise = 1e-15 * max(abs(values[0]), abs(values[n - 1]))
    first = n
    while first > 0 and values[first - 1] > noise:
        first -= 1
    weights = np.ones((n, n - first))
    for a in range(first):
        for b in range(first, n):
            weights[a, b - first] = 2.0 * values[b] / (values[b] - min(values[a], 0.0))
    return weights, np.ascontiguousarray(vectors[:, first:])


@kernel
def hessian_times(gamma, weights, vectors, top, direction):
    """Apply the generalised Hessian of h to a direction: gamma * diag(V (W o (V^T Diag(d) V)) V^T)."""
    inner = np.dot(vectors.T, direction.reshape(-1, 1) * top)
    return gamma * np.sum(np.dot(vectors, weights * inner) * top, axis=1)


@kernel
def newton_direction(gamma, values, vectors, gradient, accuracy):
    """Solve Hessian * d = -gradient by conjugate gradients with the diagonal as preconditioner.

    The Hessian may be singular, for instance where a variable is coupled to nothing; a ridge that vanishes with the
    gradient keeps the step finite and the convergence quadratic.
    """
    n = gradient.size
    ridge = gamma * min(1e-6, 1e-3 * np.sqrt(np.sum(gradient * gradient)))
    weights, top = hessian_parts(values, vectors)
    diagonal = gamma * np.sum(np.dot(vectors * vectors, weights) * top * top, axis=1) + ridge
    d = np.zeros(n)
    r = -gradient
    z = r / diagonal
    p = z.copy()
    rz = np.sum(r * z)
    limit = accuracy * np.sqrt(np.sum(r * r))
    for _ in range(2 * n):
        hp = hessian_times(gamma, weights, vectors, top, p) + ridge * p
        curvature = np.sum(p * hp)
        # The comparison also fails for the NaN that residuals below the smallest number would give.
        if not curvature > 0.0:
            break
        alpha = rz / curvature
        d += alpha * p
        r -= alpha * hp
        if np.sqrt(np.sum(r * r)) <= limit:
            break
        z = r / diagonal
        new = np.sum(r * z)
        if not new > 0.0:
            break
        p = z + (new / rz) * p
        rz = new
    return d


@kernel
def newton_dual(lifted, gamma, tol, max_iter, stop, out, row):
    """Semismooth Newton on h to a gradient norm of `tol`, from the dual point in `out`, which are `Results`.

    The end is written there, which is where it is when `stop` is set; returns the eigenpairs at the end.
    """
    dual = out.dual[row]
    out.iterations[row] = 0
    values, vectors = np.linalg.eigh(shifted(lifted, dual))
    out.n_evd[row] += 1
    h = dual_value(dual, gamma, values)
    gradient, gradient_new = np.empty(dual.size), np.empty(dual.size)
    dual_gradient(gamma, values, vectors, gradient)
    norm = np.sqrt(np.sum(gradient * gradient))
    for _ in range(max_iter):
        record(out, row, h)
        if norm <= tol or stop[0]:
            break
        direction = newton_direction(gamma, values, vectors, gradient, max(min(0.1, 0.1 * norm), 1e-6))
        slope = np.sum(gradient * direction)
        # Not a direction of descent, or not a number.
        if not slope < 0.0 or not np.all(np.isfinite(direction)):
            direction = -gradient
            slope = -norm * norm
        moved, t = False, 1.0
        for _ in range(HALVINGS):
            trial = dual + t * direction
            if np.max(np.abs(trial)) <= FARTHEST and not stop[0]:
                values_new, vectors_new = np.linalg.eigh(shifted(lifted, trial))
                out.n_evd[row] += 1
                h_new = dual_value(trial, gamma, values_new)
                dual_gradient(gamma, values_new, vectors_new, gradient_new)
                norm_new = np.sqrt(np.sum(gradient_new * gradient_new))
                # Near the end h no longer changes within rounding; then the gradient decides.
                flat = abs(t * slope) <= 1e-13 * (1.0 + abs(h))
                moved = h_new <= h + 1e-4 * t * slope or (flat and norm_new < norm)
                if moved:
                    break
            t *= 0.5
        out.iterations[row] += 1
        if not moved:
            break
        dual[:] = trial
        gradient, gradient_new = gradient_new, gradient
        h, norm, values, vectors = h_new, norm_new, values_new, vectors_new
    out.converged[row] = 1 if norm <= tol else 0
    record(out, row, h)
    return values, vectors


@kernel
def newton_batch(gram, moment, seeds, gamma, tol, max_iter, n_draws, stop, out):
    """Run the semismooth Newton method and rounding (Algorithm 3) on every row; `out` are `Results`."""
    rows, size = out.x.shape
    lifted = np.empty((size + 1, size + 1))
    for row in range(rows):
        lift(gram[row], moment[row], lifted)
        stiffness = gamma * np.max(np.abs(lifted))
        if stiffness > PATH_FROM:
            # Of an infinite stiffness nothing would be left.
            here = gamma * PATH_START / stiffness if np.isfinite(stiffness) else PATH_START / np.max(np.abs(lifted))
            while here < gamma:
                newton_dual(lifted, here, 1e-2, 50, stop, out, row)
                here *= 10.0
        values, vectors = newton_dual(lifted, gamma, tol, max_iter, stop, out, row)
        round_dual(lifted, gamma, values, vectors, n_draws, seeds[row], stop, out.x[row])


@dataclass(frozen=True)
class Newton(DualSolver):
    """Newton's method on h_gamma, then Gaussian rounding: some eight iterations to a gradient norm of `tol`.

    The other options are those of `gd`.
    """

    tol: float = 1e-8
    max_iter: int = 200
    trace: bool = False

    name = "newton"

    def _minimise(self, gram: Floats, moment: Floats, seeds: Seeds, out: Results) -> None:
        newton_batch(gram, moment, seeds, self.gamma, self.tol, self.max_iter, self.n_draws, stop_cell(), out)
