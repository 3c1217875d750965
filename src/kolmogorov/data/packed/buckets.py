"""Sorting what does not fit into memory: records dealt to files of neighbouring rows, and read back in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.entries.entries import Entries
from kolmogorov.data.entries.ordering import counting_order
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.packed.file import TableWriter
from kolmogorov.data.reading.provenance import Provenance


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
