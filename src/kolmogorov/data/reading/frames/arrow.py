"""Arrow streams as sources, record batch by record batch; a parquet file is one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kolmogorov._support.optional import require
from kolmogorov._support.typing import Floats
from kolmogorov.data.ids.columns import CodedTexts, IdColumn, normalise_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.shape import Batch, RowSource, Shape, refuse_empty
from kolmogorov.errors import DataError

#: Rows that are read together.
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
                raise DataError(f"{self.path} holds no ratings.")
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
            cells = file.read(columns=[names[position]]).column(0).combine_chunks()
            if cells.null_count:
                raise refuse_empty(names[position], f"{path}, row {int(np.argmax(np.asarray(cells.is_null())))}")
            ids = normalise_ids(cells.to_numpy(zero_copy_only=False), role, lambda row: f"{path}, row {row}")
            sides.append([str(identifier) for identifier in ids.tolist()])
    if not sides[0]:
        raise DataError(f"{path} holds no pairs.")
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
    except (ArrowException, OSError) as error:
        raise DataError(f"{what}: {error}") from None


def _cut(batches: Iterable[Any], most: int) -> Iterator[ArrowBatch]:
    """Yield batches of so many rows at most, and none that is empty."""
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            yield ArrowBatch(batch.slice(start, most))


class ArrowBatch:
    """A record batch of Arrow."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._batch.num_rows)

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids."""
        cells = self._batch.column(column)
        self._refuse_empty(cells, column, place, None)
        return _ids(cells, what, place)

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers; texts are read once for each that is distinct."""
        import pyarrow
        from pyarrow import types

        cells = self._batch.column(column)
        if not reader.skips_empty:
            self._refuse_empty(cells, column, place, reader)
        kind = cells.type.value_type if types.is_dictionary(cells.type) else cells.type
        if types.is_temporal(kind) or types.is_nested(kind) or types.is_binary(kind):
            raise DataError(f"{place(0)}: {reader.what} must be a number, the column holds {cells.type}.")
        if not _is_text(kind):
            whole = cells.dictionary_decode() if types.is_dictionary(cells.type) else cells
            return reader.of_array(whole.to_numpy(zero_copy_only=False), place)
        coded = cells if types.is_dictionary(cells.type) else cells.dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        texts = coded.dictionary.cast(pyarrow.large_string()).to_pylist()
        # A dictionary may hold more texts than this batch has.
        present = np.unique(codes[codes >= 0])
        found = reader.read([texts[code] for code in present], lambda at: place(int(np.argmax(codes == present[at]))))
        numbers = np.full(len(texts) + 1, np.nan)
        numbers[present] = found
        return numbers[codes]

    def _refuse_empty(self, cells: Any, column: int, place: Place, reader: NumberReader | None) -> None:
        if cells.null_count:
            first = place(int(np.argmax(np.asarray(cells.is_null()))))
            raise refuse_empty(self._batch.schema.names[column], first, reader)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _ids(column: Any, role: str, place: Place) -> IdColumn:
    import pyarrow
    from pyarrow import types

    kind = column.type
    inner = kind.value_type if types.is_dictionary(kind) else kind
    if _is_text(inner):
        coded = column if types.is_dictionary(kind) else column.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        # A dictionary may hold more texts than this batch has.
        present = np.zeros(len(coded.dictionary), dtype=bool)
        present[codes] = True
        texts = coded.dictionary.cast(pyarrow.large_string()).filter(pyarrow.array(present)).to_pylist()
        return CodedTexts(texts, (np.cumsum(present) - 1)[codes])
    if types.is_integer(inner) or types.is_floating(inner):
        whole = column.dictionary_decode() if types.is_dictionary(kind) else column
        return normalise_ids(whole.to_numpy(zero_copy_only=False), role, place)
    raise DataError(f"{place(0)}: {role} ids must be integers or strings, the column holds {kind}.")
