"""Tables of any make as Arrow batches: text files, Parquet, IPC, sheets, and whatever speaks Arrow.

A text file is parsed by Arrow. Its first two records, and what is wrong with it, are found by Python's `csv`.
"""

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
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from kolmogorov.data.values import text_of
from kolmogorov.errors import DataError, EmptyDataError

WHITESPACE = "whitespace"
_CALLED = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", WHITESPACE: "blanks"}
#: One sign stands for "::" in front of Arrow, which splits at single characters: the separator of units of ASCII.
_UNIT = b"\x1f"
_TEXT = pa.dictionary(pa.int32(), pa.string())
#: Bytes that are parsed together, and that tell the encoding (a line may not be longer); those for Python at a time.
_BLOCK, _STEP = 1 << 22, 1 << 16
#: What small files may grow to, by judgement: blank lines, columns, and bytes or the same in rows of Parquet, as a
#: multiple of the bytes that are packed and in any case.
_BLANK_LINES, _MOST_COLUMNS, _MOST_TIMES, _ALWAYS, _ROW = 100_000, 100_000, 200, 1 << 26, 12
#: What a compressed stream or an archive raises where it is broken, and what Arrow does.
_DAMAGE: tuple[Any, ...] = (lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
_DAMAGE += (IndexError, OverflowError)
_UNREADABLE = (pa.ArrowException, OSError, UnicodeError)
_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": lambda raw: pa.CompressedInputStream(raw, "zstd"),
    b"PK\x03\x04": lambda raw: _only_member(raw),
}
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýŒœŠšŽžŸ€…‘’“”–—\xa0©®°®´·«»§²³½¼¿¡ªº£™"
_USUAL = _LETTERS.encode("cp1252")
#: What tells files of programs by their first bytes, and the line of pandas that reads them.
_FOREIGN = {
    rb"SQLite format 3": ("is a SQLite database", "read_sql('select * from ratings', sqlite3.connect({path!r}))"),
    rb"\xd0\xcf\x11\xe0": ("is an old Excel sheet, which can be saved as .csv", "read_excel({path!r})"),
    rb"\s*\{": ("looks like JSON", "read_json({path!r}, lines=True)"),
    rb"\s*\[": ("looks like JSON", "read_json({path!r}, lines=False)"),
}


class Source:
    """One table: the names of its columns, batches of some of them, and what its rows are called in errors."""

    #: Whether the columns have names, else these are positions; the number of the first row.
    named, start = True, 0

    def __init__(self, name: str, names: Sequence[Any], batches: Callable[[list[str]], Any], path: Any = None) -> None:
        self.name, self.names, self._batches = name, list(names), batches
        self.path = None if path is None else str(path)

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns, batch by batch."""
        names = [self.names[position] for position in positions]
        if any(self.names.count(name) > 1 for name in names):
            raise DataError(f"{self.name}: two columns have the same name. Every column needs a name of its own.")
        try:
            for batch in self._batches(names):
                columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
                for column in columns:
                    # Damage may point beyond the ends of buffers, and nothing that reads them later looks.
                    column.validate(full=True)
                if batch.num_rows:
                    # Not all of Arrow's functions take views.
                    yield [c.cast(pa.string()) if pa.types.is_string_view(c.type) else c for c in columns]
        except _UNREADABLE as error:
            raise unreadable(self.name, error) from None

    def place(self, row: int) -> str:
        """Name the place of a row, counted from 0."""
        return f"row {row}" if self.path is None else f"{self.name}, row {self.start + row}"

    def written(self, decimal: str) -> list[str]:
        """Return a sentence that says how a text file is written; what stands before decimals is known by now."""
        return []

    def check(self, texts: Iterable[str]) -> None:
        """Look at the distinct texts that were read for what a parser may have got wrong."""


def unreadable(name: Any, error: BaseException) -> DataError:
    """Return an error that says in one line why something cannot be read."""
    return DataError(f"{name} cannot be read: {next(iter(str(error).splitlines()), type(error).__name__).rstrip('.')}.")


def _check_size(name: str, path: str | None, size: int) -> None:
    """Refuse what grows from a small file to so many bytes."""
    if size > _ALWAYS and path and os.path.isfile(path) and size > _MOST_TIMES * os.path.getsize(path):
        raise DataError(
            f"{name} unpacks to more than {_MOST_TIMES} times its size, which is refused: such files are made to fill "
            "memory. If this one is meant, unpack it, or read it with pandas and give the frame."
        )


# --- text files -------------------------------------------------------------------------------------------------------


class TextSource(Source):
    """Lines of a text file, below its header if there is one; "-" is standard input."""

    def __init__(self, path: Any, *, sep: str = "auto", encoding: str = "auto") -> None:
        super().__init__("standard input" if str(path) == "-" else str(path), [], lambda names: (), path)
        self._copy: Any = None
        if str(path) == "-" or not os.path.isfile(path):
            # What can be read once only is copied.
            self._copy = tempfile.TemporaryFile()  # noqa: SIM115
            stdin = getattr(sys.stdin, "buffer", io.BytesIO())
            with open_binary(path) if str(path) != "-" else nullcontext(stdin) as raw:
                shutil.copyfileobj(raw, self._copy)
            self._copy.flush()
        with self._opened() as plain:
            start = plain.read(_BLOCK)
        for magic, (what, call) in _FOREIGN.items():
            if re.match(magic, start):
                call = call.format(path=self.path)
                raise DataError(f"{self.name} {what}. Read it with pandas: kolmogorov.read_ratings(pd.{call}).")
        self.encoding = guessed_encoding(start, whole=len(start) < _BLOCK) if encoding == "auto" else encoding
        try:
            "".encode(self.encoding)
            self._codec = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
            head = codecs.getincrementaldecoder(self._codec)("replace").decode(start)
        except (LookupError, ValueError):
            raise DataError(f"There is no encoding {encoding!r}.") from None
        if "\0" in head[:4096]:
            raise DataError(f"{self.name} is not a text file: it holds NUL bytes. Expected lines of user, item, value.")
        blank = re.match(r"(?:[ \t]*(?:\r\n?|\n))*", head)[0]  # type: ignore[index]
        self._above, self.first_line = len(re.findall(r"\r\n?|\n", blank)), re.split("[\r\n]", head[len(blank) :])[0]
        if not self.first_line.strip():
            what = "is empty" if len(start) < _BLOCK else "begins with megabytes of blank lines"
            raise EmptyDataError(f"{self.name} {what}.")
        self.separator = self._separator() if sep == "auto" else sep.replace("\\t", "\t")
        if self.separator not in ("::", WHITESPACE) and (len(self.separator) != 1 or self.separator in '\n\r"'):
            raise DataError(f"sep must be one character, '::' or 'whitespace', got {self.separator!r}.")
        self._mark = {"::": _UNIT.decode(), WHITESPACE: "\t"}.get(self.separator, self.separator)
        records = chain(self.records(), [(0, [])] * 2)
        (self._end, self.first), (_, self.second) = next(records), next(records)
        if len(self.first) > _MOST_COLUMNS:
            raise DataError(
                f"{self.name} has {len(self.first):,} columns; {_MOST_COLUMNS:,} are read. Write one line for each "
                "user, item and value, or read it with pandas and give the frame."
            )
        self.names, self.named = [str(at) for at in range(len(self.first))], False

    def _separator(self) -> str:
        """Take the most frequent of a comma, which also stands in names and decimals, and the first other sign."""
        line = self.first_line
        found = sorted((sign for sign in ("::", "\t", ";", "|") if sign in line), key=line.find)[:1]
        found += [","] if "," in line else []
        return max(found, key=lambda sign: (line.count(sign), -line.find(sign)), default=WHITESPACE)

    def take_header(self) -> None:
        """Take the first line for the names of the columns."""
        self.names, self.named = self.first, True

    def written(self, decimal: str) -> list[str]:
        """Return a sentence that says how the file is written."""
        separator, header = _CALLED.get(self.separator, self.separator), "with" if self.named else "no"
        said = {"": "", ",": ", decimal comma", ".": ", decimal point"}[decimal]
        return [f"File: separator {separator}, {header} header{said}, encoding {self.encoding}."]

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open the file, unpacked, from its beginning."""
        with open_binary(self.path) if self._copy is None else open(self._copy.fileno(), "rb", closefd=False) as raw:
            raw.seek(0)
            magic = raw.read(6)
            raw.seek(0)
            opener = next((opener for start, opener in _OPENERS.items() if magic.startswith(start)), None)
            try:
                yield raw if opener is None else io.BufferedReader(opener(raw))
            except (DataError, UnicodeError, pa.ArrowException):
                raise
            except _DAMAGE as error:
                raise DataError(f"{self.name} cannot be decompressed: {error}. It is damaged, or cut short.") from None

    def _converter(self, errors: str = "strict") -> Callable[[bytes], bytes]:
        """Return what makes whole lines of UTF-8 of blocks of bytes, with separators that Arrow knows."""
        decoder, rest, size, own = codecs.getincrementaldecoder(self._codec)(errors), b"", 0, self.separator.encode()

        def converted(block: bytes) -> bytes:
            nonlocal rest, size
            size += len(block)
            _check_size(self.name, self.path, size)
            if len(rest) > _BLOCK:
                raise pa.ArrowInvalid(f"a line has more than {_BLOCK:,} bytes")
            rest += decoder.decode(block, not block).encode("utf-8", "surrogatepass")
            cut = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1 if block else len(rest)
            done, rest = rest[:cut], rest[cut:]
            if self.separator == "::":
                if _UNIT in done:
                    raise DataError(f"{self.name} is not a text file: it holds the character {self._mark!r}.")
                return done.replace(own, _UNIT)
            if self.separator == WHITESPACE:
                return re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", re.sub(rb"[ \t]+", b"\t", done))
            # Arrow takes a quote behind blanks for a letter.
            return re.sub(re.escape(own) + rb' +"(?!")', own + b'"', done) if own + b' "' in done else done

        return converted

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns, as dictionaries of texts."""
        names, quoted, n_rows, n_blank = [f"f{k}" for k in range(len(self.first))], len(self.separator) == 1, 0, 0
        used = [names[position] for position in dict.fromkeys(positions)]

        def skipped(row: Any) -> str:
            nonlocal n_blank
            n_blank += 1
            return "error" if row.actual_columns > 1 or row.text.strip() or n_blank > _BLANK_LINES else "skip"

        above = self._end if self.named else self._above
        reading = arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK, skip_rows=above)
        parsing = arrow_csv.ParseOptions(delimiter=self._mark, quote_char='"' if quoted else False)
        parsing.newlines_in_values, parsing.invalid_row_handler = quoted, skipped
        converting = arrow_csv.ConvertOptions(include_columns=used, column_types=dict.fromkeys(used, _TEXT))
        convert = self._converter()
        with self._opened() as plain:
            file = pa.PythonFile(plain, mode="r")
            stream = pa.TransformInputStream(file, lambda block: convert(block.to_pybytes()))
            try:
                for batch in arrow_csv.open_csv(stream, reading, parsing, converting):
                    n_rows += batch.num_rows
                    if batch.num_rows:
                        yield [batch.column(used.index(names[position])) for position in positions]
            except (pa.ArrowException, UnicodeError) as error:
                if n_blank > _BLANK_LINES:
                    raise DataError(f"{self.name} has more than {_BLANK_LINES:,} blank lines. Delete them.") from None
                if not re.search("Empty CSV|Could not skip", str(error)):
                    raise self._broken(error) from None
        if not n_rows:
            raise EmptyDataError(f"{self.name} holds no ratings{' below its header' if self.named else ''}.")

    # --- slow: for the first lines, and for errors ---------------------------------------------------------------

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the last line and the fields of each record that is not blank; what is out of place is an error."""
        quoting: Any = csv.QUOTE_MINIMAL if len(self.separator) == 1 else csv.QUOTE_NONE
        convert = self._converter("replace")
        with self._opened() as plain:
            blocks = (
                convert(block).decode(errors="replace") for block in chain(iter(lambda: plain.read(_STEP), b""), [b""])
            )
            lines = (line for block in blocks for line in io.StringIO(block, newline=""))
            reader = csv.reader(lines, delimiter=self._mark, quoting=quoting, skipinitialspace=True, strict=True)
            try:
                for record in reader:
                    if reader.line_num > self._above and (len(record) > 1 or any(field.strip() for field in record)):
                        yield reader.line_num, [field.strip() for field in record]
            except UnicodeError:
                raise self._no_text() from None
            except (csv.Error, pa.ArrowInvalid) as error:
                number = reader.line_num + isinstance(error, pa.ArrowInvalid)
                said = "Is it another kind of file, or does a quote open or close where none should?"
                raise DataError(f"{self.name}, line {number}: {error}. {said}") from None

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
        said = f"is not text in encoding {self.encoding}. If it is text, name its encoding with encoding=."
        return DataError(f"{self.name}{where} {said}")


def _only_member(raw: BinaryIO) -> Any:
    """Open the file in an archive that holds one."""
    archive = zipfile.ZipFile(raw)
    names = [member.filename for member in archive.infolist() if not member.is_dir()]
    if len(names) == 1:
        return archive.open(names[0])
    raise DataError(f"{raw.name} must hold exactly one file, it holds {len(names)}.")


def guessed_encoding(start: bytes, *, whole: bool = True) -> str:
    """Return the encoding of a text by its first bytes, or all of them; UTF-8 where nothing speaks for another."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(start, whole)
        return "utf-8"
    # Accents and signs come at most three in a row, and nearly all are usual ones; a mark says that it is UTF-8.
    runs = re.findall(rb"[\x80-\xff]+", start)
    strange = b"".join(runs).translate(None, _USUAL)
    usual = max(map(len, runs)) <= 3 and 20 * len(strange) <= sum(map(len, runs))
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
    single = isinstance(given, (str, bytes, os.PathLike, Mapping)) or is_table(given)
    things = [given] if single or not isinstance(given, Iterable) else list(given)
    if sum(isinstance(thing, str) and thing == "-" for thing in things) > 1:
        raise DataError("Standard input can be read once only.")
    if not things:
        raise DataError("There are no files to read.")
    found: list[Source] = []
    for thing in things:
        if not isinstance(thing, (str, os.PathLike)) and not is_table(thing):
            raise DataError(
                f"Expected paths, data frames or Arrow streams, got {type(thing).__name__}. For arrays use "
                "Observations.from_arrays, from_scipy or from_dense; for a database pd.read_sql(query, connection)."
            )
        found += [frame_source(thing)] if is_table(thing) else _of_path(thing, sep, encoding)
    return found


def is_table(thing: Any) -> bool:
    """Tell a data frame, or anything that speaks Arrow."""
    return hasattr(thing, "__arrow_c_stream__") or (hasattr(thing, "collect_schema") and hasattr(thing, "collect"))


def frame_source(frame: Any) -> Source:
    """Return a frame of any library as a source."""
    if hasattr(frame, "collect"):
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
            return [file_source(file) for file in inside]
        raise DataError(f"{path} is a directory, and there are no parquet files in it. Name the files to be read.")
    if str(path) != "-" and os.path.isfile(path):
        members: list[str] = []
        # A damaged archive is opened again as one of texts, and refused there.
        with open_binary(path) as raw, suppress(*_DAMAGE):
            magic = raw.read(6)
            members = zipfile.ZipFile(raw).namelist() if magic.startswith(b"PK") else []
        if "xl/workbook.xml" in members:
            return [_sheet_source(path)]
        named = Path(path).suffix.lower() in (".parquet", ".pq", ".arrow", ".feather")
        if named or magic.startswith((b"PAR1", b"ARROW1")):
            return [file_source(path)]
    return [TextSource(path, sep=sep, encoding=encoding)]


def file_source(path: Any, group: int | None = None) -> Source:
    """Return a Parquet file, one of its row groups, or a file of Arrow's as a source."""
    from pyarrow import dataset

    with open_binary(path) as raw:
        form: Any = "ipc" if raw.read(6) == b"ARROW1" else "parquet"
    try:
        file = dataset.dataset(path, format=form)
        texts = [field.name for field in file.schema if field.type in (pa.string(), pa.large_string())]
        if form == "parquet":
            file = dataset.dataset(path, format=dataset.ParquetFileFormat(dictionary_columns=texts))
            _check_size(str(path), str(path), _ROW * file.count_rows())
        part = next(file.get_fragments())
        before = 0 if group is None else sum(row.num_rows for row in part.row_groups[:group])
        part = part if group is None else part.subset(row_group_ids=[group])
        schema, names = file.schema, file.schema.names
    except _UNREADABLE as error:
        raise unreadable(path, error) from None
    found = Source(str(path), names, lambda names: part.to_batches(schema, names, batch_readahead=2), path)
    found.start = before
    return found


def _sheet_source(path: Any) -> Source:
    """Return the first sheet of an Excel file as a source."""
    try:
        import python_calamine
    except ImportError:
        raise DataError(
            f"{path} is an Excel sheet. Save it as .csv, or install what reads it: pip install python-calamine."
        ) from None
    try:
        sheet = python_calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
        first, *rows = [[text_of(cell) for cell in row] for row in sheet if any(str(cell).strip() for cell in row)]
    except Exception as error:
        raise unreadable(path, error) from None
    table = pa.table([pa.array([row[k] for row in rows], pa.string()) for k in range(len(first))], first)
    return Source(str(path), first, lambda names: iter(table.select(names).to_batches()), path)
