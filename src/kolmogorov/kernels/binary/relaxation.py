"""Batches of binary problems by the dual of their regularised semidefinite relaxation, rounded to {0,1}^D."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.binary.dual import ITERATIONS, descend_dual, projection_factor, spectral_bound
from kolmogorov.kernels.binary.lifting import best_rounding, lift
from kolmogorov.kernels.binary.newton import newton_dual
from kolmogorov.kernels.randomness import fill_normal

PATH_FROM = 1e4
PATH_START = 1e2


@kernel
def finish(lifted, constant, gamma, values, vectors, dual, n_draws, state, counts, stop, x):
    """Round the relaxation's solution to `x` and return the dual's lower bound of the problem's value."""
    best_rounding(lifted, projection_factor(gamma, values, vectors), n_draws, state, stop, x)
    bound = spectral_bound(lifted, dual, counts)
    return bound + constant - 8.0 * 2.0**-52 * (abs(bound) + abs(constant))


@kernel
def gradient_batch(
    gram,
    moment,
    seeds,
    gamma,
    tol,
    max_iter,
    step,
    shrink,
    armijo,
    enhanced,
    initial_step,
    lanczos,
    a,
    n_draws,
    stop,
    x,
    bounds,
    counts,
    phases,
    duals,
    trace,
    points,
):
    """Run gradient descent (Algorithm 1, or 2 with `enhanced`) and rounding (Algorithm 3) on every row.

    The dual starts at all ones, as in the paper. Outputs: `x`, `bounds`, `counts` (columns of `kernels.dual`),
    `phases`, `duals`, and where they have room `trace` (h per iteration) and `points` (dual per iteration).
    """
    rows, size = x.shape
    lifted = np.empty((size + 1, size + 1))
    start = np.empty(size + 1)
    for row in range(rows):
        constant = lift(gram[row], moment[row], lifted)
        state = fill_normal(seeds[row], start)
        start /= np.sqrt(np.sum(start * start))
        dual = duals[row]
        dual[:] = 1.0
        values, vectors = descend_dual(
            lifted,
            gamma,
            tol,
            max_iter,
            step,
            shrink,
            armijo,
            enhanced,
            initial_step,
            lanczos,
            a,
            start,
            dual,
            counts[row],
            phases[row],
            trace[row],
            points[row],
            stop,
        )
        bounds[row] = finish(lifted, constant, gamma, values, vectors, dual, n_draws, state, counts[row], stop, x[row])


@kernel
def follow_path(lifted, gamma, dual, counts, stop):
    """Bring `dual` near the optimum where gamma is large for the size of the data, by way of smaller ones.

    gamma times the size of A is what makes the dual stiff; from zero Newton copes with some thousands of it.
    """
    stiffness = gamma * np.max(np.abs(lifted))
    if stiffness <= PATH_FROM:
        return
    nothing = np.empty(0)
    no_points = np.empty((0, dual.size))
    here = gamma * PATH_START / stiffness
    while here < gamma:
        newton_dual(lifted, here, 1e-2, 50, dual, counts, nothing, no_points, stop)
        here *= 10.0
    counts[ITERATIONS] = 0


@kernel
def newton_batch(gram, moment, seeds, gamma, tol, max_iter, n_draws, stop, x, bounds, counts, duals, trace, points):
    """Run the semismooth Newton method and rounding on every row; outputs as in `gradient_batch`."""
    rows, size = x.shape
    lifted = np.empty((size + 1, size + 1))
    for row in range(rows):
        constant = lift(gram[row], moment[row], lifted)
        dual = duals[row]
        dual[:] = 0.0
        follow_path(lifted, gamma, dual, counts[row], stop)
        values, vectors = newton_dual(lifted, gamma, tol, max_iter, dual, counts[row], trace[row], points[row], stop)
        bounds[row] = finish(
            lifted, constant, gamma, values, vectors, dual, n_draws, seeds[row], counts[row], stop, x[row]
        )
