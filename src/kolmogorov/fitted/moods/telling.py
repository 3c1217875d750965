"""What draws with moods say of answers at known times: given a draw, moods are normal and can be told exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from kolmogorov._support.nearest import middles
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.table.observations import Observations
from kolmogorov.execution.threads import Threads
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.kernels.draws.averages import draw_products, mixture_quantile, mixture_shares
from kolmogorov.kernels.draws.moods import moods_at
from kolmogorov.kernels.draws.tilting import tilt

#: Pairs times draws held at once, by judgement: 32 MB an array.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Asked:
    """Aligned rows of users and items, and when each is asked of."""

    users: Rows
    items: Rows
    times: Floats


@dataclass(frozen=True, eq=False)
class TimedAnswers:
    """What every draw says of some answers, float64[n_pairs, n_draws]: with a normal noise around it."""

    #: Theta . psi and the mood, not cut.
    centre: Floats
    #: The standard deviation of the noise and of what is left open of the mood.
    spread: Floats
    #: The mean over draws: of an unknown user or item it is that of the average one.
    expected: Floats

    @property
    def mean(self) -> Floats:
        """The prediction, in [0, 1]."""
        return np.clip(self.expected, 0.0, 1.0)

    @property
    def deviation(self) -> Floats:
        """How far draws differ."""
        found: Floats = self.centre.std(axis=1)
        return found

    def interval(self, level: float, *, noisy: bool) -> tuple[Floats, Floats]:
        """Return the central interval of the answer or, without noise, of what draws say of it, in [0, 1]."""
        tails = 0.5 * (1.0 - level), 0.5 * (1.0 + level)
        if not noisy:
            low, high = np.quantile(np.clip(self.centre, 0.0, 1.0), tails, axis=1)
            return low, high
        ends = np.empty((2, len(self.centre)))
        for tail, out in zip(tails, ends, strict=True):
            mixture_quantile(self.centre, self.spread, tail, float(ndtri(tail)), out)
        low, high = np.clip(ends, 0.0, 1.0)
        return low, high

    def distribution(self, points: Floats) -> Floats:
        """Return the probability of each of the ratings; the mean is what is predicted."""
        out = np.zeros((len(self.centre), points.size))
        mixture_shares(self.centre, self.spread, middles(points), out)
        tilt(points, self.mean, out)
        return out


def timed_answers(posterior: Posterior, asked: Asked) -> Iterator[tuple[slice, TimedAnswers]]:
    """Yield what draws with moods say of answers at some times, block by block."""
    size = max(1, _BLOCK // posterior.n_draws)
    for first in range(0, asked.users.size, size):
        part = slice(first, first + size)
        yield part, _told(posterior, Asked(asked.users[part], asked.items[part], asked.times[part]))


def _told(posterior: Posterior, asked: Asked) -> TimedAnswers:
    users, items = posterior.known_rows(asked.users, asked.items)
    theta, psi, average = posterior.anyone
    shape = (users.size, posterior.n_draws)
    centre, mood, open_ = np.empty(shape), np.empty(shape), np.empty(shape)
    draw_products(theta, psi, users, items, False, centre)
    expected = centre.mean(axis=1)
    strange = ~(np.append(posterior.user_seen, False)[users] & np.append(posterior.item_seen, False)[items])
    if strange.any():
        usual = np.empty((int(strange.sum()), posterior.n_draws))
        factors = posterior.factors
        draw_products(factors.theta, factors.psi, users[strange], items[strange], False, usual)
        expected[strange] = usual.mean(axis=1)
    _fill_moods(posterior, users, asked.times, mood, open_)
    variance = posterior.mood_variance
    noise = average[:, users].T ** 2 - variance
    return TimedAnswers(centre + mood, np.sqrt(noise + open_), expected + mood.mean(axis=1))


def _fill_moods(posterior: Posterior, users: Rows, times: Floats, mean: Floats, spread: Floats) -> None:
    """Write mean and variance of the moods of users at some times; of one without ratings nothing is known."""
    mean[:], spread[:] = 0.0, posterior.mood_variance
    met = np.append(posterior.user_seen, False)[users]
    order = np.flatnonzero(met)[np.lexsort((times[met], users[met]))]
    rows, begins = np.unique(users[order], return_index=True)
    places = np.append(begins, order.size)
    variance, half_life = posterior.mood_variance, posterior.priors["half_life"]
    drawn = (posterior.theta, posterior.psi, posterior.noise, variance, half_life)
    given, asked = (_by_time(posterior), drawn, rows, places), times[order]
    found, sure = np.empty((order.size, posterior.n_draws)), np.empty((order.size, posterior.n_draws))
    with Threads(-1 if order.size > 1 else None) as dealer:
        dealer.deal(lambda first, last: moods_at(*given, asked, first, last, found, sure), rows.size, 1)
    mean[order], spread[order] = found, sure


def _by_time(posterior: Posterior) -> tuple[Any, ...]:
    """Return the training data of each user in the order of their times; made once."""
    if "by_time" not in posterior.kept:
        table = posterior.training
        order = np.lexsort((training_times(table), table.user_rows()))
        rows = table.rows
        weights = rows.weights[order] if rows.weights.size else rows.weights
        kept = (rows.indptr, rows.indices[order], rows.values[order], training_times(table)[order], weights)
        posterior.kept["by_time"] = kept
    return tuple(posterior.kept["by_time"])


def training_times(table: Observations) -> Floats:
    """Return the times of observations that have them."""
    if table.times is None:
        raise ValueError("these observations have no times")
    return table.times
