"""Why an item is in somebody's list: because of what they have, and because of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.markup import shown
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.errors import DataError
from kolmogorov.interpret.events import EventItems
from kolmogorov.interpret.explanation import LITTLE, Contribution, Waterfall, contributions
from kolmogorov.models.ids import GUEST, Unknown, id_of, observations_of, rows_of
from kolmogorov.models.lists import FittedLists

#: Causes named in a sentence, parts shown one by one, and items that name an event; by judgement.
_CAUSES, _SHOWN, _ITEMS = 2, 12, 5


@dataclass(frozen=True)
class ItemContribution:
    """By how much one of a user's items speaks for another.

    Attributes
    ----------
    item : id
    name : str
    weight : float
        Of the link between the two.
    amount : float
        The weight times what the item was to the user, times the share of links in a score.
    """

    item: Any
    name: str
    weight: float
    amount: float


@dataclass(frozen=True, repr=False)
class ListExplanation(Waterfall):
    """A score taken apart; ``print`` says it in words.

    Attributes
    ----------
    user, item : id
        The user is "guest" where one was given.
    user_name, item_name : str
    base : float
        What everybody would get: the events' share, without any item.
    items : tuple of ItemContribution
        For each item that the user has, largest amounts first.
    events : tuple of Contribution
        For each event by how much the user is set apart, largest first.
    score : float
        The sum: what lists are ordered by. It is neither a probability nor a rating.
    """

    user: Any
    item: Any
    user_name: str
    item_name: str
    base: float
    items: tuple[ItemContribution, ...]
    events: tuple[Contribution, ...]
    score: float
    binary: bool = True
    reasons: tuple[Any, ...] = ()

    def columns(self) -> dict[str, list[Any]]:
        """Return what the score is the sum of, as columns: what everybody would get, every item, every event."""
        parts: list[Any] = [*self.items, *self.events]
        nan = float("nan")
        names = [*(f"item {part.name}" for part in self.items), *(f"event {part.event}" for part in self.events)]
        columns: dict[str, list[Any]] = {"part": ["everybody", *names]}
        columns["amount"] = [self.base, *(part.amount for part in parts)]
        return columns | {
            name: [nan, *(getattr(part, name, nan) for part in parts)] for name in ("weight", "theta", "psi")
        }

    @property
    def said(self) -> dict[str, float]:
        """What is explained, by its name."""
        return {"score": self.score}

    @property
    def sentence(self) -> str:
        """What is explained, and the strongest causes, in one line."""
        items = [shown(part.name) for part in self.items if part.amount > LITTLE][:_CAUSES]
        events = [f"event {part.event}" for part in self.events if part.amount > LITTLE][:_CAUSES]
        told = "; ".join(f"because of {' and '.join(names)}" for names in (items, events) if names)
        score = f"{shown(self.item_name)} for {shown(self.user_name)}, score {self.score:.3f}"
        return f"{score}: {told or 'nothing that they have speaks for it'}"

    @property
    def steps(self) -> list[tuple[str, float]]:
        """From what everybody would get to the score: names and amounts, which add up to it."""
        parts = [(part.name, part.amount) for part in self.items]
        parts += [(part.name, part.amount) for part in self.events]
        parts.sort(key=lambda part: -abs(part[1]))
        told = [part for part in parts[:_SHOWN] if abs(part[1]) > LITTLE]
        others = sum(amount for _, amount in parts) - sum(amount for _, amount in told)
        found = [("everybody", self.base), *told]
        return found + ([("all others", others)] if abs(others) > 0.0 else [])


def explain_list(
    fitted: FittedLists, placed: Callable[[View], Floats], user: Any, item: Any, guest: Any, unknown: Unknown
) -> ListExplanation:
    """Take the score of an item for a user, or for a guest, whose theta `placed` returns, apart."""
    if item is None or (user is None) == (guest is None):
        raise DataError("Give an item, and a user or a guest.")
    item = id_of(fitted.items, item, "item")
    row = int(rows_of(fitted.items, fitted.item_seen, [item], "item", unknown)[0])
    events, balance = fitted.events, fitted.settings.balance
    if guest is not None:
        view = placing.view_of(events, observations_of(fitted, guest), "users")
        user, name, partners, values, theta = GUEST, "the guest", view.indices, view.values, placed(view)[0]
    else:
        user, rows = id_of(fitted.users, user, "user"), fitted.training.rows
        place = int(rows_of(fitted.users, fitted.user_seen, [user], "user", unknown)[0])
        there = place < len(fitted.users)
        mine = slice(rows.indptr[place], rows.indptr[place + 1]) if there else slice(0)
        name = fitted.users.name(place) if there else f"{user} (unknown)"
        partners, values, theta = rows.indices[mine], rows.values[mine], events.theta_or_population[place]
    known = row < len(fitted.items)
    weights = fitted.links.into(row)[partners] if known else np.zeros(partners.size)
    amounts = (1.0 - balance) * weights * values + 0.0
    items = [
        ItemContribution(fitted.items.ids[partner], fitted.items.name(partner), weight, amount)
        for partner, weight, amount in zip(partners.tolist(), weights.tolist(), amounts.tolist(), strict=True)
    ]
    psi = events.psi_or_average[row]
    told = contributions(events, theta, psi, EventItems(events).events(_ITEMS, 0), balance)
    base = balance * float(events.population @ psi)
    apart = np.array([part.amount for part in sorted(told, key=lambda part: part.event)])
    return ListExplanation(
        user=user,
        item=item,
        user_name=name,
        item_name=fitted.items.name(row) if known else f"{item} (unknown)",
        base=base,
        items=tuple(sorted(items, key=lambda part: -abs(part.amount))),
        events=tuple(told),
        score=base + float(amounts.sum()) + float(apart.sum()),
    )
