"""What a model states of its items: the paper's relations between supports, and rules that data confirm.

X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i = 1, for every
user and whatever theta is. Of soft psi the support is where the item is at least one half; of ratings, where it is
nearer to a like than to the rating below. A rule asks for something else: that people who are likely to like j are, by
what the model predicts, more likely than everybody to like i.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from kolmogorov._support.display import card, note, table
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import NONE, check_parameters, integer, one_of
from kolmogorov.data import Observations
from kolmogorov.descent.fitted import Fitted
from kolmogorov.errors import ParameterError
from kolmogorov.interpret.mining import confirmed
from kolmogorov.interpret.readiness import Bits
from kolmogorov.interpret.rules import FLAGS, MOST_ANTECEDENTS, SAYS, THRESHOLD, Counting, Rules

#: The kinds of relations between two supports, and what each says.
KINDS = {
    "implication": "yes to one ⇒ yes to the other",
    "equivalence": "yes to one ⇔ yes to the other",
    "exclusion": "yes to one ⇒ no to the other",
    "coverage": "no to one ⇒ yes to the other",
}
# Ratings come through divisions.
_ROUNDING = 1e-9
#: Users that stand for all where it is asked what the model predicts on average, and predictions at once. By judgement.
_USERS, _LIFTS = 1 << 15, 1 << 22
#: Pairs of classes in a block, some dozens of megabytes; pairs that a call may hold, about 2 GB. By judgement.
_BLOCK, _MOST_PAIRS = 1 << 20, 100_000_000


class Supports:
    """The supports of some items (`rows`) as bits, bool[n_items, n_events], equal ones together.

    Its own `bits` are the distinct supports, and `classes` the items of each; `class_of` says it of each of `rows`.

    Examples
    --------
    >>> supports = Supports(np.array([[1, 0], [1, 1], [1, 0]], dtype=bool), np.arange(3))
    >>> [members.tolist() for members in supports.classes]
    [[0, 2], [1]]
    >>> supports.pairs("implication").tolist()
    [[0, 1], [2, 1]]
    """

    def __init__(self, bits: Bits, rows: Rows) -> None:
        self.bits, self.class_of, self.sizes = np.unique(bits[rows], axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(self.class_of, kind="stable")
        self.rows, self.classes = rows, np.split(rows[order], np.cumsum(self.sizes)[:-1])

    def related(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        """Yield the related classes in blocks; of relations that go both ways each pair once, and those to itself."""
        # Each relation says that sets have nothing in common, of which some are complements.
        words, others = self.bits.astype(np.float32), (~self.bits).astype(np.float32)
        x, y = {"exclusion": (words, words), "coverage": (others, others)}.get(kind, (words, others))
        step = max(1, _BLOCK // max(len(x), 1))
        for first in range(0, len(x), step):
            apart = x[first : first + step] @ y.T == 0.0
            same = np.eye(len(apart), len(x), first, dtype=bool)
            left, right = np.nonzero(
                {"implication": apart & ~same, "equivalence": same}.get(kind, np.triu(apart, first))
            )
            yield left + first, right

    def count(self, kind: str) -> int:
        """Return the number of related pairs of items."""
        size, number = self.sizes, 0
        for left, right in self.related(kind):
            number += int(np.where(left == right, size[left] * (size[left] - 1) // 2, size[left] * size[right]).sum())
        return number

    def pairs(self, kind: str) -> Rows:
        """Return the related pairs of items, int64[n, 2]; one that implies another stands first, else the lower row."""
        found = [np.empty((0, 2), dtype=np.int64)]
        for left, right in self.related(kind):
            for one, other in zip(left.tolist(), right.tolist(), strict=True):
                mine, theirs = self.classes[one], self.classes[other]
                pairs = np.column_stack([np.repeat(mine, len(theirs)), np.tile(theirs, len(mine))])
                found.append(pairs[pairs[:, 0] < pairs[:, 1]] if one == other else pairs)
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
    >>> ("feathers", "eggs") in zip(*relations.counted(test).names())
    True
    """

    def __init__(self, fitted: Fitted, *, likes: float | None = None, min_ratings: int = 1) -> None:
        limits = {"likes": THRESHOLD | NONE, "min_ratings": integer(0)}
        check_parameters("relations", {"likes": likes, "min_ratings": min_ratings}, limits)
        self._fitted, self.items = fitted, fitted.items
        self.likes = fitted.likes if likes is None else likes
        self.level = _level_of(fitted, self.likes)
        # What another sample of chains does not have states nothing.
        self._stable = fitted.lost.all() | ~fitted.lost
        self._bits: Bits = (fitted.psi >= self.level)[:, self._stable]
        self._considered = fitted.item_seen & (fitted.item_counts >= min_ratings)
        always, never = self._bits.all(axis=1), ~self._bits.any(axis=1)
        self.always, self.never = np.flatnonzero(self._considered & always), np.flatnonzero(self._considered & never)
        self.rows = np.flatnonzero(self._considered & ~(always | never))

    @cached_property
    def _supports(self) -> Supports:
        return Supports(self._bits, self.rows)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each kind, counted without listing them."""
        return {kind: self._supports.count(kind) for kind in KINDS}

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
        return self._supports.pairs(kind)

    def counted(
        self, observations: Observations | None = None, kind: str = "implication", *, turned: bool = False
    ) -> Rules:
        """Count all that the model states of one kind, whatever the data say; by default on the training data.

        With `turned` from the second to the first, as the paper prints implications.
        """
        pairs, counting = self.pairs(kind), Counting.for_model(self._fitted, observations, self.likes)
        pairs, code = pairs[:, ::-1] if turned else pairs, list(SAYS).index(kind) if kind in SAYS else 0
        lift = self._lift(np.full(len(pairs), code), pairs[:, :1], pairs[:, 1])
        return Rules.counted(counting, code, pairs[:, :1], pairs[:, 1], lift)

    def rules(self, observations: Observations | None = None, *, max_antecedents: int = 1) -> Rules:
        """Return the rules that the model states and that data confirm: `model.rules`, which says more."""
        asked = {"max_antecedents": max_antecedents}
        check_parameters("rules", asked, {"max_antecedents": integer(1, MOST_ANTECEDENTS)})
        counting = Counting.for_model(self._fitted, observations, self.likes)
        return confirmed(counting, self._considered, max_antecedents, self._lift)

    def _lift(self, code: Rows, sides: Rows, ends: Rows) -> Floats:
        """Return how many times as often as for everybody the consequent is so where the antecedents are, by the model.

        Everybody counts as far as they are likely to have the antecedents: with p what the model predicts,
        mean(p_j p_i) / (mean(p_j) mean(p_i)) over the users.
        """
        seen, found = np.flatnonzero(self._fitted.user_seen), np.empty(len(ends))
        theta = self._fitted.theta[seen[np.linspace(0, seen.size - 1, min(seen.size, _USERS)).astype(np.int64)]]
        psi, share, step = self._fitted.psi.astype(np.float64), theta.mean(axis=0), max(1, _LIFTS // len(theta))
        for first in range(0, len(ends), step):
            some = slice(first, first + step)
            left, right = (flag[:, None] for flag in FLAGS[code[some]].T)
            so = np.where(right, psi[ends[some]], 1.0 - psi[ends[some]])
            given = theta @ np.where(left, psi[sides[some, 0]], 1.0 - psi[sides[some, 0]]).T
            for more in sides[some, 1:].T:
                given *= theta @ psi[more].T
            both = (given.T @ theta / len(theta) * so).sum(axis=1)
            usual = given.mean(axis=0) * (so @ share)
            found[some] = np.where(usual > 0.0, both / np.where(usual > 0.0, usual, 1.0), 1.0)
        return found

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
        """The paper's influence score (21) by item: the share of items whose supports lie in its own; nan if left out.

        It is the mean of a row of `adjacency`, itself and trivial items included.
        """
        supports = Supports(self._bits, np.flatnonzero(self._considered))
        inside = supports.sizes.copy()
        for left, right in supports.related("implication"):
            np.add.at(inside, right, supports.sizes[left])
        score = np.full(len(self.items), np.nan)
        score[supports.rows] = inside[supports.class_of] / max(len(supports.rows), 1)
        return score


def _level_of(fitted: Fitted, likes: float) -> float:
    """Return what an item must be in an event to happen there: one half, or what rounds to a rating that is a like."""
    if fitted.psi.dtype == bool or fitted.training.is_binary:
        return 0.5
    points = fitted.points
    lower = int(np.searchsorted(points[1:], likes - _ROUNDING))
    return 0.5 * float(points[lower] + points[lower + 1]) if lower < points.size - 1 else np.inf
