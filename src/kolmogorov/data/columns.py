"""Which column of a table is what: as asked for, else by its usual name, else by its place."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from kolmogorov.errors import DataError, ParameterError

_THINGS = "item movie film product book song track artist album game joke question article business restaurant beer"
_THINGS += " anime video show recipe hotel place page url course service produkt artikel buch produit livre producto"
_THINGS += " libro task exercise aufgabe frage"
_PEOPLE = "user reviewer customer client member person respondent participant voter session visitor account student"
_PEOPLE += " patient subject buyer kunde kunden nutzer benutzer teilnehmer utilisateur usuario cliente"
_IDS = ["id", "nr", "no", "num", "number", "nummer", "key", "code"]
_VALUES = "value rating ratings score stars overall vote answer response label bewertung wertung sterne note punkte"
_VALUES += " antwort wert valoracion"
_TITLES = ["title", "titel", "titre", "titulo"]
#: Names of a role, tier by tier: a column of ids goes before one of names, and that before one of titles.
USUAL: dict[str, list[set[str]]] = {
    "user": [{name + end for name in _PEOPLE.split() for end in _IDS} | {"uid"}, {*_PEOPLE.split(), "username"}],
    "item": [
        {name + end for name in _THINGS.split() for end in _IDS} | {"iid", "asin", "isbn", "sku"},
        set(_THINGS.split()),
        set(_TITLES),
    ],
    "value": [set(_VALUES.split())],
}
_TITLE_NAMES = {*_TITLES, *(name + end for name in _THINGS.split() for end in ("title", "name"))}
_WHEN = "timestamp time date datetime when day createdat created datum zeit uhrzeit zeitstempel reviewtime ratedat ts"
_TIMES = {*_WHEN.split(), "unixtime", "heure", "fecha", "hora"}
ROLES = ("user", "item", "value")
#: Usual names of columns of titles, and of ids, in files that are about one side.
TITLE_NAMES = ("title", "name", "label", "text", "description")
ID_NAMES = ("id", "key", "code")
#: Names of columns that an error lists.
_MOST_LISTED = 12


def plain(name: Any) -> str:
    """Return a name in small letters, without blanks and signs."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", str(name)).lower())


def is_time(name: Any) -> bool:
    """Tell whether a column is called as times usually are."""
    return plain(name) in _TIMES


def index_column(names: Sequence[Any]) -> int | None:
    """Return the column of row numbers or row names that R and pandas write, which has no name."""
    first = bool(names) and str(names[0]).strip() in ("", "Unnamed: 0")
    return 0 if first else next((at for at, name in enumerate(names) if str(name) == "__index_level_0__"), None)


def id_column(names: Sequence[Any], role: str) -> int | None:
    """Return the column of the ids of users or items by a name that nothing else has.

    Examples
    --------
    >>> id_column(["member", "age", "user_id"], "user"), id_column(["member", "age"], "user")
    (2, None)
    """
    sure = {*USUAL[role][0], role}
    return next((at for at, name in enumerate(names) if plain(name) in sure), None)


def title_column(names: Sequence[Any], taken: Iterable[int]) -> int | None:
    """Return the column of the items' titles by its usual name, where another column is the item.

    Examples
    --------
    >>> title_column(["userId", "movieId", "rating", "title"], {0, 1, 2})
    3
    """
    used = set(taken)
    return next((at for at, name in enumerate(names) if plain(name) in _TITLE_NAMES and at not in used), None)


def candidates(names: Sequence[Any], role: str) -> list[int]:
    """Return the columns with a usual name for a role, of the best tier in which there are any.

    A name of several words counts by its words, where no column has the usual name itself.

    Examples
    --------
    >>> candidates(["when", "stars", "user_id", "user"], "user"), candidates(["rating_avg", "my_rating"], "value")
    ([2], [0, 1])
    """
    known = [plain(name) for name in names]
    for tier in USUAL[role]:
        if found := [at for at, name in enumerate(known) if name in tier]:
            return found
    if role != "value":
        return []
    words = [set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", str(name)).lower())) for name in names]
    return [at for at, own in enumerate(words) if own & USUAL["value"][0] and not is_time(names[at])]


def usual_columns(names: Sequence[Any], known: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Return user, item and value by the names `known` for them, else by their usual names where one column has one.

    Examples
    --------
    >>> usual_columns(["when", "stars", "user_id", "Movie ID"])
    {'user': 2, 'item': 3, 'value': 1}
    """
    found = {role: at[0] for role in ROLES if len(at := candidates(names, role)) == 1}
    told = {role: name for role, name in (known or {}).items() if role in ROLES and name in names}
    return found | {role: list(names).index(name) for role, name in told.items()}


def pick_columns(
    names: Sequence[Any],
    asked: Mapping[str, Any],
    source: str,
    roles: Sequence[str] = ROLES,
    *,
    known: Mapping[str, Any] | None = None,
    by_place: bool = True,
    implicit: bool = False,
    wide: bool = False,
) -> dict[str, int]:
    """Return the column of each role.

    `asked` are names or positions; `known` are names that a recipe has. Without `by_place` a column is only taken by
    its name, as in a frame. With `implicit` there need be no value.
    """
    chosen: dict[str, int] = {}
    for role, column in asked.items():
        if column is not None:
            chosen[role] = position_of(names, column, role, source)
    for role in roles:
        if role in chosen:
            continue
        name = (known or {}).get(role)
        if name in names:
            chosen[role] = position_of(names, name, role, source)
            continue
        found = [at for at in candidates(names, role) if at not in chosen.values()]
        if len(found) > 1:
            shown = " or ".join(repr(str(names[at])) for at in found)
            raise DataError(f"{source}: which column is the {role}, {shown}? Say {role}={_said(names, found[0])}.")
        if found:
            chosen[role] = found[0]
    # What is left goes by its place among the columns that are no times and no row numbers.
    places = [at for at, name in enumerate(names) if not is_time(name) and at != index_column(names)]
    usual = set(chosen)
    for role in roles:
        if role in chosen:
            continue
        at = ROLES.index(role)
        position = places[at] if at < len(places) and places[at] not in chosen.values() else None
        if wide and role == "user" and position is None:
            position = next((k for k in range(len(names)) if k not in chosen.values()), None)
        if position is None or not (by_place or (wide and role == "user")):
            if role == "value" and implicit:
                continue
            raise _unknown(names, role, source, wide=wide, pair={"user", "item"} <= usual, n_places=len(places))
        chosen[role] = position
    return {role: chosen[role] for role in (*ROLES, "weight") if role in chosen}


def position_of(names: Sequence[Any], column: Any, role: str, source: str) -> int:
    """Return the position of a column that is asked for by its name or its position from 0."""
    known = [name.strip() if isinstance(name, str) else name for name in names]
    if column in known and not isinstance(column, bool):
        twins = [at for at, name in enumerate(known) if name == column]
        if len(twins) > 1:
            raise DataError(
                f"{source}: columns {' and '.join(map(str, twins))} are both called {column!r}. Say which is the "
                f"{role} by its number, for example {role}={twins[0]}."
            )
        return twins[0]
    if isinstance(column, str):
        raise DataError(
            f"{source} has no column {column!r} for the {role}; it has: {listed(known)}.{_like(column, known)}"
        )
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise ParameterError(f"{role} must be the name of a column or its position from 0, got {column!r}.")
    if not 0 <= int(column) < len(known):
        raise DataError(f"{source} has columns 0 to {len(known) - 1}, but the {role} is set to column {column}.")
    return int(column)


def _unknown(names: Sequence[Any], role: str, source: str, *, wide: bool, pair: bool, n_places: int) -> DataError:
    """Word the error for a role that no column has."""
    clicks = " If every line is a yes, as in a list of clicks or purchases, say implicit=True."
    as_wide = " If it has one row per user and one column per item, say wide=True." if n_places > 3 and not wide else ""
    name = f" Name it with {role}=." if role != "value" or n_places > 2 else ""
    more = clicks if role == "value" and (pair or n_places == 2) else as_wide
    return DataError(f"{source}: which column is the {role}? It has: {listed(names)}.{name}{more}")


def listed(names: Sequence[Any], most: int = _MOST_LISTED) -> str:
    """Name the first few."""
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


def _said(names: Sequence[Any], at: int) -> str:
    same = [str(name).strip() for name in names].count(str(names[at]).strip()) > 1
    return str(at) if same else repr(names[at])


def _like(wrong: str, names: Sequence[Any]) -> str:
    close = difflib.get_close_matches(wrong, [str(name) for name in names], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
