"""Every pair of items looked at once: which go together, which apart, corrected for all of them.

What goes together is counted beyond how readily each user says yes and each item is said yes to.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincc, ndtr

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View, counting_order
from kolmogorov.interpret.readiness import (
    compare_pairs,
    departures,
    departures_of,
    describe_entries,
    fit_margins,
    sum_variances,
)

#: p-values are kept by the thousand: counts in bins this fine, 64 to a factor of two, down to the smallest float.
_FINE, _SMALLEST = 64, 1074
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
_TINY = 1e-9
#: Pairs held at once when all are looked at, some dozens of megabytes. By judgement.
_BLOCK = 1 << 22
#: A thread's share is so many entries at most, so that Ctrl-C is heard soon. By judgement.
_SHARE_BITS = 7
Bits = NDArray[np.bool_]
#: A rule is supported if its p-value, corrected, is at most this.
LEVEL = 0.05
#: All pairs are looked at in single precision, and what is found is counted again: p-values may differ by so much.
_ROUNDING = 1.1


# --- p-values corrected for everything that was looked at -------------------------------------------------------------


class Looked:
    """How often each p-value was met, and what Benjamini and Hochberg make of it.

    Of what comes out below some level, at most this share is there by chance, on average; where there is nothing to
    find, the chance that anything comes out is that level. It holds for tests that depend on each other as those of
    overlapping pairs do. A test may weigh more than another, by anything that does not depend on its outcome: its
    p-value is divided by its share of the weight (Genovese, Roeder and Wasserman). p-values are kept to 1%, rounded
    up, so that any number of them can be looked at.

    Examples
    --------
    >>> looked = Looked()
    >>> looked.add(np.array([0.001, 0.02, 0.8]))
    >>> looked.number, looked.adjusted(np.array([0.001, 0.02, 0.8])).round(2).tolist()
    (3, [0.0, 0.03, 0.81])
    """

    def __init__(self) -> None:
        self._counts: Rows = np.zeros(_FINE * _SMALLEST + 1, dtype=np.int64)
        self._weight = 0.0
        self._best: Floats | None = None

    @property
    def number(self) -> int:
        """How many were looked at."""
        return int(self._counts.sum())

    def add(self, p_values: Floats, weights: Floats | None = None) -> None:
        """Look at more; their weights are 1, or larger."""
        self._best = None
        self._weight += float(len(p_values) if weights is None else weights.sum())
        self._counts += np.bincount(_bins(p_values, weights), minlength=self._counts.size)

    def adjusted(self, p_values: Floats, weights: Floats | None = None) -> Floats:
        """Return what p-values that were looked at are, corrected: at most 1."""
        if self._best is None:
            edges = np.exp2(-np.arange(self._counts.size) / _FINE)
            # Bins go from 1 downwards: the rank of a p-value is the number in its bin and in all later ones.
            ranks = np.cumsum(self._counts[::-1])[::-1]
            self._best = np.minimum.accumulate(np.minimum(edges * (self._weight / np.maximum(ranks, 1)), 1.0))
        found: Floats = self._best[_bins(p_values, weights)]
        return found


def _bins(p_values: Floats, weights: Floats | None) -> Rows:
    with np.errstate(divide="ignore"):
        fine = -np.log2(p_values if weights is None else p_values / weights) * _FINE
        return np.minimum(fine, _FINE * _SMALLEST).astype(np.int64)


# --- how readily users say yes, and items are said yes to -------------------------------------------------------------


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
        return Compared(self.tables[:, [0, 2, 1, 3]], self.sums[:, [0, 1, 2, 5, 6, 3, 4]])

    @property
    def departures(self) -> Departures:
        """How far the pairs depart from readiness alone."""
        return Departures.of(*self.sums[:, :3].T)


class Readiness:
    """The logistic model that has every user's and every item's number of yes, for each of some thresholds.

    The chance that user u reaches threshold t at item i is 1 / (1 + exp(-(users[t, u] + items[t, i]))); over what was
    observed, the chances of a user, and of an item, sum to how often the answer was yes. Users who say yes to all, or
    to nothing, are certain to.

    Parameters
    ----------
    rows, columns : View
        The observations by users and by items.
    reached_by_rows, reached : int8[n]
        How many thresholds each entry reaches, by rows and by columns.
    n_thresholds : int
    start : (float64[T, n_users], float64[T, n_items]), optional
        Where to begin, such as the readiness of a larger table.
    ready : bool
        Whether it begins with what was found before.
    """

    def __init__(
        self,
        rows: View,
        columns: View,
        reached_by_rows: NDArray[np.int8],
        reached: NDArray[np.int8],
        n_thresholds: int,
        start: tuple[Floats, Floats] | None = None,
        ready: bool = False,
    ) -> None:
        self._rows, self._columns, self._reached = rows, columns, reached
        self._reached_by_rows = reached_by_rows
        n_users, n_items = rows.counts.size, columns.counts.size
        users, items = start or (np.zeros((n_thresholds, n_users)), np.zeros((n_thresholds, n_items)))
        self.users: Floats = users
        self.items: Floats = items
        for t in range(0 if ready else n_thresholds):
            self._fit(t)
        self.variance: Floats = np.empty((n_thresholds, n_thresholds, n_users))
        sides = (rows.indptr, rows.indices, np.exp(-self.users), np.exp(-self.items))
        with Threads() as dealer:
            dealer.deal(lambda *part: sum_variances(*sides, *part, self.variance), n_users, 1, rows.indptr)

    def _fit(self, t: int) -> None:
        rows, columns = self._rows, self._columns
        given = _sums(self._reached_by_rows > t, rows)
        certain = (given == 0) | (given == rows.counts)
        self.users[t, certain] = np.where(given[certain] > 0, _CERTAIN, -_CERTAIN)
        # Of an item's answers, those of the certain are no matter of chance.
        sure = certain[columns.indices]
        fixed = _sums((self._reached > t) & sure, columns)
        free = columns.counts - _sums(sure, columns)
        short = np.minimum(_SHORT_OF_ALL, free / 2)
        taken = np.clip(_sums(self._reached > t, columns), fixed + short, fixed + free - short)
        margins = [
            (rows.indptr, rows.indices, np.where(certain, np.nan, given), self.items[t], self.users[t]),
            (columns.indptr, columns.indices, np.where(free > 0, taken, np.nan), self.users[t], self.items[t]),
        ]
        sides = [(*margin, np.zeros(len(margin[-1]))) for margin in margins]
        before = np.zeros(sum(len(side[-1]) for side in sides))
        with Threads() as dealer:
            for _ in range(_ROUNDS):
                for side in sides:
                    dealer.deal(partial(_fit, side, np.exp(-side[3])), len(side[-1]), 1, side[0])
                now = np.concatenate([side[-1] for side in sides])
                if float(np.abs(now - before).max(initial=0.0)) < _CLOSE:
                    break
                before = now

    def chances(self, users: Rows, items: Rows, t: int = 0) -> Floats:
        """Return the chances that users reach a threshold at items, rows and columns of the observations."""
        found: Floats = expit(self.users[t, users] + self.items[t, items])
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
        reached = self._reached_by_rows[entries]
        start = (self.users[:, people].copy(), self.items.copy()) if found is None else found
        return Readiness(rows, columns, reached, reached[order], len(self.users), start, found is not None)

    @property
    def answers(self) -> Rows:
        """How many users were observed with each item."""
        return self._columns.counts

    def likers(self, item: int) -> Rows:
        """Return the users who reach the first threshold at an item, in increasing order."""
        part = slice(*self._columns.indptr[item : item + 2])
        found: Rows = self._columns.indices[part][self._reached[part] > 0]
        return found

    def compared(self, pairs: Any, place: Rows | None = None) -> Compared:
        """Count pairs (left, right, threshold of each), and sum what readiness makes of them.

        Items are columns of the observations, or what `place` says.
        """
        n, place = len(pairs[0]), np.arange(self._columns.counts.size) if place is None else place
        found = Compared(np.empty((n, 4), dtype=np.int32), np.empty((n, 7)))
        sides = (self._columns.indptr, self._columns.indices), self._reached, self.users, self.items, self.variance

        def work(first: int, last: int) -> None:
            room = np.full(self._rows.counts.size, -1, dtype=np.int64)
            compare_pairs(pairs, place, *sides, room, first, last, *found)

        right = place[pairs[1]]
        entries = int(self._columns.counts[right[right >= 0]].mean()) if (right >= 0).any() else 0
        with Threads() as dealer:
            dealer.deal(work, n, row_entries=max(1, entries >> _SHARE_BITS))
        return found

    def departures(self) -> Iterator[tuple[Rows, Rows, Departures]]:
        """Yield all pairs of items, columns of the observations, that hold enough information, in blocks.

        Beside them stands how far each departs at the first threshold.
        """
        rows, columns = self._rows, self._columns
        by = []
        for view, reached in ((columns, self._reached), (rows, self._reached_by_rows)):
            owner: Any = view.owners(0, view.counts.size)
            user = owner if view is rows else view.indices
            p = self.chances(user, view.indices if view is rows else owner)
            v = p * (1.0 - p)
            rest = np.maximum(self.variance[0, 0, user] - v, _TINY)
            facts = ((reached > 0) - p, v, v * (1.0 - 2.0 * p), v / np.sqrt(rest))
            by.append([fact.astype(np.float32) for fact in facts])
        views = ((columns.indptr, columns.indices), (rows.indptr, rows.indices))
        given = (*views, *zip(*by, strict=True))
        n = columns.counts.size
        step = max(1, _BLOCK // max(n, 1))
        with Threads(-1) as dealer:
            for begin in range(0, n, step):
                out = np.zeros((3, min(step, n - begin), n), dtype=np.float32)
                dealer.deal(partial(_departures, given, begin, out), out.shape[1], max(1, n >> _SHARE_BITS))
                left, right = np.nonzero(out[1] >= LEAST_SPREAD)
                yield left + begin, right, Departures.of(*out[:, left, right].astype(np.float64))

    def departures_of(self, chosen: Rows) -> Departures:
        """Return how far some items and every other depart at the first threshold: arrays of [chosen, columns]."""
        rows, columns = (self._rows.indptr, self._rows.indices), (self._columns.indptr, self._columns.indices)
        known = self.users[0], self.items[0], self.variance[0, 0]
        described = np.empty((4, self._reached.size))
        describe_entries(rows, self._reached_by_rows, *known, described)
        out = np.zeros((3, len(chosen), self._columns.counts.size))
        departures_of(chosen, columns, self._reached, *known, rows, described, *out)
        return Departures.of(*out)


def _fit(side: Any, against: Floats, first: int, last: int) -> None:
    *given, _, mine, moved = side
    fit_margins(*given, against, first, last, mine, moved)


def _departures(given: Any, begin: int, out: Any, first: int, last: int) -> None:
    departures(*given, begin, first, last, *out)


def _sums(yes: NDArray[np.bool_], view: View) -> Floats:
    padded = np.append(yes, False)
    return (np.add.reduceat(padded, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)).astype(np.float64)


# --- judged pairs -----------------------------------------------------------------------------------------------------


class Judged:
    """All pairs of some items for which enough users answered both, and their corrected p-values.

    Pairs that go together and pairs that go apart are two families of tests. Each is corrected for all pairs, whatever
    is asked for afterwards: a rule has the same p-value in every list.

    Parameters
    ----------
    readiness : Readiness
        Of which the first threshold is looked at.
    item_of : int64[n_columns]
        The model's items of the columns, -1 where there is none.
    considered : bool[n_items]
        The items that rules may be about.

    Attributes
    ----------
    number : int
        How many pairs were looked at.
    """

    def __init__(self, readiness: Readiness, item_of: Rows, considered: Bits) -> None:
        self._readiness, self._item_of, self.considered = readiness, item_of, considered
        self._looked = {True: Looked(), False: Looked()}
        waiting: dict[bool, list[Any]] = {True: [], False: []}
        for left, right, found in self._stream():
            for sign, looked in self._looked.items():
                p, weights = found.p_values(sign), found.weights
                looked.add(p, weights)
                low = p <= LEVEL
                waiting[sign].append((left[low], right[low], p[low], weights[low]))
        self.number = self._looked[True].number
        self._supported = {sign: self._low(sign, waiting[sign], LEVEL) for sign in waiting}

    def adjusted(self, together: Any, p_values: Floats, weights: Floats, times: Any = 1) -> Floats:
        """Return corrected p-values of pairs that go together, or apart; no smaller than they were.

        `times` says that so many times as many were looked at, of which nothing else is known.
        """
        found = [self._looked[sign].adjusted(p_values, weights) for sign in (True, False)]
        return np.clip(np.where(together, *found) * times, p_values, 1.0)

    def pairs(self, together: bool, max_p: float) -> Rows:
        """Return the pairs whose corrected p-values may be as small: int64[2, n], in the model's row numbers."""
        if max_p <= LEVEL:
            return self._supported[together]
        every = []
        for left, right, found in self._stream():
            p = found.p_values(together)
            low = p <= max_p
            every.append((left[low], right[low], p[low], found.weights[low]))
        return self._low(together, every, max_p)

    def _low(self, together: bool, parts: list[Any], max_p: float) -> Rows:
        if not parts:
            return np.empty((2, 0), dtype=np.int64)
        left, right, p, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        low = self._looked[together].adjusted(p, weights) <= _ROUNDING * max_p
        return np.stack([left[low], right[low]])

    def _stream(self) -> Iterator[tuple[Rows, Rows, Departures]]:
        """Yield pairs of items in blocks, the model's row numbers, and how far each departs from readiness alone."""
        for left, right, found in self._readiness.departures():
            left, right = self._item_of[left], self._item_of[right]
            known = (left >= 0) & (right >= 0)
            known[known] = self.considered[left[known]] & self.considered[right[known]]
            yield left[known], right[known], Departures(*(values[known] for values in found))
