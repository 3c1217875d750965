"""Entries in one order, by users or by items; how they are put into it, and turned into the other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import check_array, check_between, check_indices, check_indptr
from kolmogorov.data.scale import ACCEPTED_WEIGHTS, LARGEST_WEIGHT, LEAST_WEIGHT, outside_weight_bounds
from kolmogorov.errors import DataError

#: Entries that are looked at together where a table is gone through block by block: 8 MB of values. By judgement.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class View:
    """Observations in one order: row r's entries lie at indptr[r] to indptr[r + 1]."""

    indptr: NDArray[np.int64]
    #: The partner of each entry, increasing within a row; 32 bits wide.
    indices: NDArray[Any]
    #: In [0, 1].
    values: Floats
    #: Empty where every observation weighs one.
    weights: Floats

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.values, self.weights):
            array.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays that come from another process are made read-only again, as kernels are compiled for.
        return View, (self.indptr, self.indices, self.values, self.weights)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Entries per row."""
        return np.diff(self.indptr)

    @property
    def nbytes(self) -> int:
        """Bytes held by the four arrays."""
        return sum(array.nbytes for array in (self.indptr, self.indices, self.values, self.weights))

    def owners(self, first: int, last: int) -> NDArray[np.int32]:
        """Return the row number of each entry of some rows."""
        return np.repeat(np.arange(first, last, dtype=np.int32), np.diff(self.indptr[first : last + 1]))

    def picked(self, rows: NDArray[np.int64]) -> View:
        """Return a copy of some rows, in the order given, as a view of their own."""
        counts = self.counts[rows]
        indptr = ends_of(counts)
        return self._taken(indptr, np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], counts))

    def chosen(self, mask: NDArray[np.bool_]) -> View:
        """Return the chosen entries, in the same rows."""
        return self._taken(ends_of(mask)[self.indptr], mask)

    def _taken(self, indptr: NDArray[np.int64], entries: NDArray[Any]) -> View:
        weights = self.weights[entries] if self.weights.size else self.weights
        return View(indptr, self.indices[entries], self.values[entries], weights)

    def with_values(self, values: Floats) -> View:
        """Return the same entries with other values."""
        return View(self.indptr, self.indices, values, self.weights)

    def transposed(self, n_columns: int) -> View:
        """Return the entries by their partners."""
        order = counting_order(self.indices, n_columns)
        own = self.owners(0, self.indptr.size - 1)[order]
        weights = self.weights[order] if self.weights.size else self.weights
        return View(ends_of(np.bincount(self.indices, minlength=n_columns)), own, self.values[order], weights)

    # Block by block, so that what is only mapped is never in memory as a whole.

    def blocks(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows (first, last) that together are all rows, with at most so many entries, or one row."""
        first = 0
        while first < self.indptr.size - 1:
            last = int(np.searchsorted(self.indptr, self.indptr[first] + (entries or BLOCK), side="right")) - 1
            last = max(last, first + 1)
            yield first, last
            first = last

    def forget(self, first: int, last: int) -> None:
        """Give back the memory behind the entries of some rows, where it is only mapped; `blocks` does so itself."""

    def check_intact(self) -> None:
        """Raise where the entries are in a file that has changed its size since it was opened."""

    def parts(self, entries: int | None = None) -> Iterator[View]:
        """Yield runs of rows, with at most so many entries, as views of their own."""
        for first, last in self.blocks(entries):
            part = slice(self.indptr[first], self.indptr[last])
            indptr = self.indptr[first : last + 1] - part.start
            yield View(indptr, self.indices[part], self.values[part], self.weights[part])

    @property
    def extent(self) -> tuple[float, float] | None:
        """The smallest and the largest value, or None where there are no entries."""
        ends = [end for part in self.parts() if part.values.size for end in (part.values.min(), part.values.max())]
        return (float(min(ends)), float(max(ends))) if ends else None

    @property
    def sums(self) -> Floats:
        """Weighted squares, weighted values and weights, summed up."""
        sums = np.zeros(3)
        for part in self.parts():
            weights = part.weights if part.weights.size else np.ones(part.values.size)
            with one_blas_thread():
                sums += (weights @ part.values**2, weights @ part.values, weights.sum())
        return sums

    def digest(self) -> str:
        """Return a digest of all four arrays."""
        found = hashlib.sha256(self.indptr.tobytes())
        # Parts of a size of their own: what is digested first must not change.
        for part in self.parts(1 << 20):
            for array in (part.indices, part.values, part.weights):
                found.update(array.tobytes())
        return found.hexdigest()

    def validate(self, n_rows: int, n_partners: int) -> None:
        """Raise `InvariantError` where this does not have so many rows and partners; compiled code does not look."""
        check_array("indptr", self.indptr, np.int64, (n_rows + 1,))
        check_indptr("indptr", self.indptr, self.indices.size)
        check_array("values", self.values, np.float64, self.indices.shape)
        check_array("weights", self.weights, np.float64, self.indices.shape if self.weights.size else (0,))
        for part in self.parts():
            check_indices("indices", part.indptr, part.indices, n_partners)
            check_between("values", part.values, 0.0, 1.0)
            check_between("weights", part.weights, LEAST_WEIGHT, LARGEST_WEIGHT)


def ends_of(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return where rows begin and end that have so many entries."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def counting_order(codes: NDArray[Any], n_codes: int) -> NDArray[Any]:
    """Return the stable sorting permutation of integers in [0, n_codes)."""
    # SciPy's conversion of a matrix with one entry per row from row order to column order is a counting sort in
    # compiled code, and all that is needed here.
    from scipy.sparse import csr_array

    index = np.int32 if max(codes.size, n_codes) < 2**31 else np.int64
    starts = np.arange(codes.size + 1, dtype=index)
    ones = np.empty(codes.size, dtype=np.int8)
    table = csr_array((ones, codes.astype(index, copy=False), starts), shape=(codes.size, max(n_codes, 1)))
    order: NDArray[Any] = table.tocsc().indices
    return order


def sorted_view(
    shape: tuple[int, int],
    own: NDArray[Any],
    partner: NDArray[Any],
    values: Floats,
    weights: Floats,
    duplicates: str = "error",
    complain: Callable[[int, int], DataError] | None = None,
) -> View:
    """Order entries, one element of each array for each, by both sides in linear time (two stable passes).

    Of several for a pair the "last" one stays, or their "mean" by weights, or `complain` makes the error from the
    positions of two.
    """
    order = counting_order(partner, shape[1])
    order = order[counting_order(own[order], shape[0])]
    own, partner, values = own[order], partner[order].astype(np.int32, copy=False), values[order]
    weights = weights[order] if weights.size else weights
    repeats = (own[1:] == own[:-1]) & (partner[1:] == partner[:-1])
    if repeats.any():
        if duplicates == "error":
            at = int(np.argmax(repeats))
            raise complain(int(order[at]), int(order[at + 1])) if complain else DataError("A pair is there twice.")
        kept = np.flatnonzero(np.append(~repeats, True))
        if duplicates == "mean":
            values, total = _averaged(values, weights, kept)
            weights = total if weights.size else weights
        else:
            values, weights = values[kept], weights[kept] if weights.size else weights
        own, partner = own[kept], partner[kept]
    return View(ends_of(np.bincount(own, minlength=shape[0])), partner, values, weights)


def _averaged(values: Floats, weights: Floats, lasts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the means of runs that end where told, and their total weights."""
    starts = np.append(0, lasts[:-1] + 1)
    mass = weights if weights.size else np.ones(values.size)
    total = np.add.reduceat(mass, starts)
    if weights.size and (wrong := outside_weight_bounds(total)).any():
        raise DataError(
            f"The weights of one repeated pair add up to {total[np.argmax(wrong)]:g}; {ACCEPTED_WEIGHTS}. "
            "Make all weights smaller by the same factor."
        )
    # The mean of equal numbers may leave [0, 1] by rounding; what came once stays as it is, to the last bit.
    mean = np.clip(np.add.reduceat(mass * values, starts) / total, 0.0, 1.0)
    return np.where(starts == lasts, values[starts], mean), total


def duplicate(user: Any, item: Any, first: str, second: str) -> DataError:
    """Word the error for a pair that was rated in two places, whose common file is named once."""
    first = first.removeprefix(second.rpartition(", ")[0] + ", ")
    return DataError(
        f"{second}: duplicate rating of user {user!r} and item {item!r} (first at {first})."
        " Pass duplicates='mean' or duplicates='last' to merge them."
    )


def nothing_there(purpose: str) -> DataError:
    """Word the error for a table without entries."""
    return DataError(f"There are no observations {purpose}; at least one (user, item, value) is needed.")
