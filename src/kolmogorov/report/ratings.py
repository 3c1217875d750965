"""The ratings of the users whom the page shows, packed."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.fitted.base import Trained, entry_rows
from kolmogorov.report.names import addresses, shown_names
from kolmogorov.report.packing import as_text, nibbles, varints

#: Ratings on a page, at most: a few megabytes. Users with fewest are left out until they fit. By judgement.
_MOST = 1_500_000
#: Distinct values, with one bit more in a byte each; where there are more, they are rounded to hundredths.
_VALUES = 100


def shown_users(trained: Trained, max_users: int) -> Rows:
    """Return the users with most observations, in the order of their rows."""
    counts = trained.user_counts
    busiest = np.argsort(-counts, kind="stable")[: min(max_users, int((counts > 0).sum()))]
    fit = int(np.searchsorted(np.cumsum(counts[busiest]), _MOST, side="right"))
    return np.sort(busiest[: max(fit, 1)])


def users(trained: Trained, rows: Rows, fresh: Observations) -> dict[str, Any]:
    """Describe users: names, and their ratings in training and beyond it."""
    names, ids = shown_names(trained.users), addresses(trained.users)
    place = np.full(len(trained.users) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    parts = [_entries(trained, trained.training, place, 0), _entries(trained, fresh, place, 1)]
    user, item, value, late = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((item, user))
    user, item, value, late = user[order], item[order], value[order], late[order]
    values, codes = _coded(value)
    return {
        "n_all": int(trained.user_seen.sum()),
        "names": [names[row] for row in rows.tolist()],
        "ids": None if ids is None else [ids[row] for row in rows.tolist()],
        "counts": np.bincount(user, minlength=len(rows)).tolist(),
        "trained": trained.user_counts[rows].tolist(),
        "gaps": varints(_gaps(user, item)),
        "values": values,
        "small": len(values) <= 8,
        "codes": nibbles(2 * codes + late) if len(values) <= 8 else as_text((2 * codes + late).astype(np.uint8)),
    }


def _entries(trained: Trained, observations: Observations, place: Rows, late: int) -> tuple[Rows, Rows, Floats, Rows]:
    user, item = entry_rows(trained.training, observations)
    user = place[user]
    known = (user >= 0) & (item >= 0)
    return user[known], item[known], observations.values[known], np.full(int(known.sum()), late, dtype=np.int64)


def _gaps(user: Rows, item: Rows) -> Rows:
    """Return how many items lie between a rating and the one before it of the same user."""
    before = np.concatenate([[-1], item[:-1]])[: len(item)]
    first = np.concatenate([[True], user[1:] != user[:-1]])[: len(item)]
    return item - np.where(first, -1, before) - 1


def _coded(value: Floats) -> tuple[list[float], Rows]:
    _, first, codes = np.unique(value.round(6), return_index=True, return_inverse=True)
    values = value[first]
    if len(values) > _VALUES:
        values, codes = np.unique(value.round(2), return_inverse=True)
    return values.tolist(), codes.astype(np.int64)
