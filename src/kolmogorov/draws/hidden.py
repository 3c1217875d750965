"""Yes and no as ratings that are hidden: a yes is a rating with normal noise above one half."""

from __future__ import annotations

from math import erfc, pi, sqrt

import numpy as np

from kolmogorov._support.jit import kernel, seed_of_place
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.gibbs import normal, truncated_normal

_DEVIATION, _ROOT_PI = sqrt(NOISE), sqrt(pi)
#: Answers that were given more often are told by the mean of their hidden ratings, drawn as a normal number: to the
#: eye the same beyond a dozen. By judgement.
_MANY = 32
#: So many deviations below 0 a tail is exponential to the sixth digit.
_FAR = -30.0


@kernel
def chance_of_yes(said):
    """Return the chance that a rating with noise around what is said lies above one half."""
    return 0.5 * erfc(_ROOT_PI * (0.5 - said))


@kernel
def draw_side(state, said, yes, times):
    """Return the mean of so many hidden ratings around what is said, all on the side of the answer."""
    # Counted from one half towards the answer, in deviations of the noise: all lie above 0.
    centre = (said - 0.5) / _DEVIATION if yes else (0.5 - said) / _DEVIATION
    total = 0.0
    if times <= _MANY:
        for _ in range(times):
            state, z = truncated_normal(state, -centre, np.inf)
            total += centre + z
        total /= times
    else:
        # Of what lies above 0; far below it the chance itself vanishes, and the tail is exponential.
        if centre < _FAR:
            rise, spread = -centre - 1.0 / centre, 1.0 / (centre * centre)
        else:
            rise = 2.0 * np.exp(-0.5 * centre * centre) / (sqrt(2.0 * pi) * erfc(-centre * sqrt(0.5)))
            spread = 1.0 - rise * (rise + centre)
        state, z = normal(state)
        total = max(centre + rise + z * sqrt(spread / times), 0.0)
    return 0.5 + (total if yes else -total) * _DEVIATION


@kernel
def draw_hidden(indptr, indices, answers, weights, own, others, seeds, first, last, out):
    """Write a hidden rating for each answer of some rows, on its side; a weight is how often the answer was given.

    `own` are the thetas or psis of the rows, `others` those of their partners. Every answer has a stream of its own.
    """
    size = own.shape[1]
    for row in range(first, last):
        begin = indptr[row]
        for k in range(begin, indptr[row + 1]):
            said = 0.0
            for d in range(size):
                said += own[row, d] * others[indices[k], d]
            times = int(weights[k]) if weights.size else 1
            out[k] = draw_side(seed_of_place(seeds[row - first], k - begin), said, answers[k] > 0.5, times)
