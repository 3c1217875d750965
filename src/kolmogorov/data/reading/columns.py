"""Which column of a table is what: as asked for, else by its usual name, else by its usual position."""

from __future__ import annotations

import numbers
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov._support.wording import Message, Option, advice, named, option
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.shape import WIDE, ListShape, Shape
from kolmogorov.data.reading.wide import WideShape
from kolmogorov.errors import DataError, ParameterError

Roles = tuple[str, ...]
RATING: Roles = ("user", "item", "value")

_THINGS = ["item", "movie", "film", "product", "book", "song", "track", "artist", "album", "game", "joke", "question"]
_THINGS += ["article", "business", "restaurant", "beer", "anime", "video", "show", "recipe", "hotel", "place"]
_THINGS += ["page", "url", "course", "service", "produkt", "artikel", "buch", "produit", "livre", "producto", "libro"]
_THINGS += ["task", "exercise", "aufgabe", "frage"]
_PEOPLE = ["user", "reviewer", "customer", "client", "member", "person", "respondent", "participant", "voter"]
_PEOPLE += ["session", "visitor", "account", "student", "patient", "subject", "buyer", "kunde", "kunden", "nutzer"]
_PEOPLE += ["benutzer", "teilnehmer", "utilisateur", "usuario", "cliente"]
#: What stands behind a name to say that it is an id.
_IDS = ["id", "nr", "no", "num", "number", "nummer", "key", "code"]
#: Names of columns of ids beyond doubt.
_ID_COLUMNS = {
    "user": ["user", *(f"{name}{end}" for end in _IDS for name in _PEOPLE), "uid"],
    "item": ["item", *(f"{name}{end}" for end in _IDS for name in _THINGS), "iid", "asin", "isbn", "sku"],
}
_USUAL_NAMES = {
    # An id is preferred to a name, where a table has both.
    "user": [*_ID_COLUMNS["user"], *_PEOPLE, "username"],
    "item": [*_ID_COLUMNS["item"], *_THINGS],
    "value": ["value", "rating", "ratings", "score", "stars", "overall", "vote", "answer", "response", "label"],
}
_TITLES = {"title", "titel", "titre", "titulo", *(f"{name}{end}" for name in _THINGS for end in ("title", "name"))}
_USUAL_NAMES["item"] += ["title", "titel", "titre", "titulo"]
_USUAL_NAMES["value"] += ["bewertung", "wertung", "sterne", "note", "punkte", "antwort", "wert", "valoracion"]
_TIMES = {"timestamp", "time", "date", "datetime", "when", "day", "createdat", "created", "datum", "zeit", "uhrzeit"}
_TIMES |= {"zeitstempel", "reviewtime", "ratedat", "ts", "unixtime", "heure", "fecha", "hora"}
#: The option that says that every line is a yes.
ONLY_YES = Option("only_yes", "only_yes=True")
#: Names of columns that an error lists.
_MOST_LISTED = 12
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
            return self._list_shape(names, self.positions(names, RATING))
        user = self.positions(names, ("user",))["user"]
        return WideShape(list(names), user, self.options, as_text=False, source=self.source)

    def _list_shape(self, names: Sequence[Any], positions: dict[str, int], left_out: Sequence[Any] = ()) -> ListShape:
        guessed = guessed_roles(names, self.options, positions)
        return ListShape(
            positions,
            self.options,
            list(names),
            guessed,
            source=self.source,
            left_out=left_out,
            title=title_column(names, positions),
            time=next((at for at, name in enumerate(names) if is_time(name)), None),
        )

    def projected(self, names: Sequence[str]) -> tuple[list[str], Shape]:
        """Return the names of the columns that are needed, each once, and how records are made of these."""
        if self.options.wide:
            return list(names), self.shape(names)
        positions = self.positions(names, RATING)
        if guessed_roles(names, self.options, positions):
            # The other columns may tell whether it is a list at all.
            return list(names), self._list_shape(names, positions)
        title = title_column(names, positions)
        needed = [*positions.values(), *([] if title is None else [title])]
        wanted = list(dict.fromkeys(names[position] for position in needed))
        at = {role: wanted.index(names[position]) for role, position in positions.items()}
        return wanted, self._list_shape(wanted, at, [name for name in names if name not in wanted])

    def positions(self, names: Sequence[Any], roles: Roles) -> dict[str, int]:
        """Return the column of each role."""
        return pick_columns(list(names), self.options, self.source, roles, exact=self.exact)


def guessed_roles(names: Sequence[Any], options: ReadingOptions, positions: Mapping[str, int]) -> frozenset[str]:
    """Return the roles whose columns were neither asked for nor have a usual name."""
    usual = usual_columns(names, options.known_names)
    return frozenset(r for r, at in positions.items() if options.columns[r] is None and usual.get(r) != at)


def pick_columns(
    names: Sequence[Any], options: ReadingOptions, source: str, roles: Roles = RATING, *, exact: bool = False
) -> dict[str, int]:
    """Choose a column for each role: as asked for, else by its usual name, else by its usual position.

    With `exact` what is asked for is a name of whatever type. Where every line is a yes there need be no value.
    """
    chosen: dict[str, int] = {}
    for role, column in options.columns.items():
        if column is not None and (exact or isinstance(column, str)):
            chosen[role] = _named_column(names, column, role, source)
        elif column is not None:
            chosen[role] = checked_position(column, len(names), role, source)
    usual = usual_columns(names, options.known_names)
    for role in roles:
        if role not in chosen and role in usual and usual[role] not in chosen.values():
            chosen[role] = usual[role]
            _refuse_twins(names, usual[role], role, source)
    for role in roles:
        if role not in chosen:
            position = USUAL_POSITIONS[role]
            taken = position >= len(names) or position in chosen.values()
            if role == "value" and (taken or exact or is_time(names[position])):
                if options.only_yes:
                    continue
                raise _without_values(names, source, pair={"user", "item"} <= usual.keys())
            if taken or (exact and not (options.wide and role == "user")):
                raise DataError(
                    f"{source}: which column is the {role}? It has: {_listed(names)}."
                    + advice("Name it with {}.", option(role))
                    + _or_wide(names)
                )
            chosen[role] = position
    return {role: chosen[role] for role in options.columns if role in chosen}


def title_column(names: Sequence[Any], positions: Mapping[str, int]) -> int | None:
    """Return the column of the items' titles by its usual name, where another column is the item.

    Examples
    --------
    >>> title_column(["userId", "movieId", "rating", "title"], {"user": 0, "item": 1, "value": 2})
    3
    """
    taken = set(positions.values())
    return next((at for at, name in enumerate(names) if _plain(name) in _TITLES and at not in taken), None)


def is_time(name: Any) -> bool:
    """Tell whether a column is called as times usually are."""
    return _plain(name) in _TIMES


def _without_values(names: Sequence[Any], source: str, *, pair: bool) -> DataError:
    """Word the error for a table in which no column can be the rating; `pair`: users and items have usual names."""
    others = [name for name in names if not is_time(name)]
    clicks = advice("If every line is a yes, as in a list of clicks or purchases, say {}.", ONLY_YES)
    return DataError(
        f"{source}: which column is the value? It has: {_listed(names)}."
        + (advice("Name it with {}.", option("value")) if len(others) > 2 else "")
        + (clicks if pair or len(others) == 2 else _or_wide(names))
    )


def _or_wide(names: Sequence[Any]) -> Message | str:
    """Offer to read a table of many columns as a wide one."""
    return advice("If it has one row per user and one column per item, say {}.", WIDE) if len(names) > 3 else ""


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:_MOST_LISTED])) + (", ..." if len(names) > _MOST_LISTED else "")


def _refuse_twins(names: Sequence[Any], position: int, role: str, source: str) -> None:
    """Refuse a column that has the name of another."""
    same = [k for k, name in enumerate(names) if str(name).strip() == str(names[position]).strip()]
    if len(same) > 1:
        raise DataError(
            f"{source}: columns {' and '.join(map(str, same))} are both called {names[position]!r}."
            + advice("Say which is the " + role + " by its number, for example {}.", option(role, same[0]))
        )


def _named_column(names: Sequence[Any], column: Any, role: str, source: str) -> int:
    known = list(names)
    if column in known:
        _refuse_twins(known, known.index(column), role, source)
    if column not in known:
        raise DataError(
            f"{source} has no column {column!r} for the {role}; it has: {', '.join(map(repr, known))}."
            f"{suggestion(str(column), map(str, known))}"
        )
    return known.index(column)


def usual_columns(names: Sequence[Any], known: Mapping[str, str] | None = None) -> dict[str, int]:
    """Find user, item and value by the names `known` for them, else by usual ones; a role without one is left out.

    Examples
    --------
    >>> usual_columns(["when", "stars", "user_id", "Movie ID"])
    {'user': 2, 'item': 3, 'value': 1}
    """
    found: dict[str, int] = {}
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        first.setdefault(_plain(name), position)
    for role, usual_names in _USUAL_NAMES.items():
        usual = next((name for name in usual_names if name in first), None)
        if usual is not None:
            found[role] = first[usual]
    told = {role: name for role, name in (known or {}).items() if role in _USUAL_NAMES and name in names}
    return found | {role: list(names).index(name) for role, name in told.items()}


def id_column(names: Sequence[Any], role: str) -> int | None:
    """Return the column of the ids of users or items by a name that nothing else has.

    Examples
    --------
    >>> id_column(["member", "age", "user_id"], "user"), id_column(["member", "age"], "user")
    (2, None)
    """
    plain = [_plain(name) for name in names]
    return next((plain.index(name) for name in _ID_COLUMNS[role] if name in plain), None)


def checked_position(position: Any, width: int, role: str, source: str) -> int:
    """Return a position; one beyond the columns that there are is refused, and so is what is no position."""
    if not isinstance(position, numbers.Integral) or isinstance(position, bool):
        raise ParameterError(named(role) + f" must be the name of a column or its position from 0, got {position!r}.")
    if not 0 <= int(position) < width:
        raise DataError(f"{source} has columns 0 to {width - 1}, but the {role} is set to column {position}.")
    return int(position)


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", str(name)).lower())
