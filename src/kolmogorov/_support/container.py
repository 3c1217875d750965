"""The one file format of the library: arrays under names, a footer in JSON that says what is where, and checksums.

Models, checkpoints and packed tables are containers. Layout, all numbers little-endian::

    8 bytes    magic b"KOLMO\\r\\n\\x1a" (a text-mode copy damages it visibly), then 4 bytes: version of this layout
    ...        sections, one for each array, at multiples of the file's alignment, with zeros between them
    ...        footer: JSON, UTF-8; {"kind": ..., "meta": {...}, "end": where the footer begins,
               "sections": {name: {dtype, shape, offset, sha256}}}
    8 bytes    length of the footer
    32 bytes   SHA-256 of the footer
    8 bytes    the magic again

A file that was not written to its end has no footer. Nothing in a file can be executed, and a file with right
checksums is still only a claim: every size is compared with the size of the file before memory is asked for, sections
may not overlap, and what the arrays mean is for their reader to check (`invariants`).
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.files import atomic_writer
from kolmogorov.errors import FileFormatError, ParameterError

MAGIC = b"KOLMO\r\n\x1a"
#: Of models and checkpoints; tables have not changed since the one before.
VERSION = 4
#: The kind of packed tables.
HEAD = struct.Struct("<8sI")
TAIL = struct.Struct("<Q32s8s")
DTYPES = {
    "float64": "<f8",
    "float32": "<f4",
    "int64": "<i8",
    "int32": "<i4",
    "uint16": "<u2",
    "uint8": "|u1",
}
#: Arrays begin where a processor likes them to; those that are mapped into memory begin at a page.
ALIGNMENT, PAGE = 64, 4096
#: JSON takes up to 25 times its length in memory once it is parsed.
LARGEST_FOOTER = 4 << 20
_MOST_DIMENSIONS = 3
#: Of a whole number: those of 128 bits, as seeds may have, are shorter, and floats go far beyond.
_MOST_DIGITS = 40
#: Solvers made of solvers nest deepest, by two levels each. By judgement.
_DEEPEST = 24


@dataclass(frozen=True)
class Section:
    """Where an array lies, and what it must be; a whole file's checksum may stand for that of the section."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    sha256: str

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self.size * np.dtype(DTYPES[self.dtype]).itemsize

    @property
    def end(self) -> int:
        """Where the bytes end."""
        return self.offset + self.nbytes


@dataclass(frozen=True)
class Contents:
    """What the footer of a file says.

    Attributes
    ----------
    kind : str
        What the arrays are: the name of a model's class, "checkpoint", "table", ...
    meta : dict
        Whatever else the reader of that kind needs.
    sections : dict
        By name, in the order of the file.
        Of the layout.
    end : int
        Where the arrays end.
    """

    kind: str
    meta: dict[str, Any]
    sections: dict[str, Section]
    end: int


def footer_of(stream: BinaryIO, size: int, magic: bytes, path: Any) -> tuple[Any, int]:
    """Return the parsed footer, whose checksum was compared before, and where it begins."""
    stream.seek(size - TAIL.size)
    length, digest, last = TAIL.unpack(stream.read(TAIL.size))
    if last != magic or length > size - TAIL.size - HEAD.size:
        raise damaged(path)
    if length > LARGEST_FOOTER:
        malformed(path, f"its footer has {length} bytes, at most {LARGEST_FOOTER} are read")
    begin = size - TAIL.size - length
    stream.seek(begin)
    content = stream.read(length)
    if hashlib.sha256(content).digest() != digest:
        raise damaged(path)
    return parsed(content, path), begin


def parsed(content: bytes, path: Any) -> Any:
    """Parse JSON as we write it: numbers that can be computed with, whole characters, no deep nesting."""
    try:
        found = json.loads(content, parse_int=_whole, parse_float=_finite, parse_constant=_refused)
        _check_depth(found)
        if b"\\u" in content:
            # An escape may be half of a character, which no text can hold.
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        malformed(path, "its footer is not JSON")
    return found


def _check_depth(found: Any) -> None:
    """Raise where JSON nests more deeply than any file of ours: whoever walks down it would not come back."""
    level = [found]
    for _ in range(_DEEPEST):
        level = [inner for node in level if isinstance(node, (dict, list)) for inner in _inside(node)]
    if level:
        raise ValueError("nested too deeply")


def _inside(node: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("too many digits")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _refused(word: str) -> NoReturn:
    raise ValueError(word)


def sections_of(listed: dict[str, Any], end: int, path: Any) -> dict[str, Section]:
    """Return the sections in the order of the file. They must lie before `end`, each apart from the others."""
    sections = {name: section_of(name, entry, path) for name, entry in listed.items()}
    ordered = dict(sorted(sections.items(), key=lambda pair: (pair[1].offset, pair[1].end)))
    last = HEAD.size
    for name, section in ordered.items():
        if section.offset < last or section.offset % 8 or section.end > end:
            malformed(path, f"the array {name[:40]!r} does not lie inside the file, apart from the others")
        last = section.end
    return ordered


def section_of(name: str, entry: Any, path: Any) -> Section:
    """Return what a footer says of one array, if it can be true of any file."""
    try:
        section = Section(entry["dtype"], tuple(entry["shape"]), entry["offset"], entry["sha256"])
        numbers = (*section.shape, section.offset)
        sound = (
            len(entry) == 4
            and isinstance(section.dtype, str)
            and section.dtype in DTYPES
            and 1 <= len(section.shape) <= _MOST_DIMENSIONS
            # Bounded so that no product of them, with zeros counted as ones, leaves what NumPy can address.
            and all(type(n) is int and 0 <= n < 2**48 for n in numbers)
            and math.prod(max(n, 1) for n in section.shape) < 2**48
            and isinstance(section.sha256, str)
            and len(section.sha256) == 2 * hashlib.sha256().digest_size
        )
    except (KeyError, TypeError):
        sound = False
    if not sound:
        malformed(path, f"what it says of the array {name[:40]!r} is wrong")
    return section


def damaged(path: Any, why: str = "its checksum does not match") -> FileFormatError:
    """Word the error for a file that was altered after it was written."""
    return FileFormatError(f"{path} is damaged: {why}. It was altered or cut short.")


#: What reading the parts of a file raises where one is missing, of another kind, or beyond all measure.
DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


def malformed(path: Any, why: str) -> NoReturn:
    """Refuse a file whose parts do not belong together."""
    raise FileFormatError(f"{path} is malformed: {why}.")


def write(path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays that are at hand, atomically: until the file is whole, `path` stays as it was."""
    with atomic_writer(path) as stream:
        # A pipe takes bytes in their order only.
        target = stream if stream.seekable() else io.BytesIO()
        writer = Writer(target)
        for name, array in arrays.items():
            block = np.ascontiguousarray(array)
            writer.reserve(name, block.dtype.name, block.size, shape=block.shape).append(block.ravel())
        writer.finish(kind, meta)
        if isinstance(target, io.BytesIO):
            stream.write(target.getbuffer())


class Growing:
    """An array that is appended to, in space that was reserved for it."""

    def __init__(self, stream: BinaryIO, offset: int, dtype: str, capacity: int, shape: tuple[int, ...] | None) -> None:
        self._stream, self._offset, self._dtype, self._capacity = stream, offset, dtype, capacity
        self._digest = hashlib.sha256()
        self._shape = shape
        self._size = 0

    def append(self, array: NDArray[Any]) -> None:
        """Write the next elements."""
        block = np.ascontiguousarray(array, dtype=np.dtype(DTYPES[self._dtype]))
        if self._size + block.size > self._capacity:
            raise ValueError("a section is longer than what was reserved for it")
        if block.size:
            view = block.data.cast("B")
            self._stream.seek(self._offset + self._size * block.itemsize)
            self._stream.write(view)
            self._digest.update(view)
            self._size += block.size

    @property
    def digest(self) -> bytes:
        """SHA-256 of what was written."""
        return self._digest.digest()

    @property
    def section(self) -> Section:
        """What the footer says about it."""
        return Section(self._dtype, self._shape or (self._size,), self._offset, self._digest.hexdigest())


class Writer:
    """Writes a container to a stream: sections in any order, then `finish`."""

    def __init__(self, stream: BinaryIO, alignment: int = ALIGNMENT) -> None:
        self._stream, self._alignment = stream, alignment
        self._stream.write(HEAD.pack(MAGIC, VERSION))
        self._end = alignment
        self.sections: dict[str, Growing] = {}

    def reserve(self, name: str, dtype: str, capacity: int, *, shape: tuple[int, ...] | None = None) -> Growing:
        """Make room for up to so many elements; without a shape it is one-dimensional and may end up shorter."""
        self.sections[name] = Growing(self._stream, self._end, dtype, capacity, shape)
        itemsize = np.dtype(DTYPES[dtype]).itemsize
        self._end += -(-capacity * itemsize // self._alignment) * self._alignment
        return self.sections[name]

    def finish(self, kind: str, meta: Mapping[str, Any]) -> None:
        """Write the footer; from here on the file is a container."""
        sections = {name: vars(growing.section) for name, growing in self.sections.items()}
        footer = json.dumps(
            {"kind": kind, "meta": meta, "sections": sections, "end": self._end}, allow_nan=False
        ).encode()
        if len(footer) > LARGEST_FOOTER:
            raise ValueError(f"a footer of {len(footer)} bytes is more than a reader takes")
        self._stream.seek(self._end)
        self._stream.write(footer + TAIL.pack(len(footer), hashlib.sha256(footer).digest(), MAGIC))


_BLOCK = 1 << 23


def read(path: str | os.PathLike[str], kinds: tuple[str, ...]) -> tuple[Contents, dict[str, NDArray[Any]]]:
    """Read and verify a whole container of one of the given kinds. Any damage is a `FileFormatError`."""
    with opened(path) as stream:
        contents = contents_of(stream, path)
        if contents.kind not in kinds:
            raise FileFormatError(f"{path} holds a {contents.kind[:40]!r}, not a {' or a '.join(map(repr, kinds))}.")
        check_gaps(stream, contents, path)
        return contents, {name: array_of(stream, section, name, path) for name, section in contents.sections.items()}


def check_path(path: Any) -> None:
    """Refuse what names no file; a number would be taken for a file that is open already."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ParameterError(f"A file is named by a text or a path, got {path!r}.")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading; what goes wrong with it is a `FileFormatError` that names it."""
    check_path(path)
    try:
        try:
            stream = open(path, "rb")  # noqa: SIM115 (it is closed below)
        except ValueError as error:  # a NUL in the path
            raise FileFormatError(f"{path} cannot be read: {error}.") from None
        with stream:
            yield stream
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None


def contents_of(stream: BinaryIO, path: Any) -> Contents:
    """Check both ends of a file and the footer's checksum; return what the footer says, compared with the file."""
    stream.seek(0)
    head = stream.read(HEAD.size)
    if not head.startswith(MAGIC[:5]):
        raise FileFormatError(f"{path} is not a kolmogorov file.")
    size = stream.seek(0, os.SEEK_END)
    if len(head) < HEAD.size or size < HEAD.size + TAIL.size:
        raise FileFormatError(f"{path} is cut short: only {size} bytes are left.")
    magic, version = HEAD.unpack(head)
    if magic == MAGIC and version != VERSION:
        raise FileFormatError(
            f"{path} was written by another version of kolmogorov: its layout is {version}, this one reads {VERSION}. "
            "Fit or pack again."
        )
    footer, end = footer_of(stream, size, MAGIC, path)
    if magic != MAGIC:
        raise damaged(path)
    if not isinstance(footer, dict) or set(footer) != {"kind", "meta", "sections", "end"}:
        malformed(path, "its footer lacks parts")
    if footer["end"] != end:
        raise damaged(path, "bytes were put in or taken out")
    kind, meta, listed = footer["kind"], footer["meta"], footer["sections"]
    if not isinstance(kind, str) or not isinstance(meta, dict) or not isinstance(listed, dict):
        malformed(path, "its footer lacks parts")
    return Contents(kind, meta, sections_of(listed, end, path), end)


def array_of(stream: BinaryIO, section: Section, name: str, path: Any) -> NDArray[Any]:
    """Read one array into memory and compare its checksum."""
    array = np.empty(section.shape, DTYPES[section.dtype])
    stream.seek(section.offset)
    if array.size:
        target = array.data.cast("B")
        if stream.readinto(target) != section.nbytes:  # type: ignore[attr-defined]
            malformed(path, "it became shorter while it was read")
    if section.sha256 and hashlib.sha256(array.data if array.size else b"").hexdigest() != section.sha256:
        raise damaged(path, f"the checksum of {name!r} does not match")
    return array


def blocks_of(stream: BinaryIO, section: Section, path: Any, *, verify: bool, size: int = _BLOCK) -> Iterator[Any]:
    """Yield an array in blocks of so many bytes, and compare its checksum at the end if that is wanted."""
    stream.seek(section.offset)
    digest, left = hashlib.sha256(), section.nbytes
    while left:
        block = stream.read(min(left, size))
        if not block:
            malformed(path, "it became shorter while it was read")
        left -= len(block)
        if verify:
            digest.update(block)
        yield np.frombuffer(block, DTYPES[section.dtype])
    if verify and digest.hexdigest() != section.sha256:
        raise damaged(path, "a checksum does not match")


def check_gaps(stream: BinaryIO, contents: Contents, path: Any) -> None:
    """Refuse anything but zeros between the sections: bytes there were put in by somebody else."""
    before = HEAD.size
    for after, end in [*((section.offset, section.end) for section in contents.sections.values()), (contents.end, 0)]:
        stream.seek(before)
        left = after - before
        while left > 0:
            block = stream.read(min(left, _BLOCK))
            if not block or block.count(0) != len(block):
                raise damaged(path, "there are bytes that belong to nothing")
            left -= len(block)
        before = end
