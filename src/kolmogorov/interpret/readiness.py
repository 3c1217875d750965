"""The test that knows its users: which items go together beyond how readily users say yes, and items are said yes to.

The chance of a yes is p = 1 / (1 + exp(-(a_u + b_i))), with a and b such that every user's and every item's number of
yes comes out. With r = yes - p and v = p (1 - p), two items go together by the sum of r_A r_B over the users who
answered both; its variance is the sum of v_A v_B. Given how often a user says yes in all, r_A and r_B vary together by
-s_A s_B, s = v / sqrt(V_u - v), V_u the sum of the user's v: who says yes to one has one yes less for the others.
That is added back. (Exact where a user is as ready to say yes to one item as to another.)
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaincc, ndtr

from kolmogorov._support.jit import kernel
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows

Bits = NDArray[np.bool_]
#: A pair is tested where its answers hold so much information, the variance of what is summed: below it the tails are
#: too heavy. By judgement, after a look at tables with the margins of MovieLens 100K and nothing else in them.
LEAST_SPREAD = 1.0
#: Tests weigh more in the correction for all of them the more can be seen: the square of their information, up to this.
#: By judgement, after a look at planted tables, the zoo, votes and MovieLens 100K.
_PLENTY = 5.0
#: Below this skewness the normal distribution is as good.
_STRAIGHT = 1e-3
#: An item that all say yes to, or nobody, counts as so far from it, in answers. By judgement.
_SHORT_OF_ALL = 0.25
_TINY = 1e-9
# A Newton step goes no further than this, and takes no curvature for less than that.
_FURTHEST, _FLATTEST = 1.0, 1e-3
#: The margins are met when steps, in standard errors, are no longer or shorter than those before by more than this: as
#: items that all say yes to count as short of it, the two sides do not quite agree. And the most rounds. By judgement.
_CLOSE, _ROUNDS = 3e-3, 60
#: A thread's share is so many entries at most, so that Ctrl-C is heard soon. By judgement.
_SHARE_BITS = 7


@kernel
def fit_margins(indptr, indices, wanted, against, first, last, mine, moved):
    """Take a Newton step for the rows first..last towards the sums of yes that are wanted.

    `against` is exp(-x) of the readiness x of their partners: the exponential of a sum is a product. Written is how far
    it went, in standard errors.
    """
    for row in range(first, last):
        total, slope, own = 0.0, 0.0, np.exp(-mine[row])
        for e in range(indptr[row], indptr[row + 1]):
            p = 1.0 / (1.0 + own * against[indices[e]])
            total += p
            slope += p * (1.0 - p)
        step = (wanted[row] - total) / max(slope, _FLATTEST)
        step = min(max(step, -_FURTHEST), _FURTHEST)
        mine[row] += step
        moved[row] = abs(step) * np.sqrt(slope)


@kernel
def describe(indptr, indices, answers, users, items, first, last, out):
    """Write r, v, w = v (1 - 2 p) and s of every entry of the users first..last; those are exp(-x) of readiness x."""
    for u in range(first, last):
        total = 0.0
        for e in range(indptr[u], indptr[u + 1]):
            p = 1.0 / (1.0 + users[u] * items[indices[e]])
            v = p * (1.0 - p)
            total += v
            out[e, 0], out[e, 1], out[e, 2] = (answers[e] - 1) - p, v, v * (1.0 - 2.0 * p)
        for e in range(indptr[u], indptr[u + 1]):
            v = out[e, 1]
            out[e, 3] = v / np.sqrt(max(total - v, _TINY))


@kernel
def sum_departures(chosen, beyond, columns, rows, by_columns, by_rows, first, last, out):
    """Sum, over the users seen with both items, by how much their answers go together more than readiness makes them.

    For the items chosen[first..last] and all after `beyond` of each: out[k, i] is the sum of r r + s s, that of its
    variances v v, and that of its third moments w w, w = v (1 - 2 p). `columns` and `rows` are (indptr, indices); the
    arguments after them say r, v, w and s of each entry. The output comes zeroed.
    """
    for k in range(first, last):
        for e in range(columns[0][chosen[k]], columns[0][chosen[k] + 1]):
            u = columns[1][e]
            r, v, w, s = by_columns[e]
            for f in range(rows[0][u + 1] - 1, rows[0][u] - 1, -1):
                i = rows[1][f]
                if i <= beyond[k]:
                    break
                out[k, i, 0] += r * by_rows[f, 0] + s * by_rows[f, 3]
                out[k, i, 1] += v * by_rows[f, 1]
                out[k, i, 2] += w * by_rows[f, 2]


class Readiness:
    """The logistic model that has every user's and every item's number of yes.

    Parameters
    ----------
    table : csr_array of int8, [n_users, n_items]
        1 where the answer was no, and 2 where it was yes. Users who say yes to all, or to nothing, are certain to: they
        tell nothing of pairs, and are left out.
    start : (float64[n_users], float64[n_items]), optional
        Where to begin, such as the readiness of a larger table.
    """

    def __init__(self, table: csr_array, start: tuple[Floats, Floats] | None = None) -> None:
        n_users, n_items = table.shape
        users, items = start or (np.zeros(n_users), np.zeros(n_items))
        yes, counts = np.diff(np.append(0, np.cumsum(table.data == 2))[table.indptr]), np.diff(table.indptr)
        free = np.flatnonzero((yes > 0) & (yes < counts))
        self.table, self.users, self.items = table[free], np.asarray(users[free]), items
        # The same by items, and where each of its entries stands by users.
        view = self.table.indptr, self.table.indices
        turned = csr_array((np.arange(self.table.nnz), view[1], view[0]), shape=self.table.shape).T.tocsr()
        self.by_items, self._place = (turned.indptr, turned.indices), turned.data
        self.answers: Rows = np.diff(turned.indptr)
        given = np.bincount(self.table.indices[self.table.data == 2], minlength=n_items)
        short = np.minimum(_SHORT_OF_ALL, self.answers / 2)
        with Threads() as dealer:
            self._fit(dealer, yes[free].astype(np.float64), np.clip(given, short, self.answers - short))
            # r, v, w and s of each entry.
            self._facts = np.empty((self.table.nnz, 4), dtype=np.float32)
            odds = np.exp(-self.users), np.exp(-self.items)
            dealer.deal(lambda *part: describe(*view, self.table.data, *odds, *part, self._facts), len(free), 1)

    def _fit(self, dealer: Threads, of_users: Floats, of_items: Floats) -> None:
        by_users = self.table.indptr, self.table.indices
        sides = [(by_users, of_users, self.items, self.users), (self.by_items, of_items, self.users, self.items)]
        moved = [np.zeros(self.users.size), np.zeros(self.items.size)]
        before = np.concatenate(moved)
        for _ in range(_ROUNDS):
            for (view, wanted, against, mine), steps in zip(sides, moved, strict=True):
                dealer.deal(partial(_step, (*view, wanted, np.exp(-against)), (mine, steps)), steps.size, 1)
            now = np.concatenate(moved)
            if float(np.abs(now - before).max(initial=0.0)) < _CLOSE:
                break
            before = now

    def among(self, base: tuple[int, ...]) -> Readiness:
        """Return the readiness of those who say yes to all of some items, in what else they say."""
        people = np.arange(self.users.size)
        for item in base:
            mine = slice(*self.by_items[0][item : item + 2])
            likers = self.by_items[1][mine][self.table.data[self._place[mine]] == 2]
            people = np.intersect1d(people, likers, assume_unique=True)
        part = self.table[people]
        for item in base:
            part.data[part.indices == item] = 0
        part.eliminate_zeros()
        return Readiness(part, (self.users[people], self.items.copy()))

    def departures(self, chosen: Rows, *, later: bool = False, n_jobs: int = -1) -> Floats:
        """Return how far items chosen and all others, or those after each, go together: float64[n, n_items, 3].

        Sum, variance and third moment, as `sum_departures` says.
        """
        out = np.zeros((len(chosen), self.items.size, 3))
        views = self.by_items, (self.table.indptr, self.table.indices)
        facts = self._facts[self._place], self._facts
        beyond = chosen if later else np.full(len(chosen), -1)
        with Threads(n_jobs) as dealer:
            work = partial(_depart, (chosen, beyond, *views, *facts), out)
            dealer.deal(work, len(chosen), max(1, self.items.size >> _SHARE_BITS))
        return out


def _step(given: Any, out: Any, first: int, last: int) -> None:
    fit_margins(*given, first, last, *out)


def _depart(given: Any, out: Any, first: int, last: int) -> None:
    sum_departures(*given, first, last, out)


def p_values(departures: Floats, together: bool = True) -> Floats:
    """Return the chance of going together so much, or apart, float64[n, 3] as above; 1 where nothing can be said.

    Sums of few products lean to one side, so that their upper tail is taken from a gamma distribution of the same
    skewness; where they lean to the other, from the normal distribution, which is larger.
    """
    total, variance, third = departures.T if together else departures.T * np.array([[-1.0], [1.0], [-1.0]])
    spread = np.sqrt(np.where(variance >= LEAST_SPREAD, variance, np.nan))
    z, skew = total / spread, third / spread**3
    lean = skew > _STRAIGHT
    shape = 4.0 / np.where(lean, skew, 1.0) ** 2
    tail = np.where(lean, gammaincc(shape, np.maximum(shape + z * np.sqrt(shape), 0.0)), ndtr(-z))
    return np.where(np.isnan(z), 1.0, tail)


def weights(departures: Floats) -> Floats:
    """Return what tests weigh in the correction for all of them: it depends on the margins alone."""
    return np.clip(departures[:, 1], 1.0, _PLENTY) ** 2


def corrected(p: Floats, weight: Floats, whole: float) -> Floats:
    """Return p-values corrected for all tests there were, of weight `whole`, of which these are the smallest.

    Benjamini and Hochberg: of what comes out below some level at most this share is there by chance, on average; where
    there is nothing to find, the chance that anything comes out is that level. A p-value is divided by its share of the
    weight (Genovese, Roeder and Wasserman).

    Examples
    --------
    >>> corrected(np.array([0.001, 0.02, 0.8]), np.ones(3), 3.0).round(3).tolist()
    [0.003, 0.03, 0.8]
    """
    share = p / weight
    order = np.argsort(share)
    each = share[order] * whole / np.arange(1, p.size + 1)
    found = np.empty(p.size)
    found[order] = np.minimum.accumulate(each[::-1])[::-1]
    return np.maximum(np.minimum(found, 1.0), p)
