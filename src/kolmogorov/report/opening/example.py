"""One prediction, taken apart, to say what the model is by an example from the reader's own data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Rows
from kolmogorov.data import Observations
from kolmogorov.fitted.base import entry_rows
from kolmogorov.fitted.point import Fitted

#: Answers that are looked at. By judgement: soon enough done.
_LOOKED = 200_000


def example(fitted: Fitted, shown: Rows, fresh: Observations) -> dict[str, Any] | None:
    """Choose the answer that the model expects to differ most from what everybody would say.

    It is chosen by what is predicted, not by what was said, among answers that the model was not trained on; where
    there are none, among the others. Users and items of which more is known than usual go first.

    Returns
    -------
    dict or None
        The place of the user among those shown, the item's row, what was said, and whether the model had seen it.
    """
    place = np.full(len(fitted.users), -1, dtype=np.int64)
    place[shown] = np.arange(len(shown))
    for late, table in ((True, fresh), (False, fitted.training)):
        users, items = (rows[:_LOOKED] for rows in entry_rows(fitted.training, table))
        known = np.flatnonzero((users >= 0) & (items >= 0))
        known = known[(place[users[known]] >= 0) & fitted.item_seen[items[known]]]
        if known.size:
            best = known[_most_telling(fitted, users[known], items[known])]
            said = float(table.values[best])
            return {"user": int(place[users[best]]), "item": int(items[best]), "said": said, "late": late}
    return None


def _most_telling(fitted: Fitted, users: Rows, items: Rows) -> int:
    """Return which of some pairs the model sets most apart from everybody; ties go to what is better known."""
    everybody = np.full_like(users, len(fitted.users))
    apart = np.abs(fitted.at_rows(users, items) - fitted.at_rows(everybody, items)).round(6)
    counts = [side[rows] for side, rows in ((fitted.user_counts, users), (fitted.item_counts, items))]
    usual = [count >= np.median(count) for count in counts]
    return int(np.lexsort((-counts[0], -counts[1], -apart, ~(usual[0] & usual[1])))[0])
