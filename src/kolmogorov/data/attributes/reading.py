"""Frames of attributes, one row for each user or item, beside the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.progress import notice, warn
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes.encoding import Attribute, UnusableError
from kolmogorov.data.attributes.sheets import Side, sheet_of
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.errors import DataError, KolmogorovWarning

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
