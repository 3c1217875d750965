"""Rules that the data support: every pair of items looked at, and corrected for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret.rules.conjunctions import MOST_ANTECEDENTS
from kolmogorov.interpret.rules.counting import Bits, Counting
from kolmogorov.interpret.rules.judging import LEVEL, Judged
from kolmogorov.interpret.rules.pairs import Pairs, pairs_of, turned
from kolmogorov.interpret.rules.readiness import Compared
from kolmogorov.interpret.rules.selection import Selection
from kolmogorov.interpret.rules.table import Rules, joined

#: Whether the items of a kind go together, or apart.
_TOGETHER = {"implication": True, "equivalence": True, "exclusion": False, "coverage": False}


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
