"""Rules of the report: chosen on the training data, counted on what the model has not seen."""

from __future__ import annotations

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

    The base rate of a rule is that of its consequent, which the items hold. Of draws, a rule's probability is the share
    of them in which it holds.
    """
    parts, listed, likes = [], [], float(judges.basis.thresholds[0])
    for kind in KINDS:
        ranked = relations.rules(None, likes, kinds=(kind,), max_rules=_MOST)
        kept = np.union1d(np.arange(min(_LISTED, len(ranked))), _for_items(ranked))
        parts.append(ranked[kept])
        listed.append(kept < _LISTED)
    rules = joined(parts)
    # Rules that the page lists come first, the strongest of all kinds together.
    order = np.lexsort((-np.nan_to_num(rules.strength), ~np.concatenate(listed)))
    rules = rules[order]
    counted = rules.recounted(judges)
    first = int(np.concatenate(listed).sum())
    return {
        "kinds": list(KINDS),
        "listed": first,
        "kind": rules.code.tolist(),
        "from": rules.antecedent.tolist(),
        "to": rules.consequent.tolist(),
        "seen": counted.support.tolist(),
        "held": counted.held.tolist(),
        "p": rounded(np.log10(np.maximum(counted.p_adjusted[:first], 1e-300)), 1),
        "trained": rules.support.tolist(),
        "trained_held": rules.held.tolist(),
        "probability": None if drawn is None else rounded(_probabilities(drawn, rules), 2),
        "counts": relations.counts,
    }


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
