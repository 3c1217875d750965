"""Which column of a table is what: as asked for, else by its usual name or place; what is doubtful is asked."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.display import notice
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import suggestion
from kolmogorov.data.sources import Source, TextSource, is_table, sources_of
from kolmogorov.data.told import ROLES, Reading
from kolmogorov.data.values import BLANK_WORDS, PAIR_OF, looks_like_number, text_of
from kolmogorov.data.vocabulary import Vocabulary, id_text, is_whole
from kolmogorov.errors import DataError, ParameterError

_THINGS = "item movie film product book song track artist album game joke question article business restaurant beer"
_THINGS += " anime video show recipe hotel place page url course service produkt artikel buch produit livre producto"
_PEOPLE = "user reviewer customer client member person respondent participant voter session visitor account student"
_PEOPLE += " patient subject kunde kunden nutzer benutzer teilnehmer utilisateur usuario cliente"
_IDS = ["id", "nr", "no", "num", "number", "nummer", "key", "code"]
_VALUES = (
    "value rating ratings score stars overall vote answer response label bewertung wertung sterne note punkte wert"
)
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
_WHEN = "timestamp time date datetime when day createdat created datum zeit reviewtime ratedat ts unixtime"
_TIMES = set(_WHEN.split())
#: Usual names of columns of titles, and of ids, in files that are about one side.
TITLE_NAMES = ("title", "name", "label", "text", "description")
ID_NAMES = ("id", "key", "code")
#: Words that are no header, whatever stands below them.
_ANSWERS = ("yes", "no", "true", "false", "ja", "nein", "wahr", "falsch", "oui", "non")
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


def index_column(names: Sequence[Any]) -> int | None:
    """Return the column of row numbers or row names that R and pandas write, which has no name."""
    first = bool(names) and str(names[0]).strip() in ("", "Unnamed: 0")
    return 0 if first else next((at for at, name in enumerate(names) if str(name) == "__index_level_0__"), None)


def id_column(names: Sequence[Any], role: str) -> int | None:
    """Return the column of the ids of users or items by a name that nothing else has."""
    return next((at for at, name in enumerate(names) if plain(name) in {*_USUAL[role][0], role}), None)


def candidates(names: Sequence[Any], role: str) -> list[int]:
    """Return the columns with a usual name for a role, of the best tier in which there are any.

    A name of several words counts by its words, where no column has the usual name itself.
    """
    known = [plain(name) for name in names]
    for tier in _USUAL[role]:
        if found := [at for at, name in enumerate(known) if name in tier]:
            return found
    words = [set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", str(name)).lower())) for name in names]
    several = [at for at, own in enumerate(words) if own & _USUAL["value"][0] and known[at] not in _TIMES]
    return several if role == "value" else []


def usual_columns(names: Sequence[Any]) -> dict[str, int]:
    """Return user, item and value by their usual names, where one column has one."""
    return {role: at[0] for role in ROLES if len(at := candidates(names, role)) == 1}


def _listed(names: Sequence[Any], most: int = _MOST_LISTED) -> str:
    """Name the first few."""
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


# --- the columns of a source ------------------------------------------------------------------------------------------


def take_header(source: Source, told: Reading, roles: Sequence[str] = ROLES) -> None:
    """Let the first line of a text file name its columns, where it is a header."""
    if isinstance(source, TextSource) and _has_header(source, told, roles):
        source.take_header()


def _has_header(source: TextSource, told: Reading, roles: Sequence[str]) -> bool:
    """A header has usual names, or no number at all, and no value that means something."""
    by_name = any(isinstance(column, str) for column in told.asked.values())
    if by_name and told.header is False:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    if by_name or told.header != "auto":
        return by_name or bool(told.header)
    first, usual = source.first, usual_columns(source.first)
    if told.wide or {"user", "item"} <= usual.keys() | {role for role in told.known if told.known[role] in first}:
        return True
    # The blank name of row numbers is one.
    if "value" not in roles or any(looks_like_number(field) for field in first) or not all(first[1:]):
        return False
    if told.implicit and len(first) == 2:
        return bool(usual)
    at = told.value if isinstance(told.value, int) else 2
    word, below = ([*line, *[""] * (at + 1)][at].casefold() for line in (first, source.second))
    known = {*(told.map or PAIR_OF), *(mark.casefold() for mark in told.missing)}
    named = word in known.difference(_ANSWERS) and below not in known and below != ""
    if named and looks_like_number(below):
        said = f"is the first line, {source.first_line[:60]!r}, a header or a rating?"
        raise DataError(f"{source.name}: {said} Say header=True or header=False.")
    return named or word not in known


def list_columns(source: Source, told: Reading, roles: Sequence[str] = ROLES) -> tuple[dict[str, int], set[str]]:
    """Return the column of each role of a list, and the roles whose columns have no usual name and were not named."""
    at, usual, names = _chosen(source, told, roles), usual_columns(source.names), source.names
    sure = {role for role in at if told.asked[role] is not None or names[at[role]] == told.known.get(role)}
    guessed = {role for role in at.keys() - sure if usual.get(role) != at[role]}
    if source.named and "value" in guessed and guessed & {"user", "item"}:
        values = [k for k, cells in enumerate(_head(source)) if k != at["user"] and _could_be_values(cells)]
        many = len(values) > 2 and 2 * len(values) >= len(names) - 1
        if many and ("item" in guessed or at["item"] in values):
            raise DataError(
                f"{source.name}: is it a list of ratings, or one row per user and one column per item? The columns "
                f"{_listed([names[k] for k in values], 4)} all hold values. If each is an item, say wide=True. "
                "If it is a list, name its columns with item= and value=."
            )
    return at, guessed


def _chosen(source: Source, told: Reading, roles: Sequence[str]) -> dict[str, int]:
    """Return the column of each role; in a frame one is only taken by its name, in a file by its place as well."""
    names = source.names
    asked = {role: told.asked[role] for role in (*roles, *(["weight"] if "value" in roles else []))}
    chosen = {role: _position_of(source, at, role) for role, at in asked.items() if at is not None}
    for role in (role for role in roles if role not in chosen):
        known = [names.index(told.known[role])] if told.known.get(role) in names else candidates(names, role)
        found = [at for at in known if at not in chosen.values()]
        if len(found) > 1:
            shown = " or ".join(repr(str(names[at])) for at in found)
            said = found[0] if names.count(names[found[0]]) > 1 else str(names[found[0]])
            raise DataError(f"{source.name}: which column is the {role}, {shown}? Say {role}={said!r}.")
        chosen.update((role, at) for at in found)
    # What is left goes by its place among the columns that are no times and no row numbers.
    places = [at for at, name in enumerate(names) if plain(name) not in _TIMES and at != index_column(names)]
    pair = {"user", "item"} <= chosen.keys()
    for role in (role for role in roles if role not in chosen):
        free = [at for at in places[ROLES.index(role) :][:1] if at not in chosen.values()]
        if told.wide:
            free = free or [at for at in range(len(names)) if at not in chosen.values()]
        if free and (told.wide or source.path is not None):
            chosen[role] = free[0]
        elif role != "value" or not told.implicit:
            more = f" Name it with {role}=."
            if role == "value" and (pair or len(places) == 2):
                more += " If every line is a yes, as in a list of clicks or purchases, say implicit=True."
            elif not told.wide and len(places) > 3:
                more += " If it has one row per user and one column per item, say wide=True."
            elif isinstance(source, TextSource):
                more += " If another character separates the columns, name it with sep=."
            raise DataError(f"{source.name}: which column is the {role}? It has: {_listed(names)}.{more}")
    # Where a file has no weights, as another had, every observation weighs one.
    at = told.known.get("weight") if "value" in roles and "weight" not in chosen else None
    place = names.index(at) if at in names else at if isinstance(at, int) and at < len(names) else None
    if place is not None and place not in chosen.values():
        chosen["weight"] = place
    return {role: chosen[role] for role in (*ROLES, "weight") if role in chosen}


def _position_of(source: Source, column: Any, role: str) -> int:
    """Return the position of a column that is asked for by its name or its position from 0."""
    names = [name.strip() if isinstance(name, str) else name for name in source.names]
    if isinstance(column, str) and names.count(column) > 1:
        at = names.index(column)
        raise DataError(f"{source.name}: several columns are called {column!r}. Say which, for example {role}={at}.")
    if column in names and not isinstance(column, bool):
        return names.index(column)
    if isinstance(column, Integral) and not isinstance(column, bool) and 0 <= int(column) < len(names):
        return int(column)
    near = suggestion(str(column), map(str, names))
    raise DataError(f"{source.name} has no column {column!r} for the {role}; it has: {_listed(names)}.{near}")


def wide_columns(source: Source, told: Reading) -> tuple[int, dict[str, int]]:
    """Return the column of the users of a wide table, and those of the items by their ids."""
    names, index = source.names, index_column(source.names)
    user = _chosen(source, told, ["user"])["user"]
    sure = told.user is not None or candidates([names[user]], "user") or plain(names[user]) in ID_NAMES
    if index is not None and not sure:
        # A column without a name holds the users, unless it numbers the rows beside a column of users.
        cells = _head(source)
        numbered = cells and all(is_whole(text_of(cell)) for cell in cells[index])
        user = user if numbered and not _could_be_values(cells[user]) else index
    left_out = {user, index, *(_position_of(source, column, "item") for column in told.ignore)}
    found: dict[str, int] = {}
    for k in (k for k in range(len(names)) if k not in left_out):
        text = str(names[k]).strip()
        if not text or found.setdefault(text, k) != k:
            called = f"{found[text]} and {k} are both called {text!r}" if text else f"{k} has no name"
            raise DataError(f"{source.name}: column {called}. Name it, or leave it out with ignore={k}.")
    if not found:
        raise DataError(f"{source.name}: a wide table has a column of users and others for the items, got no others.")
    return user, found


# --- what is in doubt -------------------------------------------------------------------------------------------------


def _head(source: Source) -> list[list[Any]]:
    """Return the first rows of all columns, by columns."""
    arrays = next(source.batches(range(len(source.names))), [])
    return [array.slice(0, _LOOKED_AT).to_pylist() for array in arrays]


def _could_be_values(cells: Sequence[Any]) -> bool:
    """Tell whether cells are numbers or yes and no, empty ones aside."""
    texts = [text_of(cell) for cell in cells if cell is not None and text_of(cell).casefold() not in BLANK_WORDS]
    return bool(texts) and all(looks_like_number(text) or text.casefold() in PAIR_OF for text in texts)


def refuse_scales(name: str, names: Sequence[str], columns: Sequence[Floats], words: Sequence[bool]) -> None:
    """Refuse columns that are not on the scale of the others, with the ranges that there are.

    One that lies far above the others is strange, and where half of the columns or more begin (or end) at the same
    number, that is an end of the scale, and whatever lies beyond it is strange.
    """
    known = [k for k, column in enumerate(columns) if not np.isnan(column).all()]
    low, high = (np.array([end(columns[k]) for k in known]) for end in (np.nanmin, np.nanmax))
    cells = np.array([np.count_nonzero(~np.isnan(columns[k])) for k in known])
    sure = (cells >= _TELLING) | np.array([words[k] for k in known], dtype=bool)
    strange = (low > _FAR * max(float(np.median(high)), 1.0)) & (cells >= 2) if low.size > 1 else low < low
    for end, sign in ((high, 1.0), (low, -1.0)) if sure.sum() > 2 else ():
        points, counts = np.unique(end[sure], return_counts=True)
        edge = points[counts.argmax()]
        if 2 * counts.max() < sure.sum():
            edge = np.median(end[sure]) + sign * 2.0 * max(float(np.median(high[sure]) - np.median(low[sure])), 1e-12)
        strange |= sure & (sign * end > sign * edge)
    if not strange.any() or strange.all():
        return
    apart = [str(names[k]) for k, odd in zip(known, strange, strict=True) if odd]
    ends = zip(apart[:6], low[strange], high[strange], strict=False)
    shown = [f"{name} {least:g} to {most:g}" for name, least, most in ends]
    which = f"s {apart[0]!r} and {len(apart) - 1} more are" if len(apart) > 1 else f" {apart[0]!r} is"
    raise DataError(
        f"{name}: column{which} on another scale than the others: {', '.join(shown)}; the others "
        f"{low[~strange].min():g} to {high[~strange].max():g}. To leave out what is no item, say "
        f"ignore={apart if len(apart) > 1 else apart[0]!r}. To scale each column by itself, say scale='column'. If all "
        "are on one scale, say which: maximum=."
    )


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


# --- titles: two columns, an id and a text ----------------------------------------------------------------------------


def titled(vocabulary: Vocabulary, given: Any, what: str) -> Vocabulary:
    """Return the same ids with titles; an id without a title keeps the one that it had, or is its own."""
    if given is None:
        return vocabulary
    texts, ids = titles_of(given, what), vocabulary.ids.tolist()
    found = {i: texts[i] for i in ids if texts.get(i)}
    if ids and not found:
        came = f"they are for ids such as {next(iter(texts))!r}" if texts else "there are none"
        raise DataError(f"No {what} has one of these titles: {came}, and the {what}s here are such as {ids[0]!r}.")
    if vocabulary.labels is not None:
        found = dict(zip(ids, vocabulary.labels.tolist(), strict=True)) | found
    if len(found) < len(ids):
        notice(f"{len(found):,} of {len(ids):,} {what}s have a title; the others go by their ids")
    return vocabulary.with_labels(found)


def titles_of(given: Any, what: str = "item") -> dict[str, str]:
    """Return titles by ids, both as texts; `given` is a dictionary, a data frame or a path."""
    if not isinstance(given, (Mapping, str, os.PathLike)) and not is_table(given):
        came = type(given).__name__
        raise DataError(f"Titles of {what}s are a dictionary, a frame of two columns or a file of them, got {came}.")
    pairs: Iterable[tuple[Any, Any]] = given.items() if isinstance(given, Mapping) else _pairs(sources_of(given)[0])
    known = ((i, title) for i, title in pairs if i is not None and title is not None and title == title)
    return {str(id_text(i) or i): str(title).strip() for i, title in known}


def _pairs(source: Source) -> Iterable[tuple[Any, Any]]:
    """Return ids and titles of a file or a frame, by the names of its columns, or the first two."""
    names = [plain(name) for name in (source.first if isinstance(source, TextSource) else source.names)]
    if len(names) < 2:
        raise DataError(f"{source.name} must have two columns, an id and a text; there is {_listed(names) or 'none'}.")
    title = [k for end in TITLE_NAMES for k, name in enumerate(names) if name.endswith(end)][:1]
    others = ["" if k in title else name for k, name in enumerate(names)]
    usual = [others.index(name) for name in ID_NAMES if name in others]
    usual += [k for role in ("item", "user") for k in candidates(others, role)]
    if isinstance(source, TextSource) and title and usual:
        source.take_header()
    batches = source.batches([usual[0], title[0]] if title and usual else [0, 1])
    return (pair for ids, titles in batches for pair in zip(ids.to_pylist(), titles.to_pylist(), strict=True))
