"""Attributes of users and of items: what they say in every draw and in one model, and rows that they alone place.

What attributes say is linear in them, in every draw: an item with the columns z is expected to be (1, z) @ S_k there,
and users with the thetas Theta_k expect Theta_k ((1, z) @ S_k) of it. As any other column of the completed table, this
one has a nearest item in the one model: with its thetas Theta, whose rows weigh W, the one that comes nearest to
(1, z) @ mean_k B_k, B_k = S_k Theta_k^T W Theta (Theta^T W Theta)^-1. Users are placed likewise, by psis.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import check_between, check_bounded
from kolmogorov.data.attributes import FARTHEST, Attribute, Side, block_sizes
from kolmogorov.descent.files import Arrays, Parts, Schema
from kolmogorov.errors import InvariantError

#: What is added to the diagonal of a Gram matrix, as a share of its trace: an event that nobody has is decided.
_RIDGE = 1e-6
#: The least share of everybody that an event counts as having.
_NOBODY = 1e-9


@dataclass(frozen=True, eq=False)
class _Told:
    """What attributes of one side say: of `rows`, those without observations, they are all that is known."""

    #: Fields that are arrays, in their order, as schemas of files declare them.
    ARRAYS: ClassVar[Schema]
    columns: tuple[Attribute, ...]
    #: (1 + n_columns) x D, beginning with the mean; in every draw, or in one model.
    slopes: NDArray[Any]
    #: The attributes of rows, zeros where nothing is known.
    values: NDArray[Any]
    rows: Rows

    def said(self, values: Floats) -> NDArray[Any]:
        """Return where attributes, float64[n, n_columns], say that rows are; [n, D], in every draw or in one model."""
        slopes = self.slopes
        found = np.empty((*slopes.shape[:-2], len(values), slopes.shape[-1]), dtype=slopes.dtype)
        # Sums of their own: those of BLAS are rounded by how many rows there are, and where these lie.
        for row, own in enumerate(values.astype(slopes.dtype)):
            found[..., row, :] = slopes[..., 0, :] + (own[:, None] * slopes[..., 1:, :]).sum(axis=-2)
        return found

    @classmethod
    def schema(cls, side: Side) -> Schema:
        """Return what a file that may know attributes of a side declares."""
        return {f"{side}_attribute_{name}?": declared.format(side=side) for name, declared in cls.ARRAYS.items()}

    def stored(self, side: Side) -> Parts:
        """Return what a file holds of this."""
        arrays = {f"{side}_attribute_{name}": getattr(self, name) for name in self.ARRAYS}
        return {f"{side}_attributes": [column.to_dict() for column in self.columns]}, arrays

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays, side: Side) -> Self | None:
        """Undo `stored`; None where there were no attributes."""
        if meta.get(f"{side}_attributes") is None:
            return None
        columns = tuple(map(Attribute.from_dict, meta[f"{side}_attributes"]))
        return cls(columns, **{name: arrays[f"{side}_attribute_{name}"] for name in cls.ARRAYS})

    def validate(self, side: Side, n_rows: int) -> None:
        """Raise `InvariantError` where this does not belong to so many rows; a schema has compared the other sizes."""
        n_columns, rows = sum(block_sizes(self.columns)), self.rows
        if self.values.shape[-1] != n_columns or self.slopes.shape[-2] != n_columns + 1:
            raise InvariantError(f"the attributes of {side} do not have {n_columns} columns")
        for name in self.ARRAYS:
            check_bounded(f"the attributes of {side}", getattr(self, name))
        check_between(f"the attributes of {side}", self.values, -FARTHEST, FARTHEST)
        if rows.size and not ((rows[1:] > rows[:-1]).all() and rows[0] >= 0 and rows[-1] < n_rows):
            raise InvariantError(f"the {side} that are placed by attributes are not those of the table")


@dataclass(frozen=True, eq=False)
class Attributed(_Told):
    """One side of a table, its thetas or its psis, explained by attributes in every draw.

    `drawn`, float32[n_draws, n_columns, D], are slopes as they may be as well, by how unsure they are. `apart`,
    float32[n_draws, D], is in every draw how far some observed row is from what its attributes say. `centre`,
    float32[n_draws, n, D], is where attributes place `rows`; `values` are those of all rows.
    """

    ARRAYS: ClassVar[Schema] = {
        "slopes": "f4 draws * events",
        "drawn": "f4 draws {side}_columns events",
        "apart": "f4 draws events",
        "values": "f4 {side} {side}_columns",
        "rows": "i8 {side}_placed",
        "centre": "f4 draws {side}_placed events",
    }
    drawn: NDArray[np.float32]
    apart: NDArray[np.float32]
    centre: NDArray[np.float32]


def moved_rows(rows: Rows, before: Rows) -> tuple[Rows, Rows]:
    """Return rows by their numbers now, in order, and which of `rows` each was; `before` are those of each row now."""
    now = np.flatnonzero(np.isin(before, rows))
    return now, np.searchsorted(rows, before[now])


def carried(values: NDArray[Any], before: Rows) -> NDArray[Any]:
    """Return rows in their new order; of those that are new nothing is known."""
    return np.where((before >= 0)[:, None], values[np.maximum(before, 0)], values.dtype.type(0))


def placed_rows(side: _Told | None, n_rows: int) -> NDArray[np.bool_]:
    """Tell which rows of a side are placed by attributes alone."""
    return np.isin(np.arange(n_rows), () if side is None else side.rows)


def with_centres(factors: NDArray[np.float32], attributed: Attributed | None) -> NDArray[np.float32]:
    """Put rows that attributes place where they say, in an array that is the caller's own."""
    if attributed is not None:
        factors[:, attributed.rows] = attributed.centre
    return factors


@dataclass(frozen=True, eq=False)
class Placing(_Told):
    """What attributes of one side, its thetas or its psis, say in the events of one model.

    A row with the columns z is the feasible one nearest to (1, z) @ `slopes`, where distances are those of predictions:
    `gram`, float64[D, D]. `effects`, float64[3, n_columns, D], are what a column means for each event: the mean over
    draws, and what holds the middle 90% of them. `values` are those of `rows` alone.
    """

    ARRAYS: ClassVar[Schema] = {
        "slopes": "f8 * events",
        "gram": "f8 events events",
        "effects": "f8 3 {side}_columns events",
        "rows": "i8 {side}_placed",
        "values": "f8 {side}_placed {side}_columns",
    }
    gram: Floats
    effects: Floats

    def values_of(self, row: int) -> Floats | None:
        """Return the attributes of a row that is placed by them; None for others."""
        found = self.values[self.rows == row]
        return found[0] if len(found) else None

    def with_rows(self, rows: Rows, values: Floats) -> Self:
        """Add rows that are placed; one that was placed before has other attributes now."""
        stays = ~np.isin(self.rows, rows)
        every = np.concatenate([self.rows[stays], rows])
        order = np.argsort(every)
        return replace(self, rows=every[order], values=np.concatenate([self.values[stays], values])[order])

    def moved(self, before: Rows, seen: NDArray[np.bool_]) -> Self:
        """Return the same where rows are others now, `before` those of each; what is observed now is not placed."""
        rows, were = moved_rows(self.rows, before)
        return replace(self, rows=rows[~seen[rows]], values=self.values[were[~seen[rows]]])

    def validate(self, side: Side, n_rows: int) -> None:
        """Raise `InvariantError` where this does not belong to a model of so many rows."""
        super().validate(side, n_rows)
        check_form(f"the distances between {side}", self.gram)


def check_form(what: str, matrix: Floats) -> None:
    """Raise `InvariantError` unless a matrix is that of squared distances."""
    check_bounded(what, matrix)
    largest = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > 1e-9 * largest or np.linalg.eigvalsh(matrix)[0] < -1e-9 * largest * len(
        matrix
    ):
        raise InvariantError(f"{what} are not symmetric, or may be negative")


def placing_of(
    side: Attributed | None, partners: NDArray[Any], factors: Floats, weights: Floats, *, of_users: bool
) -> Placing | None:
    """Return what attributes say in the events of one model, given what they say in every draw, if there are any.

    `partners`, [n_draws, n, D_k], are factors of the other side in every draw; `factors` and `weights`, float64[n, D]
    and float64[n], those of the one model, and what their rows weigh. Of users, whose thetas sum to 1, an attribute
    means for an event how it changes its share; of items, how much more its people expect of them than everybody does.
    """
    if side is None:
        return None
    size, weighted = factors.shape[1], factors * weights[:, None]
    gram = weighted.T @ factors
    gram = (gram + gram.T) / 2.0
    gram[np.diag_indices(size)] += _RIDGE * max(float(np.trace(gram)), _RIDGE)
    crosses = [draw.astype(np.float64).T @ weighted for draw in partners]

    def in_events(slopes: NDArray[np.float32], wanted: Floats) -> tuple[Floats, Floats]:
        """Return slopes of all draws as moments of the one model's events, and as slopes there, with wanted sums."""
        moments = np.stack([own.astype(np.float64) @ cross for own, cross in zip(slopes, crosses, strict=True)])
        found = np.linalg.solve(gram, moments.reshape(-1, size).T).T.reshape(moments.shape)
        if of_users:
            level = np.linalg.solve(gram, np.ones(size))
            found += (wanted - found.sum(axis=2))[..., None] * level / level.sum()
        return moments, found

    slopes = in_events(side.slopes, np.eye(1, side.slopes.shape[1])[0])[1]
    moments, effects = in_events(_against_others(side), np.zeros(side.drawn.shape[1]))
    if not of_users:
        mass = weighted.sum(axis=0)
        effects = moments / np.maximum(mass, _NOBODY)
        effects -= (effects @ mass)[..., None] / mass.sum()
    whole = np.stack([effects.mean(axis=0), *np.quantile(effects, (0.05, 0.95), axis=0)])
    nobody = np.empty((0, effects.shape[1])), np.empty(0, dtype=np.int64)
    return Placing(side.columns, slopes.mean(axis=0), *nobody, gram, whole)


def _against_others(side: Attributed) -> NDArray[np.float32]:
    """Return the slopes that draws may have, those of a category against the others, which it excludes.

    The others weigh as many rows as have them. Categories that are too rare to have a column say nothing.
    """
    found, first = side.drawn.copy(), 0
    for column in side.columns:
        block = slice(first, first + len(column.columns))
        first = block.stop
        if column.kind == "category":
            share, own = np.array(column.centre), side.drawn[:, block].astype(np.float64)
            total = np.einsum("c,kcd->kd", share, own)[:, None]
            found[:, block] = own - (total - share[:, None] * own) / np.maximum(1.0 - share, _NOBODY)[:, None]
    return found
