"""Tables of any make as Arrow batches: text files, Parquet, IPC, sheets, and whatever speaks Arrow."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
from pyarrow import compute, ipc, parquet
from pyarrow import csv as arrow_csv

from kolmogorov.data.opening import DAMAGE, Blocks, copied, decompressed, guessed_encoding, members, open_binary
from kolmogorov.data.values import text_of
from kolmogorov.errors import DataError, EmptyDataError

WHITESPACE = "whitespace"
_SEPARATORS = ("::", "\t", ",", ";", "|")
#: One sign stands for "::" in front of Arrow, which splits at single characters: the separator of units of ASCII.
_UNIT = "\x1f"
_TEXT = pa.dictionary(pa.int32(), pa.string())
#: Bytes that are parsed together; a line may not be longer. Bytes that tell the encoding.
_BLOCK, _LOOKED_AT = 1 << 22, 1 << 22
_BLANK_LINES = 10_000
_EXCEL = re.compile(r"\"?sep=(.|\\t)\"?", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n|\n|\r")
#: What tells files of programs by their first bytes, and the lines of pandas that read them.
_FOREIGN = {
    b"SQLite format 3\0": "a SQLite database. Read it with pandas:\n  import pandas as pd, sqlite3\n"
    "  km.read_ratings(pd.read_sql('select * from ratings', sqlite3.connect({path!r})))",
    b"\x89HDF": "an HDF5 file. Read it with pandas:\n  import pandas as pd\n  km.read_ratings(pd.read_hdf({path!r}))",
    b"\xd0\xcf\x11\xe0": "an old Excel sheet. Save it as .csv, or read it with pandas:\n  import pandas as pd\n"
    "  km.read_ratings(pd.read_excel({path!r}))",
}
_JSON = "JSON. Read it with pandas:\n  import pandas as pd\n  km.read_ratings(pd.read_json({path!r}, lines={lines}))"


class Source:
    """One table: the names of its columns, batches of some of them, and what its rows are called in errors.

    Attributes
    ----------
    name : str
        What errors call it.
    names : list of str
        Of all columns; positions where there is no header.
    named : bool
        Whether the columns have names.
    written : dict
        Separator, header and encoding of a text file.
    """

    def __init__(self, name: str, names: Sequence[Any], *, named: bool = True) -> None:
        self.name, self.names, self.named = name, list(names), named
        self.path: str | None = None
        self.written: dict[str, Any] = {}

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns, batch by batch."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Name the place of a row, counted from 0."""
        return f"row {row}" if self.path is None else f"{self.name}, row {row}"

    def places(self, first: int) -> Callable[[int], str]:
        """Return what names the places of rows that are counted from a row on."""
        return lambda row: self.place(first + row)

    def check(self, texts: Iterable[str]) -> None:
        """Look at the distinct texts that were read for what a parser may have got wrong."""


class ArrowSource(Source):
    """Batches that something hands over: a frame, a stream, a file of Parquet or IPC."""

    #: Rows of the file before the first that is read.
    before = 0

    def __init__(
        self, name: str, names: Sequence[str], batches: Callable[[list[str]], Iterator[Any]], path: Any = None
    ) -> None:
        super().__init__(name, names)
        self._batches = batches
        self.path = None if path is None else str(path)

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns."""
        names = [self.names[position] for position in positions]
        if len({*names}) < len({*positions}) or any(self.names.count(name) > 1 for name in names):
            raise DataError(f"{self.name}: two columns have the same name. Every column needs a name of its own.")
        try:
            for batch in self._batches(names):
                columns = [batch.column(batch.schema.get_field_index(name)) for name in names]
                for column in columns:
                    # Damage may point beyond the ends of buffers, and nothing that reads them later looks.
                    column.validate(full=True)
                if batch.num_rows:
                    yield [_usual_form(column) for column in columns]
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise DataError(f"{self.name} cannot be read: {_first_line(error)}.") from None

    def place(self, row: int) -> str:
        """Name the place of a row, counted from 0."""
        return super().place(self.before + row)


def _usual_form(column: pa.Array) -> pa.Array:
    """Return cells in the form that all of Arrow's functions take."""
    if pa.types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


class TextSource(Source):
    """Lines of a text file, below its header if there is one; "-" is standard input."""

    def __init__(self, path: Any, *, sep: str = "auto", encoding: str = "auto") -> None:
        self._path = path
        if str(path) == "-" or not os.path.isfile(path):
            # What can be read once only is copied; the copy goes with the source.
            folder = tempfile.mkdtemp()
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._path = copied(path, Path(folder, "input"))
        super().__init__("standard input" if str(path) == "-" else str(path), [])
        self.path = str(path)
        start, whole = self._start()
        if not start:
            raise EmptyDataError(f"{self.name} is empty.")
        self._refuse_foreign(start)
        self.encoding = guessed_encoding(start, whole=whole) if encoding == "auto" else encoding
        if self.encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            self.encoding = "utf-8-sig"
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            raise DataError(f"There is no encoding {self.encoding!r}.") from None
        if b"\0" in start[:4096] and not self.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
            raise DataError(
                f"{self.name} is not a text file in this encoding: it holds NUL bytes. Expected lines of user, item, "
                "value."
            )
        self._sniff(sep)

    def _start(self) -> tuple[bytes, bool]:
        """Return the first bytes, unpacked, and whether they are all; damage further on is found when it is read."""
        with self._opened() as plain:
            found = bytearray()
            try:
                while len(found) < _LOOKED_AT and (block := plain.read(1 << 16)):
                    found += block
            except DAMAGE as error:
                if not found:
                    raise DataError(f"{self.name} cannot be decompressed: {error}.") from None
                return bytes(found), False
        return bytes(found), len(found) < _LOOKED_AT

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open the file, unpacked, from its beginning."""
        with open_binary(self._path) as raw:
            yield decompressed(raw, self.name)

    def _refuse_foreign(self, start: bytes) -> None:
        """Refuse what other programs write, with the lines that read it."""
        for magic, told in _FOREIGN.items():
            if start.startswith(magic):
                raise DataError(f"{self.name} is {told.format(path=self.path)}")
        if start.lstrip()[:1] in (b"{", b"["):
            lines = start.lstrip()[:1] == b"{"
            raise DataError(f"{self.name} looks like {_JSON.format(path=self.path, lines=lines)}")

    def _sniff(self, sep: str) -> None:
        """Look at the first two lines that are not blank; find the separator and the width."""
        count, lines = 0, []
        with self.texts() as texts:
            for count, line in enumerate(texts, start=1):
                if line.strip():
                    lines.append((count, line))
                    if len(lines) == 1 and (found := _EXCEL.fullmatch(line.strip())):
                        # Excel writes the separator into a line of its own.
                        sep = found[1] if sep == "auto" else sep
                        lines.pop()
                if len(lines) == 2:
                    break
                if not lines and count > _BLANK_LINES:
                    raise DataError(f"{self.name} begins with more than {_BLANK_LINES:,} blank lines.")
        if not lines:
            raise EmptyDataError(f"{self.name} is empty.")
        self.separator = separator_of(lines[0][1]) if sep == "auto" else sep.replace("\\t", "\t")
        self.first_line, self._above = lines[0][1], lines[0][0] - 1
        records = self._records(line for line in [self.first_line, *(line for _, line in lines[1:])])
        try:
            self.first = [field.strip() for field in next(records, [])]
            self.second = [field.strip() for field in next(records, [])]
        except csv.Error as error:
            # A header may go over two lines: the whole file tells.
            self.second = []
            with self.texts() as texts:
                self.first = next(([f.strip() for f in r] for _, r in self._lined(texts) if _filled(r)), [])
            if not self.first:
                raise DataError(f"{self.name}, line {lines[0][0]}: {error}.") from None
        self.names = [str(at) for at in range(len(self.first))]
        self.named = False

    def take_header(self) -> None:
        """Take the first line for the names of the columns."""
        self.names, self.named = self.first, True

    def batches(self, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Go through some columns, as dictionaries of texts."""
        self.written = {
            "separator": self.separator,
            "header": self.named,
            "encoding": self.encoding.removesuffix("-sig"),
        }
        wanted = [f"f{position}" for position in range(len(self.first))]
        used = [wanted[position] for position in dict.fromkeys(positions)]
        mark = {"::": _UNIT, WHITESPACE: "\t"}.get(self.separator, self.separator)
        quoted = self.separator in (",", ";", "\t", "|") or (len(self.separator) == 1 and self.separator != "'")
        if len(mark) != 1 or mark in '\n\r"':
            raise DataError(f"sep must be one character, '::' or 'whitespace', got {self.separator!r}.")
        above = self._above + (self._header_height() if self.named else 0)
        with self._opened() as plain:
            stream = Blocks(self._blocks(plain, above))
            try:
                reader = arrow_csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    arrow_csv.ReadOptions(column_names=wanted, block_size=_BLOCK),
                    arrow_csv.ParseOptions(
                        delimiter=mark,
                        quote_char='"' if quoted else False,
                        newlines_in_values=quoted,
                        invalid_row_handler=lambda row: (
                            "skip" if row.actual_columns == 1 and not row.text.strip() else "error"
                        ),
                    ),
                    arrow_csv.ConvertOptions(
                        include_columns=used, column_types=dict.fromkeys(used, _TEXT), strings_can_be_null=False
                    ),
                )
                found = 0
                for batch in reader:
                    found += batch.num_rows
                    if batch.num_rows:
                        yield [batch.column(used.index(wanted[position])) for position in positions]
            except (pa.ArrowException, UnicodeError) as error:
                if "Empty CSV file" not in str(error):
                    raise self._broken(error) from None
                found = 0
            except DAMAGE as error:
                raise DataError(f"{self.name} cannot be read to its end: {error}.") from None
        if not found:
            raise EmptyDataError(f"{self.name} holds no ratings{' below its header' if self.named else ''}.")

    def _blocks(self, plain: BinaryIO, skip: int) -> Iterator[bytes]:
        """Yield the bytes below the header as UTF-8, cut at ends of lines, with separators that Arrow knows."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        same, rest, first = self.encoding == "utf-8-sig", b"", True
        while True:
            block = plain.read(1 << 20)
            end = not block
            text = decoder.decode(block, end)
            block = block if same else text.encode("utf-8", "surrogatepass")
            if first:
                block = block.removeprefix(codecs.BOM_UTF8)
            first = first and not block
            rest += block
            while skip and (found := _LINE_END.search(rest)) and (found.end() < len(rest) or end):
                rest, skip = rest[found.end() :], skip - 1
            if skip and not end:
                continue
            cut = len(rest) if end else max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1
            if not cut and len(rest) > _BLOCK:
                raise DataError(f"{self.name}: a line has more than {_BLOCK:,} bytes. Is it another kind of file?")
            if cut:
                yield self._plain(rest[:cut]) if not skip else b""
                rest = rest[cut:]
            if end:
                return

    def _plain(self, block: bytes) -> bytes:
        if self.separator == "::":
            if _UNIT.encode() in block:
                raise DataError(f"{self.name} is not a text file: it holds the character {_UNIT!r}.")
            return block.replace(b"::", _UNIT.encode())
        if self.separator == WHITESPACE:
            return re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", re.sub(rb"[ \t]+", b"\t", block))
        # Arrow takes a quote behind blanks for a letter.
        mark = self.separator.encode()
        return re.sub(re.escape(mark) + rb' +"(?!")', mark + b'"', block) if mark + b' "' in block else block

    def _header_height(self) -> int:
        with self.texts() as texts:
            for line, record in self._lined(texts):
                if _filled(record) and line > self._above:
                    return line - self._above
        return 1

    # --- only for errors: the file is read again, slowly ---------------------------------------------------------

    @contextmanager
    def texts(self) -> Iterator[Iterator[str]]:
        """Open the lines as texts; slow, for errors and for what is not split like other files."""
        with self._opened() as plain:
            text = io.TextIOWrapper(cast("Any", plain), encoding=self.encoding, errors="replace", newline="")
            try:
                yield self._short(text)
            except DAMAGE as error:
                raise DataError(f"{self.name} cannot be read to its end: {error}.") from None
            except UnicodeError as error:
                raise self._broken(error) from None
            finally:
                text.detach()

    def _short(self, text: io.TextIOWrapper) -> Iterator[str]:
        number = 0
        while line := text.readline(_BLOCK):
            number += 1
            if len(line) == _BLOCK:
                raise DataError(
                    f"{self.name}, line {number}: a line has more than {_BLOCK:,} characters. Expected one line for "
                    "each rating; is it another kind of file, or is a quote never closed?"
                )
            # Lines may end as those of old computers do.
            yield from line.split("\r") if "\r" in line.rstrip("\r\n") else (line,)

    def _records(self, lines: Iterable[str], *, strict: bool = True) -> Iterator[list[str]]:
        if len(self.separator) == 1:
            return csv.reader(lines, delimiter=self.separator, skipinitialspace=True, strict=strict)
        split = re.compile("[ \t]+" if self.separator == WHITESPACE else re.escape(self.separator)).split
        ends = " \t\r\n" if self.separator == WHITESPACE else "\r\n"
        return (split(line.strip(ends)) if line.strip() else [] for line in lines)

    def _lined(self, texts: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield each record with the number of its last line; a quote out of place is an error with its line."""
        records = self._records(texts)
        number = 0
        while True:
            try:
                record = next(records, None)
            except csv.Error as error:
                line = getattr(records, "line_num", number + 1)
                raise DataError(
                    f"{self.name}, line {line}: {error}; a quote opens or closes where none should."
                ) from None
            number = getattr(records, "line_num", number + 1)
            if record is None:
                return
            yield number, record

    def place(self, row: int) -> str:
        """Name the file and the line of a record."""
        with self.texts() as texts:
            skipped, count = not self.named, -1
            for line, record in self._lined(texts):
                if line <= self._above or not _filled(record):
                    continue
                if not skipped:
                    skipped = True
                    continue
                count += 1
                if count == row:
                    return f"{self.name}, line {line}"
        return self.name

    def check(self, texts: Iterable[str]) -> None:
        """Read a file again in which a quote may not have been closed where it should have been."""
        if any("\n" in text or '"' in text for text in texts):
            with self.texts() as lines:
                for _ in self._lined(lines):
                    pass

    def _broken(self, error: Exception) -> DataError:
        """Say where a file is broken."""
        if isinstance(error, UnicodeError) or "UTF8" in str(error):
            return DataError(
                f"{self.name}{self._undecodable()} is not text in encoding {self.encoding.removesuffix('-sig')}. If it "
                "is text, name its encoding with encoding=."
            )
        with self.texts() as texts:
            for line, record in self._lined(texts):
                if line > self._above and _filled(record) and len(record) != len(self.first):
                    return DataError(
                        f"{self.name}, line {line}: expected {len(self.first)} fields as in the first line, got "
                        f"{len(record)}."
                    )
        return DataError(f"{self.name} cannot be read: {_first_line(error)}.")

    def _undecodable(self) -> str:
        decoder = codecs.getincrementaldecoder(self.encoding)()
        number = 1
        with self._opened() as plain:
            while block := plain.read(1 << 16):
                try:
                    number += decoder.decode(block).count("\n")
                except UnicodeDecodeError as error:
                    return f", line {number + bytes(error.object[: error.start]).count(10)},"
                except UnicodeError:
                    return ""
        return ""


def sources_of(given: Any, *, sep: str = "auto", encoding: str = "auto") -> list[Source]:
    """Return a source for each path, frame or stream; a folder stands for the Parquet files in it."""
    paths = isinstance(given, (str, bytes, os.PathLike))
    single = paths or is_table(given) or hasattr(given, "fetchmany") or not isinstance(given, Iterable)
    things = [given] if single or isinstance(given, Mapping) else list(given)
    if sum(isinstance(thing, str) and thing == "-" for thing in things) > 1:
        raise DataError("Standard input can be read once only.")
    found: list[Source] = []
    for thing in things:
        if isinstance(thing, (str, os.PathLike)):
            found += [_file(path, sep, encoding) for path in _files(thing)]
        elif (source := frame_source(thing)) is not None:
            found.append(source)
        else:
            raise DataError(_expected(thing))
    if not found:
        raise DataError("There are no files to read.")
    return found


def _expected(thing: Any) -> str:
    if hasattr(thing, "fetchmany"):
        return (
            "Expected paths or data frames, got a cursor of a database. Read it with pandas: "
            "pd.read_sql(query, connection)."
        )
    return (
        f"Expected paths, data frames or Arrow streams, got {type(thing).__name__}. For arrays use "
        "Observations.from_arrays, from_scipy or from_dense."
    )


def is_table(thing: Any) -> bool:
    """Tell a data frame, or anything that speaks Arrow."""
    return hasattr(thing, "__arrow_c_stream__") or (hasattr(thing, "collect_schema") and hasattr(thing, "collect"))


def frame_source(frame: Any, name: str = "The table") -> ArrowSource | None:
    """Return a frame of any library as a source, or None for everything else."""
    if not is_table(frame):
        return None
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        frame = frame.collect()
    if hasattr(frame, "reset_index"):
        # Of pandas' labels of rows, those with a name are a column.
        labels = {name for name in frame.index.names if name is not None}
        frame = frame.reset_index() if labels and not labels & set(frame.columns) else frame
    try:
        reader = _stream_of(frame)
        first = next(reader, None)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {_first_line(error)}.") from None

    def batches(names: list[str]) -> Iterator[Any]:
        return (batch.select(names) for batch in chain([] if first is None else [first], reader))

    return ArrowSource(name, reader.schema.names, batches)


def _stream_of(frame: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowException, TypeError):
        if not (hasattr(frame, "iloc") and hasattr(frame, "columns")):
            raise
    # Columns of pandas may hold cells of several types: they are texts then, as in a file.
    return pa.RecordBatchReader.from_stream(
        frame.apply(lambda cells: cells.map(text_of, na_action="ignore") if cells.dtype == object else cells)
    )


def columns_of(raw: Any) -> tuple[Source, list[list[Any]]]:
    """Return a small table, whose first line names its columns, and its cells by columns."""
    source = sources_of(raw)[0]
    if isinstance(source, TextSource):
        source.take_header()
    columns: list[list[Any]] = [[] for _ in source.names]
    for arrays in source.batches(range(len(source.names))):
        for column, array in zip(columns, arrays, strict=True):
            column += array.to_pylist()
    return source, columns


def _files(path: Any) -> list[Any]:
    if "\0" in str(path):
        raise DataError(f"{str(path)!r} cannot be opened: a path cannot hold a NUL character.")
    folder = Path(path)
    if not folder.is_dir():
        return [path]
    if (folder / "table.json").is_file():
        raise DataError(f"{path} is a packed table. Open it with kolmogorov.Observations.open.")
    inside = [*sorted(file for file in folder.iterdir() if file.suffix in (".parquet", ".pq"))]
    if not inside:
        raise DataError(
            f"{path} is a directory, and there are no parquet files in it. Name the files to be read, or one of them."
        )
    return inside


def _file(path: Any, sep: str, encoding: str) -> Source:
    """Choose the reader for a file by its first bytes, and by its name where these are damaged."""
    if str(path) == "-" or not os.path.isfile(path):
        return TextSource(path, sep=sep, encoding=encoding)
    with open_binary(path) as raw:
        magic = raw.read(8)
        inside = zipfile.is_zipfile(raw) if magic.startswith(b"PK") else False
        sheet = inside and "xl/workbook.xml" in members(raw)
    ending = Path(path).suffix.lower()
    if magic.startswith(b"PAR1") or ending in (".parquet", ".pq"):
        return parquet_source(path)
    if magic.startswith(b"ARROW1") or ending in (".arrow", ".feather", ".ipc"):
        return _ipc_source(path)
    if sheet:
        return _sheet_source(path)
    return TextSource(path, sep=sep, encoding=encoding)


def parquet_source(path: Any, group: int | None = None) -> ArrowSource:
    """Return a Parquet file, or one row group of it, as a source."""
    try:
        schema = parquet.read_schema(path)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} is not a parquet file that can be read: {_first_line(error)}.") from None
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]

    def batches(names: list[str]) -> Iterator[Any]:
        with parquet.ParquetFile(path, read_dictionary=[name for name in names if name in texts]) as file:
            groups = None if group is None else [group]
            yield from file.iter_batches(batch_size=1 << 20, columns=names, row_groups=groups)

    source = ArrowSource(str(path), schema.names, batches, path)
    source.before = sum(row_groups(path)[:group]) if group else 0
    return source


def row_groups(path: Any) -> list[int]:
    """Return the number of rows of each row group of a Parquet file."""
    about = parquet.read_metadata(path)
    return [about.row_group(k).num_rows for k in range(about.num_row_groups)]


def _ipc_source(path: Any) -> ArrowSource:
    def opened() -> Any:
        source = pa.memory_map(str(path))
        return ipc.open_file(source) if source.read(6) == b"ARROW1" else ipc.open_stream(pa.memory_map(str(path)))

    def batches(names: list[str]) -> Iterator[Any]:
        reader = opened()
        found = (
            reader if hasattr(reader, "read_next_batch") else map(reader.get_batch, range(reader.num_record_batches))
        )
        return (batch.select(names) for batch in found)

    try:
        return ArrowSource(str(path), opened().schema.names, batches, path)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path} is not an Arrow file that can be read: {_first_line(error)}.") from None


def _sheet_source(path: Any) -> ArrowSource:
    """Return the only sheet of an Excel file that is filled as a source."""
    try:
        import python_calamine
    except ImportError:
        raise DataError(
            f"{path} is an Excel sheet. Save it as .csv, or install what reads it: pip install python-calamine."
        ) from None
    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except Exception as error:
        raise DataError(f"{path} cannot be read as an Excel sheet: {_first_line(error)}.") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if len(filled) != 1:
        raise DataError(f"{path} has {len(filled)} sheets with cells: {', '.join(filled)}. Save one of them as .csv.")
    rows = [row for row in next(iter(filled.values())) if any(str(cell).strip() for cell in row)]
    names = [_cell(cell).strip() for cell in rows[0]]
    columns = [pa.array([_cell(row[k]) for row in rows[1:]], pa.string()) for k in range(len(names))]
    table = pa.Table.from_arrays(columns, names=names)
    return ArrowSource(str(path), names, lambda wanted: iter(table.select(wanted).to_batches()), path)


def _cell(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def separator_of(line: str) -> str:
    """Tell what separates the fields of a line.

    Examples
    --------
    >>> separator_of("1::661::3"), separator_of("1,661,3"), separator_of("1;661;3,5"), separator_of("1 661 3")
    ('::', ',', ';', 'whitespace')
    """
    found = [separator for separator in _SEPARATORS if separator in line]
    if found and found[0] == ",":
        # A comma may stand before decimals.
        found = [s for s in found[1:] if line.count(s) >= max(2, line.count(","))] or found
    return found[0] if found else WHITESPACE


def first_separator(line: str) -> str:
    """Tell what separates the first field from the others, which may hold any other separator."""
    places = {separator: line.find(separator) for separator in _SEPARATORS if separator in line}
    return min(places, key=lambda separator: places[separator]) if places else WHITESPACE


def _filled(record: list[str]) -> bool:
    return len(record) > 1 or any(field.strip() for field in record)


def _first_line(error: BaseException) -> str:
    return next(chain(str(error).splitlines(), [type(error).__name__])).rstrip(".")
