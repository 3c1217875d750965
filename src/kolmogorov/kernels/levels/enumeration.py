"""Exact minimisation over levels^D by running through all points, one step of one coordinate at a time."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.copying import copy_to
from kolmogorov.kernels.rows.quadratic import value
from kolmogorov.kernels.rows.simplex import gradient

# Steps after which value and slopes are computed afresh, so that rounding does not add up.
_FRESH = 4096


@kernel
def enumerate_levels(gram, moment, levels, x):
    """Write the minimiser of x^T gram x - 2 x^T moment over levels^D to each row of `x`.

    All coordinates but the first run through the reflected mixed-radix Gray code: each step moves one of them to a
    neighbouring level and costs D additions. The first one is settled at every step by looking at its L levels, for
    which the value of the others, its slope and its curvature are enough. Of equal points the first met is kept.
    """
    rows, size = x.shape
    last = levels.size - 1
    point, slope, best_point = np.empty(size), np.empty(size), np.empty(size)
    place, way = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for row in range(rows):
        s, v = gram[row], moment[row]
        place[:] = 0
        way[:] = 1
        point[:] = levels[0]
        gradient(s, v, point, slope)
        here = value(s, v, point)
        best = np.inf
        steps = 0
        while True:
            for p in range(levels.size):
                t = levels[p] - levels[0]
                there = here + t * (2.0 * slope[0] + t * s[0, 0])
                if there < best:
                    best = there
                    copy_to(best_point, point)
                    best_point[0] = levels[p]
            k = 1
            while k < size and not 0 <= place[k] + way[k] <= last:
                way[k] = -way[k]
                k += 1
            if k >= size:
                break
            place[k] += way[k]
            t = levels[place[k]] - point[k]
            here += t * (2.0 * slope[k] + t * s[k, k])
            point[k] = levels[place[k]]
            for e in range(size):
                slope[e] += t * s[k, e]
            steps += 1
            if steps % _FRESH == 0:
                gradient(s, v, point, slope)
                here = value(s, v, point)
        copy_to(x[row], best_point)
