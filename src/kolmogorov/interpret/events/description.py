"""Elementary events, described by the items that set them apart."""

from __future__ import annotations

from dataclasses import dataclass

from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems


@dataclass(frozen=True)
class Event:
    """One elementary event.

    Attributes
    ----------
    number : int
        Column of theta and psi.
    share : float
        Mean probability of the event over the users observed; the shares of all events sum to 1.
    n_items : int
        How many items happen in it: those with the event in their support, or that are at least as likely to happen in
        it as not.
    items : tuple of str
        Those that its people like more than everybody does, the most telling first.
    rows : tuple of int
        Their row numbers.
    """

    number: int
    share: float
    n_items: int
    items: tuple[str, ...]
    rows: tuple[int, ...]


def describe(fitted: Fitted, n_items: int = 10) -> list[Event]:
    """Describe every event of a model."""
    named, share = EventItems(fitted), fitted.population
    inside = (fitted.psi[fitted.item_seen] >= 0.5).sum(axis=0)
    events = []
    for number in range(fitted.n_events):
        rows = tuple(named.best(number, n_items).tolist())
        names = tuple(fitted.items.name(row) for row in rows)
        events.append(Event(number, float(share[number]), int(inside[number]), names, rows))
    return events
