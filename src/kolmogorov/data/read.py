"""`read_ratings`: lists and wide tables of any make become entries; what is guessed is said, what is in doubt asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.cells import IdColumn, ValueColumn
from kolmogorov.data.columns import (
    ID_NAMES,
    ROLES,
    candidates,
    index_column,
    pick_columns,
    plain,
    position_of,
    title_column,
    usual_columns,
)
from kolmogorov.data.doubts import could_be_values, head, refuse_codes, refuse_scales, refuse_text, refuse_wide
from kolmogorov.data.options import Reading
from kolmogorov.data.provenance import Provenance, TableLayout, points_of
from kolmogorov.data.scale import Extent, Scale
from kolmogorov.data.sources import Source, TextSource, sources_of
from kolmogorov.data.values import (
    BLANK_WORDS,
    PAIR_OF,
    Notation,
    UnreadableError,
    looks_like_number,
    numbers_of,
    text_of,
)
from kolmogorov.data.view import Entries, nothing_there
from kolmogorov.data.vocabulary import is_whole
from kolmogorov.errors import DataError, ParameterError

#: Columns of a wide table, at most: each is looked at by itself.
_MOST_ITEMS = 1_000_000
#: Distinct ratings that are told.
_MOST_POINTS = 64


# --- one table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """The records of one source: keys of users and items, ratings, weights (maybe none), and the row of each."""

    source: Source
    layout: TableLayout
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    ratings: Floats
    weights: Floats
    rows: NDArray[np.int64] | None
    n_missing: int
    words: Mapping[str, float]
    decimal: str | None
    titles: Mapping[int, str]

    def place(self, record: int) -> str:
        """Name the place of a record."""
        return self.source.place(record if self.rows is None else int(self.rows[record]))


def part_of(source: Source, told: Reading, users: IdColumn, items: IdColumn, *, empty: bool = False) -> Part:
    """Read one source, which is refused where nothing is in it, unless it may be `empty`."""
    if isinstance(source, TextSource) and has_header(source, told):
        source.take_header()
    part = (_wide if told.wide else _list)(source, told, users, items)
    if not empty and not part.ratings.size:
        if part.n_missing:
            raise DataError(f"{source.place(0)} and all others: every value is missing. Nothing is left to read.")
        raise nothing_there("here")
    return part


def has_header(source: TextSource, told: Reading, roles: Sequence[str] = ROLES) -> bool:
    """A header has usual names, or no number at all above a column of numbers, or no word above one of words."""
    first, second = source.first, source.second
    by_name = [c for c in told.asked.values() if isinstance(c, str)]
    if by_name and told.header is False:
        raise ParameterError("Columns can be named only where the file has a header; use positions from 0.")
    least = 2 if told.wide or told.implicit else len(roles)
    if len(first) < least:
        line = source.first_line[:60]
        more = " If another character separates the columns, name it with sep=."
        if len(first) == 2 and "value" in roles:
            more = " If every line is a yes, as in a list of clicks or purchases, say implicit=True."
        expected = "user, and one for each item" if told.wide else ", ".join(roles)
        raise DataError(
            f"{source.name}: expected at least {least} columns ({expected}), got {len(first)} in the line "
            f"{line!r}.{more}"
        )
    if by_name or told.header != "auto":
        return bool(by_name) or bool(told.header)
    usual = usual_columns(first, told.known)
    if told.wide or {"user", "item"} <= usual.keys():
        return True
    if "value" not in roles:
        return False
    named = first[1:] if not first[0] and not any(looks_like_number(f) for f in first) else first
    if any(looks_like_number(field) or not field for field in named):
        return False
    if told.implicit and len(first) == 2:
        return bool(usual)
    at = told.value if isinstance(told.value, int) else 2
    below = second[at] if at < len(second) else ""
    if at >= len(first):
        return True
    word = first[at].casefold()
    unclear = word in PAIR_OF and below in ("0", "1") and not _begins(word, below, told.notation)
    if unclear and not any(looks_like_number(field) for field in second[:at]):
        raise DataError(
            f"{source.name}: is the first line, {source.first_line[:60]!r}, a header or a rating? Say "
            "header=True or header=False."
        )
    return not _begins(first[at], below, told.notation)


def _begins(first: str, second: str, form: Notation) -> bool:
    """Tell whether the first of two fields is a value as well, and not the name of a column above the second.

    Examples
    --------
    >>> [_begins(one, other, Notation()) for one, other in [("yes", "no"), ("like", "yes"), ("rating", "yes")]]
    [True, False, False]
    """
    one, other = first.casefold(), second.casefold()
    if first in form.missing or form.map is not None:
        return first in form.missing or one in (form.map or {})
    if one in ("yes", "no", "true", "false", "ja", "nein", "wahr", "falsch", "oui", "non"):
        return True
    return one in PAIR_OF and (not other or second in form.missing or PAIR_OF[one] == PAIR_OF.get(other))


def read_pairs(path: Any, told: Reading) -> tuple[list[str], list[str]]:
    """Read a file of users and items; further columns are ignored."""
    found: tuple[list[str], list[str]] = ([], [])
    for source in sources_of(path, sep=told.sep, encoding=told.encoding):
        if isinstance(source, TextSource) and has_header(source, told, ("user", "item")):
            source.take_header()
        asked = {role: told.asked[role] for role in ("user", "item")}
        if source.named:
            at = pick_columns(source.names, asked, source.name, ("user", "item"), known=told.known)
        else:
            named = {r: position_of(source.names, c, r, source.name) for r, c in asked.items() if c is not None}
            at = {"user": 0, "item": 1} | named
        for arrays in source.batches([at["user"], at["item"]]):
            for texts, array, role in zip(found, arrays, ("user", "item"), strict=True):
                ids = IdColumn(role)
                codes = ids.read(array, source, 0, frozenset())
                names = list(ids.texts)
                texts.extend(names[code] for code in codes.tolist())
    return found


def list_columns(source: Source, told: Reading) -> tuple[dict[str, int], set[str]]:
    """Return the column of each role of a list, and the roles whose columns have no usual name and were not named."""
    if source.named:
        at = pick_columns(source.names, told.asked, source.name, known=told.known,
                          by_place=source.path is not None, implicit=told.implicit)  # fmt: skip
    else:
        at = {"user": 0, "item": 1, "value": 2} | {
            role: position_of(source.names, c, role, source.name) for role, c in told.asked.items() if c is not None
        }
        if told.implicit and len(source.names) == 2:
            del at["value"]
    guessed = {r for r in at if told.asked[r] is None and usual_columns(source.names, told.known).get(r) != at[r]}
    if source.named and guessed:
        refuse_wide(source, at, guessed, told)
    return at, guessed


def _list(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Part:
    """One row for each rating, or for each yes where no column is the value."""
    at, guessed = list_columns(source, told)
    title = title_column(source.names, at.values()) if source.named else None
    form = told.notation
    gone = frozenset(mark for mark in form.missing if mark.casefold() in BLANK_WORDS)
    values, weights = ValueColumn(form), ValueColumn(Notation(None, (), form.decimal, form.thousands), "weight")
    keys: list[list[NDArray[np.int32]]] = [[], []]
    titles: dict[int, str] = {}
    n_rows = 0
    for columns in source.batches([*at.values(), *([] if title is None else [title])]):
        role = dict(zip([*at, "title"], columns, strict=False))

        for side, ids, found in (("user", users, keys[0]), ("item", items, keys[1])):
            found.append(ids.read(role[side], source, n_rows, gone))
        if "value" in at:
            values.read(role["value"])
        if "weight" in at:
            weights.read(role["weight"])
        if title is not None:
            known, where = np.unique(keys[1][-1], return_index=True)
            for key, text in zip(known.tolist(), role["title"].take(pa.array(where)).to_pylist(), strict=True):
                if text is not None and str(text).strip():
                    titles.setdefault(key, str(text).strip())
        n_rows += len(columns[0])
    u, i = (np.concatenate(found) if found else np.empty(0, np.int32) for found in keys)
    source.check(text for side in (users, items) for text in side.texts)
    try:
        ratings = values.finish(source.place) if "value" in at else np.ones(n_rows)
    except DataError:
        if "value" in guessed and source.named:
            refuse_text(source, at)
        raise
    mass = weights.finish(source.place) if "weight" in at else np.empty(0)
    missing = np.isnan(ratings) | (u < 0) | (i < 0)
    rows = np.flatnonzero(~missing) if missing.any() else None
    if rows is not None:
        u, i, ratings, mass = u[rows], i[rows], ratings[rows], mass[rows] if mass.size else mass
    named = {r: str(source.names[at[r]]) if source.named else f"column {at[r]}" for r in at}
    if title is not None:
        named["title"] = str(source.names[title])
    used = {*at.values(), title, index_column(source.names)}
    other = [str(n) for k, n in enumerate(source.names) if source.named and k not in used]
    layout = TableLayout(
        "list" if "value" in at else "only yes",
        named,
        tuple(n for n in other if n),
        **source.written,
    )
    n_missing = int(missing.sum())
    return Part(source, layout, u, i, ratings, mass, rows, n_missing, values.words, values.decimal, titles)


def wide_columns(source: Source, told: Reading) -> tuple[int, list[int], list[str]]:
    """Return the column of the users of a wide table, those of the items, and the ids of these."""
    names = source.names
    user = pick_columns(names, {"user": told.user}, source.name, ("user",), known=told.known, wide=True)["user"]
    index = index_column(names)
    if told.user is None and index is not None and _names_rows(source, index, user):
        user = index
    chosen = [position_of(names, column, "item", source.name) for column in told.keep or ()]
    left_out = {position_of(names, column, "item", source.name) for column in told.ignore}
    every = range(len(names)) if told.keep is None else dict.fromkeys(chosen)
    at = [k for k in every if k not in (user, index) and k not in left_out]
    if not 1 <= len(at) <= _MOST_ITEMS:
        raise DataError(
            f"{source.name}: a wide table has a column of users and 1 to {_MOST_ITEMS:,} items, got {len(at)} items."
        )
    texts = [str(names[k]).strip() for k in at]
    if "" in texts:
        blank = at[texts.index("")]
        raise DataError(f"{source.name}: column {blank} has no name. Name it, or leave it out with ignore={blank}.")
    if twin := next((text for text in texts if texts.count(text) > 1), None) if len({*texts}) < len(texts) else None:
        places = [k for k, text in zip(at, texts, strict=True) if text == twin]
        raise DataError(f"{source.name}: columns {places[0]} and {places[1]} are both called {twin!r}.")
    return user, at, texts


def _names_rows(source: Source, index: int, user: int) -> bool:
    """Tell whether a column without a name holds the users, and not the numbers of rows beside a column of users."""
    name = source.names[user]
    if candidates([name], "user") or plain(name) in ID_NAMES:
        return False
    cells = head(source)
    return not cells or could_be_values(cells[user]) or not all(is_whole(text_of(cell)) for cell in cells[index])


def _wide(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Part:
    """One row for each user, one column for each item; empty cells are missing."""
    user, at, texts = wide_columns(source, told)
    names = source.names
    gone = frozenset(mark for mark in told.notation.missing if mark.casefold() in BLANK_WORDS)
    columns, keys, n_rows = [ValueColumn(told.notation) for _ in at], [], 0
    for arrays in source.batches([user, *at]):
        keys.append(users.read(arrays[0], source, n_rows, gone))
        for column, array in zip(columns, arrays[1:], strict=True):
            column.read(array)
        n_rows += len(arrays[0])
    source.check(users.texts)
    whole = Notation(None, (*told.notation.missing, ""), told.notation.decimal)
    decimal = None
    if told.notation.decimal == "auto" and any("," in t for c in columns for t in c.texts()):
        shared = {t: None for c in columns for t in c.texts() if looks_like_number(t)}
        try:
            decimal = numbers_of(list(shared), whole).decimal
        except UnreadableError:
            decimal = None
    parts = []
    for name, column in zip(texts, columns, strict=True):
        try:
            parts.append(column.finish(source.place, empty=True, decimal=decimal, beside=columns))
        except DataError as error:
            raise DataError(f"Column {name!r}: {error} Or leave the column out with ignore={name!r}.") from None
    if told.scale == "column":
        parts = [_by_itself(part) for part in parts]
    table = np.stack(parts, axis=1) if n_rows else np.empty((0, len(at)))
    row, number = np.nonzero(~np.isnan(table))
    if told.scale == "table" and told.request.is_open:
        refuse_codes(*points_in(table[row, number]), lambda code: source.place(int(row[table[row, number] == code][0])))
        refuse_scales(source.name, texts, parts, [bool(column.words) for column in columns])
    coded = np.fromiter((items.texts[text] for text in texts), np.int32, len(texts))
    shown = texts[0] if len(texts) == 1 else f"{len(texts):,} columns, {texts[0]} to {texts[-1]}"
    used = {user, *at}
    ignored = tuple(str(name) for k, name in enumerate(names) if k not in used and str(name))
    user_name = "index" if user == index_column(names) else str(names[user])
    layout = TableLayout("wide", {"user": user_name, "items": shown}, ignored, **source.written)
    u = np.concatenate(keys) if keys else np.empty(0, np.int32)
    words = {word: number for column in columns for word, number in column.words.items()}
    found = next((column.decimal for column in columns if column.decimal), None)
    return Part(source, layout, u[row], coded[number], table[row, number], np.empty(0), row, table.size - row.size,
                words, found, {})  # fmt: skip


def _by_itself(column: Floats) -> Floats:
    """Return a column between its own ends."""
    low, high = np.nanmin(column, initial=np.inf), np.nanmax(column, initial=-np.inf)
    return (column - low) / (high - low) if high > low else np.where(np.isnan(column), column, 1.0)


# --- all of them ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """What sources hold together: ids in order, entries on their scale, titles, and what was understood."""

    users: list[str]
    items: list[str]
    entries: Entries
    scale: Scale
    titles: Mapping[str, str]
    about: Provenance
    place: Callable[[int], str]


def gathered(sources: Sequence[Source], told: Reading) -> Table:
    """Read sources into memory: three numbers of 32 bits for each record, and every distinct text once."""
    users, items = IdColumn("user"), IdColumn("item")
    parts = [part_of(source, told, users, items) for source in sources]
    extent = Extent()
    for part in parts:
        extent = extent.joined(
            told.request.check(part.ratings, part.weights if part.weights.size else None, part.place)
        )
    ratings = np.concatenate([part.ratings for part in parts])
    points, counts = points_in(ratings)

    def place_of(code: float) -> str:
        part = next(part for part in parts if (part.ratings == code).any())
        return part.place(int(np.argmax(part.ratings == code)))

    if told.request.is_open and not told.wide:
        refuse_codes(points, counts, place_of)
    keys = [np.concatenate([getattr(part, side) for part in parts]) for side in ("users", "items")]
    weighed = any(part.weights.size for part in parts)
    mass = [part.weights if part.weights.size else np.ones(part.ratings.size) for part in parts if weighed]
    weights = np.concatenate([np.empty(0), *mass])
    ends = np.cumsum([part.ratings.size for part in parts])
    # What follows needs no more of the parts than their places and words, and memory for all else.
    nothing, none = np.empty(0), np.empty(0, np.int32)
    parts = [replace(part, users=none, items=none, ratings=nothing, weights=nothing) for part in parts]
    del mass
    names = [side.finish(keys.pop(0)) for side in (users, items)]
    scale = told.request.scale_between(extent)
    entries = Entries(names[0][1], names[1][1], scale.probability(ratings), weights)

    def place(record: int) -> str:
        number = int(np.searchsorted(ends, record, side="right"))
        return parts[number].place(record - (int(ends[number - 1]) if number else 0))

    every = list(items.texts)
    titles = {every[key]: text for part in parts for key, text in part.titles.items() if key >= 0}
    words = {word: number for part in parts for word, number in part.words.items()}
    decimal = next((part.decimal for part in parts if part.decimal), None)
    recipe = {k: v for k, v in told.to_dict().items() if k not in ("minimum", "maximum", "scaling")}
    about = Provenance(
        parts[0].layout,
        decimal,
        dict(islice(words.items(), _MOST_POINTS)),
        points_of(points if points.size else None, extent.low, extent.high),
        str(scale),
        int(ends[-1]),
        sum(part.n_missing for part in parts),
        0,
        "once" if told.merging != told.duplicates else told.duplicates,
        recipe | ({"decimal": ","} if decimal == "," else {}),
        "" if parts[0].source.path in (None, "-") else Path(str(parts[0].source.path)).name.split(".")[0],
    )
    return Table(names[0][0], names[1][0], entries, scale, titles, about, place)


def points_in(ratings: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct ratings, and how often each occurs; none where they are many."""
    if np.unique(ratings[:10_000]).size <= _MOST_POINTS:
        points, counts = np.unique(ratings, return_counts=True)
        if points.size <= _MOST_POINTS:
            return points, counts
    return np.empty(0), np.empty(0, dtype=np.int64)
