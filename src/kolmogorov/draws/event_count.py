"""How many events a table tells apart: about as many as factors that predict best what is held out of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov.data import Observations
from kolmogorov.descent.fitted import entry_rows
from kolmogorov.draws.features import pattern_features
from kolmogorov.draws.gaussian import GaussianChain
from kolmogorov.draws.start import FactorChain, factor_sweeps

#: Numbers of factors that are tried; the first factor is the mean.
TRIED = (2, 3, 4, 6, 8, 12, 16, 24, 32)
#: Events for each factor: some are spent on the corners of the simplex. Averages over chains bear more of them where a
#: table of ratings is filled by at least the last of these shares, and fewer of yes and no, where being sure and wrong
#: costs most. Below the fewest hardly any table is told better, and beyond the most a few thousandths of the error cost
#: as much time again. Chosen on the tables of `benchmarks/planted.py` with seed 100, and on votes of the General
#: Assembly before 2000.
_PER_FACTOR, _PER_FACTOR_DENSE, _PER_FACTOR_YES, _DENSE = 1.5, 2.0, 1.2, 0.4
_FEWEST, _MOST = 4, 48
#: The share that is held out; ratings below which it is done several times, and how often. By judgement.
_HELD_OUT, _FEW, _TIMES = 0.1, 20_000, 4
#: Chains of factors, their sweeps, and how many of the last are averaged. By judgement.
_CHAINS, _SWEEPS, _AVERAGED = 2, 30, 15
#: In a row so many sizes must not be better than the best before the search turns round or ends; more factors are
#: better only by this share of the squared error, or of the log loss of yes and no. By judgement.
_PATIENCE, _WORTH, _WORTH_YES = 2, 0.003, 0.01
#: The least probability of an answer whose log loss is taken. By judgement.
_LEAST = 0.01
#: Ratings below which nothing can be held out, and above which trying would take longer than it is worth. By judgement.
LEAST_RATINGS, MOST_RATINGS = 200, 2_000_000


def told_apart(table: Observations, guess: int, n_features: int, n_jobs: int | None) -> int:
    """Return the number of events that suits a table; `guess` is where the search begins.

    Factors without the simplex settle in a few sweeps, and want about as many dimensions as events do, in a hundredth
    of the time. The same table has the same number, whatever the seed of a fit and the number of threads.

    Examples
    --------
    >>> import kolmogorov as km
    >>> told_apart(km.datasets.load("food"), 8, 10, 1)
    12
    """
    room = min(table.n_users, table.n_items)
    if not LEAST_RATINGS <= len(table) <= MOST_RATINGS or room < TRIED[0]:
        return guess
    dense = len(table) >= _DENSE * table.n_users * table.n_items
    per_factor = _PER_FACTOR_YES if table.is_binary else _PER_FACTOR_DENSE if dense else _PER_FACTOR
    worth = _WORTH_YES if table.is_binary else _WORTH
    sizes = [size for size in TRIED if size <= room]
    with one_blas_thread(), Threads(n_jobs) as dealer:
        splits = [table.split(_HELD_OUT, random_state=k) for k in range(_TIMES if len(table) < _FEW else 1)]
        trials = [_Trial(*split, n_features, dealer) for split in splits]
        first = max(k for k, size in enumerate(sizes) if size == sizes[0] or per_factor * size <= guess)
        best = _lowest(lambda k: sum(trial.error(sizes[k]) for trial in trials), first, len(sizes), worth)
    return min(max(round(per_factor * sizes[best]), _FEWEST), _MOST, room)


def _lowest(error: Callable[[int], float], first: int, n: int, worth: float) -> int:
    """Return which of `n` errors is lowest, looking upwards from `first`, and downwards if nothing is better there.

    Upwards an error must be lower by the share `worth`.
    """
    best, least = first, error(first)
    for way, less in ((range(first + 1, n), worth), (range(first - 1, -1, -1), 0.0)):
        worse = 0
        for k in way:
            found = error(k)
            best, least, worse = (k, found, 0) if found < (1.0 - less) * least else (best, least, worse + 1)
            if worse == _PATIENCE:
                break
        if best != first:
            break
    return best


class _Trial:
    """Factors of one part of a table, judged by another."""

    def __init__(self, train: Observations, held_out: Observations, n_features: int, dealer: Threads) -> None:
        self._train, self._dealer = train, dealer
        self._features = pattern_features(train, n_features)
        users, items = entry_rows(train, held_out)
        known = (users >= 0) & (items >= 0)
        self._users, self._items, self._values = users[known], items[known], held_out.values[known]

    def error(self, size: int) -> float:
        """Return the sum of squared errors, or the log loss of yes and no, of the average of the last sweeps."""
        chain = GaussianChain(
            self._train,
            self._features,
            n_events=size,
            concentration=None,
            seed=0,
            dealer=self._dealer,
            levels=np.array([0.0, 1.0]),
        )
        running = [FactorChain(chain, generator(k, size)) for k in range(_CHAINS)]
        total = np.zeros(self._values.size)
        for index in factor_sweeps(running, self._dealer, _SWEEPS):
            if index >= _SWEEPS - _AVERAGED:
                for now in (one.factors for one in running):
                    total += np.einsum("nd,nd->n", now.users[self._users], now.items[self._items])
        found = np.clip(total / (_CHAINS * _AVERAGED), 0.0, 1.0)
        if self._train.is_binary:
            right = np.where(self._values > 0.5, found, 1.0 - found)
            return float(-np.log(np.clip(right, _LEAST, 1.0 - _LEAST)).sum())
        return float(((found - self._values) ** 2).sum())
