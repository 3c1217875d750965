"""Exact search over levels^D, depth first on a Cholesky factor.

With R^T R = gram + shift I and R^T c = moment, x^T gram x - 2 x^T moment = |R x - c|^2 - shift |x|^2 - |c|^2. Fixing
coordinates from the last to the first adds up one term each, (R x - c)_k^2 - shift x_k^2, and what is still to come is
at least -shift times the largest squared level for each coordinate left. The shift is 0 for a definite matrix.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.copying import copy_to
from kolmogorov.kernels.stopping import stopped


@kernel
def open_node(factor, centre, shift, levels, x, k, order, cost):
    """Write what each level of coordinate k costs, given those after it, cheapest first."""
    offset = -centre[k]
    for j in range(k + 1, x.size):
        offset += factor[k, j] * x[j]
    for p in range(levels.size):
        term = factor[k, k] * levels[p] + offset
        term = term * term - shift * levels[p] * levels[p]
        q = p
        while q > 0 and cost[k, q - 1] > term:
            cost[k, q] = cost[k, q - 1]
            order[k, q] = order[k, q - 1]
            q -= 1
        cost[k, q] = term
        order[k, q] = p


@kernel
def level_search(factor, centre, shift, levels, radius, budget, stop, best):
    """Search for x with |R x - c|^2 - shift |x|^2 below `radius`, cheapest level first; write the best to `best`.

    Returns
    -------
    radius, bound, nodes : float, float, int
        The least found (or `radius`), below which nothing lies; `bound` is less where the search was cut short by
        `budget` nodes or by `stop`.
    """
    size, n_levels = centre.size, levels.size
    rest = -shift * max(levels[0] * levels[0], levels[-1] * levels[-1])
    x, sums = np.zeros(size), np.zeros(size + 1)
    order, cost = np.zeros((size, n_levels), dtype=np.int64), np.zeros((size, n_levels))
    stage = np.zeros(size, dtype=np.int64)
    k = size - 1
    open_node(factor, centre, shift, levels, x, k, order, cost)
    nodes = 0
    while k < size and nodes < budget and not stopped(stop):
        # Levels come cheapest first: where one is too dear, so are those after it.
        if stage[k] == n_levels or sums[k + 1] + cost[k, stage[k]] + k * rest >= radius:
            stage[k] = n_levels
            k += 1
            continue
        nodes += 1
        x[k] = levels[order[k, stage[k]]]
        sums[k] = sums[k + 1] + cost[k, stage[k]]
        stage[k] += 1
        if k == 0:
            radius = sums[0]
            copy_to(best, x)
            continue
        k -= 1
        stage[k] = 0
        open_node(factor, centre, shift, levels, x, k, order, cost)
    bound = radius
    for j in range(k, size):
        if stage[j] < n_levels:
            bound = min(bound, sums[j + 1] + cost[j, stage[j]] + j * rest)
    return radius, bound, nodes
