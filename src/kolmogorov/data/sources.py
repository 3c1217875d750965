"""Tables of any make as Arrow batches: text files, Parquet, IPC, sheets, and whatever speaks Arrow.

A text file is parsed by Arrow. Its first two records, and what is wrong with it, are found by Python's `csv`.
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
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import compute, ipc, parquet
from pyarrow import csv as arrow_csv

from kolmogorov.data.values import text_of
from kolmogorov.errors import DataError, EmptyDataError

WHITESPACE = "whitespace"
_SEPARATORS = ("::", "\t", ",", ";", "|")
#: One sign stands for "::" in front of Arrow, which splits at single characters: the separator of units of ASCII.
_UNIT = b"\x1f"
_TEXT = pa.dictionary(pa.int32(), pa.string())
#: Bytes that are parsed together, and that tell the encoding; a line may not be longer.
_BLOCK = 1 << 22
_BLANK_LINES = 10_000
_EXCEL = re.compile(r"\"?sep=(.|\\t)\"?", re.IGNORECASE)
#: What a compressed stream or an archive raises where it is broken, and what Arrow does.
_DAMAGE: tuple[Any, ...] = (lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
_DAMAGE += (IndexError, OverflowError)
_UNREADABLE = (pa.ArrowException, OSError, UnicodeError)
_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": lambda raw: pa.CompressedInputStream(raw, "zstd"),
}
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýŒœŠšŽžŸ€…‘’“”–—\xa0©®°®´·«»§²³½¼¿¡ªº£™"
_USUAL = _LETTERS.encode("cp1252")
#: What tells files of programs by their first bytes, and the line of pandas that reads them.
_FOREIGN = {
    rb"SQLite format 3\0": ("is a SQLite database", "pd.read_sql('select * from ratings', sqlite3.connect({path!r}))"),
    rb"\x89HDF": ("is an HDF5 file", "pd.read_hdf({path!r})"),
    rb"\xd0\xcf\x11\xe0": ("is an old Excel sheet, which can be saved as .csv", "pd.read_excel({path!r})"),
    rb"\s*\{": ("looks like JSON", "pd.read_json({path!r}, lines=True)"),
    rb"\s*\[": ("looks like JSON", "pd.read_json({path!r}, lines=False)"),
}


class Source:
    """One table: the names of its columns, batches of some of them, and what its rows are called in errors."""

    #: Whether the columns have names; else these are positions.
    named = True

    #: The number of the first row.
    start = 0

    def __init__(self, name: str, names: Sequence[Any], batches: Callable[[list[str]], Any], path: Any = None) -> None:
        self.name, self.names, self._batches = name, list(names), batches
        self.path = None if path is None else str(path)
        #: Separator, header and encoding of a text file.
        self.written: dict[str, Any] = {}

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns, batch by batch."""
        names = [self.names[position] for position in positions]
        if any(self.names.count(name) > 1 for name in names):
            raise DataError(f"{self.name}: two columns have the same name. Every column needs a name of its own.")
        try:
            for batch in self._batches(names):
                columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
                for at, column in enumerate(columns):
                    # Damage may point beyond the ends of buffers, and nothing that reads them later looks.
                    column.validate(full=True)
                    # Not all of Arrow's functions take these two.
                    if pa.types.is_run_end_encoded(column.type):
                        columns[at] = compute.run_end_decode(column)
                    elif pa.types.is_string_view(column.type):
                        columns[at] = column.cast(pa.string())
                if batch.num_rows:
                    yield columns
        except _UNREADABLE as error:
            raise unreadable(self.name, error) from None

    def place(self, row: int) -> str:
        """Name the place of a row, counted from 0."""
        return f"row {row}" if self.path is None else f"{self.name}, row {self.start + row}"

    def check(self, texts: Iterable[str]) -> None:
        """Look at the distinct texts that were read for what a parser may have got wrong."""


def unreadable(name: Any, error: BaseException) -> DataError:
    """Return an error that says in one line why something cannot be read."""
    return DataError(f"{name} cannot be read: {next(iter(str(error).splitlines()), type(error).__name__).rstrip('.')}.")


# --- text files -------------------------------------------------------------------------------------------------------


class TextSource(Source):
    """Lines of a text file, below its header if there is one; "-" is standard input."""

    def __init__(self, path: Any, *, sep: str = "auto", encoding: str = "auto") -> None:
        super().__init__("standard input" if str(path) == "-" else str(path), [], lambda names: (), path)
        # What can be read once only is copied.
        self._copy = None if str(path) != "-" and os.path.isfile(path) else self._copied()
        with self._opened() as plain:
            start = plain.read(_BLOCK)
        for magic, (what, call) in _FOREIGN.items():
            if re.match(magic, start):
                lines = f"import pandas as pd{', sqlite3' if 'sqlite3' in call else ''}\n  km.read_ratings({call})"
                raise DataError(f"{self.name} {what}. Read it with pandas:\n  {lines.format(path=self.path)}")
        guessed = guessed_encoding(start, whole=len(start) < _BLOCK) if encoding == "auto" else encoding
        try:
            "".encode(guessed)
        except (LookupError, ValueError):
            raise DataError(f"There is no encoding {encoding!r}.") from None
        self.encoding = "utf-8" if codecs.lookup(guessed).name == "utf-8" else guessed
        if b"\0" in start[:4096] and not re.match("utf.?(16|32)", self.encoding, re.IGNORECASE):
            raise DataError(f"{self.name} is not a text file: it holds NUL bytes. Expected lines of user, item, value.")
        self._find_separator(sep)
        records = self.records()
        none: tuple[int, list[str]] = (0, [])
        (self._end, self.first), (_, self.second) = next(records, none), next(records, none)
        self.names, self.named = [str(at) for at in range(len(self.first))], False
        self.written = {"separator": self.separator, "header": False, "encoding": self.encoding}

    def _copied(self) -> BinaryIO:
        copy: Any = tempfile.TemporaryFile()  # noqa: SIM115
        if self.path != "-":
            with open_binary(self.path) as raw:
                shutil.copyfileobj(raw, copy)
        elif sys.stdin is None or getattr(sys.stdin, "closed", False):
            raise DataError("Standard input is closed. Name a file, or pipe lines in.")
        else:
            shutil.copyfileobj(getattr(sys.stdin, "buffer", sys.stdin), copy)
        copy.flush()
        return copy  # type: ignore[no-any-return]

    def _find_separator(self, sep: str) -> None:
        """Look at the first line that is not blank; "first" takes what comes first in it."""
        for above, line in enumerate(self.lines()):
            if above > _BLANK_LINES:
                raise DataError(f"{self.name} begins with more than {_BLANK_LINES:,} blank lines.")
            if said := _EXCEL.fullmatch(line.strip()):
                # Excel writes the separator into a line of its own.
                sep = said[1] if sep == "auto" else sep
            elif line.strip():
                break
        else:
            raise EmptyDataError(f"{self.name} is empty.")
        self.first_line, self._above = line.strip(), above
        found = [separator for separator in _SEPARATORS if separator in line] or [WHITESPACE]
        if sep == "first":
            sep = min(found, key=line.find)
        elif sep == "auto":
            # A comma may stand before decimals.
            better = [s for s in found[1:] if line.count(s) >= max(2, line.count(","))] if found[0] == "," else []
            sep = (better or found)[0]
        self.separator = sep.replace("\\t", "\t")
        if self.separator not in ("::", WHITESPACE) and (len(self.separator) != 1 or self.separator in '\n\r"'):
            raise DataError(f"sep must be one character, '::' or 'whitespace', got {self.separator!r}.")

    def take_header(self) -> None:
        """Take the first line for the names of the columns."""
        self.names, self.named, self.written["header"] = self.first, True, True

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open the file, unpacked, from its beginning."""
        copy = self._copy
        with open_binary(self.path) if copy is None else open(copy.fileno(), "rb", closefd=False) as raw:
            raw.seek(0)
            try:
                magic = raw.read(6)
                raw.seek(0)
                opener = next((opener for start, opener in _OPENERS.items() if magic.startswith(start)), None)
                if magic.startswith(b"PK\x03\x04"):
                    opener = self._only_member
                yield raw if opener is None else io.BufferedReader(opener(raw))
            except (DataError, UnicodeError, pa.ArrowException):
                raise
            except _DAMAGE as error:
                raise DataError(f"{self.name} cannot be decompressed: {error}. It is damaged, or cut short.") from None

    def _only_member(self, raw: BinaryIO) -> Any:
        """Open the file in an archive that holds one."""
        archive = zipfile.ZipFile(raw)
        names = [member.filename for member in archive.infolist() if not member.is_dir()]
        if len(names) == 1:
            return archive.open(names[0])
        shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        raise DataError(f"{self.name} must hold exactly one file, it holds {len(names)}{': ' * bool(names)}{shown}.")

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns, as dictionaries of texts."""
        names = [f"f{position}" for position in range(len(self.first))]
        used = [names[position] for position in dict.fromkeys(positions)]
        mark = {"::": _UNIT.decode(), WHITESPACE: "\t"}.get(self.separator, self.separator)
        quoted, n_rows = len(self.separator) == 1, 0
        reading = arrow_csv.ReadOptions(
            column_names=names, block_size=_BLOCK, skip_rows=self._end if self.named else self._above
        )
        parsing = arrow_csv.ParseOptions(
            delimiter=mark,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            invalid_row_handler=lambda row: "error" if row.actual_columns > 1 or row.text.strip() else "skip",
        )
        converting = arrow_csv.ConvertOptions(
            include_columns=used, column_types=dict.fromkeys(used, _TEXT), strings_can_be_null=False
        )
        with self._opened() as plain:
            stream = pa.TransformInputStream(pa.PythonFile(plain, mode="r"), self._blocks())
            try:
                for batch in arrow_csv.open_csv(stream, reading, parsing, converting):
                    n_rows += batch.num_rows
                    if batch.num_rows:
                        yield [batch.column(used.index(names[position])) for position in positions]
            except (pa.ArrowException, UnicodeError) as error:
                if not re.search("Empty CSV|Could not skip", str(error)):
                    raise self._broken(error) from None
        if not n_rows:
            raise EmptyDataError(f"{self.name} holds no ratings{' below its header' if self.named else ''}.")

    def _blocks(self) -> Callable[[pa.Buffer], bytes]:
        """Return what makes UTF-8 of blocks of bytes, cut at ends of lines, with separators that Arrow knows."""
        decoder, rest = codecs.getincrementaldecoder(self.encoding)(), b""
        own = self.separator.encode()

        def transformed(block: pa.Buffer) -> bytes:
            nonlocal rest
            raw = block.to_pybytes()
            text = decoder.decode(raw, not raw)
            rest += raw if self.encoding == "utf-8" else text.encode("utf-8", "surrogatepass")
            cut = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1 if raw else len(rest)
            if not cut and len(rest) > _BLOCK:
                raise pa.ArrowInvalid(f"a line has more than {_BLOCK:,} bytes")
            done, rest = rest[:cut], rest[cut:]
            if self.separator == "::":
                if _UNIT in done:
                    raise DataError(f"{self.name} is not a text file: it holds the character {_UNIT.decode()!r}.")
                return done.replace(own, _UNIT)
            if self.separator == WHITESPACE:
                return re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", re.sub(rb"[ \t]+", b"\t", done))
            # Arrow takes a quote behind blanks for a letter.
            return re.sub(re.escape(own) + rb' +"(?!")', own + b'"', done) if own + b' "' in done else done

        return transformed

    # --- slow: for the first lines, and for errors ---------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """Yield the lines as texts."""
        with self._opened() as plain:
            decoder = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
            text = io.TextIOWrapper(plain, encoding=decoder, errors="replace", newline="")
            try:
                for number, line in enumerate(iter(lambda: text.readline(_BLOCK), ""), start=1):
                    if len(line) == _BLOCK:
                        raise DataError(
                            f"{self.name}, line {number}: a line has more than {_BLOCK:,} characters. Expected one "
                            "line for each rating; is it another kind of file, or is a quote never closed?"
                        )
                    # Lines may end as those of old computers do.
                    yield from line.split("\r") if "\r" in line.rstrip("\r\n") else (line,)
            except UnicodeError:
                raise self._no_text() from None
            finally:
                text.detach()

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the last line and the fields of each record that is not blank; a quote out of place is an error."""
        found: Iterator[tuple[int, list[str]]]
        if len(self.separator) == 1:
            reader = csv.reader(self.lines(), delimiter=self.separator, skipinitialspace=True, strict=True)
            found = ((reader.line_num, record) for record in reader)
        else:
            blanks = self.separator == WHITESPACE
            split = re.compile("[ \t]+" if blanks else re.escape(self.separator)).split
            found = enumerate((split(line.strip(" \t\r\n" if blanks else "\r\n")) for line in self.lines()), start=1)
        try:
            for number, record in found:
                if number > self._above and (len(record) > 1 or any(field.strip() for field in record)):
                    yield number, [field.strip() for field in record]
        except csv.Error as error:
            raise DataError(
                f"{self.name}, line {reader.line_num}: {error}; a quote opens or closes where none should."
            ) from None

    def place(self, row: int) -> str:
        """Name the file and the line of a record."""
        found = next(islice(self.records(), row + self.named, None), None)
        return self.name if found is None else f"{self.name}, line {found[0]}"

    def check(self, texts: Iterable[str]) -> None:
        """Read a file again in which a quote may not have been closed where it should have been."""
        if any("\n" in text or '"' in text for text in texts):
            for _ in self.records():
                pass

    def _broken(self, error: Exception) -> DataError:
        """Say where a file is broken."""
        no_text = isinstance(error, UnicodeError) or "UTF8" in str(error)
        for number, record in self.records():
            if no_text and any("\ufffd" in field for field in record):
                return self._no_text(f", line {number},")
            if not no_text and len(record) != len(self.first):
                said = f"expected {len(self.first)} fields as in the first line, got {len(record)}."
                return DataError(f"{self.name}, line {number}: {said}")
        return self._no_text() if no_text else unreadable(self.name, error)

    def _no_text(self, where: str = "") -> DataError:
        return DataError(
            f"{self.name}{where} is not text in encoding {self.encoding}. If it is text, name its encoding with "
            "encoding=."
        )


def guessed_encoding(start: bytes, *, whole: bool = True) -> str:
    """Return the encoding of a text by its first bytes, or all of them; UTF-8 where nothing speaks for another."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(start, whole)
        return "utf-8"
    # Accents and signs come at most three in a row, and nearly all are usual ones; a mark says that it is UTF-8.
    runs = re.findall(rb"[\x80-\xff]+", start)
    high = b"".join(runs)
    usual = max(map(len, runs)) <= 3 and 100 * (len(high) - len(high.translate(None, _USUAL))) >= 95 * len(high)
    control = start.startswith(codecs.BOM_UTF8) or re.search(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f]", start)
    return "cp1252" if usual and not control else "utf-8"


def open_binary(path: Any) -> BinaryIO:
    """Open a file; what is wrong with it is a sentence."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be opened: {getattr(error, 'strerror', error)}.") from None


# --- tables of every make ---------------------------------------------------------------------------------------------


def sources_of(given: Any, *, sep: str = "auto", encoding: str = "auto") -> list[Source]:
    """Return a source for each path, frame or stream; a folder stands for the Parquet files in it."""
    single = isinstance(given, (str, bytes, os.PathLike, Mapping)) or is_table(given) or hasattr(given, "fetchmany")
    things = [given] if single or not isinstance(given, Iterable) else list(given)
    if sum(isinstance(thing, str) and thing == "-" for thing in things) > 1:
        raise DataError("Standard input can be read once only.")
    found: list[Source] = []
    for thing in things:
        if isinstance(thing, (str, os.PathLike)):
            found += _of_path(thing, sep, encoding)
        elif (source := frame_source(thing)) is not None:
            found.append(source)
        else:
            advice = "For arrays use Observations.from_arrays, from_scipy or from_dense."
            if hasattr(thing, "fetchmany"):
                advice = "Read a cursor of a database with pandas: pd.read_sql(query, connection)."
            raise DataError(f"Expected paths, data frames or Arrow streams, got {type(thing).__name__}. {advice}")
    if not found:
        raise DataError("There are no files to read.")
    return found


def is_table(thing: Any) -> bool:
    """Tell a data frame, or anything that speaks Arrow."""
    return hasattr(thing, "__arrow_c_stream__") or (hasattr(thing, "collect_schema") and hasattr(thing, "collect"))


def frame_source(frame: Any) -> Source | None:
    """Return a frame of any library as a source, or None for everything else."""
    if not is_table(frame):
        return None
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        frame = frame.collect()
    if hasattr(frame, "reset_index"):
        # Of labels of rows those with a name are a column.
        labels = {name for name in frame.index.names if name is not None}
        frame = frame.reset_index() if labels and not labels & set(frame.columns) else frame
    try:
        try:
            reader = pa.RecordBatchReader.from_stream(frame)
        except (pa.ArrowException, TypeError):
            if not hasattr(frame, "reset_index"):
                raise
            # Columns of pandas may hold cells of several types: they are texts then, as in a file.
            reader = pa.RecordBatchReader.from_stream(
                frame.apply(lambda cells: cells.map(text_of, na_action="ignore") if cells.dtype == object else cells)
            )
        # A stream can be read once only, and its first rows may be looked at before.
        start = list(islice(reader, 1))
    except (*_UNREADABLE, TypeError, ValueError) as error:
        raise unreadable("The table", error) from None
    return Source(
        "The table", reader.schema.names, lambda names: (batch.select(names) for batch in chain(start, reader))
    )


def columns_of(raw: Any) -> tuple[Source, list[list[Any]]]:
    """Return a small table, whose first line names its columns, and its cells by columns."""
    source = sources_of(raw)[0]
    if isinstance(source, TextSource):
        source.take_header()
    batches = list(source.batches(range(len(source.names))))
    columns = [[cell for part in parts for cell in part.to_pylist()] for parts in zip(*batches, strict=True)]
    return source, columns or [[] for _ in source.names]


def _of_path(path: Any, sep: str, encoding: str) -> list[Source]:
    """Choose the reader for a file by its first bytes, and by its name where these are damaged."""
    if os.path.isdir(path):
        if Path(path, "table.json").is_file():
            raise DataError(f"{path} is a packed table. Open it with kolmogorov.Observations.open.")
        if inside := sorted(file for file in Path(path).iterdir() if file.suffix in (".parquet", ".pq")):
            return [parquet_source(file) for file in inside]
        raise DataError(f"{path} is a directory, and there are no parquet files in it. Name the files to be read.")
    if str(path) != "-" and os.path.isfile(path):
        ending, members = Path(path).suffix.lower(), list[str]()
        with open_binary(path) as raw:
            magic = raw.read(8)
            # A damaged archive is opened again as one of texts, and refused there.
            with suppress(*_DAMAGE):
                members = zipfile.ZipFile(raw).namelist() if magic.startswith(b"PK") else []
        if magic.startswith(b"PAR1") or ending in (".parquet", ".pq"):
            return [parquet_source(path)]
        if magic.startswith(b"ARROW1") or ending in (".arrow", ".feather", ".ipc"):
            return [_ipc_source(path, ipc.open_file if magic.startswith(b"ARROW1") else ipc.open_stream)]
        if "xl/workbook.xml" in members:
            return [_sheet_source(path)]
    return [TextSource(path, sep=sep, encoding=encoding)]


def parquet_source(path: Any, group: int | None = None) -> Source:
    """Return a Parquet file, or one of its row groups, as a source."""
    try:
        about = parquet.read_metadata(path)
        schema = about.schema.to_arrow_schema()
    except _UNREADABLE as error:
        raise unreadable(path, error) from None
    texts = {field.name for field in schema if field.type in (pa.string(), pa.large_string())}

    def batches(names: list[str]) -> Iterator[Any]:
        with parquet.ParquetFile(path, read_dictionary=[name for name in names if name in texts]) as file:
            groups = None if group is None else [group]
            yield from file.iter_batches(batch_size=1 << 20, columns=names, row_groups=groups)

    source = Source(str(path), schema.names, batches, path)
    source.start = sum(about.row_group(k).num_rows for k in range(group or 0))
    return source


def _ipc_source(path: Any, opened: Callable[[Any], Any]) -> Source:
    """Return a file or a stored stream of Arrow's as a source."""

    def batches(names: list[str]) -> Iterator[Any]:
        found = opened(pa.memory_map(str(path)))
        every = found if opened is ipc.open_stream else map(found.get_batch, range(found.num_record_batches))
        return (batch.select(names) for batch in every)

    try:
        return Source(str(path), opened(pa.memory_map(str(path))).schema.names, batches, path)
    except _UNREADABLE as error:
        raise unreadable(path, error) from None


def _sheet_source(path: Any) -> Source:
    """Return the only sheet of an Excel file that is filled as a source."""
    try:
        import python_calamine
    except ImportError:
        raise DataError(
            f"{path} is an Excel sheet. Save it as .csv, or install what reads it: pip install python-calamine."
        ) from None
    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        sheets: list[Any] = [rows for name in book.sheet_names if (rows := book.get_sheet_by_name(name).to_python())]
    except Exception as error:
        raise unreadable(path, error) from None
    if len(sheets) != 1:
        raise DataError(f"{path} has {len(sheets)} sheets with cells. Save one of them as .csv.")
    filled = [[text_of(cell) for cell in row] for row in sheets[0] if any(str(cell).strip() for cell in row)]
    first = filled[0]
    columns = [pa.array(cells, pa.string()) for cells in zip(*filled[1:], strict=True)]
    table = pa.table(columns or [[] for _ in first], first)
    return Source(str(path), first, lambda names: iter(table.select(names).to_batches()), path)
