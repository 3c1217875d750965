"""Packed tables: entries in a file that is mapped into memory instead of read; `file` says what is in it."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support import container
from kolmogorov.data.entries.view import View
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.packed.file import (
    VIEW,
    TableHeader,
    check_checksums,
    check_order,
    check_same_entries,
    read_header,
)
from kolmogorov.errors import FileFormatError, InvariantError, KolmogorovError


class MappedView(View):
    """A view whose entries lie in a mapped file; pages that were read can be let go again."""

    def __init__(self, mapping: mmap.mmap, parts: dict[str, NDArray[Any]], offsets: dict[str, int]) -> None:
        super().__init__(**parts)
        object.__setattr__(self, "_mapping", mapping)
        object.__setattr__(self, "_offsets", offsets)

    _mapping: mmap.mmap
    _offsets: dict[str, int]

    def check_intact(self) -> None:
        """Raise where the file has another size than when it was opened: reading past its end would end the process."""
        if self._mapping.size() != len(self._mapping):
            raise FileFormatError(
                f"A packed table was {len(self._mapping)} bytes long when it was opened and is {self._mapping.size()} "
                "now. Do not change tables that are in use; pack to another name, or open it again."
            )

    def blocks(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows; before each the file is looked at."""
        for first, last in super().blocks(entries):
            self.check_intact()
            yield first, last

    def forget(self, first: int, last: int) -> None:
        """Give back the memory behind the entries of some rows; they are read again when they are needed again."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        start, end = int(self.indptr[first]), int(self.indptr[last])
        for name, offset in self._offsets.items():
            array: NDArray[Any] = getattr(self, name)
            if array.size and end > start:
                low = (offset + start * array.itemsize) // mmap.PAGESIZE * mmap.PAGESIZE
                high = offset + end * array.itemsize
                self._mapping.madvise(mmap.MADV_DONTNEED, low, high - low)


@dataclass(frozen=True, eq=False)
class PackedTable:
    """A packed table, mapped: where it lies, what its footer says, and its parts."""

    path: Path
    header: TableHeader
    users: Vocabulary
    items: Vocabulary
    rows: MappedView
    columns: MappedView


def _changed(path: Any) -> FileFormatError:
    return FileFormatError(f"{path} is another table than the one that was opened.")


def open_table(path: str | os.PathLike[str], verify: bool = True, fingerprint: str | None = None) -> PackedTable:
    """Map a packed table; see `Observations.open`. Where a fingerprint is given, no other table will do."""
    container.check_path(path)
    target = Path(path).absolute()
    with container.opened(target) as stream:
        header = read_header(stream, path)
        if fingerprint is not None and header.fingerprint != fingerprint:
            raise _changed(path)
        if verify:
            check_checksums(stream, header, path)
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def array(name: str) -> NDArray[Any]:
        section = header.sections[name]
        return np.frombuffer(mapping, container.DTYPES[section.dtype], section.size, section.offset)

    try:
        views = []
        for order in ("rows", "columns"):
            parts = {part: array(f"{order}_{part}") for part in VIEW}
            parts["indptr"] = parts["indptr"].copy()
            offsets = {part: header.sections[f"{order}_{part}"].offset for part in ("indices", "values", "weights")}
            views.append(MappedView(mapping, parts, offsets))
            check_order(views[-1], header, order, numbers=verify)
        if verify:
            check_same_entries(*views)
            # Models choose their likelihood by it.
            if views[0].is_binary() != header.binary:
                raise InvariantError("what its footer says of its values is not true")
        small = {name: array(name).copy() for name in header.sections if name.startswith(("users", "items"))}
        users, items = Vocabulary.from_arrays("users", small), Vocabulary.from_arrays("items", small)
        if (len(users), len(items)) != (header.n_users, header.n_items):
            raise InvariantError("the number of ids is wrong")
        return PackedTable(target, header, users, items, *views)
    except (*container.DAMAGE, KolmogorovError) as error:
        container.malformed(path, str(error).removesuffix("."))


def read_rows(path: str | os.PathLike[str], fingerprint: str, first: int, last: int) -> tuple[View, int]:
    """Read some users' rows of a packed table into memory, and say how many items there are.

    A table with another fingerprint is refused: it was packed again in the meantime.
    """
    with container.opened(path) as stream:
        header = read_header(stream, path)
        if header.fingerprint != fingerprint:
            raise _changed(path)

        def read(part: str, start: int, end: int) -> NDArray[Any]:
            section = header.sections[f"rows_{part}"]
            kind = np.dtype(container.DTYPES[section.dtype])
            stream.seek(section.offset + start * kind.itemsize)
            content = np.frombuffer(stream.read((end - start) * kind.itemsize), kind)
            if content.size != end - start:
                container.malformed(path, "it became shorter while it was read")
            return content

        indptr = read("indptr", first, last + 1)
        start, end = int(indptr[0]), int(indptr[-1])
        if not 0 <= start <= end <= header.sections["rows_indices"].size:
            container.malformed(path, "rows_indptr does not increase")
        weights = read("weights", start, end) if header.sections["rows_weights"].size else np.empty(0)
        view = View(indptr - start, read("indices", start, end), read("values", start, end), weights)
        try:
            view.validate(last - first, header.n_items)
        except InvariantError as error:
            container.malformed(path, str(error))
    return view, header.n_items
