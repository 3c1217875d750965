"""Draws of models whose answers have normal noise: psis of items on levels, thetas of users."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.draws.gibbs import move_pairs, uniform
from kolmogorov.solvers.gram import normal_equations

#: A level whose log weight is so far below the best is never drawn; its exponential, below 1e-17, need not be taken.
_NEVER = -40.0
_NOTHING = np.exp(_NEVER)


@kernel
def draw_level(state, weight):
    """Draw one of some levels given log weights, which are overwritten; return the new state and its number."""
    best = weight[0]
    for k in range(1, weight.size):
        best = max(best, weight[k])
    total = 0.0
    for k in range(weight.size):
        below = weight[k] - best
        if below > _NEVER:
            total += np.exp(below)
        weight[k] = total
    state, u = uniform(state)
    place = 0
    while place < weight.size - 1 and weight[place] < u * total:
        place += 1
    return state, place


@kernel
def equal_step(levels):
    """Return the distance of neighbours, or 0.0 if they are not equally far apart."""
    step = (levels[-1] - levels[0]) / max(levels.size - 1, 1)
    for k in range(1, levels.size):
        if abs(levels[k] - levels[k - 1] - step) > 1e-9 * step:
            return 0.0
    return step


@kernel
def draw_spaced(state, step, slope, square, drop, weight):
    """Draw one of equally spaced levels whose log weights are a parabola; return the new state and its number.

    At a distance s from the first level the log weight is s (slope - square s / 2); `drop` is exp(-square step^2).
    From the likeliest level outwards every weight is a ratio times the last, and every ratio is `drop` times the last
    one: two exponentials are taken instead of one for each level.
    """
    size = weight.size
    mode = slope / square / step if square > 0.0 else slope * np.inf
    middle = int(min(np.rint(mode), size - 1.0)) if mode > 0.0 else 0
    rise, half = step * (slope - square * step * middle), 0.5 * square * step * step
    weight[middle] = total = 1.0
    low = high = middle
    now, ratio = 1.0, np.exp(rise - half)
    while high < size - 1:
        now *= ratio
        if now < _NOTHING:
            break
        ratio *= drop
        high += 1
        weight[high] = now
        total += now
    now, ratio = 1.0, np.exp(-rise - half)
    while low > 0:
        now *= ratio
        if now < _NOTHING:
            break
        ratio *= drop
        low -= 1
        weight[low] = now
        total += now
    state, u = uniform(state)
    place, reached = low, weight[low]
    while place < high and reached < u * total:
        place += 1
        reached += weight[place]
    return state, place


@kernel
def product(left, right, n):
    """Return the inner product of the first n numbers, in four sums that do not wait for each other."""
    whole = n - n % 4
    a0 = a1 = a2 = a3 = 0.0
    for k in range(0, whole, 4):
        a0 += left[k] * right[k]
        a1 += left[k + 1] * right[k + 1]
        a2 += left[k + 2] * right[k + 2]
        a3 += left[k + 3] * right[k + 3]
    for k in range(whole, n):
        a0 += left[k] * right[k]
    return (a0 + a1) + (a2 + a3)


@kernel
def draw_psis(
    indptr, indices, values, weights, precision, theta, codes, levels, centre, pull, rounds, seeds, first, last, out
):
    """Draw each item's level in each event given the others, `rounds` times; `codes` and `out` are numbers of levels.

    A psi has a normal prior on the levels, with the mean `centre` of its own and the precision matrix `pull`.
    Residuals are kept up to date instead of normal equations, which costs D for an observation and not D^2.
    """
    size = theta.shape[1]
    widest = 0
    for row in range(first, last):
        widest = max(widest, indptr[row + 1] - indptr[row])
    # By event, so that the loops over an item's observations are over neighbours in memory.
    share = np.empty((size, widest))
    heavy, rest = np.empty(widest), np.empty(widest)
    square, x, drop = np.empty(size), np.empty(size), np.empty(size)
    weight, apart = np.empty(levels.size), equal_step(levels)
    for row in range(first, last):
        state = seeds[row - first]
        begin, n = indptr[row], indptr[row + 1] - indptr[row]
        for d in range(size):
            out[row, d] = codes[row, d]
            x[d] = levels[codes[row, d]]
            square[d] = pull[d, d]
        for k in range(n):
            user = indices[begin + k]
            f = theta[user]
            w = precision[user] * (weights[begin + k] if weights.size else 1.0)
            fitted = 0.0
            for d in range(size):
                square[d] += w * f[d] * f[d]
                fitted += x[d] * f[d]
                share[d, k] = f[d]
            heavy[k] = w
            rest[k] = w * (values[begin + k] - fitted)
        for d in range(size):
            drop[d] = np.exp(-square[d] * apart * apart)
        for _ in range(rounds):
            for d in range(size):
                t = share[d]
                slope = product(t, rest, n)
                for e in range(size):
                    slope -= pull[d, e] * (x[e] - centre[row, e])
                if apart > 0.0:
                    rise = slope + square[d] * (x[d] - levels[0])
                    state, place = draw_spaced(state, apart, rise, square[d], drop[d], weight)
                else:
                    for k in range(levels.size):
                        step = levels[k] - x[d]
                        weight[k] = step * (slope - 0.5 * square[d] * step)
                    state, place = draw_level(state, weight)
                if place != out[row, d]:
                    step = levels[place] - x[d]
                    out[row, d] = place
                    x[d] = levels[place]
                    for k in range(n):
                        rest[k] -= step * heavy[k] * t[k]


@kernel
def draw_thetas(
    indptr, indices, values, weights, precision, psi, whole, theta, pull, centre, rounds, seeds, first, last, out
):
    """Draw each user's theta: a normal distribution on the simplex, of its answers and of a prior around `centre`.

    `whole`, where it is not empty, is added to the sum over a row's partners before that is weighed by the row's
    precision. Normal equations are made row by row in one small matrix: a share of rows needs no more memory than one.
    """
    size = theta.shape[1]
    gram, moment, nothing = np.empty((1, size, size)), np.empty((1, size)), np.zeros(size)
    slope = np.empty(size)
    for row in range(first, last):
        normal_equations(indptr, indices, values, weights, psi, row, row + 1, 0.0, nothing, gram, moment)
        Q, w, x = gram[0], moment[0], out[row]
        for d in range(size):
            x[d] = theta[row, d]
            w[d] = precision[row] * w[d] + pull * centre[row, d]
            for e in range(size):
                Q[d, e] = precision[row] * (Q[d, e] + (whole[d, e] if whole.size else 0.0))
            Q[d, d] += pull
        move_pairs(Q, w, x, slope, seeds[row - first], rounds)
