"""Shards of a table: neighbouring users with all their observations, each whole in itself."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.observations import Observations, View, transposed
from kolmogorov.data.ordering import counting_order
from kolmogorov.data.packed.table import read_rows
from kolmogorov.data.reading.ingest import Duplicates, Entries, check_finite, check_weights, repeated
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Locate, Vocabulary
from kolmogorov.errors import DataError


@dataclass(frozen=True, eq=False)
class Shard:
    """The users `first` to `first + len(rows)` of a table.

    Attributes
    ----------
    first : int
    rows : View
        By users, counted from the first.
    columns : View
        By all items of the table; the partners are users counted from the first.
    """

    first: int
    rows: View
    columns: View

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.rows.indptr.size - 1

    def __sizeof__(self) -> int:
        # What a scheduler that weighs moving it should know.
        return self.rows.nbytes + self.columns.nbytes

    def fingerprint(self) -> str:
        """Return a digest of the entries."""
        digest = hashlib.sha256(str(self.first).encode())
        for array in (self.rows.indptr, self.rows.indices, self.rows.values, self.rows.weights):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def shard_of_table(path: str | os.PathLike[str], fingerprint: str, first: int, last: int) -> Shard:
    """Read some users of a packed table, which must be the one with this fingerprint."""
    return shard_of_rows(*read_rows(path, fingerprint, first, last), first)


def shard_of_rows(rows: View, n_items: int, first: int) -> Shard:
    """Make a shard of rows at hand."""
    return Shard(first, rows, transposed(rows, n_items))


def cut(observations: Observations, first: int, last: int) -> View:
    """Return the rows of some users as a view of their own."""
    rows = observations.rows
    part = slice(rows.indptr[first], rows.indptr[last])
    weights = rows.weights[part].copy() if rows.weights.size else rows.weights
    indptr = rows.indptr[first : last + 1] - rows.indptr[first]
    return View(indptr, rows.indices[part].copy(), rows.values[part].copy(), weights)


# --- from frames: who is there, then everybody's ratings to the shard that he belongs to ---------------------------


@dataclass(frozen=True, eq=False)
class Census:
    """What one part of a frame holds: its ids with how often they occur, and the range of its ratings."""

    users: Vocabulary
    user_counts: NDArray[np.int64]
    items: Vocabulary
    low: float
    high: float


@dataclass(frozen=True)
class Columns:
    """Names of the columns that matter."""

    user: str
    item: str
    value: str
    weight: str | None = None

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys(filter(None, (self.user, self.item, self.value, self.weight))))


def census(frame: Any, columns: Columns) -> Census | None:
    """Look at one part of a frame; None where it is empty."""
    if not len(frame):
        return None
    for name in columns.names:
        if bool(frame[name].isna().any()):
            raise DataError(f"Column {name!r} has empty cells. Drop such rows first.")
    users, codes = Vocabulary.index(_ids(frame[columns.user]), "user")
    ratings = _numbers(frame, columns.value)
    check_finite(ratings, _place(frame, columns.value))
    counts = np.bincount(codes, minlength=len(users))
    items = Vocabulary.of(_ids(frame[columns.item]), "item")
    return Census(users, counts, items, float(ratings.min()), float(ratings.max()))


def dealt(
    frame: Any, columns: Columns, users: Vocabulary, items: Vocabulary, starts: NDArray[np.int64], scale: Scale
) -> list[Entries]:
    """Deal one part of a frame to the shards that begin at the users `starts`."""
    own = users.encode(_ids(frame[columns.user]), "user")
    partner = items.encode(_ids(frame[columns.item]), "item").astype(np.int32)
    values = scale.probability(_numbers(frame, columns.value))
    if (values < 0).any() or (values > 1).any():
        raise DataError(
            f"A rating lies outside the scale {scale.minimum:g} to {scale.maximum:g}. Give the right maximum, or "
            "the scaling 'minmax' for ratings below zero."
        )
    weights = np.empty(0) if columns.weight is None else _numbers(frame, columns.weight)
    if columns.weight is not None:
        check_weights(weights, _place(frame, columns.weight))
    entries = Entries(own, partner, values, weights)
    shard = np.searchsorted(starts, own, side="right") - 1
    entries = entries.taken(counting_order(shard, len(starts)))
    ends = np.cumsum(np.bincount(shard, minlength=len(starts)))
    return [entries.taken(slice(first, last)) for first, last in zip([0, *ends[:-1]], ends, strict=True)]


def piece(parts: list[Entries], number: int) -> Entries:
    """Pick what one part of the frame has for one shard."""
    return parts[number]


def shard_of_pieces(first: int, last: int, users: Any, items: Any, duplicates: Duplicates, *pieces: Entries) -> Shard:
    """Put together what all parts have for one shard."""
    own = np.concatenate([p.own for p in pieces]) - first
    partner = np.concatenate([p.partner for p in pieces])
    entries = Entries(
        own, partner, np.concatenate([p.values for p in pieces]), np.concatenate([p.weights for p in pieces])
    )

    def complain(a: int, b: int) -> DataError:
        pair = users.ids.item(int(own[a]) + first), items.ids.item(int(partner[a]))
        return repeated(*pair, "a row before it", "A row of the frame")

    entries = entries.sorted(last - first, len(items), duplicates, complain)
    counts = np.bincount(entries.own, minlength=last - first)
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return shard_of_rows(View(indptr, entries.partner, entries.values, entries.weights), len(items), first)


def _place(frame: Any, name: str) -> Locate:
    """Word the place of an entry: parts of a frame do not know their row numbers, but they know their index."""
    return lambda position: f"row {frame.index[position]} of column {name!r}"


def _numbers(frame: Any, name: str) -> NDArray[np.float64]:
    try:
        numbers: NDArray[np.float64] = frame[name].to_numpy(dtype=np.float64)
        return numbers
    except (TypeError, ValueError) as error:
        raise DataError(f"Column {name!r} must hold numbers: {error}.") from None


def _ids(column: Any) -> NDArray[Any]:
    """Return a pandas column as integers or as an object array of str."""
    array = column.to_numpy()
    return array if array.dtype.kind in "iuf" else column.astype(object).to_numpy()
