"""What several antecedents add to each other, and p-values corrected for all that was looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret.readiness import LEAST_SPREAD, Bits, Departures, Readiness

#: Data confirm a rule if its p-value, corrected, is at most this.
LEVEL = 0.05
#: p-values are kept by the thousand: counts in bins this fine, 64 to a factor of two, down to the smallest float.
_FINE, _SMALLEST = 64, 1074
#: The most antecedents of a rule.
MOST_ANTECEDENTS = 3
#: Bases whose readiness is kept, some dozens of kilobytes each, and what one counts for when they are dealt to threads:
#: a share has few. By judgement.
_MOST_KEPT, _GROUP = 4096, 1 << 15
#: No answer holds more information about a pair: a quarter squared.
_MOST_OF_ONE = 1 / 16


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


# --- rules with several antecedents -----------------------------------------------------------------------------------


class Added(NamedTuple):
    """What one more antecedent adds, one row for each rule."""

    #: Users who said yes to all antecedents and answered the consequent, and those among them who said yes to it.
    support: Rows
    held: Rows
    #: Whether that is more than the other antecedents and their readiness explain; what the test weighs.
    p_value: Floats
    weight: Floats

    def chosen(self, which: Bits) -> Added:
        """Return some rows."""
        columns: Any = (column[which] for column in self)
        return Added(*columns)


class Conjunctions:
    """Counts and tests rules "all of some items are liked, so another is"; items are columns of the observations.

    Whether B adds to "A ⇒ C" is asked of those who said yes to A: do B and C go together among them beyond their
    readiness, and beyond how often they say yes to B and to C? The test is that of pairs, on a smaller table. It holds
    the sums of that table fixed, and so does not see how strongly A and C go together, by which "A ⇒ C" was found.
    """

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        #: What the readiness of those who like all of some items was found to be; their answers are cut out again.
        self._found: dict[tuple[int, ...], tuple[Floats, Floats]] = {}

    def among(self, base: tuple[int, ...]) -> Readiness:
        """Return the readiness of those who said yes to all of some items, in what else they say."""
        people = self._readiness.likers(base[0])
        for item in base[1:]:
            people = np.intersect1d(people, self._readiness.likers(item), assume_unique=True)
        found = self._readiness.among(people, np.array(base), self._found.get(base))
        if len(self._found) < _MOST_KEPT:
            self._found[base] = found.users, found.items
        return found

    def added(self, base: tuple[int, ...], more: Rows, consequents: Rows) -> Added:
        """Return what each of `more` adds to "all of base ⇒ consequent", for aligned items, at least one."""
        # The kernel wants pairs with the same left item one after another.
        order = np.argsort(consequents, kind="stable")
        found = self.among(base).compared(consequents[order], more[order])
        back = np.argsort(order)
        tables, departures = found.tables[back].astype(np.int64), found.departures
        support = tables[:, 1] + tables[:, 3]
        tested = departures.p_values()[back], departures.weights[back]
        return Added(support, tables[:, 3], *tested)

    def counted(self, antecedents: Rows, consequents: Rows) -> Added:
        """Count rules, antecedents int64[n, m]; the antecedent that adds least decides."""
        n, m = antecedents.shape
        found = Added(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n), np.zeros(n))
        for out in range(m):
            groups = list(_grouped(np.delete(antecedents, out, axis=1)))

            def count(base: tuple[int, ...], mine: Rows, out: int = out) -> None:
                part = self.added(base, antecedents[mine, out], consequents[mine])
                found.support[mine], found.held[mine] = part.support, part.held
                found.p_value[mine] = np.maximum(found.p_value[mine], part.p_value)

            _each(count, groups)
        return found

    def longer(
        self, shorter: Rows, consequents: Rows, items: Rows, stated: Callable[[Rows, Rows], Bits] | None
    ) -> tuple[Rows, Rows, Added, Floats, int]:
        """Look for one more antecedent, among some items, to rules that are confirmed: int64[n, m], sorted.

        `stated` tells which longer rules to look at; without it all are. Returned are those that are confirmed:
        antecedents, consequents, what was found and the corrected p-values; and how many were looked at.
        """
        sides, ends, p_value, weight = self._first_look(shorter, consequents, items, stated)
        looked = Looked()
        looked.add(p_value, weight)
        # Another order of the antecedents can only make a p-value larger: what is too large now remains so.
        good = looked.adjusted(p_value, weight) <= LEVEL
        counted = self.counted(sides[good], ends[good])._replace(weight=weight[good])
        looked = Looked()
        looked.add(p_value[~good], weight[~good])
        looked.add(counted.p_value, counted.weight)
        adjusted = np.maximum(looked.adjusted(counted.p_value, counted.weight), counted.p_value)
        sure = adjusted <= LEVEL
        return sides[good][sure], ends[good][sure], counted.chosen(sure), adjusted[sure], looked.number

    def _first_look(
        self, shorter: Rows, consequents: Rows, items: Rows, stated: Callable[[Rows, Rows], Bits] | None
    ) -> tuple[Rows, Rows, Floats, Floats]:
        """Return longer rules, and whether what is added to the shorter ones adds anything: p-values and weights."""
        # Which antecedent was left out of which rules to leave a rest: a way to tell that rules were met before.
        known: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for row, end in zip(shorter.tolist(), consequents.tolist(), strict=True):
            for k, item in enumerate(row):
                known.setdefault(((*row[:k], *row[k + 1 :]), end), []).append(item)
        groups = list(_grouped(shorter))
        parts: dict[tuple[int, ...], Any] = {}

        def others(base: tuple[int, ...], end: int, seen: Rows) -> Rows:
            """Return what to add to a base for a consequent; every longer rule is looked at once."""
            good = ~np.isin(seen, [*base, end])
            for k, item in enumerate(base):
                twin = np.array(known[(*base[:k], *base[k + 1 :]), end])
                good &= ~np.isin(seen, twin[twin < item])
            return seen[good]

        def look(base: tuple[int, ...], mine: Rows) -> None:
            here = self.among(base)
            seen = items[here.answers[items] * _MOST_OF_ONE >= LEAST_SPREAD]
            every = here.departures_of(consequents[mine])
            found = [others(base, end, seen) for end in consequents[mine].tolist()]
            which = np.repeat(np.arange(len(mine)), [len(more) for more in found])
            more = np.concatenate(found)
            tested = Departures(*(values[which, more] for values in every))
            enough = tested.information >= LEAST_SPREAD
            sides, ends = np.column_stack([np.tile(base, (len(more), 1)), more]), consequents[mine][which]
            if stated is not None:
                enough[enough] = stated(sides[enough], ends[enough])
            facts = (tested.p_values()[enough], tested.weights[enough])
            parts[base] = np.sort(sides[enough], axis=1), ends[enough], *facts

        _each(look, groups)
        columns = zip(*(parts[base] for base, _ in groups), strict=True)
        sides, ends, p_value, weight = (np.concatenate(column) for column in columns)
        return sides, ends, p_value, weight


def _each(work: Callable[..., None], groups: list[tuple[tuple[int, ...], Rows]]) -> None:
    """Call `work` with each group, on all processors; groups write to places of their own."""

    def some(first: int, last: int) -> None:
        for group in groups[first:last]:
            work(*group)

    with Threads(-1) as dealer:
        dealer.deal(some, len(groups), row_entries=_GROUP)


def _grouped(bases: Rows) -> Iterator[tuple[tuple[int, ...], Rows]]:
    """Yield the distinct rows, and the places where each is found."""
    distinct, which = np.unique(bases, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(distinct)))
    for base, first, last in zip(distinct.tolist(), np.append(0, ends)[: len(ends)], ends, strict=True):
        yield tuple(base), order[first:last]
