"""Packed tables are written in memory that does not grow with them.

Sources are read once and spilled to disk as numbers. Ids and counts are known then; the spilled records are dealt to
buckets of neighbouring users that fit into memory, each bucket is sorted and appended to the table, and dealt on to
buckets of neighbouring items, which are sorted in turn. Only the ids and two counts for each are kept in memory.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.files import atomic_writer, scratch_folder
from kolmogorov.data.entries.entries import Entries, duplicate
from kolmogorov.data.entries.view import View, counting_order
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.packed.table import PackedTable, TableWriter, open_table
from kolmogorov.data.reading.gathering import Intake, TableParts
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.provenance import Provenance
from kolmogorov.data.reading.source import Source
from kolmogorov.errors import DataError, FileWriteError

#: Called with a stage, how much of it is done, and how much there is.
Tell = Callable[[str, int, int], Any]
#: Gives ids their titles.
Naming = Callable[[Vocabulary], Vocabulary]
#: Bytes that sorting needs for a record, at most. By judgement.
BYTES_PER_RECORD = 160
#: Records of a part that are sorted at a time: half a gigabyte, by judgement.
_SUBSET_LIMIT = 500_000_000 // BYTES_PER_RECORD
#: Keys of ids, before they are row numbers.
_KEY = "<i8"
READING, USERS, ITEMS = "reading", "sorting by user", "sorting by item"


def record(keys: str, *, weighted: bool) -> np.dtype[Any]:
    """Return the type of an entry on disk, `keys` being that of both its sides; without weights there is no field."""
    fields = [("own", keys), ("partner", keys), ("values", "<f8"), ("weights", "<f8")]
    return np.dtype(fields if weighted else fields[:3])


#: Row numbers of a packed table are below 2**31.
ROW_NUMBER = "<i4"


class Buckets:
    """Records by neighbouring rows of one side, as many to a file as fit into memory; read back in order."""

    def __init__(self, folder: Path, counts: NDArray[np.int64], limit: int, *, weighted: bool) -> None:
        self._folder, self._kind, self._n_rows = folder, record(ROW_NUMBER, weighted=weighted), counts.size
        folder.mkdir()
        # A row goes to the bucket in which its first record falls.
        _, self._starts, bucket = np.unique(
            (np.cumsum(counts) - counts) // limit, return_index=True, return_inverse=True
        )
        self._bucket = bucket.astype(np.int32)

    def deal(self, entries: Entries) -> None:
        """Append entries to the files of their rows, in their order."""
        for number, part in enumerate(entries.dealt(self._bucket[entries.own], len(self._starts))):
            if part.own.size:
                with open(self._folder / str(number), "ab") as file:
                    file.write(part.records(self._kind).data.cast("B"))

    def __iter__(self) -> Iterator[tuple[int, int, Entries]]:
        """Yield (first row, last row, entries with rows counted from the first); a file is gone once it was read."""
        for number, (first, last) in enumerate(zip(self._starts, [*self._starts[1:], self._n_rows], strict=True)):
            path = self._folder / str(number)
            records = np.fromfile(path, self._kind) if path.exists() else np.empty(0, dtype=self._kind)
            path.unlink(missing_ok=True)
            entries = Entries.of_records(records)
            yield int(first), int(last), replace(entries, own=entries.own - np.int32(first))


class SortedTable:
    """Writes a table whose entries come by users in order; what belongs to items waits in buckets until the end."""

    def __init__(
        self,
        writer: TableWriter,
        users: Vocabulary,
        items: Vocabulary,
        n_entries: int,
        weighted: bool,
        by_item: Buckets,
    ) -> None:
        self._writer, self._users, self._items, self._by_item = writer, users, items, by_item
        self._rows = writer.reserve_view("rows", len(users), n_entries, weighted=weighted)
        self._columns = writer.reserve_view("columns", len(items), n_entries, weighted=weighted)
        self._rows["indptr"].append(np.zeros(1, dtype=np.int64))
        self._end = 0
        self._item_counts = np.zeros(len(items), dtype=np.int64)
        self._binary = True

    def add(self, first: int, last: int, entries: Entries) -> None:
        """Append the sorted entries of the users `first` to `last`, counted from the first."""
        _append(self._rows, entries)
        ends = self._end + np.cumsum(np.bincount(entries.own, minlength=last - first))
        self._rows["indptr"].append(ends)
        self._end = int(ends[-1])
        self._item_counts += np.bincount(entries.partner, minlength=len(self._items))
        self._binary = self._binary and bool(((entries.values == 0.0) | (entries.values == 1.0)).all())
        self._by_item.deal(Entries(entries.partner, entries.own + first, entries.values, entries.weights))

    @property
    def n_kept(self) -> int:
        """Entries so far."""
        return self._end

    def finish(self, scale: Scale, source: Provenance | None, tell: Callable[[int], Any]) -> None:
        """Sort by items, and close the table."""
        done = 0
        for first, last, entries in self._by_item:
            tell(done)
            done += entries.own.size
            _append(self._columns, entries.taken(counting_order(entries.own, last - first)))
        self._columns["indptr"].append(np.concatenate(([0], np.cumsum(self._item_counts))))
        self._writer.finish(self._users, self._items, scale, source, binary=self._binary)
        tell(done)


def _append(parts: dict[str, Any], entries: Entries) -> None:
    for name, array in (("indices", entries.partner), ("values", entries.values), ("weights", entries.weights)):
        parts[name].append(array)


def pack_sources(
    sources: Sequence[Source],
    out: Any,
    options: ReadingOptions,
    limit: int,
    tell: Tell | None = None,
    naming: Naming | None = None,
) -> None:
    """Write sources to a packed table, sorting so many records at a time; `naming` gives the items their titles."""
    try:
        with scratch_folder(out) as folder:
            job = _Packing(folder, Intake(sources, options), options, limit, tell or (lambda stage, done, total: None))
            job.read()
            with atomic_writer(out) as stream:
                job.write(TableWriter(stream), naming or (lambda items: items))
    except OSError as error:
        if isinstance(error, FileWriteError):
            raise
        raise FileWriteError(f"{out} cannot be written: {error.strerror or error}.") from None


def pack_parts(parts: TableParts, columns: View, out: Any) -> None:
    """Write a table that is at hand, in both orders, to a packed table."""
    with atomic_writer(out) as stream:
        writer = TableWriter(stream)
        for order, view in (("rows", parts.rows), ("columns", columns)):
            weighted = bool(view.weights.size)
            arrays = writer.reserve_view(order, view.indptr.size - 1, view.indices.size, weighted=weighted)
            arrays["indptr"].append(view.indptr)
            for first, last in view.blocks():
                cut = slice(view.indptr[first], view.indptr[last])
                for name in ("indices", "values", "weights"):
                    arrays[name].append(getattr(view, name)[cut])
                view.forget(first, last)
        writer.finish(parts.users, parts.items, parts.scale, parts.source, binary=parts.rows.is_binary())


class _Packing:
    """One job: `read` spills the sources, `write` sorts what was spilled into a table."""

    def __init__(self, folder: Path, intake: Intake, options: ReadingOptions, limit: int, tell: Tell) -> None:
        self._folder, self._intake, self._options, self._limit, self._tell = folder, intake, options, limit, tell
        self._spill = folder / "records"
        self._weighted = False

    def read(self) -> None:
        """Go through the sources once: check, give ids keys, spill."""
        sources = self._intake.sources
        with open(self._spill, "wb") as spill:
            for number, source in enumerate(sources):
                self._tell(READING, number, len(sources))
                for entries in self._intake.entries_of(source):
                    self._weighted = bool(entries.weights.size)
                    spill.write(entries.records(self._kind).data.cast("B"))
        self._tell(READING, len(sources), len(sources))

    def write(self, writer: TableWriter, naming: Naming) -> None:
        """Sort by users, then by items."""
        scale = self._intake.scale
        users, items = self._intake.finish()
        items = naming(self._intake.titled(items))
        by_user, by_item = self._buckets(users, items)
        for entries in self._spilled():
            by_user.deal(entries)
        total, done = self._intake.ends[-1], 0
        table = SortedTable(writer, users, items, total, self._weighted, by_item)
        for first, last, entries in by_user:
            self._tell(USERS, done, total)
            done += entries.own.size

            def complain(a: int, b: int, part: Entries = entries, first: int = first) -> DataError:
                return self._duplicate(users, items, int(part.own[a]) + first, int(part.partner[a]))

            entries = replace(entries, values=scale.probability(entries.values))
            table.add(first, last, entries.sorted(last - first, len(items), self._options.merging, complain))
        self._tell(USERS, total, total)
        table.finish(scale, self._intake.provenance(table.n_kept), lambda done: self._tell(ITEMS, done, total))
        self._tell(ITEMS, total, total)

    def _buckets(self, users: Vocabulary, items: Vocabulary) -> tuple[Buckets, Buckets]:
        """Make empty buckets for both sides, by how many records each row has."""
        for what, ids in (("users", users), ("items", items)):
            if len(ids) >= 2**31:
                raise DataError(f"A packed table holds fewer than 2**31 {what}, got {len(ids)}.")
        per_user, per_item = np.zeros(len(users), dtype=np.int64), np.zeros(len(items), dtype=np.int64)
        for entries in self._spilled():
            per_user += np.bincount(entries.own, minlength=per_user.size)
            per_item += np.bincount(entries.partner, minlength=per_item.size)
        return (
            Buckets(self._folder / "users", per_user, self._limit, weighted=self._weighted),
            Buckets(self._folder / "items", per_item, self._limit, weighted=self._weighted),
        )

    @property
    def _kind(self) -> np.dtype[Any]:
        return record(_KEY, weighted=self._weighted)

    def _spilled(self) -> Iterator[Entries]:
        """Yield the entries in their order, with row numbers."""
        with open(self._spill, "rb") as spill:
            while content := spill.read(min(self._limit, self._intake.ends[-1]) * self._kind.itemsize):
                yield self._intake.encoded(Entries.of_records(np.frombuffer(content, self._kind)))

    def _duplicate(self, users: Vocabulary, items: Vocabulary, user: int, item: int) -> DataError:
        """Look for the places of a pair that was rated twice."""
        found: list[int] = []
        start = 0
        for entries in self._spilled():
            found += (start + np.flatnonzero((entries.own == user) & (entries.partner == item))).tolist()
            start += entries.own.size
        first, second = (self._intake.place(number) for number in found[:2])
        return duplicate(users.ids.item(user), items.ids.item(item), first, second)


def packed_subset(table: PackedTable, chosen: NDArray[np.bool_], limit: int = _SUBSET_LIMIT) -> PackedTable:
    """Write the chosen entries of a packed table to another, which is deleted when nobody uses it any more."""
    weighted = bool(table.rows.weights.size)
    with tempfile.TemporaryDirectory(prefix="kolmogorov-") as name:
        by_item = Buckets(Path(name) / "items", table.columns.counts, limit, weighted=weighted)
        handle, path = tempfile.mkstemp(suffix=".kmt", prefix="kolmogorov-")
        try:
            with os.fdopen(handle, "wb") as stream:
                total = int(chosen.sum())
                part = SortedTable(TableWriter(stream), table.users, table.items, total, weighted, by_item)
                for first, last, entries in _row_entries(table.rows, limit):
                    part.add(first, last, entries.taken(chosen[table.rows.indptr[first] : table.rows.indptr[last]]))
                part.finish(table.header.scale, table.header.source, lambda done: None)
            found = open_table(path, verify=False)
        except BaseException as error:
            Path(path).unlink(missing_ok=True)
            if isinstance(error, OSError):
                reason = f"{error.strerror or error}. TMPDIR names another directory"
                raise FileWriteError(f"A part of the table cannot be written to {path}: {reason}.") from None
            raise
    weakref.finalize(found, _deleted, path, os.getpid())
    return found


def _row_entries(rows: View, limit: int) -> Iterator[tuple[int, int, Entries]]:
    """Yield (first row, last row, entries with rows counted from the first), about so many entries at a time."""
    for first, last in rows.blocks(limit):
        cut = slice(rows.indptr[first], rows.indptr[last])
        weights = rows.weights[cut] if rows.weights.size else rows.weights
        yield (
            first,
            last,
            Entries(rows.owners(first, last) - np.int32(first), rows.indices[cut], rows.values[cut], weights),
        )
        rows.forget(first, last)


def _deleted(path: str, owner: int) -> None:
    """Delete a temporary table; a forked process leaves its parent's alone."""
    if os.getpid() == owner:
        Path(path).unlink(missing_ok=True)
