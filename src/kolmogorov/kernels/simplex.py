"""Quadratic programs over the probability simplex, one row after another."""

from __future__ import annotations

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
def pairwise_descent(gram, moment, x, tol, max_iter, gaps, iterations):
    """Move mass between pairs of coordinates, exactly, until the Frank-Wolfe gap is below `tol`.

    Receiver i has the smallest gradient; the giver j is the one whose exact step lowers the value most.
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
    rows, size = x.shape
    for row in range(rows):
        q = gram[row]
        t = x[row]
        g = moment[row].copy()
        gradient(q, moment[row], t, g)
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
        steps = 0
        while True:
            i = 0
            inner = 0.0
            for d in range(size):
                inner += g[d] * t[d]
                if g[d] < g[i]:
                    i = d
            gap = inner - g[i]
            if gap <= tol * scale or steps >= max_iter:
                break
            j = -1
            best = 0.0
            move = 0.0
            for d in range(size):
                if t[d] > 0.0 and g[d] > g[i]:
                    slope = g[d] - g[i]
                    curvature = q[i, i] + q[d, d] - 2.0 * q[i, d]
                    step = t[d]
                    if curvature * t[d] > slope:
                        step = slope / curvature
                    gain = step * (2.0 * slope - step * curvature)
                    if gain > best:
                        best = gain
                        j = d
                        move = step
            if j < 0:
                break
            t[i] += move
            if move == t[j]:
                t[j] = 0.0
            else:
                t[j] -= move
            for d in range(size):
                g[d] += move * (q[d, i] - q[d, j])
            steps += 1
        total = 0.0
        for d in range(size):
            total += t[d]
        for d in range(size):
            t[d] /= total
        gaps[row] = max(gap, 0.0)
        iterations[row] = steps


@kernel
def frank_wolfe(gram, moment, x, tol, max_iter, gaps, iterations):
    """Step towards the best vertex with exact line search until the gap is below `tol` (relative, as above)."""
    rows, size = x.shape
    for row in range(rows):
        q = gram[row]
        t = x[row]
        g = moment[row].copy()
        gradient(q, moment[row], t, g)
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
        steps = 0
        while True:
            i = 0
            inner = 0.0
            square = 0.0
            for d in range(size):
                inner += g[d] * t[d]
                square += t[d] * (g[d] + moment[row, d])
                if g[d] < g[i]:
                    i = d
            gap = inner - g[i]
            if gap <= tol * scale or steps >= max_iter:
                break
            # Along e_i - t the value is quadratic; its curvature needs only t^T q t and (q t)_i.
            curvature = q[i, i] - 2.0 * (g[i] + moment[row, i]) + square
            step = 1.0
            if curvature > gap:
                step = gap / curvature
            for d in range(size):
                t[d] *= 1.0 - step
                g[d] += step * (q[d, i] - moment[row, d] - g[d])
            t[i] += step
            steps += 1
        total = 0.0
        for d in range(size):
            total += t[d]
        for d in range(size):
            t[d] /= total
        gaps[row] = max(gap, 0.0)
        iterations[row] = steps
