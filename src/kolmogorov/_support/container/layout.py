"""What is where in a file: sections, the footer that lists them, and the checks that every size has to pass."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

import numpy as np

from kolmogorov.errors import FileFormatError

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
