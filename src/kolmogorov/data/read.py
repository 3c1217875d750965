"""`read_ratings`: lists and wide tables of any make become entries; what is guessed is said, what is in doubt asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.columns import (
    ID_NAMES,
    ROLES,
    candidates,
    index_column,
    is_time,
    listed,
    pick_columns,
    plain,
    position_of,
    title_column,
    usual_columns,
)
from kolmogorov.data.provenance import Provenance, TableLayout, points_of
from kolmogorov.data.scale import Extent, Scale, ScaleRequest
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
from kolmogorov.data.vocabulary import Coder, id_text, is_whole
from kolmogorov.errors import DataError, ParameterError

#: Columns of a wide table, at most: each is looked at by itself.
_MOST_ITEMS = 1_000_000
#: Distinct ratings that are told, and rows that are looked at where the kind of table is in doubt.
_MOST_POINTS, _LOOKED_AT = 64, 1_000
#: Cells that tell what is in a column.
_TELLING = 8
#: A code such as 99 lies beyond so many times the other values, is rare, and those are few and whole.
_FAR, _RARE, _FEW = 3.0, 0.1, 12
_WORDS = {
    "header": (True, False, "auto"),
    "wide": (True, False),
    "implicit": (True, False),
    "scaling": ("auto", "max", "minmax"),
    "scale": ("table", "column"),
    "duplicates": ("error", "mean", "last"),
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a reader is told, checked; each is said in `kolmogorov.read_ratings`.

    Examples
    --------
    >>> Reading(map={"Yes": 1, "No": 0}, missing=99, maximum=1).to_dict()
    {'map': {'yes': 1.0, 'no': 0.0}, 'missing': ['99'], 'maximum': 1}
    """

    user: Any = None
    item: Any = None
    value: Any = None
    weight: Any = None
    sep: str = "auto"
    header: bool | str = "auto"
    wide: bool = False
    keep: Any = None
    ignore: Any = ()
    implicit: bool = False
    map: Mapping[Any, float] | None = None
    missing: Any = ()
    decimal: str = "auto"
    thousands: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    scaling: str = "auto"
    scale: str = "table"
    duplicates: str = "error"
    encoding: str = "auto"
    titles: Any = None
    #: Names that columns had in another file; they go before usual ones, where there are any such columns.
    known: Mapping[str, Any] = field(default_factory=dict, repr=False)
    notation: Notation = field(init=False, repr=False, compare=False)
    request: ScaleRequest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            if not any(getattr(self, name) is word or getattr(self, name) == word != 1 for word in words):
                shown = ", ".join(map(repr, words))
                raise ParameterError(f"{name} must be one of {shown}, got {getattr(self, name)!r}.")
        for name in ("sep", "encoding"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ParameterError(f"{name} must be a text, got {getattr(self, name)!r}.")
        role = next((role for role in ("item", "value", "weight") if getattr(self, role) is not None), None)
        if self.wide and role:
            raise ParameterError(f"In a wide table every column but the user's is an item. Leave out {role}=.")
        if self.wide and self.implicit:
            raise ParameterError("implicit=True is for a list of pairs; a wide table has a value in each cell.")
        for name in ("keep", "ignore"):
            given = getattr(self, name)
            columns = given if given is None else (given,) if isinstance(given, (str, int)) else tuple(given)
            if columns and not self.wide:
                raise ParameterError(f"{name} goes only with a wide table. A list ignores other columns anyway.")
            object.__setattr__(self, name, columns)
        object.__setattr__(self, "notation", Notation.of(self.map, self.missing, self.decimal, self.thousands))
        object.__setattr__(self, "request", ScaleRequest(self.minimum, self.maximum, self.scaling))

    @property
    def asked(self) -> dict[str, Any]:
        """The columns by role."""
        return {role: getattr(self, role) for role in ("user", "item", "value", "weight")}

    @property
    def merging(self) -> str:
        """What is done with several values of a pair; clicks are repeated as a matter of course, and count once."""
        return "mean" if self.implicit and self.duplicates == "error" else self.duplicates

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as plain values, for a file; titles are no part of it."""
        defaults = {option.name: option.default for option in fields(self) if option.init}
        given = {name: getattr(self, name) for name in defaults if name not in ("titles", "known")}
        given |= {"map": self.notation.map, "missing": list(self.notation.missing) or ()}
        given |= {"ignore": list(self.ignore) or (), "keep": None if self.keep is None else list(self.keep)}
        return {name: value for name, value in given.items() if value != defaults[name]}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any], given: Mapping[str, Any]) -> Reading:
        """Return the options of a recipe, over which those given go; its columns are looked for by name, not asked for.

        Examples
        --------
        >>> told = Reading.of_recipe({"user": "Who", "decimal": ","}, {"sep": ";"})
        >>> told.user, dict(told.known), told.decimal, told.sep
        (None, {'user': 'Who'}, ',', ';')
        """
        known = {role: recipe[role] for role in ("user", "item", "value") if isinstance(recipe.get(role), str)}
        names = {option.name for option in fields(cls) if option.init}
        return cls(**{k: v for k, v in recipe.items() if k in names and k not in known} | dict(given), known=known)


# --- columns of cells, which come batch by batch ----------------------------------------------------------------------


def distinct(column: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return the distinct cells of an Arrow column, and then None, and which of them each cell is."""
    if pa.types.is_nested(column.type):
        # Nothing that is asked for holds lists: what does is shown in an error.
        cells: list[Any] = [None if cell is None else (str(cell),) for cell in column.to_pylist()]
        return [*cells, None], np.arange(len(cells))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = column.dictionary
    quick = pa.types.is_string(texts.type)
    listed = texts.to_numpy(zero_copy_only=False).tolist() if quick else texts.to_pylist()
    return [*listed, None], column.indices.fill_null(len(listed)).to_numpy(zero_copy_only=False)


def cell_codes(coder: Coder, column: Any) -> NDArray[np.int32]:
    """Return the number of each cell of an Arrow column, -1 where it is empty."""
    cells, codes = distinct(column)
    numbers = np.fromiter((-1 if cell is None else coder[cell] for cell in cells), np.int32, len(cells))
    return numbers[codes]


class _Keys(dict[Any, int]):
    """The key of each cell that may be an id: -1 of what stands for nothing, -2 of what cannot be one."""

    def __init__(self, texts: Coder, gone: frozenset[str]) -> None:
        self._texts, self._gone = texts, gone

    def __missing__(self, cell: Any) -> int:
        text = "" if cell is None else id_text(cell)
        possible = text is not None and "\0" not in text and (text or "" in self._gone)
        self[cell] = key = -2 if not possible else -1 if text in self._gone else self._texts[text]
        return key


class IdColumn:
    """The ids of one side, over all sources: texts, whatever they came as."""

    def __init__(self, what: str) -> None:
        self.what, self.texts = what, Coder()
        # By the type of the column as well: True is 1 as a key.
        self._keys: dict[Any, _Keys] = {}

    def read(self, column: Any, place: Callable[[int], str], gone: frozenset[str]) -> NDArray[np.int32]:
        """Return a key for each cell, -1 where it is one of the texts that stand for nothing."""
        cells, codes = distinct(column)
        keys = self._keys.setdefault((str(column.type), gone), _Keys(self.texts, gone))
        found = np.fromiter(map(keys.__getitem__, cells), np.int32, len(cells))[codes]
        if (found < -1).any():
            at = int(np.argmax(found < -1))
            cell = cells[codes[at]]
            came = repr(cell) if cell not in (None, "") else "nothing. Drop such rows, or say missing=''"
            binary = ": this is not a text file" if "\0" in str(cell) else ""
            raise DataError(f"{place(at)}: the {self.what} must be an id, got {came}{binary}.")
        return found

    def finish(self, keys: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int32]]:
        """Return the ids of some keys in order, whole numbers as numbers go, and the rows of the keys."""
        every = list(self.texts)
        present = np.flatnonzero(np.bincount(keys, minlength=len(every))).tolist()
        texts = [every[key] for key in present]
        found = ids_in_order(texts, self.what)
        row_of = {text: row for row, text in enumerate(found)}
        return found, np.array([row_of.get(text, -1) for text in every], dtype=np.int32)[keys]


def ids_in_order(texts: Collection[str], what: str) -> list[str]:
    """Return distinct ids in order, and refuse a word for nothing that is alone among numbers."""
    odd = [text for text in texts if not is_whole(text)]
    if len(odd) == 1 < len(texts) and odd[0].casefold() in BLANK_WORDS:
        raise DataError(
            f"The {what} is {odd[0]!r} in some lines and a number in all others: it seems to be missing. To leave such "
            f"lines out, say missing={odd[0]!r}."
        )
    return sorted(texts) if odd else sorted(texts, key=int)


class ValueColumn:
    """The cells of a column of values, as numbers when all are known."""

    def __init__(self, form: Notation, what: str = "value") -> None:
        self.what, self._form = what, form
        self._cells = Coder()
        self._parts: list[NDArray[Any]] = []
        self.words: Mapping[str, float] = {}
        self.decimal: str | None = None

    def read(self, column: Any) -> None:
        """Take some more cells."""
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if (number or pa.types.is_decimal(kind)) and self._form.map is None and not self._form.missing:
            self._parts.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        else:
            if pa.types.is_dictionary(kind) and kind.ordered and not self._cells:
                # The order of categories is that of the answers.
                ordered = column.dictionary.to_pylist()
                if not all(isinstance(t, str) and (looks_like_number(t) or t.casefold() in PAIR_OF) for t in ordered):
                    meaning = {text_of(t).casefold(): float(k) for k, t in enumerate(ordered, start=1)}
                    self._form = self._form if self._form.map else Notation(meaning, self._form.missing)
            self._parts.append(cell_codes(self._cells, column))

    def texts(self) -> list[str]:
        """Return the distinct cells as texts."""
        return [text_of(cell) for cell in self._cells]

    def finish(
        self,
        place: Callable[[int], str],
        *,
        empty: bool = False,
        decimal: str | None = None,
        beside: Sequence[ValueColumn] = (),
    ) -> Floats:
        """Return the numbers, NaN where they are missing; columns `beside` may have more of the same words."""
        form = self._form
        if decimal is not None and form.decimal == "auto":
            form = Notation(form.map, form.missing, decimal, form.thousands)
        texts = self.texts()
        try:
            found = numbers_of(texts, form, empty_is_missing=empty)
        except UnreadableError as error:
            said = str(error)
            if beside and "map=" in said:
                # A map is for all columns.
                try:
                    numbers_of([*texts, *(t for other in beside for t in other.texts())], form, empty_is_missing=empty)
                except UnreadableError as wider:
                    said = str(wider) if "map=" in str(wider) else error.complaint
            here = [part == error.at if part.dtype == np.int32 else np.zeros(part.size, bool) for part in self._parts]
            raise DataError(f"{place(int(np.argmax(np.concatenate(here))))}: {self.what} {said}") from None
        self.words, self.decimal = found.words, found.decimal
        table = np.append(found.numbers, np.nan)
        parts = [table[part] if part.dtype == np.int32 else part for part in self._parts]
        return np.concatenate(parts) if parts else np.empty(0)


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
        line = source.first_line.strip()[:60]
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
            f"{source.name}: is the first line, {source.first_line.strip()[:60]!r}, a header or a rating? Say "
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
                codes = ids.read(array, source.place, frozenset())
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
        _refuse_wide(source, at, guessed, told)
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
        place = source.places(n_rows)
        for side, ids, found in (("user", users, keys[0]), ("item", items, keys[1])):
            found.append(ids.read(role[side], place, gone))
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
            _refuse_text(source, at)
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
    return not cells or _could_be_values(cells[user]) or not all(is_whole(text_of(cell)) for cell in cells[index])


def _wide(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Part:
    """One row for each user, one column for each item; empty cells are missing."""
    user, at, texts = wide_columns(source, told)
    names = source.names
    gone = frozenset(mark for mark in told.notation.missing if mark.casefold() in BLANK_WORDS)
    columns, keys, n_rows = [ValueColumn(told.notation) for _ in at], [], 0
    for arrays in source.batches([user, *at]):
        keys.append(users.read(arrays[0], source.places(n_rows), gone))
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


def head(source: Source) -> list[list[Any]]:
    """Return the first rows of all columns, by columns."""
    arrays = next(source.batches(range(len(source.names))), [])
    return [array.slice(0, _LOOKED_AT).to_pylist() for array in arrays]


def _could_be_values(cells: Sequence[Any]) -> bool:
    """Tell whether cells are numbers or yes and no, empty ones aside."""
    texts = [text_of(cell) for cell in cells if cell is not None and text_of(cell).casefold() not in BLANK_WORDS]
    return bool(texts) and all(looks_like_number(text) or text.casefold() in PAIR_OF for text in texts)


def _refuse_wide(source: Source, at: Mapping[str, int], guessed: set[str], told: Reading) -> None:
    """Refuse a table whose columns have no usual names, where all but the first few could be items."""
    if "value" not in guessed or not guessed & {"user", "item"}:
        return
    values = [k for k, cells in enumerate(head(source)) if k != at["user"] and _could_be_values(cells)]
    others = len(source.names) - 1
    if len(values) < 3 or 2 * len(values) < others or not ("item" in guessed or at["item"] in values):
        return
    raise DataError(
        f"{source.name}: is it a list of ratings, or one row per user and one column per item? The columns "
        f"{listed([source.names[k] for k in values], 4)} all hold values. If each is an item, say wide=True. If it is "
        "a list, name its columns with item= and value=."
    )


def _refuse_text(source: Source, at: Mapping[str, int]) -> None:
    """Refuse a column that was taken for the ratings and holds text, where others hold numbers."""
    others = [
        k
        for k, cells in enumerate(head(source))
        if k not in at.values() and not is_time(source.names[k]) and _could_be_values(cells)
    ]
    if others:
        shown = ", ".join(repr(str(source.names[k])) for k in others)
        raise DataError(
            f"{source.place(0)}: column {str(source.names[at['value']])!r} was taken for the ratings, and holds text. "
            f"Numbers are in: {shown}. For example, say value={source.names[others[0]]!r}."
        ) from None


def refuse_scales(name: str, names: Sequence[str], columns: Sequence[Floats], words: Sequence[bool]) -> None:
    """Refuse columns that are not on the scale of the others, with the ranges that there are."""
    known = [k for k, column in enumerate(columns) if (~np.isnan(column)).any()]
    if not known:
        return
    ends = {k: (float(np.nanmin(columns[k])), float(np.nanmax(columns[k]))) for k in known}
    strange = strange_columns(list(ends.values()), [columns[k] for k in known], [words[k] for k in known])
    if not strange:
        return
    apart = [known[k] for k in strange]
    shown = [f"{names[k]} {ends[k][0]:g} to {ends[k][1]:g}" for k in apart[:6]]
    rest = [ends[k] for k in known if k not in apart]
    usual = f"{min(low for low, _ in rest):g} to {max(high for _, high in rest):g}" if rest else "none"
    out = repr(names[apart[0]]) if len(apart) == 1 else repr([names[k] for k in apart])
    which = f"s {names[apart[0]]!r} and {len(apart) - 1} more are" if len(apart) > 1 else f" {names[apart[0]]!r} is"
    raise DataError(
        f"{name}: column{which} on another scale than the others: {', '.join(shown)}; the others {usual}. To leave "
        f"out what is no item, say ignore={out}. To scale each column by itself, say scale='column'. If all are on one "
        "scale, say which: maximum=."
    )


def strange_columns(ends: Sequence[Any], columns: Sequence[Floats], words: Sequence[bool]) -> list[int]:
    """Return the numbers of the columns that are not on the scale of the others.

    A column of yes and no beside others is strange, and one that lies far above them. Where half of the columns or more
    begin (or end) at the same number, that is an end of the scale, and whatever lies beyond it is strange.

    Examples
    --------
    >>> stars, ages = np.array([1.0, 5, 3]), np.array([18.0, 61, 44])
    >>> strange_columns([(1, 5), (1, 5), (18, 61)], [stars, stars, ages], [False] * 3)
    [2]
    """
    low, high = (np.array([end[k] for end in ends], dtype=float) for k in (0, 1))
    cells = np.array([int((~np.isnan(column)).sum()) for column in columns])

    bits = (low == 0.0) & (high == 1.0) & ((cells >= _TELLING) | np.array(words))
    beyond = (high > 1.0) | (low < 0.0)
    if bits.any() and beyond.any():
        return np.flatnonzero(beyond if beyond.sum() <= bits.sum() else bits).tolist()
    if len(ends) < 2:
        return []
    strange = (low > _FAR * max(float(np.median(high)), 1.0)) & (cells >= 2)
    sure = cells >= _TELLING
    if sure.sum() > 2:
        for end, sign in ((high, 1.0), (low, -1.0)):
            points, counts = np.unique(end[sure], return_counts=True)
            if 2 * counts.max() >= sure.sum():
                strange |= sure & (sign * end > sign * points[counts.argmax()])
            else:
                span = max(float(np.median(high[sure]) - np.median(low[sure])), 1e-12)
                strange |= sure & (sign * (end - np.median(end[sure])) > 2.0 * span)
    return np.flatnonzero(strange).tolist() if not strange.all() else []


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


def refuse_codes(points: Floats, counts: NDArray[np.int64], place_of: Callable[[float], str]) -> None:
    """Refuse a value such as 99 or -9 beside 1 to 5, which means that there is none."""
    for at, others in ((-1, points[:-1]), (0, points[1:])):
        if not 2 <= others.size <= _FEW or (points % 1.0).any():
            continue
        code, low, high, share = float(points[at]), others[0], others[-1], float(counts[at] / counts.sum())
        far = abs(code) > _FAR * max(abs(low), abs(high), 1.0) or (code < 0.0 <= low and low - code > high - low)
        if not far or share > _RARE:
            continue
        raise DataError(
            f"{place_of(code)}: the value {code:g} lies far outside the others, {low:g} to {high:g}, and {share:.1%} "
            f"of the rows have it. If it means that there is no answer, say missing={code:g}. If it is one, say "
            f"{'maximum' if at else 'minimum'}={code:g}."
        )
