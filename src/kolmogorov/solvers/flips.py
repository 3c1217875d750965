"""Local search over {0,1}^D by flipping one bit or two."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import fill_bits, kernel
from kolmogorov.solvers.copying import copy_to
from kolmogorov.solvers.stopping_kernels import stopped


@kernel
def flip(s, x, slope, d):
    """Flip bit d of x and bring slope[e] = s_ee - 2 v_e + 2 sum_{f != e} s_ef x_f up to date."""
    sign = 1.0 - 2.0 * x[d]
    x[d] += sign
    for e in range(x.size):
        slope[e] += 2.0 * sign * s[d, e]
    slope[d] -= 2.0 * sign * s[d, d]


@kernel
def refresh(s, v, x, slope):
    """Compute slope[e] = s_ee - 2 v_e + 2 sum_{f != e} s_ef x_f; return the value of x."""
    value = 0.0
    for d in range(x.size):
        line = 0.0
        for e in range(x.size):
            line += s[d, e] * x[e]
        slope[d] = s[d, d] - 2.0 * v[d] + 2.0 * (line - s[d, d] * x[d])
        value += x[d] * (line - 2.0 * v[d])
    return value


@kernel
def rounding_noise(s, v, noise):
    """Write to `noise` what rounding can do to each bit's slope; a smaller gain is none."""
    for d in range(v.size):
        total = abs(s[d, d]) + 2.0 * abs(v[d])
        for e in range(v.size):
            total += 2.0 * abs(s[d, e])
        noise[d] = 1e-14 * total


@kernel
def descend(s, x, slope, noise, stop):
    """Flip the best bit, or where none helps the best pair, until neither helps or `stop` is set."""
    size = x.size
    while not stopped(stop):
        best = 0.0
        one = -1
        for d in range(size):
            change = (1.0 - 2.0 * x[d]) * slope[d] + noise[d]
            if change < best:
                best = change
                one = d
        two = -1
        if one < 0:
            for d in range(size):
                sd = 1.0 - 2.0 * x[d]
                alone = sd * slope[d] + noise[d]
                for e in range(d):
                    se = 1.0 - 2.0 * x[e]
                    change = alone + se * (slope[e] + 2.0 * sd * s[d, e]) + noise[e]
                    if change < best:
                        best = change
                        one = d
                        two = e
        if one < 0:
            return
        flip(s, x, slope, one)
        if two >= 0:
            flip(s, x, slope, two)


@kernel
def multi_start(gram, moment, start, seeds, n_starts, stop, x):
    """Descend from `start`, from zero, and from random points; write the best local minimum to each row of x.

    `gram` is float64[n, D, D]; `moment`, `start` and `x` are float64[n, D]; `seeds`, uint64[n], begin each row's random
    stream. There are `n_starts` descents per row, the two fixed ones included. Once `stop` is set, what has been
    reached is written down and no further descent begins.
    """
    rows, size = x.shape
    for row in range(rows):
        s = gram[row]
        v = moment[row]
        state = seeds[row]
        best = np.inf
        trial = np.empty(size)
        slope = np.empty(size)
        noise = np.empty(size)
        rounding_noise(s, v, noise)
        for attempt in range(n_starts):
            if attempt == 0:
                copy_to(trial, start[row])
            elif attempt == 1:
                trial[:] = 0.0
            else:
                state = fill_bits(state, trial)
            refresh(s, v, trial, slope)
            descend(s, trial, slope, noise, stop)
            reached = refresh(s, v, trial, slope)
            if reached < best:
                best = reached
                copy_to(x[row], trial)
            if stopped(stop):
                break
