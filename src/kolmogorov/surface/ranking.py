"""The best items of somebody: which may be recommended, in which order, and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.fitting.trained import Trained

#: An item that fewer people were observed with is not recommended, unless that leaves too little to choose from.
ENOUGH = 5
#: Items to choose from, at least, for each that is asked for, and in all.
_CHOICE, _LEAST_CHOICE = 4, 40
#: Share of the draws that a lower bound leaves below it.
LOWER = 0.1


def usual_count(counts: NDArray[np.int64], n: int) -> int:
    """Return the least number of observations of an item that is recommended by default.

    What few people were observed with fits their answers too well and tends to the top.

    Examples
    --------
    >>> usual_count(np.array([90, 80, 3] * 40), n=10), usual_count(np.array([2, 1, 1]), n=10)
    (5, 1)
    """
    most = np.sort(counts[counts > 0])[::-1]
    wanted = min(most.size, max(_CHOICE * n, _LEAST_CHOICE))
    return int(min(ENOUGH, most[wanted - 1])) if wanted else 1


def best(scores: Floats, counts: NDArray[np.int64], seen: NDArray[Any], n: int, min_count: int) -> Rows:
    """Return the n items with the largest scores and enough observations that are not in `seen`.

    Ties go to the item with more observations, then to the smaller row number.
    """
    allowed = counts >= min_count
    allowed[seen] = False
    candidates = np.flatnonzero(allowed)
    if candidates.size > 4 * n:
        # Sort only what can be among the best.
        least = np.partition(scores[candidates], candidates.size - n)[candidates.size - n]
        candidates = candidates[scores[candidates].round(12) >= round(float(least), 12)]
    order = np.lexsort((-counts[candidates], -scores[candidates].round(12)))[:n]
    return candidates[order]


def as_columns(fitted: Trained, rows: Rows, probability: Floats) -> dict[str, NDArray[Any]]:
    """Put chosen items into columns for people: id, title where there is one, probability, rating, observations."""
    columns = {"item": fitted.items.ids[rows]}
    if fitted.items.labels is not None:
        columns["title"] = fitted.items.labels[rows]
    rating = fitted.scale.rating(probability)
    return columns | {"probability": probability, "rating": rating, "count": fitted.item_counts[rows]}
