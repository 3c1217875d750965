"""What a user is known to like and implies an item: the reasons to expect a yes to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.relations.supports import packed
from kolmogorov.interpret.relations.thresholds import GradedSupports, Grades
from kolmogorov.interpret.rules.counting import Answers, Bits, Floats, Grading, Rows, reaching
from kolmogorov.interpret.rules.rule import Rule
from kolmogorov.interpret.rules.table import Rules

#: Answers looked at in one go.
_BLOCK = 1 << 21


@dataclass(frozen=True, kw_only=True)
class Reason(Rule):
    """A rule from something that a user is known to like to an item, counted on the training data.

    Attributes
    ----------
    item : id
        What the user likes; its name is the rule's antecedent.
    value : float
        What the user said to it, on the probability scale.
    """

    item: Any
    value: float


class Found(NamedTuple):
    """Reasons for some (user, item): which of these pairs each belongs to, what the user said, and the rule."""

    place: Rows
    value: Floats
    rules: Rules


def reasons_for(fitted: Fitted, users: Rows, items: Rows, likes: float) -> Iterator[Found]:
    """Yield, for aligned row numbers, the rules from what each user likes to the item, in blocks.

    The reasons of a pair stand together, the strongest first; those never met in the training data stand last. An
    item that happens in every event is implied by everything, and one in no event implies everything: neither makes
    a reason. In a many-valued model every rating leads on from the threshold that it reaches, whatever `likes` is.
    """
    leading = _Likings(fitted, likes) if fitted.psi.dtype == bool else _Ratings(fitted)
    places = np.flatnonzero(fitted.item_seen[items] & leading.reachable[items])
    rows = fitted.training.rows
    ends = np.cumsum(rows.counts[users[places]])
    first = 0
    while first < len(places):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
        part = places[first:last]
        counts = rows.counts[users[part]]
        place = np.repeat(part, counts)
        # The entries of these users' rows, one row after the other.
        entry = np.arange(len(place)) + np.repeat(rows.indptr[users[part]] - (np.cumsum(counts) - counts), counts)
        liked, value = rows.indices[entry].astype(np.int64), rows.values[entry]
        other = liked != items[place]
        place, liked, value = place[other], liked[other], value[other]
        leads, at = leading.to(liked, value, items[place])
        yield _ranked(leading.answers, place[leads], liked[leads], items[place[leads]], value[leads], at)
        first = last


class _Likings:
    """Rules from what is liked: its support lies inside the item's."""

    def __init__(self, fitted: Fitted, likes: float) -> None:
        self.answers = Answers.for_model(fitted, None, likes)
        self._likes, self._words = likes, packed(fitted.psi)
        self._size = fitted.psi.sum(axis=1)
        self.reachable = self._size < fitted.n_events

    def to(self, liked: Rows, value: Floats, items: Rows) -> tuple[Rows, None]:
        """Return the places at which what the user said leads to the item."""
        good = np.flatnonzero(reaching(value, self._likes) & (self._size[liked] > 0))
        inside = ~(self._words[liked[good]] & ~self._words[items[good]]).any(axis=1)
        return good[inside], None


class _Ratings:
    """Graded rules from the threshold that a rating reaches to the highest one of the item that follows."""

    def __init__(self, fitted: Fitted) -> None:
        self._grades = Grades.of(fitted)
        self._supports = GradedSupports(fitted.psi, self._grades)
        self.answers = Answers.for_model(fitted, None, marks=self._grades.marks)
        self.reachable = self._supports.full < len(self._grades)

    def to(self, liked: Rows, value: Floats, items: Rows) -> tuple[Rows, Grading]:
        """Return the places at which what the user said leads to the item, and the thresholds of the rules."""
        supports = self._supports
        # A statement that holds in no event says no more than the last that holds in some.
        told = np.minimum(self._grades.reached(value), supports.empty[liked])
        good = np.flatnonzero(told > supports.full[liked])
        j, i, a = liked[good], items[good], told[good] - 1
        every = range(len(self._grades))
        # Supports are nested: the number of those that hold another is the place of the last.
        b = np.array([self._inside(j, a, i, np.full_like(a, grade)) for grade in every]).sum(axis=0) - 1
        useful = np.flatnonzero(b >= supports.full[i])
        j, i, a, b = j[useful], i[useful], a[useful], b[useful]
        # The lowest threshold from which the same follows: those that do not lead to it come first.
        a = np.array([~self._inside(j, np.full_like(b, grade), i, b) for grade in every]).sum(axis=0)
        return good[useful], ((a + 1).astype(np.int8), (b + 1).astype(np.int8))

    def _inside(self, j: Rows, a: Rows, i: Rows, b: Rows) -> Bits:
        common = self._supports.words[j, a] & self._supports.others[i, b]
        return np.array(~common.any(axis=1))


def _ranked(answers: Answers, place: Rows, liked: Rows, items: Rows, value: Floats, at: Grading | None) -> Found:
    """Count each distinct rule once, and sort the reasons by pair and strength."""
    columns: list[Rows] = [liked, items, *(() if at is None else (side.astype(np.int64) for side in at))]
    distinct, which = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    grading = None if at is None else (distinct[:, 2].astype(np.int8), distinct[:, 3].astype(np.int8))
    pairs = (np.ascontiguousarray(distinct[:, 0]), np.ascontiguousarray(distinct[:, 1]))
    rules = Rules.counted(answers, "implication", *pairs, at=grading)
    which = which.ravel()
    strength = np.nan_to_num(rules.strength, nan=-np.inf)[which]
    order = np.lexsort((liked, -strength, place))
    return Found(place[order], value[order], rules[which[order]])
