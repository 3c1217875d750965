"""One prediction, taken apart, to say what the model is by an example from the reader's own data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Rows
from kolmogorov.data import Observations
from kolmogorov.data.table.liking import reaching
from kolmogorov.fitted.base import Trained, entry_rows

#: Rules that are looked at, strongest first: soon enough found. By judgement.
_TRIED = 40


def example(
    trained: Trained, rules: dict[str, Any], shown: Rows, fresh: Observations, likes: float, threshold: float
) -> dict[str, Any] | None:
    """Choose a user who said yes to what implies an item that the model has not seen their answer to.

    The rule is the strongest supported one for which there is such a user, whom the model expects to say yes more than
    others; one whose answer is known from the held-out data is preferred. Returns the place of the user among those
    shown, and row numbers of the items.
    """
    place = {int(row): k for k, row in enumerate(shown.tolist())}
    known = _answers(trained, fresh)
    implications = [k for k in range(rules["listed"]) if rules["kind"][k] == 0 and rules["supported"][k]][:_TRIED]
    spare: dict[str, Any] | None = None
    for rule in implications:
        because, item = rules["from"][rule], rules["to"][rule]
        for user in _users_of(trained, because, item, likes, threshold):
            if user not in place:
                continue
            found = {"user": place[user], "item": item, "because": because, "rule": rule}
            if (user, item) in known:
                return found | {"said": known[user, item]}
            spare = spare or found | {"said": None}
    return spare


def _users_of(trained: Trained, because: int, item: int, likes: float, threshold: float) -> list[int]:
    """Return users who said yes to one item, were not observed with the other, and are expected to say yes to it.

    More than others are, that is; the busiest first.
    """
    rows = trained.training.rows
    owners = trained.training.user_rows()
    yes = owners[(rows.indices == because) & reaching(rows.values, likes)]
    users = np.setdiff1d(yes, owners[rows.indices == item])
    asked = np.append(users, len(trained.users)).astype(np.int64)
    chances = trained.at_rows(asked, np.full(len(asked), item))
    users = users[chances[:-1] >= max(threshold, chances[-1])]
    order = np.argsort(-trained.user_counts[users], kind="stable")
    return [int(user) for user in users[order]]


def _answers(trained: Trained, fresh: Observations) -> dict[tuple[int, int], float]:
    users, items = entry_rows(trained.training, fresh)
    pairs = zip(users.tolist(), items.tolist(), fresh.values.tolist(), strict=True)
    return {(user, item): value for user, item, value in pairs}
