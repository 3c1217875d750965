"""Packed tables: observations in a file that is mapped into memory instead of read; `tablefile` says what is in it."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.observations import Observations, View
from kolmogorov.data.scale import Scale
from kolmogorov.data.tablefile import (
    DTYPES,
    VIEW,
    check_content,
    check_fingerprint,
    malformed,
    read_footer,
    read_sections,
)
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, KolmogorovError


class MappedView(View):
    """A view whose entries lie in a mapped file; pages that were read can be let go again."""

    def __init__(self, mapping: mmap.mmap, parts: dict[str, NDArray[Any]], offsets: dict[str, int]) -> None:
        super().__init__(**parts)
        object.__setattr__(self, "_mapping", mapping)
        object.__setattr__(self, "_offsets", offsets)

    _mapping: mmap.mmap
    _offsets: dict[str, int]

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


class PackedObservations(Observations):
    """Observations in a packed table on disk. Made by `Observations.open`."""

    def __init__(
        self, path: Path, users: Vocabulary, items: Vocabulary, rows: View, columns: View, footer: dict[str, Any]
    ) -> None:
        super().__init__(users, items, rows, Scale(**footer["scale"]))
        self.__dict__.update(path=path, columns=columns, _binary=footer["binary"], _fingerprint=footer["fingerprint"])

    path: Path

    @property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return bool(self.__dict__["_binary"])

    @property
    def seen_items(self) -> NDArray[np.bool_]:
        """Which items have entries."""
        return self.columns.counts > 0

    def subset(self, chosen: NDArray[np.bool_]) -> Observations:
        """Keep the chosen entries, in a packed table of their own under the temporary directory.

        It is deleted when nobody uses it any more.
        """
        from kolmogorov.data.packing import packed_subset

        if np.shape(chosen) != self.values.shape or np.asarray(chosen).dtype != bool or not np.any(chosen):
            return super().subset(chosen)
        return packed_subset(self, np.asarray(chosen))

    def fingerprint(self) -> str:
        """Return a digest of everything a fit depends on."""
        return str(self.__dict__["_fingerprint"])

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process maps the same file.
        return _reopened, (self.path, self.fingerprint())


def _reopened(path: Path, fingerprint: str) -> PackedObservations:
    table = open_table(path, verify=False)
    if table.fingerprint() != fingerprint:
        raise _changed(path)
    return table


def _changed(path: Any) -> FileFormatError:
    return FileFormatError(f"{path} is another table than the one that was opened.")


def open_table(path: str | os.PathLike[str], verify: bool = True) -> PackedObservations:
    """Map a packed table; see `Observations.open`."""
    target = Path(path).absolute()
    try:
        with open(target, "rb") as stream:
            footer = read_footer(stream, path)
            sections = read_sections(footer, os.fstat(stream.fileno()).st_size, path)
            check_fingerprint(sections, footer, path)
            check_content(stream, sections, footer, path, verify=verify)
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None

    def array(name: str) -> NDArray[Any]:
        entry = sections[name]
        return np.frombuffer(mapping, DTYPES[entry.dtype], entry.size, entry.offset)

    try:
        views = []
        for order in ("rows", "columns"):
            parts = {part: array(f"{order}_{part}") for part in VIEW}
            parts["indptr"] = parts["indptr"].copy()
            offsets = {part: sections[f"{order}_{part}"].offset for part in ("indices", "values", "weights")}
            views.append(MappedView(mapping, parts, offsets))
        small = {name: array(name).copy() for name in sections if name.startswith(("users", "items"))}
        users, items = Vocabulary.from_arrays("users", small), Vocabulary.from_arrays("items", small)
        if (len(users), len(items)) != (footer["n_users"], footer["n_items"]):
            raise ValueError("the number of ids is wrong")
        return PackedObservations(target, users, items, views[0], views[1], footer)
    except (KeyError, TypeError, ValueError, UnicodeError, KolmogorovError) as error:
        raise FileFormatError(f"{path} is malformed: {error}.") from None


def read_rows(path: str | os.PathLike[str], fingerprint: str, first: int, last: int) -> tuple[View, int]:
    """Read some users' rows of a packed table into memory, and say how many items there are.

    A table with another fingerprint is refused: it was packed anew in the meantime.
    """
    try:
        with open(path, "rb") as stream:
            footer = read_footer(stream, path)
            sections = read_sections(footer, os.fstat(stream.fileno()).st_size, path)
            if footer["fingerprint"] != fingerprint:
                raise _changed(path)

            def read(part: str, start: int, end: int) -> NDArray[Any]:
                entry = sections[f"rows_{part}"]
                kind = np.dtype(DTYPES[entry.dtype])
                stream.seek(entry.offset + start * kind.itemsize)
                content = np.frombuffer(stream.read((end - start) * kind.itemsize), kind)
                if content.size != end - start:
                    malformed(path, "it became shorter while it was read")
                return content

            indptr = read("indptr", first, last + 1)
            start, end = int(indptr[0]), int(indptr[-1])
            if not 0 <= start <= end <= sections["rows_indices"].size or (np.diff(indptr) < 0).any():
                malformed(path, "rows_indptr does not increase")
            weights = read("weights", start, end) if sections["rows_weights"].size else np.empty(0)
            view = View(indptr - start, read("indices", start, end), read("values", start, end), weights)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}. Workers must see packed tables under the same path.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    if view.indices.size and (view.indices.min() < 0 or view.indices.max() >= footer["n_items"]):
        malformed(path, "an index of rows_indices is outside the table")
    return view, int(footer["n_items"])
