"""Supports of several thresholds of each item: the higher the threshold, the smaller the support."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Rows
from kolmogorov.execution import Threads
from kolmogorov.interpret.relations.supports import ROW, Bits, blocks, complement, packed
from kolmogorov.kernels.sets.nested import count_nested, list_nested


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
