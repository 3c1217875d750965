"""Links between items in closed form: every item's ridge regression on all others, from one inverse.

With G the Gram matrix of the items' columns, R a diagonal of ridges and P the inverse of G + R, the weights of the
regression of item i on all others are -P[j, i] / P[i, i] (Steck 2019). Where there are too many items for a matrix of
all pairs, each is regressed on those that go with it most.

The inverse is made in its place, on threads, by Gauss and Jordan's sweeps over blocks: a block of rows is eliminated,
and all others are updated by products of thin matrices. Blocks are of one size, and each is computed by one thread of
BLAS, so that the bits are the same on any number of threads. It takes n^3 multiplications and no memory beside the
matrix but some blocks of columns.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.dealing import Threads
from kolmogorov._support.progress import notice
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View, transposed
from kolmogorov.errors import DataError
from kolmogorov.models.fitted_links import DenseLinks, Links, SparseLinks
from kolmogorov.models.list_gram import gram_rows
from kolmogorov.models.list_neighbours import neighbour_weights

#: Rows of a block: wide enough for products of thin matrices to be quick. By judgement.
_BLOCK = 192


def invert(matrix: Floats, dealer: Threads) -> None:
    """Replace a symmetric positive definite matrix by minus its inverse; only its lower triangle is read.

    Examples
    --------
    >>> matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> expected = -np.linalg.inv(matrix)
    >>> with Threads(1) as dealer:
    ...     invert(matrix, dealer)
    >>> bool(np.allclose(matrix, expected))
    True
    """
    n = len(matrix)
    blocks = [slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK)]
    for pivot in blocks:
        _eliminate(matrix, pivot, blocks, dealer)

    def mirror(first: int, last: int) -> None:
        for rows in blocks[first:last]:
            matrix[rows, rows] = np.tril(matrix[rows, rows]) + np.tril(matrix[rows, rows], -1).T
            matrix[: rows.start, rows] = matrix[rows, : rows.start].T

    dealer.deal(mirror, len(blocks), 1)


def _eliminate(matrix: Floats, pivot: slice, blocks: list[slice], dealer: Threads) -> None:
    """Sweep one block of rows into the inverse; of every other block the part left of its own end is kept true."""
    corner = matrix[pivot, pivot]
    inverse = np.linalg.inv(np.tril(corner) + np.tril(corner, -1).T)
    inverse = 0.5 * (inverse + inverse.T)
    column = np.concatenate([matrix[pivot, : pivot.start].T, matrix[pivot.start :, pivot]])
    scaled = column @ inverse

    def update(first: int, last: int) -> None:
        for rows in blocks[first:last]:
            if rows != pivot:
                matrix[rows, : rows.stop] -= scaled[rows] @ column[: rows.stop].T

    dealer.deal(update, len(blocks), 1)
    matrix[pivot, : pivot.start] = scaled[: pivot.start].T
    matrix[pivot.stop :, pivot] = scaled[pivot.stop :]
    matrix[pivot, pivot] = -inverse


#: Items up to which all pairs are weighed, and neighbours of an item beyond.
MOST_ITEMS, NEIGHBOURS = 20_000, 64
#: Bytes that a pair of items takes: eight in the matrix that is inverted, four in what is kept.
_PAIR_BYTES = 12
#: Share of the machine's memory that may be taken, and rows made at once; by judgement.
_SHARE, _ROWS = 0.75, 256


@dataclass(frozen=True, eq=False)
class ItemTable:
    """What people have, in either order; a no says as little as nothing."""

    by_users: View
    by_items: View

    @classmethod
    def of(cls, rows: View, n_items: int) -> ItemTable:
        """Return a table of observations that are ordered by users."""
        return cls(rows, transposed(rows, n_items))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.by_items.indptr.size - 1

    @property
    def arrays(self) -> tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]:
        """What kernels take."""
        users, items = ((view.indptr, view.indices, view.values) for view in (self.by_users, self.by_items))
        return users, items

    @property
    def squares(self) -> Floats:
        """The sum of the squared values of each item: of yeses, their number."""
        owners = np.repeat(np.arange(self.n_items), self.by_items.counts)
        found: Floats = np.bincount(owners, weights=self.by_items.values**2, minlength=self.n_items).astype(float)
        return found

    def ridges(self, ridge: float, growth: float) -> Floats:
        """Return the ridge of each item: larger for what many have, by a power of how many these are.

        Examples
        --------
        >>> rows = View(np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32), np.ones(3), np.empty(0))
        >>> ItemTable.of(rows, 2).ridges(3.0, 1.0)
        array([2., 4.])
        """
        squares = self.squares
        there = squares > 0.0
        usual = float(squares[there].mean()) if there.any() else 1.0
        return ridge * np.where(there, squares / usual, 1.0) ** growth


def gram_of(table: ItemTable, dealer: Threads) -> Floats:
    """Return how often all items go together; float64[n_items, n_items]."""
    out = np.empty((table.n_items, table.n_items))
    by_users, by_items = table.arrays

    def share(first: int, last: int) -> None:
        gram_rows(by_users, by_items, first, last, out[first:last])

    dealer.deal(share, table.n_items, 1, table.by_items.indptr, entry_cost=64)
    return out


def closed_form(table: ItemTable, ridges: Floats, dealer: Threads, gram: Floats | None = None) -> DenseLinks:
    """Return the weights of every item's ridge regression on all others; a Gram matrix that is given is used up."""
    matrix = gram_of(table, dealer) if gram is None else gram
    matrix[np.diag_indices_from(matrix)] += ridges
    invert(matrix, dealer)
    scale = matrix.diagonal().copy()
    weights = np.empty(matrix.shape, dtype=np.float32)

    def share(first: int, last: int) -> None:
        for begin in range(first, last, _ROWS):
            rows = slice(begin, min(begin + _ROWS, last))
            np.divide(matrix[rows], -scale, out=weights[rows], casting="same_kind")

    dealer.deal(share, table.n_items, 1)
    np.fill_diagonal(weights, 0.0)
    return DenseLinks(weights)


def from_neighbours(table: ItemTable, ridges: Floats, n_neighbours: int, dealer: Threads) -> SparseLinks:
    """Return the weights of every item's ridge regression on those whose columns have the largest cosine with its own.

    It takes n_neighbours^2 numbers at a time and the time of as many small systems as there are items.
    """
    n_items, size = table.n_items, min(n_neighbours, max(table.n_items - 1, 1))
    neighbours, weights = np.empty((n_items, size), dtype=np.int32), np.zeros((n_items, size))
    by_users, by_items = table.arrays
    squares = table.squares

    def share(first: int, last: int) -> None:
        parts = (neighbours[first:last], weights[first:last])
        neighbour_weights(by_users, by_items, squares, ridges, first, last, *parts)

    dealer.deal(share, n_items, 1, table.by_items.indptr, entry_cost=1 << 10, row_cost=1 << 6)
    return SparseLinks.of_neighbours(neighbours, weights)


def links_of(table: ItemTable, ridges: Floats, neighbours: int | str, dealer: Threads) -> Links:
    """Return links by all items, or by some neighbours of each; "auto" takes all where they find room."""
    room = lacking_memory(table.n_items)
    if neighbours == "all" and room:
        raise DataError(f"Links between all items do not fit: {room}. Set neighbours, to {NEIGHBOURS} for instance.")
    if neighbours == "auto":
        why = room or (f"there are more than {MOST_ITEMS:,} items" if table.n_items > MOST_ITEMS else None)
        if why:
            notice(f"Links lead to each item from its {NEIGHBOURS} strongest neighbours: {why}.")
        neighbours = NEIGHBOURS if why else "all"
    if neighbours == "all":
        return closed_form(table, ridges, dealer)
    return from_neighbours(table, ridges, int(neighbours), dealer)


def lacking_memory(n_items: int, total: int | None = None) -> str | None:
    """Say why links between all items do not fit into memory, or None where they do.

    Examples
    --------
    >>> lacking_memory(20_000, total=4 << 30)
    '20,000 items need 4.8 GB, and this machine has 4.3'
    >>> lacking_memory(3_000, total=4 << 30) is None
    True
    """
    wanted = _PAIR_BYTES * n_items**2
    if total is None:
        names = getattr(os, "sysconf_names", {})
        known = "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else wanted * 2
    if wanted <= _SHARE * total:
        return None
    return f"{n_items:,} items need {wanted / 1e9:.1f} GB, and this machine has {total / 1e9:.1f}"
