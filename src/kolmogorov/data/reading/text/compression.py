"""Files as they lie on a disk, plain or compressed, as streams of plain bytes that are unpacked as they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import struct
import tempfile
import zipfile
import zlib
from typing import IO, BinaryIO, cast

from kolmogorov.errors import DataError

#: What a compressed stream raises where it is broken, when it is opened or later.
DAMAGE = (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError, OSError)
# A crafted archive can have a wrong number, name or offset anywhere in its directory.
_BROKEN_ARCHIVE = (
    zipfile.BadZipFile,
    RuntimeError,
    ValueError,
    IndexError,
    OverflowError,
    struct.error,
    zlib.error,
    EOFError,
)


def decompressed(raw: BinaryIO, name: str) -> io.BufferedReader:
    """Look at the first bytes and unwrap what they announce."""
    source = cast("io.BufferedReader", raw)
    magic = source.peek(6)[:6]
    if magic.startswith(b"\x1f\x8b"):
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=source)))
    if magic.startswith(b"\xfd7zXZ\0"):
        return io.BufferedReader(cast("io.RawIOBase", lzma.LZMAFile(source)))
    if magic.startswith(b"BZh"):
        return io.BufferedReader(cast("io.RawIOBase", bz2.BZ2File(source)))
    if magic.startswith(b"PK\x03\x04"):
        return _only_member(source if source.seekable() else _on_disk(source), name)
    return source


def _only_member(source: IO[bytes], name: str) -> io.BufferedReader:
    """Open the file in an archive that holds one."""
    try:
        archive = zipfile.ZipFile(source)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) == 1:
            return io.BufferedReader(cast("io.RawIOBase", archive.open(members[0])))
    # NotImplementedError is what a feature or a method that Python's reader lacks ends in; it is a RuntimeError.
    except _BROKEN_ARCHIVE as error:
        raise DataError(
            f"{name} cannot be decompressed: {error}. Unpack it with another program, and give the file that was in it."
        ) from None
    shown = ", ".join(repr(member.filename) for member in members[:5]) + (", ..." if len(members) > 5 else "")
    raise DataError(f"{name} must hold exactly one file, it holds {len(members)}{': ' + shown if members else ''}.")


def _on_disk(source: IO[bytes]) -> IO[bytes]:
    """Copy what can be read once only: the directory of an archive is at its end."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the archive that reads it
    shutil.copyfileobj(source, copy)
    copy.seek(0)
    return copy
