"""Many rules between items, and how they fare on data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.interpret.rules.basis import basis_of
from kolmogorov.interpret.rules.conjunctions import MOST_ANTECEDENTS
from kolmogorov.interpret.rules.counting import Bits, Counting, Terms, lower_bound
from kolmogorov.interpret.rules.pairs import SAYS, Pairs, pairs_of, sides_of, statements, with_probability
from kolmogorov.interpret.rules.printing import PrintedRules
from kolmogorov.interpret.rules.readiness import Compared
from kolmogorov.interpret.rules.rule import Rule
from kolmogorov.plot import rule_scatter

_NAMES = np.array(list(SAYS), dtype=object)
_FLAGS = np.array(list(SAYS.values()))


@dataclass(frozen=True, eq=False, repr=False)
class Rules(PrintedRules):
    """Rules and how they fare on data: a sequence of `Rule`, held as columns.

    Made by `model.relations().rules(...)`. ``rules[0]`` is one rule; slices, masks and lists of places give `Rules`.

    Attributes
    ----------
    antecedent, consequent : int64[n]
        Row numbers of the items.
    antecedent_at, consequent_at : int8[n]
        Numbers of the thresholds that are spoken of, from 0; of yes and no there is one.
    support : int64[n]
        Pairs seen: users observed with both items for whom the antecedent was so.
    held : int64[n]
        Those among them for whom the consequent was so.
    base_rate : float64[n]
        Share of all users observed with the consequent's item for whom it was so.
    expected : float64[n]
        Share of the pairs seen in which the rule would hold if users and items differed only in how readily yes is
        said: what these very users are expected to say anyway.
    p_value : float64[n]
        One-sided test of whether it held more often than that; 1 where there is too little to tell.
    p_adjusted : float64[n]
        The same, corrected for all that was looked at (Benjamini and Hochberg).
    n_judged : int
        What was looked at to find these: pairs of items; of rules that are counted again, themselves.
    supported : bool
        Whether all pairs of items were looked at and only those kept that the data support.
    n_found : int
        How many supported rules there are, or of all that the model says how many; before narrower limits.
    n_longer : int
        How many rules with several antecedents were looked at besides.
    further : int64[n, 2] or None
        More items that have to be liked, as in "A and B ⇒ C", -1 where there are none. `expected` and `p_value` are
        then those of the antecedent that adds least to the others.
    stated : bool[n] or None
        Whether the model says the same: its supports are so related.
    probability : float64[n] or None
        Of a model that consists of draws, the share in which each rule holds.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(train)
    >>> rules = model.relations().rules(train, max_rules=10)
    >>> print(rules[0])
    fins ⇒ aquatic (held for 13 of 13; of all, 38%)
    >>> len(rules.on(test)), rules.on(test)[0].antecedent
    (10, 'fins')
    """

    terms: Terms
    code: NDArray[np.int8]
    antecedent: Rows
    consequent: Rows
    antecedent_at: NDArray[np.int8]
    consequent_at: NDArray[np.int8]
    support: Rows
    held: Rows
    base_rate: Floats
    expected: Floats
    p_value: Floats
    p_adjusted: Floats
    n_judged: int
    supported: bool = False
    n_found: int = 0
    n_longer: int = 0
    further: Rows | None = None
    stated: Bits | None = None
    probability: Floats | None = None

    @classmethod
    def counted(
        cls,
        counting: Counting,
        kind: str | NDArray[np.int8],
        pairs: Pairs,
        compared: Compared | None = None,
        further: Rows | None = None,
    ) -> Rules:
        """Count rules about some pairs, all of one kind or each of its own (by number).

        `compared` is what `Counting.compared` says of the pairs, where it is known. p-values are corrected for these.
        """
        code = np.full(len(pairs), list(SAYS).index(kind), dtype=np.int8) if isinstance(kind, str) else kind
        counts = counting.counts(pairs, _FLAGS[code, 0], _FLAGS[code, 1], compared)
        if further is not None:
            counts = counting.conjoined(counts, pairs, further)
        chance = pairs["probability"] if "probability" in (pairs.dtype.names or ()) else None
        adjusted = false_discovery_control(counts["p_value"]) if len(pairs) else counts["p_value"]
        columns: dict[str, Any] = counts | {"p_adjusted": adjusted, "probability": chance, "further": further}
        return cls(counting.terms, code, *sides_of(pairs), **columns, n_judged=len(pairs), n_found=len(pairs))

    @property
    def pairs(self) -> Pairs:
        """What the rules are about, as `Relations.pairs` has it."""
        pairs = pairs_of(self.antecedent, self.consequent, self.antecedent_at, self.consequent_at)
        return pairs if self.probability is None else with_probability(pairs, self.probability)

    def on(self, observations: Observations) -> Rules:
        """Count the same rules, in the same order, on other observations.

        Parameters
        ----------
        observations : Observations
            Best ones that neither the model nor the choice of these rules has seen. Where the training data record
            only yes, a blank is a no.
        """
        return self.recounted(self.terms.counting(observations))

    def recounted(self, counting: Counting) -> Rules:
        """Count the same rules, in the same order, on other data."""
        counted = Rules.counted(counting, self.code, self.pairs, further=self.further)
        return replace(counted, stated=self.stated)

    @property
    def items(self) -> Vocabulary:
        """The model's items."""
        return self.terms.items

    @property
    def kind(self) -> NDArray[Any]:
        """What each rule was read off: "implication", "contrapositive", "equivalence", "exclusion" or "coverage"."""
        return _NAMES[self.code]

    @property
    def antecedent_yes(self) -> Bits:
        """Which rules begin with "yes" to an item; the others with "no"."""
        return _FLAGS[self.code, 0]

    @property
    def consequent_yes(self) -> Bits:
        """Which rules end with "yes" to an item; the others with "no"."""
        return _FLAGS[self.code, 1]

    @property
    def antecedents(self) -> Rows:
        """All antecedents, int64[n, 3]; -1 where there are fewer."""
        further = np.full((len(self), MOST_ANTECEDENTS - 1), -1) if self.further is None else self.further
        return np.column_stack([self.antecedent, further])

    def basis(self) -> Rules:
        """Return a short list from which the other rules follow.

        A rule follows if rules that are kept lead from its antecedents to its consequent, each of which held at least
        as often as it did. No rule of the list follows from the others. (Formal concept analysis calls that a basis of
        implications. Where rules have no exceptions neither has what follows.)

        Examples
        --------
        >>> import kolmogorov as km
        >>> zoo = km.datasets.load("zoo")
        >>> model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(zoo)
        >>> rules = model.relations().rules(max_antecedents=2)
        >>> len(rules) > len(rules.basis())
        True
        """
        n = len(self.terms.thresholds)
        left = [
            [2 * (item * n + at) + yes for item in row if item >= 0]
            for row, at, yes in zip(
                self.antecedents.tolist(), self.antecedent_at.tolist(), self.antecedent_yes.tolist(), strict=True
            )
        ]
        right = 2 * (self.consequent * n + self.consequent_at) + self.consequent_yes
        return self.take(basis_of(left, right.tolist(), np.nan_to_num(self.confidence)))

    @cached_property
    def confidence(self) -> Floats:
        """Share of the pairs seen in which the rule held; nan where none was seen."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.held / self.support

    @cached_property
    def lift(self) -> Floats:
        """Confidence over base rate."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.confidence / self.base_rate

    @cached_property
    def strength(self) -> Floats:
        """What rules are ranked by: how much oftener than the base rate they hold at least.

        It is the lower 95% bound (Wilson's) of the confidence less the base rate; nan where nothing was seen.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            return lower_bound(self.confidence, self.support) - self.base_rate

    def __len__(self) -> int:
        return len(self.antecedent)

    @overload
    def __getitem__(self, which: int) -> Rule: ...
    @overload
    def __getitem__(self, which: Any) -> Rules: ...
    def __getitem__(self, which: Any) -> Rule | Rules:
        if not isinstance(which, (int, np.integer)):
            return self.take(which)
        if not -len(self) <= which < len(self):
            raise IndexError(f"There are {len(self):,} rules, and none at place {which}.")
        return next(iter(self.take([which])))

    def __iter__(self) -> Iterator[Rule]:
        chances = [None] * len(self) if self.probability is None else self.probability.tolist()
        columns = (self.support, self.held, self.base_rate, self.expected, self.p_adjusted)
        for kind, left, right, seen, held, rate, usual, p, chance in zip(
            self.kind, *self.names(), *(column.tolist() for column in columns), chances, strict=True
        ):
            yield Rule(
                kind=kind,
                antecedent=left,
                consequent=right,
                support=seen,
                held=held,
                base_rate=rate,
                expected=usual,
                p_adjusted=p,
                probability=chance,
            )

    def take(self, which: Any) -> Rules:
        """Return the rules at some places: a slice, a mask or a list."""
        return replace(self, **{name: column[which] for name, column in _columns(self).items()})

    def strongest(self, count: int | None = None) -> Rules:
        """Return the `count` strongest rules, strongest first; ties by the items."""
        key = np.where(np.isnan(self.strength), -np.inf, self.strength)
        order = np.lexsort((self.consequent, self.antecedent, -self.support, -key))
        return self.take(order[:count])

    def totals(self) -> dict[str, float]:
        """Return pairs seen, and confidence, base rate and lift over all of them together."""
        seen, held = float(self.support.sum()), float(self.held.sum())
        some = self.support > 0
        expected = float((self.support[some] * self.base_rate[some]).sum())
        return {
            "rules": float(len(self)),
            "pairs": seen,
            "confidence": held / seen if seen else float("nan"),
            "base_rate": expected / seen if seen else float("nan"),
            "lift": held / expected if expected else float("nan"),
        }

    def names(self) -> tuple[list[str], list[str]]:
        """Return antecedents and consequents in words.

        "No" to an item has "not" before its name; a threshold stands after it, in rating units. Several antecedents
        are joined by "and".
        """
        left, right = (
            statements(self.items, self.terms.ratings, rows, at, _FLAGS[self.code, side])
            for side, (rows, at) in enumerate(
                [(self.antecedent, self.antecedent_at), (self.consequent, self.consequent_at)]
            )
        )
        for more in () if self.further is None else self.further.T:
            words = statements(self.items, self.terms.ratings, np.maximum(more, 0), self.antecedent_at, True)
            left = [f"{one} and {word}" if row >= 0 else one for one, word, row in zip(left, words, more, strict=True)]
        return left, right

    def columns(self) -> dict[str, Any]:
        """Return the table, column by column, with mlxtend's names where they fit."""
        (antecedents, consequents), ratings = self.names(), self.terms.ratings
        at = {"antecedent_at": self.antecedent_at, "consequent_at": self.consequent_at}
        return {
            **({} if self.probability is None else {"probability": self.probability}),
            "kind": self.kind.tolist(),
            "antecedents": antecedents,
            "consequents": consequents,
            "support": self.support,
            "held": self.held,
            "confidence": self.confidence,
            "base_rate": self.base_rate,
            "expected": self.expected,
            "lift": self.lift,
            "strength": self.strength,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            **({} if self.stated is None else {"stated": self.stated}),
            **({} if ratings is None else {name: ratings[numbers] for name, numbers in at.items()}),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rules as a data frame, one row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The first of them that is installed by default.
        """
        return to_frame(self.columns(), backend)

    def plot(self, n_labels: int = 5, ax: Any = None) -> Any:
        """Draw the rules by cases and by how much oftener than the base rate they held (extra `plot`).

        Parameters
        ----------
        n_labels : int
            Rules that are labelled, the first ones.
        ax : matplotlib Axes, optional

        Returns
        -------
        Axes
        """
        labels = [f"{left} ⇒ {right}" for left, right in zip(*self.names(), strict=True)]
        return rule_scatter(self.kind.tolist(), self.support, self.confidence - self.base_rate, labels, n_labels, ax)


def joined(parts: Sequence[Rules]) -> Rules:
    """Put several lists of rules, counted on the same data, into one."""
    columns = [_columns(part) for part in parts]
    whole: dict[str, Any] = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
    return replace(parts[0], n_judged=sum(part.n_judged for part in parts), **whole)


def _columns(rules: Rules) -> dict[str, NDArray[Any]]:
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
