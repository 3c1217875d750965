"""Files as bytes: opened, copied where they can be read once only, unpacked; and the encoding that they are in."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from kolmogorov.errors import DataError

#: What a compressed stream raises where it is broken.
DAMAGE = (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError, OSError)
# A crafted archive can have a wrong number, name or offset anywhere in its directory.
_ARCHIVE = (zipfile.BadZipFile, RuntimeError, ValueError, IndexError, OverflowError, zlib.error, EOFError, OSError)
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýŒœŠšŽžŸ€…‘’“”–—\xa0©®°®´·«»§²³½¼¿¡ªº£™"
_USUAL = _LETTERS.encode("cp1252")


def open_binary(path: Any) -> BinaryIO:
    """Open a file; what is wrong with it is a sentence."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{os.fspath(path)!r} cannot be opened: a path cannot hold a NUL character.") from None


def copied(path: Any, copy: Path) -> Any:
    """Copy standard input or a pipe to a file."""
    if str(path) == "-" and (sys.stdin is None or getattr(sys.stdin, "closed", False)):
        raise DataError("Standard input is closed. Name a file, or pipe lines in.")
    raw = getattr(sys.stdin, "buffer", sys.stdin) if str(path) == "-" else open_binary(path)
    with copy.open("wb") as out:
        shutil.copyfileobj(raw, out)
    if str(path) != "-":
        raw.close()
    return copy


def decompressed(raw: BinaryIO, name: str) -> BinaryIO:
    """Look at the first bytes and unwrap what they announce."""
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast("BinaryIO", io.BufferedReader(cast("Any", gzip.GzipFile(fileobj=raw))))
    if magic.startswith(b"\xfd7zXZ\0"):
        return cast("BinaryIO", io.BufferedReader(cast("Any", lzma.LZMAFile(raw))))
    if magic.startswith(b"BZh"):
        return cast("BinaryIO", io.BufferedReader(cast("Any", bz2.BZ2File(raw))))
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        # Arrow closes what it has read, and the file may be read again.
        own = pa.PythonFile(Blocks(iter(lambda: raw.read(1 << 20), b"")), mode="r")
        return cast("BinaryIO", io.BufferedReader(cast("Any", pa.CompressedInputStream(own, "zstd"))))
    if magic.startswith(b"PK\x03\x04"):
        return _only_member(raw, name)
    return raw


def _only_member(raw: BinaryIO, name: str) -> BinaryIO:
    """Open the file in an archive that holds one."""
    try:
        archive = zipfile.ZipFile(raw)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) == 1:
            return cast("BinaryIO", archive.open(members[0]))
    except _ARCHIVE as error:
        raise DataError(
            f"{name} cannot be decompressed: {error}. Unpack it with another program, and give the file that was in it."
        ) from None
    shown = ", ".join(repr(member.filename) for member in members[:5]) + (", ..." if len(members) > 5 else "")
    raise DataError(f"{name} must hold exactly one file, it holds {len(members)}{': ' + shown if members else ''}.")


def members(raw: BinaryIO) -> list[str]:
    """Return the names of the files in an archive; none where it is damaged."""
    try:
        return zipfile.ZipFile(raw).namelist()
    except _ARCHIVE:
        return []


def guessed_encoding(start: bytes, *, whole: bool = True) -> str:
    """Return the encoding of a text by its first bytes, or all of them; UTF-8 where nothing speaks for another.

    Examples
    --------
    >>> [guessed_encoding("Zoë".encode(encoding)) for encoding in ("utf-8", "latin-1", "utf-16", "utf-8-sig")]
    ['utf-8', 'cp1252', 'utf-16', 'utf-8-sig']
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if start.startswith(codecs.BOM_UTF8):
        # The mark says so; a byte that is none is an error then.
        return "utf-8-sig"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, whole)
    except UnicodeDecodeError:
        return "cp1252" if _is_western(start) else "utf-8"
    return "utf-8"


def _is_western(text: bytes) -> bool:
    """Tell whether bytes beyond ASCII are accents and signs: at most three in a row, and nearly all usual ones."""
    if re.search(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f]", text):
        return False
    runs = re.findall(rb"[\x80-\xff]+", text)
    high = b"".join(runs)
    return max(map(len, runs)) <= 3 and 100 * (len(high) - len(high.translate(None, _USUAL))) >= 95 * len(high)


class Blocks(io.RawIOBase):
    """Blocks of bytes as a file that Arrow reads."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, b""

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end."""
        parts, missing = [], size if size >= 0 else sys.maxsize
        while missing:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    break
                self._rest = block
            parts.append(self._rest[:missing])
            self._rest = self._rest[missing:]
            missing -= len(parts[-1])
        return b"".join(parts)
