"""What a user is known to like and implies an item: the reasons to expect a yes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov.data.table.liking import reaching
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.rules.counting import Counting
from kolmogorov.interpret.rules.selection import Selection, supported_rules
from kolmogorov.interpret.rules.table import Rule


@dataclass(frozen=True, kw_only=True)
class Reason(Rule):
    """A rule from something that a user is known to like to an item, counted on the training data.

    Attributes
    ----------
    item : id
        What the user likes; its name is the rule's antecedent.
    value : float
        What the user said to it, on the probability scale.
    """

    item: Any
    value: float


def reasons_for(fitted: Fitted, user: int, item: int, likes: float) -> tuple[Reason, ...]:
    """Return the supported rules from what a user (row number) likes to an item, the strongest first."""
    if user >= len(fitted.users) or item >= len(fitted.items) or not fitted.item_seen[item]:
        return ()
    counting = Counting.for_model(fitted, None, np.array([likes]), not fitted.training.is_binary)
    rows = fitted.training.rows
    part = slice(rows.indptr[user], rows.indptr[user + 1])
    said = dict(zip(rows.indices[part].tolist(), rows.values[part].tolist(), strict=True))
    rules = supported_rules(counting, Selection.usual(likes), fitted.item_seen, item)
    liked = [row for row, value in said.items() if reaching(value, likes)]
    rules = rules[(rules.consequent == item) & np.isin(rules.antecedent, liked)]
    return tuple(
        Reason(**vars(rule), item=fitted.items.ids[row], value=said[row])
        for rule, row in zip(rules, rules.antecedent.tolist(), strict=True)
    )
