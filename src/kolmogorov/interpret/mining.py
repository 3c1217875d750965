"""Which rules are listed: those that data support, or that a model states, within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret.counting import SAYS, Counting
from kolmogorov.interpret.judging import LEVEL, MOST_ANTECEDENTS, Judged
from kolmogorov.interpret.readiness import Bits
from kolmogorov.interpret.rules import Rules, joined

#: Rules that may wait before the weakest are dropped: some dozens of megabytes. By judgement.
_WAITING = 1 << 18
#: A lift must be above 1, not 1.
_ABOVE_ONE = float(np.nextafter(1.0, 2.0))


@dataclass(frozen=True)
class Limits:
    """What rules have to meet to be listed; by default the limits of rules that data support.

    What is shown where nothing else is said is decided here alone, for Python, the shell and the page.
    """

    min_support: float = 5
    min_confidence: float = 0.5
    min_lift: float = _ABOVE_ONE
    max_p: float = LEVEL
    min_probability: float = 0.1

    def but(self, **given: Any) -> Limits:
        """Return these limits with those in their place that are given: that are not None."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    def good(self, rules: Rules) -> Bits:
        """Tell which rules meet the limits."""
        with np.errstate(invalid="ignore"):
            good = rules.support >= self.min_support
            good &= ~(rules.confidence < self.min_confidence) & ~(rules.lift < self.min_lift)
            good &= rules.p_adjusted <= self.max_p
            return good if rules.probability is None else good & (rules.probability >= self.min_probability)

    @property
    def usual(self) -> Limits:
        """The limits by which supported rules are counted: the usual ones, or wider ones, but for the p-value."""
        usual = Limits()
        names = ("min_support", "min_confidence", "min_lift", "min_probability")
        return replace(usual, **{name: min(getattr(self, name), getattr(usual, name)) for name in names})

    def kept(self, parts: Iterable[Rules], best: Callable[[Rules], Rules], none: Rules, max_rules: int | None) -> Rules:
        """Return the best of the rules that meet the limits; the others are dropped as they come."""
        kept, number = [none], 0
        for part in parts:
            number += len(part)
            kept.append(part[self.good(part)])
            if max_rules is not None and sum(map(len, kept)) > max(4 * max_rules, _WAITING):
                kept = [best(joined(kept))[:max_rules]]
        return replace(best(joined(kept))[:max_rules], n_found=number)


#: The limits of all that a model says, supported or not.
SAID = Limits(1, 0.0, 0.0, 1.0, 0.5)


class JudgedPairs:
    """Pairs of items and the rules that they make, with p-values corrected for all pairs."""

    def __init__(
        self, counting: Counting, judged: Judged, left: Rows, right: Rows, probability: Floats | None = None
    ) -> None:
        self._counting, self._judged, self._probability = counting, judged, probability
        compared = counting.compared(left, right)
        self._weights = compared.departures.weights
        self._sides = {False: (left, right, compared), True: (right, left, compared.turned())}

    def rules(self, kind: str, turned: bool = False) -> Rules:
        """Return the rules from left to right, or turned."""
        rules = Rules.counted(self._counting, kind, *self._sides[turned], probability=self._probability)
        together = SAYS[kind][0] == SAYS[kind][1]
        return replace(rules, p_adjusted=self._judged.adjusted(together, rules.p_value, self._weights))


def supported_rules(
    counting: Counting,
    considered: Bits,
    limits: Limits | None = None,
    *,
    kinds: Sequence[str] = ("implication",),
    contrapositives: bool = False,
    item: int | None = None,
    max_antecedents: int = 1,
    said: Callable[[Rules], Rules] = lambda rules: rules,
) -> Rules:
    """Return the rules that data support and that meet the limits, strongest first.

    A pair of items is looked at where enough users were observed with both. Items that go together make an implication
    from the one after whose yes the other's is more frequent than the other way round. Those that are said yes to by
    different users make exclusions and coverages, both ways round. p-values are corrected for all pairs.

    Parameters
    ----------
    counting : Counting
    considered : bool[n_items]
        The items that rules may be about.
    limits : Limits, optional
    item : int, optional
        Only rules about this item (row number); all pairs are looked at nevertheless.
    said : callable, optional
        Says of rules what a model says of them, and may leave some out.
    """
    limits, judged = limits or Limits(), counting.judged(considered)
    parts = [none_of(counting)]
    for kind in sorted(kinds, key=lambda kind: kind == "equivalence"):
        together = SAYS[kind][0] == SAYS[kind][1]
        left, right = judged.pairs(together, max(limits.max_p, LEVEL))
        if item is not None:
            left, right = np.stack([left, right])[:, (left == item) | (right == item)]
        pairs = JudgedPairs(counting, judged, left, right)
        one, other = pairs.rules(kind), pairs.rules(kind, turned=True)
        if kind != "implication":
            parts += [one, other]
            continue
        ahead = one.confidence >= other.confidence
        parts += [one[ahead], other[~ahead]]
        if contrapositives:
            no, back = pairs.rules("contrapositive", turned=True), pairs.rules("contrapositive")
            parts += [no[ahead], back[~ahead]]
    rules = joined(parts)
    if max_antecedents > 1:
        rules = replace(rules, further=np.full((len(rules), MOST_ANTECEDENTS - 1), -1))
        longer, number = _longer(counting, judged, max_antecedents)
        if item is not None:
            longer = longer[(longer.antecedents == item).any(axis=1) | (longer.consequent == item)]
        if "implication" in kinds:
            rules = replace(joined([rules, longer]), n_longer=number)
    rules = said(rules[limits.good(rules) | limits.usual.good(rules)])
    number = int(limits.usual.good(rules).sum())
    return replace(rules, n_judged=judged.number, n_found=number, supported=True)[limits.good(rules)].strongest()


def none_of(counting: Counting, probability: Floats | None = None) -> Rules:
    """Return no rules."""
    none = np.empty(0, dtype=np.int64)
    return Rules.counted(counting, "implication", none, none, probability=probability)


def _longer(counting: Counting, judged: Judged, most: int) -> tuple[Rules, int]:
    """Return rules with several antecedents, and how many were looked at.

    Each antecedent adds something to a supported rule without it, and each rule holds more often than every supported
    rule that it contains. One antecedent more is looked for at a time, and every length is corrected for by itself.
    Where there is nothing to find, no longer rule is looked at in as many tables as have no pair that is supported.
    """
    pairs = JudgedPairs(counting, judged, *judged.pairs(True, LEVEL))
    # Of two items that go together either may follow where something else is said yes to as well.
    shorter = joined([pairs.rules("equivalence"), pairs.rules("equivalence", turned=True)])
    shorter = shorter[shorter.p_adjusted <= LEVEL]
    bases, ends = counting.columns_of(shorter.antecedent)[:, None], counting.columns_of(shorter.consequent)
    surest = Surest()
    surest.surer(bases, ends, shorter.confidence)
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
        found = Rules.counted(counting, "implication", names[:, 0], counting.item_of[ends])
        facts = {name: getattr(added, name) for name in ("support", "held", "expected", "p_value")}
        found = replace(found, **facts, p_adjusted=adjusted, further=further)
        parts.append(found[surest.surer(bases, ends, found.confidence)])
    return joined(parts), number


class Surest:
    """Rules by their antecedents and consequents, and whether longer ones hold more often."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], int], float] = {}

    def surer(self, bases: Rows, ends: Rows, confidence: Floats) -> Bits:
        """Tell which rules hold more often than all that they contain; all are known from now on."""
        found = np.ones(len(ends), dtype=bool)
        for k, (row, end, sure) in enumerate(zip(bases.tolist(), ends.tolist(), confidence.tolist(), strict=True)):
            for size in range(1, len(row)):
                for part in combinations(row, size):
                    found[k] &= sure > self._known.get((part, end), -1.0)
            self._known[tuple(row), end] = sure
        return found
