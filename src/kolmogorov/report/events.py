"""Events of the report: their share, and the items that may describe them, whatever the reader cares for."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.naming import EventItems

#: Items of an event that are among the first for some weight of the slider.
_FIRST = 60
_WEIGHTS = (0.0, 0.1, 0.3, 0.6, 1.0)


def events(fitted: Fitted, titles: list[str], named: bool) -> dict[str, Any]:
    """Describe every event; where items are pixels, names of items say nothing and events keep their numbers."""
    found = EventItems(fitted)
    names = found.names(titles) if named else [f"event {event}" for event in range(fitted.n_events)]
    share = fitted.theta_or_population[-1]
    scores = [found.relevance(weight) for weight in _WEIGHTS]
    listed = []
    for event in range(fitted.n_events):
        inside = found.mass[:, event] > 0.0
        first = {int(row) for score in scores for row in np.argsort(-score[:, event], kind="stable")[:_FIRST]}
        rows = [row for row in sorted(first) if inside[row]]
        listed.append(
            {
                "name": names[event],
                "share": round(float(share[event]), 5),
                "n_items": int(inside.sum()),
                "items": rows,
                "mass": [round(float(found.mass[row, event]), 3) for row in rows],
            }
        )
    return {
        "list": listed,
        # What the slider needs besides: all yeses of each event, and of each item in the lists above.
        "total": np.round(found.mass.sum(axis=0), 3).tolist(),
        "of_items": np.round(found.mass.sum(axis=1), 3).tolist(),
    }
