"""One prediction, taken apart, to say what the model is by an example from the reader's own data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Rows
from kolmogorov.data import Observations
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.answers import says_yes

#: Rules that are looked at, strongest first.
_TRIED = 40


def example(
    fitted: Fitted, rules: dict[str, Any], shown: Rows, fresh: Observations, likes: float
) -> dict[str, Any] | None:
    """Choose a user who said yes to what implies an item that the model has not seen their answer to.

    The rule is the strongest for which there is such a user, whom the model expects to say yes more than others; one
    whose answer is known from the held-out data is preferred. Returns the place of the user among those shown, and row
    numbers of the items.
    """
    place = {int(row): k for k, row in enumerate(shown.tolist())}
    known = _answers(fitted, fresh)
    average = fitted.psi @ fitted.theta_or_population[-1]
    implications = [k for k in range(rules["listed"]) if rules["kind"][k] == 0][:_TRIED]
    spare: dict[str, Any] | None = None
    for rule in implications:
        because, item = rules["from"][rule], rules["to"][rule]
        for user in _users_of(fitted, because, item, likes):
            if user not in place or fitted.theta[user] @ fitted.psi[item] < max(likes, average[item]):
                continue
            found = {"user": place[user], "item": item, "because": because, "rule": rule}
            if (user, item) in known:
                return found | {"said": known[user, item]}
            spare = spare or found | {"said": None}
    return spare


def _users_of(fitted: Fitted, because: int, item: int, likes: float) -> list[int]:
    """Return users who said yes to one item and were not observed with the other, the busiest first."""
    rows = fitted.training.rows
    owners = fitted.training.user_rows()
    yes = owners[(rows.indices == because) & says_yes(rows.values, likes)]
    users = np.setdiff1d(yes, owners[rows.indices == item])
    order = np.argsort(-fitted.user_counts[users], kind="stable")
    return [int(user) for user in users[order]]


def _answers(fitted: Fitted, fresh: Observations) -> dict[tuple[int, int], float]:
    users = fitted.users.translate(fresh.users)[fresh.user_rows()]
    items = fitted.items.translate(fresh.items)[fresh.item_rows()]
    pairs = zip(users.tolist(), items.tolist(), fresh.values.tolist(), strict=True)
    return {(user, item): value for user, item, value in pairs}
