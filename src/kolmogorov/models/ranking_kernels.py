"""The best items of every user, and how they compare with what he was held out with."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def _comes_before(score, count, item, other_score, other_count, other_item):
    """Whether an item stands before another: by score, then by observations, then by its number."""
    if score != other_score:
        return score > other_score
    if count != other_count:
        return count > other_count
    return item < other_item


@kernel
def best_items(scores, users, indptr, indices, counts, least, out):
    """Write the items with the largest scores of every row to `out`, best first, but for those observed; -1 for none.

    Scores that differ by less than a millionth of a millionth are a tie, which goes to the item with more observations
    and then to the smaller number.

    Row r of `scores`, float64[n, n_items], is of users[r], whose observations, in `indptr` and `indices`, are left out;
    the number past the last user stands for somebody without any. Items with fewer than `least` observations in all,
    which are in `counts`, are left out too. `out` is int64[n, k].
    """
    n_items, k = scores.shape[1], out.shape[1]
    best = np.empty(k)
    hidden = counts < least
    for row in range(scores.shape[0]):
        begin = end = 0
        if users[row] < indptr.size - 1:
            begin, end = indptr[users[row]], indptr[users[row] + 1]
        for place in range(begin, end):
            hidden[indices[place]] = True
        held = 0
        for item in range(n_items):
            if hidden[item]:
                continue
            score = np.floor(scores[row, item] * 1e12 + 0.5)
            if held == k and score < best[k - 1]:
                continue
            at = held
            while at > 0:
                other = out[row, at - 1]
                if not _comes_before(score, counts[item], item, best[at - 1], counts[other], other):
                    break
                at -= 1
            if at >= k:
                continue
            held = min(held + 1, k)
            for j in range(held - 1, at, -1):
                best[j] = best[j - 1]
                out[row, j] = out[row, j - 1]
            best[at] = score
            out[row, at] = item
        for j in range(held, k):
            out[row, j] = -1
        for place in range(begin, end):
            hidden[indices[place]] = counts[indices[place]] < least


@kernel
def list_scores(lists, indptr, indices, first, extra, out):
    """Write recall, precision, nDCG, average precision, reciprocal rank and hit of every list to `out`.

    `lists`, int64[n, k], holds items, best first, and -1 where there were too few. The relevant items of every row,
    increasing, are in `indptr` and `indices`; list 0 belongs to the row `first`. `extra` counts relevant items of a row
    that could not be listed; they are missed. `out` is float64[n, 6], 0 where a row has nothing relevant.
    """
    n, k = lists.shape
    for row in range(n):
        begin, end = indptr[first + row], indptr[first + row + 1]
        relevant = end - begin + extra[first + row]
        hits = 0
        gain = ideal = precision = reciprocal = 0.0
        for j in range(k):
            worth = 1.0 / np.log2(j + 2.0)
            if j < relevant:
                ideal += worth
            item = lists[row, j]
            if item < 0:
                continue
            low, high = begin, end
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < item:
                    low = middle + 1
                else:
                    high = middle
            if low < end and indices[low] == item:
                hits += 1
                gain += worth
                precision += hits / (j + 1.0)
                if hits == 1:
                    reciprocal = 1.0 / (j + 1.0)
        for j in range(6):
            out[row, j] = 0.0
        if relevant:
            out[row, 0] = hits / relevant
            out[row, 1] = hits / k
            out[row, 2] = gain / ideal
            out[row, 3] = precision / min(k, relevant)
            out[row, 4] = reciprocal
            out[row, 5] = 1.0 if hits else 0.0
