"""A table that many models complete together: the mean of what they say, as a product of two thin matrices.

The mean of products Theta_k X_k^T has the rank of all events together, and what matters of it far less. A few
products with random vectors find the part that matters (Halko, Martinsson and Tropp 2011); the table itself is never
made. Where products are ratings hidden behind yes and no, the mean of chances is no product: blocks of users are then
made one after another, and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.fitted.base import Factors
from kolmogorov.fitted.emission import chances_of_yes

#: Columns of the two matrices, by judgement: what a model of 32 events is learned from changes no more beyond.
RANK = 160
#: Times that what was found is multiplied again, which lets what is small in the table fade; two are usual (Halko,
#: Martinsson and Tropp 2011).
_POWERS = 2


@dataclass(frozen=True, eq=False)
class Completion:
    """``left @ right.T`` is what models say of every user and item, on average."""

    left: Floats
    right: Floats

    @classmethod
    def of(cls, factors: Factors, rank: int = RANK) -> Completion:
        """Complete the table by some models.

        Exact where the table has no more than `rank` rows or columns, and to what lies beyond its leading `rank`
        singular values elsewhere.

        Examples
        --------
        >>> theta, psi = np.array([[[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]]), np.array([[[1.0, 0.0], [1.0, 1.0]]])
        >>> found = Completion.of(Factors(theta, psi))
        >>> (found.left @ found.right.T).round(6).tolist()
        [[0.5], [1.0]]
        """
        table = (_YesTable if factors.hidden else _MeanTable)(factors)
        n_users, n_items = table.shape
        if n_items <= rank:
            return cls(table.times(np.eye(n_items)), np.eye(n_items))
        if n_users <= rank:
            return cls(np.eye(n_users), table.transposed_times(np.eye(n_users)))
        found = table.times(np.random.default_rng(0).standard_normal((n_items, rank)))
        left, _ = np.linalg.qr(found)
        for _ in range(table.powers):
            right, _ = np.linalg.qr(table.transposed_times(left))
            left, _ = np.linalg.qr(table.times(right))
        return cls(left, table.transposed_times(left))

    def averaged(self, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Completion:
        """Let all users and items but these be average ones."""
        left, right = self.left.copy(), self.right.copy()
        left[~users], right[~items] = left[users].mean(axis=0), right[items].mean(axis=0)
        return Completion(left, right)

    def mean_square(self, user_weights: Floats, item_weights: Floats) -> float:
        """Return the weighted mean of the squares of all cells; weights sum to 1."""
        users = (self.left * user_weights[:, None]).T @ self.left
        items = (self.right * item_weights[:, None]).T @ self.right
        return float((users * items).sum())


class _MeanTable:
    """The table that models complete, multiplied with thin matrices but never made."""

    powers = _POWERS

    def __init__(self, factors: Factors) -> None:
        # The last row of either side stands for the unknown.
        self._theta, self._psi = factors.theta[:, :-1], factors.psi[:, :-1]
        self.shape = (self._theta.shape[1], self._psi.shape[1])

    def times(self, vectors: Floats) -> Floats:
        """Return the table times some columns, one entry for each item."""
        return self._multiplied(self._theta, self._psi, vectors)

    def transposed_times(self, vectors: Floats) -> Floats:
        """Return the transposed table times some columns, one entry for each user."""
        return self._multiplied(self._psi, self._theta, vectors)

    def _multiplied(self, outer: NDArray[np.floating], inner: NDArray[np.floating], vectors: Floats) -> Floats:
        total = np.zeros((outer.shape[1], vectors.shape[1]))
        for one, other in zip(outer, inner, strict=True):
            total += one.astype(np.float64) @ (other.astype(np.float64).T @ vectors)
        return total / len(outer)


class _YesTable(_MeanTable):
    """The same where each model says the chance of a yes: made for some users at a time."""

    #: Cells of the users that are made together: 16 MB.
    cells: ClassVar[int] = 1 << 21
    # Every pass goes through all cells of all models.
    powers = 0

    def times(self, vectors: Floats) -> Floats:
        """Return the table times some columns, one entry for each item."""
        return np.concatenate([block @ vectors for _, block in self._blocks()])

    def transposed_times(self, vectors: Floats) -> Floats:
        """Return the transposed table times some columns, one entry for each user."""
        return sum((block.T @ vectors[users] for users, block in self._blocks()), start=np.zeros(1))

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        n_users, n_items = self.shape
        some = max(1, self.cells // n_items)
        for first in range(0, n_users, some):
            users = slice(first, min(first + some, n_users))
            total = np.zeros((users.stop - first, n_items))
            for theta, psi in zip(self._theta, self._psi, strict=True):
                total += chances_of_yes(theta[users].astype(np.float32) @ psi.astype(np.float32).T)
            yield users, total / len(self._theta)
