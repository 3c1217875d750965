"""How a ratings file is laid out: its separator, its header, and which column is what."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kolmogorov._support.validation import nearest
from kolmogorov._support.wording import advice, named, option
from kolmogorov.data.reading.textfile import WHITESPACE, TextFile
from kolmogorov.errors import DataError, ParameterError

#: A column by its name or by its position from 0; None lets the reader choose, and means no weight.
Column = str | int | None
Header = bool | Literal["auto"]
#: Chooses a position for each of user, item, value and maybe weight among the names of the columns.
Pick = Callable[[Sequence[Any]], dict[str, int]]

_SEPARATORS = ("::", "\t", ",", ";", "|")
_USUAL_NAMES = {
    "user": ["user", "userid", "uid", "username", "reviewerid", "customer", "customerid"],
    "item": [
        "item",
        "itemid",
        "iid",
        "movie",
        "movieid",
        "film",
        "filmid",
        "product",
        "productid",
        "book",
        "bookid",
        "asin",
        "isbn",
        "title",
    ],
    "value": ["value", "rating", "ratings", "score", "stars", "overall", "label"],
}
_USUAL_POSITIONS = {"user": 0, "item": 1, "value": 2}


@dataclass(frozen=True)
class FileFormat:
    """What is said about a file before it is looked at: columns by role, separator, header, encoding."""

    columns: dict[str, Column] = field(default_factory=dict)
    sep: str = "auto"
    header: Header = "auto"
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Layout:
    """A recognised layout; `positions` maps user, item, value and maybe weight to column numbers."""

    separator: str
    has_header: bool
    width: int
    positions: dict[str, int]


def recognise(
    file: TextFile,
    wanted: dict[str, Column],
    sep: str,
    header: Header,
    roles: tuple[str, ...] = ("user", "item", "value"),
) -> Layout:
    """Look at the first line that is not blank and decide."""
    line = file.first_line()
    if not line.strip():
        raise DataError(f"{file.name} is empty.")
    if not isinstance(sep, str) or not sep:
        raise ParameterError(f"{named('sep')} must be a separator, 'whitespace' or 'auto', got {sep!r}.")
    separator = _separator(line) if sep == "auto" else sep.replace("\\t", "\t")
    first = [field.strip() for field in file.fields(line, separator)]
    by_name = any(isinstance(column, str) for column in wanted.values())
    has_header = by_name or _looks_like_header(first, roles) if header == "auto" else header
    if by_name and not has_header:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    if len(first) < len(roles):
        raise DataError(
            f"{file.name}: expected at least {len(roles)} columns ({', '.join(roles)}), got {len(first)} in the line "
            f"{line.strip()[:60]!r}.{advice('If another character separates them, name it with {}.', option('sep'))}"
        )
    if has_header:
        positions = pick_columns(first, wanted, file.name, roles)
    else:
        positions = {role: _USUAL_POSITIONS[role] for role in roles}
        positions.update({role: column for role, column in wanted.items() if isinstance(column, int)})
        for role, position in positions.items():
            _check_position(position, len(first), role, file.name)
    return Layout(separator, has_header, len(first), positions)


def pick_columns(
    names: list[str],
    wanted: dict[str, Column],
    source: str,
    roles: tuple[str, ...] = ("user", "item", "value"),
) -> dict[str, int]:
    """Choose a column for each role: as asked for, else by its usual name, else by its usual position."""
    chosen: dict[str, int] = {}
    for role, column in wanted.items():
        if isinstance(column, str):
            if column not in names:
                raise DataError(
                    f"{source} has no column {column!r} for the {role}; it has: {', '.join(map(repr, names))}."
                    f"{nearest(column, names)}"
                )
            chosen[role] = names.index(column)
        elif isinstance(column, int):
            _check_position(column, len(names), role, source)
            chosen[role] = column
    usual = usual_columns(names)
    for role in roles:
        if role not in chosen and role in usual and usual[role] not in chosen.values():
            chosen[role] = usual[role]
    for role in roles:
        if role not in chosen:
            position = _USUAL_POSITIONS[role]
            if position >= len(names) or position in chosen.values():
                raise DataError(
                    f"{source}: which column is the {role}? It has: {', '.join(map(repr, names))}."
                    f"{advice('Name it with {}.', option(role))}"
                )
            chosen[role] = position
    return chosen


def named_columns(names: Sequence[Any], wanted: dict[str, Any]) -> dict[str, int]:
    """Find the columns of a frame that go by exactly these names, which need not be texts."""
    known = list(names)
    for name in wanted.values():
        if name not in known:
            raise DataError(
                f"The frame has no column {name!r}; it has: {', '.join(map(repr, known))}."
                f"{nearest(str(name), map(str, known))}"
            )
    return {role: known.index(name) for role, name in wanted.items()}


def usual_columns(names: list[str]) -> dict[str, int]:
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


def _looks_like_header(fields: list[str], roles: tuple[str, ...]) -> bool:
    """A header has usual names, or, above a column of numbers, no number at all."""
    if all(any(_plain(field) in _USUAL_NAMES[role] for field in fields) for role in ("user", "item")):
        return True
    return "value" in roles and not any(_is_number(field) or not field for field in fields)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _separator(line: str) -> str:
    return next((separator for separator in _SEPARATORS if separator in line), WHITESPACE)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
