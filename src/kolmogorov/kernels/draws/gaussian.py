"""Draws of models whose answers have normal noise: psis of items on levels, thetas of users."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.draws.gibbs import move_pairs, uniform
from kolmogorov.kernels.rows.gram import normal_equations

#: A level whose log weight is so far below the best is never drawn; its exponential, below 1e-17, need not be taken.
_NEVER = -40.0


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
    square, x = np.empty(size), np.empty(size)
    weight = np.empty(levels.size)
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
        whole = n - n % 4
        for _ in range(rounds):
            for d in range(size):
                t = share[d]
                a0 = a1 = a2 = a3 = 0.0
                for k in range(0, whole, 4):
                    a0 += t[k] * rest[k]
                    a1 += t[k + 1] * rest[k + 1]
                    a2 += t[k + 2] * rest[k + 2]
                    a3 += t[k + 3] * rest[k + 3]
                for k in range(whole, n):
                    a0 += t[k] * rest[k]
                slope = (a0 + a1) + (a2 + a3)
                for e in range(size):
                    slope -= pull[d, e] * (x[e] - centre[row, e])
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
