"""Packed tables: observations in both orders in one file that is mapped into memory instead of read.

Layout, all numbers little-endian::

    8 bytes    magic b"KMTAB\\r\\n\\x1a", then 4 bytes: version of this layout
    ...        sections, each at a multiple of 4096 bytes: the arrays of both orders and the ids
    ...        footer: JSON, UTF-8; what is where, with a SHA-256 for each section
    8 bytes    length of the footer
    32 bytes   SHA-256 of the footer
    8 bytes    the magic again

A file that was not written to its end has no footer, and is no table.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.observations import Observations, View, fingerprint_of
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, KolmogorovError

MAGIC = b"KMTAB\r\n\x1a"
VERSION = 1
_PAGE = 4096
_BLOCK = 1 << 20
_HEAD = struct.Struct("<8sI")
_TAIL = struct.Struct("<Q32s8s")
_DTYPES = {"float64": "<f8", "int64": "<i8", "int32": "<i4", "uint8": "|u1"}
#: The arrays of a view, with the type of each.
_VIEW = {"indptr": "int64", "indices": "int32", "values": "float64", "weights": "float64"}


# --- writing -------------------------------------------------------------------------------------------------


class Section:
    """An array that is appended to, in space that was reserved for it."""

    def __init__(self, stream: BinaryIO, offset: int, dtype: str, capacity: int) -> None:
        self._stream, self._offset, self._dtype, self._capacity = stream, offset, np.dtype(_DTYPES[dtype]), capacity
        self._digest = hashlib.sha256()
        self._size = 0

    def append(self, array: NDArray[Any]) -> None:
        """Write the next elements."""
        block = np.ascontiguousarray(array, dtype=self._dtype)
        if self._size + block.size > self._capacity:
            raise ValueError("a section is longer than what was reserved for it")
        if block.size:
            view = block.data.cast("B")
            self._stream.seek(self._offset + self._size * self._dtype.itemsize)
            self._stream.write(view)
            self._digest.update(view)
            self._size += block.size

    @property
    def digest(self) -> bytes:
        """SHA-256 of what was written."""
        return self._digest.digest()

    @property
    def entry(self) -> dict[str, Any]:
        """What the footer says about it."""
        name = next(name for name, code in _DTYPES.items() if np.dtype(code) == self._dtype)
        return {"dtype": name, "size": self._size, "offset": self._offset, "sha256": self._digest.hexdigest()}


class TableWriter:
    """Writes a packed table to a stream: sections in any order, then `finish`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._stream.write(_HEAD.pack(MAGIC, VERSION))
        self._end = _PAGE
        self.sections: dict[str, Section] = {}

    def reserve(self, name: str, dtype: str, capacity: int) -> Section:
        """Make room for up to so many elements."""
        self.sections[name] = Section(self._stream, self._end, dtype, capacity)
        self._end += -(-capacity * np.dtype(_DTYPES[dtype]).itemsize // _PAGE) * _PAGE
        return self.sections[name]

    def reserve_view(self, order: str, n_rows: int, n_entries: int, *, weighted: bool) -> dict[str, Section]:
        """Make room for the four arrays of one order."""
        sizes = {"indptr": n_rows + 1, "indices": n_entries, "values": n_entries, "weights": n_entries * weighted}
        return {part: self.reserve(f"{order}_{part}", _VIEW[part], size) for part, size in sizes.items()}

    def finish(self, users: Vocabulary, items: Vocabulary, scale: Scale, *, binary: bool) -> None:
        """Write the ids and the footer; from here on the file is a table."""
        for name, array in (users.arrays("users") | items.arrays("items")).items():
            self.reserve(name, array.dtype.name, array.size).append(array)
        parts = [self.sections[f"rows_{part}"].digest for part in _VIEW]
        footer = {
            "n_users": len(users),
            "n_items": len(items),
            "scale": asdict(scale),
            "binary": binary,
            "fingerprint": fingerprint_of(len(users), len(items), scale, parts),
            "sections": {name: section.entry for name, section in self.sections.items()},
        }
        content = json.dumps(footer, allow_nan=False).encode()
        self._stream.seek(self._end)
        self._stream.write(content + _TAIL.pack(len(content), hashlib.sha256(content).digest(), MAGIC))


# --- reading -------------------------------------------------------------------------------------------------


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


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a packed table does. A pipe is not looked into: what is read of it is gone."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as stream:
            return stream.read(5) == MAGIC[:5]
    except OSError:
        return False


def open_table(path: str | os.PathLike[str], verify: bool = True) -> PackedObservations:
    """Map a packed table; see `Observations.open`."""
    target = Path(path).absolute()
    try:
        with open(target, "rb") as stream:
            footer = _footer(stream, path)
            sections = _sections(footer, os.fstat(stream.fileno()).st_size, path)
            _check_fingerprint(sections, footer, path)
            _check_content(stream, sections, footer, path, verify=verify)
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None

    def array(name: str) -> NDArray[Any]:
        entry = sections[name]
        return np.frombuffer(mapping, _DTYPES[entry.dtype], entry.size, entry.offset)

    try:
        views = []
        for order in ("rows", "columns"):
            parts = {part: array(f"{order}_{part}") for part in _VIEW}
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
            footer = _footer(stream, path)
            sections = _sections(footer, os.fstat(stream.fileno()).st_size, path)
            if footer["fingerprint"] != fingerprint:
                raise _changed(path)

            def read(part: str, start: int, end: int) -> NDArray[Any]:
                entry = sections[f"rows_{part}"]
                kind = np.dtype(_DTYPES[entry.dtype])
                stream.seek(entry.offset + start * kind.itemsize)
                content = np.frombuffer(stream.read((end - start) * kind.itemsize), kind)
                if content.size != end - start:
                    _malformed(path, "it became shorter while it was read")
                return content

            indptr = read("indptr", first, last + 1)
            start, end = int(indptr[0]), int(indptr[-1])
            if not 0 <= start <= end <= sections["rows_indices"].size or (np.diff(indptr) < 0).any():
                _malformed(path, "rows_indptr does not increase")
            weights = read("weights", start, end) if sections["rows_weights"].size else np.empty(0)
            view = View(indptr - start, read("indices", start, end), read("values", start, end), weights)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}. Workers must see packed tables under the same path.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    if view.indices.size and (view.indices.min() < 0 or view.indices.max() >= footer["n_items"]):
        _malformed(path, "an index of rows_indices is outside the table")
    return view, int(footer["n_items"])


@dataclass(frozen=True)
class _Entry:
    dtype: str
    size: int
    offset: int
    sha256: str

    @property
    def nbytes(self) -> int:
        return self.size * np.dtype(_DTYPES[self.dtype]).itemsize


def _footer(stream: BinaryIO, path: Any) -> dict[str, Any]:
    """Check both ends of the file and the footer's checksum, and parse it."""
    head = stream.read(_HEAD.size)
    if head[:5] != MAGIC[:5]:
        raise FileFormatError(f"{path} is not a packed table. Make one with `kolmogorov data pack`.")
    size = stream.seek(0, os.SEEK_END)
    if len(head) < _HEAD.size or size < _PAGE + _TAIL.size:
        raise FileFormatError(f"{path} is cut short: only {size} bytes are left.")
    magic, version = _HEAD.unpack(head)
    stream.seek(size - _TAIL.size)
    length, digest, end = _TAIL.unpack(stream.read(_TAIL.size))
    if magic != MAGIC or end != MAGIC or length > size - _PAGE - _TAIL.size:
        raise FileFormatError(f"{path} is damaged: it was altered or cut short. Pack it anew.")
    if version != VERSION:
        remedy = "Update kolmogorov." if version > VERSION else "Pack it anew."
        raise FileFormatError(f"{path} has layout version {version}, this release reads version {VERSION}. {remedy}")
    stream.seek(size - _TAIL.size - length)
    content = stream.read(length)
    if hashlib.sha256(content).digest() != digest:
        raise FileFormatError(f"{path} is damaged: its checksum does not match. Pack it anew.")
    try:
        footer = json.loads(content)
    except (ValueError, RecursionError):
        _malformed(path, "its footer is not JSON")
    if not isinstance(footer, dict):
        _malformed(path, "its footer is not an object")
    return footer


def _sections(footer: dict[str, Any], size: int, path: Any) -> dict[str, _Entry]:
    """Read the list of sections; each must lie inside the file."""
    try:
        entries = {str(name): _Entry(**entry) for name, entry in footer["sections"].items()}
        for name, entry in entries.items():
            whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in (entry.size, entry.offset))
            if not whole or entry.offset % 8 or entry.offset + entry.nbytes > size:
                raise ValueError(f"the section {name!r} does not lie inside the file")
        for order, n_rows in (("rows", footer["n_users"]), ("columns", footer["n_items"])):
            n_entries = entries[f"{order}_indices"].size
            sizes = {"indptr": n_rows + 1, "indices": n_entries, "values": n_entries}
            heavy = entries[f"{order}_weights"].size
            right = all(entries[f"{order}_{part}"].size == n for part, n in sizes.items()) and heavy in (0, n_entries)
            types = all(entries[f"{order}_{part}"].dtype == dtype for part, dtype in _VIEW.items())
            if not right or not types or n_entries < 1 or n_entries != entries["rows_indices"].size:
                raise ValueError(f"the arrays of the {order} do not belong together")
        if not isinstance(footer["binary"], bool) or not isinstance(footer["fingerprint"], str):
            raise ValueError("its footer lacks parts")
        if not all(isinstance(footer["scale"][name], float) for name in ("minimum", "maximum")):
            raise ValueError("its scale is not one")
        if not all(type(footer[name]) is int for name in ("n_users", "n_items")):
            raise ValueError("its shape is not one")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _malformed(path, str(error))
    return entries


def _check_content(
    stream: BinaryIO, sections: dict[str, _Entry], footer: dict[str, Any], path: Any, *, verify: bool
) -> None:
    """Read the file once in small blocks: checksums, and what compiled code relies on.

    Kernels do not check bounds, so indices are checked even where the checksums are not.
    """
    partners = {"rows_indices": footer["n_items"], "columns_indices": footer["n_users"]}
    for name, entry in sections.items():
        part = name.partition("_")[2] if name.startswith(("rows_", "columns_")) else ""
        if not verify and part not in ("indptr", "indices"):
            continue
        digest, last, begun = hashlib.sha256(), 0, False
        for block in _blocks(stream, entry):
            if verify:
                digest.update(block)
            numbers = np.frombuffer(block, _DTYPES[entry.dtype])
            if part == "indices" and (numbers.min() < 0 or numbers.max() >= partners[name]):
                _malformed(path, f"an index of {name} is outside the table")
            if part == "indptr":
                if numbers[0] < last or (np.diff(numbers) < 0).any() or (not begun and numbers[0] != 0):
                    _malformed(path, f"{name} does not increase from 0")
                last, begun = int(numbers[-1]), True
            if part == "values" and not ((numbers >= 0.0) & (numbers <= 1.0)).all():
                _malformed(path, "a value is not a probability")
            if part == "weights" and not (np.isfinite(numbers) & (numbers > 0.0)).all():
                _malformed(path, "a weight is not positive")
        if verify and digest.hexdigest() != entry.sha256:
            raise FileFormatError(f"{path} is damaged: the checksum of its {name} does not match. Pack it anew.")
        if part == "indptr" and last != sections[name.replace("indptr", "indices")].size:
            _malformed(path, f"{name} does not end where the entries do")


def _check_fingerprint(sections: dict[str, _Entry], footer: dict[str, Any], path: Any) -> None:
    """Workers and checkpoints know a table by its fingerprint."""
    try:
        parts = [bytes.fromhex(sections[f"rows_{part}"].sha256) for part in _VIEW]
        right = fingerprint_of(footer["n_users"], footer["n_items"], Scale(**footer["scale"]), parts)
    except (TypeError, ValueError, KolmogorovError) as error:
        _malformed(path, str(error))
    if right != footer["fingerprint"]:
        _malformed(path, "its fingerprint is not its own")


def _blocks(stream: BinaryIO, entry: _Entry) -> Iterator[bytes]:
    stream.seek(entry.offset)
    left = entry.nbytes
    while left:
        block = stream.read(min(left, 8 * _BLOCK))
        if not block:
            return
        left -= len(block)
        yield block


def _malformed(path: Any, why: str) -> NoReturn:
    raise FileFormatError(f"{path} is malformed: {why}.")
