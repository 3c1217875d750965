"""How a ratings file is laid out: its separator, its header, and which column is what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kolmogorov._support.validation import suggestion
from kolmogorov._support.wording import advice, named, option
from kolmogorov.data.reading.shape import ListShape, Shape, WideShape
from kolmogorov.data.reading.text.file import WHITESPACE, TextFile
from kolmogorov.data.values.notation import ValueFormat
from kolmogorov.errors import DataError, ParameterError

#: A column by its name or by its position from 0; None lets the reader choose, and means no weight.
Column = str | int | None
Header = bool | Literal["auto"]
Roles = tuple[str, ...]
_RATING: Roles = ("user", "item", "value")

_SEPARATORS = ("::", "\t", ",", ";", "|")
_THINGS = ["item", "movie", "film", "product", "book", "song", "track", "artist", "album", "game", "joke", "question"]
_THINGS += ["article", "business", "restaurant", "beer", "anime", "video", "show", "recipe", "hotel", "place"]
_PEOPLE = ["user", "reviewer", "customer", "client", "member", "person", "respondent", "participant", "voter"]
_USUAL_NAMES = {
    # An id is preferred to a name, where a table has both.
    "user": ["user", *(f"{name}id" for name in _PEOPLE), "uid", *_PEOPLE, "username"],
    "item": ["item", *(f"{name}id" for name in _THINGS), "iid", "asin", "isbn", "sku", *_THINGS, "title"],
    "value": ["value", "rating", "ratings", "score", "stars", "overall", "vote", "answer", "response", "label"],
}
_USUAL_POSITIONS = {"user": 0, "item": 1, "value": 2}


@dataclass(frozen=True)
class FileFormat:
    """What is said about a file before it is looked at.

    Attributes
    ----------
    columns : dict
        By role.
    sep, header, encoding
        As in `read_ratings`.
    values : ValueFormat
    wide : bool
        Whether there is one row for each user and one column for each item.
    """

    columns: dict[str, Column] = field(default_factory=dict)
    sep: str = "auto"
    header: Header = "auto"
    encoding: str = "utf-8"
    values: ValueFormat = field(default_factory=ValueFormat)
    wide: bool = False

    def __post_init__(self) -> None:
        others = [role for role, column in self.columns.items() if role != "user" and column is not None]
        if self.wide and others:
            raise ParameterError(
                f"In a wide table every column but the user's is an item; {named(others[0])} has no place."
            )

    def shape_of(self, layout: Layout, source: str) -> Shape:
        """Return how records are made of the lines of a text file."""
        if not self.wide:
            return ListShape(layout.positions, self.values)
        return WideShape(layout.names, layout.positions["user"], self.values, as_text=True, source=source)

    def of_table(self, source: str = "The table") -> TableForm:
        """Return the same for a table that knows the names of its columns."""
        return TableForm(self.columns, source, self.values, self.wide)


@dataclass(frozen=True)
class TableForm:
    """What is said about a table that knows the names of its columns.

    Attributes
    ----------
    columns : dict
        By role; those that are not named go by their usual names, or positions.
    source : str
        What errors call the table.
    values : ValueFormat
    wide : bool
    exact : bool
        Columns are names, of whatever type, and none goes by its position.
    """

    columns: Mapping[str, Any]
    source: str = "The table"
    values: ValueFormat = field(default_factory=ValueFormat)
    wide: bool = False
    exact: bool = False

    def shape(self, names: Sequence[Any]) -> Shape:
        """Return how records are made of its rows."""
        if not self.wide:
            return ListShape(self.positions(names, _RATING), self.values)
        user = self.positions(names, ("user",))["user"]
        return WideShape(list(names), user, self.values, as_text=False, source=self.source)

    def projected(self, names: Sequence[str]) -> tuple[list[str], Shape]:
        """Return the names of the columns that are needed, each once, and how records are made of these."""
        if self.wide:
            return list(names), self.shape(names)
        positions = self.positions(names, _RATING)
        wanted = list(dict.fromkeys(names[position] for position in positions.values()))
        return wanted, ListShape({role: wanted.index(names[at]) for role, at in positions.items()}, self.values)

    def positions(self, names: Sequence[Any], roles: Roles) -> dict[str, int]:
        """Return the column of each role."""
        return pick_columns(list(names), self.columns, self.source, roles, exact=self.exact)


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


def recognise(file: TextFile, form: FileFormat, roles: Roles | None = None) -> Layout:
    """Look at the first line that is not blank and decide."""
    roles = roles or (("user",) if form.wide else _RATING)
    line = file.first_line()
    if not line.strip():
        raise DataError(f"{file.name} is empty.")
    if not isinstance(form.sep, str) or not form.sep:
        raise ParameterError(f"{named('sep')} must be a separator, 'whitespace' or 'auto', got {form.sep!r}.")
    separator = separator_of(line) if form.sep == "auto" else form.sep.replace("\\t", "\t")
    first = [field.strip() for field in file.fields(line, separator)]
    by_name = any(isinstance(column, str) for column in form.columns.values())
    has_header = by_name or _has_header(file, first, separator, form, roles)
    if by_name and form.header is False:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    least = 2 if form.wide else len(roles)
    if len(first) < least:
        expected = "user, and one for each item" if form.wide else ", ".join(roles)
        more = advice("If another character separates them, name it with {}.", option("sep"))
        if len(first) == 2 and "value" in roles:
            more += " In a list of clicks or purchases, where every line is a yes, add a column of ones."
        raise DataError(
            f"{file.name}: expected at least {least} columns ({expected}), got {len(first)} in the line "
            f"{line.strip()[:60]!r}.{more}"
        )
    if has_header:
        return Layout(separator, True, first, pick_columns(first, form.columns, file.name, roles))
    positions = {role: _USUAL_POSITIONS[role] for role in roles}
    positions.update({role: column for role, column in form.columns.items() if isinstance(column, int)})
    for role, position in positions.items():
        _check_position(position, len(first), role, file.name)
    numbered = [str(position - (position > positions["user"])) for position in range(len(first))]
    return Layout(separator, False, numbered, positions)


def _has_header(file: TextFile, first: list[str], separator: str, form: FileFormat, roles: Roles) -> bool:
    """A header has usual names, or no number at all above a column of numbers, or no word above one of words."""
    if form.header != "auto":
        return form.header
    if form.wide or all(any(_plain(field) in _USUAL_NAMES[role] for field in first) for role in ("user", "item")):
        return True
    if "value" not in roles or any(_is_number(field) or not field for field in first):
        return False
    column = form.columns.get("value")
    at = column if isinstance(column, int) else _USUAL_POSITIONS["value"]
    second = file.fields(file.second_line(), separator)
    return at >= len(first) or not form.values.begins(first[at], second[at] if at < len(second) else "")


def pick_columns(
    names: Sequence[Any], wanted: Mapping[str, Any], source: str, roles: Roles = _RATING, *, exact: bool = False
) -> dict[str, int]:
    """Choose a column for each role: as asked for, else by its usual name, else by its usual position.

    With `exact` what is asked for is a name of whatever type, and positions are not looked at.
    """
    chosen: dict[str, int] = {}
    for role, column in wanted.items():
        if column is not None and (exact or isinstance(column, str)):
            chosen[role] = _named_column(names, column, role, source)
        elif column is not None:
            _check_position(column, len(names), role, source)
            chosen[role] = column
    usual = usual_columns(names)
    for role in roles:
        if role not in chosen and role in usual and usual[role] not in chosen.values():
            chosen[role] = usual[role]
    for role in roles:
        if role not in chosen:
            position = _USUAL_POSITIONS[role]
            if exact or position >= len(names) or position in chosen.values():
                raise DataError(
                    f"{source}: which column is the {role}? It has: {', '.join(map(repr, names))}."
                    f"{advice('Name it with {}.', option(role))}"
                )
            chosen[role] = position
    return chosen


def _named_column(names: Sequence[Any], column: Any, role: str, source: str) -> int:
    known = list(names)
    if column not in known:
        raise DataError(
            f"{source} has no column {column!r} for the {role}; it has: {', '.join(map(repr, known))}."
            f"{suggestion(str(column), map(str, known))}"
        )
    return known.index(column)


def usual_columns(names: Sequence[Any]) -> dict[str, int]:
    """Find user, item and value by their usual names; a role without one is left out.

    Examples
    --------
    >>> usual_columns(["when", "stars", "user_id", "Movie ID"])
    {'user': 2, 'item': 3, 'value': 1}
    """
    found: dict[str, int] = {}
    for role, usual_names in _USUAL_NAMES.items():
        positions = [k for usual in usual_names for k, name in enumerate(names) if _plain(name) == usual]
        if positions:
            found[role] = positions[0]
    return found


def _check_position(position: int, width: int, role: str, source: str) -> None:
    if not 0 <= position < width:
        raise DataError(f"{source} has columns 0 to {width - 1}, but the {role} was to be column {position}.")


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


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
        others = [separator for separator in found[1:] if line.count(separator) >= max(2, line.count(","))]
        found = others or found
    return found[0] if found else WHITESPACE


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
