"""Discrete monotonic optimisation (DMO), which the paper compares with: branch, reduce and bound over boxes.

The value is a difference f+ - f- of increasing functions: f+ = x^T S+ x + 2 x^T v-, f- = x^T S- x + 2 x^T v+.
"""

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver, stop_cell
from kolmogorov.solvers.rows import value


@kernel
def reduce_box(up, down, rising, falling, low, high, incumbent):
    """Fix every bit one of whose values pushes the bound above the incumbent; tell if the box may hold a better point.

    The bound of the box [low, high] is f+(low) - f-(high). `up` and `down` are S+ and S-, `rising` and `falling` what a
    bit adds to f+ and f- alone.
    """
    size = low.size
    plus = minus = 0.0
    for d in range(size):
        for e in range(d):
            plus += 2.0 * low[d] * low[e] * up[d, e]
            minus += 2.0 * high[d] * high[e] * down[d, e]
        plus += low[d] * rising[d]
        minus += high[d] * falling[d]
    changed = True
    while changed:
        if plus - minus >= incumbent:
            return False
        changed = False
        for d in range(size):
            if low[d] == high[d]:
                continue
            rise, fall = rising[d], falling[d]
            for e in range(size):
                if e != d:
                    rise += 2.0 * low[e] * up[d, e]
                    fall += 2.0 * high[e] * down[d, e]
            if plus + rise - minus >= incumbent:
                high[d] = 0.0
                minus -= fall
                changed = True
            elif plus - minus + fall >= incumbent:
                low[d] = 1.0
                plus += rise
                changed = True
    return True


@kernel
def branch_reduce_bound(gram, moment, max_nodes, stop, x):
    """Minimise; return the number of boxes looked at, and whether none is left, so that x is the minimiser.

    Boxes are taken depth first. Both corners of a box are tried as incumbents.
    """
    size = moment.size
    up, down = np.maximum(gram, 0.0), np.maximum(-gram, 0.0)
    rising = np.diag(up) - 2.0 * np.minimum(moment, 0.0)
    falling = np.diag(down) + 2.0 * np.maximum(moment, 0.0)
    lows = np.zeros((size + 2, size))
    highs = np.ones((size + 2, size))
    x[:] = 0.0
    best, depth, nodes = 0.0, 1, 0
    while depth > 0 and nodes < max_nodes and not stop[0]:
        depth -= 1
        low, high = lows[depth].copy(), highs[depth].copy()
        nodes += 1
        if not reduce_box(up, down, rising, falling, low, high, best):
            continue
        for corner in (low, high):
            here = value(gram, moment, corner)
            if here < best:
                best = here
                x[:] = corner
        branch, weight = -1, -1.0
        for d in range(size):
            if low[d] != high[d]:
                here = abs(gram[d, d] - 2.0 * moment[d])
                for e in range(size):
                    if e != d and low[e] != high[e]:
                        here += abs(gram[d, e])
                if here > weight:
                    branch, weight = d, here
        if branch < 0:
            continue
        # A box splits into two; the later one in the stack is looked at first.
        for half in (depth, depth + 1):
            lows[half], highs[half] = low, high
        highs[depth, branch] = 0.0
        lows[depth + 1, branch] = 1.0
        depth += 2
    return nodes, depth == 0


@dataclass(frozen=True)
class DiscreteMonotonic(RowSolver):
    """Split boxes until none can hold anything better; exact where it ends by itself.

    Its bounds are weak, so boxes multiply with D as they do for the paper. `max_nodes` limits the boxes that are looked
    at; past that the best point so far is returned.
    """

    max_nodes: int = 20_000_000

    name = "dmo"
    # Some thirty variables are proved in minutes; beyond this size all that is left of the method is its start.
    max_variables = 100

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        x, nodes = np.empty_like(moment), np.empty(len(moment), dtype=np.int64)
        proved = np.empty(len(x), dtype=bool)
        for row in range(len(x)):
            nodes[row], proved[row] = branch_reduce_bound(gram[row], moment[row], self.max_nodes, stop_cell(), x[row])
        return x, {"iterations": nodes, "converged": proved, "proved": proved}
