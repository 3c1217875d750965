"""From arrays, frames and matrices to `Observations`: sizes, ratings and weights are checked, repeated pairs settled.

That something is an array of the right kind is `arraylike`'s business, ids are `vocabulary`'s, the ends of the scale
are `scale`'s. `packing` and `shards`, which see one part of the data at a time, use the same checks of ratings and
weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import OneOf, check_parameters, nearest
from kolmogorov._support.wording import advice, option, parameter
from kolmogorov.data.observations import Observations, View
from kolmogorov.data.ordering import counting_order
from kolmogorov.data.reading.arraylike import dense_of, frame_of, numbers_of
from kolmogorov.data.scale import Scale, choose_scale
from kolmogorov.data.trainable import nothing_there
from kolmogorov.data.vocabulary import Locate, Vocabulary
from kolmogorov.data.weights import ACCEPTED, not_positive, out_of_bounds
from kolmogorov.errors import DataError

Duplicates = Literal["error", "mean", "last"]
Floats = NDArray[np.float64]


def from_arrays(
    users: Any,
    items: Any,
    values: Any,
    *,
    weights: Any = None,
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "max",
    duplicates: Duplicates = "error",
    locate: Locate | None = None,
) -> Observations:
    """Build observations of aligned arrays; `locate` words the place of an entry in error messages."""
    user_names, user_codes = Vocabulary.index(users, "user", locate)
    item_names, item_codes = Vocabulary.index(items, "item", locate)
    return from_codes(
        user_names,
        user_codes,
        item_names,
        item_codes,
        values,
        weights=weights,
        minimum=minimum,
        maximum=maximum,
        scaling=scaling,
        duplicates=duplicates,
        locate=locate,
    )


def from_codes(
    users: Vocabulary,
    user_codes: NDArray[Any],
    items: Vocabulary,
    item_codes: NDArray[Any],
    values: Any,
    *,
    weights: Any = None,
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "max",
    duplicates: Duplicates = "error",
    locate: Locate | None = None,
) -> Observations:
    """Build observations of entries whose users and items are already row numbers."""
    check_parameters("Observations", {"duplicates": duplicates}, {"duplicates": OneOf(("error", "mean", "last"))})
    where = locate or (lambda position: f"entry {position}")
    ratings = numbers_of(values, "value", where)
    heavy = None if weights is None else numbers_of(weights, "weight", where)
    sizes = {"users": user_codes.size, "items": item_codes.size, "values": ratings.size}
    if heavy is not None:
        sizes["weights"] = heavy.size
    if len(set(sizes.values())) > 1:
        raise DataError(
            "Arrays must have one entry per observation, got " + ", ".join(f"{n} {k}" for k, n in sizes.items())
        )
    if ratings.size == 0:
        raise nothing_there("here")
    scale = checked_scale(ratings, heavy, minimum, maximum, scaling, where)
    view = _sorted_view(users, user_codes, items, item_codes, scale.probability(ratings), heavy, duplicates, where)
    return Observations(users, items, view, scale)


def checked_scale(
    ratings: Floats, weights: Floats | None, minimum: float | None, maximum: float | None, scaling: str, where: Locate
) -> Scale:
    """Refuse numbers that cannot be ratings or weights; return the scale of those that can."""
    check_finite(ratings, where)
    scale = choose_scale(ratings, minimum, maximum, scaling)
    check_numbers(ratings, weights, scale.minimum, scale.maximum, scaling, where)
    return scale


def check_finite(ratings: Floats, where: Locate) -> None:
    """Refuse what is no number; ends of a scale cannot be looked for before."""
    _refuse(~np.isfinite(ratings), ratings, where, "value", "must be finite, got {:g}.")


def check_numbers(
    ratings: Floats,
    weights: Floats | None,
    minimum: float | None,
    maximum: float | None,
    scaling: str,
    where: Locate,
) -> None:
    """Refuse ratings outside the ends of the scale that are known, and weights that are none."""
    if minimum is not None:
        if minimum == 0.0 and scaling == "max":
            remedy = advice("For ratings below zero use {}.", option("scaling", "minmax"))
            demand = f"must not be negative, got {{:g}}.{remedy}"
        else:
            demand = f"must be at least the minimum {minimum:g}, got {{:g}}."
        _refuse(ratings < minimum, ratings, where, "value", demand)
    if maximum is not None:
        remedy = advice("Give the right {} or drop the entry.", parameter("maximum"))
        demand = f"must be at most the maximum {maximum:g}, got {{:g}}.{remedy}"
        _refuse(ratings > maximum, ratings, where, "value", demand)
    if weights is not None:
        check_weights(weights, where)


def check_weights(weights: Floats, where: Locate) -> None:
    """Refuse weights that are no positive numbers, or that no sum could bear."""
    _refuse(not_positive(weights), weights, where, "weight", f"must be positive, got {{:g}}; {ACCEPTED}.")
    _refuse(out_of_bounds(weights), weights, where, "weight", f"is too small or too large, got {{:g}}; {ACCEPTED}.")


def from_frame(
    frame: Any, user: str, item: str, value: str, *, weight: str | None = None, **options: Any
) -> Observations:
    """Build observations of named columns of any frame that narwhals understands."""
    table = frame_of(frame)
    if table is None:
        raise DataError(
            f"Expected a pandas, polars or pyarrow table, got {type(frame).__name__}. "
            "For arrays use from_arrays, from_scipy or from_dense."
        )
    wanted = [user, item, value] + ([] if weight is None else [weight])
    for name in wanted:
        if name not in table.columns:
            raise DataError(
                f"The frame has no column {name!r}; it has: {', '.join(map(repr, table.columns))}."
                f"{nearest(str(name), map(str, table.columns))}"
            )
    columns = []
    for name in wanted:
        # By its place, since the names of a frame need not be texts.
        column = table[:, table.columns.index(name)]
        missing = column.is_null().to_numpy()
        if missing.any():
            raise DataError(f"row {int(np.argmax(missing))}: column {name!r} is empty. Drop such rows first.")
        columns.append(column.to_numpy())
    return from_arrays(
        *columns[:3],
        weights=columns[3] if weight is not None else None,
        locate=lambda position: f"row {position}",
        **options,
    )


def from_scipy(matrix: Any, **options: Any) -> Observations:
    """Build observations of a sparse matrix; rows are users, and every stored entry is observed."""
    from scipy.sparse import issparse

    if not issparse(matrix) or matrix.ndim != 2:
        raise DataError(f"Expected a two-dimensional SciPy sparse matrix or array, got {type(matrix).__name__}.")
    if matrix.format in ("dia", "bsr"):
        raise DataError(
            f"The format '{matrix.format}' does not tell stored zeros from padding. Convert the matrix to csr or coo."
        )
    table = matrix.tocoo()
    return _from_table(table.row, table.col, table.data, table.shape, **options)


def from_dense(table: Any, **options: Any) -> Observations:
    """Build observations of a dense table; rows are users. NaN, None, masked and empty cells are missing."""
    array = dense_of(table)
    observed = ~np.isnan(array)
    if not observed.any():
        raise DataError("There are no observations: every cell of the table is NaN or there are no cells.")
    row, column = np.nonzero(observed)
    return _from_table(row, column, array[observed], array.shape, **options)


def _from_table(
    row: NDArray[Any], column: NDArray[Any], data: NDArray[Any], shape: tuple[int, int], **options: Any
) -> Observations:
    return from_codes(
        Vocabulary.range(shape[0]),
        row,
        Vocabulary.range(shape[1]),
        column,
        data,
        locate=lambda position: f"cell ({row[position]}, {column[position]})",
        **options,
    )


def _refuse(wrong: NDArray[np.bool_], entries: Floats, where: Locate, what: str, message: str) -> None:
    if wrong.any():
        position = int(np.argmax(wrong))
        raise DataError(f"{where(position)}: {what} {message.format(entries[position])}")


def _sorted_view(
    users: Vocabulary,
    user_codes: NDArray[Any],
    items: Vocabulary,
    item_codes: NDArray[Any],
    values: Floats,
    weights: Floats | None,
    duplicates: Duplicates,
    where: Locate,
) -> View:
    def complain(first: int, second: int) -> DataError:
        pair = users.ids.item(user_codes[first]), items.ids.item(item_codes[first])
        return repeated(*pair, where(first), where(second))

    heavy = np.empty(0) if weights is None else weights
    entries = Entries(user_codes, item_codes.astype(np.int32 if len(items) < 2**31 else np.int64), values, heavy)
    entries = entries.sorted(len(users), len(items), duplicates, complain)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(entries.own, minlength=len(users))))).astype(np.int64)
    return View(indptr, entries.partner, entries.values, entries.weights)


def repeated(user: Any, item: Any, first: str, second: str) -> DataError:
    """Word the error for a pair that stands in two places."""
    return DataError(
        f"{second}: user {user!r} and item {item!r} stand there a second time (first: {first})."
        + advice("Pass {} or {} to settle such pairs.", option("duplicates", "mean"), option("duplicates", "last"))
    )


@dataclass(frozen=True, eq=False)
class Entries:
    """Aligned arrays, one element for each observation; `weights` is empty where all weigh one."""

    own: NDArray[Any]
    partner: NDArray[Any]
    values: Floats
    weights: Floats

    def taken(self, chosen: Any) -> Entries:
        """Return the chosen entries, by mask, slice or position."""
        weights = self.weights[chosen] if self.weights.size else self.weights
        return Entries(self.own[chosen], self.partner[chosen], self.values[chosen], weights)

    def sorted(
        self, n_own: int, n_partner: int, duplicates: Duplicates, complain: Callable[[int, int], DataError]
    ) -> Entries:
        """Order by both sides in linear time (two stable passes), and settle repeated pairs.

        `complain` makes the error for the positions of the first pair that is repeated.
        """
        order = counting_order(self.partner, n_partner)
        order = order[counting_order(self.own[order], n_own)]
        entries = self.taken(order)
        repeats = (entries.own[1:] == entries.own[:-1]) & (entries.partner[1:] == entries.partner[:-1])
        if not repeats.any():
            return entries
        if duplicates == "error":
            k = int(np.argmax(repeats))
            raise complain(int(order[k]), int(order[k + 1]))
        return entries._settled(repeats, duplicates)

    def _settled(self, repeats: NDArray[np.bool_], duplicates: Duplicates) -> Entries:
        first = np.concatenate(([True], ~repeats))
        if duplicates == "last":
            return self.taken(np.concatenate((~repeats, [True])))
        starts = np.flatnonzero(first)
        mass = self.weights if self.weights.size else np.ones(self.values.size)
        total = np.add.reduceat(mass, starts)
        if self.weights.size and out_of_bounds(total).any():
            raise DataError(
                f"The weights of one repeated pair add up to {total[np.argmax(out_of_bounds(total))]:g}; {ACCEPTED}. "
                "Make all weights smaller by the same factor."
            )
        # The mean of equal numbers may leave [0, 1] by rounding.
        mean = np.clip(np.add.reduceat(mass * self.values, starts) / total, 0.0, 1.0)
        # What stands there once stays as it is, to the last bit.
        alone = np.diff(np.append(starts, self.values.size)) == 1
        mean[alone] = self.values[starts[alone]]
        return Entries(self.own[first], self.partner[first], mean, total if self.weights.size else self.weights)
