"""Random numbers, and draws from the posterior of one row on the simplex.

Where a row comes as normal equations its log density is -(x^T gram x - 2 x^T moment) / 2, with the noise already
divided out.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel, next_random

_UNIT = 2.0**-53
#: Up to so many draws are made one by one. By judgement.
FEW = 16
#: Proposals after which a rejection sampler gives up. One in eight is accepted at the least, so that it is met only
#: where bounds are no numbers, or so far off that their squares overflow.
TRIES = 1000


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
    """Draw a truncated normal for high >= 0, by rejection; where that fails, its most likely point."""
    near = max(low, 0.0)
    if low <= 0.0 and high - low > 2.0:
        for _ in range(TRIES):
            state, x = normal(state)
            if low <= x <= high:
                return state, x
    elif low <= 0.0 or high * high - low * low < 4.0:
        for _ in range(TRIES):
            state, u = uniform(state)
            state, v = uniform(state)
            x = low + u * (high - low)
            if np.log(v) <= 0.5 * (near * near - x * x):
                return state, x
    else:
        rate = 0.5 * (low + np.sqrt(low * low + 4.0))
        for _ in range(TRIES):
            state, u = uniform(state)
            state, v = uniform(state)
            x = low - np.log(u) / rate
            if x <= high and np.log(v) <= -0.5 * (x - rate) * (x - rate):
                return state, x
    return state, near


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
def move_pairs(Q, w, x, slope, state, rounds):
    """Move mass between pairs of coordinates of one point on the simplex, in place: each move is a truncated normal."""
    size = x.size
    for d in range(size):
        total = -w[d]
        for e in range(size):
            total += Q[d, e] * x[e]
        slope[d] = total
    if size == 1:
        return
    for _ in range(rounds):
        for i in range(size):
            state, u = uniform(state)
            j = min(int(u * (size - 1)), size - 2)
            if j >= i:
                j += 1
            room = x[i] + x[j]
            curve = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
            # Standardised bounds of the new x[i]; where they are close, the density is flat.
            scale = np.sqrt(curve) if curve > 0.0 else 0.0
            mean = x[i] - (slope[i] - slope[j]) / curve if curve > 0.0 else 0.0
            if scale * room < 1e-6:
                state, u = uniform(state)
                new = u * room
            else:
                state, z = truncated_normal(state, -mean * scale, (room - mean) * scale)
                new = min(max(mean + z / scale, 0.0), room)
            step = new - x[i]
            x[i], x[j] = new, room - new
            for e in range(size):
                slope[e] += step * (Q[i, e] - Q[j, e])


@kernel
def draw_simplex(gram, moment, start, seeds, rounds, out):
    """Draw rows on the simplex given their normal equations."""
    n, size = moment.shape
    slope = np.empty(size)
    for row in range(n):
        for d in range(size):
            out[row, d] = start[row, d]
        move_pairs(gram[row], moment[row], out[row], slope, seeds[row], rounds)


@kernel
def gamma(state, shape):
    """Return the new state and a gamma number (Marsaglia and Tsang 2000); of a shape that is no number, its mean."""
    boost = 1.0
    if shape < 1.0:
        state, u = uniform(state)
        boost = u ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    for _ in range(TRIES):
        state, x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        state, u = uniform(state)
        if np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
            return state, d * v * boost
    return state, shape * boost


@kernel
def binomial(state, n, p):
    """Return the new state and a binomial number, in a number of steps that grows with the logarithm of `n`.

    Of n uniform numbers the i-th smallest is Beta(i, n + 1 - i): it tells on which side of `p` at least half of them
    lie (Devroye 1986, X.4.4).
    """
    found = 0
    while n > FEW:
        i = (n + 1) // 2
        state, a = gamma(state, float(i))
        state, b = gamma(state, float(n + 1 - i))
        middle = a / (a + b)
        if middle <= p:
            found += i
            n -= i
            p = (p - middle) / (1.0 - middle)
        else:
            n = i - 1
            p = p / middle
    for _ in range(n):
        state, u = uniform(state)
        if u < p:
            found += 1
    return state, found


@kernel
def add_multinomial(state, n, cumulated, count):
    """Deal `n` to the places of `count`, whose weights come cumulated; return the new state."""
    size = cumulated.size
    left = cumulated[size - 1]
    before = 0.0
    for d in range(size - 1):
        share = cumulated[d] - before
        before = cumulated[d]
        taken = 0
        if n > 0 and left > 0.0:
            state, taken = binomial(state, n, min(share / left, 1.0))
        count[d] += taken
        n -= taken
        left -= share
    count[size - 1] += n
    return state
