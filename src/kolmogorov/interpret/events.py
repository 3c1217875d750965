"""Elementary events, described by the items that happen in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kolmogorov.fitting.fitted import Fitted


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
        How many items have the event in their support.
    items : tuple of str
        The most telling of them: often observed, and with few events in their support.
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
    share = fitted.theta_or_population[-1]
    size = fitted.psi.sum(axis=1)
    observed = fitted.item_counts
    telling = np.argsort(-observed / np.maximum(size, 1), kind="stable")
    telling = telling[fitted.item_seen[telling]]
    events = []
    for number in range(fitted.n_events):
        inside = telling[fitted.psi[telling, number]]
        rows = tuple(inside[:n_items].tolist())
        names = tuple(fitted.items.name(row) for row in rows)
        events.append(Event(number, float(share[number]), len(inside), names, rows))
    return events
