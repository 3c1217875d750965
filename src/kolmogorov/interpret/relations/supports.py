"""Supports as bits, statements with equal supports kept together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Rows
from kolmogorov.execution import Threads
from kolmogorov.kernels.sets.supports import count_related, list_related, reduce_order

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
