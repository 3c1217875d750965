"""What a user is known to like and implies an item: the reasons to expect a yes to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.answers import Answers, Floats, Rows, says_yes
from kolmogorov.interpret.rule import Rule
from kolmogorov.interpret.rules import Rules
from kolmogorov.interpret.supports import packed

#: Answers looked at in one go.
_BLOCK = 1 << 21


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


class Found(NamedTuple):
    """Reasons for some (user, item): which of these pairs each belongs to, what the user said, and the rule."""

    place: Rows
    value: Floats
    rules: Rules


def reasons_for(fitted: Fitted, users: Rows, items: Rows, likes: float) -> Iterator[Found]:
    """Yield, for aligned row numbers, the rules from what each user likes to the item, in blocks.

    The reasons of a pair stand together, the strongest first; those never met in the training data stand last. An
    item that happens in every event is implied by everything, and one in no event implies everything: neither makes
    a reason.
    """
    answers = Answers.for_model(fitted, None, likes)
    words = packed(fitted.psi)
    size = fitted.psi.sum(axis=1)
    wanted = fitted.item_seen[items] & (size[items] < fitted.n_events)
    places = np.flatnonzero(wanted)
    rows = fitted.training.rows
    ends = np.cumsum(rows.counts[users[places]])
    first = 0
    while first < len(places):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
        part = places[first:last]
        counts = rows.counts[users[part]]
        place = np.repeat(part, counts)
        # The entries of these users' rows, one row after the other.
        entry = np.arange(len(place)) + np.repeat(rows.indptr[users[part]] - (np.cumsum(counts) - counts), counts)
        liked, value = rows.indices[entry].astype(np.int64), rows.values[entry]
        good = says_yes(value, likes) & (size[liked] > 0) & (liked != items[place])
        place, liked, value = place[good], liked[good], value[good]
        inside = ~(words[liked] & ~words[items[place]]).any(axis=1)
        yield _ranked(answers, place[inside], liked[inside], items[place[inside]], value[inside])
        first = last


def _ranked(answers: Answers, place: Rows, liked: Rows, items: Rows, value: Floats) -> Found:
    """Count each distinct rule once, and sort the reasons by pair and strength."""
    n = len(answers.rate)
    pairs, which = np.unique(liked * n + items, return_inverse=True)
    rules = Rules.counted(answers, "implication", *np.divmod(pairs, n))
    strength = np.nan_to_num(rules.strength, nan=-np.inf)[which]
    order = np.lexsort((liked, -strength, place))
    return Found(place[order], value[order], rules[which[order]])
