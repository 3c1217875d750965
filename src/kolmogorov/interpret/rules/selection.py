"""Which rules are wanted, and the strongest of them kept while all stream by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kolmogorov._support.validation import Boolean, Integer, Optional, Real, Requirement, check_parameters
from kolmogorov.data import Vocabulary
from kolmogorov.errors import ParameterError, UnknownIdError
from kolmogorov.interpret.rules.conjunctions import MOST_ANTECEDENTS
from kolmogorov.interpret.rules.counting import Bits, Counting, Threshold
from kolmogorov.interpret.rules.judging import LEVEL
from kolmogorov.interpret.rules.pairs import KINDS, PAIR, PROBABLE_PAIR, Pairs
from kolmogorov.interpret.rules.table import Rules, joined
from kolmogorov.surface.ids import id_of

#: A lift must be above 1, not 1.
ABOVE_ONE = float(np.nextafter(1.0, 2.0))
#: Rules that may wait before the weakest are dropped: some dozens of megabytes. By judgement.
_WAITING = 1 << 18
#: Rules that a call may hold at once unless it is told how many to keep: about 2 GB. By judgement.
_MOST, _RULE_BYTES = 20_000_000, 82


def known_row(items: Vocabulary, item: Any) -> int:
    """Return the row number of an item, given by its id or title."""
    row = int(items.encode([id_of(items, item, "item")], "item")[0])
    if row < 0:
        raise UnknownIdError(f"The model has no item {item!r}.{items.suggestion(item)}")
    return row


class Kinds:
    """Names of kinds of relations."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, Collection) and not isinstance(value, str) and all(kind in KINDS for kind in value)

    def __str__(self) -> str:
        return f"a sequence of names, each one of {', '.join(map(repr, KINDS))}"


_REQUIREMENTS: dict[str, Requirement] = {
    "likes": Optional(Threshold()),
    "kinds": Kinds(),
    "contrapositives": Boolean(),
    "supported": Boolean(),
    "min_probability": Optional(Real(0.0, 1.0)),
    "min_support": Optional(Integer(0)),
    "min_confidence": Optional(Real(0.0)),
    "min_lift": Optional(Real(0.0)),
    "max_p": Optional(Real(0.0)),
    "max_rules": Optional(Integer(1)),
    "max_antecedents": Integer(1, MOST_ANTECEDENTS),
}
#: The limits where nothing else is said: of rules that the data support, and of all that the model says.
_SUPPORTED = {"min_probability": 0.1, "min_support": 5, "min_confidence": 0.5, "min_lift": ABOVE_ONE, "max_p": LEVEL}
_ALL = {"min_probability": 0.5, "min_support": 1, "min_confidence": 0.0, "min_lift": 0.0, "max_p": 1.0}


@dataclass(frozen=True)
class Selection:
    """The options of `Relations.rules`, which says what they mean."""

    likes: float | None
    kinds: Sequence[str]
    contrapositives: bool
    item: Any
    supported: bool
    min_probability: Any
    min_support: Any
    min_confidence: Any
    min_lift: Any
    max_p: Any
    max_rules: int | None
    max_antecedents: int = 1

    def __post_init__(self) -> None:
        check_parameters("rules", vars(self), _REQUIREMENTS)
        if self.max_antecedents > 1 and not self.supported:
            raise ParameterError(
                "Rules with several antecedents are those that the data support. Leave out supported=False, or ask for "
                "max_antecedents=1."
            )
        object.__setattr__(self, "kinds", tuple(dict.fromkeys(self.kinds)))
        for name, usual in (_SUPPORTED if self.supported else _ALL).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)

    @classmethod
    def usual(cls, likes: float) -> Selection:
        """Return what is wanted where nothing is said: supported implications."""
        return cls(likes, ("implication",), False, None, True, None, None, None, None, None, None)

    def check_number(self, counts: dict[str, int]) -> None:
        """Raise where there are too many rules to hold all of them."""
        readings = {"implication": 2 if self.contrapositives else 1}
        asked = sum(counts[kind] * readings.get(kind, 2) for kind in self.kinds)
        if asked > _MOST:
            raise ParameterError(
                f"This asks for {asked:,} rules, about {asked * _RULE_BYTES / 1e9:.1f} GB. Give max_rules, fewer "
                "kinds, or a larger min_ratings in model.relations()."
            )

    def about(self, pairs: Pairs, item: int | None, least: int) -> Pairs:
        """Return the pairs about an item, if one is asked for, whose thresholds are high enough."""
        good = (pairs["antecedent_at"] >= least) & (pairs["consequent_at"] >= least)
        if item is not None:
            good &= (pairs["antecedent"] == item) | (pairs["consequent"] == item)
        return pairs[good]

    def good(self, rules: Rules) -> Bits:
        """Tell which rules meet the limits. What is shown where nothing else is said is decided here alone."""
        with np.errstate(invalid="ignore"):
            good = rules.support >= self.min_support
            good &= ~(rules.confidence < self.min_confidence) & ~(rules.lift < self.min_lift)
            good &= rules.p_adjusted <= self.max_p
            return good if rules.probability is None else good & (rules.probability >= self.min_probability)

    @property
    def _usual(self) -> Selection:
        """The usual limits of supported rules; where wider ones are asked for these, but for the p-value."""
        least = {name: min(getattr(self, name), usual) for name, usual in _SUPPORTED.items()}
        return replace(self, **least | {"max_p": LEVEL})

    def counts(self, rules: Rules) -> Bits:
        """Tell which rules are listed, or counted among the supported ones."""
        return self.good(rules) | self._usual.good(rules)

    def chosen(self, rules: Rules) -> Rules:
        """Return the rules that meet the limits, strongest first; they say how many are supported."""
        number = int(self._usual.good(rules).sum())
        return replace(rules, n_found=number, supported=True)[self.good(rules)].strongest()

    def strongest(self, parts: Iterable[Rules], counting: Counting) -> Rules:
        """Return the strongest of the rules that meet the limits; the others are dropped as they come."""
        kept = [Rules.counted(counting, "implication", np.empty(0, dtype=PAIR))]
        waiting = number = 0
        for part in parts:
            number += len(part)
            kept.append(part[self.good(part)])
            waiting += len(kept[-1])
            if self.max_rules is not None and waiting > max(4 * self.max_rules, _WAITING):
                kept = [joined(kept).strongest(self.max_rules)]
                waiting = len(kept[0])
        return replace(joined(kept).strongest(self.max_rules), n_found=number)

    def most_probable(self, parts: Iterable[Rules], counting: Counting) -> Rules:
        """Return the most probable of the rules that meet the limits."""
        rules = joined([Rules.counted(counting, "implication", np.empty(0, dtype=PROBABLE_PAIR)), *parts])
        sides = (rules.consequent_at, rules.consequent, rules.antecedent_at, rules.antecedent)
        assert rules.probability is not None
        number, rules = len(rules), rules[np.lexsort((*sides, -rules.probability))]
        return replace(rules[self.good(rules)][: self.max_rules], n_found=number)
