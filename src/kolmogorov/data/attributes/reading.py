"""Frames of attributes, one row for each user or item, beside the rows of a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.progress import notice, warn
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes.encoding import Attribute, UnusableError, plain_cells
from kolmogorov.data.ids.columns import BLANK_WORDS
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.reading.columns import id_column, usual_columns
from kolmogorov.data.reading.frames.arrow import is_parquet, opened_parquet
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.opening import ID_NAMES, TITLE_NAMES
from kolmogorov.data.reading.text.file import WHITESPACE, TextFile
from kolmogorov.data.reading.text.source import is_number, separator_of
from kolmogorov.errors import DataError, KolmogorovWarning

Side = Literal["users", "items"]
#: Gives the cells of a column by its position.
Cells = Callable[[int], list[Any]]
#: Lines that are read together. By judgement.
_CHUNK = 4_096
#: Characters of a cell that a sentence shows.
_SHOWN = 40


class Sheet(NamedTuple):
    """The ids of users or items, the name of their column, and the cells of all other columns by name."""

    ids: Any
    id_name: str
    cells: dict[str, list[Any]]


def is_frame(raw: Any) -> bool:
    """Tell whether something is a data frame of any library."""
    return frame_of(raw) is not None


def sheet_of(raw: Any, side: Side) -> Sheet:
    """Return the columns of a frame, or of a text or parquet file given by its path.

    Ids are in the column with a usual name for them, such as user_id, or id, or member where no two rows have the same;
    else in pandas' index, where it has a name or holds texts; else in the first column, unless it names the other side.

    Examples
    --------
    >>> import pandas as pd
    >>> sheet_of(pd.DataFrame({"age": [30, 50], "user": [7, 9]}), "users").cells
    {'age': [30, 50]}
    """
    if isinstance(raw, (str, os.PathLike)):
        if not is_parquet(raw):
            return _of_text(raw, side)
        with opened_parquet(raw) as file:
            raw = file.read()
    raw, indexed = _with_index(raw)
    frame = frame_of(raw)
    if frame is None or not frame.columns:
        raise DataError(
            f"{side!r} must be a data frame or a file with one row for each id, its columns attributes; got "
            f"{type(raw).__name__}."
        )
    names = list(frame.columns)
    place = _place([str(name) for name in names], side, indexed, lambda at: plain_cells(frame[names[at]]))
    unused = {place, 0} if indexed else {place}
    cells = {str(name): plain_cells(frame[name]) for at, name in enumerate(names) if at not in unused}
    return Sheet(frame[names[place]].to_numpy(), str(names[place]), cells)


def _place(names: list[str], side: Side, indexed: int, cells: Cells) -> int:
    """Return which column holds the ids; the first is an index where `indexed`, which only a sure name speaks for."""
    role = side[:-1]
    found = id_column(names, role)
    if found is not None:
        return found
    columns = ["" if at < indexed else name for at, name in enumerate(names)]
    plain = [name.strip().lower() for name in columns]
    found = next((plain.index(name) for name in ID_NAMES if name in plain), None)
    other: Side = "items" if side == "users" else "users"
    if id_column(names[:1], other[:-1]) == 0:
        raise _of_others(names[0], side, other)
    if found is not None:
        return found
    # A name such as member may be that of ids, or of an attribute: ids differ.
    untitled = ["" if name in TITLE_NAMES else name for name in plain]
    for some in (untitled, columns):
        at = usual_columns(some).get(role)
        if at is not None and _all_differ(cells(at)):
            return at
    if usual_columns(names[:1]).get(other[:-1]) == 0:
        raise _of_others(names[0], side, other)
    return 0


def _of_others(name: str, side: Side, other: Side) -> DataError:
    return DataError(
        f"{side!r} must have the ids of {side} in a column, for example {side[:-1]!r}, but its first column, {name!r}, "
        f"names {other}. Give the frame as {other}=, or call the column of the ids {side[:-1]!r}."
    )


def _all_differ(cells: list[Any]) -> bool:
    return None not in cells and len(set(map(str, cells))) == len(cells)


def _of_text(path: str | os.PathLike[str], side: Side) -> Sheet:
    with TextFile(path) as file:
        line = file.first_line()
        separator = separator_of(line)
        names = [field.strip() for field in file.fields(line, separator)]
        if any(is_number(name) or not name for name in names):
            raise DataError(
                f"{file.name}: the first line must name the columns, such as '{side[:-1]},age,job', got "
                f"{line.strip()[:60]!r}."
            )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{file.name}: two columns are called {twice!r}.")
        file.drop_first_line()
        records = file.records(separator, quoted=separator != WHITESPACE)
        rows: list[list[str]] = []
        while taken := file.take(records, _CHUNK):
            rows += [record for record in taken if any(field.strip() for field in record)]
        wrong = next((record for record in rows if len(record) != len(names)), None)
        if wrong is not None:
            raise DataError(
                f"{file.name}: expected {len(names)} columns in each line, got {len(wrong)} in "
                f"{separator.join(wrong)[:60]!r}."
            )
        columns = {name: [_cell(row[at]) for row in rows] for at, name in enumerate(names)}
        place = _place(names, side, 0, lambda at: columns[names[at]])
        return Sheet(_ids(columns.pop(names[place]), file.name), names[place], columns)


def _cell(text: str) -> str | None:
    plain = text.strip()
    return None if not plain or plain.lower() in BLANK_WORDS else plain


def _ids(texts: list[str | None], source: str) -> Any:
    """Return ids as they are elsewhere: integers where all of them are."""
    if any(text is None for text in texts):
        raise DataError(f"{source}: row {1 + texts.index(None):,} has no id.")
    whole = all(text.removeprefix("-").isdecimal() and len(text) < 19 for text in texts if text is not None)
    found = np.empty(len(texts), dtype=np.int64 if whole else object)
    found[:] = [int(text) if whole else text for text in texts if text is not None]
    return found


def _with_index(raw: Any) -> tuple[Any, int]:
    """Put an index of pandas that says something before the columns, and say how many were put there."""
    index: Any = getattr(raw, "index", None)
    if not hasattr(raw, "reset_index") or getattr(index, "nlevels", 2) != 1:
        return raw, 0
    if index.name is None and not all(isinstance(label, str) for label in index):
        return raw, 0
    free = next(name for name in ("index", "_index", "__index__") if name not in raw.columns)
    return raw.rename_axis(index=index.name if index.name not in (None, *raw.columns) else free).reset_index(), 1


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
            found.append(f"Columns of {side} that are left out: {_listed(self.left_out)}.")
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
        why = _listed(left_out)
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
        warn(f"Columns of {side!r} that are left out: {_listed(found.left_out)}.", KolmogorovWarning)
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


def _listed(left_out: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({why})" for name, why in left_out.items())
