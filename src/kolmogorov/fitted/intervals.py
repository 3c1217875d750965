"""Between which numbers a probability, or a new answer, lies: intervals of draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.execution.threads import deal_pairs
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.kernels.draws.averages import mixture_quantile

#: Pairs times draws held at once, by judgement: 32 MB.
_BLOCK = 1 << 22
# A sum of probabilities may miss the tail by rounding, and answers come through divisions.
_ROUNDING, _NEAR = 1e-12, 1e-9


def probability_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
    """Return the central interval of the probability, for aligned rows."""
    low, high = np.empty(users.size), np.empty(users.size)
    for part in _parts(posterior, users.size):
        low[part], high[part] = np.quantile(posterior.draws(users[part], items[part]), _tails(level), axis=1)
    return low, high


def answer_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
    """Return the central interval of a new answer, noise included, on the probability scale, for aligned rows."""
    if posterior.likelihood == "gaussian":
        return _noisy_interval(posterior, users, items, level)
    tails = _tails(level)
    if posterior.likelihood == "bernoulli":
        chance = posterior.at_rows(users, items)
        return (chance > 1.0 - tails[0]).astype(np.float64), (chance >= tails[0]).astype(np.float64)
    points = posterior.points
    upto = np.cumsum(posterior.distribution_at_rows(users, items), axis=1)
    ends = ((upto < tail).sum(axis=1) for tail in (tails[0], tails[1] - _ROUNDING))
    low, high = (points[np.minimum(end, points.size - 1)] for end in ends)
    return low, high


def rating_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Any, Any]:
    """Return the central interval of a new rating, in rating units, for aligned rows."""
    low, high = answer_interval(posterior, users, items, level)
    return posterior.scale.rating(low), posterior.scale.rating(high)


def coverage(posterior: Posterior, users: Rows, items: Rows, answers: Floats, weights: Floats | None) -> float:
    """Return the share of answers that their 90% intervals hold."""
    low, high = answer_interval(posterior, users, items, 0.9)
    inside = (answers >= low - _NEAR) & (answers <= high + _NEAR)
    return float(np.average(inside, weights=weights))


def _noisy_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
    """Return quantiles of mixtures of normals: around what every draw says, with its noise."""
    ends = np.empty((2, users.size))
    rows, _ = posterior.known_rows(users, items)
    for part in _parts(posterior, users.size):
        centre = posterior.draws(users[part], items[part])
        spread = np.ascontiguousarray(posterior.noise_deviation[:, rows[part]].T)
        found = ends[:, part]

        def work(some: slice, centre: Floats = centre, spread: Floats = spread, found: Floats = found) -> None:
            for tail, out in zip(_tails(level), found, strict=True):
                mixture_quantile(centre[some], spread[some], tail, float(ndtri(tail)), out[some])

        deal_pairs(work, len(centre), posterior.n_draws)
    low, high = np.clip(ends, 0.0, 1.0)
    return low, high


def _parts(posterior: Posterior, n_pairs: int) -> list[slice]:
    size = max(1, _BLOCK // posterior.n_draws)
    return [slice(first, first + size) for first in range(0, n_pairs, size)]


def _tails(level: float) -> tuple[float, float]:
    return 0.5 * (1.0 - level), 0.5 * (1.0 + level)
