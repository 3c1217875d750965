"""Where the model is wrong: its errors by how much is known of an item or a user, and by what was said."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.report.names import label_of
from kolmogorov.report.quality import BIASES, Test

#: Ends of the groups by number of training observations, and the fewest groups that tell anything. By judgement.
_ENDS = np.array([0, 1, 5, 20, 100, 500])
_FEWEST = 3
#: Values told apart; where there are more, tenths of the scale are. By judgement.
_VALUES = 12
#: Items listed as predicted worst, and the least test observations of such. By judgement.
_WORST, _LEAST = 12, 5


def weaknesses(test: Test | str) -> dict[str, Any] | None:
    """Return errors in groups, a confusion table for yes and no, and the items predicted worst.

    None without a test, and for lists: where only yes is recorded, a small prediction is no error.
    """
    if isinstance(test, str) or test.lists:
        return None
    trained = test.fitted
    counts = [np.append(known, 0) for known in (trained.item_counts, trained.user_counts)]
    return {
        "items": _by_count(test, counts[0][test.items]),
        "users": _by_count(test, counts[1][test.users]),
        "levels": _by_value(test),
        "confusion": _confusion(test) if test.fresh.is_binary else None,
        "worst": _worst(test),
    }


def _by_count(test: Test, counts: Rows) -> list[dict[str, Any]]:
    ends = _ENDS
    if len(np.unique(np.searchsorted(ends, counts, side="right"))) < _FEWEST:
        # Most counts are alike: quarters of the entries tell more than round numbers.
        ends = np.unique(np.append(counts.min(), np.quantile(counts, (0.25, 0.5, 0.75)).astype(np.int64) + 1))
    place = np.searchsorted(ends, counts, side="right") - 1
    found = []
    for k, first in enumerate(ends.tolist()):
        last = int(ends[k + 1]) - 1 if k + 1 < len(ends) else None
        label = f"{first}" if last == first else f"{first}+" if last is None else f"{first}–{last}"
        found += _errors(test, place == k, label)
    return found


def _by_value(test: Test) -> list[dict[str, Any]]:
    values, scale = test.fresh.values, test.fresh.scale
    distinct = np.unique(values.round(9))
    if len(distinct) > _VALUES:
        place = np.minimum((values * 10).astype(int), 9)
        ends = [(scale.rating(k / 10), scale.rating((k + 1) / 10)) for k in range(10)]
        return [row for k, (a, b) in enumerate(ends) for row in _errors(test, place == k, f"{a:g}–{b:g}")]
    place = np.searchsorted(distinct, values.round(9))
    names = [label_of(test.fresh, v) or f"{scale.rating(v):g}" for v in distinct.tolist()]
    return [row for k, name in enumerate(names) for row in _errors(test, place == k, name)]


def _errors(test: Test, chosen: Any, label: str) -> list[dict[str, Any]]:
    """Return a row for some of the test's entries: number, errors, and how far predictions lie above the truth."""
    if not chosen.any():
        return []
    values = test.fresh.values[chosen]

    def rmse(guess: Floats) -> float:
        return round(float(np.sqrt(np.mean((guess[chosen] - values) ** 2))), 5)

    over = float(np.mean(test.predicted[chosen] - values))
    number = int(chosen.sum())
    errors = {"model": rmse(test.predicted), "other": rmse(test.guesses[BIASES])}
    return [{"label": label, "n": number, **errors, "over": round(over, 5)}]


def _confusion(test: Test) -> list[list[int]]:
    """Return counts [said no, said yes] by [predicted no, predicted yes]."""
    said, predicted = test.fresh.values >= 0.5, test.predicted >= 0.5
    table = np.bincount(2 * said + predicted, minlength=4).reshape(2, 2)
    return [[int(n) for n in row] for row in table]


def _worst(test: Test) -> list[list[Any]]:
    """Return items (row, test observations, mean prediction, mean value) by how much their squared errors sum to."""
    n_items = len(test.fitted.items)
    known = test.items >= 0
    rows, values, predicted = test.items[known], test.fresh.values[known], test.predicted[known]
    count = np.bincount(rows, minlength=n_items)
    sums = [np.bincount(rows, weights=w, minlength=n_items) for w in (predicted, values, (predicted - values) ** 2)]
    mean = [total / np.maximum(count, 1) for total in sums]
    order = np.argsort(-np.where(count >= _LEAST, mean[2], -1.0), kind="stable")[:_WORST]
    return [
        [int(k), int(count[k]), round(float(mean[0][k]), 4), round(float(mean[1][k]), 4), round(float(mean[2][k]), 4)]
        for k in order
        if count[k] >= _LEAST
    ]
