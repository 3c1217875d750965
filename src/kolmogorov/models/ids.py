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

    def __init__(self, unknown: Unknown, *, fixed: bool = False) -> None:
        check_parameters("ids", {"unknown": unknown}, _UNKNOWN)
        self._unknown = unknown
        # Where the caller has no say, an error does not advise to choose otherwise.
        self._fixed = fixed
        self._found: dict[str, list[Any]] = {}
        self._any_known = False

    def settled(
        self, rows: Rows, seen: NDArray[np.bool_], ids: Any, what: str, vocabulary: Vocabulary | None = None
    ) -> Rows:
        """Apply the policy to row numbers in which -1 is unknown."""
        strange = rows < 0
        self._any_known = self._any_known or not strange.all()
        if self._unknown == "error":
            unseen = strange.copy()
            unseen[~strange] = ~seen[rows[~strange]]
            if unseen.any():
                place = int(np.argmax(unseen))
                found = _listed(ids, slice(place, place + 1))[0]
                raise _stranger(what, found, vocabulary if strange[place] else None, advise=not self._fixed)
        elif self._unknown == "average" and strange.any():
            self._found.setdefault(what, []).extend(dict.fromkeys(_listed(ids, strange)))
        return np.where(strange, seen.size, rows)

    def rows_of(self, vocabulary: Vocabulary, seen: NDArray[np.bool_], ids: Any, what: str) -> Rows:
        """Return the row numbers of raw ids."""
        return self.settled(vocabulary.encode(ids, what), seen, ids, what, vocabulary)

    def rows_by_id(
        self,
        known: Vocabulary,
        seen: NDArray[np.bool_],
        theirs: Vocabulary,
        present: NDArray[np.bool_],
        what: str,
    ) -> Rows:
        """Return a row number for each id of another vocabulary that is present in some observations."""
        rows = np.full(len(theirs), len(known), dtype=np.int64)
        rows[present] = self.settled(known.translate(theirs)[present], seen, theirs.ids[present], what, known)
        return rows

    def tell(self) -> None:
        """Warn of all that were found, once."""
        if not self._found:
            return
        warn(
            f"{self._listed()}: using the average. unknown='error' makes this an error. unknown='ignore' hides this "
            "warning.",
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


def _stranger(what: str, identifier: Any, vocabulary: Vocabulary | None, *, advise: bool) -> UnknownIdError:
    near = "" if vocabulary is None else vocabulary.suggestion(identifier)
    other = " unknown='average' uses the average instead." if advise else ""
    return UnknownIdError(f"The model has no data on {what} {identifier!r}.{near}{other}")


def _listed(ids: Any, chosen: Any) -> list[Any]:
    """Return the chosen ids as plain objects."""
    array = ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=object)
    listed: list[Any] = array[chosen].tolist()
    return listed


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
    values = numbers_in(given, "value", place)
    outside = ~((values >= scale.minimum) & (values <= scale.maximum))
    if outside.any():
        at = int(np.argmax(outside))
        raise DataError(
            f"{place(at)}: ratings lie between {scale.minimum:g} and {scale.maximum:g} here, got {values[at]:g}."
        )
    own, items = (np.array([one[side] for one in chosen], dtype=np.int64) for side in (0, 2))
    options = Terms(minimum=scale.minimum, maximum=scale.maximum, scaling="minmax")
    return Observations.of_rows(names, own, known.items, items, values, options, place=place)


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
    if id_text(key) is None:
        raise DataError(f"A guest's items are ids or titles, got {key!r}.")
    row = int(items.encode([key])[0])
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
