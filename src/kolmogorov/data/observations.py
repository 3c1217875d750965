"""The observed entries of a table, by rows and by columns. A stored zero is an observation."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_between, check_indices, check_indptr
from kolmogorov._support.optional import to_frame
from kolmogorov.data.ordering import counting_order
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.data.weights import LARGEST_WEIGHT, LEAST_WEIGHT
from kolmogorov.errors import DataError

if TYPE_CHECKING:
    from kolmogorov.data.reading.ingest import Duplicates

Floats = NDArray[np.float64]
#: Entries that are looked at together where a table is gone through block by block.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class View:
    """Observations in one order: row r's entries lie at indptr[r] to indptr[r + 1].

    Attributes
    ----------
    indptr : int64[n_rows + 1]
    indices : int32[nnz] or int64[nnz]
        The partner of each entry, increasing within a row.
    values : float64[nnz]
        In [0, 1].
    weights : float64[nnz] or float64[0]
        Empty where every observation weighs one.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: Floats
    weights: Floats

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.values, self.weights):
            array.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays that come from another process are made read-only again, as kernels are compiled for.
        return View, (self.indptr, self.indices, self.values, self.weights)

    def weighed(self, factor: Floats) -> View:
        """Return the same entries with their weights multiplied, entry by entry."""
        return View(self.indptr, self.indices, self.values, factor * self.weights if self.weights.size else factor)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Entries per row."""
        return np.diff(self.indptr)

    def blocks(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows (first, last) that together are all rows, with about so many entries each."""
        return row_blocks(self.indptr, BLOCK if entries is None else entries)

    def owners(self, first: int, last: int) -> NDArray[np.int32]:
        """Return the row number of each entry of some rows."""
        return np.repeat(np.arange(first, last, dtype=np.int32), np.diff(self.indptr[first : last + 1]))

    def forget(self, first: int, last: int) -> None:
        """Give back the memory behind the entries of some rows, where it is only mapped."""

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value, found block by block, or None where there are none."""
        ends: list[float] = []
        for first, last in self.blocks():
            values = self.values[self.indptr[first] : self.indptr[last]]
            if values.size:
                ends += (float(values.min()), float(values.max()))
            self.forget(first, last)
        return (min(ends), max(ends)) if ends else None

    def check_intact(self) -> None:
        """Raise where the entries are in a file that has changed its size since it was opened."""

    def validate(self, n_rows: int, n_partners: int) -> None:
        """Raise `InvariantError` where the arrays do not form observations of so many rows and partners."""
        check_array("indptr", self.indptr, np.int64, (n_rows + 1,))
        check_indptr("indptr", self.indptr, self.indices.size)
        check_indices("indices", self.indptr, self.indices, n_partners)
        check_array("values", self.values, np.float64, self.indices.shape)
        check_between("values", self.values, 0.0, 1.0)
        check_array("weights", self.weights, np.float64, self.indices.shape if self.weights.size else (0,))
        check_between("weights", self.weights, LEAST_WEIGHT, LARGEST_WEIGHT)

    @property
    def nbytes(self) -> int:
        """Bytes held by the four arrays."""
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes + self.weights.nbytes


class Observations:
    """Observed entries of a table of users and items, with their ids and their scale. Immutable.

    Made by `from_arrays`, `from_frame`, `from_scipy`, `from_dense`, `open`, `kolmogorov.read_ratings` or
    `kolmogorov.datasets.load`.

    Attributes
    ----------
    users, items : Vocabulary
    rows, columns : View
        The entries by users and by items.
    scale : Scale
        Maps values in [0, 1] back to rating units.

    Examples
    --------
    >>> obs = Observations.from_arrays(["ann", "ann", "bob"], ["tea", "rum", "tea"], [5, 1, 4], maximum=5)
    >>> len(obs), obs.rows.values.tolist()
    (3, [0.2, 1.0, 0.8])
    """

    def __init__(self, users: Vocabulary, items: Vocabulary, rows: View, scale: Scale) -> None:
        for name, value in (("users", users), ("items", items), ("rows", rows), ("scale", scale)):
            object.__setattr__(self, name, value)

    users: Vocabulary
    items: Vocabulary
    rows: View
    scale: Scale

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Observations are immutable; make new ones instead of setting '{name}'.")

    # --- making -----------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        users: Any,
        items: Any,
        values: Any,
        *,
        weights: Any = None,
        minimum: float | None = None,
        maximum: float | None = None,
        scaling: str = "max",
        duplicates: Duplicates = "error",
    ) -> Observations:
        """Make observations of aligned arrays.

        Parameters
        ----------
        users, items : array-like of int or str
        values : array-like of float
            In rating units.
        weights : array-like of float, optional
            From 1e-9 to 1e9; an empirical probability from n trials weighs n.
        minimum, maximum : float, optional
            Ends of the rating scale, between -1e100 and 1e100. By default `maximum` is the largest value seen, or 1
            where none exceeds 1.
        scaling : {"max", "minmax"}
            p = r / maximum as in the paper, or p = (r - minimum) / (maximum - minimum).
        duplicates : {"error", "mean", "last"}
            What to do with several values for one (user, item). "mean" is weighted and adds the weights up.

        Examples
        --------
        >>> Observations.from_arrays([1, 1, 2], [10, 20, 10], [3, 5, 0])
        Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
        """
        from kolmogorov.data.reading.ingest import from_arrays

        return from_arrays(
            users,
            items,
            values,
            weights=weights,
            minimum=minimum,
            maximum=maximum,
            scaling=scaling,
            duplicates=duplicates,
        )

    @classmethod
    def from_frame(
        cls, frame: Any, user: str = "user", item: str = "item", value: str = "value", **options: Any
    ) -> Observations:
        """Make observations of the columns of a pandas, polars or pyarrow table.

        Parameters
        ----------
        frame : data frame
        user, item, value : str
            Column names.
        **options
            `weight`, a column name, and the options of `from_arrays`.
        """
        from kolmogorov.data.reading.ingest import from_frame

        return from_frame(frame, user, item, value, **options)

    @classmethod
    def from_scipy(cls, matrix: Any, **options: Any) -> Observations:
        """Make observations of a SciPy sparse matrix or array: what is stored is observed, zeros included."""
        from kolmogorov.data.reading.ingest import from_scipy

        return from_scipy(matrix, **options)

    @classmethod
    def from_dense(cls, table: Any, **options: Any) -> Observations:
        """Make observations of a two-dimensional array or a wide data frame.

        Rows are users, columns are items. NaN, None, the masked cells of a masked array and the empty cells of a frame
        are missing. A frame that holds a list of ratings is refused; it is for `from_frame`.

        Examples
        --------
        >>> Observations.from_dense([[0.8, 0.4], [float("nan"), 0.6]])
        Observations: 3 of 2 users × 2 items (75.0% observed), p = r
        """
        from kolmogorov.data.reading.ingest import from_dense

        return from_dense(table, **options)

    @classmethod
    def open(cls, path: str | os.PathLike[str], verify: bool = True) -> Observations:
        """Map a packed table, made by `kolmogorov.pack`, into memory; it may be larger than that.

        Parameters
        ----------
        path : path
        verify : bool
            Compare all checksums, which reads the file once. What could make compiled code read outside the table is
            checked in any case.
        """
        from kolmogorov.data.packed.table import open_table

        return open_table(path, verify)

    # --- looking ----------------------------------------------------------------------------------------

    @property
    def n_users(self) -> int:
        """Number of users, observed or not."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """Number of items, observed or not."""
        return len(self.items)

    @property
    def values(self) -> Floats:
        """The observed values in [0, 1], by users and then by items."""
        return self.rows.values

    @property
    def weights(self) -> Floats | None:
        """The weights in the order of `values`, or None where every observation weighs one."""
        return self.rows.weights if self.rows.weights.size else None

    @property
    def minimum(self) -> float:
        """The rating that means probability 0."""
        return self.scale.minimum

    @property
    def maximum(self) -> float:
        """The rating that means probability 1."""
        return self.scale.maximum

    @property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return bool(((self.values == 0.0) | (self.values == 1.0)).all())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in both orders."""
        return self.rows.nbytes + self.columns.nbytes

    @cached_property
    def columns(self) -> View:
        """The entries by items; made at first use and kept."""
        return transposed(self.rows, self.n_items)

    @property
    def seen_items(self) -> NDArray[np.bool_]:
        """Which items have entries."""
        present = np.zeros(self.n_items, dtype=bool)
        present[self.rows.indices] = True
        return present

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value in [0, 1], or None where there are no entries."""
        return self.rows.extent()

    def user_rows(self) -> NDArray[Any]:
        """Return the user's row number of each entry, in the order of `values`."""
        return self.rows.owners(0, self.n_users)

    def item_rows(self) -> NDArray[Any]:
        """Return the item's row number of each entry, in the order of `values`."""
        return self.rows.indices

    def validate(self) -> None:
        """Raise `InvariantError` where the parts do not form observations; for parts that come from a file."""
        self.rows.validate(self.n_users, self.n_items)

    def check_intact(self) -> None:
        """Raise where the entries are in a file that has changed its size since it was opened."""
        self.rows.check_intact()

    def __len__(self) -> int:
        return self.values.size

    def __repr__(self) -> str:
        cells = self.n_users * self.n_items
        share = 100.0 * len(self) / cells if cells else 0.0
        weighted = ", weighted" if self.weights is not None else ""
        return (
            f"Observations: {len(self):,} of {self.n_users:,} users × {self.n_items:,} items "
            f"({share:.1f}% observed), {self.scale}{weighted}"
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with columns user, item, value (in [0, 1]), rating, and weight if there is one.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The first of them that is installed by default.
        """
        columns = {
            "user": self.users.ids[self.user_rows()],
            "item": self.items.ids[self.item_rows()],
            "value": self.values,
            "rating": self.scale.rating(self.values),
        }
        if self.weights is not None:
            columns["weight"] = self.weights
        return to_frame(columns, backend)

    def fingerprint(self) -> str:
        """Return a digest of everything a fit depends on."""
        arrays = (self.rows.indptr, self.rows.indices, self.rows.values, self.rows.weights)
        parts = [hashlib.sha256(np.ascontiguousarray(array).data).digest() for array in arrays]
        return fingerprint_of(self.n_users, self.n_items, self.scale, parts)

    def rescaled(self, scale: Scale) -> Observations:
        """Return the same ratings as probabilities on another scale; they must fit into it."""
        if scale == self.scale:
            return self
        ratings = self.scale.rating(self.values)
        values = scale.probability(ratings)
        outside = (values < -1e-9) | (values > 1 + 1e-9)
        if outside.any():
            raise DataError(
                f"The rating {ratings[outside][0]:g} does not fit into the scale {scale.minimum:g} to "
                f"{scale.maximum:g} that the model was learned on."
            )
        rows = self.rows
        view = View(rows.indptr, rows.indices, np.clip(values, 0.0, 1.0), rows.weights)
        return Observations(self.users, self.items, view, scale)

    # --- splitting --------------------------------------------------------------------------------------

    def subset(self, chosen: NDArray[np.bool_]) -> Observations:
        """Keep the chosen entries (a mask in the order of `values`); ids and scale stay."""
        if np.shape(chosen) != self.values.shape or np.asarray(chosen).dtype != bool:
            raise DataError(f"'chosen' must be a boolean mask with one entry per observation ({len(self)}).")
        kept = np.concatenate(([0], np.cumsum(chosen, dtype=np.int64)))
        weights = self.rows.weights[chosen] if self.rows.weights.size else self.rows.weights
        view = View(kept[self.rows.indptr], self.rows.indices[chosen], self.rows.values[chosen], weights)
        return Observations(self.users, self.items, view, self.scale)

    def split(self, test_size: float = 0.2, random_state: Any = None) -> tuple[Observations, Observations]:
        """Hold out a random share of the entries: (train, test), with the same ids on both sides.

        Examples
        --------
        >>> obs = Observations.from_dense([[1, 0], [0, 1], [1, 1]])
        >>> train, test = obs.split(test_size=1/3, random_state=0)
        >>> len(train), len(test)
        (4, 2)
        """
        from kolmogorov.data.split import holdout

        return holdout(self, test_size, random_state)

    def folds(self, k: int = 5, random_state: Any = None) -> Iterator[tuple[Observations, Observations]]:
        """Yield k pairs (train, test) in which every entry is tested once."""
        from kolmogorov.data.split import folds

        return folds(self, k, random_state)


def row_blocks(indptr: NDArray[np.int64], entries: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most so many entries, or with one row."""
    first, n_rows = 0, indptr.size - 1
    while first < n_rows:
        last = int(np.searchsorted(indptr, indptr[first] + entries, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield first, last
        first = last


def fingerprint_of(n_users: int, n_items: int, scale: Scale, parts: Sequence[bytes]) -> str:
    """Digest the shape, the scale and the digests of the four arrays by users."""
    return hashlib.sha256(f"{n_users} {n_items} {scale}".encode() + b"".join(parts)).hexdigest()


def transposed(view: View, n_columns: int) -> View:
    """Order the entries of a view by their partners."""
    order = counting_order(view.indices, n_columns)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(view.indices, minlength=n_columns)))).astype(np.int64)
    own = view.owners(0, view.indptr.size - 1)
    weights = view.weights[order] if view.weights.size else view.weights
    return View(indptr, own[order], view.values[order], weights)
