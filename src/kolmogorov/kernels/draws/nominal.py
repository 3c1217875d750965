"""Draws of models whose answers are categories without order: a user has one event, which gives each answer a chance.

Answers are numbers of categories, -1 where there is none; `logs[i, d, a]` is the logarithm of the chance of answer a to
item i in event d.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.draws.gibbs import gamma, uniform

#: What is left of a chance that is too small for a float.
LEAST = 1e-300


@kernel
def draw_events(answers, logs, log_shares, sharpness, seeds, first, last, out):
    """Draw the event of each user given all their answers; below 1, `sharpness` makes events more alike."""
    size = log_shares.size
    weight = np.empty(size)
    for row in range(first, last):
        top = -np.inf
        for d in range(size):
            weight[d] = log_shares[d]
            for i in range(answers.shape[1]):
                if answers[row, i] >= 0:
                    weight[d] += logs[i, d, answers[row, i]]
            weight[d] *= sharpness
            top = max(top, weight[d])
        total = 0.0
        for d in range(size):
            total += np.exp(weight[d] - top)
            weight[d] = total
        _, u = uniform(seeds[row - first])
        d = 0
        while d < size - 1 and weight[d] < u * total:
            d += 1
        out[row] = d


@kernel
def draw_chances(answers, events, prior, widths, seeds, first, last, out):
    """Draw the chances of each item's answers in every event given the users' events, and write their logarithms.

    They have a Dirichlet prior: `prior[i, a]` for the first `widths[i]` answers; the others have no chance. A row of
    `answers` is an item here.
    """
    size = out.shape[1]
    count = np.empty((size, out.shape[2]))
    for row in range(first, last):
        state, width = seeds[row - first], widths[row]
        for d in range(size):
            for a in range(width):
                count[d, a] = prior[row, a]
        for u in range(answers.shape[1]):
            if answers[row, u] >= 0:
                count[events[u], answers[row, u]] += 1.0
        for d in range(size):
            total = 0.0
            for a in range(width):
                state, drawn = gamma(state, count[d, a])
                count[d, a] = max(drawn, LEAST)
                total += count[d, a]
            for a in range(out.shape[2]):
                out[row, d, a] = np.log(count[d, a] / total) if a < width else -np.inf
