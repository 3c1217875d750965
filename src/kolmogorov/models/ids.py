"""Users and items as people name them: ids, titles, frames of pairs, and guests with the ratings that they bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.progress import warn
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import check_parameters, one_of
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.columns import usual_columns
from kolmogorov.data.observations import numbers_in
from kolmogorov.data.scale import Terms
from kolmogorov.data.sources import frame_source
from kolmogorov.data.vocabulary import id_text, one_dimensional
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError, UnknownIdError, UnknownIdWarning

#: What the column of predictions is called.
PREDICTION = "prediction"


@dataclass(frozen=True, eq=False)
class PairFrame:
    """A frame, and the ids of the user and of the item in each of its rows."""

    frame: Any
    users: NDArray[Any]
    items: NDArray[Any]

    def appended(self, numbers: Floats) -> Any:
        """Return the frame with a column of predictions, as what it came; its other columns stay what they are."""
        if hasattr(self.frame, "assign"):
            return self.frame.assign(**{PREDICTION: numbers})
        if hasattr(self.frame, "with_columns"):
            import polars

            return self.frame.with_columns(polars.Series(PREDICTION, numbers))
        table = pa.table(self.frame)
        place = table.schema.get_field_index(PREDICTION)
        column = pa.array(numbers)
        return table.append_column(PREDICTION, column) if place < 0 else table.set_column(place, PREDICTION, column)


def pair_frame(raw: Any) -> PairFrame | None:
    """Return a frame whose columns have usual names for a user and an item; None for everything else.

    Examples
    --------
    >>> import pandas as pd
    >>> pair_frame(pd.DataFrame({"movieId": [7], "userId": ["ann"]})).users.tolist()
    ['ann']
    """
    if hasattr(raw, "collect_schema") and hasattr(raw, "collect"):
        raw = raw.collect()
    source = frame_source(raw)
    usual = {} if source is None else usual_columns(source.names)
    if source is None or not {"user", "item"} <= usual.keys():
        return None
    found = list(source.batches([usual["user"], usual["item"]]))
    sides = [pa.chunked_array([batch[side] for batch in found]) if found else pa.array([]) for side in (0, 1)]
    texts = [side.cast(pa.string()) if pa.types.is_dictionary(side.type) else side for side in sides]
    return PairFrame(raw, *(side.to_numpy(zero_copy_only=False) for side in texts))


Unknown = Literal["average", "ignore", "error"]
_UNKNOWN = {"unknown": one_of(("average", "ignore", "error"))}
_NAMED = 3


class Strangers:
    """The ids of one call that a model does not know, and what is done about them.

    With "average" and "ignore" they get the row past the last, which holds the average, and after the call `tell` warns
    of them once, or not. Ids that the model has in its vocabulary without an observation are an ordinary consequence of
    a random split: they are treated as the average too, without a warning. With "error" both kinds are an error.
    """

    def __init__(self, unknown: Unknown) -> None:
        check_parameters("ids", {"unknown": unknown}, _UNKNOWN)
        self._unknown = unknown
        self._found: dict[str, list[Any]] = {}
        self._any_known = False

    def rows_of(self, vocabulary: Vocabulary, seen: NDArray[np.bool_], ids: Any, what: str) -> Rows:
        """Return the row numbers of raw ids."""
        array = ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=object)
        return self._settled(vocabulary, vocabulary.encode(ids, what), seen, array, what)

    def rows_by_id(
        self, known: Vocabulary, seen: NDArray[np.bool_], theirs: Vocabulary, present: NDArray[np.bool_], what: str
    ) -> Rows:
        """Return a row number for each id of another vocabulary that is present in some observations."""
        rows = np.full(len(theirs), len(known), dtype=np.int64)
        rows[present] = self._settled(known, known.translate(theirs)[present], seen, theirs.ids[present], what)
        return rows

    def _settled(
        self, vocabulary: Vocabulary, rows: Rows, seen: NDArray[np.bool_], ids: NDArray[Any], what: str
    ) -> Rows:
        """Apply the policy to row numbers in which -1 is unknown."""
        strange = rows < 0
        self._any_known = self._any_known or not strange.all()
        if self._unknown == "error":
            unseen = strange | ~np.append(seen, False)[rows]
            if unseen.any():
                at = int(np.argmax(unseen))
                error = no_data(vocabulary, ids[at : at + 1].tolist()[0], what)
                raise UnknownIdError(f"{error} unknown='average' uses the average instead.")
        elif self._unknown == "average" and strange.any():
            self._found.setdefault(what, []).extend(dict.fromkeys(ids[strange].tolist()))
        return np.where(strange, seen.size, rows)

    def tell(self) -> None:
        """Warn of all that were found, once."""
        if self._found:
            warn(
                f"{self._listed()}: using the average. unknown='error' makes this an error. unknown='ignore' hides "
                "this warning.",
                UnknownIdWarning,
            )
            self._found.clear()

    def tell_of_pairs(self) -> None:
        """Warn of what was found among users and items; where the model knows none of them, it is an error."""
        if self._found and not self._any_known:
            raise UnknownIdError(
                f"The model knows none of these ids: {self._listed()}. Is it the right model, and which columns hold "
                "users and items? unknown='ignore' predicts the average."
            )
        self.tell()

    def _listed(self) -> str:
        return " and ".join(counted(f"unknown {what}", list(dict.fromkeys(ids))) for what, ids in self._found.items())


def no_data(vocabulary: Vocabulary, given: Any, what: str) -> UnknownIdError:
    """Return the error that names an id without observations, and ids like one that the model does not have."""
    near = "" if vocabulary.encode([given], what)[0] >= 0 else vocabulary.suggestion(given)
    return UnknownIdError(f"The model has no data on {what} {given!r}.{near}")


def named_few(ids: list[Any]) -> str:
    """Return the first of some ids, for a message."""
    return ", ".join(map(repr, ids[:_NAMED])) + (", ..." if len(ids) > _NAMED else "")


def counted(what: str, ids: list[Any]) -> str:
    """Return how many users or items there are, and the first of them.

    Examples
    --------
    >>> counted("user", ["ann", "bo"])
    "2 users ('ann', 'bo')"
    """
    return f"{len(ids):,} {what}{'' if len(ids) == 1 else 's'} ({named_few(ids)})"


def id_of(vocabulary: Vocabulary, given: Any, what: str) -> Any:
    """Return the id of something given by it or by its title; what is neither is returned as it came."""
    if not isinstance(given, str) or vocabulary.labels is None or vocabulary.encode([given], what)[0] >= 0:
        return given
    same = vocabulary.titled(given)
    if len(same) > 1:
        raise UnknownIdError(f"Several {what}s have the title {given!r}: {', '.join(map(str, same))}. Give the id.")
    return same[0] if same else given


def rows_of(vocabulary: Vocabulary, seen: NDArray[np.bool_], ids: Any, what: str, unknown: Unknown) -> Rows:
    """Return row numbers; an id without observations gets the last row, which holds the average."""
    strangers = Strangers(unknown)
    rows = strangers.rows_of(vocabulary, seen, ids, what)
    strangers.tell()
    return rows


def pair_rows(known: Trained, users: Any, items: Any, unknown: Unknown) -> tuple[tuple[Rows, Rows], bool]:
    """Return the row numbers of pairs (of ids, of Observations, of a frame) and whether it is a single pair of ids."""
    if isinstance(users, Observations) and items is None:
        user_rows, item_rows = _sides(known, users, unknown)
        return (user_rows[users.user_rows()], item_rows[users.item_rows()]), False
    if items is None:
        pairs = pair_frame(users)
        if pairs is None:
            raise DataError("Give users and items, Observations, or a data frame with columns of users and items.")
        users, items = pairs.users, pairs.items
    # A single one may be given by its title.
    user_ids, one_user = _ids(id_of(known.users, users, "user"), "user")
    item_ids, one_item = _ids(id_of(known.items, items, "item"), "item")
    if user_ids.size != item_ids.size and 1 not in (user_ids.size, item_ids.size):
        raise DataError(f"users and items must be aligned, got {user_ids.size} users and {item_ids.size} items.")
    strangers = Strangers(unknown)
    rows = np.broadcast_arrays(
        strangers.rows_of(known.users, known.user_known, user_ids, "user"),
        strangers.rows_of(known.items, known.item_known, item_ids, "item"),
    )
    strangers.tell_of_pairs()
    return (rows[0].copy(), rows[1].copy()), one_user and one_item


def pairs_of(given: Any) -> tuple[Any, Any]:
    """Return the users and the items of pairs: of Observations, a frame, or a sequence of them."""
    if isinstance(given, Observations):
        return given.users.ids[given.user_rows()], given.items.ids[given.item_rows()]
    frame = pair_frame(given)
    if frame is not None:
        return frame.users, frame.items
    plain = np.iterable(given) and not isinstance(given, (str, bytes, dict))
    listed = list(given) if plain else []
    pairs = [() if isinstance(pair, (str, bytes)) or not np.iterable(pair) else tuple(pair) for pair in listed]
    if not plain or any(len(pair) != 2 for pair in pairs):
        raise DataError("'remove' must be pairs of a user and an item, such as [('ann', 'tea')].")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _sides(known: Trained, observations: Observations, unknown: Unknown) -> tuple[Rows, Rows]:
    """Return the model's row of every user and of every item of some observations."""
    strangers = Strangers(unknown)
    present = observations.rows.counts > 0
    users = strangers.rows_by_id(known.users, known.user_known, observations.users, present, "user")
    items = strangers.rows_by_id(known.items, known.item_known, observations.items, observations.seen_items, "item")
    strangers.tell_of_pairs()
    return users, items


def _ids(raw: Any, what: str) -> tuple[NDArray[Any], bool]:
    """Return ids as an array, and whether a single one was given."""
    if not isinstance(raw, str):
        if raw is None or not np.isscalar(raw):
            return one_dimensional(raw, f"{what} ids"), False
        raw = raw.item() if isinstance(raw, np.generic) else raw
    return one_dimensional([raw], f"{what} ids"), True


def at_entries(fitted: Trained, observations: Observations, unknown: Unknown = "ignore") -> Floats:
    """Return the prediction for each entry of some observations."""
    found = np.empty(len(observations))
    for part, users, items in rows_in_blocks(fitted, observations, unknown):
        found[part] = fitted.at_rows(users, items)
    return found


def rows_in_blocks(fitted: Trained, observations: Observations, unknown: Unknown) -> Iterator[tuple[slice, Rows, Rows]]:
    """Yield entries of some observations as slices, with their row numbers, about a million at a time."""
    view = observations.rows
    users, items = _sides(fitted, observations, unknown)
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        yield part, users[view.owners(first, last)], items[view.indices[part]]
        view.forget(first, last)


def observations_of(known: Trained, guests: Sequence[Any]) -> Observations:
    """Return what guests say as observations over the model's items; these go by ids or titles, guests by numbers.

    What the model does not know is left out with a warning, unless that is everything that a guest says.
    """
    told: list[tuple[int, int, Any, Any]] = []
    for number, ratings in enumerate(guests):
        if not isinstance(ratings, Mapping) or not ratings:
            raise DataError(
                f"A guest is a dictionary of ratings by items, such as {{'Alien': 5, 'Heat': 2}}, got {ratings!r:.60}."
            )
        rows = {key: _row_of(known.items, key) for key in ratings}
        _tell(known.items, [key for key, row in rows.items() if row < 0], len(rows))
        told += [(number, row, key, ratings[key]) for key, row in rows.items() if row >= 0]
    own, items = (np.array([one[side] for one in told], dtype=np.int64) for side in (0, 1))
    low, high = known.scale.minimum, known.scale.maximum

    def place(position: int) -> str:
        return repr(told[position][2])

    values = numbers_in(np.array([rating for *_, rating in told], dtype=object), "value", place)
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        at = int(np.argmax(outside))
        raise DataError(f"{place(at)}: ratings lie between {low:g} and {high:g} here, got {values[at]:g}.")
    terms = Terms(minimum=low, maximum=high, scaling="minmax")
    names = Vocabulary.range(len(guests))
    return Observations.of_rows(names, own, known.items, items, values, terms, place=place)


def _row_of(items: Vocabulary, key: Any) -> int:
    """Return the row of an id, or else of a title; -1 where there is none."""
    if id_text(key) is None:
        raise DataError(f"A guest's items are ids or titles, got {key!r}.")
    return int(items.encode([id_of(items, key, "item")])[0])


def known_part(known: Trained, observations: Observations) -> Observations:
    """Return the observations of guests with items that the model knows; warn of others, refuse where none is known."""
    strange = (known.items.translate(observations.items) < 0) & observations.seen_items
    if not strange.any():
        return observations
    _tell(known.items, observations.items.ids[strange].tolist(), int(observations.seen_items.sum()))
    return observations.over(rows=observations.rows.chosen(~strange[observations.item_rows()]))


def _tell(items: Vocabulary, strangers: list[Any], n_items: int) -> None:
    if strangers and len(strangers) == n_items:
        near = items.suggestion(strangers[0])
        raise UnknownIdError(f"The model knows no item that was rated here: {named_few(strangers)}.{near}")
    if strangers:
        warn(f"{counted('unknown item', strangers)}: left out.", UnknownIdWarning)
