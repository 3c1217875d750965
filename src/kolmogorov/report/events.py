"""Events of the report: their share, and the items that set them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems

#: Items listed for an event. By judgement: as many as anybody reads.
_LISTED = 40


def events(fitted: Fitted, titles: list[str], named: bool) -> list[dict[str, Any]]:
    """Describe every event; where items are pixels, names of items say nothing and events keep their numbers.

    Beside the items stand the likes that were found among the event's people, and those expected if all events liked
    the same things.
    """
    found = EventItems(fitted)
    return [
        {
            "name": event.name if named else f"event {event.number}",
            "share": round(event.share, 5),
            "n_items": event.n_items,
            "items": list(event.rows),
            "likes": np.round(found.likes[list(event.rows), event.number], 2).tolist(),
            "expected": np.round(found.expected[list(event.rows), event.number], 2).tolist(),
        }
        for event in found.events(_LISTED, titles)
    ]
