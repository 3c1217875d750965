"""Text files as sources: lines become ids and numbers, a few thousand at a time."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.ids.columns import IdColumn
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.provenance import TableLayout
from kolmogorov.data.reading.shape import Batch, RowSource, Shape
from kolmogorov.data.reading.text.file import TextFile
from kolmogorov.data.reading.text.layout import Layout, recognise
from kolmogorov.errors import DataError, EmptyDataError

#: Records that are read together: their texts stay in the processor's cache. By judgement.
_CHUNK = 4_096


class TextSource(RowSource):
    """Lines of a text file, as `read_ratings` describes them, `chunk` of them at a time; "-" is standard input."""

    def __init__(self, path: str | os.PathLike[str], options: ReadingOptions, chunk: int = _CHUNK) -> None:
        self.path = path
        self._options, self._chunk = options, chunk
        self._name = str(path)
        self._lines = Lines(1)
        self._layout: Layout | None = None
        self._encoding: str | None = None

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Read the file once."""
        with TextFile(self.path, self._options.encoding) as file, collector_paused():
            self._name, self._encoding = file.name, file.encoding.removesuffix("-sig")
            self._layout = layout = recognise(file, self._options)
            shape = layout.shape(self._options, file.name)
            empty = True
            for columns, lines in text_columns(file, layout, min(self._chunk, shape.most_rows)):
                empty, self._lines = False, lines
                yield shape, _TextBatch(columns)
            if empty:
                raise EmptyDataError(
                    f"{self._name} holds no ratings{' below its header' if layout.has_header else ''}."
                )

    def layout(self) -> TableLayout | None:
        """Return how the file is laid out, once it was read."""
        found = super().layout()
        if found is None or self._layout is None:
            return found
        mark, header = self._layout.separator, self._layout.has_header
        return replace(found, separator=mark, header=header, encoding=self._encoding)

    def row_place(self, row: int) -> str:
        """Name the file and the line of a record."""
        return f"{self._name}, line {self._lines.of(row)}"


class _TextBatch:
    """Some lines of a text file, by columns."""

    def __init__(self, columns: list[tuple[str, ...]]) -> None:
        self._columns, self.n_rows = columns, len(columns[0])

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column of fields, of which ids are made when all are known."""
        return self._columns[column]

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers."""
        return reader.read(self._columns[column], place)

    def texts(self, column: int) -> tuple[str, ...]:
        """Return the cells of a column."""
        return self._columns[column]


def read_pairs(path: str | os.PathLike[str], options: ReadingOptions) -> tuple[list[str], list[str]]:
    """Read a file of (user, item) lines, as text; further columns are ignored."""
    with TextFile(path, options.encoding) as file:
        layout = recognise(file, options, roles=("user", "item"))
        pairs: dict[str, list[str]] = {"user": [], "item": []}
        for columns, _ in text_columns(file, layout):
            for role, texts in pairs.items():
                texts.extend(text.strip() for text in columns[layout.positions[role]])
    if not pairs["user"]:
        raise EmptyDataError(f"{file.name} holds no pairs.")
    return pairs["user"], pairs["item"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking over a million short-lived rows; a third of the time is its."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def text_columns(file: TextFile, layout: Layout, chunk: int = _CHUNK) -> Iterator[tuple[list[tuple[str, ...]], Lines]]:
    """Yield the file below its header, so many records at a time, as columns of text."""
    records = file.records(layout.separator)
    if layout.has_header:
        while (first := file.take(records, 1)) and _is_blank(first[0]):
            pass
    lines = Lines(file.line + 1)
    while taken := file.take(records, chunk):
        filled = lines.add(taken, file.line)
        _check_width(filled, layout, file, lines)
        if filled:
            yield list(zip(*filled, strict=True)), lines


class Lines:
    """From the number of a record to its line, without keeping a number per record.

    Most files have one record a line. Where blank lines or line breaks inside quotes disturb that, the
    chunk in which it happens keeps its own line numbers.
    """

    def __init__(self, first_line: int) -> None:
        self._next_line = first_line
        self._next_record = 0
        self._chunks: list[tuple[int, int, NDArray[np.int64] | None]] = []

    def add(self, chunk: list[list[str]], last_line: int) -> list[list[str]]:
        """Note the lines of the records of a chunk; return those that are not blank lines."""
        line, own, filled = self._next_line, None, chunk
        self._next_line = last_line + 1
        if last_line + 1 - line != len(chunk) or min(map(len, chunk)) < 2:
            heights = [1 + sum(field.count("\n") for field in record) for record in chunk]
            at = line + np.cumsum([0, *heights[:-1]])
            own = at[[not _is_blank(record) for record in chunk]]
            filled = [record for record in chunk if not _is_blank(record)]
        self._chunks.append((self._next_record, line, own))
        self._next_record += len(filled)
        return filled

    def within(self, offset: int) -> int:
        """Return the line of the offset-th record of the latest chunk."""
        return self.of(self._chunks[-1][0] + offset)

    def of(self, record: int) -> int:
        """Return the line of a record."""
        first, line, own = next(chunk for chunk in reversed(self._chunks) if chunk[0] <= record)
        return line + record - first if own is None else int(own[record - first])


def _is_blank(record: list[str]) -> bool:
    return not record or (len(record) == 1 and not record[0].strip())


def _check_width(records: list[list[str]], layout: Layout, file: TextFile, lines: Lines) -> None:
    if set(map(len, records)) - {layout.width}:
        offset = next(k for k, record in enumerate(records) if len(record) != layout.width)
        raise DataError(
            f"{file.name}, line {lines.within(offset)}: expected {layout.width} fields as in the first line, "
            f"got {len(records[offset])}."
        )
