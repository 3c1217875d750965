"""The relations between items that one model states: asked, listed, counted and drawn.

Of yes and no, X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i
= 1, for every user and whatever theta is. Every threshold of a many-valued model makes such a model of yes and no:
{x_j >= a} ⊆ {x_i >= b} gives X_j >= a ⇒ X_i >= b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.markup import card, note, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.validation import BOOLEAN, NONE, check_parameters, integer, one_of
from kolmogorov.data import Observations
from kolmogorov.descent.fitted import Fitted
from kolmogorov.errors import ParameterError
from kolmogorov.interpret.relations.order import Order
from kolmogorov.interpret.relations.supports import NestedSupports, Supports, Thresholds
from kolmogorov.interpret.rules.counting import KINDS, PAIR, Counting, Pairs, pairs_of, statements, turned
from kolmogorov.interpret.rules.judging import Compared, Judged
from kolmogorov.interpret.rules.selection import Selection, judged_rules, known_row, stated_by
from kolmogorov.interpret.rules.table import Rules

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
            {"trivial": BOOLEAN | NONE, "min_ratings": integer(0), "convention": one_of(("logic", "paper"))},
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
        check_parameters("relations", {"kind": kind}, {"kind": one_of(KINDS)})
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


_MEANING = {
    "implication": "yes to one ⇒ yes to the other",
    "equivalence": "yes to one ⇔ yes to the other",
    "exclusion": "yes to one ⇒ no to the other",
    "coverage": "no to one ⇒ yes to the other",
}


class Relations(Listing):
    """Implications, equivalences, exclusions and coverages among a model's items.

    They are between statements. Where there are two levels, or the data are yes and no, a statement is that an item
    happens: there is one threshold. With more levels it is that an item reaches one of several thresholds; between two
    items those relations are listed from which the others follow.

    Items never observed are left out, and so is what is trivial: what holds in every event is implied by all, and what
    holds in none implies all.

    Parameters
    ----------
    fitted : Fitted
    trivial : bool, optional
        Keep trivial items. By default they are left out, and kept in the paper's convention.
    min_ratings : int
        Leave out items that the model was trained on fewer observations of.
    convention : {"logic", "paper"}
        "paper" turns the implication round, as the paper prints it: supp(psi_j) ⊆ supp(psi_i) read as X_i = 1 ⇒ X_j
        = 1. `adjacency` and `influence` are then the paper's N and its influence score.
    thresholds : Thresholds, optional
        By default those that tell the ratings of the training data apart.

    Attributes
    ----------
    rows : int64[n]
        The items looked at.
    always, never : int64[n]
        Items that reach every threshold in every event, and none in any.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(train)
    >>> relations = model.relations()
    >>> ("feathers", "eggs") in relations.named(relations.implications())
    True
    >>> len(relations.rules(train, max_rules=3).on(test))
    3

    >>> ratings = [[1, 1, 2], [2, 3, 5], [4, 5, 5], [5, 5, 5], [1, 2, 2], [3, 4, 5]]
    >>> table = km.Observations.from_dense(ratings, maximum=5)
    >>> model = km.KolmogorovModel(2, psi="soft", user_reg=0.1, n_init=5, random_state=0).fit(table)
    >>> print(model.relations().rules(max_rules=1))
    No rule is supported by these data. 0 pairs of items were looked at.
    >>> ("0 >= 2", "2 >= 5") in model.relations().named(model.relations().implications())
    True
    """

    def rules(
        self,
        observations: Observations | None = None,
        likes: float | None = None,
        *,
        kinds: Sequence[str] = ("implication",),
        contrapositives: bool = False,
        item: Any = None,
        supported: bool = True,
        min_probability: float | None = None,
        min_support: int | None = None,
        min_confidence: float | None = None,
        min_lift: float | None = None,
        max_p: float | None = None,
        max_rules: int | None = 1000,
        max_antecedents: int = 1,
    ) -> Rules:
        """Return the rules between items that the data support, or with `supported=False` all that the model says.

        A rule is supported if it holds more often than its users' general readiness to say yes explains. All pairs of
        items are looked at, whatever the model says of them, and p-values are corrected for all of them. How rules fare
        on data that they were not chosen on: ``relations.rules(train).on(test)``.

        Parameters
        ----------
        observations : Observations, optional
            What to count on, by default the data that the model was trained on.
        likes : float, optional
            Values of at least this, on the probability scale, mean yes; by default the smallest rating that at most
            about half of the training data reach, such as 4 of 5 stars. With several thresholds and
            ``supported=False``, only rules both of whose thresholds are at least this; by default all.
        kinds : sequence of {"implication", "equivalence", "exclusion", "coverage"}
            Equivalences, exclusions and coverages make two rules each.
        contrapositives : bool
            Count "no to i ⇒ no to j" beside "yes to j ⇒ yes to i".
        item : id or title, optional
            Only rules about this item; p-values are corrected for all pairs nevertheless.
        supported : bool
            Keep what the data support. With False: what the supports in the model say, at every threshold.
        min_probability : float, optional
            Of draws, the least share of them in which a rule holds; by default 0.1, and 0.5 of all that the model says.
            With several thresholds it has to hold at its very thresholds, so that few rules are nearly certain.
        min_support : int, optional
            Pairs seen; by default 5, and 1 of all that the model says.
        min_confidence, min_lift, max_p : float, optional
            Limits; `max_p` to the p-value adjusted for all that was looked at. By default a confidence of 0.5, a lift
            above 1 and a p-value of 0.05, and none of all that the model says.
        max_rules : int, optional
            Keep so many, the strongest; with None all.
        max_antecedents : int
            Up to 3: also rules "A and B ⇒ C" that are supported at 5%, where every antecedent adds something to what
            the others say. Each holds more often than the supported rules that it contains. `Rules.basis` shortens the
            list.

        Returns
        -------
        Rules
            By how much oftener than the base rate they hold at least, the strongest first; of all that draws say the
            most probable first.
        """
        limits = (supported, min_probability, min_support, min_confidence, min_lift, max_p, max_rules, max_antecedents)
        wanted = Selection(likes, kinds, contrapositives, item, *limits)
        row = None if item is None else known_row(self.items, item)
        thresholds, fitted = self.thresholds, self._fitted
        least = fitted.likes if likes is None else likes
        said = not fitted.training.is_binary
        liked = Counting.for_model(fitted, observations, np.array([least]), said)
        if supported:
            found = judged_rules(liked, wanted, self._considered, row)
            return wanted.chosen(self._stated(found[wanted.counts(found)], wanted, least))[:max_rules]
        if max_rules is None and row is None:
            wanted.check_number(self.counts)
        counting = liked
        if thresholds.said:
            counting = Counting.for_model(fitted, observations, thresholds.ratings, True)
        judged = liked.judged(self._considered)
        found = self._ranked(self._counted(counting, judged, wanted, row), wanted, counting)
        return replace(found, n_judged=judged.number)

    def _stated(self, rules: Rules, wanted: Selection, likes: float) -> Rules:
        """Say of each rule whether the model says the same of the items being liked."""
        at = self.thresholds.least(likes)
        bits = self._bits[:, at] if at < len(self.thresholds) else np.zeros_like(self._fitted.psi, dtype=bool)
        return stated_by(bits, rules, wanted.kinds)

    def _counted(self, counting: Counting, judged: Judged, wanted: Selection, item: int | None) -> Iterator[Rules]:
        """Yield the rules of all kinds in blocks, both readings of a pair where it has two."""
        least = self.thresholds.least(wanted.likes)
        likes = self._fitted.likes if wanted.likes is None else wanted.likes
        for kind in wanted.kinds:
            for pairs in self.stream(kind, wanted.min_probability):
                pairs = wanted.about(pairs, item, least)
                compared = counting.compared(pairs)
                yield self._corrected(Rules.counted(counting, kind, pairs, compared), compared, judged, likes)
                if kind == "implication" and not wanted.contrapositives:
                    continue
                # The other reading: equivalence the other way round, everything else by contraposition.
                other = "contrapositive" if kind == "implication" else kind
                rules = Rules.counted(counting, other, turned(pairs), compared.turned())
                yield self._corrected(rules, compared, judged, likes)

    def _corrected(self, rules: Rules, compared: Compared, judged: Judged, likes: float) -> Rules:
        """Correct p-values for all that was looked at: pairs of items, at every threshold of either.

        A rule that says of both items that they are liked has the p-value that it has among the supported ones.
        """
        at = rules.terms.thresholds
        like = np.isclose(at, likes, rtol=0.0)
        times = np.where(like[rules.antecedent_at] & like[rules.consequent_at], 1, len(at) ** 2)
        together, weights = rules.antecedent_yes == rules.consequent_yes, compared.departures.weights
        return replace(rules, p_adjusted=judged.adjusted(together, rules.p_value, weights, times))

    def _ranked(self, parts: Iterator[Rules], wanted: Selection, counting: Counting) -> Rules:
        """Return the rules to keep, best first."""
        return wanted.strongest(parts, counting)

    @cached_property
    def order(self) -> Order:
        """Equivalence classes ordered by implication, in the direction of logic whatever the convention."""
        return Order(self.supports, self._statement_name)

    def _statement_name(self, number: int) -> str:
        row, at = divmod(np.array([number]), len(self.thresholds))
        return statements(self.items, self._ratings, row, at, True)[0]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{count:,} {kind}s" for kind, count in self.counts.items())
        return f"<relations among {len(self.rows):,} items: {numbers}>"

    def _repr_html_(self) -> str:
        kinds = {"kind": KINDS, "pairs": self.counts.values(), "meaning": map(_MEANING.get, KINDS)}
        trivial = f"{len(self.always):,} more happen always, {len(self.never):,} never"
        return card(f"Relations among {len(self.rows):,} items", table(kinds), note(trivial))

    def adjacency(self) -> NDArray[np.bool_]:
        """Return the matrix of implications among the statements looked at: whether j implies i, itself included.

        With one threshold these are those of `rows`. In the paper's convention the matrix is the paper's N: N(i, j) = 1
        where supp(psi_j) ⊆ supp(psi_i).
        """
        n = len(self._statements)
        if n * n > 1 << 31:
            raise ParameterError(f"The matrix of {n:,} items has {n * n:,} entries. Use stream('implication').")
        psi = self._bits.reshape(-1, self._fitted.n_events)[self._statements].astype(np.float32)
        inside: NDArray[np.bool_] = psi @ psi.T == psi.sum(axis=1)[:, None]
        return inside.T if self.convention == "paper" else inside

    @cached_property
    def influence(self) -> NDArray[np.float64]:
        """By statement (item, with one threshold), the share of all that it implies; nan for those left out."""
        paper = self.convention == "paper"
        supports = Supports(~self._bits[:, 0], self._statements) if paper else self.supports
        implied = supports.later("implication") + np.diff(supports.indptr)
        score = np.full(self._bits.shape[0] * self._bits.shape[1], np.nan)
        score[supports.members] = implied[supports.class_of] / max(len(self._statements), 1)
        return score
