"""Which rules data confirm: all pairs of items are tested, and what one more antecedent adds to a rule."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import NONE, check_parameters, integer
from kolmogorov.data import Observations
from kolmogorov.errors import DataError
from kolmogorov.interpret.readiness import LEAST_SPREAD, Bits, corrected, p_values, weights
from kolmogorov.interpret.rules import MOST_ANTECEDENTS, SAYS, THRESHOLD, Counting, Rules, Terms, joined

#: How much oftener than for everybody a model has rules: code, antecedents and consequents → float64[n].
Lift = Callable[[Rows, Rows, Rows], Floats]
#: Data confirm a rule if its p-value, corrected, is at most this; and it holds at least so often.
LEVEL, LEAST_CONFIDENCE = 0.05, 0.5
#: Pairs held at once when all are tested, some dozens of megabytes. By judgement.
_BLOCK = 1 << 22
#: What one smaller table counts for when they are dealt to threads: a share has few. By judgement.
_GROUP = 1 << 15
_IMPLICATION, _EXCLUSION, _COVERAGE = range(len(SAYS))
# Probabilities come from sums.
_ROUNDING = 1e-9


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
    p-values corrected for all pairs, in the direction in which it raises the base rate most surely. `model.rules()`
    lists what a model states and the data confirm.

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
    return confirmed(counting, np.ones(len(observations.items), dtype=bool), max_antecedents)


def confirmed(counting: Counting, considered: Bits, max_antecedents: int = 1, lift: Lift | None = None) -> Rules:
    """Return the rules that data confirm, strongest first.

    Parameters
    ----------
    counting : Counting
    considered : bool[n_items]
        The items that rules may be about.
    max_antecedents : int
    lift : callable, optional
        What a model states. Without it rules are from yes to yes, and no model is asked.
    """
    # Of items with fewer answers nothing can be listed: a long tail is not gone through pair by pair.
    considered = considered & (counting.answers >= least_cases(counting.n_users))
    pairs, p, together, n_judged = _pairs(counting, considered, (True,) if lift is None else (True, False))
    both_ways = _said(counting, pairs[together], p[together], (_IMPLICATION,), lift)
    apart = _said(counting, pairs[~together], p[~together], (_EXCLUSION, _COVERAGE), lift)
    parts, n_longer = [_surest(counting, both_ways), _surest(counting, apart)], 0
    if max_antecedents > 1:
        # Of two items that go together either may follow where something else is said yes to as well.
        longer, n_longer = _longer(counting, joined(both_ways), considered, max_antecedents, lift)
        parts.append(longer[_listed(counting, longer)])
    return replace(joined(parts).strongest(), n_judged=n_judged, n_longer=n_longer)


def _pairs(counting: Counting, considered: Bits, sides: tuple[bool, ...]) -> tuple[Rows, Floats, Bits, int]:
    """Return the pairs of items that go together, or apart, where `sides` has False, too: items, p-values and which.

    And how many pairs were tested. p-values are corrected for all pairs on all sides, also for those of which a model
    states nothing: it has learned from the same data, and states what chance made of them.
    """
    rows, number, whole, found = np.flatnonzero(considered), 0, 0.0, [np.empty((0, 5))]
    step = max(1, _BLOCK // len(considered))
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step]
        departures = counting.readiness.departures(some, later=True)
        left, right = np.nonzero((departures[..., 1] >= LEAST_SPREAD) & considered)
        tests, left = departures[left, right], some[left]
        weight = weights(tests)
        number, whole = number + len(left), whole + len(sides) * float(weight.sum())
        for together in sides:
            # What is no deviation beyond chance, skewed as it may be, has no small p-value.
            likely = np.flatnonzero(((tests[:, 0] > 0.0) == together) & (tests[:, 0] ** 2 > tests[:, 1]))
            p = p_values(tests[likely], together)
            low = likely[p <= LEVEL]
            which = np.full(len(low), together)
            found.append(np.column_stack([left[low], right[low], weight[low], p[p <= LEVEL], which]))
    columns = np.concatenate(found)
    p = corrected(columns[:, 3], columns[:, 2], whole)
    columns = columns[p <= LEVEL]
    return columns[:, :2].astype(np.int64), p[p <= LEVEL], columns[:, 4] == 1.0, number


def _said(counting: Counting, pairs: Rows, p: Floats, codes: tuple[int, ...], lift: Lift | None) -> list[Rules]:
    """Return pairs as rules in every way in which they can be said: of some kinds, from either to the other."""
    found: list[Rules] = []
    if lift is not None:
        # A model states all ways, or none.
        some = lift(np.full(len(p), codes[0]), pairs[:, :1], pairs[:, 1]) > 1.0 + _ROUNDING
        pairs, p = pairs[some], p[some]
    for code in codes:
        for sides, ends in ((pairs[:, :1], pairs[:, 1]), (pairs[:, 1:], pairs[:, 0])):
            stated: Any = np.nan if lift is None else lift(np.full(len(p), code), sides, ends)
            found.append(Rules.counted(counting, code, sides, ends, stated, p))
    return found


def _listed(counting: Counting, rules: Rules) -> Bits:
    """Tell which rules have enough cases, hold often enough, and more often than for everybody."""
    enough = rules.support >= least_cases(counting.n_users)
    return enough & (rules.confidence >= LEAST_CONFIDENCE) & (rules.lift > 1.0)


def _surest(counting: Counting, ways: list[Rules]) -> Rules:
    """Return each pair in the one way that raises the base rate most surely, where any may be listed."""
    strength = np.array([np.where(_listed(counting, way), way.strength, -np.inf) for way in ways])
    best = strength.argmax(axis=0)
    return joined([way[(best == k) & np.isfinite(strength[k])] for k, way in enumerate(ways)])


def _longer(counting: Counting, shorter: Rules, considered: Bits, most: int, lift: Lift | None) -> tuple[Rules, int]:
    """Return rules with several antecedents, and how many tests of what one more antecedent adds there were.

    Whether B adds to "A ⇒ C" is asked of those who say yes to A: do B and C go together among them beyond their
    readiness, and beyond how often they say yes to B and to C? It is the test of pairs in a smaller table, which holds
    that table's sums fixed, and so does not see how strongly A and C go together, by which "A ⇒ C" was found. Where
    "B ⇒ C" is a rule, too, A must add to it as well. Each longer rule holds more often than every rule that it
    contains. One antecedent more is looked for at a time, and every length is corrected for by itself.
    """
    known: dict[tuple[tuple[int, ...], int], float] = {}
    _surer(known, shorter)
    bases, parts, number = shorter, [shorter[:0]], 0
    for size in range(2, most + 1):
        sides, ends, p, tests = _added(counting, bases, considered, size)
        number += tests
        stated = np.full(len(p), np.nan)
        if lift is not None:
            stated = lift(np.full(len(p), _IMPLICATION), sides, ends)
            some = stated > 1.0 + _ROUNDING
            sides, ends, p, stated = sides[some], ends[some], p[some], stated[some]
        bases = Rules.counted(counting, _IMPLICATION, sides, ends, stated, p)
        parts.append(bases[_surer(known, bases)])
    return joined(parts), number


def _added(counting: Counting, bases: Rules, considered: Bits, size: int) -> tuple[Rows, Rows, Floats, int]:
    """Return the rules with one more antecedent, `size` in order, that data confirm; and the number of tests."""
    after: dict[tuple[int, ...], list[int]] = {}
    for row, end in zip(bases.antecedents.tolist(), bases.consequent.tolist(), strict=True):
        after.setdefault(tuple(item for item in row if item >= 0), []).append(end)
    groups = list(after.items())
    found: list[Any] = [None] * len(groups)

    def look(first: int, last: int) -> None:
        for k in range(first, last):
            base, ends = groups[k][0], np.array(groups[k][1])
            departures = counting.readiness.among(base).departures(ends, n_jobs=1)
            tested = (departures[..., 1] >= LEAST_SPREAD) & considered
            tested[np.arange(len(ends)), ends] = False
            which, more = np.nonzero(tested)
            tests = departures[which, more]
            p, weight = p_values(tests), weights(tests)
            low = p <= LEVEL
            columns = [np.full(low.sum(), item) for item in base] + [more[low]]
            sides = np.sort(np.column_stack(columns), axis=1)
            found[k] = sides, ends[which[low]], p[low], weight[low], len(p), weight.sum()

    with Threads(-1) as dealer:
        dealer.deal(look, len(groups), _GROUP)
    if not groups:
        return np.empty((0, size), dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), 0
    *columns, numbers, whole = zip(*found, strict=True)
    sides, ends, p, weight = map(np.concatenate, columns)
    p = corrected(p, weight, sum(whole))
    # A rule was looked at from each part of it that is a rule, and all must say that what was left out adds something.
    least: dict[tuple[tuple[int, ...], int], list[float]] = {}
    for row, end, one in zip(
        sides[p <= LEVEL].tolist(), ends[p <= LEVEL].tolist(), p[p <= LEVEL].tolist(), strict=True
    ):
        least.setdefault((tuple(row), end), []).append(one)
    rules = {
        rule: max(values)
        for rule, values in sorted(least.items())
        if len(values) == sum(rule[1] in after.get(rule[0][:k] + rule[0][k + 1 :], ()) for k in range(len(rule[0])))
    }
    sides = np.array([row for row, _ in rules], dtype=np.int64).reshape(-1, size)
    return sides, np.array([end for _, end in rules], dtype=np.int64), np.array([*rules.values()]), sum(numbers)


def _surer(known: dict[tuple[tuple[int, ...], int], float], rules: Rules) -> Bits:
    """Tell which rules hold more often than all known ones that they contain; all are known from now on."""
    found = np.ones(len(rules), dtype=bool)
    rows = zip(rules.antecedents.tolist(), rules.consequent.tolist(), rules.confidence.tolist(), strict=True)
    for k, (items, end, sure) in enumerate(rows):
        row = tuple(item for item in items if item >= 0)
        parts = (part for size in range(1, len(row)) for part in combinations(row, size))
        found[k] = all(sure > known.get((part, end), -1.0) for part in parts)
        known[row, end] = sure
    return found
