"""Users and items as people name them: ids, titles, frames of pairs, and guests with the ratings that they bring.

Unknown ids are treated alike by whatever is asked. By default they stand for the average user or item, and one warning
names them; where nothing that was asked for is known, it is an error. Ids of the vocabulary without an observation are
an ordinary consequence of a random split: they are the average too, without a warning.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.display import warn
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import check_parameters, one_of
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.columns import usual_columns
from kolmogorov.data.observations import numbers_in
from kolmogorov.data.scale import Terms
from kolmogorov.data.sources import frame_source, is_table
from kolmogorov.data.vocabulary import id_text, one_dimensional
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError, UnknownIdError, UnknownIdWarning

Unknown = Literal["average", "ignore", "error"]
#: Ids that a sentence names.
_NAMED = 3
#: Entries that are predicted at once, by judgement: distributions of so many take some 30 MB.
_FEW = 1 << 16


# --- what the model does not know -------------------------------------------------------------------------------------


class Strangers:
    """The ids of one call that a model does not know. They get the row past the last, which holds the average."""

    def __init__(self, unknown: Unknown) -> None:
        check_parameters("ids", {"unknown": unknown}, {"unknown": one_of(("average", "ignore", "error"))})
        self._unknown, self._any_known = unknown, False
        self._found: dict[str, tuple[Vocabulary, list[Any]]] = {}

    def rows_of(self, names: Vocabulary, known: NDArray[np.bool_], ids: Any, what: str) -> Rows:
        """Return the row numbers of raw ids."""
        array = ids if isinstance(ids, np.ndarray) else np.array(list(ids), dtype=object)
        return self._settled(names, names.encode(ids, what), known, array, what)

    def rows_by_id(
        self, names: Vocabulary, known: NDArray[np.bool_], theirs: Vocabulary, present: NDArray[np.bool_], what: str
    ) -> Rows:
        """Return a row number for each id of another vocabulary that is present in some observations."""
        rows = np.full(len(theirs), len(names), dtype=np.int64)
        rows[present] = self._settled(names, names.translate(theirs)[present], known, theirs.ids[present], what)
        return rows

    def _settled(self, names: Vocabulary, rows: Rows, known: NDArray[np.bool_], ids: NDArray[Any], what: str) -> Rows:
        strange = rows < 0
        self._any_known = self._any_known or not strange.all()
        if self._unknown == "error":
            without = strange | ~np.append(known, False)[rows]
            if without.any():
                error = no_data(names, ids[without][:1].tolist()[0], what)
                raise UnknownIdError(f"{error} unknown='average' uses the average instead.")
        elif self._unknown == "average" and strange.any():
            self._found[what] = names, list(dict.fromkeys(ids[strange].tolist()))
        return np.where(strange, known.size, rows)

    def tell(self) -> None:
        """Warn once of all that were found; where nothing is known, raise."""
        if not self._found:
            return
        listed = " and ".join(counted(f"unknown {what}", ids) for what, (_, ids) in self._found.items())
        near = "".join(names.suggestion(ids[0]) for names, ids in self._found.values() if len(ids) == 1)
        if not self._any_known:
            more = "" if near else " Is it the right model, and which columns hold users and items?"
            raise UnknownIdError(
                f"The model knows none of these ids: {listed}.{near}{more} unknown='ignore' uses the average."
            )
        rest = " unknown='error' makes this an error. unknown='ignore' hides this warning."
        warn(f"{listed}: using the average.{near}{rest}", UnknownIdWarning)


def no_data(names: Vocabulary, given: Any, what: str) -> UnknownIdError:
    """Return the error that names an id without observations, and ids like one that the model does not have."""
    near = "" if names.encode([given], what)[0] >= 0 else names.suggestion(given)
    return UnknownIdError(f"The model has no data on {what} {given!r}.{near}")


def counted(what: str, ids: list[Any]) -> str:
    """Return how many users or items there are, and the first of them."""
    named = ", ".join(map(repr, ids[:_NAMED])) + (", ..." if len(ids) > _NAMED else "")
    return f"{len(ids):,} {what}{'' if len(ids) == 1 else 's'} ({named})"


# --- ids and pairs ----------------------------------------------------------------------------------------------------


def id_of(names: Vocabulary, given: Any, what: str) -> Any:
    """Return the id of something given by it or by its title; what is neither is returned as it came."""
    if not isinstance(given, str) or names.labels is None or names.encode([given], what)[0] >= 0:
        return given
    same = names.titled(given)
    if len(same) > 1:
        raise UnknownIdError(f"Several {what}s have the title {given!r}: {', '.join(map(str, same))}. Give the id.")
    return same[0] if same else given


def rows_of(names: Vocabulary, known: NDArray[np.bool_], ids: Any, what: str, unknown: Unknown) -> Rows:
    """Return the row numbers of ids of one side."""
    strangers = Strangers(unknown)
    rows = strangers.rows_of(names, known, ids, what)
    strangers.tell()
    return rows


def frame_pairs(raw: Any) -> tuple[Any, Any] | None:
    """Return the users and the items of a frame whose columns have usual names for both; None for everything else.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_pairs(pd.DataFrame({"movieId": [7], "userId": ["ann"]}))[0].tolist()
    ['ann']
    """
    if not is_table(raw):
        return None
    raw = raw.collect() if hasattr(raw, "collect") else raw
    source = frame_source(raw)
    usual = usual_columns(source.names)
    if not {"user", "item"} <= usual.keys():
        return None
    found = list(source.batches([usual["user"], usual["item"]]))
    sides = [pa.chunked_array([batch[side] for batch in found]) if found else pa.array([]) for side in (0, 1)]
    texts = [side.cast(pa.string()) if pa.types.is_dictionary(side.type) else side for side in sides]
    return texts[0].to_numpy(zero_copy_only=False), texts[1].to_numpy(zero_copy_only=False)


def pair_rows(known: Trained, users: Any, items: Any, unknown: Unknown) -> tuple[tuple[Rows, Rows], bool]:
    """Return the row numbers of pairs (of ids, of Observations, of a frame) and whether it is a single pair of ids."""
    if isinstance(users, Observations) and items is None:
        own, partner = _sides(known, users, unknown)
        return (own[users.user_rows()], partner[users.item_rows()]), False
    if items is None:
        pairs = frame_pairs(users)
        if pairs is None:
            raise DataError("Give users and items, Observations, or a data frame with columns of users and items.")
        users, items = pairs
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
    strangers.tell()
    return (rows[0].copy(), rows[1].copy()), one_user and one_item


def pairs_of(given: Any) -> tuple[Any, Any]:
    """Return the users and the items of pairs: of Observations, a frame, or a sequence of them."""
    if isinstance(given, Observations):
        return given.users.ids[given.user_rows()], given.items.ids[given.item_rows()]
    if (found := frame_pairs(given)) is not None:
        return found
    try:
        pairs = [() if isinstance(pair, str) else tuple(pair) for pair in given]
        users, items = zip(*pairs, strict=True) if pairs else ((), ())
    except (TypeError, ValueError):
        raise DataError("'remove' must be pairs of a user and an item, such as [('ann', 'tea')].") from None
    return users, items


def _ids(raw: Any, what: str) -> tuple[NDArray[Any], bool]:
    """Return ids as an array, and whether a single one was given."""
    single = isinstance(raw, str) or (raw is not None and np.isscalar(raw))
    if single:
        raw = [raw.item() if isinstance(raw, np.generic) else raw]
    return one_dimensional(raw, f"{what} ids"), single


# --- entries of observations ------------------------------------------------------------------------------------------


def _sides(known: Trained, observations: Observations, unknown: Unknown) -> tuple[Rows, Rows]:
    """Return the model's row of every user and of every item of some observations."""
    strangers = Strangers(unknown)
    present = observations.rows.counts > 0
    users = strangers.rows_by_id(known.users, known.user_known, observations.users, present, "user")
    items = strangers.rows_by_id(known.items, known.item_known, observations.items, observations.seen_items, "item")
    strangers.tell()
    return users, items


def rows_in_blocks(fitted: Trained, observations: Observations, unknown: Unknown) -> Iterator[tuple[slice, Rows, Rows]]:
    """Yield entries of some observations, a few at a time: slices, and the row numbers of users and of items."""
    view = observations.rows
    users, items = _sides(fitted, observations, unknown)
    for first, last in view.blocks():
        begin, end = int(view.indptr[first]), int(view.indptr[last])
        own, partner = users[view.owners(first, last)], items[view.indices[begin:end]]
        for at in range(0, end - begin, _FEW):
            few = slice(at, at + _FEW)
            yield slice(begin + at, min(begin + at + _FEW, end)), own[few], partner[few]
        view.forget(first, last)


def at_entries(fitted: Trained, observations: Observations, unknown: Unknown = "ignore") -> Floats:
    """Return the prediction for each entry of some observations."""
    found = np.empty(len(observations))
    for part, users, items in rows_in_blocks(fitted, observations, unknown):
        found[part] = fitted.at_rows(users, items)
    return found


# --- guests -----------------------------------------------------------------------------------------------------------


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
        for key in ratings:
            if id_text(key) is None:
                raise DataError(f"A guest's items are ids or titles, got {key!r}.")
        rows = {key: int(known.items.encode([id_of(known.items, key, "item")])[0]) for key in ratings}
        _leave_out(known.items, [key for key, row in rows.items() if row < 0], len(rows))
        told += [(number, row, key, ratings[key]) for key, row in rows.items() if row >= 0]
    own, items = (np.array([one[side] for one in told], dtype=np.int64) for side in (0, 1))

    def place(position: int) -> str:
        return repr(told[position][2])

    values, scale = numbers_in(np.array([rating for *_, rating in told], dtype=object), "value"), known.scale
    low, high = scale.minimum, scale.maximum
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        at = int(np.argmax(outside))
        raise DataError(f"{place(at)}: ratings lie between {low:g} and {high:g} here, got {values[at]:g}.")
    terms = Terms(minimum=low, maximum=high, scaling="minmax")
    return Observations.of_rows(Vocabulary.range(len(guests)), own, known.items, items, values, terms, place=place)


def known_part(known: Trained, observations: Observations) -> Observations:
    """Return the observations of guests with items that the model knows; warn of others, refuse where none is known."""
    strange = (known.items.translate(observations.items) < 0) & observations.seen_items
    if not strange.any():
        return observations
    _leave_out(known.items, observations.items.ids[strange].tolist(), int(observations.seen_items.sum()))
    return observations.over(rows=observations.rows.chosen(~strange[observations.item_rows()]))


def _leave_out(items: Vocabulary, strangers: list[Any], n_items: int) -> None:
    listed = counted("unknown item", strangers)
    if strangers and len(strangers) == n_items:
        raise UnknownIdError(f"The model knows no item that was rated here: {listed}.{items.suggestion(strangers[0])}")
    if strangers:
        warn(f"{listed}: left out.", UnknownIdWarning)
