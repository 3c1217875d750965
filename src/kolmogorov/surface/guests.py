"""Guests: people whom a model was not fitted to, with the ratings that they bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kolmogorov._support.progress import warn
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.gathering import coded
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.errors import DataError, UnknownIdError, UnknownIdWarning
from kolmogorov.fitted.base import Trained
from kolmogorov.surface.ids import counted, id_of, named_few

GUEST = "guest"


def observations_of(known: Trained, ratings: Any) -> Observations:
    """Return what one guest says as observations over the model's items; items go by their ids or titles.

    What the model does not know is left out with a warning, unless that is everything.
    """
    if not isinstance(ratings, Mapping) or not ratings:
        raise DataError(
            f"A guest is a dictionary of ratings by items, such as {{'Alien': 5, 'Heat': 2}}, got {ratings!r:.60}."
        )
    keys = list(ratings)
    rows = np.array([_row_of(known.items, key) for key in keys], dtype=np.int64)
    _tell(known.items, [key for key, row in zip(keys, rows, strict=True) if row < 0], len(keys))
    chosen = [(key, row) for key, row in zip(keys, rows.tolist(), strict=True) if row >= 0]
    scale = known.scale

    def place(position: int) -> str:
        return repr(chosen[position][0])

    given = np.array([ratings[key] for key, _ in chosen], dtype=object)
    values = NumberReader(Notation(), fixed=True).of_array(given, place)
    outside = ~((values >= scale.minimum) & (values <= scale.maximum))
    if outside.any():
        at = int(np.argmax(outside))
        raise DataError(
            f"{place(at)}: ratings lie between {scale.minimum:g} and {scale.maximum:g} here, got {values[at]:g}."
        )
    items = np.array([row for _, row in chosen], dtype=np.int64)
    options = ReadingOptions(minimum=scale.minimum, maximum=scale.maximum, scaling="minmax")
    guest, nobody = Vocabulary.of([GUEST]), np.zeros(items.size, dtype=np.int64)
    return Observations(*coded(guest, nobody, known.items, items, values, options, place=place))


def _row_of(items: Vocabulary, key: Any) -> int:
    """Return the row of an id, or else of a title; -1 where there is none."""
    whole = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
    if not whole and not isinstance(key, str):
        raise DataError(f"A guest's items are ids or titles, got {key!r}.")
    if items.holds_strings:
        row = int(items.encode([str(key)])[0])
    else:
        number = key if whole else int(key) if key.isascii() and key.isdecimal() and len(key) < 19 else None
        row = -1 if number is None else int(items.encode([number])[0])
    if row >= 0 or not isinstance(key, str):
        return row
    named = id_of(items, key, "item")
    return -1 if named == key else int(items.encode([named])[0])


def known_part(known: Trained, observations: Observations) -> Observations:
    """Return the observations of guests with items that the model knows; warn of others, refuse where none is known."""
    strange = (known.items.translate(observations.items) < 0) & observations.seen_items
    if not strange.any():
        return observations
    _tell(known.items, observations.items.ids[strange].tolist(), int(observations.seen_items.sum()))
    view = observations.rows.chosen(~strange[observations.item_rows()])
    return Observations(observations.users, observations.items, view, observations.scale)


def _tell(items: Vocabulary, strangers: list[Any], n_items: int) -> None:
    if not strangers:
        return
    if len(strangers) == n_items:
        near = items.suggestion(strangers[0])
        raise UnknownIdError(f"The model knows no item that was rated here: {named_few(strangers)}.{near}")
    warn(f"{counted('unknown item', strangers)}: left out.", UnknownIdWarning)
