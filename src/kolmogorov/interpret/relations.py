"""Logical relations between items, read off their supports.

X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i = 1, for
every user and whatever theta is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import to_frame
from kolmogorov._support.validation import Boolean, Integer, OneOf, Optional, Real, Requirement, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.evidence import Ballot, Evidence, check_likes, from_tables, joined
from kolmogorov.interpret.order import Order
from kolmogorov.interpret.supports import APART, COVERING, INSIDE, Supports

Pairs = NDArray[np.int64]
Convention = Literal["logic", "paper"]
KINDS = ("implication", "equivalence", "exclusion", "coverage")
_CODES = {"implication": INSIDE, "exclusion": APART, "coverage": COVERING}
# What a kind says of a pair (left, right), as (left yes, right yes), and which of it is the reverse reading.
_SAYS = {
    "implication": (True, True),
    "equivalence": (True, True),
    "exclusion": (True, False),
    "coverage": (False, True),
}
#: Pairs or rules that a call may hold at once unless it is told how many to keep.
_LIMIT = 20_000_000
#: Rules that may wait before the weakest are dropped.
_WAITING = 1 << 18
_PAIR_BYTES, _RULE_BYTES = 16, 96
_RULES: dict[str, Requirement] = {
    "min_support": Integer(0),
    "min_confidence": Real(0.0),
    "min_lift": Real(0.0),
    "max_p": Real(0.0),
    "max_rules": Optional(Integer(1)),
}


_DEFAULTS: dict[str, Any] = {
    "kinds": ("implication",),
    "contrapositives": False,
    "item": None,
    "min_support": 1,
    "min_confidence": 0.0,
    "min_lift": 0.0,
    "max_p": 1.0,
    "max_rules": None,
}


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
    >>> chosen = relations.evaluate(train, max_rules=3)
    >>> counted = relations.evaluate(test, rules=chosen)
    >>> list(counted.to_frame().columns[:5])
    ['kind', 'antecedents', 'consequents', 'support', 'held']
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
        _check_kinds((kind,))
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

    def evaluate(
        self,
        observations: Observations | None = None,
        likes: float = 0.6,
        *,
        rules: Evidence | None = None,
        kinds: Sequence[str] = ("implication",),
        contrapositives: bool = False,
        item: Any = None,
        min_support: int = 1,
        min_confidence: float = 0.0,
        min_lift: float = 0.0,
        max_p: float = 1.0,
        max_rules: int | None = None,
    ) -> Evidence:
        """Count on data how often each rule was seen and how often it held.

        A rule is judged on the users observed with both of its items. Its base rate is the share of yes (or no) of
        the consequent among all users observed with it. The p-value is Fisher's one-sided test among the users
        observed with both; `p_adjusted` is Bonferroni's correction for all rules judged, those that the limits
        remove included. To choose rules and to judge them, use different data: choose on the training data, and
        give the choice as `rules` to judge it on held-out data.

        Parameters
        ----------
        observations : Observations, optional
            Over the model's items; best data that the model was not trained on. By default its training data, on
            which any rule looks good.
        likes : float
            Values of at least this, on the probability scale, mean yes: 0.6 is 3 of 5 stars where p = stars / 5.
        rules : Evidence, optional
            Judge these rules instead of all, as they are; the options below do not apply.
        kinds : sequence of {"implication", "equivalence", "exclusion", "coverage"}
            Equivalences, exclusions and coverages make two rules each.
        contrapositives : bool
            Judge "no to i ⇒ no to j" beside "yes to j ⇒ yes to i".
        item : id, optional
            Only rules about this item.
        min_support : int
            Pairs seen.
        min_confidence, min_lift, max_p : float
            Limits, applied while the rules stream by; `max_p` to the adjusted p-value.
        max_rules : int, optional
            Keep so many, the strongest.

        Returns
        -------
        Evidence
            Its `to_frame()` is the table.
        """
        limits = {
            "min_support": min_support,
            "min_confidence": min_confidence,
            "min_lift": min_lift,
            "max_p": max_p,
            "max_rules": max_rules,
        }
        check_parameters("evaluate", limits, _RULES)
        check_likes(likes)
        data = self._fitted.training if observations is None else observations
        if not isinstance(data, Observations):
            raise DataError(f"Rules are judged on Observations, got {type(data).__name__}.")
        if len(data) == 0:
            raise DataError("There is nothing to judge rules on: the observations are empty.")
        ballot = Ballot(self.items, data.rescaled(self._fitted.scale), likes)
        if rules is not None:
            self._check_rules(rules, {**limits, "kinds": kinds, "item": item, "contrapositives": contrapositives})
            return _again(ballot, rules)
        _check_kinds(kinds)
        kinds = tuple(dict.fromkeys(kinds))
        row = None if item is None else int(self._fitted.items.encode([item], "item")[0])
        if row is not None and row < 0:
            raise DataError(f"The model has no item {item!r}.")
        asked = self._size_asked(kinds, contrapositives)
        if max_rules is None and row is None and asked > _LIMIT:
            raise ParameterError(
                f"This asks for {asked:,} rules, about {asked * _RULE_BYTES / 1e9:.1f} GB. Give max_rules, fewer "
                "kinds, or a larger min_ratings in model.relations()."
            )
        kept: list[Evidence] = []
        waiting = judged = 0
        for part in self._judged(ballot, kinds, contrapositives, row):
            judged += len(part)
            with np.errstate(invalid="ignore"):
                good = part.support >= min_support
                good &= ~(part.confidence < min_confidence) & ~(part.lift < min_lift)
                # The correction can only grow as more rules are judged.
                good &= (part.p_value * judged <= max_p) | (max_p >= 1.0)
            kept.append(part.take(good))
            waiting += int(good.sum())
            if max_rules is not None and waiting > max(4 * max_rules, _WAITING):
                kept = [joined(kept, self.items).strongest(max_rules)]
                waiting = len(kept[0])
        whole = joined(kept, self.items).strongest(max_rules)
        whole = replace(whole, n_judged=judged)
        return whole if max_p >= 1.0 else whole.take(whole.p_adjusted <= max_p)

    def rules(self, observations: Observations | None = None, *, backend: str | None = None, **options: Any) -> Any:
        """Return rules as a data frame, strongest first, with mlxtend's column names where they fit.

        Parameters
        ----------
        observations : Observations, optional
            What to judge the rules on; see `evaluate`.
        backend : {"pandas", "polars", "pyarrow"}, optional
        **options
            As of `evaluate`; `max_rules` is 1000 unless given.

        Returns
        -------
        DataFrame
            kind, antecedents, consequents (titles; "not" before those that do not happen), support (pairs seen),
            held, confidence, base_rate, lift, strength (a cautious lift, which the rows are sorted by),
            p_value, p_adjusted.
        """
        return self.evaluate(observations, **{"max_rules": 1000, **options}).to_frame(backend)

    @cached_property
    def order(self) -> Order:
        """Equivalence classes ordered by implication, in the direction of logic whatever the convention."""
        return Order(self.supports, self.items, self._fitted.psi)

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

    def _check_rules(self, rules: Evidence, options: dict[str, Any]) -> None:
        if not isinstance(rules, Evidence):
            raise ParameterError(f"'rules' must be what evaluate() returned, got {type(rules).__name__}.")
        if rules.items != self.items:
            raise ParameterError("'rules' are about other items than this model's.")
        given = [name for name, value in options.items() if value != _DEFAULTS[name]]
        if given:
            raise ParameterError(f"Rules given as 'rules' are judged as they are; leave out {', '.join(given)}.")

    def _size_asked(self, kinds: Sequence[str], contrapositives: bool) -> int:
        twice = {"implication": 2 if contrapositives else 1}
        return sum(self.counts[kind] * twice.get(kind, 2) for kind in kinds)

    def _judged(
        self, ballot: Ballot, kinds: Sequence[str], contrapositives: bool, item: int | None
    ) -> Iterator[Evidence]:
        """Yield the rules of all kinds in blocks, both readings of a pair where it has two."""
        for kind in kinds:
            left_yes, right_yes = _SAYS[kind]
            for pairs in self.stream(kind):
                if item is not None:
                    pairs = pairs[(pairs == item).any(axis=1)]
                left, right = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
                tables = ballot.tables(left, right)
                yield from_tables(ballot, self.items, kind, left, right, tables, left_yes, right_yes)
                if kind == "implication" and not contrapositives:
                    continue
                # The other reading: equivalence the other way round, everything else by contraposition.
                other = (True, True) if kind == "equivalence" else (not right_yes, not left_yes)
                turned = np.ascontiguousarray(tables[:, [0, 2, 1, 3]])
                name = "contrapositive" if kind == "implication" else kind
                yield from_tables(ballot, self.items, name, right, left, turned, *other)


def _again(ballot: Ballot, rules: Evidence) -> Evidence:
    """Judge rules chosen before, in their order."""
    parts, places = [], []
    for says in ((True, True), (True, False), (False, True), (False, False)):
        which = np.flatnonzero((rules.antecedent_yes == says[0]) & (rules.consequent_yes == says[1]))
        left, right = rules.antecedent[which], rules.consequent[which]
        parts.append(from_tables(ballot, rules.items, "", left, right, ballot.tables(left, right), *says))
        places.append(which)
    whole = joined(parts, rules.items).take(np.argsort(np.concatenate(places), kind="stable"))
    return replace(whole, kind=rules.kind)


def _check_kinds(kinds: Any) -> None:
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise ParameterError(f"'kinds' must be a sequence of names such as ('implication',), got {kinds!r}.")
    for kind in kinds:
        if kind not in KINDS:
            raise ParameterError(f"A kind of relation is one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
