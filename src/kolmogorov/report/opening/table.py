"""What the table is: its name, how much of it is filled, and which values it holds."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.data.reading.provenance import Provenance
from kolmogorov.fitted.base import Trained
from kolmogorov.report.names import label_of

#: Values told apart; where there are more, tenths of the scale are. By judgement.
_VALUES = 12


def data_name(trained: Trained, observations: Observations | None) -> str:
    """Return what the data is called: the file or dataset of the observations given, or that of the training data.

    Examples
    --------
    >>> import kolmogorov as km
    >>> zoo = km.datasets.load("zoo")
    >>> data_name(km.KolmogorovModel(3, random_state=0).fit(zoo).fitted_, None)
    'zoo'
    """
    return next(filter(None, (source.name for source in _sources(trained, observations))), "")


def _sources(trained: Trained, observations: Observations | None) -> list[Provenance]:
    """Return what is known of where the data come from, that of the observations given first."""
    given = () if observations is None else (observations,)
    return [table.source for table in (*given, trained.training) if table.source is not None]


def today() -> str:
    """Return the date in words."""
    now = date.today()
    return f"{now.day} {now:%B %Y}"


def table_of(trained: Trained, whole: Observations, fresh: Observations, name: str) -> dict[str, Any]:
    """Describe the whole table, trained on or held out: its name, its size, and how often each value is in it."""
    users, items = _size(trained, fresh)
    n_entries = len(trained.training) + len(fresh)
    sources = _sources(trained, whole)
    return {
        "name": name,
        "credit": next((source.credit for source in sources if source.credit and source.name == name), ""),
        "n_users": users,
        "n_items": items,
        "n_entries": n_entries,
        "filled": round(min(1.0, n_entries / max(users * items, 1)), 6),
        "histogram": histogram(whole),
        "labels": labels_of(whole),
    }


def _size(trained: Trained, fresh: Observations) -> tuple[int, int]:
    """Return how many users and items there are, those that only entries not trained on have among them."""
    known = trained.training
    sides = (
        (trained.user_seen, known.users.translate(fresh.users), fresh.rows.counts > 0),
        (trained.item_seen, known.items.translate(fresh.items), fresh.seen_items),
    )
    users, items = (int(seen.sum() + (late & ~np.append(seen, False)[rows]).sum()) for seen, rows, late in sides)
    return users, items


def labels_of(whole: Observations) -> list[list[Any]]:
    """Return the words that values of the table were read from, as [value in [0, 1], word], the smallest first.

    Examples
    --------
    >>> import kolmogorov as km
    >>> labels_of(km.datasets.load("un-votes", since=2019))
    [[0.0, 'no'], [0.5, 'abstain'], [1.0, 'yes']]
    """
    values = np.unique(whole.values.round(9)).tolist()
    if len(values) > _VALUES:
        return []
    found = [[value, label_of(whole, value)] for value in values]
    return [] if any(word is None for _, word in found) else found


def histogram(whole: Observations) -> list[list[Any]]:
    """Return how many entries have each value, as [label, number]; where there are many values, in ten bins.

    Examples
    --------
    >>> import kolmogorov as km
    >>> histogram(km.Observations.from_arrays([1, 1, 2], [5, 6, 5], [1, 3, 3], maximum=5))
    [['1', 1], ['3', 2]]
    """
    values, scale = whole.values, whole.scale
    distinct, counts = np.unique(values.round(9), return_counts=True)
    if len(distinct) <= _VALUES:
        words = [label_of(whole, value) or f"{scale.rating(value):g}" for value in distinct.tolist()]
        return [[word, int(n)] for word, n in zip(words, counts, strict=True)]
    place = np.bincount(np.minimum((values * 10).astype(int), 9), minlength=10)
    ends = [f"{scale.rating(k / 10):.3g}–{scale.rating((k + 1) / 10):.3g}" for k in range(10)]
    return [[label, int(n)] for label, n in zip(ends, place, strict=True)]
