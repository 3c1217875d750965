"""A ratings file, text or parquet, as a stream of chunks: `read_ratings` collects those of text, `pack` spills either.

`read_ratings` reads parquet whole, as a frame; see `readers`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import require
from kolmogorov.data.reading.layout import Column, Layout, pick_columns, recognise
from kolmogorov.data.reading.textfile import TextFile
from kolmogorov.errors import DataError

Floats = NDArray[np.float64]
Header = bool | Literal["auto"]
_CHUNK = 4_096
_BATCH = 1 << 19


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some records: ids as texts, or as an array of integers or of dictionary-encoded texts."""

    users: Any
    items: Any
    ratings: Floats
    weights: Floats | None


class Source(Protocol):
    """One file. Chunks come in the order of the file; `place` says where a record (from 0) stands."""

    def chunks(self) -> Iterator[Chunk]:
        """Read the file once, from the beginning."""

    def place(self, record: int) -> str:
        """Name the file and the line or row of a record that was read."""


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Tell parquet by its name, since it needs another library."""
    return str(path).lower().endswith((".parquet", ".pq"))


def open_source(
    path: str | os.PathLike[str], wanted: dict[str, Column], sep: str, header: Header, encoding: str
) -> Source:
    """Choose the reader for a file."""
    return ParquetSource(path, wanted) if is_parquet(path) else TextSource(path, wanted, sep, header, encoding)


class TextSource:
    """Lines of a text file, as `read_ratings` describes them."""

    def __init__(
        self, path: str | os.PathLike[str], wanted: dict[str, Column], sep: str, header: Header, encoding: str
    ) -> None:
        self._path, self._wanted, self._sep, self._header, self._encoding = path, wanted, sep, header, encoding
        self._name = str(path)
        self._lines = Lines(1)

    def chunks(self) -> Iterator[Chunk]:
        """Read the file once, some thousand records at a time."""
        with TextFile(self._path, self._encoding) as file, collector_paused():
            self._name = file.name
            layout = recognise(file, self._wanted, self._sep, self._header)
            numbers = {name: _Numbers(name) for name in ("value", "weight") if name in layout.positions}
            empty = True
            for columns, lines in text_columns(file, layout):
                empty, self._lines = False, lines
                place = layout.positions
                read = {name: table.read(columns[place[name]], self.latest) for name, table in numbers.items()}
                yield Chunk(columns[place["user"]], columns[place["item"]], read["value"], read.get("weight"))
            if empty:
                raise DataError(f"{self._name} holds no ratings{' below its header' if layout.has_header else ''}.")

    def place(self, record: int) -> str:
        """Name the file and the line of a record."""
        return f"{self._name}, line {self._lines.of(record)}"

    def latest(self, offset: int) -> str:
        """Name the file and the line of a record of the latest chunk."""
        return f"{self._name}, line {self._lines.within(offset)}"


class ParquetSource:
    """Rows of a parquet file, batch by batch (extra ``parquet``)."""

    def __init__(self, path: str | os.PathLike[str], wanted: dict[str, Column]) -> None:
        self._path, self._wanted = path, wanted

    def chunks(self) -> Iterator[Chunk]:
        """Read the file once, some hundred thousand rows at a time."""
        require("pyarrow", extra="parquet", purpose="Reading parquet files")
        from pyarrow import ArrowException, parquet

        try:
            with parquet.ParquetFile(self._path) as file:
                names = file.schema_arrow.names
                places = pick_columns(names, self._wanted, str(self._path))
                if file.metadata.num_rows == 0:
                    raise DataError(f"{self._path} holds no ratings.")
                columns = list(dict.fromkeys(names[place] for place in places.values()))
                start = 0
                for batch in file.iter_batches(_BATCH, columns=columns):
                    parts = {role: batch.column(names[place]) for role, place in places.items()}
                    yield self._chunk(parts, start)
                    start += batch.num_rows
        except FileNotFoundError:
            raise DataError(f"There is no file {self._path}.") from None
        except (ArrowException, OSError) as error:
            raise DataError(f"{self._path} cannot be read as parquet: {error}") from None

    def _chunk(self, parts: dict[str, Any], start: int) -> Chunk:
        for role, column in parts.items():
            if column.null_count:
                missing = np.asarray(column.is_null())
                raise DataError(f"{self.place(start + int(np.argmax(missing)))}: the {role} is empty. Drop such rows.")
        numbers = {}
        for role in ("value", "weight"):
            if role in parts:
                try:
                    numbers[role] = parts[role].to_numpy(zero_copy_only=False).astype(np.float64)
                except (TypeError, ValueError):
                    raise DataError(
                        f"{self._path}: {role} must be a number, the column holds {parts[role].type}."
                    ) from None
        return Chunk(parts["user"], parts["item"], numbers["value"], numbers.get("weight"))

    def place(self, record: int) -> str:
        """Name the file and the row of a record."""
        return f"{self._path}, row {record}"


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


def text_columns(file: TextFile, layout: Layout) -> Iterator[tuple[list[tuple[str, ...]], Lines]]:
    """Yield the file below its header, some thousand records at a time, as columns of text."""
    records = file.records(layout.separator)
    if layout.has_header:
        while (first := file.take(records, 1)) and _is_blank(first[0]):
            pass
    lines = Lines(file.line + 1)
    while chunk := file.take(records, _CHUNK):
        rows = lines.add(chunk, file.line)
        _check_width(rows, layout, file, lines)
        if rows:
            yield list(zip(*rows, strict=True)), lines


class _Numbers(dict[str, float]):
    """Numbers by their text. Ratings repeat a few texts a million times, so each text is parsed once."""

    _LIMIT = 200_000

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __missing__(self, text: str) -> float:
        # float() also takes "1_000"; a file in which that stands does not mean a number.
        if "_" in text:
            raise ValueError(text)
        self[text] = number = float(text)
        return number

    def read(self, column: Sequence[str], place: Callable[[int], str]) -> Floats:
        """Return the numbers of a column; `place` names one that is none."""
        if len(self) > self._LIMIT:
            self.clear()
        try:
            return np.fromiter(map(self.__getitem__, column), dtype=np.float64, count=len(column))
        except ValueError:
            for offset, text in enumerate(column):
                try:
                    self[text]
                except ValueError:
                    raise DataError(f"{place(offset)}: {self.what} must be a number, got {text!r}.") from None
            raise


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
        """Note where the records of a chunk stand; return those that are not blank lines."""
        line, own, rows = self._next_line, None, chunk
        self._next_line = last_line + 1
        if last_line + 1 - line != len(chunk) or min(map(len, chunk)) < 2:
            heights = [1 + sum(field.count("\n") for field in record) for record in chunk]
            at = line + np.cumsum([0, *heights[:-1]])
            own = at[[not _is_blank(record) for record in chunk]]
            rows = [record for record in chunk if not _is_blank(record)]
        self._chunks.append((self._next_record, line, own))
        self._next_record += len(rows)
        return rows

    def within(self, offset: int) -> int:
        """Return the line of the offset-th record of the latest chunk."""
        return self.of(self._chunks[-1][0] + offset)

    def of(self, record: int) -> int:
        """Return the line of a record."""
        first, line, own = next(chunk for chunk in reversed(self._chunks) if chunk[0] <= record)
        return line + record - first if own is None else int(own[record - first])


def _is_blank(record: list[str]) -> bool:
    return not record or (len(record) == 1 and not record[0].strip())


def _check_width(rows: list[list[str]], layout: Layout, file: TextFile, lines: Lines) -> None:
    if set(map(len, rows)) - {layout.width}:
        offset = next(k for k, row in enumerate(rows) if len(row) != layout.width)
        raise DataError(
            f"{file.name}, line {lines.within(offset)}: expected {layout.width} fields as in the first line, "
            f"got {len(rows[offset])}."
        )
