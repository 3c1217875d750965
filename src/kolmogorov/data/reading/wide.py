"""Wide tables: one row for each user, one column for each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import suggestion
from kolmogorov._support.wording import Option, advice, option
from kolmogorov.data.ids.columns import IdColumn, normalise_ids, taken_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.reader import Marks, NumberReader
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.provenance import TableLayout
from kolmogorov.data.reading.shape import CELLS, Batch, Shape
from kolmogorov.data.reading.source import Answered, Chunk
from kolmogorov.errors import DataError

#: Columns of a wide table, at most: each is looked at by itself. By judgement.
_MOST_ITEMS = 1_000_000
#: So many columns have a reader each, which finds words by column; more share one. By judgement.
_MOST_READERS = 10_000
#: A column on another scale lies above this multiple of the others' largest value. By judgement: an age beside stars.
_FAR = 3.0
#: Zeros and ones in a column that make it one of yes and no. By judgement.
_TELLING_CELLS = 8


class WideShape(Shape):
    """One row for each user, one column for each item; empty cells are missing.

    Parameters
    ----------
    names : sequence
        Of all columns.
    user : int
        The column of the users.
    options : ReadingOptions
        Columns to ignore, or the items; how values are written; what is said about the scale.
    as_text : bool
        Names come from a text file, where ids that are all integers are integers.
    source : str
        What errors call the table.
    """

    def __init__(self, names: Sequence[Any], user: int, options: ReadingOptions, *, as_text: bool, source: str) -> None:
        self._user, self._names, self._source = user, names, source
        self._positions = _items(names, user, options, source)
        items = [names[position] for position in self._positions]
        if not items or len(items) > _MOST_ITEMS:
            raise DataError(
                f"{source}: a wide table has a column of users and 1 to {_MOST_ITEMS:,} items, got {len(items)} items."
            )
        _check_names(items, self._positions, source)
        texts = tuple(str(name).strip() for name in items)
        self._items: IdColumn = texts if as_text else normalise_ids(items, "item")
        notation = replace(options.notation, missing=("", *options.notation.missing))
        marks, n_readers = Marks(notation.decimal), len(items) if len(items) <= _MOST_READERS else 1
        self.readers = [NumberReader(notation, marks=marks) for _ in range(n_readers)]
        self.titles = {}
        # Whoever says what the scale is has looked at it.
        self._open = options.scale_request.is_open
        self._extents = _Extents(np.full(len(items), np.inf), np.full(len(items), -np.inf), np.zeros(len(items)))
        self.most_rows = max(1, CELLS // len(items))

    def records(self, batch: Batch, place: Place) -> tuple[Chunk | None, NDArray[np.int64] | None]:
        """Return a record for each cell that is not empty."""
        table = np.column_stack([self._column(batch, number, place) for number in range(len(self._positions))])
        if self._open:
            self._extents.add(table)
        kept = ~np.isnan(table)
        ends = np.cumsum(kept.sum(axis=1))
        self.n_missing += int(kept.size - ends[-1])
        if not ends[-1]:
            return None, ends
        rows, columns = np.nonzero(kept)
        users = taken_ids(batch.ids(self._user, "user", place), rows)
        return Chunk(users, taken_ids(self._items, columns), table[kept], None), ends

    def answers(self, batch: Batch, place: Place) -> Answered:
        """Return an answer for each cell."""
        width = len(self._positions)
        rows, columns = np.divmod(np.arange(batch.n_rows * width), width)
        cells = zip(*(batch.texts(position) for position in self._positions), strict=True)
        users = taken_ids(batch.ids(self._user, "user", place), rows)
        items, answers = taken_ids(self._items, columns), [cell for row in cells for cell in row]
        return Answered(users, items, answers, lambda offset: place(offset // width))

    def layout(self) -> TableLayout:
        """Return which columns are used, and which are not."""
        used = {self._user, *self._positions}
        ignored = tuple(str(name) for at, name in enumerate(self._names) if at not in used)
        first, last = (str(self._names[self._positions[end]]) for end in (0, -1))
        items = first if len(self._positions) == 1 else f"{len(self._positions):,} columns, {first} to {last}"
        return TableLayout("wide", {"user": str(self._names[self._user]), "items": items}, ignored)

    def check(self) -> None:
        """Refuse columns that are not on one scale."""
        if not self._open:
            return
        words = [bool(reader.words) for reader in self.readers] if len(self.readers) > 1 else [False]
        strange = self._extents.strange(np.array(words))
        if strange.size:
            first = int(strange[0])
            low, high = self._extents.low[first], self._extents.high[first]
            names = [str(self._names[self._positions[number]]) for number in strange.tolist()]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise DataError(
                f"{self._source}: column {names[0]!r}{more} is on another scale than the others: it reaches from "
                f"{low:g} to {high:g}."
                + advice("Leave {} out with {{}}.".format("it" if len(names) == 1 else "them"), self._ignoring(strange))
                + advice("If all are on one scale, say which: {}.", option("maximum"))
            )

    def _column(self, batch: Batch, number: int, place: Place) -> Floats:
        reader = self.readers[number if len(self.readers) > 1 else 0]
        position = self._positions[number]
        try:
            return batch.numbers(position, reader, place)
        except DataError as error:
            name = str(self._names[position]).strip()
            told = error.args[0]
            raise DataError(
                f"Column {name!r}: " + told + advice("Or leave the column out with {}.", self._ignoring([number]))
            ) from None

    def _ignoring(self, numbers: Any) -> Option:
        """Return the option that leaves some items out; the shell, where commas separate names, may need positions."""
        at = [self._positions[number] for number in numbers]
        names = [str(self._names[position]).strip() for position in at]
        written = [str(place) if "," in name or name.isdigit() else name for name, place in zip(names, at, strict=True)]
        return Option("ignore", f"ignore={names if len(names) > 1 else names[0]!r}", ",".join(written))


def columns_apart(table: Floats) -> NDArray[np.int64]:
    """Return the numbers of the columns of a table that are not on the scale of the others."""
    width = table.shape[1]
    extents = _Extents(np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width))
    if table.shape[0]:
        extents.add(table)
    return extents.strange(np.zeros(width, dtype=bool))


@dataclass(frozen=True, eq=False)
class _Extents:
    """How far each column reaches, and how many cells it has that are neither 0 nor 1, or 0 if so, as far as known."""

    low: Floats
    high: Floats
    cells: Floats

    def add(self, table: Floats) -> None:
        """Look at some more rows."""
        known = ~np.isnan(table)
        np.minimum(self.low, np.where(known, table, np.inf).min(axis=0), out=self.low)
        np.maximum(self.high, np.where(known, table, -np.inf).max(axis=0), out=self.high)
        np.add(self.cells, known.sum(axis=0), out=self.cells)

    def strange(self, words: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the numbers of the columns that are not on the scale of the others; `words` are those of yes and no.

        Stars of 1 to 5 have no 0, so that a column that reaches from 0 to 1 beside them is one of yes and no.
        """
        there = self.cells > 0
        yes_no = (self.low == 0.0) & (self.high == 1.0) & ((self.cells >= _TELLING_CELLS) | words)
        beyond = there & ((self.high > 1.0) | (self.low < 0.0))
        if yes_no.any() and beyond.any():
            return np.flatnonzero(beyond if beyond.sum() <= yes_no.sum() else yes_no)
        if there.sum() < 2:
            return np.empty(0, dtype=np.int64)
        usual = float(np.median(self.high[there]))
        far = there & (self.low > _FAR * max(usual, 1.0)) & (self.cells >= 2)
        return np.flatnonzero(far)


def _items(names: Sequence[Any], user: int, options: ReadingOptions, source: str) -> list[int]:
    """Return the positions of the items: those named, or all but the user's and those ignored."""
    left_out = {_position(names, column, "ignore", source) for column in options.ignore}
    if options.keep is None:
        return [position for position in range(len(names)) if position != user and position not in left_out]
    wanted = [_position(names, column, "keep", source) for column in options.keep]
    return [position for position in dict.fromkeys(wanted) if position != user and position not in left_out]


def _position(names: Sequence[Any], column: Any, what: str, source: str) -> int:
    known = [name.strip() if isinstance(name, str) else name for name in names]
    if column in known:
        return known.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(known):
        return column
    shown = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
    raise DataError(
        f"{source} has no column {column!r} to {'ignore' if what == 'ignore' else 'be an item'}; it has: {shown}."
        f"{suggestion(str(column), map(str, known))}"
    )


def _check_names(items: list[Any], positions: list[int], source: str) -> None:
    seen: dict[str, int] = {}
    for name, position in zip(items, positions, strict=True):
        text = str(name).strip()
        if not text:
            raise DataError(f"{source}: column {position} has no name. Columns of a wide table are items and need one.")
        if text in seen:
            raise DataError(f"{source}: columns {seen[text]} and {position} are both called {text!r}.")
        seen[text] = position
