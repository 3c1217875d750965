"""Rules of the report: chosen on the training data, counted on what the model has not seen."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.interpret import Relations, Rules
from kolmogorov.interpret.relations.supports import packed
from kolmogorov.interpret.rules.counting import Answers
from kolmogorov.interpret.rules.selection import KINDS
from kolmogorov.interpret.rules.table import joined
from kolmogorov.report.model import mark_of

#: Rules of each kind that are listed, and those kept besides for the lists of single items.
_LISTED, _PER_ITEM = 1000, 6
#: Rules to choose from.
_MOST = 2_000_000


def rules_of(relations: Relations, judges: Answers, posterior: Posterior | None, likes: float) -> dict[str, Any]:
    """Return rules as columns: the strongest of each kind, and those that each item's lists need besides.

    The base rate of a rule is that of its consequent, which the items hold.
    """
    parts, listed = [], []
    for kind in KINDS:
        ranked = relations.rules(None, judges.basis.likes, kinds=(kind,), min_support=1, max_rules=_MOST)
        kept = np.union1d(np.arange(min(_LISTED, len(ranked))), _for_items(ranked))
        parts.append(ranked[kept])
        listed.append(kept < _LISTED)
    rules = joined(parts)
    # Rules that the page lists come first, the strongest of all kinds together.
    order = np.lexsort((-np.nan_to_num(rules.strength), ~np.concatenate(listed)))
    rules = rules[order]
    counted = rules.recounted(judges)
    first = int(np.concatenate(listed).sum())
    chance = None if posterior is None else _chances(posterior, rules, likes)
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
        "probability": None if chance is None else rounded(chance, 2),
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


def _chances(posterior: Posterior, rules: Rules, likes: float) -> Floats:
    """Return the share of all draws in which each rule holds."""
    held = np.zeros(len(rules))
    left, right = rules.antecedent, rules.consequent
    implied, same, apart, cover = (rules.code == list(KINDS).index(kind) for kind in KINDS)
    every = packed(np.ones((1, posterior.psi.shape[2]), dtype=bool))
    mark = mark_of(posterior, likes) - 1e-6
    for draw in posterior.psi:
        psi = packed(draw >= mark)
        a, b = psi[left], psi[right]
        inside, outside = ~(a & ~b).any(axis=1), ~(b & ~a).any(axis=1)
        held += (implied & inside) | (same & inside & outside)
        held += (apart & ~(a & b).any(axis=1)) | (cover & ((a | b) == every).all(axis=1))
    return held / posterior.n_draws
