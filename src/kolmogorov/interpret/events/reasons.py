"""What a user is known to like and implies an item: the reasons to expect a yes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.relations.thresholds import Thresholds
from kolmogorov.interpret.rules.counting import Counting, thresholds_reached
from kolmogorov.interpret.rules.pairs import pairs_of
from kolmogorov.interpret.rules.rule import Rule
from kolmogorov.interpret.rules.table import Rules


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
    """Return the rules from what a user (row number) likes to an item, the strongest first.

    Those never met in the training data stand last. What happens in every event is implied by everything, and what
    happens in none implies everything: neither makes a reason. With several thresholds every rating leads on from the
    one that it reaches, whatever `likes` is, to the highest one of the item that follows.
    """
    if user >= len(fitted.users) or item >= len(fitted.items) or not fitted.item_seen[item]:
        return ()
    thresholds = Thresholds.of(fitted)
    counting = Counting.for_model(fitted, None, thresholds.counted_at(likes), thresholds.said)
    rows = fitted.training.rows
    part = slice(rows.indptr[user], rows.indptr[user + 1])
    liked, value = rows.indices[part].astype(np.int64), rows.values[part]
    bits, goal = thresholds.bits(fitted.psi[liked]), thresholds.bits(fitted.psi[[item]])[0]
    full, empty = bits.all(axis=2).sum(axis=1), bits.any(axis=2).sum(axis=1)
    # That a threshold is reached that is reached in no event says no more than the last that is reached in some.
    told = np.minimum(thresholds_reached(value, counting.basis.thresholds), empty)
    good = np.flatnonzero((told > full) & (liked != item))
    # Whether the support of threshold a of what is liked lies inside that of threshold b of the item.
    inside = ~(bits[good, :, None] & ~goal).any(axis=3)
    # Supports are nested: the number of those that hold another is the place of the last.
    at = inside[np.arange(len(good)), told[good] - 1].sum(axis=1) - 1
    useful = at >= goal.all(axis=1).sum()
    good, at = good[useful], at[useful]
    # The lowest threshold from which the same follows: those that do not lead to it come first.
    first = (~inside[np.flatnonzero(useful), :, at]).sum(axis=1)
    rules = Rules.counted(counting, "implication", pairs_of(liked[good], np.full(len(good), item), first, at))
    order = np.lexsort((liked[good], -np.nan_to_num(rules.strength, nan=-np.inf)))
    ids = fitted.items.ids[liked[good][order]].tolist()
    return tuple(
        Reason(**vars(rule), item=identifier, value=said)
        for rule, identifier, said in zip(rules[order], ids, value[good][order].tolist(), strict=True)
    )
