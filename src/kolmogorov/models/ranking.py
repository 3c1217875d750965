"""The best items of somebody: which may be recommended, in which order, and as a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.jit import kernel
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import Trained
from kolmogorov.gpu.lists import Lists, lists_at_once

#: An item that fewer people were observed with is not recommended, unless that leaves too little to choose from.
ENOUGH = 5
#: Items to choose from, at least, for each that is asked for, and in all. By judgement, as the two around it.
_CHOICE, _LEAST_CHOICE = 4, 40
#: Share of the draws that a lower bound leaves below it.
LOWER = 0.1
#: Scores that one thread goes through before others could have begun, and scores held at once.
_MANY, _ROOM = 1 << 17, 1 << 22
#: Scores of all items, for a part of some people; with a share, what all but this share of the draws exceed.
Said = Callable[[slice, float | None], Floats]


def least_count(counts: NDArray[np.int64], n: int, given: int | None = None) -> int:
    """Return the least number of observations of an item that is recommended: as given, or by default.

    What few people were observed with fits their answers too well and tends to the top.

    Examples
    --------
    >>> least_count(np.array([90, 80, 3] * 40), n=10), least_count(np.array([2, 1, 1]), n=10)
    (5, 1)
    """
    if given is not None:
        return int(given)
    most = np.sort(counts[counts > 0])[::-1]
    wanted = min(most.size, max(_CHOICE * n, _LEAST_CHOICE))
    return int(min(ENOUGH, most[wanted - 1])) if wanted else 1


@dataclass(frozen=True, eq=False)
class Askers:
    """People who want lists: what is known of them, and how they are answered."""

    ids: list[str]
    #: Their rows in `seen`, what they were observed with; the row past the last for somebody without anything.
    rows: Rows
    seen: View
    said: Said
    #: Their rows in the model, where it knows them.
    known: Rows | None = None

    def lists(self, fitted: Trained, execution: Any, counts: Rows, n: int, *how: Any) -> Lists:
        """Return what `best_lists` does, from a GPU where that is asked for."""
        asked = (self.rows, self.seen, counts, n, *how)
        found = None if self.known is None else lists_at_once(execution, fitted, self.known, *asked)
        return best_lists(self.said, *asked) if found is None else found

    def columns(
        self, fitted: Trained, execution: Any, n: int, min_count: int | None, lower: float | None
    ) -> dict[str, NDArray[Any]]:
        """Return everybody's n best items as columns: whose list, the item, its probability and so on.

        With `lower` lists are ordered by what all but this share of the draws exceed.
        """
        counts, placed = fitted.item_counts, fitted.item_known & ~fitted.item_seen
        least = least_count(counts, n, min_count)
        if min_count is None and placed.any():
            # Items that attributes place count as having enough to be listed.
            counts = np.where(placed, least, counts)
        chosen, probability, bound = self.lists(fitted, execution, counts, n, least, lower)
        there = chosen >= 0
        columns = {"user": np.array(self.ids, dtype=object)[np.nonzero(there)[0]]}
        columns |= as_columns(fitted, chosen[there], probability[there])
        return columns if bound is None else columns | {"lower": bound[there]}


def best_lists(
    said: Said, rows: Rows, seen: View, counts: NDArray[np.int64], n: int, least: int, lower: float | None = None
) -> Lists:
    """Return everybody's n best items, -1 for none, and what is said of them; `best` says which these are.

    So many people are answered at a time that their scores fit into memory.
    """
    k, some = min(n, counts.size), max(1, _ROOM // max(counts.size, 1))
    chosen, shown = np.full((rows.size, k), -1, dtype=np.int64), np.empty((2, rows.size, k))
    for first in range(0, rows.size, some):
        part = slice(first, first + some)
        with one_blas_thread():
            scores = [said(part, bound) for bound in dict.fromkeys((None, lower))]
        found = best(scores[-1], rows[part], seen, counts, n, least)
        chosen[part, : found.shape[1]] = found
        for score, out in zip(scores, shown, strict=False):
            out[part] = np.take_along_axis(score, np.maximum(chosen[part], 0), axis=1)
    return chosen, shown[0], None if lower is None else shown[1]


def best(scores: Floats, users: Rows, seen: View, counts: NDArray[np.int64], n: int, least: int) -> Rows:
    """Return each row's n items with the largest scores and at least so many observations, -1 for none.

    What users[r], a row of `seen`, was observed with is left out of row r; the number past the last stands for somebody
    without anything. Scores that differ by less than a millionth of a millionth are a tie, which goes to the item with
    more observations, then to the smaller row number.
    """
    order = np.argsort(-counts, kind="stable").astype(np.int32)
    order = order[counts[order] >= least]
    if len(scores) == 1:
        # The first kernel of a process takes longer to load than one list to sort.
        ends, hidden = np.append(seen.indptr, seen.indptr[-1]), np.zeros(counts.size, dtype=bool)
        hidden[seen.indices[ends[users[0]] : ends[users[0] + 1]]] = True
        order = order[~hidden[order]]
        found = order[np.argsort(-np.floor(scores[0, order] * 1e12 + 0.5), kind="stable")]
        return found[None, :n].astype(np.int64)
    out = np.full((len(scores), min(n, counts.size)), -1, dtype=np.int64)

    def share(first: int, last: int) -> None:
        best_items(scores[first:last], users[first:last], seen.indptr, seen.indices, order, out[first:last])

    with Threads(-1 if scores.size > _MANY else None) as dealer:
        dealer.deal(share, len(scores), 1)
    return out


def as_columns(fitted: Trained, rows: Rows, probability: Floats) -> dict[str, NDArray[Any]]:
    """Put chosen items into columns for people: id, title where there is one, what is predicted, observations."""
    columns = {"item": fitted.items.ids[rows]}
    if fitted.items.labels is not None:
        columns["title"] = fitted.items.labels[rows]
    return columns | predicted_columns(fitted, probability) | {"count": fitted.item_counts[rows]}


def predicted_columns(fitted: Trained, found: Floats) -> dict[str, Floats]:
    """Put what is predicted into columns for people: probability and rating, of lists a score."""
    if fitted.has_scores:
        return {"score": found}
    probability = np.clip(found, 0.0, 1.0)
    return {"probability": probability, "rating": fitted.scale.rating(probability)}


@kernel
def best_items(scores, users, indptr, indices, order, out):
    """Write the items with the largest scores of every row to `out`, int64[n, k], best first; the rest of it stays.

    Row r of `scores`, float64[n, n_items], is of users[r], whose observations, in `indptr` and `indices`, are left out.
    Only the items of `order` are listed, and of equal scores, to 1e-12, the first in it comes first.
    """
    k = out.shape[1]
    best, hidden = np.empty(k), np.zeros(scores.shape[1], dtype=np.bool_)
    for row in range(scores.shape[0]):
        begin = end = 0
        if users[row] < indptr.size - 1:
            begin, end = indptr[users[row]], indptr[users[row] + 1]
        hidden[indices[begin:end]] = True
        held, last = 0, -np.inf
        for item in order:
            score = np.floor(scores[row, item] * 1e12 + 0.5)
            if score <= last or hidden[item]:
                continue
            held = min(held + 1, k)
            at = held - 1
            while at > 0 and score > best[at - 1]:
                best[at], out[row, at] = best[at - 1], out[row, at - 1]
                at -= 1
            best[at], out[row, at] = score, item
            if held == k:
                last = best[k - 1]
        hidden[indices[begin:end]] = False
