"""Quadratic programs over the probability simplex by a primal active-set method: finite and exact."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.solvers.gram import binary_normal_equations, normal_equations
from kolmogorov.solvers.quadratic import keep_better
from kolmogorov.solvers.simplex import gradient, normalise, pairwise_row
from kolmogorov.solvers.stopping_kernels import stopped

#: Rows whose normal equations are made at once, by judgement: they stay near the processor until they are solved.
_BLOCK = 32


@kernel
def solve_on_support(q, w, support, count, factor, first, second, y):
    """Minimise over the affine hull of a support; write y and return whether it worked.

    On the support, Q y + mu 1 = w and sum(y) = 1. Fails where Q is singular there.
    """
    for a in range(count):
        for b in range(a + 1):
            total = q[support[a], support[b]]
            for k in range(b):
                total -= factor[a, k] * factor[b, k]
            if a > b:
                factor[a, b] = total / factor[b, b]
            elif total <= 1e-12 * q[support[a], support[a]]:
                return False
            else:
                factor[a, a] = np.sqrt(total)
    for a in range(count):
        left = w[support[a]]
        right = 1.0
        for k in range(a):
            left -= factor[a, k] * first[k]
            right -= factor[a, k] * second[k]
        first[a] = left / factor[a, a]
        second[a] = right / factor[a, a]
    for a in range(count - 1, -1, -1):
        left = first[a]
        right = second[a]
        for k in range(a + 1, count):
            left -= factor[k, a] * first[k]
            right -= factor[k, a] * second[k]
        first[a] = left / factor[a, a]
        second[a] = right / factor[a, a]
    multiplier = (np.sum(first[:count]) - 1.0) / np.sum(second[:count])
    for a in range(count):
        y[a] = first[a] - multiplier * second[a]
    return True


@kernel
def go_towards(y, support, count, t):
    """Move t towards y until a coordinate becomes zero; return which, or -1."""
    reach = 1.0
    leaving = -1
    for a in range(count):
        if y[a] < 0.0:
            here = t[support[a]]
            share = here / (here - y[a])
            if share < reach:
                reach = share
                leaving = support[a]
    for a in range(count):
        d = support[a]
        t[d] += reach * (y[a] - t[d])
    return leaving


@kernel
def active_set(gram, moment, x, tol, max_iter, stop, gaps, iterations):
    """Solve on a support, drop what turns negative, add what would gain, until nothing does.

    A row whose matrix is singular on a support, or that takes more than `max_iter` rounds, is finished by
    pairwise descent; no round begins once `stop`, int64[1], is set. Other arguments as in `pairwise_descent`.
    """
    rows, size = x.shape
    support = np.empty(size, dtype=np.int64)
    factor = np.empty((size, size))
    first = np.empty(size)
    second = np.empty(size)
    y = np.empty(size)
    g = np.empty(size)
    inside = np.empty(size, dtype=np.bool_)
    for row in range(rows):
        q = gram[row]
        w = moment[row]
        t = x[row]
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
            inside[d] = t[d] > 0.0
        rounds = 0
        gap = np.inf
        while rounds < max_iter and not stopped(stop):
            rounds += 1
            count = np.int64(0)  # a plain 0 would have what it is handed to compiled twice
            for d in range(size):
                if inside[d]:
                    support[count] = d
                    count += 1
            solved = solve_on_support(q, w, support, count, factor, first, second, y)
            if not solved:
                break
            leaving = go_towards(y, support, count, t)
            if leaving >= 0:
                t[leaving] = 0.0
                inside[leaving] = False
                continue
            gradient(q, w, t, g)
            entering = 0
            inner = 0.0
            for d in range(size):
                inner += g[d] * t[d]
                if g[d] < g[entering]:
                    entering = d
            gap = inner - g[entering]
            if gap <= tol * scale or inside[entering]:
                break
            inside[entering] = True
        normalise(t)
        # What pairwise descent finds nothing to do for costs it one look at the gap, which it computes again.
        gap, steps = pairwise_row(q, w, t, tol, max(max_iter - rounds, 0))
        rounds += steps
        gaps[row] = max(gap, 0.0)
        iterations[row] = rounds


@kernel
def active_set_rows(table, tol, max_iter, stop, first, last, out, reached):
    """Make the normal equations of the rows `first` to `last` of a table, solve them, and keep the better point.

    What `normal_equations`, or with `bits` its twin for them, `active_set` and `keep_better` do one after another, in
    one call: a thread that has to come back to Python between them waits for all others that do. A table is a tuple of
    indptr, indices, values, weights, factors, bits, ridge, centre and the points where rows start.
    """
    indptr, indices, values, weights, factors, bits, ridge, centre, start = table
    size = start.shape[1]
    gram, moment = np.empty((_BLOCK, size, size)), np.empty((_BLOCK, size))
    gaps, iterations = np.empty(_BLOCK), np.empty(_BLOCK, dtype=np.int64)
    for begin in range(first, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        n = end - begin
        if bits.size:
            binary_normal_equations(indptr, indices, values, bits, begin, end, ridge, centre, gram, moment)
        else:
            normal_equations(indptr, indices, values, weights, factors, begin, end, ridge, centre, gram, moment)
        x = out[begin:end]
        x[:] = start[begin:end]
        active_set(gram[:n], moment[:n], x, tol, max_iter, stop, gaps, iterations)
        keep_better(gram[:n], moment[:n], start[begin:end], x, reached[begin:end])
