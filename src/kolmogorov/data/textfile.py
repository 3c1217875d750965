"""A text file on disk or on standard input, plain or compressed, as records of fields with line numbers."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from types import TracebackType
from typing import IO, Any, BinaryIO, cast

from kolmogorov._support.wording import advice, option
from kolmogorov.errors import DataError

WHITESPACE = "whitespace"
_DAMAGE = (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError, OSError)


class TextFile:
    """Opens a file whatever its compression, which is told by its first bytes and not by its name."""

    def __init__(self, path: str | os.PathLike[str], encoding: str = "utf-8") -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self.encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
        self._line: Callable[[], int] = lambda: 0
        self._pending: list[str] = []
        self._path = path
        self._raw = self._open(path)
        try:
            self._text = self._decoded()
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> TextFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self.name != "standard input":
            self._raw.close()

    @property
    def line(self) -> int:
        """The number of the line read last."""
        return self._line()

    def first_line(self) -> str:
        """Return the first line that is not blank, without using it up."""
        while True:
            line = next(iter(self._taken(self._text, 1)), "")
            self._pending.append(line)
            if line.strip() or not line:
                return line

    def records(self, separator: str) -> Iterator[list[str]]:
        """Iterate over the lines' fields. A blank line is an empty record."""
        lines = chain(self._pending, self._text)
        if len(separator) == 1:
            reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
            self._line = lambda: reader.line_num
            return reader
        return self._split(lines, None if separator == WHITESPACE else separator)

    def fields(self, line: str, separator: str) -> list[str]:
        """Split one line as `records` would."""
        if len(separator) == 1:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        return line.rstrip("\r\n").split(None if separator == WHITESPACE else separator)

    def take(self, records: Iterable[list[str]], count: int) -> list[list[str]]:
        """Take up to `count` records; damage found on the way is an error with its line."""
        return self._taken(records, count)

    def _taken(self, source: Iterable[Any], count: int) -> list[Any]:
        try:
            return list(islice(source, count))
        except UnicodeError as error:
            reason = getattr(error, "reason", str(error))
            remedy = advice("If it is text, name its encoding, for example {}.", option("encoding", "latin-1"))
            raise DataError(
                f"{self.name}{self._undecodable_line()} is not text in encoding {self.encoding.removesuffix('-sig')} "
                f"({reason}).{remedy}"
            ) from None
        except csv.Error as error:
            raise DataError(
                f"{self.name}, line {self.line}: {error}; a quote opens or closes where none should."
            ) from None
        except _DAMAGE as error:
            raise DataError(f"{self.name} cannot be read to its end: {error}.") from None

    def _undecodable_line(self) -> str:
        """Look for the line that cannot be decoded; standard input cannot be read twice."""
        if self.name == "standard input":
            return ""
        with self._open(self._path) as raw:
            for number, line in enumerate(_decompressed(raw, self.name), start=1):
                try:
                    line.decode(self.encoding)
                except UnicodeError:
                    return f", line {number},"
        return ""

    def _split(self, lines: Iterable[str], separator: str | None) -> Iterator[list[str]]:
        count = 0

        def line() -> int:
            return count

        self._line = line
        for text in lines:
            count += 1
            stripped = text.rstrip("\r\n")
            yield stripped.split(separator) if stripped.strip() else []

    def _open(self, path: str | os.PathLike[str]) -> BinaryIO:
        if str(path) == "-":
            if sys.stdin is None or getattr(sys.stdin, "closed", False):
                raise DataError("Standard input is closed. Name a file, or pipe lines in.")
            stdin = sys.stdin.buffer
            return stdin if hasattr(stdin, "peek") else io.BufferedReader(cast("io.RawIOBase", stdin))
        try:
            return open(path, "rb")
        except FileNotFoundError:
            raise DataError(f"There is no file {path}.") from None
        except OSError as error:
            raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
        except ValueError:
            raise DataError(f"{os.fspath(path)!r} cannot be opened: a path cannot hold a NUL character.") from None

    def _decoded(self) -> io.TextIOWrapper:
        try:
            plain = _decompressed(self._raw, self.name)
            start = plain.peek(4096)[:4096]
        except _DAMAGE as error:
            raise DataError(f"{self.name} cannot be decompressed: {error}.") from None
        if not start:
            raise DataError(f"{self.name} is empty.")
        if b"\0" in start and not self.encoding.lower().startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
            utf_16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
            remedy = advice("It may be UTF-16: try {}.", option("encoding", "utf-16")) if utf_16 else ""
            remedy = remedy or " Expected lines of user, item, value."
            raise DataError(f"{self.name} is not a text file: it holds NUL bytes.{remedy}")
        try:
            return io.TextIOWrapper(cast("IO[bytes]", plain), encoding=self.encoding, newline="")
        except LookupError:
            raise DataError(f"There is no encoding {self.encoding!r}.") from None


def _decompressed(raw: BinaryIO, name: str) -> io.BufferedReader:
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
        try:
            archive = zipfile.ZipFile(source if source.seekable() else io.BytesIO(source.read()))
            members = [member for member in archive.namelist() if not member.endswith("/")]
            if len(members) == 1:
                return io.BufferedReader(cast("io.RawIOBase", archive.open(members[0])))
        except (RuntimeError, NotImplementedError) as error:
            raise DataError(f"{name} cannot be decompressed: {error}.") from None
        raise DataError(f"{name} must hold exactly one file, it holds {len(members)}: {', '.join(members[:5])}.")
    return source
