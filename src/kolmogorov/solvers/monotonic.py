"""Discrete monotonic optimisation: branch, reduce and bound with a difference of increasing functions."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.solvers.copying import copy_to
from kolmogorov.solvers.quadratic import value
from kolmogorov.solvers.stopping_kernels import stopped


@kernel
def increasing_values(gram, moment, low, high):
    """Return f+(low) and f-(high): f+ = x^T S+ x + 2 x^T v-, f- = x^T S- x + 2 x^T v+, both increasing."""
    size = moment.size
    plus = 0.0
    minus = 0.0
    for d in range(size):
        if low[d] > 0.0:
            plus += 2.0 * max(-moment[d], 0.0)
            for e in range(size):
                if low[e] > 0.0:
                    plus += max(gram[d, e], 0.0)
        if high[d] > 0.0:
            minus += 2.0 * max(moment[d], 0.0)
            for e in range(size):
                if high[e] > 0.0:
                    minus += max(-gram[d, e], 0.0)
    return plus, minus


@kernel
def reduce_box(gram, moment, low, high, incumbent):
    """Fix every bit one of whose values pushes the box's bound above the incumbent; return the bound.

    The bound of the box [low, high] is f+(low) - f-(high). Returns infinity where the box holds nothing better.
    """
    size = moment.size
    plus, minus = increasing_values(gram, moment, low, high)
    changed = True
    while changed:
        if plus - minus >= incumbent:
            return np.inf
        changed = False
        for d in range(size):
            if low[d] == high[d]:
                continue
            rise = 2.0 * max(-moment[d], 0.0) + max(gram[d, d], 0.0)
            fall = 2.0 * max(moment[d], 0.0) + max(-gram[d, d], 0.0)
            for e in range(size):
                if e != d:
                    if low[e] > 0.0:
                        rise += 2.0 * max(gram[d, e], 0.0)
                    if high[e] > 0.0:
                        fall += 2.0 * max(-gram[d, e], 0.0)
            if plus + rise - minus >= incumbent:
                high[d] = 0.0
                minus -= fall
                changed = True
            elif plus - minus + fall >= incumbent:
                low[d] = 1.0
                plus += rise
                changed = True
    return plus - minus


@kernel
def branch_reduce_bound(gram, moment, max_nodes, stop, x):
    """Minimise exactly; return the value, the lower bound and the number of boxes looked at.

    Boxes are taken depth first, the one with the smaller bound of two halves first. Both corners of a box are tried
    as incumbents. Unless `max_nodes` boxes were looked at or `stop` was set, the lower bound is the value.
    """
    size = moment.size
    capacity = size + 2
    lows = np.zeros((capacity, size))
    highs = np.ones((capacity, size))
    bounds = np.full(capacity, -np.inf)
    x[:] = 0.0
    best = 0.0
    depth = 1
    nodes = 0
    low = np.empty(size)
    high = np.empty(size)
    while depth > 0 and nodes < max_nodes and not stopped(stop):
        depth -= 1
        copy_to(low, lows[depth])
        copy_to(high, highs[depth])
        nodes += 1
        bound = reduce_box(gram, moment, low, high, best)
        if bound == np.inf:
            continue
        for corner in (low, high):
            here = value(gram, moment, corner)
            if here < best:
                best = here
                copy_to(x, corner)
        branch = -1
        weight = -1.0
        for d in range(size):
            if low[d] != high[d]:
                size_of_d = abs(gram[d, d] - 2.0 * moment[d])
                for e in range(size):
                    if e != d and low[e] != high[e]:
                        size_of_d += abs(gram[d, e])
                if size_of_d > weight:
                    weight = size_of_d
                    branch = d
        if branch < 0:
            continue
        # A box splits into two; the later one in the stack is looked at first.
        copy_to(lows[depth], low)
        copy_to(highs[depth], high)
        highs[depth, branch] = 0.0
        copy_to(lows[depth + 1], low)
        lows[depth + 1, branch] = 1.0
        copy_to(highs[depth + 1], high)
        bounds[depth] = bound
        bounds[depth + 1] = bound
        depth += 2
    lower = best
    for k in range(depth):
        lower = min(lower, bounds[k])
    return best, lower, nodes
