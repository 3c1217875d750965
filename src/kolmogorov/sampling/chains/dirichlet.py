"""The prior of theta with yes/no data: Dirichlet(alpha), whose alpha is drawn with everything else."""

from __future__ import annotations

import math

import numpy as np

from kolmogorov._support.typing import Floats

#: alpha_d ~ Exponential(rate), by judgement: wide.
RATE = 0.1
#: Sizes of the proposals on the log scale, each used once a sweep: long ones for few users, short ones for many.
#: By judgement.
_STEPS = (2.0, 0.5, 0.12, 0.03)


def redrawn_alpha(alpha: Floats, theta: Floats, rng: np.random.Generator, *, total_fixed: bool = False) -> Floats:
    """Take Metropolis steps for alpha given the thetas of the users observed, which enter by their logarithms.

    With `total_fixed` mass moves between pairs of events and the sum stays; otherwise each alpha_d moves, and then all
    of them by one factor.
    """
    logs = np.log(np.maximum(theta, 1e-300)).sum(axis=0).tolist()
    return alpha_given(alpha, logs, len(theta), rng, total_fixed=total_fixed)


def alpha_given(
    alpha: Floats, logs: list[float], n: int, rng: np.random.Generator, *, total_fixed: bool = False
) -> Floats:
    """Take the steps of `redrawn_alpha` given the sums of the logarithms of `n` thetas."""
    current = alpha.tolist()
    for step in _STEPS:
        if total_fixed:
            _move_between_pairs(current, logs, n, step, rng)
        else:
            _move_each(current, logs, n, step, rng)
            _move_all(current, logs, n, step, rng)
    return np.array(current)


def _move_each(alpha: list[float], logs: list[float], n: int, step: float, rng: np.random.Generator) -> None:
    total = sum(alpha)
    for d, old in enumerate(alpha):
        new = old * math.exp(step * rng.standard_normal())
        change = n * (math.lgamma(total + new - old) - math.lgamma(total) - math.lgamma(new) + math.lgamma(old))
        # The last term is the Jacobian of a step on the log scale.
        change += (new - old) * (logs[d] - RATE) + math.log(new / old)
        if _accepted(change, rng):
            alpha[d] = new
            total += new - old


def _move_all(alpha: list[float], logs: list[float], n: int, step: float, rng: np.random.Generator) -> None:
    total = sum(alpha)
    factor = math.exp(step * rng.standard_normal())
    change = n * (math.lgamma(factor * total) - math.lgamma(total)) + len(alpha) * math.log(factor)
    for old, log in zip(alpha, logs, strict=True):
        change += n * (math.lgamma(old) - math.lgamma(factor * old)) + (factor - 1.0) * old * (log - RATE)
    if _accepted(change, rng):
        alpha[:] = [factor * old for old in alpha]


def _move_between_pairs(alpha: list[float], logs: list[float], n: int, step: float, rng: np.random.Generator) -> None:
    """Given their sum, exponential alphas are uniform: only the likelihood and the Jacobian of the logit count."""
    size = len(alpha)
    for d in range(size - 1):
        e = int(rng.integers(d + 1, size))
        both = alpha[d] + alpha[e]
        share = alpha[d] / both
        odds = math.log(share / (1.0 - share)) + step * rng.standard_normal()
        fresh = 1.0 / (1.0 + math.exp(-odds))
        new, rest = both * fresh, both * (1.0 - fresh)
        if min(new, rest) <= 0.0:
            continue
        change = n * (math.lgamma(alpha[d]) - math.lgamma(new) + math.lgamma(alpha[e]) - math.lgamma(rest))
        change += (new - alpha[d]) * logs[d] + (rest - alpha[e]) * logs[e]
        change += math.log(fresh * (1.0 - fresh)) - math.log(share * (1.0 - share))
        if _accepted(change, rng):
            alpha[d], alpha[e] = new, rest


def _accepted(change: float, rng: np.random.Generator) -> bool:
    return math.log(rng.random()) < change
