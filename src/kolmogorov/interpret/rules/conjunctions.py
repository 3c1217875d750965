"""Rules with several antecedents, "A and B ⇒ C": what each antecedent adds to the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret.rules.judging import LEAST_SPREAD, Departures, Looked, Readiness

#: The most antecedents of a rule.
MOST_ANTECEDENTS = 3
#: Bases whose readiness is kept, some dozens of kilobytes each, and what one counts for when they are dealt to threads:
#: a share has few. By judgement.
_MOST_KEPT, _GROUP = 4096, 1 << 15
#: No answer holds more information about a pair: a quarter squared.
_MOST_OF_ONE = 1 / 16


class Added(NamedTuple):
    """What one more antecedent adds, one row for each rule.

    Attributes
    ----------
    support, held : int64[n]
        Users who said yes to all antecedents and answered the consequent, and those among them who said yes to it.
    expected : float64[n]
        Share of yes to the consequent among them that the other antecedents and their readiness explain.
    p_value : float64[n]
        Whether it is more.
    information, weight : float64[n]
        Of the test, and what it weighs in the correction for all that was looked at.
    """

    support: Rows
    held: Rows
    expected: Floats
    p_value: Floats
    information: Floats
    weight: Floats

    def chosen(self, which: NDArray[np.bool_]) -> Added:
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
        none = np.zeros(len(more), dtype=np.int8)
        # The kernel wants pairs with the same left item one after another.
        order = np.argsort(consequents, kind="stable")
        found = self.among(base).compared((consequents[order], more[order], none, none))
        back = np.argsort(order)
        tables, departures = found.tables[back].astype(np.int64), found.departures
        support = tables[:, 1] + tables[:, 3]
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = found.sums[back, 6] / support
        tested = (departures.p_values(), departures.information, departures.weights)
        return Added(support, tables[:, 3], expected, *(column[back] for column in tested))

    def counted(self, antecedents: Rows, consequents: Rows) -> Added:
        """Count rules, antecedents int64[n, m]; the antecedent that adds least decides."""
        n, m = antecedents.shape
        found = Added(*(np.zeros(n, dtype=kind) for kind in (np.int64, np.int64, *[np.float64] * 4)))
        for out in range(m):
            groups = list(_grouped(np.delete(antecedents, out, axis=1)))

            def count(base: tuple[int, ...], mine: Rows, out: int = out) -> None:
                part = self.added(base, antecedents[mine, out], consequents[mine])
                found.support[mine], found.held[mine] = part.support, part.held
                found.expected[mine] = np.fmax(found.expected[mine], part.expected)
                found.p_value[mine] = np.maximum(found.p_value[mine], part.p_value)

            _each(count, groups)
        return found._replace(expected=np.where(found.support > 0, found.expected, np.nan))

    def longer(self, shorter: Rows, consequents: Rows, items: Rows, max_p: float) -> tuple[Rows, Rows, Added, Looked]:
        """Look for one more antecedent to each of some rules.

        Parameters
        ----------
        shorter : int64[n, m]
            Antecedents of rules that are supported, sorted; consequents int64[n].
        items : int64[k]
            What may be added.
        max_p : float
            Longer rules whose p-values, corrected, are surely larger are left out.

        Returns
        -------
        (int64[r, m + 1], int64[r], Added, Looked)
            The longer rules, and all that were looked at.
        """
        sides, ends, p_value, weight = self._first_look(shorter, consequents, items)
        looked = Looked()
        looked.add(p_value, weight)
        # Another order of the antecedents can only make a p-value larger: what is too large now remains so.
        good = looked.adjusted(p_value, weight) <= max_p
        counted = self.counted(sides[good], ends[good])._replace(weight=weight[good])
        looked = Looked()
        looked.add(p_value[~good], weight[~good])
        looked.add(counted.p_value, counted.weight)
        return sides[good], ends[good], counted, looked

    def _first_look(self, shorter: Rows, consequents: Rows, items: Rows) -> tuple[Rows, Rows, Floats, Floats]:
        """Return longer rules, and whether what is added to the shorter ones adds anything: p-values and weights."""
        known, groups = _rests(shorter, consequents), list(_grouped(shorter))
        parts: dict[tuple[int, ...], Any] = {}

        def look(base: tuple[int, ...], mine: Rows) -> None:
            here = self.among(base)
            seen = items[here.answers[items] * _MOST_OF_ONE >= LEAST_SPREAD]
            every = here.departures_of(consequents[mine])
            found = [_others(base, end, seen, known) for end in consequents[mine].tolist()]
            which = np.repeat(np.arange(len(mine)), [len(more) for more in found])
            more = np.concatenate(found)
            tested = Departures(*(values[which, more] for values in every))
            enough = tested.information >= LEAST_SPREAD
            sides = np.column_stack([np.tile(base, (len(more), 1)), more])[enough]
            facts = (tested.p_values()[enough], tested.weights[enough])
            parts[base] = np.sort(sides, axis=1), consequents[mine][which][enough], *facts

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


def _rests(shorter: Rows, consequents: Rows) -> dict[tuple[tuple[int, ...], int], list[int]]:
    """Return which antecedent was left out of which rules to leave a rest: a way to tell that rules were met before."""
    known: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for row, end in zip(shorter.tolist(), consequents.tolist(), strict=True):
        for k, item in enumerate(row):
            known.setdefault(((*row[:k], *row[k + 1 :]), end), []).append(item)
    return known


def _others(base: tuple[int, ...], end: int, items: Rows, known: dict[tuple[tuple[int, ...], int], list[int]]) -> Rows:
    """Return what to add to a base for a consequent; every longer rule is looked at once."""
    good = ~np.isin(items, [*base, end])
    for k, item in enumerate(base):
        twin = np.array(known[(*base[:k], *base[k + 1 :]), end])
        good &= ~np.isin(items, twin[twin < item])
    return items[good]


# --- a short list of rules from which the others follow ---------------------------------------------------------------


def basis_of(antecedents: Sequence[Sequence[int]], consequents: Sequence[int], confidence: Floats) -> Rows:
    """Return the places of rules, in their order, from which the others follow by rules that hold as often.

    Parameters
    ----------
    antecedents : n lists of statements, by number
    consequents : n statements
    confidence : float64[n]
        Rules follow only from such as have at least theirs.

    Examples
    --------
    >>> basis_of([[0], [1], [0], [0, 3]], [1, 2, 2, 2], np.array([0.9, 0.9, 0.8, 0.95])).tolist()
    [0, 1, 3]
    """
    chain = _Chain(antecedents, consequents)
    # The surest first, and of equally sure ones those that ask for less.
    order = sorted(range(len(consequents)), key=lambda r: (-confidence[r], len(antecedents[r]), r))
    for rule in order:
        if not chain.leads(rule, 0.0, confidence):
            chain.keep(rule)
    # Of equally sure rules one may follow from others that came later.
    for rule in reversed(order):
        if chain.kept[rule] and chain.leads(rule, float(confidence[rule]), confidence):
            chain.kept[rule] = False
    return np.flatnonzero(chain.kept)


class _Chain:
    """Rules that were kept, and what they lead to."""

    def __init__(self, antecedents: Sequence[Sequence[int]], consequents: Sequence[int]) -> None:
        self._antecedents, self._consequents = antecedents, consequents
        self._from: dict[int, list[int]] = {}
        self.kept = np.zeros(len(consequents), dtype=bool)

    def keep(self, rule: int) -> None:
        """Let a rule lead on."""
        self.kept[rule] = True
        for statement in self._antecedents[rule]:
            self._from.setdefault(statement, []).append(rule)

    def leads(self, rule: int, least: float, confidence: Floats) -> bool:
        """Tell whether other rules that were kept, and are sure enough, lead where a rule does."""
        goal, known = self._consequents[rule], set(self._antecedents[rule])
        waiting, missing = list(known), dict[int, int]()
        while waiting:
            for other in self._from.get(waiting.pop(), ()):
                if other == rule or not self.kept[other] or confidence[other] < least:
                    continue
                missing[other] = missing.get(other, len(self._antecedents[other])) - 1
                end = self._consequents[other]
                if missing[other] == 0 and end not in known:
                    if end == goal:
                        return True
                    known.add(end)
                    waiting.append(end)
        return False
