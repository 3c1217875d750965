"""Elementary events, described by the items that happen in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov.fitting.fitted import Fitted

# An item that is the same in every event stands out in none, whatever rounding says.
_ROUNDING = 1e-9


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
        How many items have the event in their support; of a many-valued model, how many are above their own mean in it.
    items : tuple of str
        The most telling of them: often observed, and with few events in their support, or far above their mean.
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
    events = []
    for number, inside in enumerate(_telling(fitted) if fitted.levels is None else _standing_out(fitted)):
        rows = tuple(inside[:n_items].tolist())
        names = tuple(fitted.items.name(row) for row in rows)
        events.append(Event(number, float(share[number]), len(inside), names, rows))
    return events


def _telling(fitted: Fitted) -> Iterator[NDArray[np.int64]]:
    """Yield the items that happen in each event, the most telling first."""
    telling = np.argsort(-fitted.item_counts / np.maximum(fitted.psi.sum(axis=1), 1), kind="stable")
    telling = telling[fitted.item_seen[telling]]
    for number in range(fitted.n_events):
        yield telling[fitted.psi[telling, number]]


def _standing_out(fitted: Fitted) -> Iterator[NDArray[np.int64]]:
    """Yield the items that are higher in each event than for the population, by how much and how often observed."""
    above = fitted.psi - (fitted.psi @ fitted.theta_or_population[-1])[:, None]
    weight = np.sqrt(fitted.item_counts)
    for number in range(fitted.n_events):
        order = np.argsort(-above[:, number] * weight, kind="stable")
        yield order[above[order, number] > _ROUNDING]
