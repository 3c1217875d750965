"""Which column of a table is what: as asked for, else by its usual name, else by its usual position."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov._support.wording import advice, option
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.shape import ListShape, Shape, WideShape
from kolmogorov.errors import DataError

Roles = tuple[str, ...]
RATING: Roles = ("user", "item", "value")

_THINGS = ["item", "movie", "film", "product", "book", "song", "track", "artist", "album", "game", "joke", "question"]
_THINGS += ["article", "business", "restaurant", "beer", "anime", "video", "show", "recipe", "hotel", "place"]
_PEOPLE = ["user", "reviewer", "customer", "client", "member", "person", "respondent", "participant", "voter"]
_USUAL_NAMES = {
    # An id is preferred to a name, where a table has both.
    "user": ["user", *(f"{name}id" for name in _PEOPLE), "uid", *_PEOPLE, "username"],
    "item": ["item", *(f"{name}id" for name in _THINGS), "iid", "asin", "isbn", "sku", *_THINGS, "title"],
    "value": ["value", "rating", "ratings", "score", "stars", "overall", "vote", "answer", "response", "label"],
}
USUAL_POSITIONS = {"user": 0, "item": 1, "value": 2}


@dataclass(frozen=True)
class TableForm:
    """What is said about a table that knows the names of its columns; `source` is what errors call it.

    With `exact` columns are names, of whatever type, and none goes by its position.
    """

    options: ReadingOptions
    source: str = "The table"
    exact: bool = False

    def shape(self, names: Sequence[Any]) -> Shape:
        """Return how records are made of its rows."""
        if not self.options.wide:
            return ListShape(self.positions(names, RATING), self.options.notation)
        user = self.positions(names, ("user",))["user"]
        return WideShape(list(names), user, self.options.notation, as_text=False, source=self.source)

    def projected(self, names: Sequence[str]) -> tuple[list[str], Shape]:
        """Return the names of the columns that are needed, each once, and how records are made of these."""
        if self.options.wide:
            return list(names), self.shape(names)
        positions = self.positions(names, RATING)
        wanted = list(dict.fromkeys(names[position] for position in positions.values()))
        at = {role: wanted.index(names[position]) for role, position in positions.items()}
        return wanted, ListShape(at, self.options.notation)

    def positions(self, names: Sequence[Any], roles: Roles) -> dict[str, int]:
        """Return the column of each role."""
        return pick_columns(list(names), self.options.columns, self.source, roles, exact=self.exact)


def pick_columns(
    names: Sequence[Any], wanted: Mapping[str, Any], source: str, roles: Roles = RATING, *, exact: bool = False
) -> dict[str, int]:
    """Choose a column for each role: as asked for, else by its usual name, else by its usual position.

    With `exact` what is asked for is a name of whatever type, and positions are not looked at.
    """
    chosen: dict[str, int] = {}
    for role, column in wanted.items():
        if column is not None and (exact or isinstance(column, str)):
            chosen[role] = _named_column(names, column, role, source)
        elif column is not None:
            check_position(column, len(names), role, source)
            chosen[role] = column
    usual = usual_columns(names)
    for role in roles:
        if role not in chosen and role in usual and usual[role] not in chosen.values():
            chosen[role] = usual[role]
    for role in roles:
        if role not in chosen:
            position = USUAL_POSITIONS[role]
            if exact or position >= len(names) or position in chosen.values():
                raise DataError(
                    f"{source}: which column is the {role}? It has: {', '.join(map(repr, names))}."
                    + advice("Name it with {}.", option(role))
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


def check_position(position: int, width: int, role: str, source: str) -> None:
    """Refuse a position beyond the columns that there are."""
    if not 0 <= position < width:
        raise DataError(f"{source} has columns 0 to {width - 1}, but the {role} was to be column {position}.")


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())
