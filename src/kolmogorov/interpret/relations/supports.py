"""Supports of items as sets of events, at every threshold: complements, what lies in what, classes of equal ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.descent.fitted import Fitted
from kolmogorov.interpret.nested import count_nested, list_nested
from kolmogorov.interpret.support_kernels import count_related, list_related, reduce_order

# Values come through divisions, and those of draws in single precision.
_ROUNDING, _SINGLE = 1e-9, 1e-6


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds of a model that tell ratings apart, lowest first; of yes and no there is one.

    Attributes
    ----------
    levels : float64[T]
        What an item must be in an event to reach each threshold.
    ratings : float64[T]
        The ratings that this means, on the probability scale: at least these.
    said : bool
        Whether statements say their threshold, "Alien >= 4"; with yes and no they are "Alien".

    Examples
    --------
    >>> import kolmogorov as km
    >>> table = km.Observations.from_arrays(["ann", "bob", "cas"], ["tea"] * 3, [1, 2, 4], minimum=0)
    >>> model = km.KolmogorovModel(1, psi="soft", learn_from="ratings", random_state=0).fit(table)
    >>> thresholds = Thresholds.of(model.fitted_)
    >>> thresholds.levels.tolist(), thresholds.ratings.tolist()
    ([0.375, 0.75], [0.5, 1.0])
    """

    levels: Floats
    ratings: Floats
    said: bool = True

    @classmethod
    def of(cls, fitted: Fitted) -> Thresholds:
        """Return the thresholds of a model.

        Where an item may be anything in an event, a threshold is where rounding to the nearest rating changes.
        """
        if fitted.psi.dtype == bool:
            return cls.one(0.5)
        points = fitted.points
        return cls(0.5 * (points[1:] + points[:-1]), points[1:], not fitted.training.is_binary)

    @classmethod
    def one(cls, level: float) -> Thresholds:
        """Return the threshold between no and yes."""
        return cls(np.array([level]), np.array([1.0]), said=False)

    def __len__(self) -> int:
        return len(self.levels)

    def bits(self, psi: NDArray[Any]) -> NDArray[np.bool_]:
        """Return in which events items reach each threshold: bool[n_items, T, n_events]."""
        reached: NDArray[np.bool_] = psi[:, None, :] >= self.levels[:, None] - _SINGLE
        return reached

    def least(self, likes: float | None) -> int:
        """Return the number of the lowest threshold whose rating is at least `likes`."""
        return int(np.searchsorted(self.ratings, likes - _ROUNDING)) if self.said and likes is not None else 0


Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]
#: Pairs in a block of a stream, some dozens of megabytes. By judgement.
_BLOCK = 1 << 20
#: Bits of a word.
_WORD = 64
#: A row's weight when rows are dealt to threads, so that a share has some dozens of rows. By judgement.
ROW = 1 << 11


class Supports:
    """The supports of some statements.

    Parameters
    ----------
    bits : bool[n_statements, n_events]
        In which events each statement is so; that an item happens, where there is one threshold.
    rows : int64[n]
        The statements to look at.

    Attributes
    ----------
    words : uint64[n_classes, ceil(n_events / 64)]
        The distinct supports, by size and then by their bits.
    size : int64[n_classes]
    members : int64[n]
        The statements, class by class; those of class c stand at indptr[c]..indptr[c + 1].
    indptr : int64[n_classes + 1]
    class_of : int64[n]
        The class of each entry of `members`.

    Examples
    --------
    >>> supports = Supports(np.array([[1, 0], [1, 1], [1, 0]], dtype=bool), np.arange(3))
    >>> [supports.members_of(c).tolist() for c in range(supports.n_classes)]
    [[0, 2], [1]]
    >>> [(left.tolist(), right.tolist()) for left, right in supports.pairs("implication")]
    [([0, 2], [1, 1])]
    """

    def __init__(self, bits: Bits, rows: Rows) -> None:
        self.n_events = bits.shape[1]
        words, size = packed(bits[rows]), bits[rows].sum(axis=1)
        order = np.lexsort([rows, *words.T, size])
        words, size = words[order], size[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (words[1:] != words[:-1]).any(axis=1)
        self.words = np.ascontiguousarray(words[fresh])
        self._others = complement(self.words, self.n_events)
        self.size = size[fresh].astype(np.int64)
        self.members = rows[order].astype(np.int64)
        self.indptr = np.append(np.flatnonzero(fresh), len(order)).astype(np.int64)
        self.class_of = np.cumsum(fresh) - 1
        self._later: dict[str, Rows] = {}

    @property
    def n_classes(self) -> int:
        """Number of distinct supports."""
        return len(self.words)

    def members_of(self, number: int) -> Rows:
        """Return the statements of a class."""
        return self.members[self.indptr[number] : self.indptr[number + 1]]

    def later(self, kind: str) -> Rows:
        """Return, by class, how many statements of later classes are related to it."""
        if kind not in self._later:
            out = np.zeros(self.n_classes, dtype=np.int64)
            weight = np.diff(self.indptr)
            if kind != "equivalence":
                with Threads() as dealer:
                    dealer.deal(
                        lambda first, last: count_related(*self._sides(kind), weight, first, last, out),
                        self.n_classes,
                        row_entries=ROW,
                    )
            self._later[kind] = out
        return self._later[kind]

    def count(self, kind: str) -> int:
        """Return the number of related pairs of statements."""
        size = np.diff(self.indptr)
        within = (size * (size - 1) // 2)[self._alike(kind)]
        return int((self.later(kind) * size).sum() + within.sum())

    def pairs(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        """Yield the related pairs of statements in blocks, pairs of one left statement together."""
        return chain(self._between(kind), self._within(self._alike(kind)))

    @cached_property
    def covers(self) -> tuple[Rows, Rows]:
        """The order's transitive reduction: pairs (class, class that covers it)."""
        lower, upper = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        room = np.empty(self.n_classes, dtype=np.int64)
        block = max(_BLOCK, self.n_classes)
        below, above = np.empty(block, dtype=np.int64), np.empty(block, dtype=np.int64)
        # A few classes at a time, so that Ctrl-C is heard between them.
        few = max(1, (_BLOCK >> 3) // max(self.n_classes, 1))
        first = 0
        while first < self.n_classes:
            last = min(first + few, self.n_classes)
            n, first = reduce_order(self.words, self._others, first, last, below, above, room)
            lower.append(below[:n].copy())
            upper.append(above[:n].copy())
        return np.concatenate(lower), np.concatenate(upper)

    def _between(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs of different classes."""
        ends = np.cumsum(self.later(kind)[self.class_of])
        classes = (*self._sides(kind), self.class_of, self.indptr, self.members, ends)
        with Threads() as dealer:
            for begin, end, offset, n in blocks(ends):
                left, right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
                dealer.deal(partial(_list, classes, begin, offset, left, right), end - begin, row_entries=ROW)
                yield left, right

    def _within(self, classes: Bits) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs within some classes, a class (or a part of a large one) at a time."""
        for number in np.flatnonzero(classes & (np.diff(self.indptr) > 1)).tolist():
            members = self.members_of(number)
            block = max(1, _BLOCK // len(members))
            for first in range(0, len(members), block):
                j, i = np.nonzero(members[first : first + block, None] < members[None, :])
                yield members[first + j], members[i]

    def _alike(self, kind: str) -> Bits:
        """Tell in which classes any two are related: empty supports exclude each other, full ones cover."""
        if kind == "equivalence":
            return np.ones(self.n_classes, dtype=bool)
        if kind == "exclusion":
            return self.size == 0
        return (self.size == self.n_events) & (kind == "coverage")

    def _sides(self, kind: str) -> tuple[Words, Words]:
        """Return the sets of which disjointness means the relation."""
        return sides_of_kind(kind, self.words, self._others)


def sides_of_kind(kind: str, words: Words, others: Words) -> tuple[Words, Words]:
    """Return the sets, or their complements, that are disjoint where a relation holds."""
    return {"exclusion": (words, words), "coverage": (others, others)}.get(kind, (words, others))


def blocks(ends: Rows) -> Iterator[tuple[int, int, int, int]]:
    """Yield rows in blocks such that what is listed for them has about a million entries.

    The entries of row r end at ends[r]. A block is its first row, the row after its last, where its entries begin, and
    how many they are.
    """
    begin = 0
    while begin < len(ends):
        offset = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, offset + _BLOCK, side="right")))
        if ends[end - 1] > offset:
            yield begin, end, offset, int(ends[end - 1]) - offset
        begin = end


def _list(classes: Any, begin: int, offset: int, left: Rows, right: Rows, first: int, last: int) -> None:
    list_related(*classes, begin + first, begin + last, offset, left, right)


def packed(bits: Bits) -> Words:
    """Return rows of bits, along the last axis, in words of 64."""
    padded = np.zeros((*bits.shape[:-1], -(-bits.shape[-1] // _WORD) * _WORD), dtype=bool)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


def complement(words: Words, n_events: int) -> Words:
    """Return the events that are not in each support."""
    return ~words & packed(np.ones((1, n_events), dtype=bool))


class NestedSupports:
    """The supports of "at least threshold t" for some items, and the relations between two items that say all.

    Of many relations between two items few say all: for each threshold of the one the highest of the other that
    follows, and of those from which the same follows the lowest. Statements that hold in every event or in none make
    none.

    Parameters
    ----------
    bits : bool[n_items, T, n_events]
        In which events each item reaches each threshold.
    rows : int64[n]
        The items to look at.
    """

    def __init__(self, bits: Bits, rows: Rows) -> None:
        self._rows, bits = rows, bits[rows]
        self._words = packed(bits)
        self._others = complement(self._words, bits.shape[2])
        size = bits.sum(axis=2)
        self._full: Rows = (size == bits.shape[2]).sum(axis=1).astype(np.int64)
        self._empty: Rows = (size > 0).sum(axis=1).astype(np.int64)
        self._ends: dict[str, Rows] = {}

    def count(self, kind: str) -> int:
        """Return the number of implications, exclusions or coverages."""
        ends = self._ends_of(kind)
        total = int(ends[-1]) if ends.size else 0
        # Of two items that exclude or cover each other both begin a rule.
        return total if kind == "implication" else total // 2

    def pairs(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        """Yield the related pairs of statements in blocks, as `Supports` does; item * T + t is the number of one."""
        ends, n = self._ends_of(kind), self._words.shape[1]
        with Threads() as dealer:
            for begin, end, offset, size in blocks(ends):
                found = np.empty((size, 4), dtype=np.int64)
                dealer.deal(partial(self._list, kind, begin, offset, found), end - begin, row_entries=ROW)
                if kind != "implication":
                    side = 3 if kind == "exclusion" else 1
                    found[:, side] = n - 1 - found[:, side]
                    found = found[found[:, 0] < found[:, 2]]
                yield self._rows[found[:, 0]] * n + found[:, 1], self._rows[found[:, 2]] * n + found[:, 3]

    def _ends_of(self, kind: str) -> Rows:
        """Return where the rules that begin with each item end, if all stand in one list."""
        if kind not in self._ends:
            out = np.zeros(len(self._words), dtype=np.int64)
            sides = self._sides(kind)
            with Threads() as dealer:
                dealer.deal(lambda first, last: count_nested(*sides, first, last, out), len(out), row_entries=ROW)
            self._ends[kind] = np.cumsum(out)
        return self._ends[kind]

    def _sides(self, kind: str) -> tuple[NDArray[np.generic], ...]:
        """Return supports that rules begin with, complements of those they end with, and which hold always or never.

        That something is not so has the complement for its support; complements are nested the other way round.
        """
        words, others, full, empty = self._words, self._others, self._full, self._empty
        n = words.shape[1]
        if kind == "exclusion":
            return words, np.ascontiguousarray(words[:, ::-1]), full, empty, n - empty
        if kind == "coverage":
            return np.ascontiguousarray(others[:, ::-1]), others, n - empty, n - full, full
        return words, others, full, empty, full

    def _list(self, kind: str, begin: int, offset: int, out: Rows, first: int, last: int) -> None:
        list_nested(*self._sides(kind), self._ends[kind], begin + first, begin + last, offset, out)
