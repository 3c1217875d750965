"""The observed entries of a table, by users and by items, with their ids and their scale."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.markup import bars, card, note
from kolmogorov._support.optional import to_frame
from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Integer, OneOf, check_parameters
from kolmogorov._support.wording import named
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.entries.view import View, filled, fingerprint_of, transposed
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.packed.packing import packed_subset
from kolmogorov.data.packed.table import PackedTable, open_table
from kolmogorov.data.reading.frames.arraylike import dense_cells, sparse_cells
from kolmogorov.data.reading.gathering import gathered, of_cells
from kolmogorov.data.reading.opening import frame_source, titled
from kolmogorov.data.reading.options import ArrayKeywords, NamedFrameKeywords, ReadingOptions, taking
from kolmogorov.data.reading.provenance import Provenance
from kolmogorov.data.reading.source import ArraySource
from kolmogorov.errors import DataError, ParameterError

_PARTS = ("users", "items", "rows", "scale", "source")
#: Values that are told apart; more are put into ten bins. By judgement.
_TOLD_APART = 12
By = Literal["entry", "user", "leave_one_out"]


class Observations:
    """Observed entries of a table of users and items, with their ids and their scale. Immutable.

    Made by its class methods, `kolmogorov.read_ratings`, `kolmogorov.pack` or `kolmogorov.datasets.load`.

    Attributes
    ----------
    users, items : Vocabulary
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
    source: Provenance | None
    _packed: PackedTable | None

    def __init__(
        self,
        users: Vocabulary,
        items: Vocabulary,
        rows: View,
        scale: Scale,
        source: Provenance | None = None,
        *,
        packed: PackedTable | None = None,
    ) -> None:
        self.__dict__.update(users=users, items=items, rows=rows, scale=scale, source=source, _packed=packed)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Observations are immutable; make new ones instead of setting '{name}'.")

    @classmethod
    @taking(ArrayKeywords)
    def from_arrays(
        cls, users: Any, items: Any, values: Any, *, weights: Any = None, **options: Unpack[ArrayKeywords]
    ) -> Observations:
        """Make observations of aligned arrays.

        Parameters
        ----------
        users, items : array-like of int or str
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
        return cls(*gathered([ArraySource(users, items, values, weights)], ReadingOptions(**options)))

    @classmethod
    @taking(NamedFrameKeywords)
    def from_frame(
        cls, frame: Any, user: Any = None, item: Any = None, value: Any = None, **options: Unpack[NamedFrameKeywords]
    ) -> Observations:
        """Make observations of the columns of a data frame or of an Arrow stream.

        Parameters
        ----------
        frame : data frame, Arrow stream or cursor
            Of pandas, polars or pyarrow, or anything with ``__arrow_c_stream__`` such as a DuckDB relation, which is
            read batch by batch; or a cursor of a database, on which a query was executed.
        user, item, value : str
            Column names; by default the usual ones, such as user_id, movie and rating.
        **options
            `weight`, the name of a column, `wide`, `keep`, `ignore`, `only_yes`, `map`, `missing`, `decimal`,
            `thousands`, `minimum`, `maximum`, `scaling` and `duplicates`, as in `kolmogorov.read_ratings`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"by": ["ann", "bob"], "drink": ["tea", "tea"], "stars": [5, 4]})
        >>> print(Observations.from_frame(frame, "by", "drink", maximum=5))
        Observations: 2 of 2 users × 1 items (100.0% observed), p = r / 5
        """
        told = ReadingOptions(user=user, item=item, value=value, **options)
        return cls(*gathered([frame_source(frame, told)], told))

    @classmethod
    @taking(ArrayKeywords)
    def from_scipy(cls, matrix: Any, *, weights: Any = None, **options: Unpack[ArrayKeywords]) -> Observations:
        """Make observations of a SciPy sparse matrix or array: what is stored is observed, zeros included.

        Rows are users. `weights` has one entry for each that is stored; other options are those of `from_arrays`.
        """
        return cls(*of_cells(*sparse_cells(matrix), weights, ReadingOptions(**options)))

    @classmethod
    @taking(ArrayKeywords)
    def from_dense(cls, table: Any, *, weights: Any = None, **options: Unpack[ArrayKeywords]) -> Observations:
        """Make observations of a two-dimensional array or a wide data frame.

        Rows are users, columns are items. NaN, None, masked cells and the empty cells of a frame are missing. A frame
        that holds a list of ratings is for `from_frame`, and refused. `weights` has one entry for each observed cell.

        Examples
        --------
        >>> Observations.from_dense([[0.8, 0.4], [float("nan"), 0.6]])
        Observations: 3 of 2 users × 2 items (75.0% observed), p = r
        """
        told = ReadingOptions(**options)
        return cls(*of_cells(*dense_cells(table, scale_known=not told.scale_request.is_open), weights, told))

    @classmethod
    def open(cls, path: str | os.PathLike[str], verify: bool = True) -> Observations:
        """Map a packed table, made by `kolmogorov.pack`, into memory; it may be larger than that.

        With `verify` all checksums are compared, which reads the file once. What compiled code relies on is checked in
        any case.
        """
        table = open_table(path, verify)
        return cls(table.users, table.items, table.rows, table.header.scale, table.header.source, packed=table)

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
    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return self.rows.is_binary() if self._packed is None else self._packed.header.binary

    @property
    def path(self) -> Path | None:
        """The packed table that the entries lie in, or None where they are in memory."""
        return None if self._packed is None else self._packed.path

    @cached_property
    def columns(self) -> View:
        """The entries by items; made at first use and kept."""
        return transposed(self.rows, self.n_items) if self._packed is None else self._packed.columns

    @property
    def seen_items(self) -> NDArray[np.bool_]:
        """Which items have entries."""
        return self.rows.seen_partners(self.n_items) if self._packed is None else self.columns.counts > 0

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value in [0, 1], or None where there are no entries."""
        return self.rows.extent()

    def user_rows(self) -> NDArray[Any]:
        """Return the user's row number of each entry, in the order of `values`."""
        return self.rows.owners(0, self.n_users)

    def item_rows(self) -> NDArray[Any]:
        """Return the item's row number of each entry, in the order of `values`."""
        return self.rows.indices

    def __len__(self) -> int:
        return self.values.size

    def __str__(self) -> str:
        return size_in_words(self)

    def __repr__(self) -> str:
        return "\n".join([str(self), *(self.source.lines() if self.source else [])])

    def _repr_html_(self) -> str:
        """Show the size, and how often each value was observed."""
        return observations_card(repr(self), self.rows, self.columns, self.scale)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with columns user, item, value (in [0, 1]), rating, and weight if there is one.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The first of them that is installed by default.
        """
        return to_frame(observations_columns(self), backend)

    def fingerprint(self) -> str:
        """Return a digest of everything a fit depends on."""
        packed, sizes = self._packed, (self.n_users, self.n_items)
        return packed.header.fingerprint if packed else fingerprint_of(*sizes, self.scale, self.rows.digests())

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self._packed is None:
            return super().__reduce__()
        # Another process maps the same file; titles may have been given since.
        known = self.users is self._packed.users and self.items is self._packed.items
        named = None if known else (self.users, self.items)
        return _reopened, (self._packed.path, self.fingerprint(), named)

    def with_titles(self, items: Any = None, users: Any = None) -> Observations:
        """Return the same observations, whose items or users are called something.

        Tables, rules, explanations and reports show titles then; predictions are still asked for by ids.

        Parameters
        ----------
        items, users : dict, data frame, Arrow table or path, optional
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
        return self.over(users=called[0], items=called[1], packed=self._packed)

    def over(self, **parts: Any) -> Observations:
        """Return observations with other parts, by the names of what observations are made of; the rest stays."""
        return Observations(**({name: vars(self)[name] for name in _PARTS} | parts))

    def rescaled(self, scale: Scale) -> Observations:
        """Return the same ratings as probabilities on another scale; they must fit into it."""
        if scale == self.scale:
            return self
        view = View(self.rows.indptr, self.rows.indices, self.scale.converted(self.values, scale), self.rows.weights)
        return self.over(rows=view, scale=scale)

    def subset(self, chosen: NDArray[np.bool_]) -> Observations:
        """Keep the chosen entries (a mask in the order of `values`); ids and scale stay.

        Those of a packed table go to another one under the temporary directory, which is deleted when it is not used.
        """
        if np.shape(chosen) != self.values.shape or np.asarray(chosen).dtype != bool:
            raise DataError(f"'chosen' must be a boolean mask with one entry per observation ({len(self)}).")
        if self._packed is not None and np.any(chosen):
            part = packed_subset(self._packed, np.asarray(chosen))
            return self.over(rows=part.rows, packed=part)
        return self.over(rows=self.rows.chosen(chosen))

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
            Entries at random; a share of every user's entries; one entry of every user (`test_size` is not used). By
            the last two a user with one entry keeps it.

        Examples
        --------
        >>> obs = Observations.from_dense([[1, 0], [0, 1], [1, 1]])
        >>> train, test = obs.split(test_size=1/3, random_state=0)
        >>> len(train), len(test)
        (4, 2)
        """
        chosen = entries_held_out(self.rows, test_size, random_state, by)
        return self.subset(~chosen), self.subset(chosen)

    def folds(self, k: int = 5, random_state: Any = None) -> Iterator[tuple[Observations, Observations]]:
        """Yield k pairs (train, test) in which every entry is tested once."""
        part = fold_numbers(len(self), k, random_state)
        return ((self.subset(part != fold), self.subset(part == fold)) for fold in range(k))

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
        return Observations(self.users, self.items, filled(self.rows, self.n_items), self.scale)


def _reopened(path: Path, fingerprint: str, names: tuple[Vocabulary, Vocabulary] | None) -> Observations:
    table = open_table(path, verify=False, fingerprint=fingerprint)
    users, items = names or (table.users, table.items)
    return Observations(users, items, table.rows, table.header.scale, table.header.source, packed=table)


def size_in_words(observations: Any) -> str:
    """Say in one line how many observations there are, and on which scale."""
    n_users, n_items = observations.n_users, observations.n_items
    share = 100.0 * len(observations) / max(n_users * n_items, 1)
    weighted = ", weighted" if observations.weights is not None else ""
    return (
        f"Observations: {len(observations):,} of {n_users:,} users × {n_items:,} items ({share:.1f}% observed), "
        f"{observations.scale}{weighted}"
    )


def observations_card(about: str, rows: View, columns: View, scale: Scale) -> str:
    """Return HTML of a table of which this is said, line by line."""
    said = about.removeprefix("Observations: ").splitlines()
    return card("Observations", *map(note, said), *_histogram(rows, columns, scale))


def _histogram(rows: View, columns: View, scale: Scale) -> list[str]:
    """Return bars, and a note on how many entries users and items have; nothing for an empty table."""
    n_entries = rows.values.size
    if not n_entries:
        return []
    found, counts = np.unique(rows.values.round(9), return_counts=True)
    labels = [f"{scale.rating(value):g}" for value in found.tolist()]
    if found.size > _TOLD_APART:
        counts, ends = np.histogram(rows.values, bins=10, range=(0.0, 1.0))
        edges = [f"{scale.rating(end):g}" for end in ends.tolist()]
        labels = [f"{low} to {high}" for low, high in pairwise(edges)]
    shares = [f"{count:,} ({count / n_entries:.0%})" for count in counts.tolist()]
    busy = [int(np.median(view.counts[view.counts > 0])) for view in (rows, columns)]
    return [bars(labels, counts.tolist(), shares), note(f"median: {busy[0]:,} of a user, {busy[1]:,} of an item")]


def observations_columns(observations: Any) -> dict[str, Any]:
    """Return the columns of the frame that observations are as a list of ratings."""
    columns = {
        "user": observations.users.ids[observations.user_rows()],
        "item": observations.items.ids[observations.item_rows()],
        "value": observations.values,
        "rating": observations.scale.rating(observations.values),
    }
    return columns if observations.weights is None else columns | {"weight": observations.weights}


def entries_held_out(rows: View, test_size: float, random_state: Any, by: By) -> NDArray[np.bool_]:
    """Choose the entries to hold out, as `Observations.split` describes it."""
    check_parameters("split", {"by": by}, {"by": OneOf(("entry", "user", "leave_one_out"))})
    if by == "entry":
        return _holdout(rows.values.size, test_size, random_state)
    return _holdout_of_each(rows.indptr, None if by == "leave_one_out" else test_size, random_state)


def _holdout(n: int, test_size: float, random_state: Any) -> NDArray[np.bool_]:
    """Choose round(test_size * n) of n entries at random."""
    check_share(test_size)
    if not n:
        raise nothing_there("to split")
    n_test = round(test_size * n)
    if not 0 < n_test < n:
        raise DataError(f"A test share of {test_size:g} of {n} observation(s) leaves one part empty.")
    chosen = np.zeros(n, dtype=bool)
    chosen[generator(random_state).permutation(n)[:n_test]] = True
    return chosen


def _holdout_of_each(indptr: NDArray[np.int64], test_size: float | None, random_state: Any) -> NDArray[np.bool_]:
    """Choose a share of every row's entries at random, and never all; without a share one of each."""
    counts = np.diff(indptr)
    if test_size is not None:
        check_share(test_size)
    if not indptr[-1]:
        raise nothing_there("to split")
    wanted = np.minimum(1 if test_size is None else np.round(test_size * counts), counts - 1).clip(0)
    if not wanted.any():
        raise DataError("No user has enough observations to hold some out and keep others; the test part is empty.")
    owner = np.repeat(np.arange(counts.size), counts)
    # In each row the entries that come last in this order are held out.
    order = np.lexsort((generator(random_state).random(owner.size), owner))
    place = np.empty(owner.size, dtype=np.int64)
    place[order] = np.arange(owner.size)
    chosen: NDArray[np.bool_] = indptr[1:][owner] - place <= wanted[owner]
    return chosen


def check_share(test_size: Any) -> None:
    """Refuse what is no share of the entries."""
    if not isinstance(test_size, numbers.Real) or not 0.0 < float(test_size) < 1.0:
        raise ParameterError(named("test_size") + f" must be a share between 0 and 1, got {test_size!r}.")


def fold_numbers(n: int, k: int, random_state: Any) -> NDArray[Any]:
    """Deal n entries into k random parts of nearly equal size; return each entry's part."""
    check_parameters("folds", {"k": k}, {"k": Integer(2)})
    if not n:
        raise nothing_there("to deal into folds")
    if n < k:
        raise DataError(f"{n} observation(s) cannot be dealt into {k} folds.")
    part = np.empty(n, dtype=np.uint8 if k < 256 else np.int64)
    part[generator(random_state).permutation(n)] = np.arange(n) % k
    return part
