"""Arrow streams as sources, record batch by record batch; a parquet file is one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import require
from kolmogorov._support.typing import Floats
from kolmogorov.data.ids.columns import CodedTexts, IdColumn, normalise_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.shape import Batch, RowSource, Shape, refuse_empty
from kolmogorov.errors import DataError, EmptyDataError

#: Rows that are read together. By judgement: their columns take some megabytes.
_BATCH = 1 << 19


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Tell parquet by its name, since it needs another library."""
    return str(path).lower().endswith((".parquet", ".pq"))


def is_arrow(thing: Any) -> bool:
    """Tell what can be read as an Arrow stream: tables, readers, relations, cursors, and what pyarrow scans."""
    return hasattr(thing, "__arrow_c_stream__") or _is_scannable(thing) or hasattr(thing, "fetch_record_batch")


def _is_scannable(thing: Any) -> bool:
    return type(thing).__module__.startswith("pyarrow") and (hasattr(thing, "to_reader") or hasattr(thing, "scanner"))


class ArrowSource(RowSource):
    """Anything with ``__arrow_c_stream__``, and datasets and scanners of pyarrow (extra ``parquet``)."""

    def __init__(self, stream: Any, form: TableForm, batch: int = _BATCH) -> None:
        self._stream, self._form, self._batch = stream, form, batch

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Read the stream once."""
        pyarrow = require("pyarrow", extra="parquet", purpose="Reading Arrow streams")
        with _worded("The stream cannot be read"):
            stream = self._stream
            if _is_scannable(stream) and hasattr(stream, "scanner"):
                # A dataset reads only the columns that it is asked for.
                wanted, shape = self._form.projected(stream.schema.names)
                reader = stream.scanner(columns=wanted).to_reader()
            else:
                reader = _reader(stream, pyarrow)
                shape = self._form.shape(reader.schema.names)
            for batch in _cut(reader, min(self._batch, shape.most_rows)):
                yield shape, batch


def _reader(stream: Any, pyarrow: Any) -> Any:
    """Return what gives the batches of a stream: its own reader, or that of a cursor's result."""
    if _is_scannable(stream):
        return stream.to_reader()
    if hasattr(stream, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(stream)
    return stream.fetch_record_batch()


class ParquetSource(RowSource):
    """A parquet file, or one of its row groups (extra ``parquet``)."""

    def __init__(self, path: str | os.PathLike[str], form: TableForm, row_group: int | None = None) -> None:
        self.path = path
        self._form, self._row_group = form, row_group
        self._first_row = 0

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Read the file once."""
        with opened_parquet(self.path) as file:
            wanted, shape = self._form.projected(file.schema_arrow.names)
            if file.metadata.num_rows == 0:
                raise EmptyDataError(f"{self.path} holds no ratings.")
            groups = range(file.num_row_groups) if self._row_group is None else [self._row_group]
            self._first_row = sum(file.metadata.row_group(k).num_rows for k in range(groups[0]))
            most = min(_BATCH, shape.most_rows)
            batches = file.iter_batches(most, row_groups=list(groups), columns=wanted)
            for batch in _cut((batch.select(wanted) for batch in batches), most):
                yield shape, batch

    def row_place(self, row: int) -> str:
        """Name the file and the row."""
        return f"{self.path}, row {self._first_row + row}"


def parquet_pairs(path: str | os.PathLike[str], form: TableForm) -> tuple[list[str], list[str]]:
    """Read the users and the items of a parquet file, as text."""
    with opened_parquet(path) as file:
        names = file.schema_arrow.names
        positions = form.positions(names, ("user", "item"))
        sides = []
        for role, position in positions.items():
            cells = _plain(file.read(columns=[names[position]]).column(0).combine_chunks())
            if cells.null_count:
                raise refuse_empty(names[position], f"{path}, row {int(np.argmax(np.asarray(cells.is_null())))}")
            ids = normalise_ids(cells.to_numpy(zero_copy_only=False), role, lambda row: f"{path}, row {row}")
            sides.append([str(identifier) for identifier in ids.tolist()])
    if not sides[0]:
        raise EmptyDataError(f"{path} holds no pairs.")
    return sides[0], sides[1]


@contextmanager
def opened_parquet(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a parquet file; what cannot be read of it, now or later, is an error that names it."""
    require("pyarrow", extra="parquet", purpose="Reading parquet files")
    from pyarrow import parquet

    with _worded(f"{path} cannot be read as parquet"):
        try:
            file = parquet.ParquetFile(path)
        except FileNotFoundError:
            raise DataError(f"There is no file {path}.") from None
        with file:
            yield file


@contextmanager
def _worded(what: str) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{what}: {error}") from None


def _cut(batches: Iterable[Any], most: int) -> Iterator[ArrowBatch]:
    """Yield batches of so many rows at most, and none that is empty."""
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            yield ArrowBatch(batch.slice(start, most))


class ArrowBatch:
    """A record batch of Arrow."""

    def __init__(self, batch: Any) -> None:
        self._batch, self.n_rows = batch, int(batch.num_rows)

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids."""
        from pyarrow import types

        with _worded(f"{place(0)}: the column of {what} ids cannot be read"):
            cells = _plain(self._batch.column(column))
            self._refuse_empty(cells, column, place, None)
            kind = _kind(cells)
            if _is_text(kind):
                return CodedTexts(*_distinct_texts(cells))
            if types.is_integer(kind) or types.is_floating(kind):
                return normalise_ids(_decoded(cells), what, place)
        raise DataError(f"{place(0)}: {what} ids must be integers or strings, the column holds {cells.type}.")

    def texts(self, column: int) -> list[Any]:
        """Return the cells of a column; None is an empty one."""
        with _worded("The column of titles cannot be read"):
            cells: list[Any] = _plain(self._batch.column(column)).to_pylist()
        return cells

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers; texts are read once for each that is distinct."""
        from pyarrow import types

        with _worded(f"{place(0)}: the column cannot be read"):
            cells = _plain(self._batch.column(column))
            if not reader.skips_empty:
                self._refuse_empty(cells, column, place, reader)
            kind = _kind(cells)
            if types.is_temporal(kind) or types.is_nested(kind) or types.is_binary(kind):
                raise DataError(f"{place(0)}: {reader.what} must be a number, the column holds {cells.type}.")
            if not _is_text(kind):
                return reader.of_array(_decoded(cells), place)
            texts, codes = _distinct_texts(cells)
        found = reader.read(texts, lambda code: place(int(np.argmax(codes == code))))
        return np.append(found, np.nan)[codes]

    def _refuse_empty(self, cells: Any, column: int, place: Place, reader: NumberReader | None) -> None:
        if cells.null_count:
            first = place(int(np.argmax(np.asarray(cells.is_null()))))
            raise refuse_empty(self._batch.schema.names[column], first, reader)


def _plain(cells: Any) -> Any:
    """Return a column in a form that Arrow computes with: runs and dictionaries with gaps are written out."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_run_end_encoded(cells.type):
        cells = compute.run_end_decode(cells)
    if types.is_dictionary(cells.type) and cells.dictionary.null_count:
        cells = cells.dictionary_decode()
    return cells.cast(pyarrow.large_string()) if types.is_string_view(cells.type) else cells


def _kind(cells: Any) -> Any:
    from pyarrow import types

    return cells.type.value_type if types.is_dictionary(cells.type) else cells.type


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _decoded(cells: Any) -> NDArray[Any]:
    whole = cells.dictionary_decode() if hasattr(cells, "dictionary") else cells
    array: NDArray[Any] = whole.to_numpy(zero_copy_only=False)
    return array


def _distinct_texts(cells: Any) -> tuple[list[str], NDArray[Any]]:
    """Return the texts of a column, each once, and for every cell the number of its text; -1 where it is empty."""
    import pyarrow

    coded = cells if hasattr(cells, "dictionary") else cells.dictionary_encode()
    codes = coded.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    # A dictionary may hold more texts than this batch has.
    present = np.zeros(len(coded.dictionary), dtype=bool)
    present[codes[codes >= 0]] = True
    texts = coded.dictionary.cast(pyarrow.large_string()).filter(pyarrow.array(present)).to_pylist()
    return texts, np.append(np.cumsum(present) - 1, -1)[codes]
