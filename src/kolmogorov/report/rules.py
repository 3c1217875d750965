"""Rules of the report: chosen on the training data, counted on what the model has not seen."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret import PosteriorRelations, Relations, Rules
from kolmogorov.interpret.rules.counting import KINDS, Counting
from kolmogorov.interpret.rules.selection import Selection
from kolmogorov.interpret.rules.table import joined

#: Rules of each kind that are listed, and supported ones kept besides for the lists of single items: from and to each.
#: By judgement.
_LISTED, _PER_ITEM = 1000, {"implication": 5, "equivalence": 1}
#: Rules to the same item that follow each other in a list. By judgement.
_LINES = 3
#: Rules to choose from: some hundred megabytes. By judgement.
_MOST = 2_000_000
#: What `supported` says of a rule: that it is shown where nothing else is asked for, or only with its kind.
_SHOWN, _ASKED = 1, 2


def rules_of(relations: Relations, judges: Counting, drawn: PosteriorRelations | None) -> dict[str, Any]:
    """Return rules as columns: the strongest of each kind, and supported ones that each item's lists need besides.

    Those that the training data support come first, by the limits of `Relations.rules`, and then what else the supports
    say. The base rate of a rule is that of its consequent, which the items hold. Of draws, a rule's probability is the
    share of them in which it holds; rarely is it equal supports, so that there are no equivalences.
    """
    parts, listed, likes = [], [], float(judges.terms.thresholds[0])
    kinds = KINDS if drawn is None else tuple(kind for kind in KINDS if kind != "equivalence")
    supported = replace(relations.rules(None, likes, kinds=kinds, max_rules=_MOST), stated=None)
    if drawn is not None:
        probable = replace(supported, probability=_probabilities(drawn, supported))
        supported = supported[Selection.usual(likes).good(probable)]
    known = set(_keys(supported))
    for kind in KINDS:
        own = supported[supported.kind == kind]
        kept = np.union1d(np.arange(min(_LISTED, len(own))), _for_items(own, _PER_ITEM.get(kind, 0)))
        parts.append(own[kept])
        listed.append(kept < _LISTED)
    n_supported = sum(len(part) for part in parts)
    for kind in KINDS:
        ranked = relations.rules(None, likes, kinds=(kind,), supported=False, max_rules=_MOST)
        ranked = ranked[np.array([key not in known for key in _keys(ranked)], dtype=bool)][:_LISTED]
        parts.append(ranked)
        listed.append(np.ones(len(ranked), dtype=bool))
    rules = joined(parts)
    # Rules that the page lists come first, the supported ones before all others.
    others = np.arange(len(rules)) >= n_supported
    order = _in_turn(rules, 2 * ~np.concatenate(listed) + others)
    rules = rules[order]
    counted = rules.recounted(judges)
    first = int(np.concatenate(listed).sum())
    shown = np.where(np.isin(rules.kind, list(_PER_ITEM)), _SHOWN, _ASKED)
    by_kind = [int((supported.kind == kind).sum()) for kind in KINDS]
    return {
        "supported": np.where(others[order], 0, shown).tolist(),
        "looked": supported.n_judged,
        "n_supported": sum(number for kind, number in zip(KINDS, by_kind, strict=True) if kind in _PER_ITEM),
        "n_by_kind": by_kind,
        "expected": rounded(counted.expected, 3),
        "kinds": list(KINDS),
        "listed": first,
        "kind": rules.code.tolist(),
        "from": rules.antecedent.tolist(),
        "to": rules.consequent.tolist(),
        "seen": counted.support.tolist(),
        "held": counted.held.tolist(),
        "p": rounded(np.log10(np.maximum(rules.p_adjusted[:first], 1e-300)), 3),
        "trained": rules.support.tolist(),
        "trained_held": rules.held.tolist(),
        "probability": None if drawn is None else rounded(_probabilities(drawn, rules), 2),
        "counts": relations.counts,
    }


def _in_turn(rules: Rules, group: Rows) -> Rows:
    """Return rules by groups, in each a few to every item, the strongest first, then the next few."""
    strongest = np.lexsort((-np.nan_to_num(rules.strength), rules.consequent, group))
    of = np.stack([group, rules.consequent])[:, strongest]
    begins = np.append(True, (of[:, 1:] != of[:, :-1]).any(axis=0)) if len(rules) else np.empty(0, dtype=bool)
    turn = np.empty(len(rules), dtype=np.int64)
    place = np.arange(len(rules))
    turn[strongest] = (place - np.maximum.accumulate(np.where(begins, place, 0))) // _LINES
    order: Rows = np.lexsort((-np.nan_to_num(rules.strength), turn, group))
    return order


def _keys(rules: Rules) -> list[tuple[int, int, int]]:
    return list(zip(rules.code.tolist(), rules.antecedent.tolist(), rules.consequent.tolist(), strict=True))


def rounded(values: NDArray[np.float64], digits: int = 4) -> list[float | None]:
    """Return numbers to some digits, and None for what is no number."""
    return [round(x, digits) if isfinite(x) else None for x in values.tolist()]


def _for_items(rules: Rules, count: int) -> Rows:
    """Return the places of the strongest rules from and to each item, so many."""
    places = [np.empty(0, dtype=np.int64)]
    for side in (rules.antecedent, rules.consequent):
        # The rules come strongest first; a stable sort by item keeps that order within each.
        order = np.argsort(side, kind="stable")
        starts = np.searchsorted(side[order], side[order], side="left")
        places.append(order[np.arange(len(order)) - starts < count])
    return np.unique(np.concatenate(places))


def _probabilities(drawn: PosteriorRelations, rules: Rules) -> Floats:
    found = np.empty(len(rules))
    for kind in KINDS:
        mine = rules.kind == kind
        found[mine] = drawn.probabilities(rules.pairs[mine], kind)
    return found
