"""Events of the report: their share, and the items that set them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems

#: Items listed for an event.
_LISTED = 40


def events(fitted: Fitted, titles: list[str], named: bool) -> list[dict[str, Any]]:
    """Describe every event; where items are pixels, names of items say nothing and events keep their numbers.

    Beside the items stand the likes that were found among the event's people, and those expected if all events liked
    the same things.
    """
    found = EventItems(fitted)
    names = found.names(titles) if named else [f"event {event}" for event in range(fitted.n_events)]
    inside = fitted.psi[fitted.item_seen].sum(axis=0)
    listed = []
    for event in range(fitted.n_events):
        rows = found.best(event, _LISTED)
        listed.append(
            {
                "name": names[event],
                "share": round(float(fitted.population[event]), 5),
                "n_items": int(inside[event]),
                "items": rows.tolist(),
                "likes": np.round(found.likes[rows, event], 2).tolist(),
                "expected": np.round(found.expected[rows, event], 2).tolist(),
            }
        )
    return listed
