"""Local search over levels^D by moving one coordinate, or two together, to other levels.

The slope of coordinate d is (gram x - moment)_d: moving it by t changes the value by t (2 slope_d + t s_dd).
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.copying import copy_to
from kolmogorov.kernels.randomness import next_random
from kolmogorov.kernels.rows.quadratic import value
from kolmogorov.kernels.rows.simplex import gradient
from kolmogorov.kernels.stopping import stopped

# Rounds of the continuous descent whose end is rounded to a start; more do not find better starts. By judgement.
_RELAXED_ROUNDS = 10


@kernel
def move(s, levels, place, x, slope, d, p):
    """Put coordinate d on level p and bring the slopes up to date."""
    t = levels[p] - x[d]
    place[d] = p
    x[d] = levels[p]
    for e in range(x.size):
        slope[e] += t * s[d, e]


@kernel
def best_level(curvature, slope, levels, here, p):
    """Return the level, and what going there changes, where the slope at `here` and the curvature are given.

    A convex function falls to one side only, so that walking from level p finds its end; otherwise one of the two
    outermost levels is the best.
    """
    last = levels.size - 1
    if curvature <= 0.0:
        low, high = levels[0] - here, levels[last] - here
        down = low * (2.0 * slope + low * curvature)
        up = high * (2.0 * slope + high * curvature)
        return (0, down) if down < up else (last, up)
    t = levels[p] - here
    change = t * (2.0 * slope + t * curvature)
    for direction in (1, -1):
        moved = False
        while 0 <= p + direction <= last:
            t = levels[p + direction] - here
            there = t * (2.0 * slope + t * curvature)
            if there >= change:
                break
            p += direction
            change = there
            moved = True
        if moved:
            break
    return p, change


@kernel
def descend_singly(s, levels, noise, place, x, slope, stop):
    """Put one coordinate after another on its best level until none moves."""
    moved = True
    while moved and not stopped(stop):
        moved = False
        for d in range(x.size):
            p, change = best_level(s[d, d], slope[d], levels, x[d], place[d])
            if change < -noise[d]:
                move(s, levels, place, x, slope, d, p)
                moved = True


@kernel
def best_pair(s, levels, noise, place, x, slope, d, e):
    """Return the levels of coordinates d and e, and the change, that are best when both move."""
    best = -noise[d] - noise[e]
    at_d, at_e = -1, -1
    q = place[e]
    for p in range(levels.size):
        t = levels[p] - x[d]
        if t == 0.0:
            continue
        alone = t * (2.0 * slope[d] + t * s[d, d])
        # The best level of e moves one way as p does, so each walk is short.
        q, more = best_level(s[e, e], slope[e] + t * s[d, e], levels, x[e], q)
        if alone + more < best:
            best = alone + more
            at_d, at_e = p, q
    return at_d, at_e


@kernel
def descend(s, levels, noise, place, x, slope, stop):
    """Move single coordinates, and where none helps a pair, until neither helps or `stop` is set."""
    size = x.size
    again = True
    while again and not stopped(stop):
        descend_singly(s, levels, noise, place, x, slope, stop)
        again = False
        for d in range(size):
            for e in range(d):
                at_d, at_e = best_pair(s, levels, noise, place, x, slope, d, e)
                if at_d >= 0:
                    move(s, levels, place, x, slope, d, at_d)
                    move(s, levels, place, x, slope, e, at_e)
                    again = True
            if again:
                break


@kernel
def rounding_noise(s, v, levels, noise):
    """Write to `noise` what rounding can do to the change of a move; a smaller gain is none."""
    reach = max(abs(levels[0]), abs(levels[-1]))
    span = levels[-1] - levels[0]
    for d in range(v.size):
        total = abs(v[d])
        for e in range(v.size):
            total += reach * abs(s[d, e])
        noise[d] = 4e-15 * span * total


@kernel
def nearest_level(levels, target):
    """Return the number of the level nearest to a value."""
    p = 0
    while p + 1 < levels.size and abs(levels[p + 1] - target) < abs(levels[p] - target):
        p += 1
    return p


@kernel
def relaxed_start(s, v, levels, place, x, slope):
    """Descend over all values between the outermost levels, and round."""
    low, high = levels[0], levels[-1]
    for d in range(x.size):
        x[d] = 0.5 * (low + high)
    gradient(s, v, x, slope)
    for _ in range(_RELAXED_ROUNDS):
        for d in range(x.size):
            if s[d, d] > 0.0:
                t = min(max(x[d] - slope[d] / s[d, d], low), high) - x[d]
            else:
                t = (low if slope[d] > 0.0 else high) - x[d]
            x[d] += t
            for e in range(x.size):
                slope[e] += t * s[d, e]
    for d in range(x.size):
        place[d] = nearest_level(levels, x[d])


@kernel
def multi_start(gram, moment, levels, start, seeds, n_starts, stop, out):
    """Descend from `start`, from the rounded continuous solution, and from random points; keep each row's best.

    `gram` is float64[n, D, D]; `moment`, `start` and `out` are float64[n, D], with levels in `start`; `seeds`,
    uint64[n], begin each row's random stream. There are `n_starts` descents per row, the two fixed ones included. Once
    `stop` is set, what has been reached is written down and no further descent begins.
    """
    rows, size = out.shape
    x, slope, noise = np.empty(size), np.empty(size), np.empty(size)
    place = np.empty(size, dtype=np.int64)
    for row in range(rows):
        s = gram[row]
        v = moment[row]
        state = seeds[row]
        rounding_noise(s, v, levels, noise)
        best = np.inf
        for attempt in range(n_starts):
            if attempt == 1:
                relaxed_start(s, v, levels, place, x, slope)
            for d in range(size):
                if attempt == 0:
                    place[d] = nearest_level(levels, start[row, d])
                elif attempt > 1:
                    state, bits = next_random(state)
                    place[d] = np.int64((bits >> np.uint64(33)) % np.uint64(levels.size))
                x[d] = levels[place[d]]
            gradient(s, v, x, slope)
            descend(s, levels, noise, place, x, slope, stop)
            reached = value(s, v, x)
            if reached < best:
                best = reached
                copy_to(out[row], x)
            if stopped(stop):
                break
