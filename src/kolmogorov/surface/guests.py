"""Guests: people whom a model was not fitted to, with the ratings that they bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    return _observed(known, [ratings], Vocabulary.of([GUEST]))


def observations_of_several(known: Trained, guests: Sequence[Any]) -> Observations:
    """Return the same of several guests, who are numbered from 0."""
    return _observed(known, guests, Vocabulary.of(range(len(guests))))


def _observed(known: Trained, guests: Sequence[Any], names: Vocabulary) -> Observations:
    chosen = [(number, key, row) for number, ratings in enumerate(guests) for key, row in _rows_of(known, ratings)]
    scale = known.scale

    def place(position: int) -> str:
        return repr(chosen[position][1])

    given = np.array([guests[number][key] for number, key, _ in chosen], dtype=object)
    values = NumberReader(Notation(), fixed=True).of_array(given, place)
    outside = ~((values >= scale.minimum) & (values <= scale.maximum))
    if outside.any():
        at = int(np.argmax(outside))
        raise DataError(
            f"{place(at)}: ratings lie between {scale.minimum:g} and {scale.maximum:g} here, got {values[at]:g}."
        )
    own, items = (np.array([one[side] for one in chosen], dtype=np.int64) for side in (0, 2))
    options = ReadingOptions(minimum=scale.minimum, maximum=scale.maximum, scaling="minmax")
    return Observations(*coded(names, own, known.items, items, values, options, place=place))


def _rows_of(known: Trained, ratings: Any) -> list[tuple[Any, int]]:
    """Return the items of a guest that the model knows, each with its row."""
    if not isinstance(ratings, Mapping) or not ratings:
        raise DataError(
            f"A guest is a dictionary of ratings by items, such as {{'Alien': 5, 'Heat': 2}}, got {ratings!r:.60}."
        )
    rows = [(key, _row_of(known.items, key)) for key in ratings]
    _tell(known.items, [key for key, row in rows if row < 0], len(rows))
    return [(key, row) for key, row in rows if row >= 0]


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
