"""Data frames, and the rows that a database cursor gives, as sources, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.ids.columns import IdColumn, normalise_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.shape import Batch, RowSource, Shape, refuse_empty

#: Rows that are looked at together.
_BATCH = 1 << 19
#: Rows that a cursor is asked for together; they are Python's own objects.
_FETCHED = 1 << 14


class FrameSource(RowSource):
    """A frame as narwhals sees it.

    Parameters
    ----------
    frame : narwhals.DataFrame
    form : TableForm
        Chooses the columns.
    index : sequence, optional
        Names of the rows; they are numbered from 0 by default.
    batch : int
        Rows that are looked at together.
    """

    def __init__(self, frame: Any, form: TableForm, index: Any = None, batch: int = _BATCH) -> None:
        self._frame, self._form, self._index, self._batch = frame, form, index, batch

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Go through the rows once."""
        shape = self._form.shape(self._frame.columns)
        if not len(self._frame):
            raise nothing_there("here")
        most = min(self._batch, shape.most_rows)
        for start in range(0, len(self._frame), most):
            yield shape, _FrameBatch(self._frame[start : start + most])

    def row_place(self, row: int) -> str:
        """Name the row."""
        return f"row {row if self._index is None else self._index[row]}"


class _FrameBatch:
    """Some rows of a frame. Columns are taken by position, since their names need not be texts."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._frame)

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids."""
        cells = self._frame[:, column]
        empty = cells.is_null().to_numpy()
        if empty.any():
            raise refuse_empty(cells.name, place(int(np.argmax(empty))))
        return normalise_ids(cells.to_numpy(), what, place)

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers."""
        cells = self._frame[:, column]
        empty = cells.is_null().to_numpy()
        if not empty.any():
            return reader.of_array(cells.to_numpy(), place)
        if not reader.skips_empty:
            raise refuse_empty(cells.name, place(int(np.argmax(empty))), reader)
        numbers = np.full(len(cells), np.nan)
        there = np.flatnonzero(~empty)
        if there.size:
            numbers[there] = reader.of_array(cells.to_numpy()[there], lambda offset: place(int(there[offset])))
        return numbers


def is_cursor(thing: Any) -> bool:
    """Tell a cursor as Python's databases have it, such as sqlite3."""
    return hasattr(thing, "fetchmany") and hasattr(thing, "description")


class CursorSource(RowSource):
    """The rows of a query, asked for some thousand at a time.

    Parameters
    ----------
    cursor : cursor of a database
        On which a query was executed.
    form : TableForm
        Chooses the columns.
    """

    def __init__(self, cursor: Any, form: TableForm) -> None:
        self._cursor, self._form = cursor, form

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Fetch all rows."""
        if self._cursor.description is None:
            raise nothing_there("on this cursor: execute a query first")
        names = [column[0] for column in self._cursor.description]
        shape = self._form.shape(names)
        empty = True
        while rows := self._cursor.fetchmany(min(_FETCHED, shape.most_rows)):
            empty = False
            yield shape, _RowsBatch(names, list(zip(*rows, strict=True)))
        if empty:
            raise nothing_there("here")

    def row_place(self, row: int) -> str:
        """Name the row."""
        return f"row {row}"


class _RowsBatch:
    """Rows of Python's own objects, by columns."""

    def __init__(self, names: Sequence[str], columns: Sequence[tuple[Any, ...]]) -> None:
        self._names, self._columns = names, columns

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._columns[0])

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids."""
        cells = self._columns[column]
        if None in cells:
            raise refuse_empty(self._names[column], place(cells.index(None)))
        return normalise_ids(cells, what, place)

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers."""
        cells = self._columns[column]
        if None in cells and not reader.skips_empty:
            raise refuse_empty(self._names[column], place(cells.index(None)), reader)
        array = np.empty(len(cells), dtype=object)
        array[:] = cells
        return reader.of_array(array, place)
