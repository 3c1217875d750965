"""Users' general readiness to say yes: a logistic model of both margins, and how far pairs of answers depart from it.

The chance of a yes is 1 / (1 + exp(-(a_u + b_i))). `r` is a yes (1) or no (0) less its chance p, `v` is p (1 - p), and
V_u the sum of a user's v. The exponential of a sum is a product: where all entries are gone through, exp(-a) and
exp(-b) are computed once for each user and item. Given how often a user says yes in all, two of the user's answers vary
together by -s_A s_B, s = v / sqrt(V_u - v): who says yes to one has one yes less to give to the others. (Exact where a
user is as ready to say yes to one item as to another.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincc, ndtr

from kolmogorov._support.jit import kernel
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View, counting_order

_TINY = 1e-9
# A Newton step goes no further than this, and takes no curvature for less than that.
_FURTHEST, _FLATTEST = 1.0, 1e-3
#: A pair is looked at where its answers hold so much information: below it the tails are too heavy. By judgement, after
#: a look at tables with the margins of MovieLens 100K and nothing else in them.
LEAST_SPREAD = 1.0
#: Pairs weigh more in the correction for all that was looked at the more can be seen of them: the square of their
#: information, up to this. By judgement, after a look at planted tables, the zoo, votes and MovieLens 100K.
_PLENTY = 5.0
#: Below this skewness the normal distribution is as good.
_STRAIGHT = 1e-3
#: An item that all say yes to, or nobody, counts as so far from it, in answers. By judgement.
_SHORT_OF_ALL = 0.25
#: The readiness of users who say yes to all that they were asked, which is certain: they tell nothing of pairs.
_CERTAIN = 30.0
#: The margins are met when steps, in standard errors, are no longer or shorter than those before by more than this: as
#: items that all say yes to count as short of it, the two sides do not quite agree. And the most rounds. By judgement.
_CLOSE, _ROUNDS = 3e-3, 60
#: Pairs held at once when all are looked at, some dozens of megabytes. By judgement.
_BLOCK = 1 << 22
#: A thread's share is so many entries at most, so that Ctrl-C is heard soon. By judgement.
_SHARE_BITS = 7
Bits = NDArray[np.bool_]


@kernel
def chance(x):
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


@kernel
def fit_margins(indptr, indices, wanted, against, first, last, mine, moved):
    """Take a Newton step for the rows first..last towards the sums of yes that are wanted.

    `against` is exp(-x) of the readiness x of their partners. Written is how far it went, in standard errors. Rows
    where nan is wanted stay as they are.
    """
    for row in range(first, last):
        if np.isnan(wanted[row]):
            continue
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
def sum_variances(indptr, indices, users, items, first, last, out):
    """Write V_u of the users first..last; `users` and `items` are exp(-x) of their readiness x."""
    for u in range(first, last):
        total = 0.0
        for e in range(indptr[u], indptr[u + 1]):
            odds = users[u] * items[indices[e]]
            total += (1.0 - 1.0 / (1.0 + odds)) / (1.0 + odds)
        out[u] = max(total, _TINY)


@kernel
def sum_departures(chosen, beyond, columns, rows, by_columns, by_rows, first, last, out):
    """Sum, over the users seen with both items, by how much their answers go together more than readiness makes them.

    For the items chosen[first..last] and all after `beyond` of each: out[0, k, i] is the sum of r r + s s, out[1, k, i]
    that of its variances v v, and out[2, k, i] that of its third moments w w, w = v (1 - 2 p). `columns` and `rows` are
    (indptr, indices); the arguments after them say r, v, w and s of each entry. The output comes zeroed.
    """
    for k in range(first, last):
        for e in range(columns[0][chosen[k]], columns[0][chosen[k] + 1]):
            u = columns[1][e]
            r, v, w, s = by_columns[0, e], by_columns[1, e], by_columns[2, e], by_columns[3, e]
            for f in range(rows[0][u + 1] - 1, rows[0][u] - 1, -1):
                i = rows[1][f]
                if i <= beyond[k]:
                    break
                out[0, k, i] += r * by_rows[0, f] + s * by_rows[3, f]
                out[1, k, i] += v * by_rows[1, f]
                out[2, k, i] += w * by_rows[2, f]


@kernel
def compare_pairs(left, right, place, columns, yes, users, items, variance, room, first, last, tables, sums):
    """Count the pairs first..last, and sum what readiness alone would make of them.

    tables[r] is (no to both, no to left and yes to right, yes to left and no to right, yes to both) among the users
    observed with both items; sums[r] is r r + s s, its variance and third moment (see `sum_departures`). `room` is -1
    for every user, and is left so. Pairs with the same left item should follow each other.
    """
    indptr, indices = columns
    marked = -1
    for r in range(first, last):
        j, i = place[left[r]], place[right[r]]
        if j != marked:
            if marked >= 0:
                for e in range(indptr[marked], indptr[marked + 1]):
                    room[indices[e]] = -1
            if j >= 0:
                for e in range(indptr[j], indptr[j + 1]):
                    room[indices[e]] = e
            marked = j
        tables[r] = 0
        sums[r] = 0.0
        if j < 0 or i < 0:
            continue
        for f in range(indptr[i], indptr[i + 1]):
            u = indices[f]
            e = room[u]
            if e < 0:
                continue
            x, y = int(yes[e]), int(yes[f])
            p, q = chance(users[u] + items[j]), chance(users[u] + items[i])
            v, w = p * (1.0 - p), q * (1.0 - q)
            together = v * w / np.sqrt(max(variance[u] - v, _TINY) * max(variance[u] - w, _TINY))
            tables[r, 2 * x + y] += 1
            sums[r, 0] += (x - p) * (y - q) + together
            sums[r, 1] += v * w
            sums[r, 2] += v * w * (1.0 - 2.0 * p) * (1.0 - 2.0 * q)
    if marked >= 0:
        for e in range(indptr[marked], indptr[marked + 1]):
            room[indices[e]] = -1


class Departures(NamedTuple):
    """How far pairs of answers go together beyond readiness: in standard deviations, and how skewed chance is there.

    `information` is the variance of what was summed; it depends on the margins alone.
    """

    z: Floats
    skew: Floats
    information: Floats

    @classmethod
    def of(cls, sums: Floats, variances: Floats, thirds: Floats) -> Departures:
        """Standardise sums; nan where a pair holds too little information."""
        spread = np.sqrt(np.where(variances >= LEAST_SPREAD, variances, np.nan))
        return cls(sums / spread, thirds / spread**3, variances)

    @property
    def weights(self) -> Floats:
        """What pairs weigh in the correction for all that was looked at."""
        return np.clip(self.information, 1.0, _PLENTY) ** 2

    def p_values(self, together: Any = True) -> Floats:
        """Return the chance of going together so much, or apart; 1 where nothing can be said.

        Sums of few products lean to one side, so that their upper tail is taken from a gamma distribution of the same
        skewness; where they lean to the other, from the normal distribution, which is larger.
        """
        z, skew = (np.where(together, value, -value) for value in (self.z, self.skew))
        lean = skew > _STRAIGHT
        shape = 4.0 / np.where(lean, skew, 1.0) ** 2
        tail = np.where(lean, gammaincc(shape, np.maximum(shape + z * np.sqrt(shape), 0.0)), ndtr(-z))
        return np.where(np.isnan(z), 1.0, tail)


class Compared(NamedTuple):
    """Pairs, one row each: users by their answers, and what readiness alone makes of them; see `compare_pairs`."""

    tables: NDArray[np.int32]
    sums: Floats

    def turned(self) -> Compared:
        """Return the same with left and right exchanged."""
        return Compared(self.tables[:, [0, 2, 1, 3]], self.sums)

    @property
    def departures(self) -> Departures:
        """How far the pairs depart from readiness alone."""
        return Departures.of(*self.sums.T)


class Readiness:
    """The logistic model that has every user's and every item's number of yes.

    The chance that user u says yes to item i is 1 / (1 + exp(-(users[u] + items[i]))); over what was observed, the
    chances of a user, and of an item, sum to how often the answer was yes. Users who say yes to all, or to nothing, are
    certain to.

    Parameters
    ----------
    rows, columns : View
        The observations by users and by items.
    yes_by_rows, yes : bool[n]
        Which entries are a yes, by rows and by columns.
    start : (float64[n_users], float64[n_items]), optional
        Where to begin, such as the readiness of a larger table.
    ready : bool
        Whether it begins with what was found before.
    """

    def __init__(
        self,
        rows: View,
        columns: View,
        yes_by_rows: Bits,
        yes: Bits,
        start: tuple[Floats, Floats] | None = None,
        ready: bool = False,
    ) -> None:
        self._rows, self._columns, self._yes_by_rows, self._yes = rows, columns, yes_by_rows, yes
        n_users = rows.counts.size
        self.users, self.items = start or (np.zeros(n_users), np.zeros(columns.counts.size))
        if not ready:
            self._fit()
        self.variance: Floats = np.empty(n_users)
        sides = (rows.indptr, rows.indices, np.exp(-self.users), np.exp(-self.items))
        with Threads() as dealer:
            dealer.deal(lambda *part: sum_variances(*sides, *part, self.variance), n_users, 1, rows.indptr)

    def _fit(self) -> None:
        rows, columns = self._rows, self._columns
        given = _sums(self._yes_by_rows, rows)
        certain = (given == 0) | (given == rows.counts)
        self.users[certain] = np.where(given[certain] > 0, _CERTAIN, -_CERTAIN)
        # Of an item's answers, those of the certain are no matter of chance.
        sure = certain[columns.indices]
        fixed = _sums(self._yes & sure, columns)
        free = columns.counts - _sums(sure, columns)
        short = np.minimum(_SHORT_OF_ALL, free / 2)
        taken = np.clip(_sums(self._yes, columns), fixed + short, fixed + free - short)
        wanted = np.where(certain, np.nan, given), np.where(free > 0, taken, np.nan)
        sides = [(rows, wanted[0], self.items, self.users), (columns, wanted[1], self.users, self.items)]
        moved = [np.zeros(self.users.size), np.zeros(self.items.size)]
        before = np.concatenate(moved)
        with Threads() as dealer:
            for _ in range(_ROUNDS):
                for (view, sums, against, mine), steps in zip(sides, moved, strict=True):
                    given_ = (view.indptr, view.indices, sums, np.exp(-against))
                    work = partial(_step, given_, (mine, steps))
                    dealer.deal(work, steps.size, 1, view.indptr)
                now = np.concatenate(moved)
                if float(np.abs(now - before).max(initial=0.0)) < _CLOSE:
                    break
                before = now

    def chances(self, users: Rows, items: Rows) -> Floats:
        """Return the chances that users say yes to items, rows and columns of the observations."""
        found: Floats = expit(self.users[users] + self.items[items])
        return found

    def among(self, people: Rows, without: Rows, found: tuple[Floats, Floats] | None = None) -> Readiness:
        """Return the readiness of some users alone, in increasing order, and what they say to all items but some.

        `found` is what their readiness was found to be before, users and items, where it was.
        """
        other = np.ones(self._columns.counts.size, dtype=bool)
        other[without] = False
        whole = self._rows
        counts = whole.counts[people]
        ends = np.cumsum(counts)
        entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(whole.indptr[people] - (ends - counts), counts)
        entries = entries[other[whole.indices[entries]]]
        indptr = np.append(0, np.searchsorted(entries, whole.indptr[people + 1])).astype(np.int64)
        none = np.empty(0)
        rows = View(indptr, whole.indices[entries], none, none)
        order = counting_order(rows.indices, other.size)
        starts = np.append(0, np.cumsum(np.bincount(rows.indices, minlength=other.size))).astype(np.int64)
        columns = View(starts, rows.owners(0, len(people))[order], none, none)
        yes = self._yes_by_rows[entries]
        start = (self.users[people], self.items.copy()) if found is None else found
        return Readiness(rows, columns, yes, yes[order], start, found is not None)

    @property
    def answers(self) -> Rows:
        """How many users were observed with each item."""
        return self._columns.counts

    def likers(self, item: int) -> Rows:
        """Return the users who say yes to an item, in increasing order."""
        part = slice(*self._columns.indptr[item : item + 2])
        found: Rows = self._columns.indices[part][self._yes[part]]
        return found

    def compared(self, left: Rows, right: Rows, place: Rows | None = None) -> Compared:
        """Count pairs, and sum what readiness makes of them; items are columns, or what `place` says."""
        n, place = len(left), np.arange(self._columns.counts.size) if place is None else place
        found = Compared(np.empty((n, 4), dtype=np.int32), np.empty((n, 3)))
        sides = (self._columns.indptr, self._columns.indices), self._yes, self.users, self.items, self.variance

        def work(first: int, last: int) -> None:
            room = np.full(self._rows.counts.size, -1, dtype=np.int64)
            compare_pairs(left, right, place, *sides, room, first, last, *found)

        ends = place[right]
        entries = int(self._columns.counts[ends[ends >= 0]].mean()) if (ends >= 0).any() else 0
        with Threads() as dealer:
            dealer.deal(work, n, row_entries=max(1, entries >> _SHARE_BITS))
        return found

    def departures(self) -> Iterator[tuple[Rows, Rows, Departures]]:
        """Yield all pairs of columns that hold enough information, and how far they depart, in blocks."""
        n = self.answers.size
        step, described = max(1, _BLOCK // max(n, 1)), self._described(np.float32)
        with Threads(-1) as dealer:
            for begin in range(0, n, step):
                chosen = np.arange(begin, min(begin + step, n))
                out = np.zeros((3, len(chosen), n), dtype=np.float32)
                work = partial(_depart, (chosen, chosen, *described), out)
                dealer.deal(work, len(chosen), max(1, n >> _SHARE_BITS))
                left, right = np.nonzero(out[1] >= LEAST_SPREAD)
                yield left + begin, right, Departures.of(*out[:, left, right].astype(np.float64))

    def departures_of(self, chosen: Rows) -> Departures:
        """Return how far some items and every other depart: arrays of [chosen, columns]."""
        out = np.zeros((3, len(chosen), self.answers.size))
        sum_departures(chosen, np.full(len(chosen), -1), *self._described(np.float64), 0, len(chosen), out)
        return Departures.of(*out)

    def _described(self, kind: type) -> tuple[Any, ...]:
        """Return the table by columns and by rows, and what `sum_departures` wants to know of each entry of either."""
        rows, columns = self._rows, self._columns
        views = (columns.indptr, columns.indices), (rows.indptr, rows.indices)
        facts: list[Any] = []
        for view, yes in ((columns, self._yes), (rows, self._yes_by_rows)):
            owner: Any = view.owners(0, view.counts.size)
            user, item = (owner, view.indices) if view is rows else (view.indices, owner)
            p = self.chances(user, item)
            v = p * (1.0 - p)
            share = v / np.sqrt(np.maximum(self.variance[user] - v, _TINY))
            facts.append(np.array([yes - p, v, v * (1.0 - 2.0 * p), share], dtype=kind))
        return (*views, *facts)


def _step(given: Any, out: Any, first: int, last: int) -> None:
    fit_margins(*given, first, last, *out)


def _depart(given: Any, out: Any, first: int, last: int) -> None:
    sum_departures(*given, first, last, out)


def _sums(yes: Bits, view: View) -> Floats:
    padded = np.append(yes, False)
    return (np.add.reduceat(padded, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)).astype(np.float64)
