"""How attributes place users or items in one model, and who or what is placed by them alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_bounded
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes.encoding import Attribute
from kolmogorov.errors import InvariantError
from kolmogorov.fitted.attributes.attributed import Side, check_rows, moved_rows
from kolmogorov.fitted.files import Parts, StoredParts


@dataclass(frozen=True, eq=False)
class Placing:
    """What attributes of one side, its thetas or its psis, say in the events of one model.

    A row with the columns z is the feasible one nearest to (1, z) @ `slopes`, float64[1 + n_columns, D], where
    distances are those of predictions: `gram`, float64[D, D]. `effects`, float64[3, n_columns, D], are what a column
    means for each event: the mean over draws, and what holds the middle 90% of them. `rows` are those of which
    attributes are all that is known, and `values`, float64[n, n_columns], are these.
    """

    columns: tuple[Attribute, ...]
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

    @property
    def column_names(self) -> list[str]:
        """What the columns of attributes are called in front of people."""
        return [name for column in self.columns for name in column.columns]

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

    def stored(self, side: Side) -> Parts:
        """Return what a file holds of this."""
        meta = {f"{side}_attributes": [column.to_dict() for column in self.columns]}
        names = ("slopes", "gram", "effects", "rows", "values")
        return meta, {f"{side}_attribute_{name}": getattr(self, name) for name in names}

    @classmethod
    def restored(cls, parts: StoredParts, side: Side) -> Self | None:
        """Undo `stored`; None where there were no attributes."""
        columns = parts.meta.get(f"{side}_attributes")
        if columns is None:
            return None

        def array(name: str, dimensions: int, kind: str = "float64") -> NDArray[Any]:
            return parts.array(f"{side}_attribute_{name}", dimensions, kind)

        return cls(
            tuple(Attribute.from_dict(column) for column in columns),
            array("slopes", 2),
            array("gram", 2),
            array("effects", 3),
            array("rows", 1, "int64"),
            array("values", 2),
        )

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
