"""Batches of binary problems by the dual of their regularised semidefinite relaxation, rounded to {0,1}^D."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import fill_normal, kernel
from kolmogorov.solvers.dual_kernels import (
    ITERATIONS,
    descend_dual,
    dual_gradient,
    projection_factor,
    shifted,
    spectral_bound,
)
from kolmogorov.solvers.lifting import best_rounding, lift
from kolmogorov.solvers.newton_kernels import newton_dual

# Stiffness above which Newton's method comes to its problem by way of easier ones, and that of the first of them. By
# judgement: from zero it copes with some thousands.
PATH_FROM = 1e4
PATH_START = 1e2


@kernel
def certify_duals(gram, moment, gamma, duals, bounds, norms):
    """Write a lower bound of every row's value, and the norm of its dual's gradient, from a full EVD at its dual point.

    These say how good a result is. They are no part of a method, so that they are neither counted nor timed.
    """
    size = moment.shape[1]
    lifted = np.empty((size + 1, size + 1))
    gradient = np.empty(size + 1)
    for row in range(moment.shape[0]):
        constant = lift(gram[row], moment[row], lifted)
        values, vectors = np.linalg.eigh(shifted(lifted, duals[row]))
        bound = spectral_bound(duals[row], values)
        bounds[row] = bound + constant - 8.0 * 2.0**-52 * (abs(bound) + abs(constant))
        dual_gradient(gamma, values, vectors, gradient)
        norms[row] = np.sqrt(np.sum(gradient * gradient))


@kernel
def gradient_batch(gram, moment, seeds, how, n_draws, stop, out):
    """Run gradient descent (Algorithm 1, or 2 with `how.enhanced`) and rounding (Algorithm 3) on every row.

    `how` is a `Descent`, `out` are `Results`.
    """
    rows, size = out.x.shape
    lifted = np.empty((size + 1, size + 1))
    start = np.empty(size + 1)
    for row in range(rows):
        lift(gram[row], moment[row], lifted)
        state = fill_normal(seeds[row], start)
        start /= np.sqrt(np.sum(start * start))
        dual = out.duals[row]
        dual[:] = how.initial_dual
        values, vectors = descend_dual(
            lifted, how, start, dual, out.counts[row], out.phases[row], out.trace[row], out.points[row], stop
        )
        best_rounding(lifted, projection_factor(how.gamma, values, vectors), n_draws, state, stop, out.x[row])


@kernel
def follow_path(lifted, gamma, dual, counts, stop):
    """Bring `dual` near the optimum where gamma is large for the size of the data, by way of smaller ones.

    gamma times the size of A is what makes the dual stiff.
    """
    stiffness = gamma * np.max(np.abs(lifted))
    if stiffness <= PATH_FROM:
        return
    nothing = np.empty(0)
    no_points = np.empty((0, dual.size))
    # Of an infinite stiffness nothing would be left.
    here = gamma * PATH_START / stiffness if np.isfinite(stiffness) else PATH_START / np.max(np.abs(lifted))
    while here < gamma:
        newton_dual(lifted, here, 1e-2, 50, dual, counts, nothing, no_points, stop)
        here *= 10.0
    counts[ITERATIONS] = 0


@kernel
def newton_batch(gram, moment, seeds, gamma, tol, max_iter, n_draws, stop, out):
    """Run the semismooth Newton method and rounding on every row; `out` are `Results`."""
    rows, size = out.x.shape
    lifted = np.empty((size + 1, size + 1))
    for row in range(rows):
        lift(gram[row], moment[row], lifted)
        dual, counts = out.duals[row], out.counts[row]
        dual[:] = 0.0
        follow_path(lifted, gamma, dual, counts, stop)
        values, vectors = newton_dual(lifted, gamma, tol, max_iter, dual, counts, out.trace[row], out.points[row], stop)
        best_rounding(lifted, projection_factor(gamma, values, vectors), n_draws, seeds[row], stop, out.x[row])
