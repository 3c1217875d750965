"""A text file on disk or on standard input, plain or compressed, as records of fields with line numbers.

Memory does not depend on what the file holds: it is read block by block, and a line, a record or a run of blank lines
at its top that goes on beyond all measure is an error. A compressed file of some kilobytes can hold one such line.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
import shutil
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import IO, Any, BinaryIO, cast

from kolmogorov._support.wording import advice, option
from kolmogorov.errors import DataError, EmptyDataError

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
AUTO = "auto"
WINDOWS = "cp1252"
#: Bytes that are looked at. By judgement: a fraction of a second, packed or not.
LOOKED_AT = 1 << 22
_HIGH = re.compile(rb"[\x80-\xff]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f]")
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýŒœŠšŽžŸ"
_USUAL = (_LETTERS + "€…‘’“”–—\xa0©®°´·«»§²³½¼¿¡ªº£™").encode(WINDOWS)
#: Letters with accents that follow each other, at most; words of Cyrillic or Greek have more. By judgement.
_LONGEST_RUN = 3
#: Of a hundred such bytes so many are letters or signs that people write. By judgement.
_MOSTLY = 95
WHITESPACE = "whitespace"
#: Characters of a line, and of a record that goes over several lines, at most. By judgement, as are the limits below.
LONGEST_LINE = 16_000_000
#: Blank lines above the first line that holds something, at most.
MOST_BLANK_LINES = 100_000
#: Characters, or bytes, that are read together.
_BLOCK = 1 << 16
#: Between two looks at how much was read for them lie so many records, or one for so many characters of the limit.
_MOST_RECORDS, _CHARACTERS = 64, 250_000


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


def guessed_encoding(start: bytes, *, whole: bool = True) -> str:
    """Return the encoding of a text by its first bytes, or all of them; UTF-8 where nothing speaks for another.

    Examples
    --------
    >>> [guessed_encoding("Zoë".encode(encoding)) for encoding in ("utf-8", "latin-1", "utf-16")]
    ['utf-8', 'cp1252', 'utf-16']
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        # The last character of a part may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(start, whole)
    except UnicodeDecodeError:
        return WINDOWS if _is_western(start) else "utf-8"
    return "utf-8"


def _is_western(text: bytes) -> bool:
    """Tell whether bytes beyond ASCII are those of accents and signs in a text of the West."""
    if _CONTROL.search(text):
        return False
    runs = _HIGH.findall(text)
    high = b"".join(runs)
    usual = len(high) - len(high.translate(None, _USUAL))
    return max(map(len, runs)) <= _LONGEST_RUN and 100 * usual >= _MOSTLY * len(high)


class TextFile:
    """Opens a file whatever its compression, which is told by its first bytes and not by its name.

    "-" is standard input; `longest_line` is how many characters a line or a record may have. With "auto" the encoding
    is told by what the file holds.
    """

    def __init__(self, path: str | os.PathLike[str], encoding: str = AUTO, *, longest_line: int = LONGEST_LINE) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self.encoding = encoding
        self._limit = longest_line
        self._few = max(1, min(_MOST_RECORDS, longest_line // _CHARACTERS))
        self._line: Callable[[], int] = lambda: 0
        self._pending: list[str] = []
        self._dropped = 0
        self._since = 0
        self._path = path
        self._raw = self._open(path)
        try:
            self._lines = chain.from_iterable(self._blocks(self._decoded()))
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.name != "standard input":
            self._raw.close()

    @property
    def line(self) -> int:
        """The number of the line read last."""
        return self._dropped + self._line()

    def first_line(self) -> str:
        """Return the first line that is not blank, without using it up."""
        while True:
            line = next(iter(self._taken(self._lines, 1)), "")
            self._pending.append(line)
            if line.strip() or not line:
                return line
            if len(self._pending) > MOST_BLANK_LINES:
                raise DataError(f"{self.name} begins with more than {MOST_BLANK_LINES:,} blank lines.")

    def drop_first_line(self) -> None:
        """Use up what `first_line` gave, and the blank lines above it."""
        self._dropped += len(self._pending)
        self._pending.clear()

    def second_line(self) -> str:
        """Return the line after the first that is not blank, without using it up."""
        line = next(iter(self._taken(self._lines, 1)), "")
        self._pending.append(line)
        return line

    def records(self, separator: str, *, quoted: bool = True, most: int = -1) -> Iterator[list[str]]:
        """Iterate over the lines' fields. A blank line is an empty record.

        Without `quoted` quotes are characters like others; a line is split at blanks `most` times.
        """
        lines = chain(self._pending, self._lines)
        if len(separator) == 1 and quoted:
            reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
            self._line = lambda: reader.line_num
            return reader
        return self._split(lines, None if separator == WHITESPACE else separator, most)

    def fields(self, line: str, separator: str, *, quoted: bool = True) -> list[str]:
        """Split one line as `records` would."""
        if len(separator) != 1 or not quoted:
            return line.rstrip("\r\n").split(None if separator == WHITESPACE else separator)
        try:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        except csv.Error as error:
            raise DataError(f"{self.name}, line {self._dropped + len(self._pending)}: {error}.") from None

    def take(self, records: Iterator[list[str]], count: int) -> list[list[str]]:
        """Take up to `count` records; damage found on the way is an error with its line."""
        taken: list[list[str]] = []
        while len(taken) < count:
            wanted = min(self._few, count - len(taken))
            self._since = 0
            few = self._taken(records, wanted)
            taken += few
            if len(few) < wanted:
                break
        return taken

    def _taken(self, source: Iterable[Any], count: int) -> list[Any]:
        try:
            return list(islice(source, count))
        except UnicodeError as error:
            reason = getattr(error, "reason", str(error))
            remedy = advice("If it is text, name its encoding with {}.", option("encoding"))
            raise DataError(
                f"{self.name}{self._undecodable_line()} is not text in encoding {self.encoding.removesuffix('-sig')} "
                f"({reason})." + remedy
            ) from None
        except csv.Error as error:
            raise DataError(
                f"{self.name}, line {self.line}: {error}; a quote opens or closes where none should."
            ) from None
        except DAMAGE as error:
            raise DataError(f"{self.name} cannot be read to its end: {error}.") from None

    def _blocks(self, text: io.TextIOWrapper, block_size: int = _BLOCK) -> Iterator[Iterable[str]]:
        """Cut the text into lines, block by block; inside a block lines are found by compiled code.

        Every request for a block is also the moment to look at how much went into the records asked for last.
        """
        # No line inside a block can be too long, so only the one that goes over its edge is measured.
        size = max(1, min(block_size, self._limit))
        rest: list[str] = []
        length = done = 0
        while block := text.read(size):
            self._since += len(block)
            # A carriage return at the edge may be half of a line's end.
            end = max(block.rfind("\n"), block.rfind("\r", 0, -1)) + 1
            first = _first_end(block) if end else len(block)
            if length + first > self._limit:
                raise self._endless(done + 1, "a line")
            if self._since > self._limit + 2 * size:
                raise self._endless(self.line, "a record, or some neighbouring ones together,")
            if not end:
                rest.append(block)
                length += len(block)
                continue
            whole = "".join([*rest, block[:end]])
            rest, length = [block[end:]], len(block) - end
            done += max(whole.count("\n"), whole.count("\r"))
            yield io.StringIO(whole, newline="")
        if length:
            yield io.StringIO("".join(rest), newline="")

    def _endless(self, line: int, what: str) -> DataError:
        return DataError(
            f"{self.name}, line {line}: {what} has more than {self._limit:,} characters. Expected one line for each "
            "rating; is it another kind of file, or is a quote never closed?"
        )

    def _undecodable_line(self) -> str:
        """Look for the line that cannot be decoded; standard input cannot be read twice."""
        if self.name == "standard input":
            return ""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        number = 1
        with self._open(self._path) as raw:
            plain = decompressed(raw, self.name)
            while block := plain.read(_BLOCK):
                try:
                    number += decoder.decode(block).count("\n")
                except UnicodeDecodeError as error:
                    return f", line {number + bytes(error.object[: error.start]).count(10)},"
                except UnicodeError:
                    return ""
        return ""

    def _guessed(self, start: bytes) -> str:
        """Tell the encoding; of standard input and pipes, which cannot be read twice, only the start is looked at."""
        if self.name == "standard input" or not os.path.isfile(self._path):
            return guessed_encoding(start, whole=False)
        with self._open(self._path) as raw:
            try:
                start = decompressed(raw, self.name).read(LOOKED_AT)
            except DAMAGE:
                return guessed_encoding(start, whole=False)
        return guessed_encoding(start, whole=len(start) < LOOKED_AT)

    def _split(self, lines: Iterable[str], separator: str | None, most: int) -> Iterator[list[str]]:
        count = 0

        def line() -> int:
            return count

        self._line = line
        for text in lines:
            count += 1
            stripped = text.rstrip("\r\n")
            yield stripped.split(separator, most) if stripped.strip() else []

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
            plain = decompressed(self._raw, self.name)
            start = plain.peek(4096)[:4096]
        except DAMAGE as error:
            raise DataError(f"{self.name} cannot be decompressed: {error}.") from None
        if not start:
            raise EmptyDataError(f"{self.name} is empty.")
        self.encoding = self._guessed(start) if self.encoding == AUTO else self.encoding
        if self.encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            self.encoding = "utf-8-sig"
        if b"\0" in start and not self.encoding.lower().startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
            raise DataError(
                f"{self.name} is not a text file in this encoding: it holds NUL bytes. Expected lines of user, item, "
                "value."
            )
        try:
            return io.TextIOWrapper(cast("IO[bytes]", plain), encoding=self.encoding, newline="")
        except (LookupError, ValueError):  # a NUL in the name
            raise DataError(f"There is no encoding {self.encoding!r}.") from None


def _first_end(block: str) -> int:
    """Return the length of the first line of a block that has a line's end."""
    return min(place for place in (block.find("\n"), block.find("\r")) if place >= 0)
