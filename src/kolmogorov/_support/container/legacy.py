"""Files of version 0.1.0, read as if they were containers of today.

Models and checkpoints were archives (magic, version 2, length of a JSON header, header, arrays one after another, one
SHA-256 of everything); packed tables had the sections and the footer that all files have now, under a magic of their
own.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, BinaryIO

from kolmogorov._support.container.layout import (
    LARGEST_FOOTER,
    Contents,
    Section,
    damaged,
    footer_of,
    malformed,
    parsed,
    section_of,
    sections_of,
)
from kolmogorov.errors import FileFormatError

ARCHIVE_VERSION = 2
TABLE_MAGIC = b"KMTAB\r\n\x1a"
_PREFIX = struct.Struct("<8sIQ")
_DIGEST_SIZE = 32
_BLOCK = 1 << 23


def archive_contents(stream: BinaryIO, size: int, path: Any) -> Contents:
    """Check the one checksum of an archive, and lay out its arrays as sections."""
    if size < _PREFIX.size + _DIGEST_SIZE:
        raise FileFormatError(f"{path} is cut short: only {size} bytes are left.")
    end = size - _DIGEST_SIZE
    if _digest(stream, end) != stream.read(_DIGEST_SIZE):
        raise damaged(path)
    stream.seek(0)
    _, _, length = _PREFIX.unpack(stream.read(_PREFIX.size))
    if length > min(end - _PREFIX.size, LARGEST_FOOTER):
        malformed(path, "its header is larger than the file, or than any")
    header = parsed(stream.read(length), path)
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        malformed(path, "its header lacks parts")
    kind, meta = header.get("kind"), header.get("meta")
    if not isinstance(kind, str) or not isinstance(meta, dict):
        malformed(path, "its header lacks parts")
    sections: dict[str, Section] = {}
    begin = _PREFIX.size + length
    for entry in header["arrays"]:
        name, section = _listed(entry, begin, path)
        begin = section.end
        if name in sections or begin > end:
            malformed(path, f"array {name[:40]!r} is there twice, or larger than the file")
        sections[name] = section
    if begin != end:
        malformed(path, "it has bytes that belong to nothing")
    return Contents(kind, meta, sections, ARCHIVE_VERSION, end)


def _listed(entry: Any, offset: int, path: Any) -> tuple[str, Section]:
    """Check one entry of an archive's list as if it were a section's; its place follows from those before it."""
    if not isinstance(entry, dict) or set(entry) != {"name", "dtype", "shape"} or not isinstance(entry["name"], str):
        malformed(path, "its list of arrays is wrong")
    described = section_of(entry["name"], {"offset": 0, "sha256": "0" * 64} | _without(entry, "name"), path)
    return entry["name"], Section(described.dtype, described.shape, offset, "")


def table_contents(stream: BinaryIO, size: int, version: int, path: Any) -> Contents:
    """Read the footer of a packed table, and give its sections shapes."""
    footer, end = footer_of(stream, size, TABLE_MAGIC, path)
    if version != 1:
        raise damaged(path)
    if not isinstance(footer, dict) or not isinstance(footer.get("sections"), dict):
        malformed(path, "its footer lacks parts")
    listed = {}
    for name, entry in footer["sections"].items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "size", "offset", "sha256"}:
            malformed(path, f"what it says of the array {name[:40]!r} is wrong")
        listed[name] = {"shape": [entry["size"]]} | _without(entry, "size")
    return Contents("table", _without(footer, "sections"), sections_of(listed, end, path), version, end)


def _without(entry: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != name}


def _digest(stream: BinaryIO, end: int) -> bytes:
    """Read up to `end` once, in blocks."""
    digest = hashlib.sha256()
    stream.seek(0)
    while block := stream.read(min(_BLOCK, end - stream.tell())):
        digest.update(block)
    return digest.digest()
