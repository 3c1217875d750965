"""Links: how strongly having one item speaks for another. All of them, or those between strong neighbours only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_bounded, check_indices, check_indptr
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent.files import Arrays
from kolmogorov.errors import InvariantError
from kolmogorov.models.list_scores import (
    dense_link_scores,
    dense_pair_scores,
    sparse_link_scores,
    sparse_pair_scores,
)


class Links(ABC):
    """Weights from every item to every other; none from an item to itself."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Number of items."""

    @abstractmethod
    def scores(self, view: View, rows: Rows) -> Floats:
        """Return the sum of the weights from the items of some rows to each item; float64[n, n_items].

        The row past the last stands for somebody without items.
        """

    @abstractmethod
    def pairs(self, view: View, rows: Rows, items: Rows) -> Floats:
        """Return the same for aligned rows and items."""

    @abstractmethod
    def into(self, item: int) -> Floats:
        """Return the weight from every item to one."""

    @abstractmethod
    def out_of(self, item: int) -> Floats:
        """Return the weight from one item to every other."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file holds of this."""

    @abstractmethod
    def validate(self, n_items: int) -> None:
        """Raise `InvariantError` where these are no links between so many items."""

    @staticmethod
    def restored(arrays: Arrays) -> Links:
        """Undo `arrays`."""
        if "link_matrix" in arrays:
            return DenseLinks(arrays["link_matrix"])
        return SparseLinks(arrays["link_indptr"], arrays["link_items"], arrays["link_weights"])


@dataclass(frozen=True, eq=False)
class DenseLinks(Links):
    """All weights: weights[j, i] is that from item j to item i."""

    weights: NDArray[np.float32]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.weights)

    def scores(self, view: View, rows: Rows) -> Floats:
        """Return the sum of the weights from the items of some rows to each item."""
        out = np.empty((rows.size, self.n_items))
        dense_link_scores(view.indptr, view.indices, view.values, rows.astype(np.int64), self.weights, out)
        return out

    def pairs(self, view: View, rows: Rows, items: Rows) -> Floats:
        """Return the same for aligned rows and items."""
        asked = (rows.astype(np.int64), items.astype(np.int64))
        dense_pair_scores(view.indptr, view.indices, view.values, *asked, self.weights, out := np.empty(rows.size))
        return out

    def into(self, item: int) -> Floats:
        """Return the weight from every item to one."""
        return self.weights[:, item].astype(np.float64)

    def out_of(self, item: int) -> Floats:
        """Return the weight from one item to every other."""
        return self.weights[item].astype(np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file holds of this."""
        return {"link_matrix": self.weights}

    def validate(self, n_items: int) -> None:
        """Check shape, type, numbers, and that no item speaks for itself."""
        check_array("the links", self.weights, np.float32, (n_items, n_items))
        check_bounded("the links", self.weights)
        if self.weights.diagonal().any():
            raise InvariantError("the links lead from an item to itself")


@dataclass(frozen=True, eq=False)
class SparseLinks(Links):
    """Weights that are there: those of item j lead to items[indptr[j] : indptr[j + 1]], which increase."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of_neighbours(cls, neighbours: NDArray[np.int32], weights: Floats) -> Self:
        """Return links to each item from its neighbours, both [n_items, K]; -1 stands for no neighbour."""
        there = neighbours >= 0
        sources, targets = neighbours[there], np.nonzero(there)[0].astype(np.int32)
        order = np.lexsort((targets, sources))
        counts = np.bincount(sources, minlength=len(neighbours))
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return cls(indptr, targets[order], weights[there][order].astype(np.float32))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.indptr.size - 1

    @property
    def _links(self) -> tuple[NDArray[Any], ...]:
        return self.indptr, self.items, self.weights

    def scores(self, view: View, rows: Rows) -> Floats:
        """Return the sum of the weights from the items of some rows to each item."""
        out = np.empty((rows.size, self.n_items))
        sparse_link_scores(view.indptr, view.indices, view.values, rows.astype(np.int64), self._links, out)
        return out

    def pairs(self, view: View, rows: Rows, items: Rows) -> Floats:
        """Return the same for aligned rows and items."""
        asked = (rows.astype(np.int64), items.astype(np.int64))
        sparse_pair_scores(view.indptr, view.indices, view.values, *asked, self._links, out := np.empty(rows.size))
        return out

    def into(self, item: int) -> Floats:
        """Return the weight from every item to one."""
        owners = np.repeat(np.arange(self.n_items), np.diff(self.indptr))
        found, out = self.items == item, np.zeros(self.n_items)
        out[owners[found]] = self.weights[found]
        return out

    def out_of(self, item: int) -> Floats:
        """Return the weight from one item to every other."""
        mine, out = slice(self.indptr[item], self.indptr[item + 1]), np.zeros(self.n_items)
        out[self.items[mine]] = self.weights[mine]
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file holds of this."""
        return {"link_indptr": self.indptr, "link_items": self.items, "link_weights": self.weights}

    def validate(self, n_items: int) -> None:
        """Check shapes, types, numbers, and that no item speaks for itself."""
        check_array("the links' indptr", self.indptr, np.int64, (n_items + 1,))
        check_indptr("the links' indptr", self.indptr, self.items.size)
        check_indices("the links' items", self.indptr, self.items, n_items)
        check_array("the links", self.weights, np.float32, self.items.shape)
        check_bounded("the links", self.weights)
        if (self.items == np.repeat(np.arange(n_items), np.diff(self.indptr))).any():
            raise InvariantError("the links lead from an item to itself")
