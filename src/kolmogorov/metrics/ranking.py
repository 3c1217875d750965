"""How good lists of recommendations are: what was held out should be in them, and near the top."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError
from kolmogorov.kernels.ranking import list_scores

_PER_LIST = ("recall", "precision", "ndcg", "map", "mrr", "hit_rate")


class RankingScores:
    """Scores of lists, one for each user, summed up user by user.

    Parameters
    ----------
    indptr, indices : int64[n_users + 1], int[nnz]
        The relevant items of every user, increasing.
    missed : int64[n_users]
        Relevant items of a user that nobody could list.
    counts : int64[n_items]
        Observations of every item, which say how popular it is.

    Examples
    --------
    >>> nothing, counts = np.zeros(1, dtype=np.int64), np.array([9, 5, 2, 2, 1])
    >>> scores = RankingScores(np.array([0, 2]), np.array([1, 4]), nothing, counts)
    >>> scores.add(0, np.array([[4, 0]]))
    >>> scores.result()["recall"], scores.result()["mean_popularity"]
    (0.5, 5.0)
    """

    def __init__(
        self, indptr: NDArray[np.int64], indices: NDArray[Any], missed: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        self._table = (indptr, indices)
        self._missed = missed
        self._counts = counts
        self._relevant = np.diff(indptr) + missed
        self._by_user = np.zeros((missed.size, len(_PER_LIST)))
        self._listed = np.zeros(missed.size, dtype=np.int64)
        self._popularity = np.zeros(missed.size)
        self._shown = np.zeros(counts.size, dtype=bool)

    def add(self, first: int, lists: NDArray[np.int64]) -> None:
        """Take in the lists of some users in a row; threads may do so at once for different ones."""
        rows = slice(first, first + len(lists))
        by_user: Floats = np.empty((len(lists), len(_PER_LIST)))
        list_scores(lists, *self._table, first, self._missed, by_user)
        self._by_user[rows] = by_user
        asked = (lists >= 0) & (self._relevant[rows] > 0)[:, None]
        self._listed[rows] = asked.sum(axis=1)
        self._popularity[rows] = np.where(asked, self._counts[lists], 0).sum(axis=1)
        self._shown[lists[asked]] = True

    def result(self) -> dict[str, float]:
        """Return the means over the users who have something relevant, and what is true of all lists."""
        asked = self._relevant > 0
        if not asked.any():
            raise DataError("No user has a held-out item that counts as liked; there is nothing to rank.")
        means = self._by_user[asked].mean(axis=0)
        listed = max(int(self._listed.sum()), 1)
        overall = {"coverage": float(self._shown.mean()), "mean_popularity": float(self._popularity.sum() / listed)}
        return dict(zip(_PER_LIST, means.tolist(), strict=True)) | overall
