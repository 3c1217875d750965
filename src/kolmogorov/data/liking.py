"""What counts as a yes: ratings from which on people like a thing, and blanks that are noes."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from kolmogorov.data.observations import Observations
from kolmogorov.data.scale import Scale
from kolmogorov.data.view import View

#: At most this share of all ratings are likes: about half. By judgement; on MovieLens it makes 4 of 5 stars a like.
_HALF = 0.6
#: Ratings looked at to find which values there are.
_LOOK = 1 << 20
# Values come through divisions; a rating at the threshold must not fall below it by rounding.
_ROUNDING = 1e-9


def least_like(table: Observations) -> float:
    """Return the smallest rating, on the probability scale, that at most about half of all ratings reach.

    Of yes and no it is the yes. Where more than about half of the ratings are the highest, it is the highest.

    Examples
    --------
    >>> import kolmogorov as km
    >>> stars = km.Observations.from_arrays(list("abcdef"), ["tea"] * 6, [5, 4, 4, 3, 3, 1], maximum=5)
    >>> least_like(stars)
    0.8
    """
    if len(table) == 0 or table.is_binary:
        return 1.0
    points = np.unique(table.values[:_LOOK].round(9))
    points = points[points > 0.0]
    if not points.size:
        return 1.0
    few = bisect_left(points, True, key=lambda point: bool(reaching(table.values, point).mean() <= _HALF))
    return float(points[min(few, points.size - 1)])


def reaching(values: Any, threshold: float) -> Any:
    """Tell which values, on the probability scale, are at least a threshold."""
    return values >= threshold - _ROUNDING


def liked(table: Observations, likes: float | None = None) -> Observations:
    """Return the table of liking: 1 for ratings of at least `likes`, 0 for others; by default as `least_like` has it.

    Examples
    --------
    >>> stars = Observations.from_arrays(list("abcdef"), ["tea"] * 6, [5, 4, 4, 3, 3, 1], maximum=5)
    >>> liked(stars).values.tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    yes = reaching(table.values, least_like(table) if likes is None else likes).astype(np.float64)
    view = View(table.rows.indptr, table.rows.indices, yes, table.rows.weights)
    return Observations(table.users, table.items, view, Scale(0.0, 1.0))
