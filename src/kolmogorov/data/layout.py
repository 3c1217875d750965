"""How a ratings file is laid out: its separator, its header, and which column is what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kolmogorov._support.validation import nearest
from kolmogorov.data.textfile import WHITESPACE, TextFile
from kolmogorov.errors import DataError, ParameterError

Column = str | int | None

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
_USUAL_PLACES = {"user": 0, "item": 1, "value": 2}


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
    header: bool | Literal["auto"],
    roles: tuple[str, ...] = ("user", "item", "value"),
) -> Layout:
    """Look at the first line that is not blank and decide."""
    line = file.first_line()
    if not line.strip():
        raise DataError(f"{file.name} is empty.")
    separator = _separator(line) if sep == "auto" else sep
    if not separator:
        raise ParameterError("'sep' must be a separator, 'whitespace' or 'auto', got ''.")
    first = [field.strip() for field in file.fields(line, separator)]
    by_name = any(isinstance(column, str) for column in wanted.values())
    has_header = by_name or _looks_like_header(first, roles) if header == "auto" else header
    if by_name and not has_header:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    if len(first) < len(roles):
        raise DataError(
            f"{file.name}: expected at least {len(roles)} columns ({', '.join(roles)}), got {len(first)} in the line "
            f"{line.strip()[:60]!r}. If another character separates them, name it with sep=."
        )
    if has_header:
        names = pick_names(first, wanted, file.name, roles)
        positions = {role: first.index(name) for role, name in names.items()}
    else:
        positions = {role: _USUAL_PLACES[role] for role in roles}
        positions.update({role: column for role, column in wanted.items() if isinstance(column, int)})
        for role, place in positions.items():
            _check_place(place, len(first), role, file.name)
    return Layout(separator, has_header, len(first), positions)


def pick_names(
    names: list[str],
    wanted: dict[str, Column],
    source: str,
    roles: tuple[str, ...] = ("user", "item", "value"),
) -> dict[str, str]:
    """Choose a column for each role: as asked for, else by its usual name, else by its usual place."""
    chosen: dict[str, str] = {}
    for role, column in wanted.items():
        if isinstance(column, str):
            if column not in names:
                raise DataError(
                    f"{source} has no column {column!r} for the {role}; it has: {', '.join(map(repr, names))}."
                    f"{nearest(column, names)}"
                )
            chosen[role] = column
        elif isinstance(column, int):
            _check_place(column, len(names), role, source)
            chosen[role] = names[column]
    for role in roles:
        found = [name for name in names if _is_usual(name, role) and name not in chosen.values()]
        if role not in chosen and found:
            chosen[role] = found[0]
    for role in roles:
        if role not in chosen:
            place = _USUAL_PLACES[role]
            if place >= len(names) or names[place] in chosen.values():
                raise DataError(
                    f"{source}: which column is the {role}? It has: {', '.join(map(repr, names))}. "
                    f"Name it with {role}=."
                )
            chosen[role] = names[place]
    return chosen


def _check_place(place: int, width: int, role: str, source: str) -> None:
    if not 0 <= place < width:
        raise DataError(f"{source} has columns 0 to {width - 1}, but the {role} was to be column {place}.")


def _looks_like_header(fields: list[str], roles: tuple[str, ...]) -> bool:
    """A header has usual names, or, above a column of numbers, no number at all."""
    if all(any(_is_usual(field, role) for field in fields) for role in ("user", "item")):
        return True
    return "value" in roles and not any(_is_number(field) or not field for field in fields)


def _is_usual(name: str, role: str) -> bool:
    return re.sub(r"[^a-z0-9]", "", name.lower()) in _USUAL_NAMES[role]


def _separator(line: str) -> str:
    return next((separator for separator in _SEPARATORS if separator in line), WHITESPACE)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
