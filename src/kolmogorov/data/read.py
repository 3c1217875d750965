"""`read_ratings` and `pack`: ratings of almost any make become entries; what is guessed is said.

A source is read once: ids become keys, and of columns of values distinct cells are kept (`records_of`). Then these are
understood (`part_of`), and what all sources hold is put together (`gathered`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache, reduce
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.progress import notice
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import AUTO, BOOLEAN, Requirement, check_parameters, one_of
from kolmogorov.data.columns import (
    ID_NAMES,
    ROLES,
    candidates,
    could_be_values,
    head,
    index_column,
    pick_columns,
    plain,
    position_of,
    refuse_codes,
    refuse_scales,
    refuse_text,
    refuse_wide,
    title_column,
    usual_columns,
)
from kolmogorov.data.observations import Observations, check_any
from kolmogorov.data.packed import check_free, write_table
from kolmogorov.data.provenance import Provenance, points_of
from kolmogorov.data.scale import Extent, Terms
from kolmogorov.data.sources import Source, TextSource, sources_of
from kolmogorov.data.titles import texts_of
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
from kolmogorov.data.vocabulary import Coder, Vocabulary, id_text, in_order, is_whole
from kolmogorov.errors import DataError, ParameterError

#: Columns of a wide table, at most: each is looked at by itself. Distinct ratings that are told.
_MOST_ITEMS, _MOST_POINTS = 1_000_000, 64
_TEXT = Requirement("a text", lambda value: isinstance(value, str) and bool(value))
_RULES: dict[str, Requirement] = {
    "sep": _TEXT,
    "encoding": _TEXT,
    "header": BOOLEAN | AUTO,
    "wide": BOOLEAN,
    "implicit": BOOLEAN,
    "scale": one_of(("table", "column")),
}


@dataclass(frozen=True, kw_only=True)
class Reading(Terms):
    """What a reader is told, checked; each is said in `read_ratings`."""

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
    scale: str = "table"
    encoding: str = "auto"
    titles: Any = None
    #: Names that columns had in another file; they go before usual ones, where there are any such columns.
    known: Mapping[str, Any] = field(default_factory=dict, repr=False)
    notation: Notation = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameters("Reading", vars(self), _RULES)
        role = next((role for role in ("item", "value", "weight") if self.asked[role] is not None), None)
        if self.wide and role:
            raise ParameterError(f"In a wide table every column but the user's is an item. Leave out {role}=.")
        if self.wide and self.implicit:
            raise ParameterError("implicit=True is for a list of pairs; a wide table has a value in each cell.")
        for name in ("keep", "ignore"):
            given = getattr(self, name)
            columns = given if given is None else (given,) if isinstance(given, (str, int)) else tuple(given)
            if columns and not self.wide:
                raise ParameterError(f"{name} goes only with a wide table. A list ignores other columns anyway.")
            vars(self)[name] = columns
        vars(self)["notation"] = Notation.of(self.map, self.missing, self.decimal, self.thousands)

    @property
    def asked(self) -> dict[str, Any]:
        """The columns by role."""
        return {role: getattr(self, role) for role in (*ROLES, "weight")}

    @property
    def merging(self) -> Any:
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
        """Return the options of a recipe, over which those given go; its columns are looked for, not asked for."""
        known = {role: recipe[role] for role in ROLES if isinstance(recipe.get(role), str)}
        names = {option.name for option in fields(cls) if option.init}
        return cls(**{k: v for k, v in recipe.items() if k in names and k not in known} | dict(given), known=known)


def read_ratings(
    source: Any,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    value: str | int | None = None,
    weight: str | int | None = None,
    sep: str = "auto",
    header: bool | str = "auto",
    wide: bool = False,
    keep: Any = None,
    ignore: Any = (),
    implicit: bool = False,
    map: Mapping[Any, float] | None = None,
    missing: Any = (),
    decimal: str = "auto",
    thousands: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "auto",
    scale: str = "table",
    duplicates: str = "error",
    encoding: str = "auto",
    titles: Any = None,
) -> Observations:
    """Read files, or other sources, of (user, item, rating) records.

    Takes comma, tab, semicolon, ``|``, ``::`` and whitespace separated text, with or without a header, plain or
    compressed (.gz, .bz2, .xz, .zst, .zip); Parquet and Arrow files; Excel sheets where python-calamine is installed;
    data frames of any library that speaks Arrow. Ids are texts. Values are numbers, or words that mean yes or no:
    ``yes`` and ``no``, ``true`` and ``false``, ``y`` and ``n``, ``+`` and ``-``, ``like`` and ``dislike``, the German
    and French yes and no, in small letters or capitals. ``50%`` is 0.5. What was understood is in
    `Observations.source`.

    Parameters
    ----------
    source : path, data frame or Arrow stream, or several of them
        "-" reads standard input, a directory stands for the parquet files in it. Several together are one table.
    user, item, value, weight : str or int, optional
        Columns by name or by position from 0. By default user, item and value are found by their usual names, else
        files have them in the first three columns, times and row numbers aside; there is no weight.
    sep : str
        The separator; "auto" looks at the first line, "whitespace" splits at runs of blanks.
    header : bool or "auto"
        Whether the first line names the columns; "auto" says so where it holds usual names or no number.
    wide : bool
        Whether there is one row for each user, whose id is in the first column unless `user` says otherwise, and one
        column for each item, with its id in the header; empty cells are missing.
    keep, ignore : str, int, or several of them, optional
        Of a wide table: the columns that are items, or those that are none, such as an age.
    implicit : bool
        Whether every line is a yes, as in a list of clicks or purchases: there need be no value, and a pair that is
        repeated counts once.
    map : dict, optional
        A number for each value, as ``{"yes": 1, "abstain": 0.5, "no": 0}``. There may be no others then.
    missing : str, number, or several of them
        What stands for a missing value; such records are left out. "" is an empty field. Nulls of frames are missing.
    decimal : {"auto", ".", ","}
        The decimal separator; "auto" takes a comma for one where it can be nothing else.
    thousands : str, optional
        The separator between groups of three digits.
    minimum, maximum : float, optional
        Ends of the rating scale, between -1e100 and 1e100. By default `maximum` is the largest value seen, or 1 where
        none exceeds 1.
    scaling : {"auto", "max", "minmax"}
        p = r / maximum as in the paper ("max"), or p = (r - minimum) / (maximum - minimum). "auto" takes the first,
        unless `minimum` is given or, where neither end is, some value is negative, or above 1 and neither whole nor
        half: then `minimum` is the smallest value.
    scale : {"table", "column"}
        Whether the columns of a wide table have one scale, or each its own, from its smallest to its largest value.
        Columns of different ranges are refused unless this, or `maximum`, says what they are.
    duplicates : {"error", "mean", "last"}
        What to do with several values for one (user, item). "mean" is weighted and adds the weights up.
    encoding : str
        Of a text file; "auto" tells UTF-8, UTF-16 and what Windows writes in Western Europe by the bytes.
    titles : dict, data frame or path, optional
        What the items are called, as in `Observations.with_titles`.

    Returns
    -------
    Observations

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("userId,movieId,rating\\n1,10,4.5\\n1,20,5\\n2,10,0.5\\n")
    >>> read_ratings(path)
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    Columns: user = userId, item = movieId, value = rating.
    File: separator comma, with header, decimal point, encoding utf-8.
    Ratings: 0.5 to 5 by 0.5, p = r / 5. 3 read, 0 missing.
    """
    given = dict(locals())
    return read_as_told(given.pop("source"), Reading(**given))


def read_as_told(source: Any, told: Reading) -> Observations:
    """Do as `read_ratings` with options that were put together."""
    # Ratings may take minutes to read, and titles that are not there are found out first.
    names = None if told.titles is None else texts_of(told.titles)
    found = gathered(sources_of(source, sep=told.sep, encoding=told.encoding), told)
    scale, called = found.scale, source if isinstance(source, (str, os.PathLike)) else "ratings"
    if told.maximum is None and told.scale == "table" and scale.minimum == 0.0:
        notice(f"{called}: maximum taken as {scale.maximum:g}, so {scale}")
    elif told.maximum is None and told.scale == "table":
        notice(f"{called}: the scale reaches from {scale.minimum:g} to {scale.maximum:g}, so {scale}")
    return found.with_titles(items=names)


def pack(source: Any, out: str | os.PathLike[str], **options: Any) -> Observations:
    """Write whatever `read_ratings` takes, or observations, to a packed table, and map it.

    Packing takes about 50 bytes of memory for a rating; what is packed takes 24 on disk, and none in memory.

    Parameters
    ----------
    source : path, data frame or Arrow stream, several of them, or Observations
    out : path
        The table, a folder. It takes this name when it is whole.
    **options
        Those of `read_ratings`.

    Returns
    -------
    Observations
        The table, mapped; the same as `Observations.open(out)`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "1.csv").write_text("user,item,rating\\nann,tea,5\\nbob,tea,4\\nann,rum,1\\n")
    >>> print(pack(folder / "1.csv", folder / "drinks", maximum=5))
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    told = Reading(**options)
    check_free(out)
    if isinstance(source, Observations):
        if told.to_dict():
            raise ParameterError("Observations have their columns and their scale; these options are for files.")
        table = source.with_titles(items=told.titles)
    else:
        table = read_as_told(source, told)
    check_any(table, "to pack")
    write_table(out, table.users, table.items, table.rows, table.scale, table.source)
    return Observations.open(out, verify=False)


# --- columns of cells, of which only distinct ones are looked at -----------------------------------------------------


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


class IdColumn:
    """The ids of one side, over all sources: texts, whatever they came as."""

    def __init__(self, what: str, missing: Sequence[str] = ()) -> None:
        self.what, self.texts = what, Coder()
        self._gone = {mark for mark in missing if mark.casefold() in BLANK_WORDS}
        # By the types of cells as well: True is 1 as a key.
        self._key = lru_cache(maxsize=None, typed=True)(self._key_of)

    def _key_of(self, cell: Any) -> int:
        """Return the key of a cell: -1 of what stands for nothing, -2 of what cannot be an id."""
        text = "" if cell is None else id_text(cell)
        if text is None or "\0" in text or not (text or text in self._gone):
            return -2
        return -1 if text in self._gone else self.texts[text]

    def read(self, column: Any, source: Source, row: int = 0) -> NDArray[np.int32]:
        """Return a key for each cell of rows that begin at one; -1 where it stands for nothing."""
        cells, codes = distinct(column)
        found = np.fromiter(map(self._key, cells), np.int32, len(cells))[codes]
        if (found < -1).any():
            at = int(np.argmax(found < -1))
            cell = cells[codes[at]]
            came = repr(cell) if cell not in (None, "") else "nothing. Drop such rows, or say missing=''"
            binary = ": this is not a text file" if "\0" in str(cell) else ""
            raise DataError(f"{source.place(row + at)}: the {self.what} must be an id, got {came}{binary}.")
        return found

    def finish(self, keys: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int32]]:
        """Return the ids of some keys in order, whole numbers as numbers go, and the rows of the keys."""
        every = list(self.texts)
        present = np.flatnonzero(np.bincount(keys, minlength=len(every))).tolist()
        found = in_order([every[key] for key in present], self.what)
        row_of = {text: row for row, text in enumerate(found)}
        return found, np.array([row_of.get(text, -1) for text in every], dtype=np.int32)[keys]


class ValueColumn:
    """The cells of a column of values, as numbers when all are known."""

    def __init__(self, form: Notation, what: str = "value") -> None:
        self._form, self._what, self._cells = form, what, Coder()
        self._parts: list[NDArray[Any]] = []
        #: The places of ordered categories, which are no numbers.
        self.order: dict[str, float] = {}
        self.words: dict[str, float] = {}
        self.decimal: str | None = None

    def read(self, column: Any) -> None:
        """Take some more cells."""
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if (number or pa.types.is_decimal(kind)) and self._form.map is None and not self._form.missing:
            self._parts.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
            return
        if pa.types.is_dictionary(kind) and kind.ordered:
            words = [text_of(cell) for cell in column.dictionary.to_pylist()]
            if not all(looks_like_number(word) or word.casefold() in PAIR_OF for word in words):
                self.order = {word: float(k) for k, word in enumerate(words, start=1)}
        cells, codes = distinct(column)
        keys = (-1 if cell is None else self._cells[cell] for cell in cells)
        self._parts.append(np.fromiter(keys, np.int32, len(cells))[codes])

    def texts(self) -> list[str]:
        """Return the distinct cells as texts."""
        return ["" if cell != cell else text_of(cell) for cell in self._cells]

    def said(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the distinct cells as texts, and then an empty one, and which of them each cell is."""
        codes = np.concatenate(self._parts) if self._parts else np.empty(0, np.int32)
        if codes.dtype != np.int32:
            numbers, codes = np.unique(codes, return_inverse=True)
            return np.array(["" if x != x else text_of(x) for x in numbers.tolist()], dtype=object), codes
        return np.array([*self.texts(), ""], dtype=object), codes

    def finish(
        self,
        place: Callable[[int], str],
        *,
        empty: bool = False,
        decimal: str | None = None,
        beside: Sequence[ValueColumn] = (),
    ) -> Floats:
        """Return the numbers, NaN where they are missing; columns `beside` may have more of the same words."""
        codes = np.concatenate(self._parts) if self._parts else np.empty(0)
        if codes.dtype != np.int32:
            return codes
        form, texts = self._form, self.texts()
        if self.order and not form.map:
            # The order of categories is that of the answers.
            form = Notation({word.casefold(): place for word, place in self.order.items()}, form.missing)
        if decimal is not None and form.decimal == "auto":
            form = Notation(form.map, form.missing, decimal, form.thousands)
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
            raise DataError(f"{place(int(np.argmax(codes == error.at)))}: {self._what} {said}") from None
        self.words, self.decimal = found.words, found.decimal
        return np.append(found.numbers, np.nan)[codes]


# --- one source -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Records:
    """A source whose ids are keys, and whose values are not understood yet."""

    source: Source
    #: Keys of the users of all rows; of the items of all rows, or of all columns of a wide table.
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    #: One, or one for each item of a wide table, or none where every line is a yes.
    columns: list[ValueColumn]
    weights: ValueColumn | None
    titles: Mapping[int, str]
    #: Columns by role; roles of those that have no usual name and were not named; and what is said of the columns.
    at: Mapping[str, int]
    guessed: set[str]
    about: Mapping[str, Any]


def records_of(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Records:
    """Read a source: one row for each rating, or for each user."""
    take_header(source, told)
    names, guessed = source.names, set[str]()
    if told.wide:
        at, values, texts = _wide_columns(source, told)
        shown = texts[0] if len(texts) == 1 else f"{len(texts):,} columns, {texts[0]} to {texts[-1]}"
        columns = {"user": "index" if at["user"] == index_column(names) else str(names[at["user"]]), "items": shown}
        partner = [np.fromiter((items.texts[text] for text in texts), np.int32, len(texts))]
    else:
        at, guessed = list_columns(source, told)
        title = title_column(names, at.values())
        at |= {} if title is None else {"title": title}
        values, partner = [at[role] for role in at if role == "value"], []
        columns = {role: str(names[k]) if source.named else f"column {k}" for role, k in at.items()}
    used = {*at.values(), *values, index_column(names)}
    ignored = [str(name) for k, name in enumerate(names) if k not in used and str(name)] if source.named else []
    kind = "wide" if told.wide else "list" if values else "only yes"

    form = told.notation
    found = [ValueColumn(form) for _ in values]
    weights = ValueColumn(Notation(None, (), form.decimal, form.thousands), "weight") if "weight" in at else None
    own: list[NDArray[np.int32]] = []
    titles: dict[int, str] = {}
    beside = {role: k for role, k in at.items() if role != "value"}
    n_rows = 0
    for arrays in source.batches([*beside.values(), *values]):
        cells = dict(zip(beside, arrays, strict=False))
        own.append(users.read(cells["user"], source, n_rows))
        if "item" in cells:
            partner.append(items.read(cells["item"], source, n_rows))
        if weights is not None:
            weights.read(cells["weight"])
        if "title" in cells:
            keys, where = np.unique(partner[-1], return_index=True)
            for key, text in zip(keys.tolist(), cells["title"].take(pa.array(where)).to_pylist(), strict=True):
                if text is not None and str(text).strip():
                    titles.setdefault(key, str(text).strip())
        for column, array in zip(found, arrays[len(beside) :], strict=True):
            column.read(array)
        n_rows += len(arrays[0])
    source.check(text for side in (users, items) for text in side.texts)
    sides = [np.concatenate(parts) if parts else np.empty(0, np.int32) for parts in (own, partner)]
    about = {"kind": kind, "columns": columns, "ignored": ignored, **source.written}
    return Records(source, sides[0], sides[1], found, weights, titles, at, guessed, about)


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
    begins = _begins(first[at], below, told.notation)
    unclear = first[at].casefold() in PAIR_OF and below in ("0", "1") and not begins
    if unclear and not any(map(looks_like_number, second[:at])):
        raise DataError(
            f"{source.name}: is the first line, {source.first_line[:60]!r}, a header or a rating? Say "
            "header=True or header=False."
        )
    return not begins


def _begins(first: str, second: str, form: Notation) -> bool:
    """Tell whether the first of two fields is a value as well, and not the name of a column above the second."""
    one, other = first.casefold(), second.casefold()
    if first in form.missing or form.map is not None:
        return first in form.missing or one in (form.map or {})
    if one in ("yes", "no", "true", "false", "ja", "nein", "wahr", "falsch", "oui", "non"):
        return True
    return one in PAIR_OF and (not other or second in form.missing or PAIR_OF[one] == PAIR_OF.get(other))


def list_columns(source: Source, told: Reading, roles: Sequence[str] = ROLES) -> tuple[dict[str, int], set[str]]:
    """Return the column of each role of a list, and the roles whose columns have no usual name and were not named."""
    asked = {role: told.asked[role] for role in (roles if "value" not in roles else (*roles, "weight"))}
    at = pick_columns(source.names, asked, source.name, roles, known=told.known, by_place=source.path is not None,
                      implicit=told.implicit)  # fmt: skip
    usual = usual_columns(source.names, told.known)
    guessed = {role for role in at if asked[role] is None and usual.get(role) != at[role]}
    if source.named and guessed:
        refuse_wide(source, at, guessed)
    return at, guessed


def _wide_columns(source: Source, told: Reading) -> tuple[dict[str, int], list[int], list[str]]:
    """Return the column of the users of a wide table, those of the items, and the ids of these."""
    names = source.names
    user = pick_columns(names, {"user": told.user}, source.name, ("user",), known=told.known, wide=True)["user"]
    index = index_column(names)
    if told.user is None and index is not None and _names_rows(source, index, user):
        user = index
    kept, left_out = ([position_of(names, c, "item", source.name) for c in told.keep or ()],
                      {position_of(names, c, "item", source.name) for c in told.ignore})  # fmt: skip
    every = range(len(names)) if told.keep is None else dict.fromkeys(kept)
    at = [k for k in every if k not in (user, index) and k not in left_out]
    if not 1 <= len(at) <= _MOST_ITEMS:
        raise DataError(
            f"{source.name}: a wide table has a column of users and 1 to {_MOST_ITEMS:,} items, got {len(at)} items."
        )
    places: dict[str, int] = {}
    for k in at:
        text = str(names[k]).strip()
        if not text:
            raise DataError(f"{source.name}: column {k} has no name. Name it, or leave it out with ignore={k}.")
        if places.setdefault(text, k) != k:
            raise DataError(f"{source.name}: columns {places[text]} and {k} are both called {text!r}.")
    return {"user": user}, at, list(places)


def _names_rows(source: Source, index: int, user: int) -> bool:
    """Tell whether a column without a name holds the users, and not the numbers of rows beside a column of users."""
    name = source.names[user]
    if candidates([name], "user") or plain(name) in ID_NAMES:
        return False
    cells = head(source)
    return not cells or could_be_values(cells[user]) or not all(is_whole(text_of(cell)) for cell in cells[index])


def read_pairs(path: Any, told: Reading) -> tuple[list[str], list[str]]:
    """Read a file of users and items; further columns are ignored."""
    found: tuple[list[str], list[str]] = ([], [])
    roles = ("user", "item")
    for source in sources_of(path, sep=told.sep, encoding=told.encoding):
        take_header(source, told, roles)
        at, _ = list_columns(source, told, roles)
        for arrays in source.batches([at[role] for role in roles]):
            for texts, array, role in zip(found, arrays, roles, strict=True):
                ids = IdColumn(role)
                keys = ids.read(array, source, len(texts))
                texts.extend(np.array([*ids.texts], dtype=object)[keys].tolist())
    return found


# --- from cells to ratings --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Part:
    """The ratings of one source: keys of users and items, numbers, weights (maybe none), and which cells they are."""

    records: Records
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    ratings: Floats
    weights: Floats
    #: Of each row, or of each cell of a wide table, whether it is a rating.
    kept: NDArray[np.bool_]
    #: The numbers of each column.
    columns: list[Floats]

    def place(self, record: int) -> str:
        """Name the place of a rating."""
        cell = int(np.flatnonzero(self.kept)[record])
        return self.records.source.place(cell // (self.kept.shape[1] if self.kept.ndim > 1 else 1))


def part_of(source: Source, told: Reading, users: IdColumn, items: IdColumn, *, empty: bool = False) -> Part:
    """Read the ratings of one source, which is refused where nothing is in it, unless it may be `empty`."""
    found = records_of(source, told, users, items)
    columns = _wide_numbers(found, told, items) if told.wide else [_list_numbers(found)]
    mass = np.empty(0) if found.weights is None else found.weights.finish(source.place)
    if told.wide:
        table = np.stack(columns, axis=1)
        kept = ~np.isnan(table) & (found.users >= 0)[:, None]
        row, column = np.nonzero(kept)
        part = Part(found, found.users[row], found.items[column], table[kept], mass, kept, columns)
    else:
        kept = ~np.isnan(columns[0]) & (found.users >= 0) & (found.items >= 0)
        weights = mass[kept] if mass.size else mass
        part = Part(found, found.users[kept], found.items[kept], columns[0][kept], weights, kept, [])
    if not empty and not part.ratings.size:
        if kept.size:
            raise DataError(f"{source.place(0)} and all others: every value is missing. Nothing is left to read.")
        raise nothing_there("here")
    return part


def _list_numbers(found: Records) -> Floats:
    """Return the values of a list."""
    if not found.columns:
        return np.ones(found.users.size)
    try:
        return found.columns[0].finish(found.source.place)
    except DataError:
        if "value" in found.guessed and found.source.named:
            refuse_text(found.source, found.at)
        raise


def _wide_numbers(found: Records, told: Reading, items: IdColumn) -> list[Floats]:
    """Return the values of each column of a wide table, whose decimals are written alike."""
    decimal, every = None, [text for column in found.columns for text in column.texts()]
    if any("," in text for text in every):
        with suppress(UnreadableError):
            shared = list(dict.fromkeys(filter(looks_like_number, every)))
            decimal = numbers_of(shared, Notation(None, told.notation.missing, told.notation.decimal)).decimal
    names, numbers = list(items.texts), []
    for key, column in zip(found.items.tolist(), found.columns, strict=True):
        try:
            numbers.append(column.finish(found.source.place, empty=True, decimal=decimal, beside=found.columns))
        except DataError as error:
            name = names[key]
            raise DataError(f"Column {name!r}: {error} Or leave the column out with ignore={name!r}.") from None
    return [_by_itself(column) for column in numbers] if told.scale == "column" else numbers


def _by_itself(column: Floats) -> Floats:
    """Return a column between its own ends."""
    low, high = np.nanmin(column, initial=np.inf), np.nanmax(column, initial=-np.inf)
    return (column - low) / (high - low) if high > low else np.where(np.isnan(column), column, 1.0)


# --- all sources ------------------------------------------------------------------------------------------------------


def gathered(sources: Sequence[Source], told: Reading) -> Observations:
    """Read sources into memory: three numbers of 32 bits for each record, and every distinct text once."""
    users, items = (IdColumn(what, told.notation.missing) for what in ("user", "item"))
    parts = [part_of(source, told, users, items) for source in sources]
    extents = [told.check(part.ratings, part.weights if part.weights.size else None, part.place) for part in parts]
    extent = reduce(Extent.joined, extents)
    ratings = np.concatenate([part.ratings for part in parts])
    ends = np.cumsum([part.ratings.size for part in parts])

    def place(record: int) -> str:
        number = int(np.searchsorted(ends, record, side="right"))
        return parts[number].place(record - (int(ends[number - 1]) if number else 0))

    points, counts = points_in(ratings)
    every = list(items.texts)
    if told.is_open and told.scale == "table":
        refuse_codes(points, counts, lambda code: place(int(np.argmax(ratings == code))))
        for part in parts if told.wide else ():
            names = [every[key] for key in part.records.items.tolist()]
            refuse_scales(part.records.source.name, names, part.columns, [bool(c.words) for c in part.records.columns])
    weighed = any(part.weights.size for part in parts)
    mass = [part.weights if part.weights.size else np.ones(part.ratings.size) for part in parts if weighed]
    weights = np.concatenate([np.empty(0), *mass])
    keys = [np.concatenate([getattr(part, side) for part in parts]) for side in ("users", "items")]
    del mass
    for part in parts:
        # What follows needs no more of the parts than their places and words, and memory for all else.
        part.users = part.items = np.empty(0, np.int32)
        part.ratings, part.weights, part.columns = np.empty(0), np.empty(0), []
    names = [side.finish(keys.pop(0)) for side in (users, items)]
    scale = told.scale_between(extent)
    entries = Entries(names[0][1], names[1][1], scale.probability(ratings), weights)
    found = Observations.assembled(
        Vocabulary(names[0][0]), Vocabulary(names[1][0]), entries, scale, told.merging, place
    )

    titles = {every[key]: text for part in parts for key, text in part.records.titles.items() if key >= 0}
    columns = [column for part in parts for column in part.records.columns]
    words = {word: number for column in columns for word, number in column.words.items()}
    decimal = next((column.decimal for column in columns if column.decimal), None)
    recipe = {k: v for k, v in told.to_dict().items() if k not in ("minimum", "maximum", "scaling")}
    path = parts[0].records.source.path
    about = Provenance(
        **parts[0].records.about,
        decimal=decimal,
        words=dict(islice(words.items(), _MOST_POINTS)),
        points=points_of(points, extent.low, extent.high),
        scale=str(scale),
        n_records=int(ends[-1]),
        n_missing=sum(part.kept.size for part in parts) - int(ends[-1]),
        n_repeats=int(ends[-1]) - len(found),
        duplicates="once" if told.merging != told.duplicates else told.duplicates,
        recipe=recipe | ({"decimal": ","} if decimal == "," else {}),
        name="" if path in (None, "-") else Path(str(path)).name.split(".")[0],
    )
    return found.over(items=found.items.with_labels(titles) if titles else found.items, source=about)


def points_in(ratings: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct ratings, and how often each occurs; none where they are many."""
    if np.unique(ratings[:10_000]).size <= _MOST_POINTS:
        points, counts = np.unique(ratings, return_counts=True)
        if points.size <= _MOST_POINTS:
            return points, counts
    return np.empty(0), np.empty(0, dtype=np.int64)
