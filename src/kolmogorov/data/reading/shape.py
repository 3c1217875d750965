"""How rows become records: one each where a table is a list of ratings, one for each item where it is wide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import advice, option
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.ids.columns import IdColumn, normalise_ids, taken_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.source import Chunk
from kolmogorov.errors import DataError

#: Cells of a wide table that are looked at together. By judgement: four megabytes of numbers.
_CELLS = 1 << 19
#: Columns of a wide table, at most: each is looked at by itself. By judgement.
_MOST_ITEMS = 1_000_000


class Batch(Protocol):
    """Some rows of a table, whatever it is made of; columns go by their positions."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids; `place` words the place of a row."""

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers, NaN where they are missing."""


class Shape(ABC):
    """Turns the batches of one table into chunks; made anew for each time that the table is read."""

    #: Rows that should be looked at together, at most.
    most_rows: int = _CELLS

    @abstractmethod
    def records(self, batch: Batch, place: Place) -> tuple[Chunk | None, NDArray[np.int64] | None]:
        """Return the records of a batch, or None, and how many there are up to each row, or None for one a row."""


class ListShape(Shape):
    """One row for each rating; `positions` has the column of user, item, value and maybe weight."""

    def __init__(self, positions: dict[str, int], notation: Notation) -> None:
        self._at = positions
        self._values = NumberReader(notation)
        self._weights = NumberReader(Notation(decimal=notation.decimal, thousands=notation.thousands), "weight")

    def records(self, batch: Batch, place: Place) -> tuple[Chunk | None, NDArray[np.int64] | None]:
        """Return a record for each row whose value is not missing."""
        ratings = batch.numbers(self._at["value"], self._values, place)
        users, items = (batch.ids(self._at[role], role, place) for role in ("user", "item"))
        weights = batch.numbers(self._at["weight"], self._weights, place) if "weight" in self._at else None
        if not self._values.skips or not (missing := np.isnan(ratings)).any():
            return Chunk(users, items, ratings, weights), None
        kept, ends = np.flatnonzero(~missing), np.cumsum(~missing)
        if not kept.size:
            return None, ends
        given = None if weights is None else weights[kept]
        return Chunk(taken_ids(users, kept), taken_ids(items, kept), ratings[kept], given), ends


class WideShape(Shape):
    """One row for each user, whose column is `user`, and one other column for each item; empty cells are missing.

    Names that come from a text file (`as_text`) are integers where all of them are; `source` is what errors call the
    table.
    """

    def __init__(self, names: Sequence[Any], user: int, notation: Notation, *, as_text: bool, source: str) -> None:
        self._user = user
        self._positions = [position for position in range(len(names)) if position != user]
        items = [names[position] for position in self._positions]
        if not items or len(items) > _MOST_ITEMS:
            raise DataError(
                f"{source}: a wide table has a column of users and 1 to {_MOST_ITEMS:,} items, got {len(items)} items."
            )
        _check_names(items, self._positions, source)
        texts = tuple(str(name).strip() for name in items)
        self._items: IdColumn = texts if as_text else normalise_ids(items, "item")
        self._values = NumberReader(replace(notation, missing=("", *notation.missing)))
        self.most_rows = max(1, _CELLS // len(items))

    def records(self, batch: Batch, place: Place) -> tuple[Chunk | None, NDArray[np.int64] | None]:
        """Return a record for each cell that is not empty."""
        table = np.column_stack([batch.numbers(position, self._values, place) for position in self._positions])
        kept = ~np.isnan(table)
        ends = np.cumsum(kept.sum(axis=1))
        if not ends[-1]:
            return None, ends
        rows, columns = np.nonzero(kept)
        users = taken_ids(batch.ids(self._user, "user", place), rows)
        return Chunk(users, taken_ids(self._items, columns), table[kept], None), ends


def _check_names(items: list[Any], positions: list[int], source: str) -> None:
    seen: dict[str, int] = {}
    for name, position in zip(items, positions, strict=True):
        text = str(name).strip()
        if not text:
            raise DataError(f"{source}: column {position} has no name, which would be an item's.")
        if text in seen:
            raise DataError(f"{source}: columns {seen[text]} and {position} are both called {text!r}.")
        seen[text] = position


@dataclass
class Tally:
    """From the number of a record to that of the row that it came from: a row may give none, one or several."""

    _parts: list[tuple[int, int, NDArray[np.int64] | None]] = field(default_factory=list)
    n_rows: int = 0
    n_records: int = 0

    def add(self, n_rows: int, ends: NDArray[np.int64] | None) -> None:
        """Note some more rows; `ends` counts their records up to each, None is one a row."""
        self._parts.append((self.n_records, self.n_rows, ends))
        self.n_rows += n_rows
        self.n_records += n_rows if ends is None else int(ends[-1])

    def row_of(self, record: int) -> int:
        """Return the row of a record.

        Examples
        --------
        >>> tally = Tally()
        >>> tally.add(3, np.array([0, 2, 2])), tally.add(2, None)
        (None, None)
        >>> [tally.row_of(record) for record in range(4)]
        [1, 1, 3, 4]
        """
        first, row, ends = next(part for part in reversed(self._parts) if part[0] <= record)
        offset = record - first
        return row + (offset if ends is None else int(np.searchsorted(ends, offset, side="right")))


class RowSource(ABC):
    """Base of sources that are tables: it goes through batches of rows and makes records of them."""

    _tally: Tally

    @abstractmethod
    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Go through the rows once."""

    def row_place(self, row: int) -> str:
        """Name the place of a row."""
        return f"row {row}"

    def chunks(self) -> Iterator[Chunk]:
        """Go through the records once."""
        self._tally = tally = Tally()
        for shape, batch in self.batches():

            def place(offset: int, first: int = tally.n_rows) -> str:
                return self.row_place(first + offset)

            chunk, ends = shape.records(batch, place)
            tally.add(batch.n_rows, ends)
            if chunk is not None:
                yield chunk
        if not tally.n_rows:
            raise nothing_there("here")
        if not tally.n_records:
            raise DataError(f"{self.row_place(0)} and all others: every value is missing, so nothing is observed.")

    def place(self, record: int) -> str:
        """Name the place of a record that was read."""
        return self.row_place(self._tally.row_of(record))


def refuse_empty(name: Any, first: str, reader: NumberReader | None = None) -> DataError:
    """Word the error for an empty cell."""
    told = f"{first}: column {name!r} is empty."
    drop = "Drop such rows first."
    if reader is None:
        return DataError(f"{told} {drop}")
    return DataError(told + advice("Drop such rows first, or pass {}.", option("missing", ""), otherwise=drop))
