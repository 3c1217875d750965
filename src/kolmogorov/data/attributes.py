"""Attributes of users and items: frames with one row for each become blocks of standardised columns."""

from __future__ import annotations

import datetime
import math
import numbers
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.progress import notice, warn
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.columns import ID_NAMES, TITLE_NAMES, candidates, id_column, index_column
from kolmogorov.data.sources import TextSource, columns_of, is_table
from kolmogorov.data.values import BLANK_WORDS, PAIR_OF, looks_like_number
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError, InvariantError, KolmogorovWarning

Side = Literal["users", "items"]
Kind = Literal["number", "boolean", "category", "list"]
#: What stands between the entries of a list that is written as one text.
_BETWEEN = "|"
#: Texts that are a yes or a no beyond doubt, in small letters; a "t", a "+" or a "like" may be something else.
_DOUBTFUL = frozenset(("t", "f", "+", "-", "like", "dislike"))
_TRUTHS = {word: float(word == pair[0]) for word, pair in PAIR_OF.items() if word not in _DOUBTFUL}
#: Categories that fewer rows have count as none; by judgement. With more different ones an attribute is left out.
_RARE, MOST_CATEGORIES = 3, 1_000
#: The most columns of an attribute: those of its most frequent categories. By judgement.
_MOST_COLUMNS = 200
#: Texts that repeat less often than this, on average, are names of their rows. By judgement.
_REPEATED = 1.5
#: Names of columns of ids: id, film_id, imdbId, but not paid.
_ID = re.compile(r"(^|[^a-zA-Z])[iI][dD]$|[a-z0-9]I[dD]$")
#: So many whole numbers that all differ, at equal distances, count the rows. By judgement: fewer may be years.
_MANY = 100
#: Numbers count as so many standard deviations at most. By judgement.
_FARTHEST = 5.0
#: Spreads, of numbers of size 1, that are rounding.
_NOTHING = 1e-9
#: Characters of a cell that a sentence shows.
_SHOWN = 40


class UnusableError(ValueError):
    """An attribute says nothing, or nothing that can be used; the message says why."""


# --- cells ------------------------------------------------------------------------------------------------------------


def kind_of(cells: list[Any]) -> Kind | None:
    """Return the kind of cells, None where they are of none."""
    known = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, (bool, np.bool_)) or _word(cell) in _TRUTHS for cell in known):
        return "boolean"
    if all(_number(cell) is not None for cell in known):
        return "number"
    if all(isinstance(cell, (list, tuple, np.ndarray)) for cell in known):
        return "list"
    if not all(isinstance(cell, (str, numbers.Real)) for cell in known):
        return None
    return "list" if any(_BETWEEN in cell for cell in known if isinstance(cell, str)) else "category"


def _word(cell: Any) -> str | None:
    return cell.strip().casefold() if isinstance(cell, str) else None


def _number(cell: Any) -> float | None:
    """Return a cell as a number: a yes is 1, a no 0, and a date is days; None for one that is none."""
    if (word := _word(cell)) in _TRUTHS:
        return _TRUTHS[word]
    if isinstance(cell, datetime.datetime):
        return cell.toordinal() + (3600.0 * cell.hour + 60.0 * cell.minute + cell.second) / 86_400.0
    if isinstance(cell, datetime.date):
        return float(cell.toordinal())
    try:
        found = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _labels(kind: Kind, cell: Any) -> list[str]:
    """Return the categories that a cell names: the entries of a list, or itself."""
    if kind == "category":
        return [str(cell).strip()]
    parts = cell.split(_BETWEEN) if isinstance(cell, str) else cell if np.iterable(cell) else [cell]
    return [text for part in parts if part is not None and (text := str(part).strip())]


def _raw(kind: Kind, categories: tuple[str, ...], cells: list[Any]) -> Floats:
    """Return cells as numbers before they are standardised: one column, or one of 0 and 1 for each category.

    It is NaN where there is nothing.
    """
    if kind in ("number", "boolean"):
        found = map(_number, cells)
        return np.array([np.nan if number is None else number for number in found]).reshape(-1, 1)
    table, place = np.zeros((len(cells), len(categories))), {text: at for at, text in enumerate(categories)}
    for row, cell in enumerate(cells):
        if cell is None:
            table[row] = np.nan
        else:
            table[row, [place[text] for text in _labels(kind, cell) if text in place]] = 1.0
    return table


# --- one attribute ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attribute:
    """What one column of a frame is, and how it becomes numbers.

    A number has one column, a category or a list one for each of its `categories`. They are centred and divided by one
    `scale`, so that their variances sum to 1 over the rows that have the attribute: what is missing is 0 everywhere.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...]
    centre: tuple[float, ...]
    scale: float
    #: Categories that are too rare to have a column.
    n_rare: int = 0

    @classmethod
    def of(cls, name: str, cells: list[Any]) -> Attribute:
        """Recognise and learn an attribute; one that cannot be used raises `UnusableError`.

        Examples
        --------
        >>> job = Attribute.of("job", ["nurse", "engineer", None] * 4)
        >>> job.encode(["nurse", None, "pilot"]).round(2).tolist()
        [[-0.71, 0.71], [0.0, 0.0], [-0.71, -0.71]]
        """
        kind = kind_of(cells)
        if kind is None:
            raise UnusableError("neither numbers nor texts nor lists")
        if all(cell is None for cell in cells):
            raise UnusableError("empty")
        categories, n_rare = ((), 0) if kind in ("number", "boolean") else _categories(kind, cells)
        raw = _raw(kind, categories, cells)
        if kind == "number":
            _refuse_ids(name, raw[:, 0])
        # Numbers may be so large that their squares are not finite.
        size = max(float(np.nanmax(np.abs(raw))), np.finfo(float).tiny)
        centre, spread = np.nanmean(raw / size, axis=0) * size, np.sqrt(np.nanvar(raw / size, axis=0).sum())
        if not spread > _NOTHING:
            raise UnusableError("always the same")
        return cls(name, kind, categories, tuple(centre.tolist()), float(spread * size), n_rare)

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns are called in front of people."""
        return tuple(f"{self.name}: {category}" for category in self.categories) or (self.name,)

    @property
    def words(self) -> str:
        """What it was recognised as."""
        if not self.categories:
            return "yes or no" if self.kind == "boolean" else "number"
        kinds = f"{len(self.categories):,} {'categories' if self.kind == 'category' else 'categories, lists of them'}"
        return f"{kinds}, {self.n_rare:,} rarer left out" if self.n_rare else kinds

    def encode(self, cells: list[Any]) -> Floats:
        """Return cells as standardised numbers; float64[n, n_columns]."""
        found = (_raw(self.kind, self.categories, cells) - np.array(self.centre)) / self.scale
        return np.clip(np.where(np.isnan(found), 0.0, found), -_FARTHEST, _FARTHEST)

    def strange(self, cells: list[Any]) -> list[str]:
        """Return what cells hold that this attribute does not know: one text for each cell that holds any."""
        known = [cell for cell in cells if cell is not None]
        if not self.categories:
            return [str(cell) for cell in known if _number(cell) is None]
        others = ([text for text in _labels(self.kind, cell) if text not in self.categories] for cell in known)
        return [texts[0] for texts in others if texts]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Attribute:
        """Undo `to_dict`; what forms no attribute raises `InvariantError`."""
        found = cls(**stored | {name: tuple(stored[name]) for name in ("categories", "centre")})
        kinds = ("category", "list") if found.categories else ("number", "boolean")
        valid = found.kind in kinds and len(found.centre) == len(found.columns) and found.scale > 0.0
        valid &= all(isinstance(text, str) for text in (found.name, *found.categories))
        valid &= bool(np.isfinite(np.array([*found.centre, found.scale], dtype=np.float64)).all())
        if not valid or type(found.n_rare) is not int or found.n_rare < 0:
            raise InvariantError("an attribute is not valid")
        return found


def _refuse_ids(name: str, found: Floats) -> None:
    """Refuse whole numbers no two of which are the same, where their name or their even steps say that they are ids."""
    known = np.sort(found[~np.isnan(found)])
    steps = np.diff(known)
    if known.size < 2 or not (steps > 0).all() or (known % 1.0).any():
        return
    if _ID.search(name.strip()) or id_column([name], "user") == 0 or id_column([name], "item") == 0:
        raise UnusableError(f"a different id in each of {known.size:,} rows")
    if known.size >= _MANY and (steps == steps[0]).all():
        raise UnusableError(f"a number of the row: {known.size:,} of them at equal distances")


def _categories(kind: Kind, cells: list[Any]) -> tuple[tuple[str, ...], int]:
    """Return the categories that enough rows have, by name, and how many others there are."""
    counts = Counter(text for cell in cells if cell is not None for text in dict.fromkeys(_labels(kind, cell)))
    if kind == "category" and counts.total() < _REPEATED * len(counts):
        raise UnusableError(f"{len(counts):,} different texts in {counts.total():,} rows")
    if len(counts) > MOST_CATEGORIES:
        raise UnusableError(f"{len(counts):,} categories, at most {MOST_CATEGORIES:,} can be used")
    often = [text for text, count in counts.most_common(_MOST_COLUMNS) if count >= _RARE]
    if not often:
        raise UnusableError(f"no category of {_RARE} rows or more")
    return tuple(sorted(often)), len(counts) - len(often)


def block_sizes(columns: Iterable[Attribute]) -> tuple[int, ...]:
    """Return how many columns each attribute has."""
    return tuple(len(column.columns) for column in columns)


# --- frames and files -------------------------------------------------------------------------------------------------


class Sheet(NamedTuple):
    """The ids of users or items, which of them each row has, the name of their column, and all other cells by name.

    Cells are in the order of the ids.
    """

    ids: Vocabulary
    order: Rows
    id_name: str
    cells: dict[str, list[Any]]


def sheet_of(raw: Any, side: Side) -> Sheet:
    """Read a frame, or a file given by its path, with one row for each id.

    Ids are in the column with a usual name for them, such as user_id, or id, or member where no two rows have the same;
    else in pandas' index, where it is a column of its own; else in the first column, unless it names the other side.
    """
    if not isinstance(raw, (str, os.PathLike)) and not is_table(raw):
        raise DataError(
            f"{side!r} must be a data frame or a file with one row for each id, its columns attributes; got "
            f"{type(raw).__name__}."
        )
    source, columns = columns_of(raw)
    names, blank = [str(name) for name in source.names], frozenset(("",))
    if isinstance(source, TextSource):
        blank = BLANK_WORDS
        if any(looks_like_number(name) or not name for name in names[1:]):
            raise DataError(
                f"{source.name}: the first line must name the columns, such as '{side[:-1]},age,job', got "
                f"{source.first_line.strip()[:60]!r}."
            )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"{source.name}: two columns are called {twice!r}.")
    cells = [[_known(cell, blank) for cell in column] for column in columns]
    place, index = _place(names, side, cells), index_column(names)
    if None in cells[place]:
        raise DataError(f"{source.name}: row {1 + cells[place].index(None):,} has no id.")
    id_name = "index" if place == index else names[place]
    ids, order = Vocabulary.index(cells[place], side[:-1])
    if len(ids) < len(order):
        twice = ids.ids[np.bincount(order) > 1].tolist()[0]
        raise DataError(f"{side!r} must have one row for each id, but {twice!r} in {id_name!r} has several.")
    rows = np.argsort(order).tolist()
    others = {name: [cells[at][row] for row in rows] for at, name in enumerate(names) if at not in (place, index)}
    return Sheet(ids, order, id_name, others)


def _known(cell: Any, blank: frozenset[str]) -> Any:
    """Return a cell, or None for one that says nothing."""
    if isinstance(cell, str):
        return None if cell.strip().casefold() in blank else cell.strip()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _place(names: list[str], side: Side, cells: list[list[Any]]) -> int:
    """Return which column holds the ids."""
    role, other = ("user", "item") if side == "users" else ("item", "user")
    if (found := id_column(names, role)) is not None:
        return found
    short, index = [name.strip().lower() for name in names], index_column(names)
    # A name such as member may be that of ids, or of an attribute: ids differ.
    usual = [short.index(name) for name in ID_NAMES if name in short] or [
        at
        for at in sorted(candidates(names, role), key=lambda at: short[at] in TITLE_NAMES)
        if None not in cells[at] and len(set(map(str, cells[at]))) == len(cells[at])
    ]
    theirs = bool(candidates(names[:1], other)) and not usual and index is None
    if theirs or id_column(names[:1], other) == 0:
        raise DataError(
            f"{side!r} must have the ids of {side} in a column, for example {role!r}, but its first column, "
            f"{names[0]!r}, names {other}s. Give the frame as {other}s=, or call the column of the ids {role!r}."
        )
    return usual[0] if usual else index or 0


@dataclass(frozen=True, eq=False)
class Newcomers:
    """Ids, and what is known of each in columns of attributes: float64[n, n_columns]."""

    ids: Vocabulary
    values: Floats


@dataclass(frozen=True, eq=False)
class Attributes:
    """What is known of all rows of one side of a table.

    `values`, float64[n_rows, n_columns], are the blocks of the `columns` side by side; a row that the frame does not
    have is 0 everywhere and not `known`. `newcomers` are those of the frame that the table does not have, and
    `left_out` says of each column that cannot be used why. `id_name` is the column that the ids are in.
    """

    columns: tuple[Attribute, ...]
    values: Floats
    known: NDArray[np.bool_]
    newcomers: Newcomers | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    id_name: str = ""

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of columns of each block."""
        return block_sizes(self.columns)

    def lines(self, side: Side) -> list[str]:
        """Say what was understood: of whom something is known, as what columns were read, and what is left out."""
        read = ", ".join(f"{column.name} ({column.words})" for column in self.columns)
        known = f"{int(self.known.sum()):,} of {len(self.known):,} {side}"
        found = [f"Attributes of {known}, ids in {self.id_name!r}: {read}."]
        if self.left_out:
            found.append(f"Columns of {side!r} that are left out: {_why(self.left_out)}.")
        if self.newcomers is not None:
            n = len(self.newcomers.ids)
            found.append(f"{n:,} {side[:-1] if n == 1 else side} without ratings: placed by what is known of them.")
        return found


@dataclass(frozen=True, eq=False)
class TableAttributes:
    """What is known of the users and of the items of a table, where anything is."""

    users: Attributes | None = None
    items: Attributes | None = None

    @classmethod
    def read(cls, users: Any, items: Any, ids: tuple[Vocabulary, Vocabulary]) -> TableAttributes:
        """Read frames or files, or None, beside the ids of the table's users and items; or take what was read."""

        def side(raw: Any, known: Vocabulary, name: Side) -> Attributes | None:
            if raw is None or isinstance(raw, Attributes):
                return raw
            found = read_attributes(raw, known, name)
            for line in found.lines(name):
                if "left out" in line:
                    warn(line, KolmogorovWarning)
                else:
                    notice(line)
            return found

        return cls(side(users, ids[0], "users"), side(items, ids[1], "items"))

    @property
    def newcomers(self) -> tuple[Newcomers | None, Newcomers | None]:
        """Users and items that only the frames have."""
        users, items = (None if side is None else side.newcomers for side in (self.users, self.items))
        return users, items

    def __bool__(self) -> bool:
        return self.users is not None or self.items is not None


def read_attributes(raw: Any, ids: Vocabulary, side: Side) -> Attributes:
    """Return what a frame or a file says of the users or items of a table."""
    sheet = sheet_of(raw, side)
    rows = ids.translate(sheet.ids)
    here = np.flatnonzero(rows >= 0)
    if not here.size:
        raise DataError(
            f"None of the {len(sheet.ids):,} ids of {side!r} in {sheet.id_name!r}, such as "
            f"{sheet.ids.ids[:1].tolist()}, is one of the table's, such as {ids.ids[:1].tolist()}. Put the ids into a "
            f"column called {side[:-1]!r}."
        )
    columns, blocks, left_out = [], [], {}
    for name, cells in sheet.cells.items():
        try:
            # What the table does not have must not shift means.
            column = Attribute.of(name, [cells[row] for row in here.tolist()])
        except UnusableError as error:
            left_out[name] = str(error)
            continue
        columns.append(column)
        blocks.append(column.encode(cells))
    if not columns:
        raise DataError(f"No column of {side!r} can be used: {_why(left_out) or 'there is only one'}.")
    encoded, new = np.concatenate(blocks, axis=1), rows < 0
    values, known = np.zeros((len(ids), encoded.shape[1])), np.zeros(len(ids), dtype=bool)
    values[rows[here]], known[rows[here]] = encoded[here], True
    newcomers = Newcomers(sheet.ids.chosen(new), encoded[new]) if new.any() else None
    return Attributes(tuple(columns), values, known, newcomers, left_out, sheet.id_name)


def described(raw: Any, columns: tuple[Attribute, ...], side: Side) -> Newcomers:
    """Return the ids of a frame and what it says of them, in the columns that were learned; all else is missing."""
    sheet = sheet_of(raw, side)
    if not any(column.name in sheet.cells for column in columns):
        raise DataError(
            f"{side!r} has none of the columns that were learned: {', '.join(repr(column.name) for column in columns)}."
            f" It has {', '.join(map(repr, sheet.cells)) or 'none'}."
        )
    unknown = {"number": "which is no number", "boolean": "which is neither yes nor no"}
    blocks, said = [], []
    for column in columns:
        cells = sheet.cells.get(column.name, [None] * len(sheet.ids))
        blocks.append(column.encode(cells))
        if strange := column.strange(cells):
            what = unknown.get(column.kind, "a category that was not learned")
            said.append(f"{len(strange):,} of {column.name!r} (such as {strange[0][:_SHOWN]!r}, {what})")
    if said:
        warn(f"Cells of {side!r} that say nothing to the model: {', '.join(said)}.", KolmogorovWarning)
    return Newcomers(sheet.ids, np.concatenate(blocks, axis=1))


def ids_of(raw: Any, side: Side) -> list[Any]:
    """Return the ids of a frame or a file, in the order of its rows."""
    sheet = sheet_of(raw, side)
    found: list[Any] = sheet.ids.ids[sheet.order].tolist()
    return found


def _why(left_out: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({why})" for name, why in left_out.items())
