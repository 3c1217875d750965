"""Convex quadratics over the box [0,1]^D, one row after another."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.solvers.simplex import gradient
from kolmogorov.solvers.stopping_kernels import stopped


@kernel
def coordinate_descent(gram, moment, x, tol, max_iter, stop, gaps, iterations):
    """Minimise exactly over one coordinate after another until the gap is below `tol`.

    The gap g^T x - sum(min(g, 0)) is that of Frank and Wolfe; the value lies at most twice this above the optimum.
    `tol` is relative to the largest diagonal entry of the row's Gram matrix.

    Parameters
    ----------
    gram, moment : float64[n, D, D], float64[n, D]
    x : float64[n, D]
        In the box; start on input, solution on output.
    stop : int64[1]
        Once set, no further round begins.
    gaps, iterations : float64[n], int64[n]
        Output; an iteration is a round over all coordinates.
    """
    rows, size = x.shape
    g = np.empty(size)
    for row in range(rows):
        q = gram[row]
        t = x[row]
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
        rounds = 0
        while True:
            # Computed again in every round, so that rounding does not add up.
            gradient(q, moment[row], t, g)
            gap = 0.0
            for d in range(size):
                gap += g[d] * t[d] - min(g[d], 0.0)
            if gap <= tol * scale or rounds >= max_iter or stopped(stop):
                break
            rounds += 1
            for d in range(size):
                if q[d, d] > 0.0:
                    target = min(max(t[d] - g[d] / q[d, d], 0.0), 1.0)
                else:
                    target = 1.0 if g[d] < 0.0 else 0.0
                move = target - t[d]
                if move != 0.0:
                    t[d] = target
                    for e in range(size):
                        g[e] += move * q[d, e]
        gaps[row] = max(gap, 0.0)
        iterations[row] = rounds
