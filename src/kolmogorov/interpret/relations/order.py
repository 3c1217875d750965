"""The order by implication: classes of equivalent items, and which lies directly below which."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csgraph
from scipy.sparse.linalg import ArpackError, eigsh

from kolmogorov._support.markup import card, table
from kolmogorov._support.optional import require
from kolmogorov._support.typing import Rows
from kolmogorov.interpret.relations.supports import Supports
from kolmogorov.interpret.support_kernels import chain_levels

#: Classes that a notebook shows: a screen. By judgement.
_SHOWN = 20
#: Above so many classes the diagram is only ever seen in small parts, and classes stand in the order of their numbers;
#: up to so many a dense matrix is as quick as a sparse one. By judgement.
_MOST, _DENSE = 20_000, 64


class Order:
    """Classes of items with equal supports, ordered by inclusion: a class below another implies it.

    With several thresholds, classes of statements such as "item >= 4".

    Attributes
    ----------
    classes : list of int64 arrays
        The items (row numbers) of each class; small supports first. Of T thresholds, number t of item i is i * T + t.
    size : int64[n_classes]
        Events in the support.
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
        self.size = supports.size

    def __len__(self) -> int:
        return self._supports.n_classes

    @cached_property
    def classes(self) -> list[Rows]:
        """The items of each class."""
        return [self._supports.members_of(number) for number in range(len(self))]

    @cached_property
    def covers(self) -> Rows:
        """Pairs (lower, upper) of classes with nothing between them."""
        return np.column_stack(self._supports.covers)

    @cached_property
    def levels(self) -> Rows:
        """Length of the longest chain below each class."""
        out = np.zeros(len(self), dtype=np.int64)
        chain_levels(*self._supports.covers, out)
        return out

    @cached_property
    def ranks(self) -> Rows:
        """Each class's place from left to right, such that related classes stand near each other.

        The places are those of the spectral ordering: the second eigenvector of the graph's normalised Laplacian keeps
        the squared lengths of the edges small.
        """
        n = len(self)
        if n < 3 or n > _MOST or len(self.covers) == 0:
            return np.arange(n)
        lower, upper = self.covers.T
        graph = coo_array((np.ones(len(lower)), (lower, upper)), shape=(n, n))
        laplacian = csgraph.laplacian((graph + graph.T).tocsr(), normed=True)
        vector = np.linalg.eigh(laplacian.toarray())[1][:, 1] if n <= _DENSE else _second(laplacian, n)
        return np.argsort(np.argsort(vector, kind="stable"), kind="stable")

    def names(self, number: int) -> list[str]:
        """Return the names of a class's items."""
        return [self._name(row) for row in self.classes[number].tolist()]

    def events(self, number: int) -> list[int]:
        """Return the events in a class's support."""
        bits = np.unpackbits(self._supports.words[number].view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).tolist()

    def __repr__(self) -> str:
        height = int(self.levels.max()) + 1 if len(self) else 0
        number = sum(len(rows) for rows in self.classes)
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
        """Return the Hasse diagram in the DOT language, the weakest statements on top.

        Parameters
        ----------
        max_names : int
            Items named in a box; the rest is counted.
        """
        lines = ["digraph implications {", "  rankdir=BT;", '  node [shape=box, fontname="sans-serif"];']
        for number in range(len(self)):
            names = self.names(number)
            shown = [_quoted(name) for name in names[:max_names]]
            if len(names) > max_names:
                shown.append(f"and {len(names) - max_names} more")
            label = "\\n".join(shown)
            lines.append(f'  c{number} [label="{label}"];')
        lines += [f"  c{lower} -> c{upper};" for lower, upper in self.covers.tolist()]
        return "\n".join([*lines, "}"]) + "\n"


def _second(laplacian: Any, n: int) -> Any:
    """Return the eigenvector of the second smallest eigenvalue."""
    start = np.random.default_rng(0).standard_normal(n)
    try:
        # Inverting a little below the smallest eigenvalue finds the smallest ones in few rounds.
        return eigsh(laplacian, k=2, sigma=-1e-2, v0=start, tol=1e-6)[1][:, 1]
    except ArpackError:
        return np.arange(n)


def _quoted(text: str) -> str:
    """Escape a title for a quoted DOT string; line ends would break the label."""
    return " ".join(text.replace("\\", "\\\\").replace('"', '\\"').split())
