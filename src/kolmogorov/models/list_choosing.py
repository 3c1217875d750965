"""The settings of a `ListModel`, by lists of held-out entries: ridge, its growth, the weight of blanks, the balance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.dealing import Threads
from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.objective import usual_weight
from kolmogorov.descent.point import Fitted
from kolmogorov.errors import DataError
from kolmogorov.models.fitted_lists import ListSettings
from kolmogorov.models.list_links import ItemTable, closed_form, gram_of
from kolmogorov.models.ranking_kernels import best_items, list_scores

#: Length of the lists, users who are judged at most, items that lists are made of at most, and the share of a user's
#: entries that is held out; by judgement.
_LENGTH, _USERS, _ITEMS, _SHARE = 10, 3_000, 2_000, 0.2
#: Place of a random stream, and where nDCG stands among the scores of a list.
_STREAM, _NDCG = 11, 2


@dataclass(frozen=True, eq=False)
class Judge:
    """Entries held out of a table, and lists of the items that most people have.

    Attributes
    ----------
    train : Observations
        What is left to learn from.
    items : int64[n]
        The items that lists are made of, increasing.
    kept : View
        The training entries of these items, by users; partners are their places in `items`.
    users : int64[m]
        The users who are judged.
    """

    train: Observations
    items: Rows
    kept: View
    users: Rows
    _relevant: tuple[NDArray[np.int64], NDArray[np.int32]]

    @classmethod
    def of(cls, table: Observations, seed: int) -> Judge | None:
        """Hold out a share of every user's entries; None where nobody has enough of them."""
        try:
            train, test = table.split(_SHARE, random_state=seed, by="user")
        except DataError:
            return None
        counts = np.bincount(train.rows.indices, weights=train.values, minlength=train.n_items)
        items = np.sort(np.lexsort((np.arange(counts.size), -counts))[:_ITEMS])
        kept, wanted = _among(train.rows, items, train.n_items), _among(test.rows, items, train.n_items)
        askers = np.flatnonzero((wanted.counts > 0) & (kept.counts > 0))
        if not askers.size:
            return None
        users = np.sort(generator(seed, _STREAM).permutation(askers)[:_USERS])
        ends = np.concatenate(([0], np.cumsum(wanted.counts[users]))).astype(np.int64)
        places = np.repeat(wanted.indptr[users] - ends[:-1], wanted.counts[users]) + np.arange(ends[-1])
        return cls(train, items, kept, users, (ends, wanted.indices[places]))

    def ndcg(self, scores: Floats, dealer: Threads) -> float:
        """Return the mean nDCG of the lists that scores make, float64[m, n], for the users and items judged."""
        found = np.empty((self.users.size, 6))
        counts = np.bincount(self.kept.indices, minlength=self.items.size)
        nothing = np.zeros(self.users.size, dtype=np.int64)

        def share(first: int, last: int) -> None:
            lists = np.empty((last - first, min(_LENGTH, self.items.size)), dtype=np.int64)
            users = self.users[first:last]
            best_items(scores[first:last], users, self.kept.indptr, self.kept.indices, counts, 0, lists)
            list_scores(lists, *self._relevant, first, nothing, found[first:last])

        dealer.deal(share, self.users.size, self.items.size // 16 + 1)
        return float(found[:, _NDCG].mean())


def _among(view: View, items: Rows, n_items: int) -> View:
    """Return the yeses of some items, numbered by their places."""
    place = np.full(n_items, -1, dtype=np.int32)
    place[items] = np.arange(items.size, dtype=np.int32)
    found = view.chosen((place[view.indices] >= 0) & (view.values > 0.0))
    return View(found.indptr, place[found.indices], found.values, np.empty(0))


#: Where nothing can be held out, and where the climb begins. These and the grids below were chosen on made-up tables
#: that no benchmark reports, the growths after a look at the games of `benchmarks/only_yes.py`.
_RIDGE, _GROWTH, _BALANCE = 100.0, 0.25, 0.2
#: A step of the climb over ridges, how far it goes, and the finer step at its end.
_STEP, _LEAST, _LARGEST, _FINE = 3.0, 0.3, 1e5, 3.0**0.5
#: The first is the one of the climb; around its end all are tried.
_GROWTHS = (0.25, 0.0, 0.5)
#: Times the usual weight of blanks, and shares of events in a score.
_BLANKS = (1.0, 4.0)
_BALANCES = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)

#: Learns events from a table with a weight of blanks.
Learner = Callable[[Observations, float], Fitted]


@dataclass(frozen=True)
class Asked:
    """Settings that are given; None is for what is to be chosen."""

    ridge: float | None = None
    growth: float | None = None
    unobserved: float | None = None
    balance: float | None = None


def chosen_settings(table: Observations, asked: Asked, learn: Learner, seed: int, dealer: Threads) -> ListSettings:
    """Choose what was not given, by the nDCG of lists of held-out entries.

    First links alone settle ridge and growth, then events of each weight of blanks are put beside them. Ties go to
    what is tried first: links alone.
    """
    usual = usual_weight(len(table), table.n_users * table.n_items)
    weights = dict.fromkeys(min(1.0, times * usual) for times in _BLANKS) if asked.unobserved is None else ()
    blanks = list(weights) or [float(asked.unobserved or usual)]
    open_ = None in (asked.ridge, asked.growth, asked.balance) or len(blanks) > 1
    judge = Judge.of(table, seed) if open_ else None
    if judge is None:
        ridge, growth, balance = (
            default if given is None else given
            for given, default in ((asked.ridge, _RIDGE), (asked.growth, _GROWTH), (asked.balance, _BALANCE))
        )
        return ListSettings(ridge, growth, blanks[0], balance)
    ridge, growth, linked = _best_links(judge, asked, dealer)
    if asked.balance == 0.0:
        return ListSettings(ridge, growth, blanks[0], 0.0)
    tried: list[tuple[float, int, ListSettings]] = []
    for weight in blanks:
        events = learn(judge.train, weight)
        told = events.theta[judge.users] @ np.ascontiguousarray(events.psi[judge.items].T, dtype=np.float64)
        for balance in _BALANCES if asked.balance is None else (asked.balance,):
            found = judge.ndcg((1.0 - balance) * linked + balance * told, dealer)
            tried.append((found, -len(tried), ListSettings(ridge, growth, weight, balance)))
    return max(tried, key=lambda trial: trial[:2])[2]


def _best_links(judge: Judge, asked: Asked, dealer: Threads) -> tuple[float, float, Floats]:
    """Climb to the best ridge, and look around it with each growth; return both, and the scores of links."""
    table = ItemTable.of(judge.kept, judge.items.size)
    gram = gram_of(table, dealer)

    def scores(ridge: float, growth: float) -> Floats:
        links = closed_form(table, table.ridges(ridge, growth), dealer, gram.copy())
        out = np.empty((judge.users.size, judge.items.size))

        def share(first: int, last: int) -> None:
            out[first:last] = links.scores(judge.kept, judge.users[first:last])

        dealer.deal(share, judge.users.size, judge.items.size // 16 + 1)
        return out

    @cache
    def quality(ridge: float, growth: float) -> float:
        return judge.ndcg(scores(ridge, growth), dealer)

    growths = _GROWTHS if asked.growth is None else (asked.growth,)
    ridges: tuple[float, ...] = (asked.ridge or _RIDGE,)
    if asked.ridge is None:
        top = _climbed(lambda at: quality(at, growths[0]), _RIDGE, _STEP)
        ridges = (top, top * _FINE, top / _FINE)
    ridge, growth = max(product(ridges, growths), key=lambda at: quality(*at))
    return ridge, growth, scores(ridge, growth)


def _climbed(quality: Callable[[float], float], start: float, step: float) -> float:
    """Return where a climb by factors ends: no neighbour is better."""
    here = start
    for factor in (step, 1.0 / step):
        while _LEAST <= here * factor <= _LARGEST and quality(here * factor) > quality(here):
            here *= factor
        if here != start:
            break
    return here
