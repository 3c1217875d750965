"""`pack`: ratings files of any number and size to one packed table, in memory that does not grow with them.

The files are read once and spilled to disk as numbers. Ids and counts are known then; the spilled records are dealt to
buckets of neighbouring users that fit into memory, each bucket is sorted and appended to the table, and dealt on to
buckets of neighbouring items, which are sorted in turn. Only the ids and two counts for each are kept in memory.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.files import atomic_writer, check_writable, scratch_folder
from kolmogorov._support.progress import notice
from kolmogorov._support.validation import OneOf, byte_count, check_parameters
from kolmogorov.data.observations import Observations
from kolmogorov.data.packed.buckets import RECORD, Buckets, SortedTable
from kolmogorov.data.packed.file import TableWriter
from kolmogorov.data.packed.table import PackedObservations, open_table
from kolmogorov.data.reading.ingest import Duplicates, Entries, check_finite, check_numbers, repeated
from kolmogorov.data.reading.layout import Column
from kolmogorov.data.reading.names import Naming
from kolmogorov.data.reading.records import Header, Source, open_source
from kolmogorov.data.scale import check_scaling, choose_scale
from kolmogorov.data.trainable import check_any
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError, FileWriteError, ParameterError

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], Any]
#: Bytes that sorting needs for a record, at most.
_BYTES_PER_RECORD = 160
_LEAST_MEMORY = 1 << 24
_SUBSET_MEMORY = "500MB"
_SPILLED = [("user", "<i8"), ("item", "<i8"), ("value", "<f8"), ("weight", "<f8")]
READING, USERS, ITEMS = "reading", "sorting by user", "sorting by item"


def pack(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Observations,
    out: str | os.PathLike[str],
    *,
    memory: int | str = "1GB",
    user: Column = None,
    item: Column = None,
    value: Column = None,
    weight: Column = None,
    sep: str = "auto",
    header: Header = "auto",
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "max",
    duplicates: Duplicates = "error",
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Observations:
    """Write ratings files, or observations, to a packed table, and map it.

    Parameters
    ----------
    source : path, paths, or Observations
        Files that `read_ratings` takes; together they are one table.
    out : path
        The table, usually ``*.kmt``. It takes this name when it is whole.
    memory : int or str
        Bytes for sorting, at least 16 MiB, or text such as "500MB". Ids are kept in memory besides, and the ratings of
        one user, or of one item, are always sorted together.
    user, item, value, weight, sep, header, minimum, maximum, scaling, duplicates, encoding
        As in `read_ratings`, for all files.
    progress : callable, optional
        Called with a stage ("reading", "sorting by user", "sorting by item"), how much of it is done, and how much
        there is, in files and then in records.

    Returns
    -------
    Observations
        The table, mapped; the same as `Observations.open(out)`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "1.csv").write_text("user,item,rating\\nann,tea,5\\nbob,tea,4\\n")
    >>> _ = (folder / "2.csv").write_text("user,item,rating\\nann,rum,1\\n")
    >>> pack([folder / "1.csv", folder / "2.csv"], folder / "drinks.kmt", maximum=5)
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    check_parameters("pack", {"duplicates": duplicates}, {"duplicates": OneOf(("error", "mean", "last"))})
    limit = max(byte_count(memory, "memory"), _LEAST_MEMORY) // _BYTES_PER_RECORD
    check_writable(out)
    wanted = {"user": user, "item": item, "value": value, "weight": weight}
    if isinstance(source, Observations):
        given = {**wanted, "minimum": minimum, "maximum": maximum}
        if any(option is not None for option in given.values()) or (scaling, duplicates) != ("max", "error"):
            raise ParameterError("Observations have their columns and their scale; these options are for files.")
        check_any(source, "to pack")
        with atomic_writer(out) as stream:
            _write_observations(source, TableWriter(stream))
        return open_table(out, verify=False)
    paths = _paths(source, out)
    sources = [open_source(path, wanted, sep, header, encoding) for path in paths]
    tell = progress or (lambda stage, done, total: None)
    try:
        with scratch_folder(out) as folder:
            job = _Packing(folder, sources, limit, (minimum, maximum, scaling), duplicates, tell)
            job.read()
            with atomic_writer(out) as stream:
                job.write(TableWriter(stream))
    except OSError as error:
        if isinstance(error, FileWriteError):
            raise
        raise FileWriteError(f"{out} cannot be written: {error.strerror or error}.") from None
    table = open_table(out, verify=False)
    if maximum is None:
        notice(f"{out}: maximum taken as {table.maximum:g}, so {table.scale}")
    return table


def _paths(source: Any, out: Any) -> list[str | os.PathLike[str]]:
    """Check the list of files; a directory stands for the parquet files in it."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source) if _is_list(source) else [source]
    paths: list[str | os.PathLike[str]] = []
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise DataError(f"pack takes paths or Observations, got {type(path).__name__}.")
        inside = sorted(Path(path).glob("*.parquet")) if Path(path).is_dir() else []
        paths += inside or [path]
    if not paths:
        raise DataError("There are no files to pack.")
    if [str(path) for path in paths].count("-") > 1:
        raise DataError("Standard input can be read once only.")
    if any(Path(path).exists() and Path(out).exists() and os.path.samefile(path, out) for path in paths):
        raise FileWriteError(f"{out} is one of the files to be packed. Choose another name for the table.")
    return paths


def _is_list(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, bytes) and not hasattr(source, "columns")


def _write_observations(table: Observations, writer: TableWriter) -> None:
    for order, view in (("rows", table.rows), ("columns", table.columns)):
        parts = writer.reserve_view(order, view.indptr.size - 1, len(table), weighted=bool(view.weights.size))
        parts["indptr"].append(view.indptr)
        for first, last in view.blocks():
            cut = slice(view.indptr[first], view.indptr[last])
            for name in ("indices", "values", "weights"):
                parts[name].append(getattr(view, name)[cut])
            view.forget(first, last)
    writer.finish(table.users, table.items, table.scale, binary=table.is_binary)


@dataclass
class _Packing:
    """One job: `read` spills the files, `write` sorts what was spilled into a table."""

    folder: Path
    sources: Sequence[Source]
    limit: int
    scaling: tuple[float | None, float | None, str]
    duplicates: Duplicates
    tell: Progress
    users: Naming = field(default_factory=lambda: Naming("user"))
    items: Naming = field(default_factory=lambda: Naming("item"))
    ends: list[int] = field(default_factory=list)
    weighted: bool = False

    def read(self) -> None:
        """Go through the files once: check, number the ids, spill."""
        low, high, done = np.inf, -np.inf, 0
        minimum, maximum, scaling = self.scaling
        check_scaling(minimum, maximum, scaling)
        ends = (0.0 if scaling == "max" else minimum, maximum, scaling)
        with open(self._spill, "wb") as spill:
            for number, source in enumerate(self.sources):
                self.tell(READING, number, len(self.sources))
                began = done
                for chunk in source.chunks():
                    start = done - began

                    def place(offset: int, source: Source = source, start: int = start) -> str:
                        return source.place(start + offset)

                    check_finite(chunk.ratings, place)
                    check_numbers(chunk.ratings, chunk.weights, *ends, place)
                    self.weighted = chunk.weights is not None
                    low, high = min(low, float(chunk.ratings.min())), max(high, float(chunk.ratings.max()))
                    records = np.empty(chunk.ratings.size, dtype=self._kind(_SPILLED))
                    records["user"] = self.users.read(chunk.users, place)
                    records["item"] = self.items.read(chunk.items, place)
                    records["value"] = chunk.ratings
                    if chunk.weights is not None:
                        records["weight"] = chunk.weights
                    spill.write(records.data.cast("B"))
                    done += records.size
                self.ends.append(done)
        self.tell(READING, len(self.sources), len(self.sources))
        self.scale = choose_scale(np.array([low, high]), *self.scaling)

    def write(self, writer: TableWriter) -> None:
        """Sort by users, then by items."""
        users, items = self.users.settle(), self.items.settle()
        for what, names in (("users", users), ("items", items)):
            if len(names) >= 2**31:
                raise DataError(f"A packed table holds fewer than 2**31 {what}, got {len(names)}.")
        counts = [np.zeros(len(names), dtype=np.int64) for names in (users, items)]
        for block in self._spilled():
            for count, naming, side in zip(counts, (self.users, self.items), ("user", "item"), strict=True):
                count += np.bincount(naming.rows(block[side]), minlength=count.size)
        by_user = Buckets(self.folder / "users", counts[0], self.limit, self._kind(RECORD))
        by_item = Buckets(self.folder / "items", counts[1], self.limit, self._kind(RECORD))
        for block in self._spilled():
            weights = block["weight"] if self.weighted else np.empty(0)
            own, partner = self.users.rows(block["user"]), self.items.rows(block["item"])
            by_user.deal(Entries(own, partner, block["value"], weights))
        total = self.ends[-1]
        table = SortedTable(writer, users, items, total, self.weighted, by_item)
        done = 0
        for first, last, entries in by_user:
            self.tell(USERS, done, total)
            entries = Entries(entries.own, entries.partner, self.scale.probability(entries.values), entries.weights)
            done += entries.own.size

            def complain(a: int, b: int, rows: Entries = entries, first: int = first) -> DataError:
                return self._repeated(users, items, int(rows.own[a]) + first, int(rows.partner[a]))

            table.add(first, last, entries.sorted(last - first, len(items), self.duplicates, complain))
        self.tell(USERS, total, total)
        table.finish(self.scale, lambda done: self.tell(ITEMS, done, total))
        self.tell(ITEMS, total, total)

    @property
    def _spill(self) -> Path:
        return self.folder / "records"

    def _kind(self, fields: list[tuple[str, str]]) -> np.dtype[Any]:
        return np.dtype(fields if self.weighted else fields[:3])

    def _spilled(self) -> Iterator[NDArray[Any]]:
        kind = self._kind(_SPILLED)
        with open(self._spill, "rb") as spill:
            while content := spill.read(min(self.limit, self.ends[-1]) * kind.itemsize):
                yield np.frombuffer(content, kind)

    def _repeated(self, users: Vocabulary, items: Vocabulary, user: int, item: int) -> DataError:
        """Look for the places of a pair that stands there twice."""
        found: list[int] = []
        start = 0
        for block in self._spilled():
            same = (self.users.rows(block["user"]) == user) & (self.items.rows(block["item"]) == item)
            found += (start + np.flatnonzero(same)).tolist()
            start += block.size
        places = []
        for record in found[:2]:
            number = int(np.searchsorted(self.ends, record, side="right"))
            places.append(self.sources[number].place(record - ([0, *self.ends][number])))
        return repeated(users.ids.item(user), items.ids.item(item), *places)


def packed_subset(table: PackedObservations, chosen: NDArray[np.bool_]) -> PackedObservations:
    """Write the chosen entries of a packed table to another, which is deleted when nobody uses it any more."""
    limit = byte_count(_SUBSET_MEMORY, "memory") // _BYTES_PER_RECORD
    rows, weighted = table.rows, bool(table.rows.weights.size)
    with tempfile.TemporaryDirectory(prefix="kolmogorov-") as name:
        by_item = Buckets(
            Path(name) / "items", table.columns.counts, limit, np.dtype(RECORD if weighted else RECORD[:3])
        )
        handle, path = tempfile.mkstemp(suffix=".kmt", prefix="kolmogorov-")
        try:
            with os.fdopen(handle, "wb") as stream:
                writer = TableWriter(stream)
                part = SortedTable(writer, table.users, table.items, int(chosen.sum()), weighted, by_item)
                for first, last in rows.blocks(limit):
                    cut = slice(rows.indptr[first], rows.indptr[last])
                    weights = rows.weights[cut] if weighted else rows.weights
                    entries = Entries(
                        rows.owners(first, last) - np.int32(first), rows.indices[cut], rows.values[cut], weights
                    )
                    part.add(first, last, entries.taken(chosen[cut]))
                    rows.forget(first, last)
                part.finish(table.scale, lambda done: None)
            found = open_table(path, verify=False)
        except BaseException as error:
            Path(path).unlink(missing_ok=True)
            if isinstance(error, OSError):
                reason = f"{error.strerror or error}. TMPDIR names another directory"
                raise FileWriteError(f"A part of the table cannot be written to {path}: {reason}.") from None
            raise
    weakref.finalize(found, _deleted, path, os.getpid())
    return found


def _deleted(path: str, owner: int) -> None:
    """Delete a temporary table; a forked process leaves its parent's alone."""
    if os.getpid() == owner:
        Path(path).unlink(missing_ok=True)
