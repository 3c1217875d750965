"""Unconstrained quadratics: the linear systems of alternating least squares."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def solve_systems(gram, moment, x):
    """Write the solution of gram x = moment to each row of `x`, by Cholesky.

    A matrix that is singular to working precision gets a ridge of 1e-10 of its trace, which picks a solution of
    nearly smallest norm. A matrix whose trace is below 0 has no minimum: the row becomes NaN.
    """
    rows, size = x.shape
    factor = np.empty((size, size))
    for row in range(rows):
        q = gram[row]
        trace = 0.0
        for d in range(size):
            trace += q[d, d]
        ridge = 0.0
        done = False
        while not done:
            done = True
            for a in range(size):
                for b in range(a + 1):
                    total = q[a, b]
                    if a == b:
                        total += ridge
                    for k in range(b):
                        total -= factor[a, k] * factor[b, k]
                    if a > b:
                        factor[a, b] = total / factor[b, b]
                    elif total <= 1e-13 * trace:
                        done = False
                        break
                    else:
                        factor[a, a] = np.sqrt(total)
                if not done:
                    break
            if not done:
                if not trace > 0.0:
                    x[row] = 0.0 if trace == 0.0 else np.nan
                    break
                ridge = 1e-10 * trace if ridge == 0.0 else 10.0 * ridge
        if not done:
            continue
        for a in range(size):
            total = moment[row, a]
            for k in range(a):
                total -= factor[a, k] * x[row, k]
            x[row, a] = total / factor[a, a]
        for a in range(size - 1, -1, -1):
            total = x[row, a]
            for k in range(a + 1, size):
                total -= factor[k, a] * x[row, k]
            x[row, a] = total / factor[a, a]
