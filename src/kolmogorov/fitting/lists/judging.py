"""How good lists are that somebody's held-out entries are looked for in: what settings are chosen by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.entries.view import View
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError
from kolmogorov.execution import Threads
from kolmogorov.kernels.ranking import best_items, list_scores

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
