"""Rules that the data support: every pair of items looked at, and corrected for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from kolmogorov._support.typing import Rows
from kolmogorov.interpret.rules.conjunctions import MOST_ANTECEDENTS
from kolmogorov.interpret.rules.counting import Bits, Counting
from kolmogorov.interpret.rules.multiplicity import Looked
from kolmogorov.interpret.rules.pairs import Pairs, pairs_of, turned
from kolmogorov.interpret.rules.readiness import Compared, Departures
from kolmogorov.interpret.rules.selection import Selection
from kolmogorov.interpret.rules.table import Rules, joined

#: Whether the items of a kind go together, or apart.
_TOGETHER = {"implication": True, "equivalence": True, "exclusion": False, "coverage": False}


def supported_rules(counting: Counting, wanted: Selection, considered: Bits, item: int | None) -> Rules:
    """Return the rules that meet the limits, strongest first, as many as there are.

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
    item : int or None
        Look only at pairs with this item (row number), and correct for these.
    """
    looked = Looked()
    parts = [Rules.counted(counting, "implication", pairs_of(*np.empty((2, 0), dtype=np.int64)))]
    kinds = [kind for kind in wanted.kinds if kind != "equivalence"] + ["equivalence"] * ("equivalence" in wanted.kinds)
    signs = sorted({_TOGETHER[kind] for kind in kinds})
    found: dict[bool, list[Rows]] = {sign: [np.empty((2, 0), dtype=np.int64)] for sign in signs}
    for left, right, departures in _looked_at(counting, considered, item):
        for sign in signs:
            p = departures.p_values(sign)
            looked.add(p, departures.weights)
            good = p <= wanted.max_p
            found[sign].append(np.stack([left[good], right[good]]))
    for kind in kinds:
        left, right = np.concatenate(found[_TOGETHER[kind]], axis=1)
        parts += _rules_of(counting, kind, pairs_of(left, right), wanted.contrapositives, looked)
    rules = joined(parts)
    rules = replace(rules, n_judged=looked.number, supported=True)
    if wanted.max_antecedents > 1 and "implication" in kinds:
        rules = _with_longer(counting, rules, wanted, considered)
    return rules[wanted.good(rules)].strongest()


def _with_longer(counting: Counting, rules: Rules, wanted: Selection, considered: Bits) -> Rules:
    """Add rules with several antecedents, each of which adds something to a supported rule without it.

    One antecedent more is looked for at a time, and every length is corrected for by itself. Where there is nothing to
    find, no longer rule is looked at in as many tables as have no pair that is supported.
    """
    parts = [replace(rules, further=np.full((len(rules), MOST_ANTECEDENTS - 1), -1))]
    known = (rules.kind == "implication") & (rules.p_adjusted <= wanted.max_p)
    # Of two items that go together either may follow where something else is said yes to as well.
    sides = counting.columns_of(np.stack([rules.antecedent[known], rules.consequent[known]]))
    bases, ends = np.append(*sides)[:, None], np.append(*sides[::-1])
    items = counting.columns_of(np.flatnonzero(considered))
    items = items[items >= 0]
    while len(ends) and bases.shape[1] < wanted.max_antecedents:
        bases, ends, added, looked = counting.conjunctions.longer(bases, ends, items, wanted.max_p)
        adjusted = looked.adjusted(added.p_value, added.weight)
        further = np.full((len(ends), MOST_ANTECEDENTS - 1), -1)
        names = counting.item_of[bases]
        further[:, : names.shape[1] - 1] = names[:, 1:]
        pairs = pairs_of(names[:, 0], counting.item_of[ends])
        longer = Rules.counted(counting, "implication", pairs)
        facts = {name: getattr(added, name) for name in ("support", "held", "expected", "p_value")}
        parts.append(replace(longer, **facts, p_adjusted=adjusted, n_judged=looked.number, further=further))
        good = adjusted <= wanted.max_p
        bases, ends = bases[good], ends[good]
    return joined(parts)


def _looked_at(counting: Counting, considered: Bits, item: int | None) -> Iterator[tuple[Rows, Rows, Departures]]:
    """Yield pairs of items in blocks, the model's row numbers, and how far each departs from readiness alone."""
    if item is not None:
        others = np.flatnonzero(considered & (np.arange(considered.size) != item))
        pairs = pairs_of(np.full(others.size, item), others)
        found = counting.compared(pairs).departures
        enough = ~np.isnan(found.z)
        yield pairs["antecedent"][enough], others[enough], Departures(*(values[enough] for values in found))
        return
    for left, right, found in counting.readiness.departures():
        left, right = counting.item_of[left], counting.item_of[right]
        known = (left >= 0) & (right >= 0)
        known[known] = considered[left[known]] & considered[right[known]]
        yield left[known], right[known], Departures(*(values[known] for values in found))


def _rules_of(counting: Counting, kind: str, pairs: Pairs, contrapositives: bool, looked: Looked) -> list[Rules]:
    """Return the rules that some pairs make, corrected for all that was looked at."""
    compared = counting.compared(pairs)
    weights = compared.departures.weights

    def counted(kind: str, pairs: Pairs, compared: Compared) -> Rules:
        rules = Rules.counted(counting, kind, pairs, compared)
        return replace(rules, p_adjusted=looked.adjusted(rules.p_value, weights))

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
    equal, equivalence = (left == right).all(axis=1), rules.kind == "equivalence"
    stated = np.where(equivalence, equal, ~(left & ~right).any(axis=1))
    twice = equal & (rules.kind == "implication") & ("equivalence" in kinds)
    return replace(rules, stated=stated)[(stated | ~equivalence) & ~twice]
