"""What attributes of users or of items say in every draw, and who or what is placed by them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_bounded
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes.encoding import Attribute
from kolmogorov.data.attributes.reading import block_sizes
from kolmogorov.errors import InvariantError
from kolmogorov.fitted.files import Parts, StoredParts

Side = Literal["users", "items"]


class Placed(Protocol):
    """A side of a table some rows of which are placed by attributes."""

    @property
    def rows(self) -> Rows:
        """Their numbers, in order."""


@dataclass(frozen=True, eq=False)
class Attributed:
    """One side of a table, its thetas or its psis, explained by attributes in every draw.

    `slopes`, float32[n_draws, 1 + n_columns, D], begin with the mean; `drawn`, float32[n_draws, n_columns, D], are the
    others as they may be as well, by how unsure they are. `apart`, float32[n_draws, D], is in every draw
    how far some observed row is from what its attributes say. `values`, float32[n_rows, n_columns], are the attributes
    of all rows, zeros where nothing is known. `rows` are those that had no observations, and `centre`,
    float32[n_draws, n, D], is where their attributes place them.
    """

    columns: tuple[Attribute, ...]
    slopes: NDArray[np.float32]
    drawn: NDArray[np.float32]
    apart: NDArray[np.float32]
    values: NDArray[np.float32]
    rows: Rows
    centre: NDArray[np.float32]

    @property
    def column_names(self) -> list[str]:
        """What the columns of attributes are called in front of people."""
        return [name for column in self.columns for name in column.columns]

    def placed(self, values: Floats) -> NDArray[np.float32]:
        """Return where attributes, float64[n, n_columns], place rows in every draw; float32[n_draws, n, D]."""
        found = np.empty((len(self.slopes), len(values), self.slopes.shape[2]), dtype=np.float32)
        # Sums of their own: those of BLAS are rounded by how many rows there are, and where these lie.
        for row, own in enumerate(values.astype(np.float32)):
            found[:, row] = self.slopes[:, 0] + (own[:, None] * self.slopes[:, 1:]).sum(axis=1)
        return found

    def stored(self, side: Side) -> Parts:
        """Return what a file holds of this."""
        meta = {f"{side}_attributes": [column.to_dict() for column in self.columns]}
        names = ("slopes", "drawn", "apart", "values", "rows", "centre")
        return meta, {f"{side}_attribute_{name}": getattr(self, name) for name in names}

    @classmethod
    def restored(cls, parts: StoredParts, side: Side) -> Attributed | None:
        """Undo `stored`; None where there were no attributes."""
        columns = parts.meta.get(f"{side}_attributes")
        if columns is None:
            return None

        def array(name: str, dimensions: int, kind: str = "float32") -> NDArray[Any]:
            return parts.array(f"{side}_attribute_{name}", dimensions, kind)

        return cls(
            tuple(Attribute.from_dict(column) for column in columns),
            array("slopes", 3),
            array("drawn", 3),
            array("apart", 2),
            array("values", 2),
            array("rows", 1, "int64"),
            array("centre", 3),
        )

    def validate(self, side: Side, n_draws: int, n_rows: int, size: int) -> None:
        """Raise `InvariantError` where this does not belong to draws of such sizes."""
        n_columns = sum(block_sizes(self.columns))
        check_array(f"what attributes of {side} say", self.slopes, np.float32, (n_draws, 1 + n_columns, size))
        check_array(f"what attributes of {side} may say", self.drawn, np.float32, (n_draws, n_columns, size))
        check_array(f"how far {side} are from it", self.apart, np.float32, (n_draws, size))
        check_array(f"the attributes of {side}", self.values, np.float32, (n_rows, n_columns))
        n_placed = self.rows.size
        check_array(f"where {side} are placed", self.centre, np.float32, (n_draws, n_placed, size))
        for numbers in (self.slopes, self.drawn, self.apart, self.values, self.centre):
            check_bounded(f"the attributes of {side}", numbers)
        check_rows(self.rows, side, n_rows)


def check_rows(rows: Rows, side: Side, n_rows: int) -> None:
    """Raise `InvariantError` where rows that are placed by attributes are not rows of the table, in order."""
    if rows.size and not ((rows[1:] > rows[:-1]).all() and rows[0] >= 0 and rows[-1] < n_rows):
        raise InvariantError(f"the {side} that are placed by attributes are not those of the table")


def moved_rows(rows: Rows, before: Rows) -> tuple[Rows, Rows]:
    """Return rows by their numbers now, in order, and which of `rows` each was; `before` are those of each row now."""
    place = np.searchsorted(rows, before)
    there = (before >= 0) & (place < rows.size)
    there[there] = rows[place[there]] == before[there]
    now = np.flatnonzero(there)
    return now, place[now]


def carried(values: NDArray[Any], before: Rows) -> NDArray[Any]:
    """Return rows in their new order; of those that are new nothing is known."""
    return np.where((before >= 0)[:, None], values[np.maximum(before, 0)], values.dtype.type(0))


def placed_rows(attributed: Placed | None, n_rows: int) -> NDArray[np.bool_]:
    """Tell which rows of a side are placed by attributes alone."""
    found = np.zeros(n_rows, dtype=bool)
    if attributed is not None:
        found[attributed.rows] = True
    return found


def with_centres(factors: NDArray[np.float32], attributed: Attributed | None) -> NDArray[np.float32]:
    """Put rows that attributes place where they say, in an array that is the caller's own."""
    if attributed is not None:
        factors[:, attributed.rows] = attributed.centre
    return factors
