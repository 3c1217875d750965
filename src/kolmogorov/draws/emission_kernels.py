"""Draws of models whose answers are one of a few: an event is drawn, and in it each answer has a chance.

`emission[l, r]` is the chance of answer r in an event in which the item is at level l.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.draws.gaussian_kernels import draw_level
from kolmogorov.draws.gibbs import FEW, add_multinomial, gamma, uniform

#: Chances that are multiplied before a logarithm is taken: so many of the least do not vanish.
PRODUCT_LENGTH = 16
#: What is left of a chance when a difference of sums rounds to below 0.
LEAST = 1e-12


@kernel
def draw_emissions(
    indptr, indices, answers, weights, theta, codes, emission, position, centre, pull, seeds, first, last, out
):
    """Draw each item's level in each event given the others, the events behind the answers summed out.

    A psi has a normal prior at the levels' `position`, with the mean `centre` and the precision matrix `pull`.
    """
    size, n_levels = theta.shape[1], len(emission)
    weight, product = np.empty(n_levels), np.empty(n_levels)
    for row in range(first, last):
        state = seeds[row - first]
        begin, n = indptr[row], indptr[row + 1] - indptr[row]
        chance = np.zeros(n)
        for d in range(size):
            out[row, d] = codes[row, d]
        for k in range(n):
            for d in range(size):
                chance[k] += theta[indices[begin + k], d] * emission[out[row, d], answers[begin + k]]
        for d in range(size):
            slope, now = 0.0, out[row, d]
            for e in range(size):
                slope -= pull[d, e] * (position[out[row, e]] - centre[row, e])
            for m in range(n_levels):
                step = position[m] - position[now]
                weight[m] = step * (slope - 0.5 * pull[d, d] * step)
            for m in range(n_levels):
                product[m] = 1.0
            for k in range(n):
                share, answer = theta[indices[begin + k], d], answers[begin + k]
                without = chance[k] - share * emission[now, answer]
                if weights.size:
                    for m in range(n_levels):
                        weight[m] += weights[begin + k] * np.log(max(without + share * emission[m, answer], LEAST))
                    continue
                for m in range(n_levels):
                    product[m] *= max(without + share * emission[m, answer], LEAST)
                if k % PRODUCT_LENGTH == PRODUCT_LENGTH - 1 or k == n - 1:
                    for m in range(n_levels):
                        weight[m] += np.log(product[m])
                        product[m] = 1.0
            state, place = draw_level(state, weight)
            if place != now:
                for k in range(n):
                    answer = answers[begin + k]
                    chance[k] += theta[indices[begin + k], d] * (emission[place, answer] - emission[now, answer])
                out[row, d] = place


@kernel
def draw_emitted(indptr, indices, answers, weights, codes, emission, theta, alpha, seeds, first, last, out):
    """Draw each user's theta: an event for each answer, then a Dirichlet given their counts.

    A weight is how often the answer was given, each time from an event of its own.
    """
    size = theta.shape[1]
    weight, count = np.empty(size), np.empty(size)
    for row in range(first, last):
        state = seeds[row - first]
        for d in range(size):
            count[d] = alpha[d]
        for k in range(indptr[row], indptr[row + 1]):
            total = 0.0
            for d in range(size):
                total += theta[row, d] * emission[codes[indices[k], d], answers[k]]
                weight[d] = total
            times = int(weights[k]) if weights.size else 1
            if times > FEW:
                state = add_multinomial(state, times, weight, count)
                continue
            for _ in range(times):
                state, u = uniform(state)
                d = 0
                while d < size - 1 and weight[d] < u * total:
                    d += 1
                count[d] += 1.0
        total = 0.0
        for d in range(size):
            state, weight[d] = gamma(state, count[d])
            total += weight[d]
        for d in range(size):
            # All can be too small for a float where alpha is tiny and nothing was observed.
            out[row, d] = weight[d] / total if total > 0.0 else 1.0 / size


@kernel
def settle_emitted(indptr, indices, answers, weights, codes, emission, theta, alpha, seeds, kept, first, last, out):
    """Draw thetas again and again, once for each of `seeds`, and return the means of the last `kept` draws.

    The same seeds serve every row; `theta`, the start, is overwritten.
    """
    n = seeds.size
    for row in range(first, last):
        for d in range(theta.shape[1]):
            out[row, d] = 0.0
        for k in range(n):
            # A row of theta is read before it is written.
            draw_emitted(
                indptr, indices, answers, weights, codes, emission, theta, alpha, seeds[k : k + 1], row, row + 1, theta
            )
            if k >= n - kept:
                for d in range(theta.shape[1]):
                    out[row, d] += theta[row, d] / kept
