"""Whether a model finds what its users were held out with, among all items they were not observed with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kolmogorov import metrics
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.table.liking import reaching
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import item_counts
from kolmogorov.kernels.ranking import best_items
from kolmogorov.surface.ids import Strangers, Unknown

#: Scores that a share of users holds at once count so much less than scratch of the kernels; by judgement.
_LIGHT = 16


def ranking_scores(
    training: Observations,
    of_users: Callable[[Rows], Floats],
    test: Observations,
    k: int,
    likes: float,
    unknown: Unknown = "ignore",
    n_jobs: int | None = None,
    *,
    elsewhere: Callable[[Rows], Rows | None] | None = None,
) -> dict[str, float]:
    """Rank all items for every user of `test`, leave out those of the training, and look where the liked ones are.

    Items are ranked by what `of_users` returns for some rows of the training: a score for each of its items.
    `elsewhere` may make the lists of all of them at once, or return None.
    """
    liked = test.subset(reaching(test.values, likes))
    strangers = Strangers(unknown)
    present = liked.rows.counts > 0
    users = strangers.rows_by_id(training.users, training.rows.counts > 0, liked.users, present, "user")
    # An item without observations can still be listed.
    anything = np.ones(training.n_items, dtype=bool)
    items = strangers.rows_by_id(training.items, anything, liked.items, liked.seen_items, "item")
    strangers.tell()
    asked = np.flatnonzero(present)
    owner = np.cumsum(present)[liked.user_rows()] - 1
    found = items[liked.item_rows()]
    known = found < training.n_items
    # The model's order of items need not be the test's.
    order = np.lexsort((found[known], owner[known]))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(owner[known], minlength=asked.size)))).astype(np.int64)
    missed = np.bincount(owner[~known], minlength=asked.size).astype(np.int64)
    counts = item_counts(training)
    scores = metrics.RankingScores(indptr, found[known][order], missed, counts)
    seen, rows = training.rows, users[asked]

    def share(first: int, last: int) -> None:
        lists = np.empty((last - first, min(k, counts.size)), dtype=np.int64)
        mine = rows[first:last]
        best_items(of_users(mine), mine, seen.indptr, seen.indices, counts, 0, lists)
        scores.add(first, lists)

    made = None if elsewhere is None else elsewhere(rows)
    if made is not None:
        scores.add(0, made)
        return scores.result()
    with one_blas_thread(), Threads(n_jobs) as dealer:
        dealer.deal(share, asked.size, max(1, counts.size // _LIGHT))
    return scores.result()
