"""Supports of items as bits, equal ones together: which lie inside which, apart, or cover everything; and their order.

Each of these says that two sets are disjoint: a ⊆ b that a and b's complement are, "apart" that a and b are, "covering"
that their complements are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csgraph
from scipy.sparse.linalg import ArpackError, eigsh

from kolmogorov._support.markup import card, table
from kolmogorov._support.optional import require
from kolmogorov._support.typing import Rows
from kolmogorov.interpret.readiness import Bits

Words = NDArray[np.uint64]
#: Pairs in a block, some dozens of megabytes. By judgement.
_BLOCK = 1 << 20
#: Classes that a notebook shows: a screen. By judgement.
_SHOWN = 20
#: Above so many classes the diagram is only ever seen in small parts, and classes stand in the order of their numbers;
#: up to so many a dense matrix is as quick as a sparse one. By judgement.
_MOST, _DENSE = 20_000, 64


def packed(bits: Bits) -> Words:
    """Return rows of bits in words of 64."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // 64) * 64), dtype=bool)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def sides_of(kind: str, bits: Bits) -> tuple[Words, Words]:
    """Return sets, or their complements, of which being disjoint means the relation."""
    words, others = packed(bits), packed(~bits)
    return {"exclusion": (words, words), "coverage": (others, others)}.get(kind, (words, others))


class Supports:
    """The supports of some items (`rows`) as bits, bool[n_items, n_events], equal ones together.

    Its own `bits` are the distinct supports, by size, so that one can only lie inside a later one. `members` are the
    items, class by class: those of class c stand at indptr[c]..indptr[c + 1], and `class_of` says it of each.

    Examples
    --------
    >>> supports = Supports(np.array([[1, 0], [1, 1], [1, 0]], dtype=bool), np.arange(3))
    >>> [supports.members_of(c).tolist() for c in range(len(supports))]
    [[0, 2], [1]]
    >>> [(left.tolist(), right.tolist()) for left, right in supports.pairs("implication")]
    [([0, 2], [1, 1])]
    """

    def __init__(self, bits: Bits, rows: Rows) -> None:
        words, size = packed(bits[rows]), bits[rows].sum(axis=1)
        order = np.lexsort([rows, *words.T, size])
        words = words[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (words[1:] != words[:-1]).any(axis=1)
        self.bits: Bits = bits[rows][order][fresh]
        self.members: Rows = rows[order].astype(np.int64)
        self.indptr: Rows = np.append(np.flatnonzero(fresh), len(order)).astype(np.int64)
        self.class_of: Rows = np.cumsum(fresh) - 1

    def __len__(self) -> int:
        return len(self.bits)

    def members_of(self, number: int) -> Rows:
        """Return the items of a class."""
        return self.members[self.indptr[number] : self.indptr[number + 1]]

    def _related(self, kind: str) -> Iterator[tuple[int, Bits]]:
        """Yield, for blocks of classes, the first of them and which later classes each is related to."""
        x, y = sides_of(kind, self.bits)
        step = max(1, _BLOCK // max(len(x), 1))
        for first in range(0, len(x), step):
            apart = ~(x[first : first + step, None] & y).any(axis=2)
            yield first, np.triu(apart & (kind != "equivalence"), first + 1)

    def _alike(self, kind: str) -> Bits:
        """Tell in which classes any two are related: empty supports exclude each other, full ones cover."""
        every, size = np.ones(len(self), dtype=bool), self.bits.sum(axis=1)
        return {"equivalence": every, "exclusion": size == 0, "coverage": size == self.bits.shape[1]}.get(kind, ~every)

    def later(self, kind: str) -> Rows:
        """Return, by class, how many items of later classes are related to it."""
        weight = np.diff(self.indptr)
        return np.concatenate([np.empty(0, np.int64), *(related @ weight for _, related in self._related(kind))])

    def count(self, kind: str) -> int:
        """Return the number of related pairs of items."""
        size = np.diff(self.indptr)
        within = (size * (size - 1) // 2)[self._alike(kind)]
        return int((self.later(kind) * size).sum() + within.sum())

    def pairs(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        """Yield the related pairs of items in blocks of about a million, pairs of one left item together."""
        waiting: list[tuple[Rows, Rows]] = []
        number = 0
        for part in self._parts(kind):
            waiting.append(part)
            number += len(part[0])
            if number >= _BLOCK:
                yield _joined(waiting)
                waiting, number = [], 0
        if waiting:
            yield _joined(waiting)

    def _parts(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        for first, related in self._related(kind):
            for a in np.flatnonzero(related.any(axis=1)).tolist():
                mine, others = self.members_of(first + a), self.members[related[a][self.class_of]]
                some = max(1, _BLOCK // len(others))
                for begin in range(0, len(mine), some):
                    part = mine[begin : begin + some]
                    yield np.repeat(part, len(others)), np.tile(others, len(part))
        for number in np.flatnonzero(self._alike(kind) & (np.diff(self.indptr) > 1)).tolist():
            members = self.members_of(number)
            some = max(1, _BLOCK // len(members))
            for begin in range(0, len(members), some):
                j, i = np.nonzero(members[begin : begin + some, None] < members)
                yield members[begin + j], members[i]

    @cached_property
    def covers(self) -> Rows:
        """The order's transitive reduction: pairs (class, class that covers it), int64[n, 2]."""
        found = []
        for first, related in self._related("implication"):
            for a, row in enumerate(related, first):
                above = np.flatnonzero(row)
                # Those that contain `a` come by size: the first covers it, and what contains the first does not.
                while above.size:
                    found.append((a, int(above[0])))
                    above = above[(self.bits[above[0]] & ~self.bits[above]).any(axis=1)]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


def _joined(parts: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    left, right = (np.concatenate(side) for side in zip(*parts, strict=True))
    return left, right


class Order:
    """Classes of items with equal supports, ordered by inclusion: a class below another implies it.

    Attributes
    ----------
    classes : list of int64 arrays
        The items (row numbers) of each class; small supports first.
    covers : int64[n, 2]
        The Hasse diagram: pairs (lower, upper) with nothing between them; the transitive reduction of implication.
    levels : int64[n_classes]
        Length of the longest chain below each class; 0 for those that nothing else implies.

    Examples
    --------
    >>> import kolmogorov as km
    >>> order = km.KolmogorovModel(3, random_state=0).fit(km.datasets.load("toy")).relations().order
    >>> len(order.levels) == len(order.classes)
    True
    """

    def __init__(self, supports: Supports, name: Callable[[int], str]) -> None:
        self._supports, self._name = supports, name
        self.classes = [supports.members_of(number) for number in range(len(supports))]
        self.covers = supports.covers
        self.levels: Rows = np.zeros(len(supports), dtype=np.int64)
        for lower, upper in self.covers.tolist():
            self.levels[upper] = max(self.levels[upper], self.levels[lower] + 1)

    def __len__(self) -> int:
        return len(self.classes)

    @cached_property
    def ranks(self) -> Rows:
        """Each class's place from left to right, such that related classes stand near each other.

        The places are those of the spectral ordering: the second eigenvector of the graph's normalised Laplacian keeps
        the squared lengths of the edges small.
        """
        n = len(self)
        if n < 3 or n > _MOST or len(self.covers) == 0:
            return np.arange(n)
        graph = coo_array((np.ones(len(self.covers)), tuple(self.covers.T)), shape=(n, n))
        laplacian = csgraph.laplacian((graph + graph.T).tocsr(), normed=True)
        if n <= _DENSE:
            vector = np.linalg.eigh(laplacian.toarray())[1][:, 1]
        else:
            start = np.random.default_rng(0).standard_normal(n)
            try:
                # Inverting a little below the smallest eigenvalue finds the smallest ones in few rounds.
                vector = eigsh(laplacian, k=2, sigma=-1e-2, v0=start, tol=1e-6)[1][:, 1]
            except ArpackError:
                return np.arange(n)
        return np.argsort(np.argsort(vector, kind="stable"), kind="stable")

    def names(self, number: int) -> list[str]:
        """Return the names of a class's items."""
        return [self._name(row) for row in self.classes[number].tolist()]

    def events(self, number: int) -> list[int]:
        """Return the events in a class's support."""
        return np.flatnonzero(self._supports.bits[number]).tolist()

    def __repr__(self) -> str:
        height = int(self.levels.max()) + 1 if len(self) else 0
        number = sum(map(len, self.classes))
        return f"<order of {len(self):,} classes of {number:,} items, {height} levels, {len(self.covers):,} covers>"

    def _repr_html_(self) -> str:
        top = sorted(range(len(self)), key=lambda number: -self.levels[number])[:_SHOWN]
        above: dict[int, list[str]] = {}
        for lower, upper in self.covers.tolist():
            above.setdefault(lower, []).append(self.names(upper)[0])
        columns: dict[str, list[Any]] = {
            "level": [int(self.levels[number]) for number in top],
            "items": [", ".join(self.names(number)[:4]) for number in top],
            "implies directly": [", ".join(above.get(number, [])[:4]) for number in top],
        }
        return card(repr(self).strip("<>"), table(columns, more=len(self) - len(top)))

    def to_networkx(self) -> Any:
        """Return the Hasse diagram as a networkx.DiGraph.

        Nodes are class numbers with `items`, `events` and `level`; an edge goes from a class to one that it implies.
        """
        networkx = require("networkx", extra="graph", purpose="A graph of relations")
        graph = networkx.DiGraph()
        for number, level in enumerate(self.levels.tolist()):
            graph.add_node(number, items=self.names(number), events=self.events(number), level=level)
        graph.add_edges_from(self.covers.tolist())
        return graph

    def to_graphviz_source(self, max_names: int = 4) -> str:
        """Return the Hasse diagram in the DOT language, the weakest statements on top; of a class so many are named."""
        lines = ["digraph implications {", "  rankdir=BT;", '  node [shape=box, fontname="sans-serif"];']
        for number in range(len(self)):
            names = self.names(number)
            # Line ends in a title would break the label.
            named = [" ".join(name.replace("\\", "\\\\").replace('"', '\\"').split()) for name in names[:max_names]]
            if len(names) > max_names:
                named.append(f"and {len(names) - max_names} more")
            label = "\\n".join(named)
            lines.append(f'  c{number} [label="{label}"];')
        lines += [f"  c{lower} -> c{upper};" for lower, upper in self.covers.tolist()]
        return "\n".join([*lines, "}"]) + "\n"
