"""Containers are read with suspicion; any damage is a `FileFormatError`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.container.layout import (
    DTYPES,
    HEAD,
    MAGIC,
    TAIL,
    VERSION,
    Contents,
    Section,
    damaged,
    footer_of,
    malformed,
    sections_of,
)
from kolmogorov.errors import FileFormatError, ParameterError

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
