"""Draws of thetas where an item's levels lie beyond the chances that answers can have, and sums of them are cut."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.draws.emissions import PRODUCT_LENGTH
from kolmogorov.kernels.draws.gibbs import uniform

#: The least share of an event, so that its logarithm stays sensible, and the shortest interval worth another try: both
#: near what rounding leaves of a share.
_LEAST_SHARE, _SHORT = 1e-12, 1e-15


@kernel
def moved_log_density(chance, step, n, t, weights, begin, least, shares, alpha):
    """Return the log density of a move by `t` of mass between two events, whose `shares` after it are given."""
    total = 0.0
    for m in range(2):
        total += (alpha[m] - 1.0) * np.log(max(shares[m], _LEAST_SHARE))
    product = 1.0
    for k in range(n):
        one = min(max(chance[k] + t * step[k], least), 1.0 - least)
        if weights.size:
            total += weights[begin + k] * np.log(one)
            continue
        product *= one
        if k % PRODUCT_LENGTH == PRODUCT_LENGTH - 1:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@kernel
def draw_sliced(
    indptr, indices, answers, weights, codes, emission, least, theta, alpha, rounds, seeds, first, last, out
):
    """Draw each user's theta, whose prior is Dirichlet: mass moves between pairs of events, `rounds` times D of them.

    A move is drawn by slice sampling: uniformly from where the density is above a level, which is sought by shrinking
    the interval of all moves (Neal 2003). Sums of chances are cut to `least` and 1 - `least`.
    """
    size = theta.shape[1]
    widest = 0
    for row in range(first, last):
        widest = max(widest, indptr[row + 1] - indptr[row])
    chance, step = np.empty(widest), np.empty(widest)
    shares, two = np.empty(2), np.empty(2)
    for row in range(first, last):
        state = seeds[row - first]
        begin, n = indptr[row], indptr[row + 1] - indptr[row]
        x = out[row]
        for d in range(size):
            x[d] = theta[row, d]
        for k in range(n):
            total = 0.0
            for d in range(size):
                total += x[d] * emission[codes[indices[begin + k], d], answers[begin + k]]
            chance[k] = total
        for move in range(rounds * size if size > 1 else 0):
            i = move % size
            state, u = uniform(state)
            j = min(int(u * (size - 1)), size - 2)
            if j >= i:
                j += 1
            room = x[i] + x[j]
            if room <= 2.0 * _LEAST_SHARE:
                continue
            two[0], two[1], shares[0], shares[1] = alpha[i], alpha[j], x[i], x[j]
            for k in range(n):
                of, answer = codes[indices[begin + k]], answers[begin + k]
                step[k] = emission[of[i], answer] - emission[of[j], answer]
            level = moved_log_density(chance, step, n, 0.0, weights, begin, least, shares, two)
            state, u = uniform(state)
            level += np.log(u)
            low, high, t = -x[i], x[j], 0.0
            while high - low > _SHORT:
                state, u = uniform(state)
                t = low + u * (high - low)
                shares[0], shares[1] = x[i] + t, x[j] - t
                if moved_log_density(chance, step, n, t, weights, begin, least, shares, two) >= level:
                    break
                if t < 0.0:
                    low = t
                else:
                    high = t
                t = 0.0
            fresh = min(max(x[i] + t, _LEAST_SHARE), room - _LEAST_SHARE)
            for k in range(n):
                chance[k] += (fresh - x[i]) * step[k]
            x[i], x[j] = fresh, room - fresh
