"""The relations between items that supports state, their order, and the rules that data confirm.

X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i = 1, for every
user and whatever theta is. Of soft psi the support is where the item is at least one half; of ratings, where it is
nearer to a like than to the rating below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.markup import card, note, table
from kolmogorov._support.optional import require, to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import NONE, check_parameters, integer, one_of
from kolmogorov.data import Observations
from kolmogorov.descent.fitted import Fitted
from kolmogorov.errors import ParameterError
from kolmogorov.interpret.counting import CODES, THRESHOLD, Counting
from kolmogorov.interpret.judging import MOST_ANTECEDENTS
from kolmogorov.interpret.mining import confirmed
from kolmogorov.interpret.readiness import Bits
from kolmogorov.interpret.rules import Rules

#: The kinds of relations between two supports, and what each says.
KINDS = {
    "implication": "yes to one ⇒ yes to the other",
    "equivalence": "yes to one ⇔ yes to the other",
    "exclusion": "yes to one ⇒ no to the other",
    "coverage": "no to one ⇒ yes to the other",
}
# Ratings come through divisions.
_ROUNDING = 1e-9
#: Pairs of classes in a block, some dozens of megabytes; pairs that a call may hold, about 2 GB. By judgement.
_BLOCK, _MOST_PAIRS = 1 << 20, 100_000_000


def packed(bits: Bits) -> NDArray[np.uint64]:
    """Return rows of bits in words of 64."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // 64) * 64), dtype=bool)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


class Supports:
    """The supports of some items (`rows`) as bits, bool[n_items, n_events], equal ones together.

    Its own `bits` are the distinct supports, by size, so that one can only lie inside a later one. `members` are the
    items, class by class: those of class c stand at indptr[c]..indptr[c + 1], and `class_of` says it of each.

    Examples
    --------
    >>> supports = Supports(np.array([[1, 0], [1, 1], [1, 0]], dtype=bool), np.arange(3))
    >>> [members.tolist() for members in supports.classes]
    [[0, 2], [1]]
    >>> supports.pairs("implication").tolist()
    [[0, 1], [2, 1]]
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
        self.sizes: Rows = np.diff(self.indptr)

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def classes(self) -> list[Rows]:
        """The items of each class."""
        return np.split(self.members, self.indptr[1:-1]) if len(self) else []

    def related(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        """Yield the related classes in blocks, each with later ones, or with itself where its items are related."""
        if kind == "equivalence":
            yield np.arange(len(self)), np.arange(len(self))
            return
        words, others = packed(self.bits), packed(~self.bits)
        # Each relation says that two sets are disjoint, of which some are complements.
        x, y = {"implication": (words, others), "exclusion": (words, words), "coverage": (others, others)}[kind]
        step = max(1, _BLOCK // max(len(x), 1))
        for first in range(0, len(x), step):
            apart = ~(x[first : first + step, None] & y).any(axis=2)
            left, right = np.nonzero(np.triu(apart, first + (kind == "implication")))
            yield left + first, right

    def count(self, kind: str) -> int:
        """Return the number of related pairs of items."""
        size = self.sizes
        number = 0
        for left, right in self.related(kind):
            number += int(np.where(left == right, size[left] * (size[left] - 1) // 2, size[left] * size[right]).sum())
        return number

    def pairs(self, kind: str) -> Rows:
        """Return the related pairs of items, int64[n, 2]; one that implies another stands first, else the lower row."""
        found = [np.empty((0, 2), dtype=np.int64)]
        for left, right in self.related(kind):
            number = self.sizes[left] * self.sizes[right]
            place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
            left, right = np.repeat(left, number), np.repeat(right, number)
            one = self.members[self.indptr[left] + place // self.sizes[right]]
            other = self.members[self.indptr[right] + place % self.sizes[right]]
            found.append(np.column_stack([one, other])[(left != right) | (one < other)])
        pairs = np.concatenate(found)
        return pairs if kind == "implication" else np.sort(pairs, axis=1)


class Relations:
    """Implications, equivalences, exclusions and coverages among a model's items.

    Made by `model.relations(...)`. Items never observed are left out, and so are events that another sample of chains
    does not have, and what is trivial: what holds in every event is implied by all, and what holds in none implies all.

    Attributes
    ----------
    rows : int64[n]
        The items looked at.
    always, never : int64[n]
        Items that happen in every event, and in none.
    level : float
        What an item must be in an event to happen there.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(train)
    >>> relations = model.relations()
    >>> ("feathers", "eggs") in relations.named(relations.pairs("implication"))
    True
    """

    def __init__(self, fitted: Fitted, *, likes: float | None = None, min_ratings: int = 1) -> None:
        limits = {"likes": THRESHOLD | NONE, "min_ratings": integer(0)}
        check_parameters("relations", {"likes": likes, "min_ratings": min_ratings}, limits)
        self._fitted = fitted
        self.items = fitted.items
        self.likes = fitted.likes if likes is None else likes
        self.level = _level_of(fitted, self.likes)
        # What another sample of chains does not have states nothing.
        self._bits: Bits = (fitted.psi >= self.level)[:, fitted.lost.all() | ~fitted.lost]
        self._considered = fitted.item_seen & (fitted.item_counts >= min_ratings)
        size = self._bits.sum(axis=1)
        always, never = size == self._bits.shape[1], size == 0
        self.always, self.never = np.flatnonzero(self._considered & always), np.flatnonzero(self._considered & never)
        self.rows = np.flatnonzero(self._considered & ~(always | never))

    @cached_property
    def supports(self) -> Supports:
        """The supports of the items looked at, equal ones together."""
        return Supports(self._bits, self.rows)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each kind, counted without listing them."""
        return {kind: self.supports.count(kind) for kind in KINDS}

    def pairs(self, kind: str = "implication") -> Rows:
        """Return all pairs (j, i) of a kind, rows of `model.items_`, int64[n, 2].

        Parameters
        ----------
        kind : {"implication", "equivalence", "exclusion", "coverage"}
            supp(psi_j) is a proper subset of supp(psi_i): X_j = 1 ⇒ X_i = 1 and X_i = 0 ⇒ X_j = 0; both are equal; they
            are disjoint: X_j = 1 ⇒ X_i = 0; together they hold every event: X_j = 0 ⇒ X_i = 1.
        """
        check_parameters("relations", {"kind": kind}, {"kind": one_of(tuple(KINDS))})
        if self.counts[kind] > _MOST_PAIRS:
            raise ParameterError(
                f"There are {self.counts[kind]:,} pairs of kind {kind}, about {self.counts[kind] * 16 / 1e9:.1f} GB. "
                "Give a larger min_ratings in model.relations()."
            )
        return self.supports.pairs(kind)

    def named(self, pairs: Rows) -> list[tuple[str, str]]:
        """Return pairs by the items' names."""
        return [(self.items.name(j), self.items.name(i)) for j, i in pairs.tolist()]

    def to_frame(self, backend: str | None = None, *, kinds: Sequence[str] = tuple(KINDS)) -> Any:
        """Return relations as a data frame: kind and both items."""
        rows = [(kind, *names) for kind in kinds for names in self.named(self.pairs(kind))]
        names = ("kind", "antecedent", "consequent")
        return to_frame({name: [row[k] for row in rows] for k, name in enumerate(names)}, backend)

    def counted(
        self, observations: Observations | None = None, kind: str = "implication", *, turned: bool = False
    ) -> Rules:
        """Count all that the model states of one kind, whatever the data say; by default on the training data.

        With `turned` from the second to the first, as the paper prints implications.
        """
        pairs, counting = self.pairs(kind), Counting.for_model(self._fitted, observations, self.likes)
        pairs = pairs[:, ::-1] if turned else pairs
        return Rules.counted(counting, np.full(len(pairs), CODES[kind]), pairs[:, :1], pairs[:, 1])

    def rules(self, observations: Observations | None = None, *, max_antecedents: int = 1) -> Rules:
        """Return the rules that the model states and that data confirm: `model.rules`, which says more."""
        asked = {"max_antecedents": max_antecedents}
        check_parameters("rules", asked, {"max_antecedents": integer(1, MOST_ANTECEDENTS)})
        counting = Counting.for_model(self._fitted, observations, self.likes)
        words, others = packed(self._bits), packed(~self._bits)

        def relation(left: Rows, right: Rows) -> tuple[NDArray[np.int64], Bits]:
            inside, around = (~(words[a] & others[b]).any(axis=1) for a, b in ((left, right), (right, left)))
            apart, cover = (~(side[left] & side[right]).any(axis=1) for side in (words, others))
            kinds = [CODES[kind] for kind in ("equivalence", "implication", "exclusion", "coverage")]
            code: Rows = np.select([inside & around, inside | around, apart, cover], kinds, -1)
            return code, np.asarray(around & ~inside)

        def stated(sides: Rows, ends: Rows) -> Bits:
            both = np.bitwise_and.reduce(words[sides], axis=1)
            return both.any(axis=1) & ~(both & others[ends]).any(axis=1)

        considered = np.isin(np.arange(len(self.items)), self.rows) & ~self._fitted.lost.all()
        return confirmed(counting, considered, relation, stated, max_antecedents)

    @cached_property
    def order(self) -> Order:
        """Equivalence classes ordered by implication."""
        return Order(self.supports, self.items)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{count:,} {kind}s" for kind, count in self.counts.items())
        return f"<relations among {len(self.rows):,} items: {numbers}>"

    def _repr_html_(self) -> str:
        kinds = {"kind": KINDS, "pairs": self.counts.values(), "meaning": KINDS.values()}
        trivial = f"{len(self.always):,} more happen always, {len(self.never):,} never"
        return card(f"Relations among {len(self.rows):,} items", table(kinds), note(trivial))

    def adjacency(self) -> Bits:
        """Return the paper's N among all items with enough ratings: N(i, j) = 1 where supp(psi_j) ⊆ supp(psi_i)."""
        psi = self._bits[self._considered].astype(np.float32)
        n = len(psi)
        if n * n > 1 << 31:
            raise ParameterError(f"The matrix of {n:,} items has {n * n:,} entries. Give a larger min_ratings.")
        inside: Bits = psi @ psi.T == psi.sum(axis=1)
        return inside

    @cached_property
    def influence(self) -> Floats:
        """The paper's influence score by item: the share of items whose supports lie in its own; nan if left out.

        It is the mean of a row of `adjacency`, itself and trivial items included.
        """
        supports = Supports(self._bits, np.flatnonzero(self._considered))
        inside = supports.sizes.copy()
        for left, right in supports.related("implication"):
            np.add.at(inside, right, supports.sizes[left])
        score = np.full(len(self.items), np.nan)
        score[supports.members] = inside[supports.class_of] / max(len(supports.members), 1)
        return score


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

    def __init__(self, supports: Supports, items: Any) -> None:
        self._items, self.classes, bits = items, supports.classes, supports.bits
        found = []
        for lower, own in enumerate(bits):
            above = lower + 1 + np.flatnonzero(~(own & ~bits[lower + 1 :]).any(axis=1))
            # Those that contain it come by size: the first covers it, and what contains the first does not.
            while above.size:
                found.append((lower, int(above[0])))
                above = above[(bits[above[0]] & ~bits[above]).any(axis=1)]
        self.covers = np.array(found, dtype=np.int64).reshape(-1, 2)
        self.levels: Rows = np.zeros(len(bits), dtype=np.int64)
        for lower, upper in found:
            self.levels[upper] = max(self.levels[upper], self.levels[lower] + 1)

    def __len__(self) -> int:
        return len(self.classes)

    def names(self, number: int) -> list[str]:
        """Return the names of a class's items."""
        return [self._items.name(row) for row in self.classes[number].tolist()]

    def __repr__(self) -> str:
        height, number = int(self.levels.max(initial=-1)) + 1, sum(map(len, self.classes))
        return f"<order of {len(self):,} classes of {number:,} items, {height} levels, {len(self.covers):,} covers>"

    def to_networkx(self) -> Any:
        """Return the Hasse diagram as a networkx.DiGraph: nodes are class numbers with `items` and `level`."""
        graph = require("networkx", extra="graph", purpose="A graph of relations").DiGraph()
        for number, level in enumerate(self.levels.tolist()):
            graph.add_node(number, items=self.names(number), level=level)
        graph.add_edges_from(self.covers.tolist())
        return graph


def _level_of(fitted: Fitted, likes: float) -> float:
    """Return what an item must be in an event to happen there: one half, or what rounds to a rating that is a like."""
    if fitted.psi.dtype == bool or fitted.training.is_binary:
        return 0.5
    points = fitted.points
    lower = int(np.searchsorted(points[1:], likes - _ROUNDING))
    return 0.5 * float(points[lower] + points[lower + 1]) if lower < points.size - 1 else np.inf
