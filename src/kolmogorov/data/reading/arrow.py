"""Arrow streams as sources, record batch by record batch; a parquet file is one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kolmogorov._support.optional import require
from kolmogorov._support.typing import Floats
from kolmogorov.data.columns import Place, numbers_of
from kolmogorov.data.ids import CodedTexts, IdColumn, normalise_ids
from kolmogorov.data.reading.layout import Pick
from kolmogorov.data.reading.source import Chunk
from kolmogorov.data.trainable import nothing_there
from kolmogorov.errors import DataError

#: Rows that are read together.
_BATCH = 1 << 19


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Tell parquet by its name, since it needs another library."""
    return str(path).lower().endswith((".parquet", ".pq"))


def is_arrow(thing: Any) -> bool:
    """Tell what can be read as an Arrow stream: tables, readers, relations, and what pyarrow scans."""
    return hasattr(thing, "__arrow_c_stream__") or _is_scannable(thing)


def _is_scannable(thing: Any) -> bool:
    return type(thing).__module__.startswith("pyarrow") and (hasattr(thing, "to_reader") or hasattr(thing, "scanner"))


class ArrowSource:
    """Anything with ``__arrow_c_stream__``, and datasets and scanners of pyarrow (extra ``parquet``).

    Parameters
    ----------
    stream : Arrow stream
        One that can be read once only is read once only.
    pick : callable
        Chooses the columns.
    batch : int
        Rows that are looked at together, at most.
    """

    def __init__(self, stream: Any, pick: Pick, batch: int = _BATCH) -> None:
        self._stream, self._pick, self._batch = stream, pick, batch

    def chunks(self) -> Iterator[Chunk]:
        """Read the stream once."""
        pyarrow = require("pyarrow", extra="parquet", purpose="Reading Arrow streams")
        with _worded("The stream cannot be read"):
            stream, pick = self._stream, self._pick
            if _is_scannable(stream) and hasattr(stream, "scanner"):
                # A dataset reads only the columns that it is asked for.
                wanted, positions = _projected(stream.schema.names, pick)
                reader = stream.scanner(columns=wanted).to_reader()
            else:
                from_stream = pyarrow.RecordBatchReader.from_stream
                reader = stream.to_reader() if _is_scannable(stream) else from_stream(stream)
                positions = pick(reader.schema.names)
            empty = True
            for chunk in _chunks(reader, positions, self._batch, self.place):
                empty = False
                yield chunk
        if empty:
            raise nothing_there("here")

    def place(self, record: int) -> str:
        """Name the row."""
        return f"row {record}"


class ParquetSource:
    """A parquet file, or one of its row groups (extra ``parquet``).

    Parameters
    ----------
    path : path
    pick : callable
        Chooses the columns.
    row_group : int, optional
        All of them by default.
    """

    def __init__(self, path: str | os.PathLike[str], pick: Pick, row_group: int | None = None) -> None:
        self.path = path
        self._pick, self._row_group = pick, row_group
        self._first_row = 0

    def chunks(self) -> Iterator[Chunk]:
        """Read the file once."""
        with opened_parquet(self.path) as file:
            wanted, positions = _projected(file.schema_arrow.names, self._pick)
            if file.metadata.num_rows == 0:
                raise DataError(f"{self.path} holds no ratings.")
            groups = range(file.num_row_groups) if self._row_group is None else [self._row_group]
            self._first_row = sum(file.metadata.row_group(k).num_rows for k in range(groups[0]))
            batches = file.iter_batches(_BATCH, row_groups=list(groups), columns=wanted)
            yield from _chunks((batch.select(wanted) for batch in batches), positions, _BATCH, self.place)

    def place(self, record: int) -> str:
        """Name the file and the row of a record."""
        return f"{self.path}, row {self._first_row + record}"


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


def _projected(names: list[str], pick: Pick) -> tuple[list[str], dict[str, int]]:
    """Return the names of the columns that are needed, each once, and the position of each role among them."""
    positions = pick(names)
    wanted = list(dict.fromkeys(names[position] for position in positions.values()))
    return wanted, {role: wanted.index(names[position]) for role, position in positions.items()}


def _chunks(batches: Iterable[Any], positions: dict[str, int], most: int, place: Place) -> Iterator[Chunk]:
    done = 0
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            part = batch.slice(start, most)

            def within(offset: int, done: int = done) -> str:
                return place(done + offset)

            columns = {role: part.column(position) for role, position in positions.items()}
            for role, column in columns.items():
                if column.null_count:
                    name = batch.schema.names[positions[role]]
                    first = within(int(np.argmax(np.asarray(column.is_null()))))
                    raise DataError(f"{first}: column {name!r} is empty. Drop such rows first.")
            ids = [_ids(columns[role], role, within) for role in ("user", "item")]
            weights = _numbers(columns["weight"], "weight", within) if "weight" in columns else None
            yield Chunk(ids[0], ids[1], _numbers(columns["value"], "value", within), weights)
            done += part.num_rows


def _ids(column: Any, role: str, place: Place) -> IdColumn:
    import pyarrow
    from pyarrow import types

    kind = column.type
    inner = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner):
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


def _numbers(column: Any, role: str, place: Place) -> Floats:
    from pyarrow import types

    if types.is_temporal(column.type) or types.is_nested(column.type) or types.is_binary(column.type):
        raise DataError(f"{place(0)}: {role} must be a number, the column holds {column.type}.")
    return numbers_of(column.to_numpy(zero_copy_only=False), role, place)
