"""A table of rules between items, and how they fare on data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from kolmogorov._support.markup import card, shown, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.interpret.counting import FLAGS, NAMES, SAYS, Counting, Terms
from kolmogorov.interpret.events import shortened
from kolmogorov.interpret.judging import MOST_ANTECEDENTS
from kolmogorov.interpret.readiness import Bits, Compared

#: A normal quantile: one-sided bounds of 95%.
_ONE_SIDED = 1.6448536269514722
#: Rules that are shown when many are printed, and in a summary; letters of a cell that is printed. By judgement.
_PRINTED, _SUMMARY, _LONGEST = 20, 3, 48


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: if the antecedent is so, the consequent is so. What the numbers mean stands with `Rules`.

    Attributes
    ----------
    kind : str
    antecedent, consequent : str
        Names of items; "not" stands before one that is said no to. Of ratings a threshold follows, ">= 4" or "< 4", in
        rating units.
    support, held : int
    base_rate, expected, p_adjusted : float
    probability : float or None

    Examples
    --------
    >>> print(Rule(kind="implication", antecedent="milk", consequent="backbone", support=31, held=31, base_rate=0.83))
    milk ⇒ backbone (held for 31 of 31; of all, 83%)
    """

    kind: str
    antecedent: str
    consequent: str
    support: int
    held: int
    base_rate: float
    expected: float = float("nan")
    p_adjusted: float = 1.0
    probability: float | None = None

    @property
    def confidence(self) -> float:
        """Share of the cases seen in which the rule held; nan where none was seen."""
        return self.held / self.support if self.support else float("nan")

    @property
    def lift(self) -> float:
        """Confidence over base rate."""
        return self.confidence / self.base_rate if self.base_rate else float("nan")

    def __str__(self) -> str:
        facts = [] if self.probability is None else [f"probability {self.probability:.2f}"]
        facts.append(f"held for {self.held:,} of {self.support:,}" if self.support else "not met")
        if self.base_rate == self.base_rate:
            facts.append(f"of all, {self.base_rate:.0%}")
        return f"{shown(self.antecedent)} ⇒ {shown(self.consequent)} ({'; '.join(facts)})"


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Sequence[Rule]):
    """Rules and how they fare on data: a sequence of `Rule`, held as columns.

    Made by `model.relations().rules(...)`. ``rules[0]`` is one rule; slices, masks and lists of places give `Rules`.

    Attributes
    ----------
    antecedent, consequent : int64[n]
        Row numbers of the items; of "A and B ⇒ C" B and more are `further`, int64[n, 2], -1 where there are none.
    support, held : int64[n]
        Users observed with both items for whom the antecedent was so, and those of them for whom the consequent was so.
    base_rate : float64[n]
        Share of all users observed with the consequent's item for whom it was so.
    expected : float64[n]
        Share of the cases in which the rule would hold if users and items differed only in how readily yes is said:
        what these very users are expected to say anyway. Of several antecedents, by the one that adds least.
    p_value, p_adjusted : float64[n]
        One-sided test of whether it held more often than that, 1 where there is too little to tell; and the same
        corrected for all that was looked at (Benjamini and Hochberg).
    n_judged, n_longer : int
        What was looked at to find these: pairs of items, and rules with several antecedents; of rules that are counted
        again, themselves.
    supported, n_found : bool, int
        Whether only those were kept that the data support, and how many of these there are; or how many rules the model
        says. Both before narrower limits.
    stated : bool[n] or None
        Whether the model says the same: its supports are so related.
    probability : float64[n] or None
        Of a model that consists of draws, the share in which each rule holds.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(train)
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
        left: Rows,
        right: Rows,
        compared: Compared | None = None,
        further: Rows | None = None,
        probability: Floats | None = None,
    ) -> Rules:
        """Count rules about some pairs, all of one kind or each of its own (by number).

        `compared` is what `Counting.compared` says of the pairs, where it is known. p-values are corrected for these.
        """
        n = len(left)
        code = np.full(n, list(SAYS).index(kind), dtype=np.int8) if isinstance(kind, str) else kind
        counts = counting.counts(left, right, code, compared or counting.compared(left, right))
        if further is not None:
            counting.conjoin(counts, np.column_stack([left, further]), right)
        adjusted = false_discovery_control(counts["p_value"]) if n else counts["p_value"]
        columns: dict[str, Any] = counts | {"p_adjusted": adjusted, "probability": probability, "further": further}
        return cls(counting.terms, code, left, right, **columns, n_judged=n, n_found=n)

    def on(self, observations: Observations) -> Rules:
        """Count the same rules, in the same order, on other observations.

        These are best such that neither the model nor the choice of the rules has seen. Where the training data record
        only yes, a blank is a no.
        """
        return self.recounted(self.terms.counting(observations))

    def recounted(self, counting: Counting) -> Rules:
        """Count the same rules, in the same order, on other data."""
        sides = self.antecedent, self.consequent
        again: dict[str, Any] = {"further": self.further, "probability": self.probability}
        return replace(Rules.counted(counting, self.code, *sides, **again), stated=self.stated)

    @property
    def kind(self) -> NDArray[Any]:
        """What each rule was read off: "implication", "contrapositive", "equivalence", "exclusion" or "coverage"."""
        return NAMES[self.code]

    @property
    def antecedent_yes(self) -> Bits:
        """Which rules begin with "yes" to an item; the others with "no"."""
        return FLAGS[self.code, 0]

    @property
    def consequent_yes(self) -> Bits:
        """Which rules end with "yes" to an item; the others with "no"."""
        return FLAGS[self.code, 1]

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
        >>> options = {"learn_from": "ratings", "user_reg": 0.3, "n_init": 10, "random_state": 0}
        >>> model = km.KolmogorovModel(n_events=5, **options).fit(zoo)
        >>> rules = model.relations().rules(max_antecedents=2)
        >>> len(rules) > len(rules.basis())
        True
        """
        sides = zip(self.antecedents.tolist(), self.antecedent_yes.tolist(), strict=True)
        left = [[2 * item + yes for item in row if item >= 0] for row, yes in sides]
        right = 2 * self.consequent + self.consequent_yes
        return self[basis_of(left, right.tolist(), np.nan_to_num(self.confidence))]

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
            return replace(self, **{name: column[which] for name, column in _columns(self).items()})
        if not -len(self) <= which < len(self):
            raise IndexError(f"There are {len(self):,} rules, and none at place {which}.")
        return next(iter(self[[which]]))

    def __iter__(self) -> Iterator[Rule]:
        names = ("support", "held", "base_rate", "expected", "p_adjusted", "probability")
        columns = [getattr(self, name) for name in names]
        rows = zip(*([None] * len(self) if column is None else column.tolist() for column in columns), strict=True)
        for kind, left, right, facts in zip(self.kind, *self.names(), rows, strict=True):
            yield Rule(kind=kind, antecedent=left, consequent=right, **dict(zip(names, facts, strict=True)))

    def strongest(self, count: int | None = None) -> Rules:
        """Return the `count` strongest rules, strongest first; ties by the items."""
        key = np.where(np.isnan(self.strength), -np.inf, self.strength)
        return self[np.lexsort((self.consequent, self.antecedent, -self.support, -key))[:count]]

    def most_probable(self) -> Rules:
        """Return the rules of draws, those that most of them hold first."""
        assert self.probability is not None
        return self[np.lexsort((self.consequent, self.antecedent, -self.probability))]

    def totals(self) -> dict[str, float]:
        """Return pairs seen, and confidence, base rate and lift over all of them together."""
        seen, held, some = self.support.sum(), self.held.sum(), self.support > 0
        expected = (self.support[some] * self.base_rate[some]).sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {"confidence": held / seen, "base_rate": expected / seen, "lift": held / expected}
        return {"rules": float(len(self)), "pairs": float(seen)} | {name: float(x) for name, x in found.items()}

    def names(self) -> tuple[list[str], list[str]]:
        """Return antecedents and consequents in words.

        "No" to an item has "not" before its name; of ratings a threshold stands after it. Several antecedents are
        joined by "and".
        """
        left = self.terms.statements(self.antecedent, self.antecedent_yes)
        for more in () if self.further is None else self.further.T:
            words = self.terms.statements(np.maximum(more, 0), True)
            left = [f"{one} and {word}" if row >= 0 else one for one, word, row in zip(left, words, more, strict=True)]
        return left, self.terms.statements(self.consequent, self.consequent_yes)

    def columns(self) -> dict[str, Any]:
        """Return the table, column by column, with mlxtend's names where they fit."""
        antecedents, consequents = self.names()
        names = ("support", "held", "confidence", "base_rate", "expected", "lift", "strength", "p_value", "p_adjusted")
        likes = np.full(len(self), self.terms.scale.rating(self.terms.likes))
        return {
            **({} if self.probability is None else {"probability": self.probability}),
            "kind": self.kind.tolist(),
            "antecedents": antecedents,
            "consequents": consequents,
            **{name: getattr(self, name) for name in names},
            **({} if self.stated is None else {"stated": self.stated}),
            **({"antecedent_at": likes, "consequent_at": likes} if self.terms.said else {}),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rules as a data frame: of "pandas", "polars" or "pyarrow", or the first of them there is."""
        return to_frame(self.columns(), backend)

    def plot(self, n_labels: int = 5, ax: Any = None) -> Any:
        """Draw rules by cases and how much oftener than the base rate they held, the first labelled (extra `plot`)."""
        from kolmogorov.interpret.plot import rule_scatter

        labels = [f"{left} ⇒ {right}" for left, right in zip(*self.names(), strict=True)]
        return rule_scatter(self.kind.tolist(), self.support, self.confidence - self.base_rate, labels, n_labels, ax)

    def readable(self) -> dict[str, list[str]]:
        """Return few columns in words, so that the rules fit on a screen."""
        left, right = self.names()
        chance = {} if self.probability is None else {"probability": [f"{p:.2f}" for p in self.probability]}
        return chance | {
            "if": left,
            "then": right,
            "held": [f"{held:,} of {seen:,}" for held, seen in zip(self.held, self.support, strict=True)],
            "base rate": [f"{rate:.0%}" if rate == rate else "–" for rate in self.base_rate],
            "expected": [f"{max(rate, 0.0):.0%}" if rate == rate else "–" for rate in self.expected],
            "lift": [f"{lift:.2f}" if lift == lift else "–" for lift in self.lift],
            "p adjusted": [f"{p:.2g}" for p in self.p_adjusted],
        }

    def __str__(self) -> str:
        if not len(self):
            return self.none
        columns = self[:_PRINTED].readable()
        cells = ([shortened(shown(cell), _LONGEST) for cell in row] for row in zip(*columns.values(), strict=True))
        rows = [list(columns), *cells]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self._rest(_PRINTED)])

    def _rest(self, told: int, indent: str = "") -> list[str]:
        return [f"{indent}and {len(self) - told:,} more"] if len(self) > told else []

    @property
    def looked_at(self) -> str:
        """What was looked at to find supported rules, in words."""
        longer = f" and {self.n_longer:,} longer rules" if self.n_longer else ""
        return f"{self.n_judged:,} pair{'' if self.n_judged == 1 else 's'} of items{longer}"

    @property
    def none(self) -> str:
        """What to say where there are no rules."""
        if self.n_found == 0 and self.supported:
            were = "was" if self.n_judged == 1 else "were"
            return f"No rule is supported by these data. {self.looked_at} {were} looked at."
        if self.n_found == 0:
            return "The model says no rule."
        supported = f"{self.n_found:,} {'is' if self.n_found == 1 else 'are'} supported"
        return f"No rule meets these limits ({supported if self.supported else f'the model says {self.n_found:,}'})."

    def __repr__(self) -> str:
        if not len(self):
            return f"<{self.none}>"
        lines = [f"  {rule}" for rule in self.strongest(_SUMMARY)]
        return "\n".join([f"<{self._title}>", *lines, *self._rest(len(lines), "  ")])

    @property
    def _title(self) -> str:
        return f"{len(self):,} rule{'' if len(self) == 1 else 's'}, counted on {self.terms.source}"

    def _repr_html_(self) -> str:
        return card(self._title, table(self[:_PRINTED].readable(), more=len(self) - _PRINTED))


def joined(parts: Sequence[Rules]) -> Rules:
    """Put several lists of rules, counted on the same data, into one."""
    columns = [_columns(part) for part in parts]
    whole: dict[str, Any] = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
    return replace(parts[0], n_judged=sum(part.n_judged for part in parts), **whole)


def _columns(rules: Rules) -> dict[str, NDArray[Any]]:
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def lower_bound(rate: Floats, count: Rows) -> Floats:
    """Return Wilson's one-sided 95% lower bound of a rate."""
    z = _ONE_SIDED
    spread = z * np.sqrt(rate * (1 - rate) / count + z * z / (4.0 * count * count))
    bound: Floats = (rate + z * z / (2.0 * count) - spread) / (1 + z * z / count)
    return bound


def basis_of(antecedents: Sequence[Sequence[int]], consequents: Sequence[int], confidence: Floats) -> Rows:
    """Return the places of rules between statements (by number), in their order, from which the others follow.

    They follow only from rules that have at least their confidence.

    Examples
    --------
    >>> basis_of([[0], [1], [0], [0, 3]], [1, 2, 2, 2], np.array([0.9, 0.9, 0.8, 0.95])).tolist()
    [0, 1, 3]
    """
    begin: dict[int, list[int]] = {}
    kept = np.zeros(len(consequents), dtype=bool)

    def leads(rule: int, least: float) -> bool:
        """Tell whether other rules that were kept, and are sure enough, lead where a rule does."""
        goal, known = consequents[rule], set(antecedents[rule])
        waiting, missing = list(known), dict[int, int]()
        while waiting:
            for other in begin.get(waiting.pop(), ()):
                if other == rule or not kept[other] or confidence[other] < least:
                    continue
                missing[other] = missing.get(other, len(antecedents[other])) - 1
                end = consequents[other]
                if missing[other] == 0 and end not in known:
                    if end == goal:
                        return True
                    known.add(end)
                    waiting.append(end)
        return False

    # The surest first, and of equally sure ones those that ask for less.
    order = sorted(range(len(consequents)), key=lambda r: (-confidence[r], len(antecedents[r]), r))
    for rule in order:
        if not leads(rule, 0.0):
            kept[rule] = True
            for statement in antecedents[rule]:
                begin.setdefault(statement, []).append(rule)
    # Of equally sure rules one may follow from others that came later.
    for rule in reversed(order):
        if kept[rule] and leads(rule, float(confidence[rule])):
            kept[rule] = False
    return np.flatnonzero(kept)
