"""The one way in: sources are gone through once, checked, and become the parts of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.entries import Entries, duplicate
from kolmogorov.data.entries.view import View
from kolmogorov.data.ids.encoder import IdEncoder
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.columns import Place, in_array
from kolmogorov.data.numbers.scale import Extent, Scale
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.provenance import MOST_POINTS, Provenance, points_of
from kolmogorov.data.reading.shape import RowSource
from kolmogorov.data.reading.source import Source, aligned
from kolmogorov.errors import DataError


class TableParts(NamedTuple):
    """What observations are made of."""

    users: Vocabulary
    items: Vocabulary
    rows: View
    scale: Scale
    source: Provenance | None = None


class Intake:
    """Goes through sources once, and gives their records as entries: keys for ids, ratings, and weights if any.

    When all of them were gone through, `finish` gives the ids, `scale` is known, and `encoded` turns keys into row
    numbers. `read_ratings` keeps the entries, `pack` spills them to disk.
    """

    def __init__(self, sources: Sequence[Source], options: ReadingOptions) -> None:
        self.sources, self._options = sources, options
        self._users, self._items = IdEncoder("user"), IdEncoder("item")
        #: How far the ratings reach.
        self.extent = Extent()
        #: Records up to the end of each source.
        self.ends: list[int] = []
        self._points: Floats | None = np.empty(0)

    def __iter__(self) -> Iterator[Entries]:
        for source in self.sources:
            yield from self.entries_of(source)

    def entries_of(self, source: Source) -> Iterator[Entries]:
        """Go through the next of the sources."""
        done = 0
        for chunk in source.chunks():

            def place(offset: int, done: int = done) -> str:
                return source.place(done + offset)

            keys = self._users.read(chunk.users, place), self._items.read(chunk.items, place)
            self.extent = self.extent.joined(self._options.scale_request.check(chunk.ratings, chunk.weights, place))
            if self._points is not None:
                self._points = np.union1d(self._points, chunk.ratings)
                self._points = self._points if self._points.size <= MOST_POINTS else None
            done += chunk.ratings.size
            yield Entries(*keys, chunk.ratings, np.empty(0) if chunk.weights is None else chunk.weights)
        self.ends.append(done + (self.ends[-1] if self.ends else 0))

    def finish(self) -> tuple[Vocabulary, Vocabulary]:
        """Return the ids of both sides."""
        return Vocabulary(self._users.finish()), Vocabulary(self._items.finish())

    def titled(self, items: Vocabulary) -> Vocabulary:
        """Return the items with the titles that stood beside them, if any did."""
        tables = [source.shape for source in self.sources if isinstance(source, RowSource) and source.shape is not None]
        texts = {str(i).strip(): str(title).strip() for shape in tables for i, title in shape.titles.items()}
        found = {i: texts[str(i)] for i in items.ids.tolist() if texts.get(str(i))} if texts else {}
        return items.with_labels(found) if found else items

    @property
    def scale(self) -> Scale:
        """The scale of all ratings."""
        return self._options.scale_request.scale_between(self.extent)

    def provenance(self, n_kept: int) -> Provenance | None:
        """Return what was understood of sources that are tables, of whose records so many are left."""
        tables = [source for source in self.sources if isinstance(source, RowSource) and source.shape is not None]
        layout = tables[0].layout() if tables else None
        if layout is None:
            return None
        readers = [reader for table in tables if table.shape for reader in table.shape.readers]
        words = {word: number for reader in readers for word, number in reader.words.items()}
        decimal = next((reader.marks.point for reader in readers if reader.marks.point), None)
        told = self._options.to_dict()
        return Provenance(
            layout,
            decimal,
            dict(list(words.items())[:MOST_POINTS]),
            points_of(self._points, self.extent.low, self.extent.high),
            str(self.scale),
            self.ends[-1],
            sum(table.shape.n_missing for table in tables if table.shape),
            self.ends[-1] - n_kept,
            "once" if self._options.merging != self._options.duplicates else self._options.duplicates,
            {name: value for name, value in told.items() if name not in ("minimum", "maximum", "scaling")}
            | ({"decimal": ","} if decimal == "," else {}),
            _name_of(tables[0]),
        )

    def encoded(self, entries: Entries) -> Entries:
        """Return entries with row numbers in the place of keys."""
        own, partner = self._users.row_numbers(entries.own), self._items.row_numbers(entries.partner)
        return replace(entries, own=own, partner=partner)

    def place(self, record: int) -> str:
        """Name the place of a record, counted over all sources."""
        number = int(np.searchsorted(self.ends, record, side="right"))
        return self.sources[number].place(record - [0, *self.ends][number])


def _name_of(source: Source) -> str:
    """Return the name of a source's file without its endings; nothing where there is no file."""
    path = getattr(source, "path", None)
    return "" if path in (None, "-") else Path(str(path)).name.split(".")[0]


def gathered(sources: Sequence[Source], options: ReadingOptions) -> TableParts:
    """Read sources into memory.

    Examples
    --------
    >>> from kolmogorov.data.reading.source import ArraySource
    >>> users, items, rows, scale, *_ = gathered([ArraySource(["ann", "bob"], [7, 8], [5, 1])], ReadingOptions())
    >>> users.ids.tolist(), rows.values.tolist(), str(scale)
    (['ann', 'bob'], [1.0, 0.2], 'p = r / 5')
    """
    intake = Intake(sources, options)
    entries = Entries.joined(intake)
    users, items = intake.finish()
    parts = assembled(users, items, intake.encoded(entries), intake.scale, options, intake.place)
    source = intake.provenance(parts.rows.indices.size)
    return parts._replace(items=intake.titled(items), source=source)


def coded(
    users: Vocabulary,
    user_rows: NDArray[Any],
    items: Vocabulary,
    item_rows: NDArray[Any],
    values: Any,
    options: ReadingOptions,
    weights: Any = None,
    place: Place = in_array,
) -> TableParts:
    """Return the parts of a table whose users and items are row numbers already."""
    ratings, given = aligned(user_rows.size, item_rows.size, values, weights, place)
    request = options.scale_request
    scale = request.scale_between(request.check(ratings, given, place))
    entries = Entries(user_rows, item_rows, ratings, np.empty(0) if given is None else given)
    return assembled(users, items, entries, scale, options, place)


def of_cells(
    row: NDArray[Any], column: NDArray[Any], values: Any, shape: tuple[int, int], weights: Any, options: ReadingOptions
) -> TableParts:
    """Return the parts of a table that is given by cells, whose rows and columns are numbered."""

    def place(position: int) -> str:
        return f"cell ({row[position]}, {column[position]})"

    users, items = Vocabulary.range(shape[0]), Vocabulary.range(shape[1])
    return coded(users, row, items, column, values, options, weights, place)


def assembled(
    users: Vocabulary, items: Vocabulary, ratings: Entries, scale: Scale, options: ReadingOptions, place: Place
) -> TableParts:
    """Sort checked ratings by row numbers, and put them on their scale."""

    def complain(first: int, second: int) -> DataError:
        pair = users.ids.item(ratings.own[first]), items.ids.item(ratings.partner[first])
        return duplicate(*pair, place(first), place(second))

    partner: NDArray[Any] = ratings.partner.astype(np.int32 if len(items) < 2**31 else np.int64, copy=False)
    entries = replace(ratings, partner=partner, values=scale.probability(ratings.values))
    entries = entries.sorted(len(users), len(items), options.merging, complain)
    return TableParts(users, items, entries.view(len(users)), scale)
