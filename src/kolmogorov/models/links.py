"""Links: how strongly having one item speaks for another, every item's ridge regression on all others in closed form.

With G the Gram matrix of the items' columns, R a diagonal of ridges and P the inverse of G + R, the weights of the
regression of item i on all others are -P[j, i] / P[i, i] (Steck 2019). Where there are too many items for a matrix of
all pairs, each is regressed on those whose columns have the largest cosine with its own.

The inverse is made in its place, on threads, by Gauss and Jordan's sweeps over blocks: a block of rows is eliminated,
and all others are updated by products of thin matrices. Each block is computed by one thread of BLAS, so that the bits
are the same on any number of threads. It takes n^3 multiplications and no memory beside the matrix but some columns.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kolmogorov._support.jit import kernel
from kolmogorov._support.progress import notice
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import check_array, check_bounded, check_indices, check_indptr
from kolmogorov.data.view import View, transposed
from kolmogorov.errors import DataError, InvariantError

#: Items up to which all pairs are weighed, and neighbours of an item beyond.
MOST_ITEMS, NEIGHBOURS = 20_000, 64
#: Bytes that a pair of items takes: eight in the matrix that is inverted, four in what is kept.
_PAIR_BYTES = 12
#: Share of the machine's memory that may be taken; rows of a block, wide enough for products of thin matrices to be
#: quick. By judgement.
_SHARE, _BLOCK = 0.75, 192


# --- what links say -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Links:
    """Weights from every item to every other; weights[j, i] is that from item j to item i.

    All of them as float32[n_items, n_items], or those that are there as a sparse array whose rows are sorted.
    """

    weights: NDArray[np.float32] | csr_array

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.weights.shape[0])

    def scores(self, view: View, rows: Rows) -> Floats:
        """Return the sum of the weights from the items of some rows to each item; float64[n, n_items].

        The row past the last stands for somebody without items.
        """
        if isinstance(self.weights, csr_array):
            found: Floats = (self._had(view, rows) @ self.weights).toarray()
            return found
        out = np.empty((rows.size, self.n_items))
        _sums(view.indptr, view.indices, view.values, rows.astype(np.int64), self.weights, out)
        return out

    def pairs(self, view: View, rows: Rows, items: Rows) -> Floats:
        """Return the same for aligned rows and items; of an item past the last nothing is said."""
        if isinstance(self.weights, csr_array):
            into = csr_array(self.weights.T)
            into.resize(self.n_items + 1, self.n_items)
            return np.asarray(self._had(view, rows).multiply(into[items]).sum(axis=1)).ravel()
        out = np.empty(rows.size)
        asked = rows.astype(np.int64), items.astype(np.int64)
        _pair_sums(view.indptr, view.indices, view.values, *asked, self.weights, out)
        return out

    def _had(self, view: View, rows: Rows) -> csr_array:
        """Return what some rows have."""
        ends = np.append(view.indptr, view.indptr[-1])
        return csr_array((view.values, view.indices, ends), shape=(ends.size - 1, self.n_items))[rows]

    def into(self, item: int) -> Floats:
        """Return the weight from every item to one."""
        column = self.weights[:, [item]]
        return np.asarray(column.todense() if isinstance(column, csr_array) else column, dtype=np.float64).ravel()

    def out_of(self, item: int) -> Floats:
        """Return the weight from one item to every other."""
        row = self.weights[[item]]
        return np.asarray(row.todense() if isinstance(row, csr_array) else row, dtype=np.float64).ravel()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file holds of this."""
        if isinstance(self.weights, csr_array):
            indptr, items = self.weights.indptr.astype(np.int64), self.weights.indices.astype(np.int32)
            return {"link_indptr": indptr, "link_items": items, "link_weights": self.weights.data}
        return {"link_matrix": self.weights}

    @classmethod
    def restored(cls, arrays: dict[str, NDArray[Any]], n_items: int) -> Links:
        """Undo `arrays`, which may come from a file that anybody made."""
        if "link_matrix" in arrays:
            check_array("the links", arrays["link_matrix"], np.float32, (n_items, n_items))
            return cls(arrays["link_matrix"])
        indptr, items, weights = (arrays[f"link_{name}"] for name in ("indptr", "items", "weights"))
        check_array("the links' indptr", indptr, np.int64, (n_items + 1,))
        check_indptr("the links' indptr", indptr, items.size)
        check_indices("the links' items", indptr, items, n_items)
        check_array("the links", weights, np.float32, items.shape)
        return cls(csr_array((weights, items, indptr), shape=(n_items, n_items)))

    def validate(self) -> None:
        """Check the numbers, and that no item speaks for itself."""
        check_bounded("the links", self.weights.data if isinstance(self.weights, csr_array) else self.weights)
        if self.weights.diagonal().any():
            raise InvariantError("the links lead from an item to itself")


@kernel
def _sums(indptr, indices, values, rows, weights, out):
    """Write sum over the items j of a row of x_uj weights[j, i] to `out`, float64[n, n_items], for all i."""
    for place in range(rows.size):
        line = out[place]
        line[:] = 0.0
        if rows[place] >= indptr.size - 1:
            continue
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            value, source = values[entry], weights[indices[entry]]
            for item in range(line.size):
                line[item] += value * source[item]


@kernel
def _pair_sums(indptr, indices, values, rows, items, weights, out):
    """Write the same sums for aligned rows and items i."""
    for place in range(rows.size):
        total = 0.0
        if rows[place] < indptr.size - 1 and items[place] < weights.shape[0]:
            for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
                total += values[entry] * weights[indices[entry], items[place]]
        out[place] = total


# --- learning them ------------------------------------------------------------------------------------------------


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
        known = "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {})
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else wanted * 2
    if wanted <= _SHARE * total:
        return None
    return f"{n_items:,} items need {wanted / 1e9:.1f} GB, and this machine has {total / 1e9:.1f}"


def gram_of(table: ItemTable, dealer: Threads) -> Floats:
    """Return how often all items go together; float64[n_items, n_items]."""
    out = np.empty((table.n_items, table.n_items))
    by_users, by_items = table.arrays

    def share(first: int, last: int) -> None:
        _gram_rows(by_users, by_items, first, last, out[first:last])

    dealer.deal(share, table.n_items, 1, table.by_items.indptr, entry_cost=64)
    return out


@kernel
def _gram_rows(by_users, by_items, first, last, out):
    """Write sum over users of x_ui x_uj, for the items i from `first` to `last` and all j, to `out`.

    The first two are (indptr, indices, values) of the same table in either order. An item's row is added up in the
    order of its users, whoever computes it.
    """
    indptr, partners, values = by_users
    starts, owners, own = by_items
    for item in range(first, last):
        row = out[item - first]
        row[:] = 0.0
        for place in range(starts[item], starts[item + 1]):
            user, value = owners[place], own[place]
            for other in range(indptr[user], indptr[user + 1]):
                row[partners[other]] += value * values[other]


def closed_form(table: ItemTable, ridges: Floats, dealer: Threads, gram: Floats | None = None) -> Links:
    """Return the weights of every item's ridge regression on all others; a Gram matrix that is given is used up."""
    matrix = gram_of(table, dealer) if gram is None else gram
    matrix[np.diag_indices_from(matrix)] += ridges
    invert(matrix, dealer)
    scale = matrix.diagonal().copy()
    weights = np.empty(matrix.shape, dtype=np.float32)

    def share(first: int, last: int) -> None:
        np.divide(matrix[first:last], -scale, out=weights[first:last], casting="same_kind")

    dealer.deal(share, table.n_items, 1)
    np.fill_diagonal(weights, 0.0)
    return Links(weights)


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


# --- from neighbours ----------------------------------------------------------------------------------------------


def from_neighbours(table: ItemTable, ridges: Floats, n_neighbours: int, dealer: Threads) -> Links:
    """Return the weights of every item's ridge regression on those whose columns have the largest cosine with its own.

    It takes n_neighbours^2 numbers at a time and the time of as many small systems as there are items.
    """
    n_items, size = table.n_items, min(n_neighbours, max(table.n_items - 1, 1))
    sources, weights = np.empty((n_items, size), dtype=np.int32), np.zeros((n_items, size))
    by_users, by_items = table.arrays
    squares = table.squares

    def share(first: int, last: int) -> None:
        parts = (sources[first:last], weights[first:last])
        _neighbour_weights(by_users, by_items, squares, ridges, first, last, *parts)

    dealer.deal(share, n_items, 1, table.by_items.indptr, entry_cost=1 << 10, row_cost=1 << 6)
    there = sources >= 0
    at = sources[there], np.nonzero(there)[0].astype(np.int32)
    found = csr_array((weights[there].astype(np.float32), at), shape=(n_items, n_items))
    found.sort_indices()
    return Links(found)


@kernel
def _neighbour_weights(by_users, by_items, squares, ridge, first, last, items, weights):
    """Regress each item from `first` to `last` on its strongest neighbours.

    `squares` are the columns' squared lengths, `ridge` the ridge of each item. `items`, int32[last - first, K], gets
    the neighbours, -1 where there are fewer, and `weights`, float64[last - first, K], what they weigh.
    """
    indptr, partners, values = by_users
    starts, owners, own = by_items
    n_users, n_items, most = indptr.size - 1, starts.size - 1, items.shape[1]
    together, seen = np.zeros(n_items), np.zeros(n_items, dtype=np.bool_)
    touched, chosen = np.empty(n_items, dtype=np.int64), np.empty(most, dtype=np.int64)
    slots, members = np.full(n_users, -1, dtype=np.int64), np.empty(n_users, dtype=np.int64)
    profiles, gram = np.empty((n_users, most)), np.empty((most, most))
    for item in range(first, last):
        n_touched = 0
        for place in range(starts[item], starts[item + 1]):
            user, value = owners[place], own[place]
            for other in range(indptr[user], indptr[user + 1]):
                partner = partners[other]
                if not seen[partner]:
                    seen[partner] = True
                    touched[n_touched] = partner
                    n_touched += 1
                together[partner] += value * values[other]
        held = _strongest(together, touched, n_touched, squares, item, chosen)
        _gram_among(by_items, chosen, held, slots, members, profiles, gram)
        for place in range(held):
            gram[place, place] += ridge[chosen[place]]
        items[item - first, :] = -1
        items[item - first, :held] = chosen[:held]
        weights[item - first, :held] = np.linalg.solve(gram[:held, :held].copy(), together[chosen[:held]])
        together[touched[:n_touched]] = 0.0
        seen[touched[:n_touched]] = False


@kernel
def _strongest(together, touched, n_touched, squares, item, chosen):
    """Write the items with the largest cosine to `item` to `chosen`, best first, and return how many there are.

    Of equal cosines the smaller number comes first.
    """
    most, held = chosen.size, 0
    best = np.empty(most)
    for place in range(n_touched):
        other = touched[place]
        if other == item or together[other] <= 0.0:
            continue
        cosine = together[other] / np.sqrt(squares[other])
        if held == most and (cosine < best[most - 1] or (cosine == best[most - 1] and other > chosen[most - 1])):
            continue
        at = min(held, most - 1)
        while at > 0 and (best[at - 1] < cosine or (best[at - 1] == cosine and chosen[at - 1] > other)):
            best[at] = best[at - 1]
            chosen[at] = chosen[at - 1]
            at -= 1
        best[at], chosen[at] = cosine, other
        held = min(held + 1, most)
    return held


@kernel
def _gram_among(by_items, chosen, held, slots, members, profiles, gram):
    """Write the Gram matrix of the chosen items to `gram`, from the users who have any of them.

    `slots`, int64[n_users], is all -1 and is left so. `profiles` holds the values of one user at a time by the places
    of his chosen items, `members` who has a slot.
    """
    starts, owners, values = by_items
    n_members = 0
    for place in range(held):
        for entry in range(starts[chosen[place]], starts[chosen[place] + 1]):
            user = owners[entry]
            if slots[user] < 0:
                slots[user] = n_members
                members[n_members] = user
                profiles[n_members, :] = 0.0
                n_members += 1
            profiles[slots[user], place] = values[entry]
    gram[:held, :held] = 0.0
    for member in range(n_members):
        slots[members[member]] = -1
        for left in range(held):
            value = profiles[member, left]
            if value != 0.0:
                for right in range(held):
                    gram[left, right] += value * profiles[member, right]
