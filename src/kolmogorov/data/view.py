"""Observed entries: a view is a table in one order; entries are aligned arrays that become one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import check_array, check_between, check_indices, check_indptr
from kolmogorov.data.scale import ACCEPTED_WEIGHTS, LARGEST_WEIGHT, LEAST_WEIGHT, Scale, outside_weight_bounds
from kolmogorov.errors import DataError

#: Entries that are looked at together where a table is gone through block by block: 8 MB of values. By judgement.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class View:
    """Observations in one order: row r's entries lie at indptr[r] to indptr[r + 1]."""

    indptr: NDArray[np.int64]
    #: The partner of each entry, increasing within a row; 32 bits wide where that is enough.
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

    def cut(self, first: int, last: int) -> View:
        """Return a copy of some rows as a view of their own."""
        part = slice(self.indptr[first], self.indptr[last])
        weights = self.weights[part].copy() if self.weights.size else self.weights
        indptr = self.indptr[first : last + 1] - self.indptr[first]
        return View(indptr, self.indices[part].copy(), self.values[part].copy(), weights)

    def picked(self, rows: NDArray[np.int64]) -> View:
        """Return a copy of some rows, in the order given, as a view of their own."""
        counts = self.counts[rows]
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], counts)
        weights = self.weights[entries] if self.weights.size else self.weights
        return View(indptr, self.indices[entries], self.values[entries], weights)

    def chosen(self, mask: NDArray[np.bool_]) -> View:
        """Return the chosen entries, in the same rows."""
        kept = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))
        weights = self.weights[mask] if self.weights.size else self.weights
        return View(kept[self.indptr], self.indices[mask], self.values[mask], weights)

    def with_values(self, values: Floats) -> View:
        """Return the same entries with other values."""
        return View(self.indptr, self.indices, values, self.weights)

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

    def seen_partners(self, n_partners: int) -> NDArray[np.bool_]:
        """Tell which partners have entries."""
        present = np.zeros(n_partners, dtype=bool)
        present[self.indices] = True
        return present

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value, found block by block, or None where there are none."""
        blocks = [(float(values.min()), float(values.max())) for values in self._value_blocks() if values.size]
        return (min(low for low, _ in blocks), max(high for _, high in blocks)) if blocks else None

    def is_binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(bool(((values == 0.0) | (values == 1.0)).all()) for values in self._value_blocks())

    def _value_blocks(self) -> Iterator[Floats]:
        """Yield the values block by block; what was only mapped is let go again."""
        for first, last in self.blocks():
            yield self.values[self.indptr[first] : self.indptr[last]]
            self.forget(first, last)

    def digests(self) -> list[bytes]:
        """Return the SHA-256 of each of the four arrays."""
        found = [hashlib.sha256(np.ascontiguousarray(self.indptr).data), *(hashlib.sha256() for _ in range(3))]
        for first, last in self.blocks():
            part = slice(self.indptr[first], self.indptr[last])
            for digest, array in zip(found[1:], (self.indices, self.values, self.weights), strict=True):
                digest.update(np.ascontiguousarray(array[part]).data)
            self.forget(first, last)
        return [digest.digest() for digest in found]

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
    return hashlib.sha256(f"{n_users} {n_items} {scale.signature}".encode() + b"".join(parts)).hexdigest()


def transposed(view: View, n_columns: int) -> View:
    """Order the entries of a view by their partners."""
    order = counting_order(view.indices, n_columns)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(view.indices, minlength=n_columns)))).astype(np.int64)
    own = view.owners(0, view.indptr.size - 1)
    weights = view.weights[order] if view.weights.size else view.weights
    return View(indptr, own[order], view.values[order], weights)


Duplicates = Literal["error", "mean", "last"]
#: Makes the error for two entries, by their positions, that are about the same pair.
Complaint = Callable[[int, int], DataError]


@dataclass(frozen=True, eq=False)
class Entries:
    """Aligned arrays, one element for each observation."""

    #: Row numbers of the side by which entries are sorted, and of the other side.
    own: NDArray[Any]
    partner: NDArray[Any]
    values: Floats
    #: Empty where every observation weighs one.
    weights: Floats

    @classmethod
    def joined(cls, parts: Iterable[Entries]) -> Entries:
        """Put entries behind each other."""
        found = list(parts)
        if len(found) == 1:
            return found[0]
        arrays = ([getattr(part, name) for part in found] for name in ("own", "partner", "values", "weights"))
        own, partner, values, weights = (np.concatenate(array) for array in arrays)
        return cls(own, partner, values, weights)

    def dealt(self, heap: NDArray[Any], n_heaps: int) -> Iterator[Entries]:
        """Yield the entries of each heap, in their order; `heap` gives every entry's."""
        entries = self.taken(counting_order(heap, n_heaps))
        ends = np.cumsum(np.bincount(heap, minlength=n_heaps)).tolist()
        return (entries.taken(slice(first, last)) for first, last in zip([0, *ends[:-1]], ends, strict=True))

    def view(self, n_rows: int) -> View:
        """Return sorted entries as a view of so many rows."""
        indptr = np.concatenate(([0], np.cumsum(np.bincount(self.own, minlength=n_rows)))).astype(np.int64)
        return View(indptr, self.partner, self.values, self.weights)

    def taken(self, chosen: Any) -> Entries:
        """Return the chosen entries, by mask, slice or position."""
        weights = self.weights[chosen] if self.weights.size else self.weights
        return Entries(self.own[chosen], self.partner[chosen], self.values[chosen], weights)

    def sorted(self, n_own: int, n_partner: int, duplicates: Duplicates, complain: Complaint) -> Entries:
        """Order by both sides in linear time (two stable passes), and merge duplicates or complain about the first."""
        order = counting_order(self.partner, n_partner)
        order = order[counting_order(self.own[order], n_own)]
        entries = self.taken(order)
        repeats = (entries.own[1:] == entries.own[:-1]) & (entries.partner[1:] == entries.partner[:-1])
        if not repeats.any():
            return entries
        if duplicates == "error":
            k = int(np.argmax(repeats))
            raise complain(int(order[k]), int(order[k + 1]))
        return entries._merged(repeats, duplicates)

    def _merged(self, repeats: NDArray[np.bool_], duplicates: Duplicates) -> Entries:
        first = np.concatenate(([True], ~repeats))
        if duplicates == "last":
            return self.taken(np.concatenate((~repeats, [True])))
        starts = np.flatnonzero(first)
        mass = self.weights if self.weights.size else np.ones(self.values.size)
        total = np.add.reduceat(mass, starts)
        if self.weights.size and (wrong := outside_weight_bounds(total)).any():
            raise DataError(
                f"The weights of one repeated pair add up to {total[np.argmax(wrong)]:g}; {ACCEPTED_WEIGHTS}. "
                "Make all weights smaller by the same factor."
            )
        # The mean of equal numbers may leave [0, 1] by rounding.
        mean = np.clip(np.add.reduceat(mass * self.values, starts) / total, 0.0, 1.0)
        # What came once stays as it is, to the last bit.
        alone = np.diff(np.append(starts, self.values.size)) == 1
        mean[alone] = self.values[starts[alone]]
        weights = total if self.weights.size else self.weights
        return Entries(self.own[first], self.partner[first], mean, weights)


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


def counting_order(codes: NDArray[Any], n_codes: int) -> NDArray[Any]:
    """Return the stable sorting permutation of integers in [0, n_codes)."""
    # SciPy's conversion of a matrix with one entry per row from row order to column order is a counting sort in
    # compiled code, and all that is needed here.
    from scipy.sparse import csr_array

    index = np.int32 if max(codes.size, n_codes) < 2**31 else np.int64
    starts = np.arange(codes.size + 1, dtype=index)
    table = csr_array(
        (np.empty(codes.size, dtype=np.int8), codes.astype(index, copy=False), starts),
        shape=(codes.size, max(n_codes, 1)),
    )
    order: NDArray[Any] = table.tocsc().indices
    return order
