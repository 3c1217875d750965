"""Which rules data confirm: of all pairs of items, or of what a model states about them; and longer ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import NONE, check_parameters, integer
from kolmogorov.data import Observations
from kolmogorov.errors import DataError
from kolmogorov.interpret.counting import CODES, FLAGS, THRESHOLD, Counting, Terms
from kolmogorov.interpret.judging import LEVEL, MOST_ANTECEDENTS, Looked
from kolmogorov.interpret.readiness import Bits, Departures
from kolmogorov.interpret.rules import Rules, joined

#: Tells of pairs of items which kind of rule they make (by number, -1 for none), and whether it leads from the second
#: to the first; and tells whether several antecedents lead to a consequent.
Relation = Callable[[Rows, Rows], tuple[Rows, Bits]]
Stated = Callable[[Rows, Rows], Bits]
#: A rule holds at least this often.
LEAST_CONFIDENCE = 0.5
#: All pairs are looked at in single precision, and what is found is counted again: p-values may differ by so much.
_ROUNDING = 1.1


def least_cases(n_users: int) -> int:
    """Return how many cases a rule has at least: 20, of fewer than 200 users a tenth, and never fewer than 5.

    Examples
    --------
    >>> [least_cases(n) for n in (30, 101, 943)]
    [5, 10, 20]
    """
    return min(20, max(5, n_users // 10))


def associations(observations: Observations, likes: float | None = None, *, max_antecedents: int = 1) -> Rules:
    """Return rules from yes to yes by data alone: all pairs of items are tested, and no model is asked.

    A pair is listed if its items go together more often than its users' general readiness to say yes explains, with
    p-values corrected for all pairs, in the direction in which the rule holds more often. `model.rules()` lists what
    a model states and the data confirm.

    Parameters
    ----------
    observations : Observations
    likes : float, optional
        Values of at least this, on the probability scale, mean yes; by default the smallest rating that at most about
        half of the data reach.
    max_antecedents : int
        Up to 3: also rules "A and B ⇒ C".

    Examples
    --------
    >>> import kolmogorov as km
    >>> print(km.associations(km.datasets.load("zoo"))[0])
    Who says yes to fins says yes to aquatic: 17 of 17; of everybody 36%.
    """
    limits = {"likes": THRESHOLD | NONE, "max_antecedents": integer(1, MOST_ANTECEDENTS)}
    check_parameters("associations", {"likes": likes, "max_antecedents": max_antecedents}, limits)
    if not isinstance(observations, Observations):
        raise DataError(
            f"associations takes Observations, got {type(observations).__name__}. Make them with read_ratings."
        )
    counting = Terms.of(observations, likes).counting(observations)
    return confirmed(counting, np.ones(len(observations.items), dtype=bool), max_antecedents=max_antecedents)


def confirmed(
    counting: Counting,
    considered: Bits,
    relation: Relation | None = None,
    stated: Stated | None = None,
    max_antecedents: int = 1,
) -> Rules:
    """Return the rules that data confirm, strongest first.

    Parameters
    ----------
    counting : Counting
    considered : bool[n_items]
        The items that rules may be about.
    relation, stated : callable, optional
        What a model states of pairs of items, and of several antecedents. Without them everything is looked at.
    max_antecedents : int
    """
    one, other, n_judged = _pairs(counting, considered, relation)
    ahead = (one.kind == "implication") | (one.confidence >= other.confidence)
    rules, n_longer = joined([one[ahead], other[~ahead]]), 0
    if max_antecedents > 1:
        # Of two items that go together either may follow where something else is said yes to as well.
        together = FLAGS[one.code].all(axis=1)
        shorter = joined([one[together], other[together]])
        longer, n_longer = _longer(counting, shorter, considered, stated, max_antecedents)
        rules = joined([rules, longer])
    good = (rules.support >= least_cases(counting.n_users)) & (rules.confidence >= LEAST_CONFIDENCE)
    return replace(rules[good & (rules.lift > 1.0)].strongest(), n_judged=n_judged, n_longer=n_longer)


def _pairs(counting: Counting, considered: Bits, relation: Relation | None) -> tuple[Rules, Rules, int]:
    """Return the pairs that are confirmed as rules one way round and the other, and how many were looked at.

    Pairs that go together and pairs that go apart are two families of tests. Each is corrected for all pairs, also for
    those of which a model states nothing: it has learned from the same data, and states what chance made of them.
    """
    looked = {True: Looked(), False: Looked()}
    waiting: list[Any] = [np.empty((5, 0))]
    for left, right, found in counting.readiness.departures():
        left, right = counting.item_of[left], counting.item_of[right]
        known = (left >= 0) & (right >= 0)
        known[known] = considered[left[known]] & considered[right[known]]
        left, right, found = left[known], right[known], Departures(*(values[known] for values in found))
        code, turned = np.full(len(left), CODES["association"]), np.zeros(len(left), dtype=bool)
        if relation is not None:
            code, turned = relation(left, right)
        sides = np.where(turned, right, left), np.where(turned, left, right)
        for together, family in looked.items():
            p = found.p_values(together)
            family.add(p, found.weights)
            low = (p <= LEVEL) & (code >= 0) & ((FLAGS[code, 0] == FLAGS[code, 1]) == together)
            waiting.append(np.stack([*sides, code, p, found.weights])[:, low])

    def adjusted(code: Rows, p: Floats, weights: Floats) -> Floats:
        together = FLAGS[code, 0] == FLAGS[code, 1]
        return np.where(together, looked[True].adjusted(p, weights), looked[False].adjusted(p, weights))

    columns = np.concatenate(waiting, axis=1)
    left, right, code = columns[:3].astype(np.int64)
    # Pairs with the same left item are counted one after another.
    order = np.lexsort((right, left))
    order = order[adjusted(code, columns[3], columns[4])[order] <= _ROUNDING * LEVEL]
    left, right, code = left[order], right[order], code[order]
    compared = counting.compared(left, right)
    one = Rules.counted(counting, code, left[:, None], right, compared)
    p_adjusted = np.maximum(adjusted(code, one.p_value, compared.departures.weights), one.p_value)
    sure = p_adjusted <= LEVEL
    one = replace(one, p_adjusted=p_adjusted)[sure]
    other = Rules.counted(counting, code, right[:, None], left, compared.turned())[sure]
    return one, replace(other, p_adjusted=one.p_adjusted), looked[True].number


def _longer(
    counting: Counting, shorter: Rules, considered: Bits, stated: Stated | None, most: int
) -> tuple[Rules, int]:
    """Return rules with several antecedents, and how many were looked at.

    Each antecedent adds something to a confirmed rule without it, and each rule holds more often than every confirmed
    rule that it contains. One antecedent more is looked for at a time, and every length is corrected for by itself.
    Where there is nothing to find, no longer rule is looked at in as many tables as have no pair that is confirmed.
    """
    kind = CODES["association" if stated is None else "implication"]
    bases, ends = counting.columns_of(shorter.antecedents[:, :1]), counting.columns_of(shorter.consequent)
    known: dict[tuple[tuple[int, ...], int], float] = {}
    _surer(known, bases, ends, shorter.confidence)
    items = counting.columns_of(np.flatnonzero(considered))
    items, number, parts = items[items >= 0], 0, [shorter[:0]]

    def says(sides: Rows, ends: Rows) -> Bits:
        assert stated is not None
        return stated(counting.item_of[sides], counting.item_of[ends])

    while len(ends) and bases.shape[1] < most:
        asked = None if stated is None else says
        bases, ends, added, adjusted, looked = counting.conjunctions.longer(bases, ends, items, asked)
        number += looked
        sides = np.full((len(ends), MOST_ANTECEDENTS), -1)
        sides[:, : bases.shape[1]] = counting.item_of[bases]
        found = Rules(
            counting.terms,
            np.full(len(ends), kind),
            sides,
            counting.item_of[ends],
            support=added.support,
            held=added.held,
            base_rate=counting.rates[counting.item_of[ends]],
            p_value=added.p_value,
            p_adjusted=adjusted,
        )
        parts.append(found[_surer(known, bases, ends, found.confidence)])
    return joined(parts), number


def _surer(known: dict[tuple[tuple[int, ...], int], float], bases: Rows, ends: Rows, confidence: Floats) -> Bits:
    """Tell which rules hold more often than all known ones that they contain; all are known from now on."""
    found = np.ones(len(ends), dtype=bool)
    for k, (row, end, sure) in enumerate(zip(bases.tolist(), ends.tolist(), confidence.tolist(), strict=True)):
        for size in range(1, len(row)):
            for part in combinations(row, size):
                found[k] &= sure > known.get((part, end), -1.0)
        known[tuple(row), end] = sure
    return found
