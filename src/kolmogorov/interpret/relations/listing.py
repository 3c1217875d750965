"""Logical relations between items, read off what one model says of them.

Of yes and no, X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i
= 1, for every user and whatever theta is. Every threshold of a many-valued model makes such a model of yes and no:
{x_j >= a} ⊆ {x_i >= b} gives X_j >= a ⇒ X_i >= b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from kolmogorov._support.optional import to_frame
from kolmogorov._support.validation import Boolean, Integer, OneOf, Optional, check_parameters
from kolmogorov.errors import ParameterError
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.relations.nested import NestedSupports
from kolmogorov.interpret.relations.supports import Supports
from kolmogorov.interpret.relations.thresholds import Thresholds
from kolmogorov.interpret.rules.counting import KINDS, PAIR, Pairs, pairs_of, statements

Convention = Literal["logic", "paper"]
#: Pairs that a call may hold at once: about 2 GB. By judgement.
_MOST_PAIRS = 100_000_000


class Listing:
    """What supports say of pairs of items; `Relations` says what the parameters are."""

    def __init__(
        self,
        fitted: Fitted,
        *,
        trivial: bool | None = None,
        min_ratings: int = 1,
        convention: Convention = "logic",
        thresholds: Thresholds | None = None,
    ) -> None:
        check_parameters(
            "relations",
            {"trivial": trivial, "min_ratings": min_ratings, "convention": convention},
            {"trivial": Optional(Boolean()), "min_ratings": Integer(0), "convention": OneOf(("logic", "paper"))},
        )
        self._fitted = fitted
        self.items = fitted.items
        self.convention = convention
        self.thresholds = Thresholds.of(fitted) if thresholds is None else thresholds
        if len(self.thresholds) != 1 and (trivial is not None or convention != "logic"):
            raise ParameterError("'trivial' and 'convention' go with models of two levels, and this one has others.")
        self._bits = self.thresholds.bits(fitted.psi)
        size = self._bits.sum(axis=2)
        considered = self._considered = fitted.item_seen & (fitted.item_counts >= min_ratings)
        self.always = np.flatnonzero(considered & (size == fitted.n_events).all(axis=1))
        self.never = np.flatnonzero(considered & (size == 0).all(axis=1))
        telling = (size > 0) & (size < fitted.n_events)
        # Of an item's thresholds that are reached in the same events, the highest says most.
        telling[:, :-1] &= size[:, :-1] > size[:, 1:]
        if convention == "paper" if trivial is None else trivial:
            telling[:] = True
        telling &= considered[:, None]
        self.rows = np.flatnonzero(telling.any(axis=1))
        self._statements = np.flatnonzero(telling)

    @cached_property
    def supports(self) -> Supports:
        """The statements' supports as bits, equal ones together.

        Statement number item * T + t is that the item reaches threshold t of T; with one threshold it is the item's.
        """
        return Supports(self._bits.reshape(-1, self._fitted.n_events), self._statements)

    @cached_property
    def _nested(self) -> NestedSupports:
        return NestedSupports(self._bits, self.rows)

    def _lister(self, kind: str) -> Supports | NestedSupports:
        check_parameters("relations", {"kind": kind}, {"kind": OneOf(KINDS)})
        return self.supports if len(self.thresholds) == 1 or kind == "equivalence" else self._nested

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each kind, counted without listing them."""
        return {kind: self._lister(kind).count(kind) for kind in KINDS}

    def stream(self, kind: str = "implication", min_probability: float = 0.5) -> Iterator[Pairs]:
        """Yield the pairs of a kind in blocks of about a million, so that any number of them can be gone through."""
        n = len(self.thresholds)
        for left, right in self._lister(kind).pairs(kind):
            if kind != "implication":
                left, right = np.minimum(left, right), np.maximum(left, right)
            elif self.convention == "paper":
                left, right = right, left
            yield pairs_of(left // n, right // n, left % n, right % n)

    def pairs(self, kind: str, min_probability: float = 0.5) -> Pairs:
        """Return all pairs of a kind.

        Parameters
        ----------
        kind : {"implication", "equivalence", "exclusion", "coverage"}
        min_probability : float
            Of draws, the least share of them in which a relation holds. A single model holds all that it says.

        Returns
        -------
        array of named columns
            Items `antecedent` and `consequent` by their rows in `model.items_`, and their thresholds by number from 0,
            `antecedent_at` and `consequent_at`; of draws the `probability` too, most probable first.
        """
        asked = self._lister(kind).count(kind)
        if asked > _MOST_PAIRS:
            raise ParameterError(
                f"There are {asked:,} pairs of kind {kind}, about {asked * PAIR.itemsize / 1e9:.1f} GB. Go through "
                f"them with stream({kind!r}), or keep the strongest with rules(max_rules=...)."
            )
        blocks = list(self.stream(kind, min_probability))
        return np.concatenate(blocks) if blocks else np.empty(0, dtype=PAIR)

    def implications(self, min_probability: float = 0.5) -> Pairs:
        """Return `pairs` (j, i), supp(psi_j) a proper subset of supp(psi_i): X_j = 1 ⇒ X_i = 1, X_i = 0 ⇒ X_j = 0.

        In the paper's convention they are (i, j). With several thresholds supports may also be equal.
        """
        return self.pairs("implication", min_probability)

    def equivalences(self, min_probability: float = 0.5) -> Pairs:
        """Return `pairs` (j, i), j < i, with equal supports: X_j = X_i."""
        return self.pairs("equivalence", min_probability)

    def exclusions(self, min_probability: float = 0.5) -> Pairs:
        """Return `pairs` (j, i), j < i, with disjoint supports: X_j = 1 ⇒ X_i = 0."""
        return self.pairs("exclusion", min_probability)

    def coverages(self, min_probability: float = 0.5) -> Pairs:
        """Return `pairs` (j, i), j < i, whose supports together hold every event: X_j = 0 ⇒ X_i = 1."""
        return self.pairs("coverage", min_probability)

    @property
    def _ratings(self) -> Any:
        """The thresholds in rating units, where statements say them."""
        return self._fitted.scale.rating(self.thresholds.ratings) if self.thresholds.said else None

    def named(self, pairs: Pairs) -> list[tuple[str, str]]:
        """Return pairs in words: the items' names, and thresholds in rating units where there are several."""
        sides = [
            statements(self.items, self._ratings, pairs[side], pairs[f"{side}_at"], True)
            for side in ("antecedent", "consequent")
        ]
        return list(zip(*sides, strict=True))

    def to_frame(
        self, backend: str | None = None, *, kinds: Sequence[str] = KINDS, min_probability: float = 0.5
    ) -> Any:
        """Return relations as a data frame: kind, antecedent, consequent, and whether the pair is trivial.

        Where statements say their thresholds, `antecedent_at` and `consequent_at` are these in rating units; of draws
        there is the `probability`.
        """
        found = [self.pairs(kind, min_probability) for kind in kinds]
        pairs, name, ratings = np.concatenate(found), self.items.name, self._ratings
        odd = np.zeros(len(self.items), dtype=bool)
        odd[self.always] = odd[self.never] = True
        columns: dict[str, Any] = {"kind": np.repeat([*kinds], [*map(len, found)]).tolist()}
        for side in ("antecedent", "consequent"):
            columns[side] = [name(row) for row in pairs[side].tolist()]
            if ratings is not None:
                columns[f"{side}_at"] = ratings[pairs[f"{side}_at"]]
        columns["trivial"] = odd[pairs["antecedent"]] | odd[pairs["consequent"]]
        if "probability" in (pairs.dtype.names or ()):
            columns["probability"] = pairs["probability"]
        return to_frame(columns, backend)
