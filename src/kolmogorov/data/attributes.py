"""Attributes of users and items: frames with one row for each become blocks of standardised columns."""

from __future__ import annotations

import datetime
import hashlib
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

Kind = Literal["number", "boolean", "category", "list"]
#: What stands between the entries of a list that is written as one text.
_BETWEEN = "|"
_DAY = 86_400.0
#: Texts that are a yes or a no beyond doubt, in small letters; a "t", a "+" or a "like" may be something else.
_DOUBTFUL = frozenset(("t", "f", "+", "-", "like", "dislike"))
_TRUTHS = {word: float(word == pair[0]) for word, pair in PAIR_OF.items() if word not in _DOUBTFUL}


def _is_nothing(cell: Any) -> bool:
    if cell is None or isinstance(cell, str):
        return cell is None or not cell.strip()
    return isinstance(cell, numbers.Real) and not math.isfinite(cell)


def kind_of(cells: list[Any]) -> Kind | None:
    """Return the kind of cells, None where they are of none.

    Examples
    --------
    >>> kind_of([True, None]), kind_of(["3", "4.5"]), kind_of(["Drama|War", "War"]), kind_of(["nurse", "engineer"])
    ('boolean', 'number', 'list', 'category')
    >>> kind_of(["True", "False"]), kind_of(["yes", "no", "maybe"])
    ('boolean', 'category')
    """
    known = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, (bool, np.bool_)) or _worded_truth(cell) is not None for cell in known):
        return "boolean"
    if all(isinstance(cell, (numbers.Real, datetime.date)) for cell in known):
        return "number"
    if all(_is_listed(cell) for cell in known):
        return "list"
    if not all(isinstance(cell, (str, numbers.Real)) for cell in known):
        return None
    if all(_number(cell) is not None for cell in known):
        return "number"
    return "list" if any(_BETWEEN in cell for cell in known if isinstance(cell, str)) else "category"


def as_numbers(cells: list[Any]) -> Floats:
    """Return cells as numbers, dates as days; NaN where there is none."""
    found = (None if cell is None else _number(cell) for cell in cells)
    return np.array([np.nan if number is None else number for number in found])


def as_truths(cells: list[Any]) -> Floats:
    """Return cells as 1 for yes and 0 for no; NaN where there is nothing, or something else.

    Examples
    --------
    >>> as_truths([True, "False", "yes", 0, None, "perhaps"]).tolist()
    [1.0, 0.0, 1.0, 0.0, nan, nan]
    """
    return np.array([np.nan if cell is None else _truth(cell) for cell in cells])


def as_texts(cells: list[Any]) -> NDArray[Any]:
    """Return cells as texts; None where there is nothing."""
    found = np.empty(len(cells), dtype=object)
    found[:] = [None if cell is None else str(cell).strip() for cell in cells]
    return found


def as_lists(cells: list[Any]) -> list[list[str] | None]:
    """Return cells as lists of texts; None where there is nothing.

    Examples
    --------
    >>> as_lists(["War | Drama", ["War"], None, []])
    [['War', 'Drama'], ['War'], None, []]
    """
    return [None if cell is None else _entries(cell) for cell in cells]


def _entries(cell: Any) -> list[str]:
    parts = list(cell) if _is_listed(cell) else str(cell).split(_BETWEEN)
    texts = (str(part).strip() for part in parts if part is not None)
    return [text for text in texts if text]


def _is_listed(cell: Any) -> bool:
    return isinstance(cell, (list, tuple, set, frozenset, np.ndarray))


def _worded_truth(cell: Any) -> float | None:
    return _TRUTHS.get(cell.strip().casefold()) if isinstance(cell, str) else None


def _truth(cell: Any) -> float:
    found = _worded_truth(cell)
    number = _number(cell) if found is None else found
    return number if number in (0.0, 1.0) else np.nan


def _number(cell: Any) -> float | None:
    """Return a cell as a number; None for one that is none."""
    if isinstance(cell, datetime.datetime):
        seconds = 3600.0 * cell.hour + 60.0 * cell.minute + cell.second
        return cell.toordinal() + seconds / _DAY
    if isinstance(cell, datetime.date):
        return float(cell.toordinal())
    try:
        found = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


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


class UnusableError(ValueError):
    """An attribute says nothing, or nothing that can be used; the message says why."""


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
        >>> job.kind, job.categories
        ('category', ('engineer', 'nurse'))
        >>> job.encode(["nurse", None, "pilot"]).round(2).tolist()
        [[-0.71, 0.71], [0.0, 0.0], [-0.71, -0.71]]
        """
        kind = kind_of(cells)
        if kind is None:
            raise UnusableError("neither numbers nor texts nor lists")
        if all(cell is None for cell in cells):
            raise UnusableError("empty")
        categories, n_rare = _categories(kind, cells)
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
        """Return what cells hold that this attribute does not know: one text for each cell that holds any.

        Examples
        --------
        >>> Attribute.of("age", [20, 30, 40]).strange([50, "old", None])
        ['old']
        >>> Attribute.of("job", ["nurse", "engineer"] * 3).strange(["nurse", "pilot"])
        ['pilot']
        """
        if self.kind in ("number", "boolean"):
            lost = np.isnan(_raw(self.kind, (), cells)[:, 0]).tolist()
            return [str(cell) for cell, no in zip(cells, lost, strict=True) if no and cell is not None]
        known = set(self.categories)
        listed = as_lists(cells) if self.kind == "list" else [None if t is None else [t] for t in as_texts(cells)]
        others = ([text for text in entries or () if text not in known] for entries in listed)
        return [entries[0] for entries in others if entries]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Attribute:
        """Undo `to_dict`; what forms no attribute raises `InvariantError`."""
        categories, centre = (tuple(stored[name]) for name in ("categories", "centre"))
        kind, scale = stored["kind"], stored["scale"]
        by_category = kind in ("category", "list")
        if not (by_category or kind in ("number", "boolean")) or not all(isinstance(c, str) for c in categories):
            raise InvariantError(f"there is no attribute of the kind {str(kind)[:40]!r}")
        numbers = np.array([*centre, scale], dtype=np.float64)
        if len(centre) != (len(categories) if by_category else 1) or not np.isfinite(numbers).all() or not scale > 0:
            raise InvariantError("the numbers of an attribute do not belong together")
        rare = stored.get("n_rare", 0)
        if type(rare) is not int or rare < 0:
            raise InvariantError("an attribute has a strange number of rare categories")
        return cls(str(stored["name"]), kind, categories, tuple(map(float, centre)), float(scale), rare)


def _refuse_ids(name: str, numbers: Floats) -> None:
    """Refuse whole numbers no two of which are the same, where their name or their even steps say that they are ids."""
    known = np.sort(numbers[~np.isnan(numbers)])
    steps = np.diff(known)
    if known.size < 2 or not (steps > 0).all() or (known % 1.0).any():
        return
    if _ID.search(name.strip()) or id_column([name], "user") == 0 or id_column([name], "item") == 0:
        raise UnusableError(f"a different id in each of {known.size:,} rows")
    if known.size >= _MANY and (steps == steps[0]).all():
        raise UnusableError(f"a number of the row: {known.size:,} of them at equal distances")


def _categories(kind: Kind, cells: list[Any]) -> tuple[tuple[str, ...], int]:
    """Return the categories that enough rows have, by name, and how many others there are."""
    if kind not in ("category", "list"):
        return (), 0
    texts: Iterable[str]
    if kind == "list":
        texts = (text for entries in as_lists(cells) for text in dict.fromkeys(entries or ()))
    else:
        texts = (text for text in as_texts(cells) if text is not None)
    counts = Counter(texts)
    if kind == "category" and counts.total() < _REPEATED * len(counts):
        raise UnusableError(f"{len(counts):,} different texts in {counts.total():,} rows")
    if len(counts) > MOST_CATEGORIES:
        raise UnusableError(f"{len(counts):,} categories, at most {MOST_CATEGORIES:,} can be used")
    often = [text for text, count in counts.most_common(_MOST_COLUMNS) if count >= _RARE]
    if not often:
        raise UnusableError(f"no category of {_RARE} rows or more")
    return tuple(sorted(often)), len(counts) - len(often)


def _raw(kind: Kind, categories: tuple[str, ...], cells: list[Any]) -> Floats:
    """Return cells as numbers before they are standardised; NaN where there is nothing."""
    if kind in ("number", "boolean"):
        return (as_numbers if kind == "number" else as_truths)(cells)[:, None]
    gone = np.array([cell is None for cell in cells], dtype=bool)
    found = _listed(categories, cells) if kind == "list" else _one_hot(categories, as_texts(cells))
    found[gone] = np.nan
    return found


def _one_hot(categories: tuple[str, ...], texts: NDArray[Any]) -> Floats:
    from sklearn.preprocessing import OneHotEncoder

    known = np.array(categories, dtype=object)
    encoder = OneHotEncoder(categories=[known], handle_unknown="ignore", sparse_output=False).fit(known[:, None])
    filled = np.array(["" if text is None else text for text in texts], dtype=object)
    found: Floats = encoder.transform(filled[:, None]) if len(filled) else np.empty((0, len(known)))
    return found


def _listed(categories: tuple[str, ...], cells: list[Any]) -> Floats:
    from sklearn.preprocessing import MultiLabelBinarizer

    known = set(categories)
    entries = [[text for text in row or () if text in known] for row in as_lists(cells)]
    binarizer = MultiLabelBinarizer(classes=list(categories))
    found: Floats = binarizer.fit_transform(entries).astype(np.float64)
    return found


Side = Literal["users", "items"]


class Sheet(NamedTuple):
    """The ids of users or items, the name of their column, and the cells of all other columns by name."""

    ids: list[Any]
    id_name: str
    cells: dict[str, list[Any]]


def sheet_of(raw: Any, side: Side) -> Sheet:
    """Return the columns of a frame, or of a file given by its path.

    Ids are in the column with a usual name for them, such as user_id, or id, or member where no two rows have the same;
    else in pandas' index, where it is a column of its own; else in the first column, unless it names the other side.

    Examples
    --------
    >>> import pandas as pd
    >>> sheet_of(pd.DataFrame({"age": [30, 50], "user": [7, 9]}), "users")
    Sheet(ids=[7, 9], id_name='user', cells={'age': [30, 50]})
    """
    if not isinstance(raw, (str, os.PathLike)) and not is_table(raw):
        raise DataError(
            f"{side!r} must be a data frame or a file with one row for each id, its columns attributes; got "
            f"{type(raw).__name__}."
        )
    source, columns = columns_of(raw)
    names = [str(name) for name in source.names]
    if isinstance(source, TextSource):
        if any(looks_like_number(name) or not name for name in names[1:]):
            raise DataError(
                f"{source.name}: the first line must name the columns, such as '{side[:-1]},age,job', got "
                f"{source.first_line.strip()[:60]!r}."
            )
        columns = [[_cell(text) for text in column] for column in columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"{source.name}: two columns are called {twice!r}.")
    cells = [[None if _is_nothing(cell) else cell for cell in column] for column in columns]
    place = _place(names, side, cells)
    if None in cells[place]:
        raise DataError(f"{source.name}: row {1 + cells[place].index(None):,} has no id.")
    index = index_column(names)
    rest = {name: cells[at] for at, name in enumerate(names) if at not in (place, index)}
    return Sheet(cells[place], "index" if place == index else names[place], rest)


def _place(names: list[str], side: Side, cells: list[list[Any]]) -> int:
    """Return which column holds the ids."""
    role = side[:-1]
    other: Side = "items" if side == "users" else "users"
    wrong = DataError(
        f"{side!r} must have the ids of {side} in a column, for example {role!r}, but its first column, {names[0]!r}, "
        f"names {other}. Give the frame as {other}=, or call the column of the ids {role!r}."
    )
    if (found := id_column(names, role)) is not None:
        return found
    if id_column(names[:1], other[:-1]) == 0:
        raise wrong
    plain = [name.strip().lower() for name in names]
    if (found := next((plain.index(name) for name in ID_NAMES if name in plain), None)) is not None:
        return found
    # A name such as member may be that of ids, or of an attribute: ids differ.
    usual = [at for at in candidates(names, role) if plain[at] not in TITLE_NAMES] or candidates(names, role)
    for at in usual:
        if None not in cells[at] and len(set(map(str, cells[at]))) == len(cells[at]):
            return at
    if (index := index_column(names)) is not None:
        return index
    if candidates(names[:1], other[:-1]):
        raise wrong
    return 0


def _cell(text: str) -> str | None:
    return None if text.strip().casefold() in BLANK_WORDS else text.strip()


#: Characters of a cell that a sentence shows.
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class Attributes:
    """What is known of all rows of one side of a table.

    `values`, float64[n_rows, n_columns], are the blocks of the `columns` side by side; a row that the frame does not
    have is 0 everywhere and not `known`. `n_ignored` rows of the frame are of ids that the table does not have, and
    `left_out` says of each column that cannot be used why. `id_name` is the column that the ids are in.
    """

    columns: tuple[Attribute, ...]
    values: Floats
    known: NDArray[np.bool_]
    n_ignored: int = 0
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
            found.append(f"Columns of {side} that are left out: {_why(self.left_out)}.")
        if self.n_ignored:
            rows = "1 row is of an id" if self.n_ignored == 1 else f"{self.n_ignored:,} rows are of ids"
            found.append(f"{rows} of {side} that the table does not have, and ignored.")
        return found


@dataclass(frozen=True, eq=False)
class Newcomers:
    """Ids, and what is known of each in columns of attributes: float64[n, n_columns].

    `order`, int64[n], are the numbers of the ids in the order in which they were given.
    """

    ids: Vocabulary
    values: Floats
    order: Rows


@dataclass(frozen=True, eq=False)
class TableAttributes:
    """What is known of the users and of the items of a table, where anything is."""

    users: Attributes | None = None
    items: Attributes | None = None

    @classmethod
    def read(cls, users: Any, items: Any, ids: tuple[Vocabulary, Vocabulary]) -> TableAttributes:
        """Read frames or files, or None, beside the ids of the table's users and items; or take what was read."""
        sides: tuple[tuple[Any, Side], ...] = ((users, "users"), (items, "items"))
        read = [
            raw if raw is None or isinstance(raw, Attributes) else read_attributes(raw, known, side)
            for (raw, side), known in zip(sides, ids, strict=True)
        ]
        return cls(*read)

    def __bool__(self) -> bool:
        return self.users is not None or self.items is not None

    def digest(self) -> str:
        """Return what tells these attributes from others."""
        found = hashlib.sha256()
        for side in (self.users, self.items):
            if side is not None:
                found.update(repr(side.columns).encode("utf-8", "surrogatepass"))
                found.update(np.ascontiguousarray(side.values).tobytes())
        return found.hexdigest()


def block_sizes(columns: Iterable[Attribute]) -> tuple[int, ...]:
    """Return how many columns each attribute has."""
    return tuple(len(column.columns) for column in columns)


def read_attributes(raw: Any, ids: Vocabulary, side: Side, *, tell: bool = True) -> Attributes:
    """Return what a frame or a file says of the users or items of a table, and `tell` what was understood of it.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"user": [7, 9, 8], "age": [30, 50, 40]})
    >>> read_attributes(frame, Vocabulary.of([7, 8]), "users").values.tolist()
    [[-1.0], [1.0]]
    """
    theirs, _, sheet, id_name = _ids_and_rest(raw, side)
    rows = ids.translate(theirs)
    here = rows >= 0
    if not here.any():
        raise DataError(
            f"None of the {len(theirs):,} ids of {side!r} in {id_name!r}, such as {theirs.ids[:1].tolist()}, is one of "
            f"the table's, such as {ids.ids[:1].tolist()}. Put the ids into a column called {side[:-1]!r}."
        )
    columns, blocks, left_out = [], [], {}
    for name, cells in sheet.items():
        try:
            # What the table does not have must not shift means.
            column = Attribute.of(name, [cell for cell, known in zip(cells, here, strict=True) if known])
        except UnusableError as error:
            left_out[name] = str(error)
            continue
        columns.append(column)
        block = np.zeros((len(ids), len(column.columns)))
        block[rows[here]] = column.encode(cells)[here]
        blocks.append(block)
    known = np.zeros(len(ids), dtype=bool)
    known[rows[here]] = True
    found = Attributes(tuple(columns), _beside(blocks, len(ids)), known, int((~here).sum()), left_out, id_name)
    if not columns:
        why = _why(left_out)
        raise DataError(f"No column of {side!r} can be used{f': {why}' if why else ': there is only one'}.")
    if tell:
        _tell(found, side)
    return found


def described(raw: Any, columns: tuple[Attribute, ...], side: Side) -> Newcomers:
    """Return the ids of a frame and what it says of them, in the columns that were learned; all else is missing."""
    ids, order, sheet, _ = _ids_and_rest(raw, side)
    missing = [column.name for column in columns if column.name not in sheet]
    if len(missing) == len(columns):
        raise DataError(
            f"{side!r} has none of the columns that were learned: {', '.join(map(repr, missing))}. It has "
            f"{', '.join(map(repr, sheet)) or 'none'}."
        )
    _warn_of_strange_cells(columns, sheet, side)
    empty = [None] * len(ids)
    given = ((column, sheet.get(column.name, empty)) for column in columns)
    return Newcomers(ids, _beside([column.encode(cells) for column, cells in given], len(ids)), order)


def ids_of(raw: Any, side: Side) -> list[Any]:
    """Return the ids of a frame or a file, in the order of its rows."""
    ids, order, *_ = _ids_and_rest(raw, side)
    found: list[Any] = ids.ids[order].tolist()
    return found


def _ids_and_rest(raw: Any, side: Side) -> tuple[Vocabulary, Rows, dict[str, list[Any]], str]:
    """Return the ids of a frame, which of them each row has, its other cells by the order of ids, and where ids are."""
    sheet = sheet_of(raw, side)
    ids, numbers = Vocabulary.index(sheet.ids, side[:-1])
    if len(ids) < len(numbers):
        twice = ids.ids[np.bincount(numbers) > 1].tolist()[0]
        raise DataError(f"{side!r} must have one row for each id, but {twice!r} in {sheet.id_name!r} has several.")
    order = np.argsort(numbers).tolist()
    return ids, numbers, {name: [cells[row] for row in order] for name, cells in sheet.cells.items()}, sheet.id_name


def _beside(blocks: list[Floats], n_rows: int) -> Floats:
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((n_rows, 0))


def _tell(found: Attributes, side: Side) -> None:
    first, *others = found.lines(side)
    notice(first)
    if found.left_out:
        warn(f"Columns of {side!r} that are left out: {_why(found.left_out)}.", KolmogorovWarning)
    if found.n_ignored:
        notice(others[-1])


def _warn_of_strange_cells(columns: tuple[Attribute, ...], sheet: dict[str, list[Any]], side: Side) -> None:
    """Say in one sentence which cells hold what was not learned."""
    kinds = {"number": "which is no number", "boolean": "which is neither yes nor no"}
    found = {column: column.strange(sheet[column.name]) for column in columns if column.name in sheet}
    said = [
        f"{len(cells):,} of {column.name!r} (such as {cells[0][:_SHOWN]!r}, "
        f"{kinds.get(column.kind, 'a category that was not learned')})"
        for column, cells in found.items()
        if cells
    ]
    if said:
        warn(f"Cells of {side!r} that say nothing to the model: {', '.join(said)}.", KolmogorovWarning)


def _why(left_out: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({why})" for name, why in left_out.items())
