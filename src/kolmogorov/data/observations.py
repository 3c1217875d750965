"""The observed entries of a table, by users and by items, with their ids and their scale."""

from __future__ import annotations

import numbers
import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.markup import bars, card, note
from kolmogorov._support.optional import to_frame
from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import between, check_parameters, integer, one_of
from kolmogorov.data.columns import titled, usual_columns
from kolmogorov.data.packed import PackedTable, open_table, packed_subset
from kolmogorov.data.scale import Place, Scale, Terms
from kolmogorov.data.sources import columns_of, is_table
from kolmogorov.data.told import Provenance
from kolmogorov.data.values import Notation, UnreadableError, numbers_of
from kolmogorov.data.view import View, duplicate, fingerprint_of, nothing_there, sorted_view, transposed
from kolmogorov.data.vocabulary import Vocabulary, in_array, one_dimensional
from kolmogorov.errors import DataError

By = Literal["entry", "user", "leave_one_out"]
SPLIT_RULES = {"by": one_of(("entry", "user", "leave_one_out")), "test_size": between(0.0, 1.0)}
#: Values that a card tells apart; more are put into ten bins.
_TOLD_APART = 12
#: At most this share of all ratings are likes: about half. By judgement; on MovieLens it makes 4 of 5 stars a like.
_HALF = 0.6
#: Ratings looked at to find which values there are.
_LOOK = 1 << 20
# Values come through divisions; a rating at the threshold must not fall below it by rounding.
_ROUNDING = 1e-9


class NotNumbersError(DataError, TypeError):
    """A cell that no number can be made of; scikit-learn's conventions ask for a TypeError."""


@dataclass(frozen=True, eq=False, repr=False)
class Observations:
    """Observed entries of a table of users and items, with their ids and their scale. Immutable.

    Made by its class methods, `kolmogorov.read_ratings`, `kolmogorov.pack` or `kolmogorov.datasets.load`.

    Attributes
    ----------
    users, items : Vocabulary
        Ids are texts.
    rows, columns : View
        The entries by users and by items.
    scale : Scale
        Maps values in [0, 1] back to rating units.
    source : Provenance or None
        What was understood of the file or frame that they were read from: columns, words, what is missing.

    Examples
    --------
    >>> obs = Observations.from_arrays(["ann", "ann", "bob"], ["tea", "rum", "tea"], [5, 1, 4], maximum=5)
    >>> len(obs), obs.rows.values.tolist()
    (3, [0.2, 1.0, 0.8])
    """

    users: Vocabulary
    items: Vocabulary
    rows: View
    scale: Scale
    source: Provenance | None = None
    #: Where the entries lie that are mapped.
    packed: PackedTable | None = None

    # --- ways in ----------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(cls, users: Any, items: Any, values: Any, *, weights: Any = None, **options: Any) -> Observations:
        """Make observations of aligned arrays.

        Parameters
        ----------
        users, items : array-like of str or int
        values : array-like of float
            In rating units.
        weights : array-like of float, optional
            From 1e-9 to 1e9; an empirical probability from n trials weighs n.
        **options
            `minimum`, `maximum`, `scaling` and `duplicates`, as in `kolmogorov.read_ratings`.

        Examples
        --------
        >>> Observations.from_arrays([1, 1, 2], [10, 20, 10], [3, 5, 0])
        Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
        """
        told = Terms(**options)
        sides = *Vocabulary.index(users, "user"), *Vocabulary.index(items, "item")
        return cls.of_rows(*sides, values, told, weights=weights)

    @classmethod
    def from_scipy(cls, matrix: Any, *, weights: Any = None, **options: Any) -> Observations:
        """Make observations of a SciPy sparse matrix or array: what is stored is observed, zeros included.

        Rows are users. `weights` has one entry for each that is stored; other options are those of `from_arrays`.
        """
        from scipy.sparse import issparse

        if not issparse(matrix) or matrix.ndim != 2:
            raise DataError(f"Expected a two-dimensional SciPy sparse matrix or array, got {type(matrix).__name__}.")
        if matrix.format in ("dia", "bsr"):
            raise DataError(
                f"The format '{matrix.format}' does not tell stored zeros from padding. Convert the matrix to csr."
            )
        table = matrix.tocoo()
        return cls._of_cells(table.row, table.col, table.data, table.shape, Terms(**options), weights)

    @classmethod
    def from_dense(cls, table: Any, *, weights: Any = None, **options: Any) -> Observations:
        """Make observations of a two-dimensional array, or of a wide frame of numbers.

        Rows are users, columns are items. NaN, None, masked cells and the empty cells of a frame are missing.
        `weights` has one entry for each observed cell; other options are those of `from_arrays`.

        Examples
        --------
        >>> Observations.from_dense([[0.8, 0.4], [float("nan"), 0.6]])
        Observations: 3 of 2 users × 2 items (75.0% observed), p = r
        """
        told, array = Terms(**options), dense_of(table)
        row, column = np.nonzero(~np.isnan(array))
        if not row.size:
            raise DataError("There are no observations: every cell of the table is NaN or there are no cells.")
        return cls._of_cells(row, column, array[row, column], array.shape, told, weights)

    @classmethod
    def _of_cells(cls, row: Any, column: Any, values: Any, shape: Any, told: Terms, weights: Any) -> Observations:
        def place(position: int) -> str:
            return f"cell ({row[position]}, {column[position]})"

        users, items = map(Vocabulary.range, shape)
        return cls.of_rows(users, row, items, column, values, told, weights=weights, place=place)

    @classmethod
    def of_rows(
        cls,
        users: Vocabulary,
        own: NDArray[Any],
        items: Vocabulary,
        partner: NDArray[Any],
        values: Any,
        told: Terms,
        *,
        weights: Any = None,
        place: Place = in_array,
    ) -> Observations:
        """Make observations of users and items that are row numbers already."""
        ratings = numbers_in(values, "value", place)
        mass = np.empty(0) if weights is None else numbers_in(weights, "weight", place)
        sizes = {"users": own.size, "items": partner.size, "values": ratings.size}
        sizes |= {} if weights is None else {"weights": mass.size}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{count} {name}" for name, count in sizes.items())
            raise DataError(f"Arrays must have one entry per observation, got {counts}.")
        if not ratings.size:
            raise nothing_there("here")
        scale = told.scale_of(ratings, mass if mass.size else None, place)

        def complain(first: int, second: int) -> DataError:
            return duplicate(users.ids[own[first]], items.ids[partner[first]], place(first), place(second))

        shape, probabilities = (len(users), len(items)), scale.probability(ratings)
        rows = sorted_view(shape, own, partner, probabilities, mass, told.duplicates, complain)
        return cls(users, items, rows, scale)

    @classmethod
    def open(cls, path: str | os.PathLike[str], verify: bool = True) -> Observations:
        """Map a packed table, made by `kolmogorov.pack`, into memory; it may be larger than that.

        With `verify` the digests of the files are compared. What compiled code relies on is checked in any case.
        """
        return _mapped(open_table(path, verify))

    # --- what there is ----------------------------------------------------------------------------------------------

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

    @cached_property
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(bool(((values == 0.0) | (values == 1.0)).all()) for values in self.rows.value_blocks())

    @property
    def path(self) -> Path | None:
        """The packed table that the entries lie in, or None where they are in memory."""
        return None if self.packed is None else self.packed.path

    @cached_property
    def columns(self) -> View:
        """The entries by items; made at first use and kept."""
        return transposed(self.rows, self.n_items) if self.packed is None else self.packed.columns

    @property
    def seen_items(self) -> NDArray[np.bool_]:
        """Which items have entries."""
        if self.packed is not None:
            return self.columns.counts > 0
        seen = np.zeros(self.n_items, dtype=bool)
        seen[self.rows.indices] = True
        return seen

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value in [0, 1], or None where there are no entries."""
        return self.rows.extent

    def user_rows(self) -> NDArray[Any]:
        """Return the user's row number of each entry, in the order of `values`."""
        return self.rows.owners(0, self.n_users)

    def item_rows(self) -> NDArray[Any]:
        """Return the item's row number of each entry, in the order of `values`."""
        return self.rows.indices

    def __len__(self) -> int:
        return int(self.rows.indptr[-1])

    def __str__(self) -> str:
        share = 100.0 * len(self) / max(self.n_users * self.n_items, 1)
        return (
            f"Observations: {len(self):,} of {self.n_users:,} users × {self.n_items:,} items ({share:.1f}% observed), "
            f"{self.scale}{', weighted' if self.weights is not None else ''}"
        )

    def __repr__(self) -> str:
        return "\n".join([str(self), *(self.source.lines() if self.source else [])])

    def _repr_html_(self) -> str:
        """Show the size, and how often each value was observed."""
        said = [note(line) for line in repr(self).removeprefix("Observations: ").splitlines()]
        found, counts = np.unique(self.values.round(9), return_counts=True)
        labels = [f"{self.scale.rating(value):g}" for value in found.tolist()]
        if found.size > _TOLD_APART:
            counts, ends = np.histogram(self.values, bins=10, range=(0.0, 1.0))
            labels = [f"{low:g} to {high:g}" for low, high in pairwise(self.scale.rating(ends).tolist())]
        shares = [f"{count:,} ({count / len(self):.0%})" for count in counts.tolist()]
        return card("Observations", *said, bars(labels, counts.tolist(), shares))

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
        return to_frame(columns if self.weights is None else columns | {"weight": self.weights}, backend)

    def fingerprint(self) -> str:
        """Return a digest of everything a fit depends on."""
        if self.packed is not None:
            return self.packed.fingerprint
        return fingerprint_of(self.n_users, self.n_items, self.scale, self.rows)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.packed is None:
            return super().__reduce__()
        # Another process maps the same file; titles may have been given since.
        known = self.users is self.packed.users and self.items is self.packed.items
        names = {} if known else {"users": self.users, "items": self.items}
        return _reopened, (self.packed.path, self.fingerprint(), names)

    # --- others made of it ------------------------------------------------------------------------------------------

    def with_titles(self, items: Any = None, users: Any = None) -> Observations:
        """Return the same observations, whose items or users are called something.

        Tables, rules, explanations and reports show titles then; predictions are still asked for by ids.

        Parameters
        ----------
        items, users : dict, data frame or path, optional
            Ids with their titles: a dictionary, or two columns. A file may be separated by commas, tabs, semicolons,
            ``|`` or ``::``, with or without a header; columns are found by their usual names, or are the first two.

        Examples
        --------
        >>> obs = Observations.from_arrays([1, 2], [50, 50], [5, 4])
        >>> obs.with_titles(items={50: "Star Wars (1977)"}).items.name(0)
        'Star Wars (1977)'
        """
        if items is None and users is None:
            return self
        called = titled(self.users, users, "user"), titled(self.items, items, "item")
        return self.over(users=called[0], items=called[1], packed=self.packed)

    def over(self, **parts: Any) -> Observations:
        """Return observations with other parts, by the names of what observations are made of; the rest stays."""
        return replace(self, **({"packed": None} | parts))

    def rescaled(self, scale: Scale) -> Observations:
        """Return the same ratings as probabilities on another scale; they must fit into it."""
        if scale == self.scale:
            return self
        return self.over(rows=self.rows.with_values(self.scale.converted(self.values, scale)), scale=scale)

    def subset(self, chosen: NDArray[np.bool_]) -> Observations:
        """Keep the chosen entries (a mask in the order of `values`); ids and scale stay.

        Those of a packed table go to another one under the temporary directory, which is deleted when it is not used.
        """
        if np.shape(chosen) != self.values.shape or np.asarray(chosen).dtype != bool:
            raise DataError(f"'chosen' must be a boolean mask with one entry per observation ({len(self)}).")
        if self.packed is not None and np.any(chosen):
            part = packed_subset(self.packed, np.asarray(chosen))
            return self.over(rows=part.rows, packed=part)
        return self.over(rows=self.rows.chosen(np.asarray(chosen)))

    def filled(self) -> Observations:
        """Return the whole table: what was not observed is a no, as are its values of 0.

        For counting rules where only yes is recorded. It is as large as the table has cells; to fit a model to such
        data use its parameter `unobserved` instead.

        Examples
        --------
        >>> Observations.from_arrays(["ann", "bob"], ["tea", "rum"], [1, 1]).filled().values.reshape(2, 2)
        array([[0., 1.],
               [1., 0.]])
        """
        values = np.zeros((self.n_users, self.n_items))
        values[self.user_rows(), self.item_rows()] = self.values
        indptr = np.arange(self.n_users + 1, dtype=np.int64) * self.n_items
        indices = np.tile(np.arange(self.n_items, dtype=np.int32), self.n_users)
        return Observations(self.users, self.items, View(indptr, indices, values.ravel(), np.empty(0)), self.scale)

    def split(
        self, test_size: float = 0.2, random_state: Any = None, *, by: By = "entry"
    ) -> tuple[Observations, Observations]:
        """Hold out some of the entries: (train, test), with the same ids on both sides.

        Parameters
        ----------
        test_size : float
            Share of the entries to hold out.
        random_state : int, Generator, RandomState or None
        by : {"entry", "user", "leave_one_out"}
            Entries at random; a share of every user's entries; one entry of every user (`test_size` is not used). A
            user with one entry keeps it.

        Examples
        --------
        >>> obs = Observations.from_dense([[1, 0], [0, 1], [1, 1]])
        >>> train, test = obs.split(test_size=1/3, random_state=0)
        >>> len(train), len(test)
        (4, 2)
        """
        check_parameters("split", {"by": by, "test_size": test_size}, SPLIT_RULES)
        if not len(self):
            raise nothing_there("to split")
        draws, counts = generator(random_state), self.rows.counts
        chosen = np.zeros(len(self), dtype=bool)
        if by == "entry":
            n_test = round(test_size * len(self))
            if not 0 < n_test < len(self):
                raise DataError(f"A test share of {test_size:g} of {len(self)} observation(s) leaves one part empty.")
            chosen[draws.permutation(len(self))[:n_test]] = True
        else:
            # Never all of a row.
            wanted = np.minimum(1 if by == "leave_one_out" else np.round(test_size * counts), counts - 1).clip(0)
            if not wanted.any():
                raise DataError(
                    "No user has enough observations to hold some out and keep others; the test part is empty."
                )
            owner = self.user_rows()
            # In each row the entries that come last in this order are held out.
            order = np.lexsort((draws.random(len(self)), owner))
            chosen[order] = self.rows.indptr[1:][owner] - np.arange(len(self)) <= wanted[owner]
        return self.subset(~chosen), self.subset(chosen)

    def folds(self, k: int = 5, random_state: Any = None) -> Iterator[tuple[Observations, Observations]]:
        """Yield k pairs (train, test) in which every entry is tested once."""
        check_parameters("folds", {"k": k}, {"k": integer(2)})
        if len(self) < k:
            raise DataError(f"{len(self)} observation(s) cannot be dealt into {k} folds.")
        part = np.empty(len(self), dtype=np.uint8 if k < 256 else np.int64)
        part[generator(random_state).permutation(len(self))] = np.arange(len(self)) % k
        return ((self.subset(part != fold), self.subset(part == fold)) for fold in range(k))


def _mapped(table: PackedTable) -> Observations:
    return Observations(table.users, table.items, table.rows, table.scale, table.source, table)


def _reopened(path: Path, fingerprint: str, names: dict[str, Any]) -> Observations:
    return replace(_mapped(open_table(path, verify=False, fingerprint=fingerprint)), **names)


# --- arrays that people hand in ---------------------------------------------------------------------------------------


def numbers_in(raw: Any, what: str, place: Place) -> Floats:
    """Return a one-dimensional array of numbers, or of texts that are numbers or yes and no."""
    array = one_dimensional(raw, f"The {what}s")
    _refuse_kind(array, f"The {what}s")
    cells = array.tolist()
    if any(isinstance(cell, str) for cell in cells):
        try:
            return numbers_of([str(cell) for cell in cells], Notation()).numbers
        except UnreadableError as error:
            raise DataError(f"{place(error.at)}: {what} {error.complaint}") from None
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        for at, cell in enumerate(array.tolist()):
            try:
                float(0.0 if cell is None else cell)
            except (TypeError, ValueError):
                raise DataError(f"{place(at)}: {what} must be a number, got {cell!r}.") from None
        raise


def dense_of(raw: Any) -> Floats:
    """Return a table as floats; NaN, None, masked cells and the empty cells of data frames become NaN."""
    if is_table(raw):
        return _cells_of(raw)
    try:
        cells = np.asarray(raw)
        _refuse_kind(cells, "The cells of the table")
        if isinstance(raw, np.ma.MaskedArray):
            cells = np.ma.filled(raw.astype(object), np.nan)
        array = cells.astype(np.float64, copy=False)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        kind = NotNumbersError if isinstance(error, TypeError) else DataError
        raise kind(
            "Expected a table of numbers with one row per user and one column per item, and NaN for missing entries: "
            f"{str(error).rstrip('.')}."
        ) from None
    if array.ndim != 2:
        raise DataError(
            f"Expected a two-dimensional array (users × items), got shape {array.shape}. Reshape your data."
        )
    return array


def _cells_of(frame: Any) -> Floats:
    """Return the cells of a wide frame of numbers."""
    # The labels of rows are no cells.
    source, columns = columns_of(frame.reset_index(drop=True) if hasattr(frame, "reset_index") else frame)
    if {"user", "item"} <= (usual := usual_columns(source.names)).keys():
        shown = ", ".join(repr(source.names[at]) for at in usual.values())
        raise DataError(
            f"The columns {shown} make a list of ratings, where a table of numbers with one row per user and one "
            "column per item is expected. Read it with "
            f"kolmogorov.read_ratings(df{'' if 'value' in usual else ', implicit=True'})."
        )
    array = np.full((len(columns[0]) if columns else 0, len(columns)), np.nan)
    for at, column in enumerate(columns):
        try:
            array[:, at] = pa.array(column, pa.float64(), from_pandas=True).to_numpy(zero_copy_only=False)
        except (pa.ArrowException, TypeError, ValueError):
            cell = next(cell for cell in column if not isinstance(cell, (numbers.Real, type(None))))
            raise NotNumbersError(
                f"Expected a table of numbers; column {source.names[at]!r} holds {cell!r}. "
                "kolmogorov.read_ratings(df, wide=True) takes the first column, or an index of texts, for the users, "
                "and reads words such as yes and no."
            ) from None
    return array


def _refuse_kind(array: NDArray[Any], what: str) -> None:
    kinds = {"c": "complex ones (Complex data not supported)", "m": "durations", "M": "dates", "V": "records"}
    if array.dtype.kind in kinds:
        raise DataError(f"{what} must be real numbers, got {kinds[array.dtype.kind]}.")


# --- what there is to learn -------------------------------------------------------------------------------------------


def check_trainable(table: Observations, *, only_yes: bool = False) -> None:
    """Refuse a table without entries, or whose entries are all at one end of the scale.

    Every model fits "always yes" to such a table without an error, and its scores on it are perfect. With `only_yes`
    what was not observed counts as a no, and so there is something to learn.
    """
    check_any(table, "to learn from")
    extent = table.extent()
    said = (
        "Only {0} is recorded: every observation has the value {1:g}, the {2} of its scale, and so a model would "
        "predict {0} for everything. {3} If the scale goes further, give its end with {4}."
    )
    if extent == (1.0, 1.0) and not only_yes:
        remedy = (
            "Fill in zeros for what is known not to have happened. With unobserved='auto' everything else counts as a "
            "no of small weight."
        )
        raise DataError(said.format("yes", table.scale.maximum, "maximum", remedy, "maximum="))
    if extent == (0.0, 0.0):
        remedy = "Add observations of what did happen."
        raise DataError(said.format("no", table.scale.minimum, "minimum", remedy, "minimum= and scaling='minmax'"))


def check_any(table: Observations, purpose: str) -> None:
    """Refuse a table without entries; `purpose` says what they are needed for, as "to evaluate on"."""
    if not len(table):
        raise nothing_there(purpose)


def least_like(table: Observations) -> float:
    """Return the smallest rating, on the probability scale, that at most about half of all ratings reach.

    Of yes and no it is the yes. Where more than about half of the ratings are the highest, it is the highest.

    Examples
    --------
    >>> stars = Observations.from_arrays(list("abcdef"), ["tea"] * 6, [5, 4, 4, 3, 3, 1], maximum=5)
    >>> least_like(stars)
    0.8
    """
    if len(table) == 0 or table.is_binary:
        return 1.0
    points = np.unique(table.values[:_LOOK].round(9))
    points = points[points > 0.0]
    if not points.size:
        return 1.0
    few = bisect_left(points, True, key=lambda point: bool(reaching(table.values, point).mean() <= _HALF))
    return float(points[min(few, points.size - 1)])


def reaching(values: Any, threshold: float) -> Any:
    """Tell which values, on the probability scale, are at least a threshold."""
    return values >= threshold - _ROUNDING


def liked(table: Observations, likes: float | None = None) -> Observations:
    """Return the table of liking: 1 for ratings of at least `likes`, by default as `least_like` has it, else 0."""
    yes = reaching(table.values, least_like(table) if likes is None else likes).astype(np.float64)
    return Observations(table.users, table.items, table.rows.with_values(yes), Scale(0.0, 1.0))
