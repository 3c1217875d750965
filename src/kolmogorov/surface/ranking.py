"""The best items of somebody: which may be recommended, in which order, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.entries.view import View
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import Trained
from kolmogorov.kernels.ranking import best_items

#: An item that fewer people were observed with is not recommended, unless that leaves too little to choose from.
ENOUGH = 5
#: Items to choose from, at least, for each that is asked for, and in all.
_CHOICE, _LEAST_CHOICE = 4, 40
#: Share of the draws that a lower bound leaves below it.
LOWER = 0.1
#: Scores held at once, and those that one thread goes through before others could have begun.
_SCORES, _MANY = 1 << 22, 1 << 17


def usual_count(counts: NDArray[np.int64], n: int) -> int:
    """Return the least number of observations of an item that is recommended by default.

    What few people were observed with fits their answers too well and tends to the top.

    Examples
    --------
    >>> usual_count(np.array([90, 80, 3] * 40), n=10), usual_count(np.array([2, 1, 1]), n=10)
    (5, 1)
    """
    most = np.sort(counts[counts > 0])[::-1]
    wanted = min(most.size, max(_CHOICE * n, _LEAST_CHOICE))
    return int(min(ENOUGH, most[wanted - 1])) if wanted else 1


@dataclass(frozen=True, eq=False)
class Askers:
    """People who want lists.

    Attributes
    ----------
    ids : list
    rows : int64[n]
        Their rows in `seen`; the row past the last for somebody who was observed with nothing.
    seen : View
        What they were observed with, which is not recommended again.
    scored : callable
        For a part of them the probabilities of all items, and what to rank by where that is something else.
    elsewhere : callable, optional
        Given rows of those whose observations are left out, the length of lists and the least count, the lists of all
        at once, their probabilities and what they are ranked by, or None where it cannot.
    """

    ids: list[Any]
    rows: Rows
    seen: View
    scored: Callable[[slice], tuple[Floats, Floats | None]]
    elsewhere: Callable[[Rows, int, int], tuple[Rows, Floats, Floats | None] | None] | None = None

    def lists(self, counts: NDArray[np.int64], n: int, min_count: int, *, exclude_seen: bool) -> Iterator[Listed]:
        """Yield everybody's n best items, some people at a time, so that their scores fit into memory."""
        some = max(1, _SCORES // max(counts.size, 1))
        rows = self.rows if exclude_seen else np.full_like(self.rows, self.seen.indptr.size - 1)
        found = None if self.elsewhere is None else self.elsewhere(rows, n, min_count)
        if found is not None:
            items, probability, lower = found
            owner, place = np.nonzero(items >= 0)
            low = None if lower is None else lower[owner, place]
            yield Listed(owner, items[owner, place], probability[owner, place], low)
            return
        for first in range(0, len(self.ids), some):
            part = slice(first, first + some)
            shown, other = self.scored(part)
            chosen = best(shown if other is None else other, rows[part], self.seen, counts, n, min_count)
            owner, place = np.nonzero(chosen >= 0)
            items = chosen[owner, place]
            yield Listed(first + owner, items, shown[owner, items], None if other is None else other[owner, items])


@dataclass(frozen=True, eq=False)
class Listed:
    """Rows of lists: whose, which item, its probability, and what it was ranked by where that is something else."""

    askers: Rows
    items: Rows
    probability: Floats
    lower: Floats | None


def best(scores: Floats, users: Rows, seen: View, counts: NDArray[np.int64], n: int, min_count: int) -> Rows:
    """Return each row's n items with the largest scores and enough observations, but for those seen; -1 for none.

    Ties go to the item with more observations, then to the smaller row number.
    """
    if len(scores) == 1:
        # The first kernel of a process takes longer to load than one list to sort.
        hidden = counts < min_count
        if users[0] < seen.indptr.size - 1:
            hidden[seen.indices[seen.indptr[users[0]] : seen.indptr[users[0] + 1]]] = True
        order = np.lexsort((-counts, -np.floor(scores[0] * 1e12 + 0.5)))
        return order[~hidden[order]][None, :n]
    out = np.empty((len(scores), min(n, counts.size)), dtype=np.int64)

    def share(first: int, last: int) -> None:
        rows = users[first:last]
        best_items(scores[first:last], rows, seen.indptr, seen.indices, counts, min_count, out[first:last])

    with Threads(-1 if scores.size > _MANY else None) as dealer:
        dealer.deal(share, len(scores), 1)
    return out


def as_columns(fitted: Trained, rows: Rows, probability: Floats) -> dict[str, NDArray[Any]]:
    """Put chosen items into columns for people: id, title where there is one, probability, rating, observations."""
    columns = {"item": fitted.items.ids[rows]}
    if fitted.items.labels is not None:
        columns["title"] = fitted.items.labels[rows]
    rating = fitted.scale.rating(probability)
    return columns | {"probability": probability, "rating": rating, "count": fitted.item_counts[rows]}
