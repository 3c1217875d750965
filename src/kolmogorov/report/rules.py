"""Rules of the report: chosen on the training data, counted on what the model has not seen."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret import PosteriorRelations, Relations, Rules
from kolmogorov.interpret.rules.counting import Counting
from kolmogorov.interpret.rules.pairs import KINDS
from kolmogorov.interpret.rules.table import joined

#: Rules of each kind that are listed, and those kept besides for the lists of single items. By judgement.
_LISTED, _PER_ITEM = 1000, 6
#: Rules to choose from: some hundred megabytes. By judgement.
_MOST = 2_000_000


def rules_of(relations: Relations, judges: Counting, drawn: PosteriorRelations | None) -> dict[str, Any]:
    """Return rules as columns: the strongest of each kind, and those that each item's lists need besides.

    Those that the training data support come first, and then what else the supports say. The base rate of a rule is
    that of its consequent, which the items hold. Of draws, a rule's probability is the share of them in which it holds.
    """
    parts, listed, likes = [], [], float(judges.terms.thresholds[0])
    supported = replace(relations.rules(None, likes, kinds=KINDS, max_rules=_MOST), stated=None)
    kept = np.union1d(np.arange(min(len(KINDS) * _LISTED, len(supported))), _for_items(supported))
    parts.append(supported[kept])
    listed.append(kept < len(KINDS) * _LISTED)
    known = set(_keys(supported))
    for kind in KINDS:
        ranked = relations.rules(None, likes, kinds=(kind,), supported=False, max_rules=_MOST)
        ranked = ranked[np.array([key not in known for key in _keys(ranked)], dtype=bool)]
        kept = np.union1d(np.arange(min(_LISTED, len(ranked))), _for_items(ranked))
        parts.append(ranked[kept])
        listed.append(kept < _LISTED)
    rules = joined(parts)
    # Rules that the page lists come first, the supported ones before all others, the strongest of all kinds together.
    others = np.arange(len(rules)) >= len(parts[0])
    order = np.lexsort((-np.nan_to_num(rules.strength), others, ~np.concatenate(listed)))
    rules = rules[order]
    counted = rules.recounted(judges)
    first = int(np.concatenate(listed).sum())
    return {
        "supported": (~others[order]).astype(int).tolist(),
        "looked": supported.n_judged,
        "expected": rounded(counted.expected, 3),
        "kinds": list(KINDS),
        "listed": first,
        "kind": rules.code.tolist(),
        "from": rules.antecedent.tolist(),
        "to": rules.consequent.tolist(),
        "seen": counted.support.tolist(),
        "held": counted.held.tolist(),
        "p": rounded(np.log10(np.maximum(rules.p_adjusted[:first], 1e-300)), 1),
        "trained": rules.support.tolist(),
        "trained_held": rules.held.tolist(),
        "probability": None if drawn is None else rounded(_probabilities(drawn, rules), 2),
        "counts": relations.counts,
    }


def _keys(rules: Rules) -> list[tuple[int, int, int]]:
    return list(zip(rules.code.tolist(), rules.antecedent.tolist(), rules.consequent.tolist(), strict=True))


def rounded(values: NDArray[np.float64], digits: int = 4) -> list[float | None]:
    """Return numbers to some digits, and None for what is no number."""
    return [round(x, digits) if isfinite(x) else None for x in values.tolist()]


def _for_items(rules: Rules) -> Rows:
    """Return the places of the strongest rules from and to each item."""
    places = [np.empty(0, dtype=np.int64)]
    for side in (rules.antecedent, rules.consequent):
        # The rules come strongest first; a stable sort by item keeps that order within each.
        order = np.argsort(side, kind="stable")
        starts = np.searchsorted(side[order], side[order], side="left")
        places.append(order[np.arange(len(order)) - starts < _PER_ITEM])
    return np.unique(np.concatenate(places))


def _probabilities(drawn: PosteriorRelations, rules: Rules) -> Floats:
    found = np.empty(len(rules))
    for kind in KINDS:
        mine = rules.kind == kind
        found[mine] = drawn.probabilities(rules.pairs[mine], kind)
    return found
