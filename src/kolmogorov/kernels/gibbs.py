"""Draws from the posterior of one row: bits of an item, events of a user.

A row's log density is -(x^T gram x - 2 x^T moment) / 2, with the noise already divided out of `gram` and `moment`.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.randomness import next_random

_UNIT = 2.0**-53


@kernel
def uniform(state):
    """Return the new state and a number in (0, 1)."""
    state, bits = next_random(state)
    return state, (float(bits >> np.uint64(11)) + 0.5) * _UNIT


@kernel
def normal(state):
    """Return the new state and a standard normal number."""
    state, a = uniform(state)
    state, b = uniform(state)
    return state, np.sqrt(-2.0 * np.log(a)) * np.cos(2.0 * np.pi * b)


@kernel
def _positive_or_wide(state, low, high):
    """Draw a truncated normal for high >= 0, by rejection."""
    if low <= 0.0 and high - low > 2.0:
        while True:
            state, x = normal(state)
            if low <= x <= high:
                return state, x
    near = max(low, 0.0)
    if low <= 0.0 or high * high - low * low < 4.0:
        while True:
            state, u = uniform(state)
            state, v = uniform(state)
            x = low + u * (high - low)
            if np.log(v) <= 0.5 * (near * near - x * x):
                return state, x
    rate = 0.5 * (low + np.sqrt(low * low + 4.0))
    while True:
        state, u = uniform(state)
        state, v = uniform(state)
        x = low - np.log(u) / rate
        if x <= high and np.log(v) <= -0.5 * (x - rate) * (x - rate):
            return state, x


@kernel
def truncated_normal(state, low, high):
    """Return the new state and a standard normal number between `low` and `high`, by rejection.

    The proposal is a normal where much of it lies inside, a uniform on a short interval, and an exponential in a tail
    (Robert 1995).
    """
    if high < 0.0:
        state, x = _positive_or_wide(state, -high, -low)
        return state, -x
    return _positive_or_wide(state, low, high)


@kernel
def draw_bits(gram, moment, start, seeds, rounds, out):
    """Draw rows of bits: every bit in turn given the others, `rounds` times, from `start`."""
    n, size = moment.shape
    for row in range(n):
        S, v, x = gram[row], moment[row], out[row]
        state = seeds[row]
        # slope[d] = S_dd - 2 v_d + 2 sum_{e != d} S_de x_e: what bit d costs when it is set.
        slope = np.empty(size)
        for d in range(size):
            x[d] = start[row, d]
        for d in range(size):
            total = 0.0
            for e in range(size):
                total += S[d, e] * x[e]
            slope[d] = S[d, d] - 2.0 * v[d] + 2.0 * (total - S[d, d] * x[d])
        for _ in range(rounds):
            for d in range(size):
                state, u = uniform(state)
                odds = 0.5 * slope[d]
                bit = 1.0 if np.log(u) - np.log1p(-u) < -odds else 0.0
                if bit != x[d]:
                    change = 2.0 * (bit - x[d])
                    x[d] = bit
                    for e in range(size):
                        if e != d:
                            slope[e] += change * S[d, e]


@kernel
def draw_simplex(gram, moment, start, seeds, rounds, alpha, out):
    """Draw rows on the simplex with a Dirichlet(alpha) prior, moving mass between pairs of coordinates.

    A move is a truncated normal, the likelihood's conditional, accepted or not by the ratio of the prior.
    """
    n, size = moment.shape
    for row in range(n):
        Q, w, x = gram[row], moment[row], out[row]
        state = seeds[row]
        slope = np.empty(size)
        for d in range(size):
            x[d] = start[row, d]
        for d in range(size):
            total = -w[d]
            for e in range(size):
                total += Q[d, e] * x[e]
            slope[d] = total
        if size == 1:
            continue
        for _ in range(rounds):
            for i in range(size):
                state, u = uniform(state)
                j = min(int(u * (size - 1)), size - 2)
                if j >= i:
                    j += 1
                room = x[i] + x[j]
                if room <= 0.0:
                    continue
                curve = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
                if curve > 1e-12 * (Q[i, i] + Q[j, j]) and curve > 0.0:
                    deviation = 1.0 / np.sqrt(curve)
                    mean = -(slope[i] - slope[j]) / curve
                    low, high = (-x[i] - mean) / deviation, (x[j] - mean) / deviation
                    if high - low < 1e-9:
                        state, u = uniform(state)
                        step = -x[i] + u * room
                    else:
                        state, z = truncated_normal(state, low, high)
                        step = mean + deviation * z
                else:
                    state, u = uniform(state)
                    step = -x[i] + u * room
                new = min(max(x[i] + step, 0.0), room)
                rest = room - new
                if alpha[i] != 1.0 or alpha[j] != 1.0:
                    ratio = (alpha[i] - 1.0) * (np.log(new + 1e-300) - np.log(x[i] + 1e-300))
                    ratio += (alpha[j] - 1.0) * (np.log(rest + 1e-300) - np.log(x[j] + 1e-300))
                    state, u = uniform(state)
                    if np.log(u) > ratio:
                        continue
                step = new - x[i]
                x[i] = new
                x[j] = rest
                for e in range(size):
                    slope[e] += step * (Q[i, e] - Q[j, e])
