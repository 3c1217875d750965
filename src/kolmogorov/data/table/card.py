"""Observations as others see them: a card in a notebook, the columns of a frame."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from kolmogorov._support.markup import bars, card, note
from kolmogorov.data.entries.view import View
from kolmogorov.data.numbers.scale import Scale

#: Values that are told apart; more are put into ten bins. By judgement.
_TOLD_APART = 12


def size_in_words(observations: Any) -> str:
    """Say in one line how many observations there are, and on which scale."""
    n_users, n_items = observations.n_users, observations.n_items
    share = 100.0 * len(observations) / max(n_users * n_items, 1)
    weighted = ", weighted" if observations.weights is not None else ""
    return (
        f"Observations: {len(observations):,} of {n_users:,} users × {n_items:,} items ({share:.1f}% observed), "
        f"{observations.scale}{weighted}"
    )


def observations_card(about: str, rows: View, columns: View, scale: Scale) -> str:
    """Return HTML of a table of which this is said, line by line."""
    said = about.removeprefix("Observations: ").splitlines()
    return card("Observations", *map(note, said), *_histogram(rows, columns, scale))


def _histogram(rows: View, columns: View, scale: Scale) -> list[str]:
    """Return bars, and a note on how many entries users and items have; nothing for an empty table."""
    n_entries = rows.values.size
    if not n_entries:
        return []
    found, counts = np.unique(rows.values.round(9), return_counts=True)
    labels = [f"{scale.rating(value):g}" for value in found.tolist()]
    if found.size > _TOLD_APART:
        counts, ends = np.histogram(rows.values, bins=10, range=(0.0, 1.0))
        edges = [f"{scale.rating(end):g}" for end in ends.tolist()]
        labels = [f"{low} to {high}" for low, high in pairwise(edges)]
    shares = [f"{count:,} ({count / n_entries:.0%})" for count in counts.tolist()]
    busy = [int(np.median(view.counts[view.counts > 0])) for view in (rows, columns)]
    return [bars(labels, counts.tolist(), shares), note(f"median: {busy[0]:,} of a user, {busy[1]:,} of an item")]


def observations_columns(observations: Any) -> dict[str, Any]:
    """Return the columns of the frame that observations are as a list of ratings."""
    columns = {
        "user": observations.users.ids[observations.user_rows()],
        "item": observations.items.ids[observations.item_rows()],
        "value": observations.values,
        "rating": observations.scale.rating(observations.values),
    }
    return columns if observations.weights is None else columns | {"weight": observations.weights}
