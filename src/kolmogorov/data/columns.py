"""Which column of a table is what: as asked for, else by its usual name or place; what is doubtful is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import suggestion
from kolmogorov.data.sources import Source, TextSource
from kolmogorov.data.values import BLANK_WORDS, PAIR_OF, looks_like_number, text_of
from kolmogorov.data.vocabulary import is_whole
from kolmogorov.errors import DataError, ParameterError

if TYPE_CHECKING:
    from kolmogorov.data.read import Reading

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
    """Return user, item and value by the names `known` for them, else by their usual names where one column has one."""
    found = {role: at[0] for role in ROLES if len(at := candidates(names, role)) == 1}
    told = {role: name for role, name in (known or {}).items() if role in ROLES and name in names}
    return found | {role: list(names).index(name) for role, name in told.items()}


def pick_columns(source: Source, told: Reading, roles: Sequence[str]) -> dict[str, int]:
    """Return the column of each role; in a frame one is only taken by its name, in a file by its place as well."""
    names = source.names
    asked = {role: told.asked[role] for role in (*roles, *(["weight"] if "value" in roles else []))}
    chosen = {role: position_of(source, at, role) for role, at in asked.items() if at is not None}
    for role in (role for role in roles if role not in chosen):
        found = [at for at in candidates(names, role) if at not in chosen.values()]
        if told.known.get(role) in names:
            chosen[role] = position_of(source, told.known[role], role)
        elif len(found) > 1:
            shown = " or ".join(repr(str(names[at])) for at in found)
            twins = [str(name).strip() for name in names].count(str(names[found[0]]).strip()) > 1
            said = found[0] if twins else str(names[found[0]])
            raise DataError(f"{source.name}: which column is the {role}, {shown}? Say {role}={said!r}.")
        elif found:
            chosen[role] = found[0]
    # What is left goes by its place among the columns that are no times and no row numbers.
    places = [at for at, name in enumerate(names) if not _is_time(name) and at != index_column(names)]
    pair = {"user", "item"} <= chosen.keys()
    for role in (role for role in roles if role not in chosen):
        free = [at for at in places[ROLES.index(role) :][:1] if at not in chosen.values()]
        if told.wide:
            free = free or [at for at in range(len(names)) if at not in chosen.values()]
        if free and (told.wide or source.path is not None):
            chosen[role] = free[0]
        elif role != "value" or not told.implicit:
            more = " If it has one row per user and one column per item, say wide=True."
            if role == "value" and (pair or len(places) == 2):
                more = " If every line is a yes, as in a list of clicks or purchases, say implicit=True."
            elif told.wide or len(places) < 4:
                more = ""
            name = f" Name it with {role}=." if role != "value" or len(places) > 2 else ""
            raise DataError(f"{source.name}: which column is the {role}? It has: {listed(names)}.{name}{more}")
    return {role: chosen[role] for role in (*ROLES, "weight") if role in chosen}


def position_of(source: Source, column: Any, role: str) -> int:
    """Return the position of a column that is asked for by its name or its position from 0."""
    known = [name.strip() if isinstance(name, str) else name for name in source.names]
    twins = [at for at, name in enumerate(known) if name == column and not isinstance(column, bool)]
    if len(twins) > 1:
        raise DataError(
            f"{source.name}: columns {' and '.join(map(str, twins))} are both called {column!r}. Say which is the "
            f"{role} by its number, for example {role}={twins[0]}."
        )
    if twins:
        return twins[0]
    if isinstance(column, str):
        near = suggestion(column, map(str, known))
        raise DataError(f"{source.name} has no column {column!r} for the {role}; it has: {listed(known)}.{near}")
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise ParameterError(f"{role} must be the name of a column or its position from 0, got {column!r}.")
    if not 0 <= int(column) < len(known):
        raise DataError(f"{source.name} has columns 0 to {len(known) - 1}, but the {role} is set to column {column}.")
    return int(column)


def listed(names: Sequence[Any], most: int = _MOST_LISTED) -> str:
    """Name the first few."""
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


# --- the columns of a source ------------------------------------------------------------------------------------------


def take_header(source: Source, told: Reading, roles: Sequence[str] = ROLES) -> None:
    """Let the first line of a text file name its columns, where it is a header."""
    if isinstance(source, TextSource) and _has_header(source, told, roles):
        source.take_header()


def _has_header(source: TextSource, told: Reading, roles: Sequence[str]) -> bool:
    """A header has usual names, or no number at all above a column of numbers, or no word above one of words."""
    first, second = source.first, source.second
    by_name = any(isinstance(column, str) for column in told.asked.values())
    if by_name and told.header is False:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    least = 2 if told.wide or told.implicit else len(roles)
    if len(first) < least:
        more = " If another character separates the columns, name it with sep=."
        if len(first) == 2 and "value" in roles:
            more = " If every line is a yes, as in a list of clicks or purchases, say implicit=True."
        expected = "user, and one for each item" if told.wide else ", ".join(roles)
        raise DataError(
            f"{source.name}: expected at least {least} columns ({expected}), got {len(first)} in the line "
            f"{source.first_line[:60]!r}.{more}"
        )
    if by_name or told.header != "auto":
        return by_name or bool(told.header)
    usual = usual_columns(first, told.known)
    if told.wide or {"user", "item"} <= usual.keys():
        return True
    named = first[1:] if not first[0] and not any(map(looks_like_number, first)) else first
    if "value" not in roles or any(looks_like_number(field) or not field for field in named):
        return False
    if told.implicit and len(first) == 2:
        return bool(usual)
    at = told.value if isinstance(told.value, int) else 2
    if at >= len(first):
        return True
    below = second[at] if at < len(second) else ""
    one, other = first[at].casefold(), below.casefold()
    if told.map is not None or first[at] in told.missing:
        return first[at] not in told.missing and one not in (told.map or {})
    if one not in PAIR_OF:
        return True
    sure = one in ("yes", "no", "true", "false", "ja", "nein", "wahr", "falsch", "oui", "non")
    if sure or not other or below in told.missing or PAIR_OF[one] == PAIR_OF.get(other):
        return False
    if below in ("0", "1") and not any(map(looks_like_number, second[:at])):
        raise DataError(
            f"{source.name}: is the first line, {source.first_line[:60]!r}, a header or a rating? Say "
            "header=True or header=False."
        )
    return True


def list_columns(source: Source, told: Reading, roles: Sequence[str] = ROLES) -> tuple[dict[str, int], set[str]]:
    """Return the column of each role of a list, and the roles whose columns have no usual name and were not named."""
    at = pick_columns(source, told, roles)
    usual = usual_columns(source.names, told.known)
    guessed = {role for role in at if told.asked[role] is None and usual.get(role) != at[role]}
    if source.named and guessed:
        refuse_wide(source, at, guessed)
    return at, guessed


def wide_columns(source: Source, told: Reading) -> tuple[int, dict[str, int]]:
    """Return the column of the users of a wide table, and those of the items by their ids."""
    names, index = source.names, index_column(source.names)
    user = pick_columns(source, told, ["user"])["user"]
    sure = told.user is not None or candidates([names[user]], "user") or plain(names[user]) in ID_NAMES
    if index is not None and not sure:
        # A column without a name holds the users, unless it numbers the rows beside a column of users.
        cells = head(source)
        numbered = cells and all(is_whole(text_of(cell)) for cell in cells[index])
        user = user if numbered and not could_be_values(cells[user]) else index
    left_out = {user, index, *(position_of(source, column, "item") for column in told.ignore)}
    kept = range(len(names)) if told.keep is None else [position_of(source, column, "item") for column in told.keep]
    at = [k for k in dict.fromkeys(kept) if k not in left_out]
    if not at:
        raise DataError(
            f"{source.name}: a wide table has a column of users and others for the items, got none of these."
        )
    found: dict[str, int] = {}
    for k in at:
        text = str(names[k]).strip()
        if not text:
            raise DataError(f"{source.name}: column {k} has no name. Name it, or leave it out with ignore={k}.")
        if found.setdefault(text, k) != k:
            raise DataError(f"{source.name}: columns {found[text]} and {k} are both called {text!r}.")
    return user, found


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
