"""Exact search over {0,1}^D: persistency, and sphere decoding on a convexified problem.

A diagonal shift costs nothing over signs, so any dual point of the semidefinite relaxation turns the problem into
minimising a convex |R s + c|^2 over signs, whose continuous minimum is the dual's bound. Depth-first search adds
up the rows of R from the last to the first; the sum so far bounds everything below.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.copying import copy_to
from kolmogorov.kernels.stopping import stopped


@kernel
def persistent(gram, moment, stop, fixed):
    """Fix bits that are the same in some optimum, whatever the others are; return how many stay free.

    Every pass over the bits may fix more of them; what is fixed when `stop` is set stays so.

    slope_d = s_dd - 2 v_d + 2 sum_{e != d} s_de x_e: where its largest value over the free bits is at most 0 the bit
    is 1, where its smallest is at least 0 the bit is 0. `fixed` holds 0, 1, or -1 for free.
    """
    size = moment.size
    changed = True
    free = size
    for d in range(size):
        fixed[d] = -1
    while changed:
        changed = False
        for d in range(size):
            if fixed[d] >= 0 or stopped(stop):
                continue
            smallest = gram[d, d] - 2.0 * moment[d]
            largest = smallest
            for e in range(size):
                if e == d:
                    continue
                if fixed[e] == 1:
                    smallest += 2.0 * gram[d, e]
                    largest += 2.0 * gram[d, e]
                elif fixed[e] < 0:
                    smallest += 2.0 * min(gram[d, e], 0.0)
                    largest += 2.0 * max(gram[d, e], 0.0)
            if smallest >= 0.0:
                fixed[d] = 0
            elif largest <= 0.0:
                fixed[d] = 1
            else:
                continue
            changed = True
            free -= 1
    return free


@kernel
def plain_bound(gram, moment):
    """Return a lower bound that takes one look at the entries: each bit with the best that others could add to it."""
    size = moment.size
    bound = 0.0
    for d in range(size):
        slope = gram[d, d] - 2.0 * moment[d]
        for e in range(size):
            if e != d:
                slope += min(gram[d, e], 0.0)
        bound += min(slope, 0.0)
    return bound


@kernel
def pivoted_factor(matrix, stop, order, factor):
    """Cholesky with the smallest remaining pivot first, so that the search begins with the largest.

    Writes the permutation to `order` and the upper triangular R with R^T R = matrix[order][:, order]; returns whether
    it got to the end before `stop` was set.
    """
    n = matrix.shape[0]
    work = matrix.copy()
    largest = 0.0
    for i in range(n):
        order[i] = i
        largest = max(largest, matrix[i, i])
    factor[:, :] = 0.0
    for k in range(n):
        if stopped(stop):
            return False
        pivot = k
        for j in range(k + 1, n):
            if work[j, j] < work[pivot, pivot]:
                pivot = j
        if pivot != k:
            for j in range(n):
                work[k, j], work[pivot, j] = work[pivot, j], work[k, j]
            for j in range(n):
                work[j, k], work[j, pivot] = work[j, pivot], work[j, k]
            for j in range(k):
                factor[j, k], factor[j, pivot] = factor[j, pivot], factor[j, k]
            order[k], order[pivot] = order[pivot], order[k]
        # A positive semidefinite matrix may have pivots that are zero up to rounding.
        factor[k, k] = np.sqrt(max(work[k, k], 1e-13 * largest + 1e-300))
        for j in range(k + 1, n):
            factor[k, j] = work[k, j] / factor[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                work[i, j] -= factor[k, i] * factor[k, j]
    return True


@kernel
def offset_of(factor, centre, signs, k):
    """Return what the signs above level k, and the centre, add to its row."""
    total = centre[k]
    for j in range(k + 1, centre.size):
        total += factor[k, j] * signs[j]
    return total


@kernel
def sphere_search(factor, centre, radius, signs, sums, level, stage, best, budget, stop):
    """Depth-first search for signs s with |R s + c|^2 below `radius`; can be interrupted and taken up again.

    R is `factor`, float64[n, n], upper triangular, and c is `centre`, float64[n]. The state of the search is in
    `signs`, in `sums`, float64[n + 1], whose k-th is the length gathered from the rows k and above, and in `stage`,
    int64[n], which counts the children of each level already entered. It goes on at `level`, which is n - 1 at the
    start. The best signs found are written to `best`. At most `budget` nodes are visited, and none once `stop` is set.
    Returns the radius, the level, which is n where the search is complete, and the nodes.
    """
    n = centre.size
    offset = np.empty(n)
    for k in range(level, n):
        offset[k] = offset_of(factor, centre, signs, k)
    nodes = 0
    while level < n and nodes < budget and not stopped(stop):
        if stage[level] == 2:
            level += 1
            continue
        # The nearer sign first.
        first = -1.0 if offset[level] > 0.0 else 1.0
        sign = first if stage[level] == 0 else -first
        stage[level] += 1
        nodes += 1
        step = factor[level, level] * sign + offset[level]
        total = sums[level + 1] + step * step
        if total >= radius:
            # The other sign is farther still.
            stage[level] = 2
            continue
        signs[level] = sign
        sums[level] = total
        if level == 0:
            radius = total
            copy_to(best, signs)
            continue
        level -= 1
        stage[level] = 0
        offset[level] = offset_of(factor, centre, signs, level)
    return radius, level, nodes


@kernel
def open_bound(factor, centre, signs, sums, level, stage):
    """Return the smallest length that an unfinished search could still reach; infinite where it is complete."""
    n = centre.size
    least = np.inf
    for k in range(level, n):
        if stage[k] < 2:
            offset = offset_of(factor, centre, signs, k)
            step = abs(offset) - factor[k, k] if stage[k] == 0 else abs(offset) + factor[k, k]
            least = min(least, sums[k + 1] + step * step)
    return least
