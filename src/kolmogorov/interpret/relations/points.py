"""Logical relations between items, read off their supports.

X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i = 1, for
every user and whatever theta is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.markup import card, note, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.validation import Boolean, Integer, OneOf, Optional, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.relations.order import Order
from kolmogorov.interpret.relations.supports import APART, COVERING, INSIDE, Supports
from kolmogorov.interpret.rules.counting import Answers
from kolmogorov.interpret.rules.selection import KINDS, Selection
from kolmogorov.interpret.rules.table import Rules

Pairs = NDArray[np.int64]
Convention = Literal["logic", "paper"]
_CODES = {"implication": INSIDE, "exclusion": APART, "coverage": COVERING}
_MEANING = {
    "implication": "yes to one ⇒ yes to the other",
    "equivalence": "yes to one ⇔ yes to the other",
    "exclusion": "yes to one ⇒ no to the other",
    "coverage": "no to one ⇒ yes to the other",
}
#: Pairs or rules that a call may hold at once unless it is told how many to keep.
_LIMIT = 20_000_000
_PAIR_BYTES, _RULE_BYTES = 16, 80


class Relations:
    """Implications, equivalences, exclusions and coverages among a model's items.

    Items never observed are left out, and so are the trivial ones: an item with every event is implied by all others
    (`always`), one with no event implies all others (`never`). Pairs are row numbers of `model.items_`.

    Parameters
    ----------
    fitted : Fitted
    trivial : bool, optional
        Keep the trivial items. By default they are left out, and kept in the paper's convention.
    min_ratings : int
        Leave out items that the model was trained on fewer observations of.
    convention : {"logic", "paper"}
        "paper" turns the implication round, as the paper prints it: supp(psi_j) ⊆ supp(psi_i) read as X_i = 1 ⇒ X_j
        = 1. `adjacency` and `influence` are then the paper's N and its influence score.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(train)
    >>> relations = model.relations()
    >>> ("feathers", "eggs") in relations.named(relations.implications)
    True
    >>> len(relations.rules(train, max_rules=3).on(test))
    3
    """

    def __init__(
        self,
        fitted: Fitted,
        *,
        trivial: bool | None = None,
        min_ratings: int = 1,
        convention: Convention = "logic",
    ) -> None:
        check_parameters(
            "Relations",
            {"trivial": trivial, "min_ratings": min_ratings, "convention": convention},
            {"trivial": Optional(Boolean()), "min_ratings": Integer(0), "convention": OneOf(("logic", "paper"))},
        )
        self._fitted = fitted
        self.items = fitted.items
        self.convention = convention
        size = fitted.psi.sum(axis=1)
        counts = fitted.item_counts
        considered = fitted.item_seen & (counts >= min_ratings)
        #: Items with every event and with none: they happen always and never.
        self.always = np.flatnonzero(considered & (size == fitted.n_events))
        self.never = np.flatnonzero(considered & (size == 0))
        if not (convention == "paper" if trivial is None else trivial):
            considered &= (size > 0) & (size < fitted.n_events)
        #: The items looked at.
        self.rows = np.flatnonzero(considered)

    @cached_property
    def supports(self) -> Supports:
        """The items' supports as bits, equal ones together."""
        return Supports(self._fitted.psi, self.rows)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each kind, counted without listing them."""
        sizes = np.diff(self.supports.indptr)
        inner = sizes * (sizes - 1) // 2
        found = {kind: self.supports.count(code) + int(inner[self._alike(kind)].sum()) for kind, code in _CODES.items()}
        found["equivalence"] = int(inner.sum())
        return {kind: found[kind] for kind in KINDS}

    @cached_property
    def implications(self) -> Pairs:
        """Pairs (j, i), supp(psi_j) a proper subset of supp(psi_i): X_j = 1 ⇒ X_i = 1, X_i = 0 ⇒ X_j = 0.

        In the paper's convention the pairs are (i, j).
        """
        return self._listed("implication")

    @cached_property
    def equivalences(self) -> Pairs:
        """Pairs (j, i), j < i, with equal supports: X_j = X_i."""
        return self._listed("equivalence")

    @cached_property
    def exclusions(self) -> Pairs:
        """Pairs (j, i), j < i, with disjoint supports: X_j = 1 ⇒ X_i = 0."""
        return self._listed("exclusion")

    @cached_property
    def coverages(self) -> Pairs:
        """Pairs (j, i), j < i, whose supports together hold every event: X_j = 0 ⇒ X_i = 1."""
        return self._listed("coverage")

    def stream(self, kind: str) -> Iterator[Pairs]:
        """Yield the pairs of a kind in blocks of about a million, so that any number of them can be gone through."""
        check_parameters("stream", {"kind": kind}, {"kind": OneOf(KINDS)})
        blocks = (
            self._within(self.supports.size >= 0)
            if kind == "equivalence"
            else chain(self.supports.pairs(_CODES[kind]), self._within(self._alike(kind)))
        )
        for left, right in blocks:
            if kind == "implication":
                yield np.column_stack([right, left] if self.convention == "paper" else [left, right])
            else:
                yield np.column_stack([np.minimum(left, right), np.maximum(left, right)])

    def named(self, pairs: Pairs) -> list[tuple[str, str]]:
        """Return pairs by the items' names."""
        name = self.items.name
        return [(name(j), name(i)) for j, i in pairs.tolist()]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return all relations as a data frame: kind, antecedent, consequent, and whether the pair is trivial."""
        odd = np.zeros(len(self.items), dtype=bool)
        odd[self.always] = odd[self.never] = True
        columns: dict[str, list[Any]] = {"kind": [], "antecedent": [], "consequent": [], "trivial": []}
        for kind in KINDS:
            pairs = self._listed(kind)
            names = self.named(pairs)
            columns["kind"] += [kind] * len(names)
            columns["antecedent"] += [left for left, _ in names]
            columns["consequent"] += [right for _, right in names]
            columns["trivial"] += np.any(odd[pairs], axis=1).tolist()
        return to_frame(columns, backend)

    def rules(
        self,
        observations: Observations | None = None,
        likes: float = 0.6,
        *,
        kinds: Sequence[str] = ("implication",),
        contrapositives: bool = False,
        item: Any = None,
        min_support: int = 1,
        min_confidence: float = 0.0,
        min_lift: float = 0.0,
        max_p: float = 1.0,
        max_rules: int | None = 1000,
    ) -> Rules:
        """Count on data how often each rule was seen and how often it held; return the strongest.

        Choose rules and judge them on different data: ``relations.rules(train).on(test)``.

        Parameters
        ----------
        observations : Observations, optional
            What to count on, by default the data that the model was trained on, where any rule looks good.
        likes : float
            Values of at least this, on the probability scale, mean yes: 0.6 is 3 of 5 stars where p = stars / 5.
        kinds : sequence of {"implication", "equivalence", "exclusion", "coverage"}
            Equivalences, exclusions and coverages make two rules each.
        contrapositives : bool
            Count "no to i ⇒ no to j" beside "yes to j ⇒ yes to i".
        item : id, optional
            Only rules about this item.
        min_support : int
            Pairs seen.
        min_confidence, min_lift, max_p : float
            Limits, applied while the rules stream by; `max_p` to the p-value adjusted for all rules counted.
        max_rules : int, optional
            Keep so many, the strongest; with None all.

        Returns
        -------
        Rules
            Strongest first.
        """
        wanted = Selection(likes, kinds, contrapositives, item, min_support, min_confidence, min_lift, max_p, max_rules)
        row = wanted.row_in(self.items)
        answers = Answers.for_model(self._fitted, observations, likes)
        twice = {"implication": 2 if contrapositives else 1}
        asked = sum(self.counts[kind] * twice.get(kind, 2) for kind in wanted.kinds)
        if max_rules is None and row is None and asked > _LIMIT:
            raise ParameterError(
                f"This asks for {asked:,} rules, about {asked * _RULE_BYTES / 1e9:.1f} GB. Give max_rules, fewer "
                "kinds, or a larger min_ratings in model.relations()."
            )
        return wanted.strongest(self._counted(answers, wanted, row), answers)

    @cached_property
    def order(self) -> Order:
        """Equivalence classes ordered by implication, in the direction of logic whatever the convention."""
        return Order(self.supports, self.items, self._fitted.psi)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{count:,} {kind}s" for kind, count in self.counts.items())
        return f"<relations among {len(self.rows):,} items: {numbers}>"

    def _repr_html_(self) -> str:
        kinds: dict[str, list[Any]] = {"kind": list(self.counts), "pairs": list(self.counts.values())}
        kinds["meaning"] = [_MEANING[kind] for kind in self.counts]
        trivial = f"{len(self.always):,} more happen always, {len(self.never):,} never"
        return card(f"Relations among {len(self.rows):,} items", table(kinds), note(trivial))

    def adjacency(self) -> NDArray[np.bool_]:
        """Return the matrix of implications among `rows`: [j, i] tells whether j implies i, itself included.

        In the paper's convention it is the paper's N: N(i, j) = 1 where supp(psi_j) ⊆ supp(psi_i).
        """
        n = len(self.rows)
        if n * n > 1 << 31:
            raise ParameterError(f"The matrix of {n:,} items has {n * n:,} entries. Use stream('implication').")
        psi = self._fitted.psi[self.rows].astype(np.float32)
        inside: NDArray[np.bool_] = psi @ psi.T == psi.sum(axis=1)[:, None]
        return inside.T if self.convention == "paper" else inside

    @cached_property
    def influence(self) -> NDArray[np.float64]:
        """By item, the share of the items looked at that it implies, itself included; nan for items left out."""
        psi = self._fitted.psi
        supports = self.supports if self.convention == "logic" else Supports(~psi, self.rows)
        implied = supports.later(INSIDE) + np.diff(supports.indptr)
        score = np.full(len(self.items), np.nan)
        score[supports.members] = implied[supports.class_of] / max(len(self.rows), 1)
        return score

    def _alike(self, kind: str) -> NDArray[np.bool_]:
        """Tell in which classes a relation holds between any two items: empty supports exclude, full ones cover."""
        size = self.supports.size
        if kind == "exclusion":
            return size == 0
        return (size == self.supports.n_events) & (kind == "coverage")

    def _within(self, classes: NDArray[np.bool_]) -> Iterator[tuple[Any, Any]]:
        """Yield pairs within classes, a class (or a part of a large one) at a time."""
        supports = self.supports
        for number in np.flatnonzero(classes & (np.diff(supports.indptr) > 1)).tolist():
            members = supports.items_of(number)
            block = max(1, (1 << 20) // len(members))
            for first in range(0, len(members), block):
                j, i = np.nonzero(members[first : first + block, None] < members[None, :])
                yield members[first + j], members[i]

    def _listed(self, kind: str) -> Pairs:
        asked = self.counts[kind]
        if asked > 5 * _LIMIT:
            raise ParameterError(
                f"There are {asked:,} pairs of kind {kind}, about {asked * _PAIR_BYTES / 1e9:.1f} GB. Go through them "
                f"with stream({kind!r}), or keep the strongest with rules(max_rules=...)."
            )
        blocks = list(self.stream(kind))
        return np.concatenate(blocks) if blocks else np.empty((0, 2), dtype=np.int64)

    def _counted(self, answers: Answers, wanted: Selection, item: int | None) -> Iterator[Rules]:
        """Yield the rules of all kinds in blocks, both readings of a pair where it has two."""
        for kind in wanted.kinds:
            for pairs in self.stream(kind):
                if item is not None:
                    pairs = pairs[(pairs == item).any(axis=1)]
                left, right = np.ascontiguousarray(pairs.T)
                tables = answers.tables(left, right)
                yield Rules.counted(answers, kind, left, right, tables=tables)
                if kind == "implication" and not wanted.contrapositives:
                    continue
                # The other reading: equivalence the other way round, everything else by contraposition.
                other = "contrapositive" if kind == "implication" else kind
                yield Rules.counted(answers, other, right, left, tables=tables[:, [0, 2, 1, 3]])
