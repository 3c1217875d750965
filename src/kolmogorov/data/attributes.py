"""Attributes of users and items: frames with one row for each become blocks of standardised columns.

A number becomes one column; words and lists of words become one of 0 and 1 for each word that some rows have.
"""

from __future__ import annotations

import datetime
import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.display import notice, warn
from kolmogorov._support.typing import Floats
from kolmogorov.data.columns import ID_NAMES, candidates, id_column, index_column
from kolmogorov.data.sources import TextSource, columns_of, is_table
from kolmogorov.data.values import BLANK_WORDS, looks_like_number
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError, InvariantError, KolmogorovWarning

Side = Literal["users", "items"]
Kind = Literal["number", "boolean", "category", "list"]
#: What stands between the entries of a list that is written as one text.
_BETWEEN = "|"
#: As files write booleans.
_TRUTHS = {"true": 1.0, "false": 0.0}
#: Words that fewer rows have count as none, and of the others the most frequent have columns. By judgement.
_RARE, _MOST_COLUMNS = 3, 200
#: Words that repeat less often than this, on average, are names of their rows. By judgement.
_REPEATED = 1.5
#: Names of columns of ids: id, film_id, imdbId, but not paid.
_ID = re.compile(r"(^|[^a-zA-Z])[iI][dD]$|[a-z0-9]I[dD]$")
#: Numbers count as so many standard deviations at most. By judgement.
FARTHEST = 5.0
#: Spreads, of numbers of size 1, that are rounding.
_NOTHING = 1e-9


class UnusableError(ValueError):
    """An attribute says nothing, or nothing that can be used; the message says why."""


def _number(cell: Any) -> float:
    """Return a cell as a number: a yes is 1, a no 0, and a date is days; NaN for one that is none."""
    if isinstance(cell, datetime.date):
        return float(cell.toordinal())
    try:
        found = float(_TRUTHS.get(cell.casefold(), cell) if isinstance(cell, str) else cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def _kind_of(cells: list[Any]) -> Kind | None:
    """Return the kind of cells none of which is missing, None where they are of none."""
    if all(isinstance(cell, bool) or (isinstance(cell, str) and cell.casefold() in _TRUTHS) for cell in cells):
        return "boolean"
    if not any(math.isnan(_number(cell)) for cell in cells):
        return "number"
    if not all(isinstance(cell, (str, int, float, list)) for cell in cells):
        return None
    listed = any(isinstance(cell, list) or (isinstance(cell, str) and _BETWEEN in cell) for cell in cells)
    return "list" if listed else "category"


@dataclass(frozen=True)
class Attribute:
    """What one column of a frame is, and how it becomes numbers.

    A number has one column, words have one for each of the `categories`. They are centred and divided by one `scale`,
    so that their variances sum to 1 over the rows that have the attribute: what is missing is 0 everywhere.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...]
    centre: tuple[float, ...]
    scale: float

    @classmethod
    def of(cls, name: str, cells: list[Any]) -> Attribute:
        """Recognise and learn an attribute; one that cannot be used raises `UnusableError`."""
        known = [cell for cell in cells if cell is not None]
        kind = _kind_of(known)
        if not known or kind is None:
            raise UnusableError("neither numbers nor texts nor lists" if known else "empty")
        found = cls(name, kind, (), (0.0,), 1.0)
        if kind in ("category", "list"):
            found = cls(name, kind, _categories([found._words(cell) for cell in known], kind), (), 1.0)
        raw = found._raw(known)
        if kind == "number":
            _refuse_ids(name, np.sort(raw[:, 0]))
        # Numbers may be so large that their squares are not finite.
        size = max(float(np.abs(raw).max()), np.finfo(float).tiny)
        centre, spread = (raw / size).mean(axis=0) * size, np.sqrt((raw / size).var(axis=0).sum())
        if not spread > _NOTHING:
            raise UnusableError("always the same")
        return cls(name, kind, found.categories, tuple(centre.tolist()), float(spread * size))

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns are called in front of people."""
        return tuple(f"{self.name}: {category}" for category in self.categories) or (self.name,)

    def _words(self, cell: Any) -> list[str]:
        """Return the words in a cell."""
        parts = cell if isinstance(cell, list) else [cell] if self.kind == "category" else str(cell).split(_BETWEEN)
        return [text for part in parts if part is not None and (text := str(part).strip())]

    def _raw(self, cells: list[Any]) -> Floats:
        """Return cells as numbers before they are standardised, NaN where there is nothing."""
        if self.kind in ("number", "boolean"):
            return np.array([math.nan if cell is None else _number(cell) for cell in cells]).reshape(-1, 1)
        place = {text: at for at, text in enumerate(self.categories)}
        table = np.zeros((len(cells), len(place)))
        for row, cell in enumerate(cells):
            if cell is None:
                table[row] = math.nan
            else:
                table[row, [place[text] for text in self._words(cell) if text in place]] = 1.0
        return table

    def encode(self, cells: list[Any]) -> Floats:
        """Return cells as standardised numbers; float64[n, n_columns]."""
        found = (self._raw(cells) - np.array(self.centre)) / self.scale
        return np.clip(np.where(np.isnan(found), 0.0, found), -FARTHEST, FARTHEST)

    def strange(self, cells: list[Any]) -> list[str]:
        """Return the cells of which nothing is known here."""
        raw = self._raw(cells)
        lost = np.flatnonzero(~raw.any(axis=1) if self.categories else np.isnan(raw[:, 0])).tolist()
        return [str(cells[row]) for row in lost if cells[row] is not None]

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
        if not valid or not np.isfinite(np.array([*found.centre, found.scale], dtype=np.float64)).all():
            raise InvariantError("an attribute is not valid")
        return found


def _refuse_ids(name: str, known: Floats) -> None:
    """Refuse whole numbers no two of which are the same, where their name says that they are ids."""
    different = known.size > 1 and bool((np.diff(known) > 0).all()) and not (known % 1.0).any()
    if different and (_ID.search(name.strip()) or 0 in (id_column([name], "user"), id_column([name], "item"))):
        raise UnusableError(f"a different id in each of {known.size:,} rows")


def _categories(cells: list[list[str]], kind: Kind) -> tuple[str, ...]:
    """Return the words that enough rows have, by name."""
    counts = Counter(text for words in cells for text in dict.fromkeys(words))
    if kind == "category" and counts.total() < _REPEATED * len(counts):
        raise UnusableError(f"{len(counts):,} different texts in {counts.total():,} rows")
    often = [text for text, count in counts.most_common(_MOST_COLUMNS) if count >= _RARE]
    if not often:
        raise UnusableError(f"no category of {_RARE} rows or more")
    return tuple(sorted(often))


def block_sizes(columns: Iterable[Attribute]) -> tuple[int, ...]:
    """Return how many columns each attribute has."""
    return tuple(len(column.columns) for column in columns)


# --- frames and files -------------------------------------------------------------------------------------------------


class Sheet(NamedTuple):
    """A frame with one row for each id: the name of their column, and all other cells by name, in the order of ids."""

    ids: Vocabulary
    id_name: str
    cells: dict[str, list[Any]]


def sheet_of(raw: Any, side: Side) -> Sheet:
    """Read a frame, or a file given by its path, with one row for each id.

    Ids are in the column with a usual name for them, such as user_id or id; else in pandas' index, where it is a column
    of its own; else in the first column, unless it names the other side.
    """
    if not isinstance(raw, (str, os.PathLike)) and not is_table(raw):
        kind = type(raw).__name__
        raise DataError(f"{side!r} must be a data frame or a file with one row for each id, got {kind}.")
    source, columns = columns_of(raw)
    names, text = [str(name) for name in source.names], isinstance(source, TextSource)
    if len({*names}) < len(names) or (text and any(looks_like_number(name) or not name for name in names[1:])):
        raise DataError(f"{source.name}: the first line must give each column a name of its own, got {names[:9]}.")
    place, index = _place(names, side), index_column(names)
    cells = [[_known(cell, BLANK_WORDS if text else ("",)) for cell in column] for column in columns]
    if None in cells[place]:
        raise DataError(f"{source.name}: row {1 + cells[place].index(None):,} has no id.")
    id_name = "index" if place == index else names[place]
    ids, order = Vocabulary.index(cells[place], side[:-1])
    if len(ids) < len(order):
        twice = ids.ids[np.bincount(order) > 1].tolist()[0]
        raise DataError(f"{side!r} must have one row for each id, but {twice!r} in {id_name!r} has several.")
    rows = np.argsort(order).tolist()
    others = {name: [cells[at][row] for row in rows] for at, name in enumerate(names) if at not in (place, index)}
    return Sheet(ids, id_name, others)


def _known(cell: Any, blank: Any) -> Any:
    """Return a cell, or None for one that says nothing."""
    if isinstance(cell, str):
        return None if cell.strip().casefold() in blank else cell.strip()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _place(names: list[str], side: Side) -> int:
    """Return which column holds the ids."""
    role, other = ("user", "item") if side == "users" else ("item", "user")
    plain = next((at for at, name in enumerate(names) if name.strip().lower() in ID_NAMES), None)
    found = next((at for at in (id_column(names, role), plain, index_column(names)) if at is not None), 0)
    if id_column(names[:1], other) == 0 or (found == 0 and candidates(names[:1], other)):
        raise DataError(
            f"{side!r} must have the ids of {side} in a column, for example {role!r}, but its first column, "
            f"{names[0]!r}, names {other}s. Give the frame as {other}s=, or call the column of the ids {role!r}."
        )
    return found


class Newcomers(NamedTuple):
    """Ids, and what is known of each in columns of attributes: float64[n, n_columns]."""

    ids: Vocabulary
    values: Floats


@dataclass(frozen=True, eq=False)
class Attributes:
    """What is known of all rows of one side of a table."""

    columns: tuple[Attribute, ...]
    #: float64[n_rows, n_columns], 0 in rows that the frame does not have, which are not known.
    values: Floats
    known: NDArray[np.bool_]
    #: Those of the frame that the table does not have; why columns cannot be used; the column of the ids.
    newcomers: Newcomers | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    id_name: str = ""

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of columns of each block."""
        return block_sizes(self.columns)

    def lines(self, side: Side) -> list[str]:
        """Say what was understood: of whom something is known, as what columns were read, and what is left out."""
        read = ", ".join(f"{column.name} ({column.kind})" for column in self.columns)
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
        found: dict[Side, Attributes | None] = {"users": users, "items": items}
        for (side, raw), known in zip(found.items(), ids, strict=True):
            if raw is not None and not isinstance(raw, Attributes):
                found[side] = read = read_attributes(raw, known, side)
                notice(read.lines(side)[0])
                if read.left_out:
                    warn(read.lines(side)[1], KolmogorovWarning)
        return cls(**found)

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
            columns.append(Attribute.of(name, [cells[row] for row in here.tolist()]))
            blocks.append(columns[-1].encode(cells))
        except UnusableError as error:
            left_out[name] = str(error)
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
        learned = ", ".join(repr(column.name) for column in columns)
        raise DataError(f"{side!r} has none of the columns that were learned: {learned}. It has {[*sheet.cells]}.")
    cells = {column: sheet.cells.get(column.name, [None] * len(sheet.ids)) for column in columns}
    strange = {column.name: column.strange(found) for column, found in cells.items()}
    if said := [f"{len(found):,} of {name!r} (such as {found[0]:.40})" for name, found in strange.items() if found]:
        warn(f"Cells of {side!r} that say nothing to the model: {', '.join(said)}.", KolmogorovWarning)
    return Newcomers(sheet.ids, np.concatenate([column.encode(found) for column, found in cells.items()], axis=1))


def _why(left_out: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({why})" for name, why in left_out.items())
