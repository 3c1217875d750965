"""One list, and why it begins as it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.data.table.liking import reaching
from kolmogorov.fitted.base import entry_rows


def list_example(model: Any, fresh: Observations, length: int) -> dict[str, Any] | None:
    """Take the first item of a list apart, for the user of whom most was held out.

    Returns
    -------
    dict or None
        The user's name, the list, steps from what everybody would get to the score, which add up to it, and whether the
        item was among those held out. None where nothing was.
    """
    fitted = model.fitted_
    users, items = entry_rows(fitted.training, fresh)
    liked = (users >= 0) & (items >= 0) & reaching(fresh.values, fitted.likes)
    if not liked.any():
        return None
    user = int(np.argmax(np.bincount(users[liked], minlength=len(fitted.users))))
    kept = set(items[liked & (users == user)].tolist())
    asked = fitted.users.ids.tolist()[user]
    listed = model._asked(asked, length)["item"]
    rows = fitted.items.encode(listed).tolist()
    if not rows:
        return None
    why = model.explain(asked, listed.tolist()[0])
    return {
        "user": fitted.users.name(user),
        "n_has": int(fitted.user_counts[user]),
        "list": [[fitted.items.name(row), row in kept] for row in rows],
        "n_held_out": len(kept),
        "score": why.score,
        "steps": [[name, amount] for name, amount in why.steps],
    }
