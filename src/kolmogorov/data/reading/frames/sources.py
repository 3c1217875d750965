"""Data frames, and the rows that a database cursor gives, as sources, some rows at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.ids.columns import IdColumn, normalise_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.shape import Batch, RowSource, Shape, refuse_empty

#: Rows that are looked at together. By judgement: their columns take some megabytes.
_BATCH = 1 << 19
#: Rows that a cursor is asked for together; they are Python's own objects. By judgement.
_FETCHED = 1 << 14


class FrameSource(RowSource):
    """A frame as narwhals sees it; rows are numbered from 0."""

    def __init__(self, frame: Any, form: TableForm, batch: int = _BATCH) -> None:
        self._frame, self._form, self._batch = frame, form, batch

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Go through the rows once."""
        shape = self._form.shape(self._frame.columns)
        most = min(self._batch, shape.most_rows)
        for start in range(0, len(self._frame), most):
            yield shape, _FrameRows(self._frame[start : start + most])

    def row_place(self, row: int) -> str:
        """Name the row."""
        return f"row {row}"


def is_cursor(thing: Any) -> bool:
    """Tell a cursor as Python's databases have it, such as sqlite3."""
    return hasattr(thing, "fetchmany") and hasattr(thing, "description")


class CursorSource(RowSource):
    """The rows of a query that was executed on a cursor of a database, asked for some thousand at a time."""

    def __init__(self, cursor: Any, form: TableForm) -> None:
        self._cursor, self._form = cursor, form

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Fetch all rows."""
        if self._cursor.description is None:
            raise nothing_there("on this cursor: execute a query first")
        names = [column[0] for column in self._cursor.description]
        shape = self._form.shape(names)
        while rows := self._cursor.fetchmany(min(_FETCHED, shape.most_rows)):
            yield shape, _FetchedRows(names, list(zip(*rows, strict=True)))


class _Rows(ABC):
    """Some rows, whose columns have empty cells."""

    @abstractmethod
    def cells(self, column: int) -> tuple[Any, NDArray[Any] | tuple[Any, ...], NDArray[np.bool_]]:
        """Return the name of a column, its cells, and which of them are empty."""

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids."""
        name, cells, empty = self.cells(column)
        if empty.any():
            raise refuse_empty(name, place(int(np.argmax(empty))))
        return normalise_ids(cells, what, place)

    def texts(self, column: int) -> list[Any]:
        """Return the cells of a column; None is an empty one."""
        _, cells, empty = self.cells(column)
        return [None if nothing else cell for cell, nothing in zip(cells, empty.tolist(), strict=True)]

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers."""
        name, raw, empty = self.cells(column)
        # With None among them cells that are sequences stay cells.
        cells = raw if isinstance(raw, np.ndarray) else np.array([*raw, None], dtype=object)[:-1]
        if not empty.any():
            return reader.of_array(cells, place)
        if not reader.skips_empty:
            raise refuse_empty(name, place(int(np.argmax(empty))), reader)
        found = np.full(cells.size, np.nan)
        there = np.flatnonzero(~empty)
        if there.size:
            found[there] = reader.of_array(cells[there], lambda offset: place(int(there[offset])))
        return found


class _FrameRows(_Rows):
    """Rows of a frame. Columns are taken by position, since their names need not be texts."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.n_rows = frame, len(frame)

    def cells(self, column: int) -> tuple[Any, NDArray[Any], NDArray[np.bool_]]:
        """Return the name of a column, its cells, and which of them are empty."""
        cells = self._frame[:, column]
        return cells.name, cells.to_numpy(), cells.is_null().to_numpy()


class _FetchedRows(_Rows):
    """Rows of Python's own objects, by columns."""

    def __init__(self, names: list[str], columns: list[tuple[Any, ...]]) -> None:
        self._names, self._columns, self.n_rows = names, columns, len(columns[0])

    def cells(self, column: int) -> tuple[Any, tuple[Any, ...], NDArray[np.bool_]]:
        """Return the name of a column, its cells, and which of them are empty."""
        cells = self._columns[column]
        return self._names[column], cells, np.array([cell is None for cell in cells])
