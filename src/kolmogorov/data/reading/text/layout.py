"""How a text file of ratings is laid out: its separator, its header, and which column is what."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kolmogorov._support.wording import Option, advice, option
from kolmogorov.data.numbers.notation import PAIR_OF, Notation
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
from kolmogorov.data.reading.shape import ListShape, Shape
from kolmogorov.data.reading.text.file import WHITESPACE, TextFile
from kolmogorov.data.reading.wide import WideShape
from kolmogorov.errors import DataError, EmptyDataError, ParameterError

_EXCEL = re.compile(r"\"?sep=(.|\\t)\"?", re.IGNORECASE)
SEPARATORS = ("::", "\t", ",", ";", "|")


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
