"""The relations between items that supports state: asked, listed, ordered and counted, of one model and of draws.

X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i = 1, for every
user and whatever theta is. Of soft psi the support is where the item is at least one half; of ratings, where it is
nearer to a like than to the rating below.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.markup import card, note, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import BOOLEAN, NONE, Requirement, check_parameters, integer, one_of, real
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import ParameterError, UnknownIdError
from kolmogorov.interpret.counting import KINDS, THRESHOLD, Counting
from kolmogorov.interpret.judging import MOST_ANTECEDENTS
from kolmogorov.interpret.mining import SAID, JudgedPairs, Limits, none_of, supported_rules
from kolmogorov.interpret.readiness import Bits
from kolmogorov.interpret.rules import Rules
from kolmogorov.interpret.supports import Order, Supports, sides_of
from kolmogorov.models.ids import id_of

Convention = Literal["logic", "paper"]
#: Named columns: items by their rows, and of draws the share of them in which the relation holds.
Pairs = NDArray[np.void]
# Ratings come through divisions, and values of draws are in single precision.
_ROUNDING, _SINGLE = 1e-9, 1e-6
#: Pairs, and rules, that a call may hold at once: about 2 GB. By judgement.
_MOST_PAIRS, _MOST_RULES = 100_000_000, 20_000_000
_MEANING = {
    "implication": "yes to one ⇒ yes to the other",
    "equivalence": "yes to one ⇔ yes to the other",
    "exclusion": "yes to one ⇒ no to the other",
    "coverage": "no to one ⇒ yes to the other",
}


def pairs_of(left: Rows, right: Rows, probability: Floats | None = None) -> Pairs:
    """Return pairs of items as named columns."""
    columns = {"antecedent": left, "consequent": right} | ({} if probability is None else {"probability": probability})
    pairs = np.empty(len(left), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        pairs[name] = column
    return pairs


def known_row(items: Vocabulary, item: Any) -> int:
    """Return the row number of an item, given by its id or title."""
    row = int(items.encode([id_of(items, item, "item")], "item")[0])
    if row < 0:
        raise UnknownIdError(f"The model has no item {item!r}.{items.suggestion(item)}")
    return row


_REQUIREMENTS: dict[str, Requirement] = {
    "likes": THRESHOLD | NONE,
    "kinds": Requirement(
        f"a sequence of names, each one of {', '.join(map(repr, KINDS))}",
        lambda value: isinstance(value, Collection) and not isinstance(value, str) and all(k in KINDS for k in value),
    ),
    "contrapositives": BOOLEAN,
    "supported": BOOLEAN,
    "min_probability": real(0.0, 1.0) | NONE,
    "min_support": integer(0) | NONE,
    "min_confidence": real(0.0) | NONE,
    "min_lift": real(0.0) | NONE,
    "max_p": real(0.0) | NONE,
    "max_rules": integer(1) | NONE,
    "max_antecedents": integer(1, MOST_ANTECEDENTS),
}


class Relations:
    """Implications, equivalences, exclusions and coverages among a model's items.

    Made by `model.relations(...)`, which says what most parameters are. Items never observed are left out, and so is
    what is trivial: what holds in every event is implied by all, and what holds in none implies all. In the paper's
    convention supp(psi_j) ⊆ supp(psi_i) is read as X_i = 1 ⇒ X_j = 1; `adjacency` and `influence` are then the paper's
    N and its influence score, and trivial items are kept.

    Draws share no events, but the supports of one draw are sets of the same events: a relation has a posterior
    probability, the share of draws in which it holds. Which of the very many pairs to look at is for the one model that
    stands for the draws to say: its relations are the candidates.

    Parameters
    ----------
    fitted : Fitted
        Of draws the one model that stands for them.
    posterior : Posterior, optional
        The draws.
    level : float, optional
        By default one half, and of soft psi of ratings where it is nearer to a like than to the rating below.

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
    >>> ("feathers", "eggs") in relations.named(relations.implications())
    True
    >>> len(relations.rules(train, max_rules=3).on(test))
    3
    """

    def __init__(
        self,
        fitted: Fitted,
        posterior: Posterior | None = None,
        *,
        likes: float | None = None,
        trivial: bool | None = None,
        min_ratings: int = 1,
        convention: Convention = "logic",
        level: float | None = None,
    ) -> None:
        asked: dict[str, Any] = {
            "likes": likes,
            "trivial": trivial,
            "min_ratings": min_ratings,
            "convention": convention,
        }
        requirements = {"min_ratings": integer(0), "convention": one_of(("logic", "paper"))}
        check_parameters("relations", asked, {"likes": THRESHOLD | NONE, "trivial": BOOLEAN | NONE} | requirements)
        self._fitted, self._posterior, self._options = fitted, posterior, asked
        self.items = fitted.items
        self._likes = fitted.likes if likes is None else likes
        self.level = _level_of(fitted, self._likes) if level is None else level
        # What another sample of chains does not have carries no rule.
        self._events = fitted.lost.all() | ~fitted.lost
        self._bits = self._happens(fitted.psi)[:, self._events]
        size = self._bits.sum(axis=1)
        considered = self._considered = fitted.item_seen & (fitted.item_counts >= min_ratings)
        always, never = size == self._events.sum(), size == 0
        self.always, self.never = np.flatnonzero(considered & always), np.flatnonzero(considered & never)
        keep = convention == "paper" if trivial is None else trivial
        self.rows = np.flatnonzero(considered & (keep | ~(always | never)))

    def _happens(self, psi: NDArray[Any]) -> Bits:
        found: Bits = psi >= self.level - _SINGLE
        return found

    @cached_property
    def supports(self) -> Supports:
        """The supports of the items looked at, equal ones together."""
        return Supports(self._bits, self.rows)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each kind, counted without listing them."""
        return {kind: self.supports.count(kind) for kind in KINDS}

    def stream(self, kind: str = "implication", min_probability: float = 0.5) -> Iterator[Pairs]:
        """Yield `pairs` in blocks of about a million, so that any number of them can be gone through."""
        given = {"kind": kind, "min_probability": min_probability}
        check_parameters("relations", given, {"kind": one_of(KINDS), "min_probability": real(0.0, 1.0)})
        for left, right in self._candidates(kind):
            if self._posterior is None:
                yield pairs_of(left, right)
            else:
                share = self.probabilities(left, right, kind)
                good = share >= min_probability
                yield pairs_of(left[good], right[good], share[good])

    def _candidates(self, kind: str) -> Iterator[tuple[Rows, Rows]]:
        for left, right in self.supports.pairs(kind):
            if kind != "implication":
                yield np.minimum(left, right), np.maximum(left, right)
            else:
                yield (right, left) if self._options["convention"] == "paper" else (left, right)
        if kind == "implication" and self._posterior is not None:
            # Where supports of the one model are equal, draws may imply one way alone.
            for left, right in self.supports.pairs("equivalence"):
                yield left, right
                yield right, left

    def pairs(self, kind: str, min_probability: float = 0.5) -> Pairs:
        """Return all pairs of a kind: "implication", "equivalence", "exclusion" or "coverage".

        Their named columns are `antecedent` and `consequent`, rows of `model.items_`; of draws the `probability` too,
        most probable first, of those that at least the share `min_probability` of them holds.
        """
        check_parameters("relations", {"kind": kind}, {"kind": one_of(KINDS)})
        if self.counts[kind] > _MOST_PAIRS:
            raise ParameterError(
                f"There are {self.counts[kind]:,} pairs of kind {kind}, about {self.counts[kind] * 16 / 1e9:.1f} GB. "
                f"Go through them with stream({kind!r}), or keep the strongest with rules(max_rules=...)."
            )
        none = np.empty(0, dtype=np.int64)
        found = np.concatenate([pairs_of(none, none, self._no_share), *self.stream(kind, min_probability)])
        if self._posterior is None:
            return found
        return found[np.lexsort((found["consequent"], found["antecedent"], -found["probability"]))]

    @property
    def _no_share(self) -> Floats | None:
        return None if self._posterior is None else np.empty(0)

    def implications(self, min_probability: float = 0.5) -> Pairs:
        """Return `pairs` (j, i), supp(psi_j) a proper subset of supp(psi_i): X_j = 1 ⇒ X_i = 1, X_i = 0 ⇒ X_j = 0.

        In the paper's convention they are (i, j).
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

    def named(self, pairs: Pairs) -> list[tuple[str, str]]:
        """Return pairs by the items' names."""
        return [(self.items.name(j), self.items.name(i)) for j, i in pairs[["antecedent", "consequent"]].tolist()]

    def to_frame(
        self, backend: str | None = None, *, kinds: Sequence[str] = KINDS, min_probability: float = 0.5
    ) -> Any:
        """Return relations as a data frame: kind, both items, whether it is trivial; of draws the probability."""
        found = [self.pairs(kind, min_probability) for kind in kinds]
        pairs, odd = np.concatenate(found), np.union1d(self.always, self.never)
        names = zip(*self.named(pairs), strict=True) if len(pairs) else ((), ())
        columns: dict[str, Any] = {"kind": np.repeat([*kinds], [*map(len, found)]).tolist()}
        columns |= dict(zip(("antecedent", "consequent"), map(list, names), strict=True))
        columns["trivial"] = np.isin(pairs["antecedent"], odd) | np.isin(pairs["consequent"], odd)
        return to_frame(columns | ({} if self._posterior is None else {"probability": pairs["probability"]}), backend)

    def probability(self, antecedent: Any, consequent: Any, kind: str = "implication") -> float:
        """Return the share of draws in which a relation holds between two items (ids); of one model 0 or 1."""
        check_parameters("probability", {"kind": kind}, {"kind": one_of(KINDS)})
        left, right = (np.array([known_row(self.items, item)]) for item in (antecedent, consequent))
        return float(self.probabilities(left, right, kind)[0])

    def probabilities(self, left: Rows, right: Rows, kind: str = "implication") -> Floats:
        """Return the share of draws in which each pair of items (row numbers) stands in a relation."""
        rows, place = np.unique(np.stack([left, right]), return_inverse=True)
        left, right = place.reshape(2, -1)
        held = np.zeros(len(left), dtype=np.int64)
        draws = self._fitted.psi[None][:, :, self._events] if self._posterior is None else self._posterior.psi
        for psi in draws:
            x, y = sides_of(kind, self._happens(psi[rows]))
            found = ~(x[left] & y[right]).any(axis=1)
            held += found & ~(x[right] & y[left]).any(axis=1) if kind == "equivalence" else found
        return held / len(draws)

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
            Values of at least this, on the probability scale, mean yes; by default what the relations were read with:
            the smallest rating that at most about half of the training data reach, such as 4 of 5 stars.
        kinds : sequence of {"implication", "equivalence", "exclusion", "coverage"}
            Equivalences, exclusions and coverages make two rules each.
        contrapositives : bool
            Count "no to i ⇒ no to j" beside "yes to j ⇒ yes to i".
        item : id or title, optional
            Only rules about this item; p-values are corrected for all pairs nevertheless.
        supported : bool
            Keep what the data support. With False: what the supports in the model say.
        min_probability : float, optional
            Of draws, the least share of them in which a rule holds; by default 0.1, and 0.5 of all that the model says.
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
        limits: dict[str, Any] = {"min_probability": min_probability, "min_support": min_support}
        limits |= {"min_confidence": min_confidence, "min_lift": min_lift, "max_p": max_p}
        asked: dict[str, Any] = {"kinds": kinds, "contrapositives": contrapositives, "supported": supported}
        asked |= {"max_rules": max_rules, "max_antecedents": max_antecedents}
        check_parameters("rules", {"likes": likes, **asked, **limits}, _REQUIREMENTS)
        if max_antecedents > 1 and not supported:
            raise ParameterError(
                "Rules with several antecedents are those that the data support. Leave out supported=False, or ask for "
                "max_antecedents=1."
            )
        if likes is not None and likes != self._likes:
            other = Relations(self._fitted, self._posterior, **self._options | {"likes": likes})
            return other.rules(observations, **asked, item=item, **limits)
        kinds, row = tuple(dict.fromkeys(kinds)), None if item is None else known_row(self.items, item)
        counting = Counting.for_model(self._fitted, observations, self._likes)
        if supported:
            options: dict[str, Any] = {"contrapositives": contrapositives, "max_antecedents": max_antecedents}
            wanted, said = Limits().but(**limits), lambda rules: self._said(rules, kinds)
            return supported_rules(counting, self._considered, wanted, kinds=kinds, item=row, said=said, **options)[
                :max_rules
            ]
        readings = {"implication": 2 if contrapositives else 1}
        number = sum(self.counts[kind] * readings.get(kind, 2) for kind in kinds)
        if max_rules is None and row is None and number > _MOST_RULES:
            raise ParameterError(
                f"This asks for {number:,} rules, about {number * 80 / 1e9:.1f} GB. Give max_rules, fewer kinds, or a "
                "larger min_ratings in model.relations()."
            )
        wanted, judged = SAID.but(**limits), counting.judged(self._considered)

        def read() -> Iterator[Rules]:
            for kind in kinds:
                for found in self.stream(kind, wanted.min_probability):
                    about = slice(None) if row is None else (found["antecedent"] == row) | (found["consequent"] == row)
                    found = found[about]
                    share = None if self._posterior is None else found["probability"]
                    pairs = JudgedPairs(counting, judged, found["antecedent"], found["consequent"], share)
                    yield pairs.rules(kind)
                    # The other reading: equivalence the other way round, everything else by contraposition.
                    if kind != "implication" or contrapositives:
                        yield pairs.rules("contrapositive" if kind == "implication" else kind, turned=True)

        best = Rules.strongest if self._posterior is None else Rules.most_probable
        found = wanted.kept(read(), best, none_of(counting, self._no_share), max_rules)
        return replace(found, n_judged=judged.number)

    def _said(self, rules: Rules, kinds: Sequence[str]) -> Rules:
        """Say of rules whether supports say the same, and of draws in which share of them.

        Whether two items that go together are equivalent is for the supports to say: other equivalences are left out,
        and so are implications that are listed as equivalences.
        """
        left, right = _both(self._bits, rules)
        # What holds in no event would imply everything: that says nothing.
        some = left.any(axis=1)
        equal, equivalence = some & (left == right).all(axis=1), rules.kind == "equivalence"
        stated = np.where(equivalence, equal, some & ~(left & ~right).any(axis=1))
        twice = equal & (rules.kind == "implication") & ("equivalence" in kinds)
        rules = replace(rules, stated=stated)[(stated | ~equivalence) & ~twice]
        if self._posterior is None:
            return rules
        held, equivalence = np.zeros(len(rules)), rules.kind == "equivalence"
        # Where no rating is a like, no draw says anything.
        for psi in self._posterior.psi if np.isfinite(self.level) else ():
            left, right = _both(self._happens(psi), rules)
            held += np.where(equivalence, (left == right).all(axis=1), ~(left & ~right).any(axis=1))
        return replace(rules, probability=held / self._posterior.n_draws)

    @cached_property
    def order(self) -> Order:
        """Equivalence classes ordered by implication, in the direction of logic whatever the convention."""
        return Order(self.supports, self.items.name)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{count:,} {kind}s" for kind, count in self.counts.items())
        return f"<relations among {len(self.rows):,} items: {numbers}>"

    def _repr_html_(self) -> str:
        kinds = {"kind": KINDS, "pairs": self.counts.values(), "meaning": map(_MEANING.get, KINDS)}
        trivial = f"{len(self.always):,} more happen always, {len(self.never):,} never"
        return card(f"Relations among {len(self.rows):,} items", table(kinds), note(trivial))

    def adjacency(self) -> Bits:
        """Return the matrix of implications among `rows`: whether j implies i, itself included.

        In the paper's convention the matrix is the paper's N: N(i, j) = 1 where supp(psi_j) ⊆ supp(psi_i).
        """
        n = len(self.rows)
        if n * n > 1 << 31:
            raise ParameterError(f"The matrix of {n:,} items has {n * n:,} entries. Use stream('implication').")
        psi = self._bits[self.rows].astype(np.float32)
        inside: Bits = psi @ psi.T == psi.sum(axis=1)[:, None]
        return inside.T if self._options["convention"] == "paper" else inside

    @cached_property
    def influence(self) -> Floats:
        """By item, the share of all that it implies; nan for those left out."""
        paper = self._options["convention"] == "paper"
        supports = Supports(~self._bits, self.rows) if paper else self.supports
        implied = supports.later("implication") + np.diff(supports.indptr)
        score = np.full(len(self.items), np.nan)
        score[supports.members] = implied[supports.class_of] / max(len(self.rows), 1)
        return score


def _level_of(fitted: Fitted, likes: float) -> float:
    """Return what an item must be in an event to happen there: one half, or what rounds to a rating that is a like."""
    if fitted.psi.dtype == bool or fitted.training.is_binary:
        return 0.5
    points = fitted.points
    lower = int(np.searchsorted(points[1:], likes - _ROUNDING))
    return 0.5 * float(points[lower] + points[lower + 1]) if lower < points.size - 1 else np.inf


def _both(bits: Bits, rules: Rules) -> tuple[Bits, Bits]:
    """Return in which events all antecedents of rules are so, and in which the consequents are."""
    left = bits[rules.antecedent] == rules.antecedent_yes[:, None]
    for more in () if rules.further is None else rules.further.T:
        left &= bits[more] | (more < 0)[:, None]
    return left, bits[rules.consequent] == rules.consequent_yes[:, None]
