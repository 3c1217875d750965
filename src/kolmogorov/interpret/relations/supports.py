"""Supports of items as bits, items with equal supports kept together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.execution import Threads
from kolmogorov.kernels.sets.supports import count_related, list_related, reduce_order

Rows = NDArray[np.int64]
#: Relations of a class to a later one.
INSIDE, APART, COVERING = 0, 1, 2
#: Pairs in a block of a stream: 16 MiB.
_BLOCK = 1 << 20
_WORD = 64
#: A row's weight when rows are dealt to threads, so that a share has some dozens of rows.
_ROW = 1 << 11


class Supports:
    """The supports of some items of a model.

    Parameters
    ----------
    psi : bool[n_items, n_events]
    rows : int64[n]
        The items to look at.

    Attributes
    ----------
    words : uint64[n_classes, ceil(n_events / 64)]
        The distinct supports, by size and then by their bits.
    size : int64[n_classes]
    members : int64[n]
        The items, class by class; those of class c stand at indptr[c]..indptr[c + 1].
    indptr : int64[n_classes + 1]
    class_of : int64[n]
        The class of each entry of `members`.

    Examples
    --------
    >>> supports = Supports(np.array([[1, 0], [1, 1], [1, 0]], dtype=bool), np.arange(3))
    >>> [supports.items_of(c).tolist() for c in range(supports.n_classes)]
    [[0, 2], [1]]
    """

    def __init__(self, psi: NDArray[np.bool_], rows: Rows) -> None:
        self.n_events = psi.shape[1]
        bits = packed(psi[rows])
        size = psi[rows].sum(axis=1)
        order = np.lexsort([rows, *bits.T, size])
        bits, size = bits[order], size[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (bits[1:] != bits[:-1]).any(axis=1)
        self.words = np.ascontiguousarray(bits[fresh])
        self._others = ~self.words & packed(np.ones((1, self.n_events), dtype=bool))
        self.size = size[fresh].astype(np.int64)
        self.members = rows[order].astype(np.int64)
        self.indptr = np.append(np.flatnonzero(fresh), len(order)).astype(np.int64)
        self.class_of = np.cumsum(fresh) - 1
        self._later: dict[int, Rows] = {}

    @property
    def n_classes(self) -> int:
        """Number of distinct supports."""
        return len(self.words)

    def items_of(self, number: int) -> Rows:
        """Return the items of a class."""
        return self.members[self.indptr[number] : self.indptr[number + 1]]

    def later(self, kind: int) -> Rows:
        """Return, by class, how many items of later classes are related to it."""
        if kind not in self._later:
            out = np.zeros(self.n_classes, dtype=np.int64)
            weight = np.diff(self.indptr)
            with Threads() as dealer:
                dealer.deal(
                    lambda first, last: count_related(*self._sides(kind), weight, first, last, out),
                    self.n_classes,
                    row_entries=_ROW,
                )
            self._later[kind] = out
        return self._later[kind]

    def count(self, kind: int) -> int:
        """Return the number of pairs of items that stand in a relation."""
        return int((self.later(kind) * np.diff(self.indptr)).sum())

    def pairs(self, kind: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield the related pairs of items in blocks, pairs of one left item together."""
        ends = np.cumsum(self.later(kind)[self.class_of])
        classes = (*self._sides(kind), self.class_of, self.indptr, self.members, ends)
        begin = 0
        with Threads() as dealer:
            while begin < len(self.members):
                offset = int(ends[begin - 1]) if begin else 0
                end = max(begin + 1, int(np.searchsorted(ends, offset + _BLOCK, side="right")))
                n = int(ends[end - 1]) - offset
                left, right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
                work = partial(_list, classes, begin, offset, left, right)
                dealer.deal(work, end - begin if n else 0, row_entries=_ROW)
                if n:
                    yield left, right
                begin = end

    @cached_property
    def covers(self) -> tuple[Rows, Rows]:
        """The order's transitive reduction: pairs (class, class that covers it)."""
        lower, upper = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        room = np.empty(self.n_classes, dtype=np.int64)
        block = max(_BLOCK, self.n_classes)
        below, above = np.empty(block, dtype=np.int64), np.empty(block, dtype=np.int64)
        # A few classes at a time, so that Ctrl-C is heard between them.
        step = max(1, (_BLOCK >> 3) // max(self.n_classes, 1))
        first = 0
        while first < self.n_classes:
            last = min(first + step, self.n_classes)
            n, first = reduce_order(self.words, self._others, first, last, below, above, room)
            lower.append(below[:n].copy())
            upper.append(above[:n].copy())
        return np.concatenate(lower), np.concatenate(upper)

    def _sides(self, kind: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the sets of which disjointness means the relation."""
        if kind == INSIDE:
            return self.words, self._others
        return (self.words, self.words) if kind == APART else (self._others, self._others)


def _list(classes: Any, begin: int, offset: int, left: Rows, right: Rows, first: int, last: int) -> None:
    list_related(*classes, begin + first, begin + last, offset, left, right)


def packed(psi: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return rows of bits in words of 64."""
    padded = np.zeros((len(psi), -(-psi.shape[1] // _WORD) * _WORD), dtype=bool)
    padded[:, : psi.shape[1]] = psi
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
