"""The file of a packed table: observations in both orders, written in any order of sections, read with suspicion.

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
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.observations import fingerprint_of
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, KolmogorovError

MAGIC = b"KMTAB\r\n\x1a"
VERSION = 1
_PAGE = 4096
_BLOCK = 1 << 20
_HEAD = struct.Struct("<8sI")
_TAIL = struct.Struct("<Q32s8s")
DTYPES = {"float64": "<f8", "int64": "<i8", "int32": "<i4", "uint8": "|u1"}
#: The arrays of a view, with the type of each.
VIEW = {"indptr": "int64", "indices": "int32", "values": "float64", "weights": "float64"}


# --- writing -------------------------------------------------------------------------------------------------


class Section:
    """An array that is appended to, in space that was reserved for it."""

    def __init__(self, stream: BinaryIO, offset: int, dtype: str, capacity: int) -> None:
        self._stream, self._offset, self._dtype, self._capacity = stream, offset, np.dtype(DTYPES[dtype]), capacity
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
        name = next(name for name, code in DTYPES.items() if np.dtype(code) == self._dtype)
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
        self._end += -(-capacity * np.dtype(DTYPES[dtype]).itemsize // _PAGE) * _PAGE
        return self.sections[name]

    def reserve_view(self, order: str, n_rows: int, n_entries: int, *, weighted: bool) -> dict[str, Section]:
        """Make room for the four arrays of one order."""
        sizes = {"indptr": n_rows + 1, "indices": n_entries, "values": n_entries, "weights": n_entries * weighted}
        return {part: self.reserve(f"{order}_{part}", VIEW[part], size) for part, size in sizes.items()}

    def finish(self, users: Vocabulary, items: Vocabulary, scale: Scale, *, binary: bool) -> None:
        """Write the ids and the footer; from here on the file is a table."""
        for name, array in (users.arrays("users") | items.arrays("items")).items():
            self.reserve(name, array.dtype.name, array.size).append(array)
        parts = [self.sections[f"rows_{part}"].digest for part in VIEW]
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


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a packed table does. A pipe is not looked into: what is read of it is gone."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as stream:
            return stream.read(5) == MAGIC[:5]
    except OSError:
        return False


@dataclass(frozen=True)
class Entry:
    """Where a section lies, and what it must be."""

    dtype: str
    size: int
    offset: int
    sha256: str

    @property
    def nbytes(self) -> int:
        """Bytes of the section."""
        return self.size * np.dtype(DTYPES[self.dtype]).itemsize


def read_footer(stream: BinaryIO, path: Any) -> dict[str, Any]:
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
        malformed(path, "its footer is not JSON")
    if not isinstance(footer, dict):
        malformed(path, "its footer is not an object")
    return footer


def read_sections(footer: dict[str, Any], size: int, path: Any) -> dict[str, Entry]:
    """Read the list of sections; each must lie inside the file."""
    try:
        entries = {str(name): Entry(**entry) for name, entry in footer["sections"].items()}
        for name, entry in entries.items():
            whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in (entry.size, entry.offset))
            if not whole or entry.offset % 8 or entry.offset + entry.nbytes > size:
                raise ValueError(f"the section {name!r} does not lie inside the file")
        for order, n_rows in (("rows", footer["n_users"]), ("columns", footer["n_items"])):
            n_entries = entries[f"{order}_indices"].size
            sizes = {"indptr": n_rows + 1, "indices": n_entries, "values": n_entries}
            heavy = entries[f"{order}_weights"].size
            right = all(entries[f"{order}_{part}"].size == n for part, n in sizes.items()) and heavy in (0, n_entries)
            types = all(entries[f"{order}_{part}"].dtype == dtype for part, dtype in VIEW.items())
            if not right or not types or n_entries < 1 or n_entries != entries["rows_indices"].size:
                raise ValueError(f"the arrays of the {order} do not belong together")
        if not isinstance(footer["binary"], bool) or not isinstance(footer["fingerprint"], str):
            raise ValueError("its footer lacks parts")
        if not all(type(footer["scale"][name]) in (int, float) for name in ("minimum", "maximum")):
            raise ValueError("its scale is not one")
        if not all(type(footer[name]) is int for name in ("n_users", "n_items")):
            raise ValueError("its shape is not one")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        malformed(path, str(error))
    return entries


def check_content(
    stream: BinaryIO, sections: dict[str, Entry], footer: dict[str, Any], path: Any, *, verify: bool
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
            numbers = np.frombuffer(block, DTYPES[entry.dtype])
            if part == "indices" and (numbers.min() < 0 or numbers.max() >= partners[name]):
                malformed(path, f"an index of {name} is outside the table")
            if part == "indptr":
                if numbers[0] < last or (np.diff(numbers) < 0).any() or (not begun and numbers[0] != 0):
                    malformed(path, f"{name} does not increase from 0")
                last, begun = int(numbers[-1]), True
            if part == "values" and not ((numbers >= 0.0) & (numbers <= 1.0)).all():
                malformed(path, "a value is not a probability")
            if part == "weights" and not (np.isfinite(numbers) & (numbers > 0.0)).all():
                malformed(path, "a weight is not positive")
        if verify and digest.hexdigest() != entry.sha256:
            raise FileFormatError(f"{path} is damaged: the checksum of its {name} does not match. Pack it anew.")
        if part == "indptr" and last != sections[name.replace("indptr", "indices")].size:
            malformed(path, f"{name} does not end where the entries do")


def check_fingerprint(sections: dict[str, Entry], footer: dict[str, Any], path: Any) -> None:
    """Workers and checkpoints know a table by its fingerprint."""
    try:
        parts = [bytes.fromhex(sections[f"rows_{part}"].sha256) for part in VIEW]
        right = fingerprint_of(footer["n_users"], footer["n_items"], Scale(**footer["scale"]), parts)
    except (TypeError, ValueError, KolmogorovError) as error:
        malformed(path, str(error))
    if right != footer["fingerprint"]:
        malformed(path, "its fingerprint is not its own")


def _blocks(stream: BinaryIO, entry: Entry) -> Iterator[bytes]:
    stream.seek(entry.offset)
    left = entry.nbytes
    while left:
        block = stream.read(min(left, 8 * _BLOCK))
        if not block:
            return
        left -= len(block)
        yield block


def malformed(path: Any, why: str) -> NoReturn:
    """Refuse a file whose content does not belong together."""
    raise FileFormatError(f"{path} is malformed: {why}.")
