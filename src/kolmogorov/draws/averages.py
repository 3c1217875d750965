"""Predictions of many models at once: mean and spread over draws, and quantiles of the answer they predict."""

from __future__ import annotations

from math import erf, exp, pi, sqrt

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.draws.hidden import chance_of_yes

_HALF, _SQRT_TWO_PI = sqrt(0.5), sqrt(2.0 * pi)
#: Steps towards a quantile at most, and the size of the last, in deviations; the error is then that squared.
#: Many more than Newton's method needs.
_STEPS, _CLOSE = 60, 1e-5
#: Pairs whose smallest draws are sought at once: some kilobytes, which the nearest cache holds. By judgement.
_SIDE_BY_SIDE = 64


@kernel
def draw_products(theta, psi, users, items, hidden, out):
    """Write to out[n, k] what draw k says of pair n: their product, or the chance of a yes it means."""
    size = theta.shape[2]
    for n in range(users.size):
        for k in range(theta.shape[0]):
            total = 0.0
            for d in range(size):
                total += theta[k, users[n], d] * psi[k, items[n], d]
            out[n, k] = chance_of_yes(total) if hidden else total


@kernel
def mean_products(theta, psi, users, items, hidden, mean, deviation):
    """Write each pair's mean over draws, of what they say or of the chances of a yes, and its standard deviation."""
    size, draws = theta.shape[2], theta.shape[0]
    for n in range(users.size):
        first, second = 0.0, 0.0
        for k in range(draws):
            total = 0.0
            for d in range(size):
                total += theta[k, users[n], d] * psi[k, items[n], d]
            total = chance_of_yes(total) if hidden else total
            first += total
            second += total * total
        first /= draws
        mean[n] = min(max(first, 0.0), 1.0)
        deviation[n] = np.sqrt(max(second / draws - first * first, 0.0))


@kernel
def mixture_quantile(centre, spread, level, near, out):
    """Write the quantile of equal mixtures of normals: row n mixes centre[n, k] with spread[n, k].

    Newton's steps from where the quantile of one normal would be (`near` deviations from its mean), and halves of what
    is left where a step would leave it or is not half as long as the one before.
    """
    draws = centre.shape[1]
    for n in range(centre.shape[0]):
        low, high = centre[n, 0], centre[n, 0]
        first, second, least = 0.0, 0.0, spread[n, 0]
        for k in range(draws):
            least = min(least, spread[n, k])
            low = min(low, centre[n, k] - 9.0 * spread[n, k])
            high = max(high, centre[n, k] + 9.0 * spread[n, k])
            first += centre[n, k] / draws
            second += (centre[n, k] * centre[n, k] + spread[n, k] * spread[n, k]) / draws
        whole = sqrt(max(second - first * first, 0.0))
        x = min(max(first + near * whole, low), high)
        before = 2.0 * (high - low)
        for _ in range(_STEPS):
            below, density = 0.0, 0.0
            for k in range(draws):
                z = (x - centre[n, k]) / spread[n, k]
                below += 0.5 * (1.0 + erf(z * _HALF))
                density += exp(-0.5 * z * z) / spread[n, k]
            missing = level * draws - below
            if missing > 0.0:
                low = x
            else:
                high = x
            # The density lacks its constant, 1 / sqrt(2 pi).
            step = _SQRT_TWO_PI * missing / density if density > 0.0 else high - low
            # Between two peaks the density is nearly 0, and steps that do not shrink could go to and fro for ever.
            if not low <= x + step <= high or abs(step) > 0.5 * before:
                step = 0.5 * (low + high) - x
            before = abs(step)
            x += step
            if abs(step) <= _CLOSE * least:
                break
        out[n] = x


@kernel
def low_quantile(said, level, out):
    """Write to out[n, i] the quantile of said[:, n, i] over draws, between neighbours by a straight line.

    The smallest ones are kept in order, for several items side by side: each draw goes down the row and leaves the
    smaller of two in every place, without a branch.
    """
    draws, width = said.shape[0], said.shape[2]
    place = level * (draws - 1)
    below = int(place)
    kept = min(below + 2, draws)
    least = np.empty((kept, _SIDE_BY_SIDE))
    value = np.empty(_SIDE_BY_SIDE)
    for n in range(said.shape[1]):
        for begin in range(0, width, _SIDE_BY_SIDE):
            some = min(_SIDE_BY_SIDE, width - begin)
            least[:] = np.inf
            for k in range(draws):
                for i in range(some):
                    value[i] = said[k, n, begin + i]
                for j in range(min(k + 1, kept)):
                    for i in range(_SIDE_BY_SIDE):
                        low, high = least[j, i], value[i]
                        least[j, i] = low if low < high else high
                        value[i] = high if low < high else low
            for i in range(some):
                low, high = least[below, i], least[kept - 1, i]
                out[n, begin + i] = low + (place - below) * (high - low)
