"""Rules of the report: chosen on the training data, counted on what the model has not seen."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.interpret import Relations, Rules
from kolmogorov.interpret.answers import Answers
from kolmogorov.interpret.selection import KINDS

_SHOWN = 300
#: Rules kept per item and list.
_PER_ITEM = 12
#: Digits that the page shows.
_SHARE, _LIFT = 3, 2
#: Rules to choose from.
_MOST = 2_000_000


def rules_of(relations: Relations, judges: Answers) -> tuple[list[list[Any]], dict[str, Any]]:
    """Return the strongest implications, and by item the strongest rules of each list and how many there are in all.

    An implication is (antecedent, consequent, how it fared), an entry of a list (partner, how it fared).
    """
    lists: dict[str, Any] = {"totals": _totals(relations)}
    implied = _ranked(relations, judges, "implication")
    lists["implies"] = _by_item(judges, implied, implied.antecedent, implied.consequent)
    lists["implied_by"] = _by_item(judges, implied, implied.consequent, implied.antecedent)
    for kind in KINDS[1:]:
        rules = _ranked(relations, judges, kind)
        lists[kind] = _by_item(judges, rules, rules.antecedent, rules.consequent)
    first = implied[:_SHOWN]
    return _table(judges, first, first.antecedent, first.consequent), lists


def rounded(values: NDArray[np.float64], digits: int = 4) -> list[float | None]:
    """Return numbers to some digits, and None for what is no number."""
    return [round(x, digits) if isfinite(x) else None for x in values.tolist()]


def _ranked(relations: Relations, judges: Answers, kind: str) -> Rules:
    """Rank the rules of a kind by what the training data says."""
    return relations.rules(None, judges.basis.likes, kinds=(kind,), min_support=0, max_rules=_MOST)


def _by_item(
    judges: Answers, rules: Rules, subject: NDArray[np.int64], partner: NDArray[np.int64]
) -> list[list[list[Any]]]:
    """Keep the strongest rules of each subject."""
    # The rules come strongest first; a stable sort by subject keeps that order within each.
    order = np.argsort(subject, kind="stable")
    starts = np.searchsorted(subject[order], subject[order], side="left")
    kept = order[np.arange(len(order)) - starts < _PER_ITEM]
    lists: list[list[list[Any]]] = [[] for _ in range(len(rules.items))]
    for row, *cells in _table(judges, rules[kept], subject[kept], partner[kept]):
        lists[row].append(cells)
    return lists


def _table(judges: Answers, rules: Rules, *items: NDArray[np.int64]) -> list[list[Any]]:
    """Return rows of items and of how rules fared.

    That is seen, held, confidence, base rate and lift with the judges, then seen and confidence in training.
    """
    counted = rules.recounted(judges)
    columns = (
        *(side.tolist() for side in items),
        counted.support.tolist(),
        counted.held.tolist(),
        rounded(counted.confidence, _SHARE),
        rounded(counted.base_rate, _SHARE),
        rounded(counted.lift, _LIFT),
        rules.support.tolist(),
        rounded(rules.confidence, _SHARE),
    )
    return [list(row) for row in zip(*columns, strict=True)]


def _totals(relations: Relations) -> dict[str, list[int]]:
    """Count, by item, all relations of each kind, of which the lists show the strongest."""
    n = len(relations.items)
    totals = {name: np.zeros(n, dtype=np.int64) for name in ("implies", "implied_by", *KINDS[1:])}
    for kind in KINDS:
        for pairs in relations.stream(kind):
            left, right = (np.bincount(side, minlength=n) for side in pairs.T)
            if kind == "implication":
                totals["implies"] += left
                totals["implied_by"] += right
            else:
                totals[kind] += left + right
    return {name: counts.tolist() for name, counts in totals.items()}
