"""Why an item is in somebody's list: because of what they have, and because of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.markup import bars, card, note, shown
from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.errors import DataError
from kolmogorov.interpret.events.explanation import Contribution
from kolmogorov.interpret.events.naming import EventItems
from kolmogorov.interpret.plot import waterfall
from kolmogorov.models.ids import GUEST, Unknown, id_of, observations_of, rows_of
from kolmogorov.models.lists import FittedLists

#: Causes named in a sentence, parts shown one by one, and items that name an event; by judgement. The least amount that
#: is told of is half of what is printed last.
_CAUSES, _SHOWN, _ITEMS, _LITTLE = 2, 12, 5, 0.0005


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
class ListExplanation:
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
        nan = float("nan")
        return {
            "part": [
                "everybody",
                *(f"item {part.name}" for part in self.items),
                *(f"event {part.event}" for part in self.events),
            ],
            "amount": [
                self.base,
                *(part.amount for part in self.items),
                *(part.amount for part in self.events),
            ],
            "weight": [nan, *(part.weight for part in self.items), *(nan for _ in self.events)],
            "theta": [nan, *(nan for _ in self.items), *(part.theta for part in self.events)],
            "psi": [nan, *(nan for _ in self.items), *(part.psi for part in self.events)],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return `columns` as a data frame."""
        return to_frame(self.columns(), backend)

    @property
    def said(self) -> dict[str, float]:
        """What is explained, by its name."""
        return {"score": self.score}

    @property
    def sentence(self) -> str:
        """What is explained, and the strongest causes, in one line."""
        user, item = shown(self.user_name), shown(self.item_name)
        return f"{item} for {user}, score {self.score:.3f}{self._causes}"

    @property
    def _causes(self) -> str:
        items = [shown(part.name) for part in self.items if part.amount > _LITTLE][:_CAUSES]
        events = [f"event {part.event}" for part in self.events if part.amount > _LITTLE][:_CAUSES]
        told = [f"because of {' and '.join(names)}" for names in (items, events) if names]
        return f": {'; '.join(told)}" if told else ": nothing that they have speaks for it"

    @property
    def steps(self) -> list[tuple[str, float]]:
        """From what everybody would get to the score: names and amounts, which add up to it."""
        parts = [(part.name, part.amount) for part in self.items]
        parts += [(part.name, part.amount) for part in self.events]
        parts.sort(key=lambda part: -abs(part[1]))
        told = [part for part in parts[:_SHOWN] if abs(part[1]) > _LITTLE]
        others = sum(amount for _, amount in parts) - sum(amount for _, amount in told)
        found = [("everybody", self.base), *told]
        return found + ([("all others", others)] if abs(others) > 0.0 else [])

    def __str__(self) -> str:
        (_, base), *rest = self.steps
        lines = [self.sentence, f"   {base:.3f} everybody"]
        told = (f"  {amount:+.3f} {shown(name)}" for name, amount in rest if abs(amount) > _LITTLE)
        return "\n".join([*lines, *told])

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        (_, base), *rest = self.steps
        names, amounts = [name for name, _ in rest], [amount for _, amount in rest]
        drawn = bars(names, [abs(amount) for amount in amounts], [f"{amount:+.3f}" for amount in amounts])
        return card(self.sentence, note(f"{base:.3f} is what everybody would get; then"), drawn)

    def plot(self, ax: Any = None) -> Any:
        """Draw the way from what everybody would get to the score as a waterfall (extra `plot`)."""
        return waterfall(self.sentence, self.steps, [], ax)


def explain_list(
    fitted: FittedLists, placed: Callable[[View], Floats], user: Any, item: Any, guest: Any, unknown: Unknown
) -> ListExplanation:
    """Take the score of an item for a user, or for a guest, whose theta `placed` returns, apart."""
    if item is None or (user is None) == (guest is None):
        raise DataError("Give an item, and a user or a guest.")
    item = id_of(fitted.items, item, "item")
    row = int(rows_of(fitted.items, fitted.item_seen, [item], "item", unknown)[0])
    if guest is not None:
        view = placing.view_of(fitted.events, observations_of(fitted, guest), "users")
        return _explained(fitted, (GUEST, "the guest"), view.indices, view.values, placed(view)[0], row, item)
    user = id_of(fitted.users, user, "user")
    place = int(rows_of(fitted.users, fitted.user_seen, [user], "user", unknown)[0])
    name = fitted.users.name(place) if place < len(fitted.users) else f"{user} (unknown)"
    rows = fitted.training.rows
    mine = slice(rows.indptr[place], rows.indptr[place + 1]) if place < len(fitted.users) else slice(0)
    theta = fitted.events.theta_or_population[place]
    return _explained(fitted, (user, name), rows.indices[mine], rows.values[mine], theta, row, item)


def _explained(
    fitted: FittedLists, who: tuple[Any, str], partners: Rows, values: Floats, theta: Floats, row: int, item: Any
) -> ListExplanation:
    """Explain the score of an item's row for somebody who has some items."""
    events, balance = fitted.events, fitted.settings.balance
    known = row < len(fitted.items)
    weights = fitted.links.into(row)[partners] if known else np.zeros(partners.size)
    amounts = (1.0 - balance) * weights * values + 0.0
    items = [
        ItemContribution(name, fitted.items.name(partner), weight, amount)
        for name, partner, weight, amount in zip(
            fitted.items.ids[partners].tolist(), partners.tolist(), weights.tolist(), amounts.tolist(), strict=True
        )
    ]
    share, psi = events.population, events.psi_or_average[row]
    apart = balance * (theta - share) * psi + 0.0
    told = [
        Contribution(event.number, float(theta[d]), float(share[d]), float(psi[d]), float(apart[d]), tuple(event.items))
        for d, event in enumerate(EventItems(events).events(_ITEMS))
    ]
    base = balance * float(share @ psi)
    score = base + float(amounts.sum()) + float(apart.sum())
    return ListExplanation(
        user=who[0],
        item=item,
        user_name=who[1],
        item_name=fitted.items.name(row) if known else f"{item} (unknown)",
        base=base,
        items=tuple(sorted(items, key=lambda part: -abs(part.amount))),
        events=tuple(sorted(told, key=lambda part: -abs(part.amount))),
        score=score,
    )
