"""How rows become records: one each where a table is a list of ratings, one for each item where it is wide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import Option, advice, option
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.ids.columns import IdColumn, is_blank_word, listed_ids, marked_ids, taken_ids
from kolmogorov.data.numbers.columns import Place
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.provenance import TableLayout
from kolmogorov.data.reading.source import Answered, Chunk
from kolmogorov.errors import DataError

#: Cells of a wide table that are looked at together. By judgement: four megabytes of numbers.
CELLS = 1 << 19
#: The option that says that every column is an item.
WIDE = Option("wide", "wide=True")


class Batch(Protocol):
    """Some rows of a table, whatever it is made of; columns go by their positions."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def ids(self, column: int, what: str, place: Place) -> IdColumn:
        """Return a column as ids; `place` words the place of a row."""

    def numbers(self, column: int, reader: NumberReader, place: Place) -> Floats:
        """Return a column as numbers, NaN where they are missing."""

    def texts(self, column: int) -> Sequence[Any]:
        """Return the cells of a column; None is an empty one."""


class Shape(ABC):
    """Turns the batches of one table into chunks; made anew for each time that the table is read."""

    #: Rows that should be looked at together, at most.
    most_rows: int = CELLS
    #: Values that were missing so far.
    n_missing: int = 0
    #: What reads the columns of values.
    readers: list[NumberReader]
    #: Titles by ids of items, as they are written.
    titles: dict[Any, Any]

    @abstractmethod
    def layout(self) -> TableLayout:
        """Return which columns are used, and which are not."""

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Look at the whole table, when all of it was read."""

    @abstractmethod
    def records(self, batch: Batch, place: Place) -> tuple[Chunk | None, NDArray[np.int64] | None]:
        """Return the records of a batch, or None, and how many there are up to each row, or None for one a row."""

    @abstractmethod
    def answers(self, batch: Batch, place: Place) -> Answered:
        """Return the cells of a batch as they are written, with the ids of both sides."""


class ListShape(Shape):
    """One row for each rating, or for each yes where no column is the value.

    Parameters
    ----------
    positions : dict
        The column of user, item, maybe value and weight.
    options : ReadingOptions
    names : list
        Of all columns; empty where they have none.
    guessed : set of str
        Roles whose columns were taken by their position alone.
    source : str
        What errors call the table.
    left_out : sequence
        Names of columns that are not even read.
    title : int, optional
        The column of the items' titles.
    time : int, optional
        A column of times, which holds no ratings.
    """

    def __init__(
        self,
        positions: dict[str, int],
        options: ReadingOptions,
        names: Sequence[Any] = (),
        guessed: frozenset[str] = frozenset(),
        *,
        source: str = "The table",
        left_out: Sequence[Any] = (),
        title: int | None = None,
        time: int | None = None,
    ) -> None:
        self._title, self._time = title, time
        self._at, self._names, self._source, self._left_out = positions, names, source, left_out
        # A column of a wide table may be called Beer or Show, which are usual names of items.
        self._unsure = bool(names) and "value" in guessed and len(guessed & {"user", "item"}) > 0
        self._guessed_item = "item" in guessed
        self._guessed = bool(names) and bool(guessed)
        self._guessed_value = bool(names) and "value" in guessed
        self._options = options
        form = options.notation
        self._values = NumberReader(form)
        self._weights = NumberReader(Notation(decimal=form.decimal, thousands=form.thousands), "weight")
        self._marks = frozenset(mark for mark in form.missing if is_blank_word(mark))
        self.readers = [self._values]
        self.titles = {}

    def records(self, batch: Batch, place: Place) -> tuple[Chunk | None, NDArray[np.int64] | None]:
        """Return a record for each row whose value is not missing."""
        if self._unsure:
            self._refuse_wide(batch)
        ratings = self._ratings(batch, place)
        users, items = (batch.ids(self._at[role], role, place) for role in ("user", "item"))
        if self._title is not None:
            self._note_titles(batch.texts(self._title), items)
        weights = batch.numbers(self._at["weight"], self._weights, place) if "weight" in self._at else None
        missing = np.isnan(ratings) if self._values.skips else np.zeros(ratings.size, dtype=bool)
        if self._marks:
            missing = missing | marked_ids(users, self._marks) | marked_ids(items, self._marks)
        if not missing.any():
            return Chunk(users, items, ratings, weights), None
        self.n_missing += int(missing.sum())
        kept, ends = np.flatnonzero(~missing), np.cumsum(~missing)
        if not kept.size:
            return None, ends
        weights = None if weights is None else weights[kept]
        return Chunk(taken_ids(users, kept), taken_ids(items, kept), ratings[kept], weights), ends

    def answers(self, batch: Batch, place: Place) -> Answered:
        """Return an answer for each row."""
        if self._guessed:
            columns = [self._names[self._at[role]] for role in ("user", "item", "value")]
            raise DataError(
                f"{self._source}: is the first line a header, with the columns {', '.join(map(repr, columns))}?"
                + advice("If so, name them with {}, {} and {}.", option("user"), option("item"), option("value"))
                + advice("If not, say {}.", Option("no header", "header=False"))
                + advice("If every column is an item, say {}.", WIDE)
            )
        users, items = (batch.ids(self._at[role], role, place) for role in ("user", "item"))
        return Answered(users, items, batch.texts(self._at["value"]), place)

    def layout(self) -> TableLayout:
        """Return which columns are used, and which are not."""
        named = {role: str(self._names[at]) if self._names else f"column {at}" for role, at in self._at.items()}
        used = {*self._at.values(), self._title}
        other = [str(name) for at, name in enumerate(self._names) if at not in used]
        kind = "list" if "value" in self._at else "only yes"
        if self._title is not None:
            named["title"] = str(self._names[self._title])
        return TableLayout(kind, named, (*other, *map(str, self._left_out)))

    def _note_titles(self, titles: Sequence[Any], items: IdColumn) -> None:
        """Remember what items are called; some may have no title."""
        self.titles.update(pair for pair in zip(listed_ids(items), titles, strict=True) if pair[1] is not None)

    def _ratings(self, batch: Batch, place: Place) -> Floats:
        if "value" not in self._at:
            return np.ones(batch.n_rows)
        try:
            return batch.numbers(self._at["value"], self._values, place)
        except DataError as error:
            if not self._guessed_value or self._could_be_values(batch, self._at["value"]):
                raise
            raise self._no_ratings(batch, place, error) from None

    def _no_ratings(self, batch: Batch, place: Place, error: DataError) -> DataError:
        """Word the error for a column that was taken for the ratings and holds text; another may be meant."""
        taken = {*self._at.values(), self._time}
        others = [k for k in range(len(self._names)) if k not in taken and self._could_be_values(batch, k)]
        if not others:
            return error
        meant = option("value", self._names[others[0]])
        named = ", ".join(repr(str(self._names[k])) for k in others)
        return DataError(
            f"{place(0)}: column {str(self._names[self._at['value']])!r} was taken for the ratings, and holds text. "
            f"Numbers are in: {named}." + advice("For example, say {}.", meant)
        )

    def _refuse_wide(self, batch: Batch) -> None:
        """Refuse a table whose columns have no usual names, where all but the first few could be items."""
        self._unsure = False
        columns = [k for k in range(len(self._names)) if k != self._at["user"]]
        values = [k for k in columns if self._could_be_values(batch, k)]
        # A list has one column of values; others may be a count or a weight.
        if len(values) < 3 or 2 * len(values) < len(columns) or not (self._guessed_item or self._at["item"] in values):
            return
        shown = ", ".join(repr(str(self._names[k])) for k in values[:4]) + (", ..." if len(values) > 4 else "")
        raise DataError(
            f"{self._source}: is it a list of ratings, or one row per user and one column per item? The columns "
            f"{shown} all hold values."
            + advice("If each is an item, say {}.", WIDE)
            + advice("If it is a list, name its columns with {} and {}.", option("item"), option("value"))
        )

    def _could_be_values(self, batch: Batch, column: int) -> bool:
        """Tell whether a column holds numbers or yes and no, empty cells aside."""
        form = self._options.notation
        reader = NumberReader(Notation(form.meaning, ("", *form.missing), form.decimal, form.thousands), fixed=True)
        try:
            return not bool(np.isnan(batch.numbers(column, reader, str)).all())
        except DataError:
            return False


@dataclass
class Tally:
    """From the number of a record to that of the row that it came from: a row may give none, one or several."""

    _parts: list[tuple[int, int, NDArray[np.int64] | None]] = field(default_factory=list)
    n_rows: int = 0
    n_records: int = 0

    def add(self, n_rows: int, ends: NDArray[np.int64] | None) -> None:
        """Note some more rows; `ends` counts their records up to each, None is one a row."""
        self._parts.append((self.n_records, self.n_rows, ends))
        self.n_rows += n_rows
        self.n_records += n_rows if ends is None else int(ends[-1])

    def row_of(self, record: int) -> int:
        """Return the row of a record.

        Examples
        --------
        >>> tally = Tally()
        >>> tally.add(3, np.array([0, 2, 2])), tally.add(2, None)
        (None, None)
        >>> [tally.row_of(record) for record in range(4)]
        [1, 1, 3, 4]
        """
        first, row, ends = next(part for part in reversed(self._parts) if part[0] <= record)
        offset = record - first
        return row + (offset if ends is None else int(np.searchsorted(ends, offset, side="right")))


class RowSource(ABC):
    """Base of sources that are tables: it goes through batches of rows and makes records of them."""

    _tally: Tally
    #: The shape of what was read.
    shape: Shape | None = None

    @abstractmethod
    def batches(self) -> Iterator[tuple[Shape, Batch]]:
        """Go through the rows once."""

    def row_place(self, row: int) -> str:
        """Name the place of a row."""
        return f"row {row}"

    def chunks(self) -> Iterator[Chunk]:
        """Go through the records once."""
        self._tally = tally = Tally()
        for shape, batch in self.batches():
            self.shape = shape

            def place(offset: int, first: int = tally.n_rows) -> str:
                return self.row_place(first + offset)

            chunk, ends = shape.records(batch, place)
            tally.add(batch.n_rows, ends)
            if chunk is not None:
                yield chunk
        if self.shape is not None:
            self.shape.check()
        if not tally.n_rows:
            raise nothing_there("here")
        if not tally.n_records:
            raise DataError(f"{self.row_place(0)} and all others: every value is missing. Nothing is left to read.")

    def answers(self) -> Iterator[Answered]:
        """Go through the cells once, as they are written."""
        first = 0
        for shape, batch in self.batches():

            def place(offset: int, first: int = first) -> str:
                return self.row_place(first + offset)

            yield shape.answers(batch, place)
            first += batch.n_rows
        if not first:
            raise nothing_there("here")

    def layout(self) -> TableLayout | None:
        """Return how the table is laid out, once it was read."""
        return None if self.shape is None else self.shape.layout()

    def place(self, record: int) -> str:
        """Name the place of a record that was read."""
        return self.row_place(self._tally.row_of(record))


def refuse_empty(name: Any, first: str, reader: NumberReader | None = None) -> DataError:
    """Word the error for an empty cell."""
    told = f"{first}: column {name!r} is empty."
    drop = "Drop such rows first."
    if reader is None:
        return DataError(f"{told} {drop}")
    return DataError(told + advice("Drop such rows first, or pass {}.", option("missing", ""), otherwise=drop))
