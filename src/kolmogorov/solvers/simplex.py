"""Quadratic programs over the probability simplex, one row after another."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def gradient(gram, moment, x, out):
    """Write gram x - moment, half of the gradient, to `out`."""
    for d in range(x.size):
        total = -moment[d]
        for e in range(x.size):
            total += gram[d, e] * x[e]
        out[d] = total


@kernel
def normalise(t):
    """Divide by the sum, from which rounding may have strayed."""
    total = 0.0
    for d in range(t.size):
        total += t[d]
    for d in range(t.size):
        t[d] /= total


@kernel
def pairwise_row(q, w, t, tol, max_iter):
    """Move mass between pairs of coordinates of one row, exactly; return the last gap and the number of moves.

    Receiver i has the smallest gradient; the giver j is the one whose exact step lowers the value most.
    """
    size = t.size
    g = np.empty(size)
    diagonal = np.empty(size)
    step = np.empty(size)
    gain = np.empty(size)
    scale = 1e-300
    for d in range(size):
        diagonal[d] = q[d, d]
        scale = max(scale, q[d, d])
    steps = 0
    fresh = True
    inner = 0.0
    while True:
        if fresh:
            # Below, g and its product with t are only brought up to date; here they are computed.
            gradient(q, w, t, g)
            inner = 0.0
            for d in range(size):
                inner += g[d] * t[d]
        i = 0
        for d in range(size):
            if g[d] < g[i]:
                i = d
        gap = inner - g[i]
        if gap <= tol * scale or steps >= max_iter:
            if fresh:
                break
            fresh = True
            continue
        lowest = g[i]
        own = diagonal[i]
        line = q[i]
        for d in range(size):
            slope = max(g[d] - lowest, 0.0)
            curvature = max(own + diagonal[d] - 2.0 * line[d], 1e-300)
            step[d] = min(t[d], slope / curvature)
            gain[d] = step[d] * (2.0 * slope - step[d] * curvature)
        j = 0
        for d in range(size):
            if gain[d] > gain[j]:
                j = d
        if gain[j] <= 0.0:
            break
        move = step[j]
        curvature = own + diagonal[j] - 2.0 * line[j]
        inner += move * (2.0 * (lowest - g[j]) + (w[i] - w[j]) + move * curvature)
        t[i] += move
        t[j] = max(t[j] - move, 0.0)
        other = q[j]
        for d in range(size):
            g[d] += move * (line[d] - other[d])
        steps += 1
        fresh = False
    normalise(t)
    return gap, steps


@kernel
def pairwise_descent(gram, moment, x, tol, max_iter, gaps, iterations):
    """Run pairwise descent on every row until its Frank-Wolfe gap is below `tol`.

    The gap g^T x - min(g) bounds half the distance to the optimal value from above. `tol` is relative to
    the size of the row's data (the largest diagonal entry of its Gram matrix).

    Parameters
    ----------
    gram, moment : float64[n, D, D], float64[n, D]
    x : float64[n, D]
        On the simplex; start on input, solution on output.
    gaps, iterations : float64[n], int64[n]
        Output.
    """
    for row in range(x.shape[0]):
        gap, steps = pairwise_row(gram[row], moment[row], x[row], tol, max_iter)
        gaps[row] = max(gap, 0.0)
        iterations[row] = steps


@kernel
def frank_wolfe(gram, moment, x, tol, max_iter, away, gaps, iterations):
    """Step towards the best vertex, or with `away` from the worst in use, until the gap is below `tol`.

    The line search is exact. `tol` is relative as in `pairwise_descent`. Away steps (Guelat and Marcotte 1986) let
    mass leave a vertex that should have none, and turn the rate from 1/k into a linear one.
    """
    rows, size = x.shape
    for row in range(rows):
        q, w, t = gram[row], moment[row], x[row]
        g = w.copy()
        gradient(q, w, t, g)
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
        steps = 0
        while True:
            i, j = 0, -1
            inner = square = 0.0
            for d in range(size):
                inner += g[d] * t[d]
                square += t[d] * (g[d] + w[d])
                if g[d] < g[i]:
                    i = d
                if t[d] > 0.0 and (j < 0 or g[d] > g[j]):
                    j = d
            gap = inner - g[i]
            if gap <= tol * scale or steps >= max_iter:
                break
            # Towards e_i the direction is e_i - t, away from e_j it is t - e_j; both are +-(e_k - t).
            k = i
            sign = 1.0
            slope = gap
            limit = 1.0
            if away and g[j] - inner > gap and t[j] < 1.0:
                k = j
                sign = -1.0
                slope = g[j] - inner
                limit = t[j] / (1.0 - t[j])
            curvature = q[k, k] - 2.0 * (g[k] + w[k]) + square
            step = limit
            if curvature * limit > slope:
                step = slope / curvature
            step *= sign
            for d in range(size):
                t[d] *= 1.0 - step
                g[d] += step * (q[d, k] - w[d] - g[d])
            t[k] += step
            if sign < 0.0 and step == -limit:
                t[k] = 0.0
            steps += 1
        total = 0.0
        for d in range(size):
            t[d] = max(t[d], 0.0)
            total += t[d]
        for d in range(size):
            t[d] /= total
        gaps[row] = max(gap, 0.0)
        iterations[row] = steps
