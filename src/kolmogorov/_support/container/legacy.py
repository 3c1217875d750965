"""Packed tables of version 0.1.0, with the sections and the footer of today under a magic of their own."""

from __future__ import annotations

from typing import Any, BinaryIO

from kolmogorov._support.container.layout import (
    Contents,
    damaged,
    footer_of,
    malformed,
    sections_of,
)

#: Of the archives that its models were.
ARCHIVE_VERSION = 2
TABLE_MAGIC = b"KMTAB\r\n\x1a"


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
