"""What attributes of users or of items say in every draw and in one model, and who or what is placed by them alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import check_array, check_bounded
from kolmogorov.data.attributes import Attribute, block_sizes
from kolmogorov.descent.files import Arrays, Parts, Schema
from kolmogorov.errors import InvariantError

Side = Literal["users", "items"]


class Placed(Protocol):
    """A side of a table some rows of which are placed by attributes."""

    @property
    def rows(self) -> Rows:
        """Their numbers, in order."""


@dataclass(frozen=True, eq=False)
class _Stored:
    """What attributes say, as files hold it."""

    #: Fields that are arrays, in their order, as schemas of files declare them.
    ARRAYS: ClassVar[Schema]
    columns: tuple[Attribute, ...]

    @property
    def column_names(self) -> list[str]:
        """What the columns of attributes are called in front of people."""
        return [name for column in self.columns for name in column.columns]

    @classmethod
    def schema(cls, side: Side) -> Schema:
        """Return what a file that may know attributes of a side declares."""
        return {f"{side}_attribute_{name}?": declared.format(side=side) for name, declared in cls.ARRAYS.items()}

    def stored(self, side: Side) -> Parts:
        """Return what a file holds of this."""
        meta = {f"{side}_attributes": [column.to_dict() for column in self.columns]}
        return meta, {f"{side}_attribute_{name}": getattr(self, name) for name in self.ARRAYS}

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays, side: Side) -> Self | None:
        """Undo `stored`; None where there were no attributes."""
        columns = meta.get(f"{side}_attributes")
        if columns is None:
            return None
        found = tuple(Attribute.from_dict(column) for column in columns)
        return cls(found, **{name: arrays[f"{side}_attribute_{name}"] for name in cls.ARRAYS})


@dataclass(frozen=True, eq=False)
class Attributed(_Stored):
    """One side of a table, its thetas or its psis, explained by attributes in every draw.

    `slopes`, float32[n_draws, 1 + n_columns, D], begin with the mean; `drawn`, float32[n_draws, n_columns, D], are the
    others as they may be as well, by how unsure they are. `apart`, float32[n_draws, D], is in every draw
    how far some observed row is from what its attributes say. `values`, float32[n_rows, n_columns], are the attributes
    of all rows, zeros where nothing is known. `rows` are those that had no observations, and `centre`,
    float32[n_draws, n, D], is where their attributes place them.
    """

    ARRAYS: ClassVar[Schema] = {
        "slopes": "f4 draws * events",
        "drawn": "f4 draws * events",
        "apart": "f4 draws events",
        "values": "f4 {side} *",
        "rows": "i8 {side}_placed",
        "centre": "f4 draws {side}_placed events",
    }
    slopes: NDArray[np.float32]
    drawn: NDArray[np.float32]
    apart: NDArray[np.float32]
    values: NDArray[np.float32]
    rows: Rows
    centre: NDArray[np.float32]

    def placed(self, values: Floats) -> NDArray[np.float32]:
        """Return where attributes, float64[n, n_columns], place rows in every draw; float32[n_draws, n, D]."""
        found = np.empty((len(self.slopes), len(values), self.slopes.shape[2]), dtype=np.float32)
        # Sums of their own: those of BLAS are rounded by how many rows there are, and where these lie.
        for row, own in enumerate(values.astype(np.float32)):
            found[:, row] = self.slopes[:, 0] + (own[:, None] * self.slopes[:, 1:]).sum(axis=1)
        return found

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


@dataclass(frozen=True, eq=False)
class Placing(_Stored):
    """What attributes of one side, its thetas or its psis, say in the events of one model.

    A row with the columns z is the feasible one nearest to (1, z) @ `slopes`, float64[1 + n_columns, D], where
    distances are those of predictions: `gram`, float64[D, D]. `effects`, float64[3, n_columns, D], are what a column
    means for each event: the mean over draws, and what holds the middle 90% of them. `rows` are those of which
    attributes are all that is known, and `values`, float64[n, n_columns], are these.
    """

    ARRAYS: ClassVar[Schema] = {
        "slopes": "f8 * events",
        "gram": "f8 events events",
        "effects": "f8 3 * events",
        "rows": "i8 {side}_placed",
        "values": "f8 {side}_placed *",
    }
    slopes: Floats
    gram: Floats
    effects: Floats
    rows: Rows
    values: Floats

    @classmethod
    def of_draws(cls, columns: tuple[Attribute, ...], slopes: Floats, gram: Floats, effects: Floats) -> Self:
        """Return what draws of slopes and of effects say together; no row is placed yet."""
        whole = np.stack([effects.mean(axis=0), *np.quantile(effects, (0.05, 0.95), axis=0)])
        nobody = np.empty(0, dtype=np.int64), np.empty((0, effects.shape[1]))
        return cls(columns, slopes.mean(axis=0), gram, whole, *nobody)

    def said(self, values: Floats) -> Floats:
        """Return where attributes, float64[n, n_columns], say that rows are; float64[n, D]."""
        # Sums of their own: those of BLAS are rounded by how many rows there are, and where these lie.
        rows = [self.slopes[0] + (own[:, None] * self.slopes[1:]).sum(axis=0) for own in values]
        return np.array(rows).reshape(len(values), self.slopes.shape[1])

    def values_of(self, row: int) -> Floats | None:
        """Return the attributes of a row that is placed by them; None for others."""
        place = int(np.searchsorted(self.rows, row))
        return self.values[place] if place < self.rows.size and self.rows[place] == row else None

    def with_rows(self, rows: Rows, values: Floats) -> Self:
        """Add rows that are placed; one that was placed before has other attributes now."""
        stays = ~np.isin(self.rows, rows)
        every = np.concatenate([self.rows[stays], rows])
        order = np.argsort(every)
        return replace(self, rows=every[order], values=np.concatenate([self.values[stays], values])[order])

    def moved(self, before: Rows, seen: NDArray[np.bool_]) -> Self:
        """Return the same where rows are others now, `before` those of each; what is observed now is not placed."""
        rows, were = moved_rows(self.rows, before)
        stays = ~seen[rows]
        return replace(self, rows=rows[stays], values=self.values[were[stays]])

    def validate(self, side: Side, n_rows: int, size: int) -> None:
        """Raise `InvariantError` where this does not belong to a model of such sizes."""
        n_columns = len(self.column_names)
        check_array(f"what attributes of {side} say", self.slopes, np.float64, (1 + n_columns, size))
        check_array(f"what attributes of {side} mean", self.effects, np.float64, (3, n_columns, size))
        check_array(f"how far {side} are apart", self.gram, np.float64, (size, size))
        check_array(f"the attributes of {side}", self.values, np.float64, (self.rows.size, n_columns))
        for numbers in (self.slopes, self.effects, self.values, self.gram):
            check_bounded(f"the attributes of {side}", numbers)
        if not np.array_equal(self.gram, self.gram.T) or not np.linalg.eigvalsh(self.gram)[0] > 0:
            raise InvariantError(f"distances between {side} are not positive")
        check_rows(self.rows, side, n_rows)
