"""Rules that the data support: which are wanted, and the strongest of them kept while all stream by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import BOOLEAN, NONE, Requirement, check_parameters, integer, real
from kolmogorov.data import Vocabulary
from kolmogorov.errors import ParameterError, UnknownIdError
from kolmogorov.interpret.rules.conjunctions import MOST_ANTECEDENTS
from kolmogorov.interpret.rules.counting import (
    KINDS,
    PAIR,
    PROBABLE_PAIR,
    THRESHOLD,
    Bits,
    Counting,
    Pairs,
    pairs_of,
    turned,
)
from kolmogorov.interpret.rules.judging import LEVEL, Compared, Judged
from kolmogorov.interpret.rules.table import Rules, joined
from kolmogorov.models.ids import id_of

#: A lift must be above 1, not 1.
ABOVE_ONE = float(np.nextafter(1.0, 2.0))
#: Rules that may wait before the weakest are dropped: some dozens of megabytes. By judgement.
_WAITING = 1 << 18
#: Rules that a call may hold at once unless it is told how many to keep: about 2 GB. By judgement.
_MOST, _RULE_BYTES = 20_000_000, 82
#: Whether the items of a kind go together, or apart.
_TOGETHER = {"implication": True, "equivalence": True, "exclusion": False, "coverage": False}


def known_row(items: Vocabulary, item: Any) -> int:
    """Return the row number of an item, given by its id or title."""
    row = int(items.encode([id_of(items, item, "item")], "item")[0])
    if row < 0:
        raise UnknownIdError(f"The model has no item {item!r}.{items.suggestion(item)}")
    return row


_NAMES = Requirement(
    f"a sequence of names, each one of {', '.join(map(repr, KINDS))}",
    lambda value: isinstance(value, Collection) and not isinstance(value, str) and all(k in KINDS for k in value),
)
_REQUIREMENTS: dict[str, Requirement] = {
    "likes": THRESHOLD | NONE,
    "kinds": _NAMES,
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


# --- every pair of items looked at, and corrected for all of them -----------------------------------------------------


def supported_rules(counting: Counting, wanted: Selection, considered: Bits, item: int | None = None) -> Rules:
    """Return the rules that meet the limits, strongest first, as many as there are; see `judged_rules`."""
    return wanted.chosen(judged_rules(counting, wanted, considered, item))


def judged_rules(counting: Counting, wanted: Selection, considered: Bits, item: int | None = None) -> Rules:
    """Return rules whose p-values may be small enough, each corrected for all pairs.

    A pair of items is looked at where enough users were observed with both. Items that go together make an implication
    from the one after whose yes the other's is more frequent than the other way round. Those that are said yes to by
    different users make exclusions and coverages, both ways round.

    Parameters
    ----------
    counting : Counting
        With one threshold: what a like is.
    wanted : Selection
    considered : bool[n_items]
        The items that rules may be about.
    item : int, optional
        Only rules about this item (row number); all pairs are looked at nevertheless.
    """
    judged, most = counting.judged(considered), max(wanted.max_p, LEVEL)
    parts = [Rules.counted(counting, "implication", pairs_of(*np.empty((2, 0), dtype=np.int64)))]
    for kind in sorted(wanted.kinds, key=lambda kind: kind == "equivalence"):
        found = judged.pairs(_TOGETHER[kind], most)
        if item is not None:
            found = found[:, (found == item).any(axis=0)]
        parts += _rules_of(counting, kind, pairs_of(*found), wanted.contrapositives, judged)
    rules = joined(parts)
    if wanted.max_antecedents > 1:
        longer, number = _longer(counting, judged, wanted.max_antecedents)
        rules = replace(rules, further=np.full((len(rules), MOST_ANTECEDENTS - 1), -1))
        if "implication" in wanted.kinds:
            about = slice(None) if item is None else _about(longer, item)
            rules = replace(joined([rules, longer[about]]), n_longer=number)
    return replace(rules, n_judged=judged.number)


def _about(rules: Rules, item: int) -> Bits:
    found: Bits = (rules.antecedents == item).any(axis=1) | (rules.consequent == item)
    return found


def _longer(counting: Counting, judged: Judged, most: int) -> tuple[Rules, int]:
    """Return rules with several antecedents, and how many were looked at.

    Each antecedent adds something to a supported rule without it, and each rule holds more often than every supported
    rule that it contains. One antecedent more is looked for at a time, and every length is corrected for by itself.
    Where there is nothing to find, no longer rule is looked at in as many tables as have no pair that is supported.
    """
    pairs = _rules_of(counting, "equivalence", pairs_of(*judged.pairs(True, LEVEL)), False, judged)
    shorter = joined(pairs)
    # Of two items that go together either may follow where something else is said yes to as well.
    shorter = shorter[shorter.p_adjusted <= LEVEL]
    bases, ends = counting.columns_of(shorter.antecedent)[:, None], counting.columns_of(shorter.consequent)
    sure = _Surest(bases, ends, shorter.confidence)
    items = counting.columns_of(np.flatnonzero(judged.considered))
    items, number = items[items >= 0], 0
    parts = [replace(shorter[:0], further=np.empty((0, MOST_ANTECEDENTS - 1), dtype=np.int64))]
    while len(ends) and bases.shape[1] < most:
        bases, ends, added, looked = counting.conjunctions.longer(bases, ends, items, LEVEL)
        number += looked.number
        adjusted = np.maximum(looked.adjusted(added.p_value, added.weight), added.p_value)
        good = adjusted <= LEVEL
        bases, ends, added, adjusted = bases[good], ends[good], added.chosen(good), adjusted[good]
        further = np.full((len(ends), MOST_ANTECEDENTS - 1), -1)
        names = counting.item_of[bases]
        further[:, : names.shape[1] - 1] = names[:, 1:]
        found = Rules.counted(counting, "implication", pairs_of(names[:, 0], counting.item_of[ends]))
        facts = {name: getattr(added, name) for name in ("support", "held", "expected", "p_value")}
        found = replace(found, **facts, p_adjusted=adjusted, further=further)
        parts.append(found[sure.surer(bases, ends, found.confidence)])
    return joined(parts), number


class _Surest:
    """Rules by their antecedents and consequents, and whether longer ones hold more often."""

    def __init__(self, bases: Rows, ends: Rows, confidence: Floats) -> None:
        self._known: dict[tuple[tuple[int, ...], int], float] = {}
        self.surer(bases, ends, confidence)

    def surer(self, bases: Rows, ends: Rows, confidence: Floats) -> Bits:
        """Tell which rules hold more often than all that they contain; all are known from now on."""
        found = np.ones(len(ends), dtype=bool)
        for k, (row, end, sure) in enumerate(zip(bases.tolist(), ends.tolist(), confidence.tolist(), strict=True)):
            for size in range(1, len(row)):
                for part in combinations(row, size):
                    found[k] &= sure > self._known.get((part, end), -1.0)
            self._known[tuple(row), end] = sure
        return found


def _rules_of(counting: Counting, kind: str, pairs: Pairs, contrapositives: bool, judged: Judged) -> list[Rules]:
    """Return the rules that some pairs make, corrected for all that was looked at."""
    compared = counting.compared(pairs)
    weights, together = compared.departures.weights, _TOGETHER[kind]

    def counted(kind: str, pairs: Pairs, compared: Compared) -> Rules:
        rules = Rules.counted(counting, kind, pairs, compared)
        return replace(rules, p_adjusted=judged.adjusted(together, rules.p_value, weights))

    one, other = counted(kind, pairs, compared), counted(kind, turned(pairs), compared.turned())
    if kind != "implication":
        return [one, other]
    ahead = one.confidence >= other.confidence
    parts = [one[ahead], other[~ahead]]
    if contrapositives:
        no = counted("contrapositive", turned(pairs), compared.turned())
        back = counted("contrapositive", pairs, compared)
        parts += [no[ahead], back[~ahead]]
    return parts


def stated_by(bits: Bits, rules: Rules, kinds: Sequence[str]) -> Rules:
    """Say of each rule whether supports, bool[n_items, n_events], say the same.

    Whether two items that go together are equivalent is for the supports to say: other equivalences are left out, and
    so are implications that are listed as equivalences.
    """
    left = bits[rules.antecedent] == rules.antecedent_yes[:, None]
    for more in () if rules.further is None else rules.further.T:
        left &= bits[more] | (more < 0)[:, None]
    right = bits[rules.consequent] == rules.consequent_yes[:, None]
    # What holds in no event would imply everything: that says nothing.
    some = left.any(axis=1)
    equal, equivalence = some & (left == right).all(axis=1), rules.kind == "equivalence"
    stated = np.where(equivalence, equal, some & ~(left & ~right).any(axis=1))
    twice = equal & (rules.kind == "implication") & ("equivalence" in kinds)
    return replace(rules, stated=stated)[(stated | ~equivalence) & ~twice]
