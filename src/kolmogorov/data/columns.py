"""Which column of a table is what: as asked for, else by its usual name or place; what is doubtful is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import suggestion
from kolmogorov.data.sources import Source
from kolmogorov.data.values import BLANK_WORDS, PAIR_OF, looks_like_number, text_of
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
_USUAL: dict[str, list[set[str]]] = {
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
#: Rows that are looked at where the kind of table is in doubt, and cells that tell what is in a column.
_LOOKED_AT, _TELLING = 1_000, 8
#: A code such as 99 lies beyond so many times the other values, is rare, and those are few and whole.
_FAR, _RARE, _FEW = 3.0, 0.1, 12


# --- names ------------------------------------------------------------------------------------------------------------


def plain(name: Any) -> str:
    """Return a name in small letters, without blanks and signs."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKD", str(name)).lower())


def _is_time(name: Any) -> bool:
    return plain(name) in _TIMES


def index_column(names: Sequence[Any]) -> int | None:
    """Return the column of row numbers or row names that R and pandas write, which has no name."""
    first = bool(names) and str(names[0]).strip() in ("", "Unnamed: 0")
    return 0 if first else next((at for at, name in enumerate(names) if str(name) == "__index_level_0__"), None)


def id_column(names: Sequence[Any], role: str) -> int | None:
    """Return the column of the ids of users or items by a name that nothing else has."""
    sure = {*_USUAL[role][0], role}
    return next((at for at, name in enumerate(names) if plain(name) in sure), None)


def title_column(names: Sequence[Any], taken: Iterable[int]) -> int | None:
    """Return the column of the items' titles by its usual name, where another column is the item."""
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
    for tier in _USUAL[role]:
        if found := [at for at, name in enumerate(known) if name in tier]:
            return found
    if role != "value":
        return []
    words = [set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", str(name)).lower())) for name in names]
    return [at for at, own in enumerate(words) if own & _USUAL["value"][0] and not _is_time(names[at])]


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
    chosen = {role: position_of(names, at, role, source) for role, at in asked.items() if at is not None}
    for role in (role for role in roles if role not in chosen):
        name = (known or {}).get(role)
        found = [at for at in candidates(names, role) if at not in chosen.values()]
        if name in names:
            chosen[role] = position_of(names, name, role, source)
        elif len(found) > 1:
            shown = " or ".join(repr(str(names[at])) for at in found)
            twin = [str(name).strip() for name in names].count(str(names[found[0]]).strip()) > 1
            said = found[0] if twin else names[found[0]]
            raise DataError(f"{source}: which column is the {role}, {shown}? Say {role}={said!r}.")
        elif found:
            chosen[role] = found[0]
    # What is left goes by its place among the columns that are no times and no row numbers.
    places = [at for at, name in enumerate(names) if not _is_time(name) and at != index_column(names)]
    usual = set(chosen)
    for role in (role for role in roles if role not in chosen):
        free = [at for at in places[ROLES.index(role) :][:1] if at not in chosen.values()]
        if wide:
            free = free or [at for at in range(len(names)) if at not in chosen.values()]
        if free and (by_place or wide):
            chosen[role] = free[0]
        elif not (role == "value" and implicit):
            raise _unknown(names, role, source, pair={"user", "item"} <= usual, n_places=0 if wide else len(places))
    return {role: chosen[role] for role in (*ROLES, "weight") if role in chosen}


def position_of(names: Sequence[Any], column: Any, role: str, source: str) -> int:
    """Return the position of a column that is asked for by its name or its position from 0."""
    known = [name.strip() if isinstance(name, str) else name for name in names]
    twins = [at for at, name in enumerate(known) if name == column and not isinstance(column, bool)]
    if len(twins) > 1:
        raise DataError(
            f"{source}: columns {' and '.join(map(str, twins))} are both called {column!r}. Say which is the "
            f"{role} by its number, for example {role}={twins[0]}."
        )
    if twins:
        return twins[0]
    if isinstance(column, str):
        near = suggestion(column, map(str, known))
        raise DataError(f"{source} has no column {column!r} for the {role}; it has: {listed(known)}.{near}")
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise ParameterError(f"{role} must be the name of a column or its position from 0, got {column!r}.")
    if not 0 <= int(column) < len(known):
        raise DataError(f"{source} has columns 0 to {len(known) - 1}, but the {role} is set to column {column}.")
    return int(column)


def _unknown(names: Sequence[Any], role: str, source: str, *, pair: bool, n_places: int) -> DataError:
    """Word the error for a role that no column has."""
    name = f" Name it with {role}=." if role != "value" or n_places > 2 else ""
    if role == "value" and (pair or n_places == 2):
        more = " If every line is a yes, as in a list of clicks or purchases, say implicit=True."
    else:
        more = " If it has one row per user and one column per item, say wide=True." if n_places > 3 else ""
    return DataError(f"{source}: which column is the {role}? It has: {listed(names)}.{name}{more}")


def listed(names: Sequence[Any], most: int = _MOST_LISTED) -> str:
    """Name the first few."""
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


# --- what is in doubt -------------------------------------------------------------------------------------------------


def head(source: Source) -> list[list[Any]]:
    """Return the first rows of all columns, by columns."""
    arrays = next(source.batches(range(len(source.names))), [])
    return [array.slice(0, _LOOKED_AT).to_pylist() for array in arrays]


def could_be_values(cells: Sequence[Any]) -> bool:
    """Tell whether cells are numbers or yes and no, empty ones aside."""
    texts = [text_of(cell) for cell in cells if cell is not None and text_of(cell).casefold() not in BLANK_WORDS]
    return bool(texts) and all(looks_like_number(text) or text.casefold() in PAIR_OF for text in texts)


def refuse_wide(source: Source, at: Mapping[str, int], guessed: set[str]) -> None:
    """Refuse a table whose columns have no usual names, where all but the first few could be items."""
    if "value" not in guessed or not guessed & {"user", "item"}:
        return
    values = [k for k, cells in enumerate(head(source)) if k != at["user"] and could_be_values(cells)]
    few = len(values) < 3 or 2 * len(values) < len(source.names) - 1
    if not few and ("item" in guessed or at["item"] in values):
        raise DataError(
            f"{source.name}: is it a list of ratings, or one row per user and one column per item? The columns "
            f"{listed([source.names[k] for k in values], 4)} all hold values. If each is an item, say wide=True. If it "
            "is a list, name its columns with item= and value=."
        )


def refuse_text(source: Source, at: Mapping[str, int]) -> None:
    """Refuse a column that was taken for the ratings and holds text, where others hold numbers."""
    free = [k for k, name in enumerate(source.names) if k not in at.values() and not _is_time(name)]
    cells = head(source)
    if others := [str(source.names[k]) for k in free if could_be_values(cells[k])]:
        raise DataError(
            f"{source.place(0)}: column {str(source.names[at['value']])!r} was taken for the ratings, and holds text. "
            f"Numbers are in: {', '.join(map(repr, others))}. For example, say value={others[0]!r}."
        ) from None


def refuse_scales(name: str, names: Sequence[str], columns: Sequence[Floats], words: Sequence[bool]) -> None:
    """Refuse columns that are not on the scale of the others, with the ranges that there are."""
    known = [k for k, column in enumerate(columns) if not np.isnan(column).all()]
    ends = np.array([(np.nanmin(columns[k]), np.nanmax(columns[k])) for k in known]).reshape(-1, 2)
    cells = np.array([np.count_nonzero(~np.isnan(columns[k])) for k in known])
    strange = strange_columns(ends[:, 0], ends[:, 1], cells, np.array([words[k] for k in known], dtype=bool))
    if not strange.any():
        return
    apart = [names[k] for k, odd in zip(known, strange, strict=True) if odd]
    shown = [f"{name} {low:g} to {high:g}" for name, (low, high) in zip(apart[:6], ends[strange], strict=False)]
    rest = ends[~strange]
    usual = f"{rest[:, 0].min():g} to {rest[:, 1].max():g}" if rest.size else "none"
    out = repr(apart[0]) if len(apart) == 1 else repr(apart)
    which = f"s {apart[0]!r} and {len(apart) - 1} more are" if len(apart) > 1 else f" {apart[0]!r} is"
    raise DataError(
        f"{name}: column{which} on another scale than the others: {', '.join(shown)}; the others {usual}. To leave "
        f"out what is no item, say ignore={out}. To scale each column by itself, say scale='column'. If all are on one "
        "scale, say which: maximum=."
    )


def strange_columns(low: Floats, high: Floats, cells: NDArray[Any], words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which columns, by their ends, are not on the scale of the others.

    A column of yes and no beside others is strange, and one that lies far above them. Where half of the columns or more
    begin (or end) at the same number, that is an end of the scale, and whatever lies beyond it is strange.

    Examples
    --------
    >>> many = np.full(3, 30)
    >>> strange_columns(np.array([1.0, 1, 18]), np.array([5.0, 5, 61]), many, many < 0).tolist()
    [False, False, True]
    """
    sure = cells >= _TELLING
    bits = (low == 0.0) & (high == 1.0) & (sure | words)
    beyond = (high > 1.0) | (low < 0.0)
    if bits.any() and beyond.any():
        return beyond if beyond.sum() <= bits.sum() else bits
    if low.size < 2:
        return np.zeros(low.size, dtype=bool)
    strange = (low > _FAR * max(float(np.median(high)), 1.0)) & (cells >= 2)
    for end, sign in ((high, 1.0), (low, -1.0)) if sure.sum() > 2 else ():
        points, counts = np.unique(end[sure], return_counts=True)
        if 2 * counts.max() >= sure.sum():
            strange |= sure & (sign * end > sign * points[counts.argmax()])
        else:
            span = max(float(np.median(high[sure]) - np.median(low[sure])), 1e-12)
            strange |= sure & (sign * (end - np.median(end[sure])) > 2.0 * span)
    return strange & ~strange.all()


def refuse_list(table: Floats) -> None:
    """Refuse three columns of numbers that look like users, items and ratings, where a table is expected.

    Ids repeat, pairs of them do not, and there are more of them than there are ratings to give.
    """
    n_rows, width = table.shape
    if width != 3 or n_rows < 2 * _TELLING or np.isnan(table).any() or (table[:, :2] % 1.0).any():
        return
    n_users, n_items, n_ratings = (np.unique(column).size for column in table.T)
    more = min(n_users, n_items) >= 2 * n_ratings and 3 * max(n_users, n_items) <= 2 * n_rows
    if more and np.unique(table[:, :2], axis=0).shape[0] == n_rows:
        raise DataError(
            "Three columns of numbers look like a list of users, items and ratings; expected a table with one row per "
            "user and one column per item. For a list say Observations.from_arrays(X[:, 0], X[:, 1], X[:, 2]); for a "
            "table of three items Observations.from_dense(X)."
        )


def refuse_codes(points: Floats, counts: NDArray[np.int64], place_of: Callable[[float], str]) -> None:
    """Refuse a value such as 99 or -9 beside 1 to 5, which means that there is none."""
    for at, others in ((-1, points[:-1]), (0, points[1:])):
        if not 2 <= others.size <= _FEW or (points % 1.0).any():
            continue
        code, low, high, share = float(points[at]), others[0], others[-1], float(counts[at] / counts.sum())
        far = abs(code) > _FAR * max(abs(low), abs(high), 1.0) or (code < 0.0 <= low and low - code > high - low)
        if far and share <= _RARE:
            raise DataError(
                f"{place_of(code)}: the value {code:g} lies far outside the others, {low:g} to {high:g}, and "
                f"{share:.1%} of the rows have it. If it means that there is no answer, say missing={code:g}. If it is "
                f"one, say {'maximum' if at else 'minimum'}={code:g}."
            )
