"""The observed entries of a table, by users and by items, with their ids and their scale."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.outside import to_frame
from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import between, check_parameters, integer, one_of
from kolmogorov.data.columns import titled, usual_columns
from kolmogorov.data.scale import Place, Scale, Terms
from kolmogorov.data.sources import columns_of, is_table
from kolmogorov.data.told import Provenance
from kolmogorov.data.view import View, duplicate, nothing_there, sorted_view
from kolmogorov.data.vocabulary import Vocabulary, in_array, one_dimensional
from kolmogorov.errors import DataError

By = Literal["entry", "user"]
_SPLIT = {"by": one_of(("entry", "user")), "test_size": between(0.0, 1.0)}
#: At most this share of all ratings are likes: about half. By judgement; on MovieLens it makes 4 of 5 stars a like.
_HALF = 0.6
#: Ratings looked at, at most, to find how many reach which value.
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

    # --- ways in ----------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(cls, users: Any, items: Any, values: Any, *, weights: Any = None, **options: Any) -> Observations:
        """Make observations of aligned arrays: ids of users and of items, and values in rating units.

        Weights lie from 1e-9 to 1e9; an empirical probability from n trials weighs n. The options `minimum`, `maximum`,
        `scaling` and `duplicates` are those of `kolmogorov.read_ratings`.

        Examples
        --------
        >>> Observations.from_arrays([1, 1, 2], [10, 20, 10], [3, 5, 0])
        Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
        """
        sides = *Vocabulary.index(users, "user"), *Vocabulary.index(items, "item")
        return cls.of_rows(*sides, values, Terms(**options), weights=weights)

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
        table, told = matrix.tocoo(), Terms(**options)
        users, items = map(Vocabulary.range, table.shape)
        return cls.of_rows(
            *(users, table.row, items, table.col, table.data, told),
            weights=weights,
            place=lambda position: f"cell ({table.row[position]}, {table.col[position]})",
        )

    @classmethod
    def from_dense(cls, table: Any, *, weights: Any = None, **options: Any) -> Observations:
        """Make observations of a two-dimensional array, or of a wide frame of numbers.

        Rows are users, columns are items. NaN, None, masked cells and the empty cells of a frame are missing.
        `weights` has one entry for each observed cell; other options are those of `from_arrays`.
        """
        from scipy.sparse import coo_array

        array = dense_of(table)
        cells = np.nonzero(~np.isnan(array))
        return cls.from_scipy(coo_array((array[cells], cells), shape=array.shape), weights=weights, **options)

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
        ratings = numbers_in(values, "value")
        mass = np.empty(0) if weights is None else numbers_in(weights, "weight")
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
    def open(cls, path: str | os.PathLike[str]) -> Observations:
        """Map a packed table, made by `kolmogorov.pack`, into memory; it may be larger than that."""
        from kolmogorov.data.packed import open_table

        return open_table(path)

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
        return all(bool(((part.values == 0.0) | (part.values == 1.0)).all()) for part in self.rows.parts())

    @property
    def path(self) -> Path | None:
        """The packed table that the entries lie in, or None where they are in memory."""
        return getattr(self.rows, "folder", None)

    @cached_property
    def columns(self) -> View:
        """The entries by items; made at first use and kept."""
        return self.rows.transposed(self.n_items)

    @cached_property
    def seen_items(self) -> NDArray[np.bool_]:
        """Which items have entries."""
        seen = np.zeros(self.n_items, dtype=bool)
        for part in self.rows.parts():
            seen[part.indices] = True
        seen.setflags(write=False)
        return seen

    def user_rows(self) -> NDArray[Any]:
        """Return the user's row number of each entry, in the order of `values`."""
        return self.rows.owners(0, self.n_users)

    def item_rows(self) -> NDArray[Any]:
        """Return the item's row number of each entry, in the order of `values`."""
        return self.rows.indices

    def __len__(self) -> int:
        return int(self.rows.indptr[-1])

    def __array__(self, *args: Any, **options: Any) -> NDArray[Any]:
        """Say so: what scikit-learn would split is neither rows nor entries."""
        raise DataError(
            "Observations are no array. obs.split(...) and obs.folds(...) hold some of them out, and kolmogorov.tune "
            "chooses parameters; scikit-learn's own splits and searches take tables of numbers, a row for each user."
        )

    def __str__(self) -> str:
        share = 100.0 * len(self) / max(self.n_users * self.n_items, 1)
        return (
            f"Observations: {len(self):,} of {self.n_users:,} users × {self.n_items:,} items ({share:.1f}% observed), "
            f"{self.scale}{', weighted' if self.weights is not None else ''}"
        )

    def __repr__(self) -> str:
        return "\n".join([str(self), *(self.source.lines if self.source else [])])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with columns user, item, value (in [0, 1]), rating, and weight if there is one.

        Of pandas, polars or pyarrow: the first that is installed, or the `backend` named so.
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
        text = f"{self.n_users} {self.n_items} {self.scale} {self.rows.digest()}"
        return hashlib.sha256(text.encode()).hexdigest()

    # --- others made of it ------------------------------------------------------------------------------------------

    def with_titles(self, items: Any = None, users: Any = None) -> Observations:
        """Return the same observations, whose items or users have titles, which tables, rules and reports show.

        Titles are a dictionary by ids, or a frame or a file of two columns, found by their usual names or the first.
        """
        if items is None and users is None:
            return self
        return self.over(users=titled(self.users, users, "user"), items=titled(self.items, items, "item"))

    def over(self, **parts: Any) -> Observations:
        """Return observations with other parts, by the names of what observations are made of; the rest stays."""
        return replace(self, **parts)

    def rescaled(self, scale: Scale) -> Observations:
        """Return the same ratings as probabilities on another scale; they must fit into it."""
        if scale == self.scale:
            return self
        return self.over(rows=self.rows.with_values(self.scale.converted(self.values, scale)), scale=scale)

    def subset(self, chosen: NDArray[np.bool_]) -> Observations:
        """Keep the chosen entries (a mask in the order of `values`), in memory; ids and scale stay."""
        chosen = np.asarray(chosen)
        if chosen.shape != self.values.shape or chosen.dtype != bool:
            raise DataError(f"'chosen' must be a boolean mask with one entry per observation ({len(self)}).")
        return self.over(rows=self.rows.chosen(chosen))

    def split(
        self, test_size: float = 0.2, random_state: Any = None, *, by: By = "entry"
    ) -> tuple[Observations, Observations]:
        """Hold out some of the entries: (train, test), with the same ids on both sides.

        `by` "entry", a share `test_size` of all entries; by "user", of every user's entries, but never all of them.
        """
        check_parameters("split", {"by": by, "test_size": test_size}, _SPLIT)
        draws, chosen = generator(random_state), np.zeros(len(self), dtype=bool)
        if by == "entry":
            chosen[draws.permutation(len(self))[: round(test_size * len(self))]] = True
        else:
            counts, owner = self.rows.counts, self.user_rows()
            wanted = np.minimum(np.round(test_size * counts), counts - 1).clip(0)
            # In each row the entries that come last in this order are held out.
            order = np.lexsort((draws.random(len(self)), owner))
            chosen[order] = self.rows.indptr[1:][owner] - np.arange(len(self)) <= wanted[owner]
        if not chosen.any() or chosen.all():
            raise DataError(f"To hold out {test_size:.0%} of {len(self)} observation(s) leaves one part empty.")
        return self.subset(~chosen), self.subset(chosen)

    def folds(self, k: int = 5, random_state: Any = None) -> Iterator[tuple[Observations, Observations]]:
        """Yield k pairs (train, test) in which every entry is tested once."""
        check_parameters("folds", {"k": k}, {"k": integer(2)})
        if len(self) < k:
            raise DataError(f"{len(self)} observation(s) cannot be dealt into {k} folds.")
        part = np.empty(len(self), dtype=np.uint8 if k < 256 else np.int64)
        part[generator(random_state).permutation(len(self))] = np.arange(len(self)) % k
        return ((self.subset(part != fold), self.subset(part == fold)) for fold in range(k))


def numbers_in(raw: Any, what: str) -> Floats:
    """Return a one-dimensional array of numbers."""
    array = one_dimensional(raw, f"The {what}s")
    try:
        if array.dtype.kind in "cmMV":
            raise TypeError(f"got {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"The {what}s must be numbers: {str(error).rstrip('.')}.") from None


def dense_of(raw: Any) -> Floats:
    """Return a table as floats; NaN, None, masked cells and the empty cells of data frames become NaN."""
    try:
        if is_table(raw):
            # By columns; the labels of rows are no cells.
            source, columns = columns_of(raw.reset_index(drop=True) if hasattr(raw, "reset_index") else raw)
            _refuse_list(usual_columns(source.names))
            cells = np.array(columns, dtype=object).T
        else:
            masked = isinstance(raw, np.ma.MaskedArray)
            cells = np.ma.filled(raw.astype(object), np.nan) if masked else np.asarray(raw)
        if cells.dtype.kind in "cmMV":
            raise TypeError(f"it holds {cells.dtype} (Complex data not supported)")
        array = cells.astype(np.float64, copy=False)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise NotNumbersError(
            "Expected a table of numbers with one row per user and one column per item, and NaN for missing entries: "
            f"{str(error).rstrip('.')}. kolmogorov.read_ratings(df, wide=True) takes the first column for the users, "
            "and reads words such as yes and no."
        ) from None
    if array.ndim != 2:
        raise DataError(
            f"Expected a two-dimensional array (users × items), got shape {array.shape}. Reshape your data."
        )
    return array


def _refuse_list(usual: dict[str, int]) -> None:
    if {"user", "item"} <= usual.keys():
        call = f"kolmogorov.read_ratings(df{'' if 'value' in usual else ', implicit=True'})"
        raise DataError(f"The frame is a list of ratings: it has columns of users and of items. Read it with {call}.")


# --- what there is to learn -------------------------------------------------------------------------------------------


def check_trainable(table: Observations, *, only_yes: bool = False) -> None:
    """Refuse a table without entries, or whose entries are all at one end of the scale, where every model is perfect.

    With `only_yes` what was not observed counts as a no, and so there is something to learn from nothing but yes.
    """
    check_any(table, "to learn from")
    low, high = table.rows.extent or (0.0, 1.0)
    if low < high or 0.0 < low < 1.0 or (low == 1.0 and only_yes):
        return
    word, end, remedy, further = (
        "no",
        "minimum",
        "Add observations of what did happen.",
        "minimum= and scaling='minmax'",
    )
    if low:
        word, end, further = "yes", "maximum", "maximum="
        remedy = "Fill in zeros for what did not happen, or with unobserved='auto' everything else counts as a no."
    raise DataError(
        f"Only {word} is recorded: every observation has the value {getattr(table.scale, end):g}, the {end} of its "
        f"scale, and so a model would predict {word} for everything. {remedy} If the scale goes further, give its end "
        f"with {further}."
    )


def check_any(table: Observations, purpose: str) -> None:
    """Refuse a table without entries; `purpose` says what they are needed for, as "to evaluate on"."""
    if not len(table):
        raise nothing_there(purpose)


def least_like(table: Observations) -> float:
    """Return the smallest rating, on the probability scale, that at most about half of all ratings reach.

    Of yes and no it is the yes. Where more than about half of the ratings are the highest, it is the highest.
    """
    if len(table) == 0 or table.is_binary:
        return 1.0
    points, counts = np.unique(table.values[:: 1 + len(table) // _LOOK].round(9), return_counts=True)
    reached = counts[::-1].cumsum()[::-1] <= _HALF * counts.sum()
    return float([*points[reached & (points > 0.0)], points[-1]][0])


def reaching(values: Any, threshold: float) -> Any:
    """Tell which values, on the probability scale, are at least a threshold."""
    return values >= threshold - _ROUNDING


def liked(table: Observations, likes: float | None = None) -> Observations:
    """Return the table of liking: 1 for ratings of at least `likes`, by default as `least_like` has it, else 0."""
    yes = reaching(table.values, least_like(table) if likes is None else likes).astype(np.float64)
    return Observations(table.users, table.items, table.rows.with_values(yes), Scale(0.0, 1.0))
