"""Text files as sources: how they are laid out, and lines that become ids and numbers, a few thousand at a time."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import Option, advice, option
from kolmogorov.data.ids.columns import IdColumn
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.notation import PAIR_OF, Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.columns import (
    ONLY_YES,
    RATING,
    USUAL_POSITIONS,
    Roles,
    checked_position,
    guessed_roles,
    is_time,
    pick_columns,
    title_column,
    usual_columns,
)
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.provenance import TableLayout
from kolmogorov.data.reading.shape import Batch, ListShape, RowSource, Shape
from kolmogorov.data.reading.text.file import WHITESPACE, TextFile
from kolmogorov.data.reading.wide import WideShape
from kolmogorov.errors import DataError, EmptyDataError, ParameterError

_EXCEL = re.compile(r"\"?sep=(.|\\t)\"?", re.IGNORECASE)
SEPARATORS = ("::", "\t", ",", ";", "|")
#: Records that are read together: their texts stay in the processor's cache. By judgement.
_CHUNK = 4_096


@dataclass(frozen=True)
class Layout:
    """A recognised layout; `positions` maps user, item, value and maybe weight to column numbers."""

    separator: str
    has_header: bool
    names: list[str]
    positions: dict[str, int]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)

    def shape(self, options: ReadingOptions, source: str) -> Shape:
        """Return how records are made of the lines."""
        if options.wide:
            return WideShape(self.names, self.positions["user"], options, as_text=True, source=source)
        names = self.names if self.has_header else []
        title = title_column(names, self.positions)
        time = next((at for at, name in enumerate(names) if is_time(name)), None)
        guessed = guessed_roles(names, options, self.positions)
        return ListShape(self.positions, options, names, guessed, source=source, title=title, time=time)


def recognise(file: TextFile, options: ReadingOptions, roles: Roles | None = None) -> Layout:
    """Look at the first line that is not blank and decide."""
    roles = roles or (("user",) if options.wide else RATING)
    line = file.first_line()
    told = options.sep
    if found := _EXCEL.fullmatch(line.strip()):
        # Excel writes the separator into a line of its own.
        told = found[1] if told == "auto" else told
        file.drop_first_line()
        line = file.first_line()
    if not line.strip():
        raise EmptyDataError(f"{file.name} is empty.")
    separator = separator_of(line) if told == "auto" else told.replace("\\t", "\t")
    first = [field.strip() for field in file.fields(line, separator)]
    by_name = any(isinstance(column, str) for column in options.columns.values())
    has_header = by_name or _has_header(file, first, separator, options, roles)
    if by_name and options.header is False:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    least = 2 if options.wide or options.only_yes else len(roles)
    if len(first) < least:
        expected = "user, and one for each item" if options.wide else ", ".join(roles)
        more = advice("If another character separates them, name it with {}.", option("sep"))
        if len(first) == 2 and "value" in roles:
            more = advice("If every line is a yes, as in a list of clicks or purchases, say {}.", ONLY_YES)
        raise DataError(
            f"{file.name}: expected at least {least} columns ({expected}), got {len(first)} in the line "
            f"{line.strip()[:60]!r}." + more
        )
    if has_header:
        return Layout(separator, True, first, pick_columns(first, options, file.name, roles))
    positions = {role: USUAL_POSITIONS[role] for role in roles}
    if options.only_yes and len(first) == 2:
        positions.pop("value", None)
    positions.update({role: column for role, column in options.columns.items() if column is not None})
    positions = {role: checked_position(place, len(first), role, file.name) for role, place in positions.items()}
    numbered = [str(position - (position > positions["user"])) for position in range(len(first))]
    return Layout(separator, False, numbered, positions)


def _has_header(file: TextFile, first: list[str], separator: str, options: ReadingOptions, roles: Roles) -> bool:
    """A header has usual names, or no number at all above a column of numbers, or no word above one of words."""
    if options.header != "auto":
        return bool(options.header)
    usual = usual_columns(first, options.known_names)
    if options.wide or {"user", "item"} <= usual.keys():
        return True
    if "value" not in roles or any(is_number(field) or not field for field in first):
        return False
    if options.only_yes and len(first) == 2:
        # Two texts are a header where one of them has a usual name.
        return bool(usual)
    column = options.columns.get("value")
    at = column if isinstance(column, int) else USUAL_POSITIONS["value"]
    second = file.fields(file.second_line(), separator)
    if at < min(len(first), len(second)) and _could_be_either(first, second, at):
        raise DataError(
            f"{file.name}: is the first line, {separator.join(first)[:60]!r}, a header or a rating?"
            + advice("Say {} or {}.", Option("header", "header=True"), Option("no header", "header=False"))
        )
    return at >= len(first) or not options.notation.begins(first[at], second[at] if at < len(second) else "")


def _could_be_either(first: list[str], second: list[str], at: int) -> bool:
    """Tell a first line that ends as 'like' above a 0 or a 1, and has nothing that is surely a name or an id."""
    word = first[at].casefold()
    if word not in PAIR_OF or Notation().begins(word, second[at]) or second[at].strip() not in ("0", "1"):
        return False
    return not any(is_number(field) for field in second[:at])


def separator_of(line: str) -> str:
    """Tell what separates the fields of a line.

    Examples
    --------
    >>> separator_of("1::661::3"), separator_of("1,661,3"), separator_of("1;661;3,5"), separator_of("1 661 3")
    ('::', ',', ';', 'whitespace')
    """
    found = [separator for separator in SEPARATORS if separator in line]
    if found and found[0] == ",":
        # A comma may stand before decimals.
        others = [separator for separator in found[1:] if line.count(separator) >= max(2, line.count(","))]
        found = others or found
    return found[0] if found else WHITESPACE


def is_number(text: str) -> bool:
    """Tell whether a text is a number, with a point or a comma before decimals."""
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


class TextSource(RowSource):
    """Lines of a text file, as `read_ratings` describes them, `chunk` of them at a time; "-" is standard input."""

    def __init__(self, path: str | os.PathLike[str], options: ReadingOptions, chunk: int = _CHUNK) -> None:
        self.path = path
        self._options, self._chunk = options, chunk
        self._name = str(path)
        self._lines = Lines(1)
        self._layout: Layout | None = None
        self._encoding: str | None = None

    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Read the file once."""
        with TextFile(self.path, self._options.encoding) as file, collector_paused():
            self._name, self._encoding = file.name, file.encoding.removesuffix("-sig")
            self._layout = layout = recognise(file, self._options)
            shape = layout.shape(self._options, file.name)
            empty = True
            for columns, lines in text_columns(file, layout, min(self._chunk, shape.most_rows)):
                empty, self._lines = False, lines
                yield shape, _TextBatch(columns)
            if empty:
                raise EmptyDataError(
                    f"{self._name} holds no ratings{' below its header' if layout.has_header else ''}."
                )

    def layout(self) -> TableLayout | None:
        """Return how the file is laid out, once it was read."""
        found = super().layout()
        if found is None or self._layout is None:
            return found
        mark, header = self._layout.separator, self._layout.has_header
        return replace(found, separator=mark, header=header, encoding=self._encoding)

    def row_place(self, row: int) -> str:
        """Name the file and the line of a record."""
        return f"{self._name}, line {self._lines.of(row)}"


class _TextBatch:
    """Some lines of a text file, by columns."""

    def __init__(self, columns: list[tuple[str, ...]]) -> None:
        self._columns, self.n_rows = columns, len(columns[0])

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column of fields, of which ids are made when all are known."""
        return self._columns[column]

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers."""
        return reader.read(self._columns[column], place)

    def texts(self, column: int) -> tuple[str, ...]:
        """Return the cells of a column."""
        return self._columns[column]


def read_pairs(path: str | os.PathLike[str], options: ReadingOptions) -> tuple[list[str], list[str]]:
    """Read a file of (user, item) lines, as text; further columns are ignored."""
    with TextFile(path, options.encoding) as file:
        layout = recognise(file, options, roles=("user", "item"))
        pairs: dict[str, list[str]] = {"user": [], "item": []}
        for columns, _ in text_columns(file, layout):
            for role, texts in pairs.items():
                texts.extend(text.strip() for text in columns[layout.positions[role]])
    if not pairs["user"]:
        raise EmptyDataError(f"{file.name} holds no pairs.")
    return pairs["user"], pairs["item"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking over a million short-lived rows; a third of the time is its."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def text_columns(file: TextFile, layout: Layout, chunk: int = _CHUNK) -> Iterator[tuple[list[tuple[str, ...]], Lines]]:
    """Yield the file below its header, so many records at a time, as columns of text."""
    records = file.records(layout.separator)
    if layout.has_header:
        while (first := file.take(records, 1)) and _is_blank(first[0]):
            pass
    lines = Lines(file.line + 1)
    while taken := file.take(records, chunk):
        filled = lines.add(taken, file.line)
        _check_width(filled, layout, file, lines)
        if filled:
            yield list(zip(*filled, strict=True)), lines


class Lines:
    """From the number of a record to its line, without keeping a number per record.

    Most files have one record a line. Where blank lines or line breaks inside quotes disturb that, the
    chunk in which it happens keeps its own line numbers.
    """

    def __init__(self, first_line: int) -> None:
        self._next_line = first_line
        self._next_record = 0
        self._chunks: list[tuple[int, int, NDArray[np.int64] | None]] = []

    def add(self, chunk: list[list[str]], last_line: int) -> list[list[str]]:
        """Note the lines of the records of a chunk; return those that are not blank lines."""
        line, own, filled = self._next_line, None, chunk
        self._next_line = last_line + 1
        if last_line + 1 - line != len(chunk) or min(map(len, chunk)) < 2:
            heights = [1 + sum(field.count("\n") for field in record) for record in chunk]
            at = line + np.cumsum([0, *heights[:-1]])
            own = at[[not _is_blank(record) for record in chunk]]
            filled = [record for record in chunk if not _is_blank(record)]
        self._chunks.append((self._next_record, line, own))
        self._next_record += len(filled)
        return filled

    def within(self, offset: int) -> int:
        """Return the line of the offset-th record of the latest chunk."""
        return self.of(self._chunks[-1][0] + offset)

    def of(self, record: int) -> int:
        """Return the line of a record."""
        first, line, own = next(chunk for chunk in reversed(self._chunks) if chunk[0] <= record)
        return line + record - first if own is None else int(own[record - first])


def _is_blank(record: list[str]) -> bool:
    return not record or (len(record) == 1 and not record[0].strip())


def _check_width(records: list[list[str]], layout: Layout, file: TextFile, lines: Lines) -> None:
    if set(map(len, records)) - {layout.width}:
        offset = next(k for k, record in enumerate(records) if len(record) != layout.width)
        raise DataError(
            f"{file.name}, line {lines.within(offset)}: expected {layout.width} fields as in the first line, "
            f"got {len(records[offset])}."
        )
