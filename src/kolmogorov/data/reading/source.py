"""What every way in comes down to: a source that is read once, chunk by chunk, and can name the place of a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.ids.columns import IdColumn, normalise_ids
from kolmogorov.data.numbers.columns import Place, in_array, numbers_of
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.errors import DataError


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some records, at least one: ids of both sides, ratings, and weights or None."""

    users: IdColumn
    items: IdColumn
    ratings: Floats
    weights: Floats | None


@dataclass(frozen=True, eq=False)
class Answered:
    """Some answers as they are written: ids of both sides, cells, None where nothing is, and what names their place."""

    users: IdColumn
    items: IdColumn
    cells: Sequence[Any]
    place: Place


class Source(Protocol):
    """Records in their order. One without any raises instead of giving chunks."""

    def chunks(self) -> Iterator[Chunk]:
        """Go through the records once, from the beginning."""

    def place(self, record: int) -> str:
        """Name the place of a record that was read, counted from 0: file and line, or row."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Aligned array-likes, in one chunk."""

    users: Any
    items: Any
    values: Any
    weights: Any = None

    def chunks(self) -> Iterator[Chunk]:
        """Give everything at once; it is in memory anyway."""
        users, items = normalise_ids(self.users, "user"), normalise_ids(self.items, "item")
        ratings, weights = aligned(users.size, items.size, self.values, self.weights, in_array)
        yield Chunk(users, items, ratings, weights)

    def place(self, record: int) -> str:
        """Name the entry."""
        return in_array(record)


def aligned(n_users: int, n_items: int, values: Any, weights: Any, place: Place) -> tuple[Floats, Floats | None]:
    """Return ratings and weights as arrays that have as many entries as there are users and items."""
    ratings = NumberReader(Notation(), fixed=True).of_array(values, place)
    given = None if weights is None else numbers_of(weights, "weight", place)
    sizes = {"users": n_users, "items": n_items, "values": ratings.size}
    if given is not None:
        sizes["weights"] = given.size
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in sizes.items())
        raise DataError(f"Arrays must have one entry per observation, got {counts}")
    if not ratings.size:
        raise nothing_there("here")
    return ratings, given
