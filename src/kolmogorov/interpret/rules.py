"""A list of rules between items, in sentences, and how they fare on data."""

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
from kolmogorov.errors import UnknownIdError
from kolmogorov.interpret.counting import FLAGS, NAMES, Counting, Terms
from kolmogorov.interpret.judging import MOST_ANTECEDENTS
from kolmogorov.interpret.readiness import Compared
from kolmogorov.models.ids import id_of

#: A normal quantile: one-sided bounds of 95%.
_ONE_SIDED = 1.6448536269514722
#: Rules that are shown when many are printed, and in a summary. By judgement.
_PRINTED, _SUMMARY = 20, 3
#: Fewer cases than these on other data say nothing.
_TELLING = 20


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: if the antecedent is so, the consequent is so. What the numbers mean stands with `Rules`.

    Attributes
    ----------
    kind : str
    antecedent, consequent : str
        Names of items; several antecedents are joined by "and".
    support, held : int
    base_rate, p_adjusted : float
    rated : bool
        Whether a yes is a like.

    Examples
    --------
    >>> print(Rule(kind="implication", antecedent="milk", consequent="backbone", support=31, held=31, base_rate=0.83))
    Who says yes to milk says yes to backbone: 31 of 31; of everybody 83%.
    """

    kind: str
    antecedent: str
    consequent: str
    support: int
    held: int
    base_rate: float
    p_adjusted: float = 1.0
    rated: bool = False

    @property
    def confidence(self) -> float:
        """Share of the cases seen in which the rule held; nan where none was seen."""
        return self.held / self.support if self.support else float("nan")

    @property
    def lift(self) -> float:
        """Confidence over base rate."""
        return self.confidence / self.base_rate if self.base_rate else float("nan")

    @property
    def reasons(self) -> str:
        """Why it is believed: what the model states, and how sure the data are."""
        model = "" if self.kind == "association" else f"the model: {self.kind}; "
        return f"{model}the data: p = {self.p_adjusted:.1g}"

    def __str__(self) -> str:
        yes, no = ("likes", "does not like") if self.rated else ("says yes to", "says no to")
        first, then = (yes if so else no for so in FLAGS[NAMES.tolist().index(self.kind)])
        met = f"{self.held:,} of {self.support:,}" if self.support else "not met"
        usual = f"; of everybody {self.base_rate:.0%}" if self.base_rate == self.base_rate else ""
        return f"Who {first} {shown(self.antecedent)} {then} {shown(self.consequent)}: {met}{usual}."


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Sequence[Rule]):
    """Rules and how they fare on data: a sequence of `Rule`, held as columns.

    Made by `model.rules()` and `associations(table)`. ``rules[0]`` is one rule; slices, masks and lists of places give
    `Rules`.

    Attributes
    ----------
    antecedents : int64[n, 3]
        Row numbers of the items, -1 where there are fewer than three.
    consequent : int64[n]
    support, held : int64[n]
        Users observed with all items for whom the antecedents were so, and those of them for whom the consequent was.
    base_rate : float64[n]
        Share of all users observed with the consequent's item for whom it was so.
    p_value, p_adjusted : float64[n]
        One-sided test of whether it held more often than the readiness of these very users to say yes explains, 1 where
        there is too little to tell; and the same corrected for all that was looked at (Benjamini and Hochberg).
    n_judged, n_longer : int
        What was looked at to find these: pairs of items, and rules with several antecedents; of rules that are counted
        again, themselves.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> rules = km.associations(train)
    >>> print(rules[0])
    Who says yes to fins says yes to aquatic: 13 of 13; of everybody 38%.
    >>> len(rules.on(test)) == len(rules), rules.on(test)[0].antecedent
    (True, 'fins')
    """

    terms: Terms
    code: Rows
    antecedents: Rows
    consequent: Rows
    support: Rows
    held: Rows
    base_rate: Floats
    p_value: Floats
    p_adjusted: Floats
    n_judged: int = 0
    n_longer: int = 0

    @classmethod
    def counted(
        cls,
        counting: Counting,
        code: Rows,
        antecedents: Rows,
        consequent: Rows,
        compared: Compared | None = None,
    ) -> Rules:
        """Count rules, of kinds by number; p-values are corrected for these.

        Antecedents are int64[n, m]; `compared` may be what `Counting.compared` says of the first and the consequents.
        """
        sides = np.full((len(consequent), MOST_ANTECEDENTS), -1)
        sides[:, : antecedents.shape[1]] = antecedents
        columns: dict[str, Any] = counting.counts(code, sides, consequent, compared)
        n, p = len(consequent), columns["p_value"]
        return cls(
            counting.terms,
            code,
            sides,
            consequent,
            **columns,
            p_adjusted=false_discovery_control(p) if n else p,
            n_judged=n,
        )

    def on(self, observations: Observations) -> Rules:
        """Count the same rules, in the same order, on other observations.

        These are best such that neither the model nor the choice of the rules has seen. Where the training data record
        only yes, a blank is a no.
        """
        return self.recounted(self.terms.counting(observations))

    def recounted(self, counting: Counting) -> Rules:
        """Count the same rules, in the same order, on other data."""
        return Rules.counted(counting, self.code, self.antecedents, self.consequent)

    @property
    def kind(self) -> NDArray[Any]:
        """What the model states: "implication", "equivalence", "exclusion" or "coverage"; else "association"."""
        return NAMES[self.code]

    @property
    def antecedent(self) -> Rows:
        """The first antecedents."""
        return self.antecedents[:, 0]

    def about(self, item: Any) -> Rules:
        """Return the rules about an item, given by its id or title."""
        row = int(self.terms.items.encode([id_of(self.terms.items, item, "item")], "item")[0])
        if row < 0:
            raise UnknownIdError(f"The model has no item {item!r}.{self.terms.items.suggestion(item)}")
        return self[(self.antecedents == row).any(axis=1) | (self.consequent == row)]

    def basis(self) -> Rules:
        """Return a short list from which the other rules follow.

        A rule follows if rules that are kept lead from its antecedents to its consequent, each of which held at least
        as often as it did. No rule of the list follows from the others. (Formal concept analysis calls that a basis of
        implications. Where rules have no exceptions neither has what follows.)

        Examples
        --------
        >>> import kolmogorov as km
        >>> rules = km.associations(km.datasets.load("zoo"), max_antecedents=2)
        >>> len(rules) > len(rules.basis())
        True
        """
        yes = FLAGS[self.code]
        sides = zip(self.antecedents.tolist(), yes[:, 0].tolist(), strict=True)
        left = [[2 * item + so for item in row if item >= 0] for row, so in sides]
        right = 2 * self.consequent + yes[:, 1]
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
        rate, count, z = self.confidence, self.support, _ONE_SIDED
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = z * np.sqrt(rate * (1 - rate) / count + z * z / (4.0 * count * count))
            return (rate + z * z / (2.0 * count) - spread) / (1 + z * z / count) - self.base_rate

    def __len__(self) -> int:
        return len(self.consequent)

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
        names = ("kind", "support", "held", "base_rate", "p_adjusted")
        rows = zip(*(getattr(self, name).tolist() for name in names), strict=True)
        for left, right, facts in zip(*self.names(), rows, strict=True):
            own = dict(zip(names, facts, strict=True))
            yield Rule(antecedent=left, consequent=right, rated=self.terms.rated, **own)

    def strongest(self, count: int | None = None) -> Rules:
        """Return the `count` strongest rules, strongest first; ties by the items."""
        key = np.where(np.isnan(self.strength), -np.inf, self.strength)
        return self[np.lexsort((self.consequent, self.antecedent, -self.support, -key))[:count]]

    def totals(self) -> dict[str, float]:
        """Return pairs seen, and confidence, base rate and lift over all of them together."""
        seen, held, some = self.support.sum(), self.held.sum(), self.support > 0
        expected = (self.support[some] * self.base_rate[some]).sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {"confidence": held / seen, "base_rate": expected / seen, "lift": held / expected}
        return {"rules": float(len(self)), "pairs": float(seen)} | {name: float(x) for name, x in found.items()}

    def names(self) -> tuple[list[str], list[str]]:
        """Return the items' names: antecedents, of which several are joined by "and", and consequents."""
        name = self.terms.items.name
        left = [" and ".join(name(item) for item in row if item >= 0) for row in self.antecedents.tolist()]
        return left, [name(item) for item in self.consequent.tolist()]

    def columns(self) -> dict[str, Any]:
        """Return the table, column by column, with mlxtend's names where they fit."""
        left, right = self.names()
        yes = FLAGS[self.code]
        names = ("support", "held", "confidence", "base_rate", "lift", "strength", "p_value", "p_adjusted")
        sides: dict[str, Any] = {}
        for side, words, so in (("antecedents", left, yes[:, 0]), ("consequents", right, yes[:, 1])):
            sides[side] = [word if flag else f"not {word}" for word, flag in zip(words, so.tolist(), strict=True)]
        like = np.full(len(self), self.terms.scale.rating(self.terms.likes))
        return {
            "kind": self.kind.tolist(),
            **sides,
            **{name: getattr(self, name) for name in names},
            **({"like_at_least": like} if self.terms.rated else {}),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rules as a data frame: of "pandas", "polars" or "pyarrow", or the first of them there is."""
        return to_frame(self.columns(), backend)

    def sentences(self, test: Rules | None = None) -> list[str]:
        """Return the rules in words; with the same rules counted on other data, what held there of 20 cases or more."""
        said = [str(rule) for rule in self]
        for k, rule in enumerate(() if test is None else test):
            if rule.support >= _TELLING:
                said[k] = f"{said[k][:-1]}; held out {rule.held:,} of {rule.support:,}."
        return said

    def __str__(self) -> str:
        if not len(self):
            return self.none
        return "\n".join([*self[:_PRINTED].sentences(), *self._rest(_PRINTED)])

    def _rest(self, told: int, indent: str = "") -> list[str]:
        return [f"{indent}and {len(self) - told:,} more"] if len(self) > told else []

    @property
    def looked_at(self) -> str:
        """What was looked at to find the rules, in words."""
        longer = f" and {self.n_longer:,} longer rules" if self.n_longer else ""
        return f"{self.n_judged:,} pair{'' if self.n_judged == 1 else 's'} of items{longer}"

    @property
    def none(self) -> str:
        """What to say where there are no rules."""
        if not self.n_judged:
            return "No rule. There is no pair of items to test: the model states none, or its events do not come back."
        return f"No rule. {self.looked_at} {'was' if self.n_judged == 1 else 'were'} tested."

    @property
    def title(self) -> str:
        """How many rules there are, on what they were counted, and what a like is."""
        like = f"; to like is at least {self.terms.scale.rating(self.terms.likes):.6g}" if self.terms.rated else ""
        return f"{len(self):,} rule{'' if len(self) == 1 else 's'}, counted on {self.terms.source}{like}"

    def __repr__(self) -> str:
        if not len(self):
            return f"<{self.none}>"
        lines = [f"  {rule}" for rule in self.strongest(_SUMMARY)]
        return "\n".join([f"<{self.title}>", *lines, *self._rest(len(lines), "  ")])

    def _repr_html_(self) -> str:
        some = self[:_PRINTED]
        columns = {"rule": some.sentences(), "why": [rule.reasons for rule in some]}
        return card(self.title, table(columns, more=len(self) - _PRINTED))


def joined(parts: Sequence[Rules]) -> Rules:
    """Put several lists of rules, counted on the same data, into one."""
    columns = [_columns(part) for part in parts]
    whole: dict[str, Any] = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
    return replace(parts[0], **whole)


def _columns(rules: Rules) -> dict[str, NDArray[Any]]:
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


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
