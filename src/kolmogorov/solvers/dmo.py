"""Discrete monotonic optimisation (DMO), which the paper compares with: branch, reduce and bound over boxes.

The value is a difference f+ - f- of increasing functions: f+ = x^T S+ x + 2 x^T v-, f- = x^T S- x + 2 x^T v+.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Batch, RowSolver
from kolmogorov.solvers.rows import rounding_allowances, value
from kolmogorov.solvers.stopping import limited, stopped


@kernel
def reduce_box(gram, moment, low, high, incumbent):
    """Fix every bit one of whose values pushes the box's bound above the incumbent; return the bound.

    The bound of the box [low, high] is f+(low) - f-(high). Returns infinity where the box holds nothing better.
    """
    size = moment.size
    plus = minus = 0.0
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
    lows = np.zeros((size + 2, size))
    highs = np.ones((size + 2, size))
    bounds = np.full(size + 2, -np.inf)
    x[:] = 0.0
    best, depth, nodes = 0.0, 1, 0
    while depth > 0 and nodes < max_nodes and not stopped(stop):
        depth -= 1
        low, high = lows[depth].copy(), highs[depth].copy()
        nodes += 1
        bound = reduce_box(gram, moment, low, high, best)
        if bound == np.inf:
            continue
        for corner in (low, high):
            here = value(gram, moment, corner)
            if here < best:
                best = here
                for d in range(size):
                    x[d] = corner[d]
        branch, weight = -1, -1.0
        for d in range(size):
            if low[d] != high[d]:
                size_of_d = abs(gram[d, d] - 2.0 * moment[d])
                for e in range(size):
                    if e != d and low[e] != high[e]:
                        size_of_d += abs(gram[d, e])
                if size_of_d > weight:
                    branch, weight = d, size_of_d
        if branch < 0:
            continue
        # A box splits into two; the later one in the stack is looked at first.
        for half in (depth, depth + 1):
            for d in range(size):
                lows[half, d], highs[half, d] = low[d], high[d]
            bounds[half] = bound
        highs[depth, branch] = 0.0
        lows[depth + 1, branch] = 1.0
        depth += 2
    lower = best
    for k in range(depth):
        lower = min(lower, bounds[k])
    return best, lower, nodes


@dataclass(frozen=True)
class DiscreteMonotonic(RowSolver):
    """Split boxes until none can hold anything better; exact where it ends by itself.

    Its bounds are weak, so boxes multiply with D as they do for the paper.

    Parameters
    ----------
    max_nodes : int
        Boxes to look at; past that the best point so far is returned with its bound.
    time_limit : float or None
        Seconds per problem; past that likewise.
    """

    max_nodes: int = 20_000_000
    time_limit: float | None = None

    name = "dmo"
    # Some thirty variables are proved in minutes; beyond this size all that is left of the method is its start.
    max_variables = 100

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x, nodes = np.empty_like(moment), np.empty(len(moment), dtype=np.int64)
        values, bounds = np.empty(len(x)), np.empty(len(x))
        for row in range(len(x)):
            with limited(self.time_limit) as stop:
                values[row], bounds[row], nodes[row] = branch_reduce_bound(
                    gram[row], moment[row], self.max_nodes, stop, x[row]
                )

        def more() -> dict[str, Any]:
            proved, safe = bounds >= values, bounds - rounding_allowances(gram, moment)
            return {"lower_bound": safe, "nodes": nodes, "converged": proved, "proved": proved}

        return Batch(x, more)
