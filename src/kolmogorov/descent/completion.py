"""The table that many models complete: two thin matrices whose product is what they say of every cell, on average.

The mean of products Theta_k X_k^T has the rank of all events together, and what matters of it far less. A few
products with random vectors find the part that matters (Halko, Martinsson and Tropp 2011); the table itself is never
made. Where products are ratings hidden behind yes and no, the mean of chances is no product: cells are then computed
one by one, of a large table those of some users and of some items, whose columns and rows span the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.changes import without_ids
from kolmogorov.descent.attributes import Attributed, placed_rows
from kolmogorov.descent.fitted import NOISE, Factors, item_counts
from kolmogorov.descent.problem import EXTRA_RATINGS, SAMPLE

#: Columns of the two matrices, by judgement: what a model of 32 events is learned from changes no more beyond.
RANK = 160
#: Times that what was found is multiplied again, which lets what is small in the table fade; two are usual (Halko,
#: Martinsson and Tropp 2011). Where cells are computed one by one none, since each takes all of them.
_POWERS = 2
#: Chances of a yes that are computed together, 1 MB, as a processor's cache holds; and the largest table of which all
#: are computed: 128 MB. By judgement.
_BLOCK, CELLS = 1 << 17, 1 << 24


@dataclass(frozen=True, eq=False)
class Many:
    """Draws of `n_chains` chains, or the ends of some descents, of which one model is learned.

    An entry that was not observed weighed `unobserved`, as a no; `answer_variance`, float64[n_users], is that of
    answers around what these models say on average.
    """

    factors: Factors
    training: Observations
    answer_variance: Floats
    unobserved: float = 0.0
    n_chains: int = 2
    user_attributes: Attributed | None = None
    item_attributes: Attributed | None = None

    def without_placed(self) -> Many:
        """Return the same without users and items of which attributes are all that is known."""
        sides = (self.user_attributes, self.training.n_users), (self.item_attributes, self.training.n_items)
        users, items = (~placed_rows(*side) for side in sides)
        if users.all() and items.all():
            return self
        factors = self.factors._replace(theta=self.factors.theta[:, users], psi=self.factors.psi[:, items])
        table = without_ids(self.training, ~users, ~items)
        return replace(self, factors=factors, training=table, answer_variance=self.answer_variance[users])


@dataclass(frozen=True, eq=False)
class CompletedTable:
    """``left @ right.T``, what models say of every user and item, and what users and items weigh.

    The weights of either side sum to 1, and are 0 for those without observations.
    """

    left: Floats
    right: Floats
    user_weights: Floats
    item_weights: Floats

    @classmethod
    def of(cls, many: Many, dealer: Threads, factors: Factors | None = None) -> CompletedTable:
        """Let models, or some of them, complete their table; users and items without observations are average.

        A cell weighs as much as it is likely to be asked for: its user's ratings times its item's. Where the
        unobserved counts as a no every cell is one that was observed, and weighs the same.
        """
        found, weights = [], []
        sides = many.training.rows.counts, item_counts(many.training)
        for side, counts in zip(completion(factors or many.factors, dealer), sides, strict=True):
            side, seen = side.copy(), counts > 0
            side[~seen] = side[seen].mean(axis=0)
            plain = np.where(seen, 1.0 if many.unobserved else counts + EXTRA_RATINGS, 0.0)
            found.append(side)
            weights.append(plain / plain.sum())
        return cls(*found, *weights)

    def profiles(self, groups: list[Rows]) -> Floats:
        """Return what groups of users say of every item, as chances; float64[n_items, n_groups]."""
        shares = [self.user_weights[group] for group in groups]
        means = [share @ self.left[group] / share.sum() for share, group in zip(shares, groups, strict=True)]
        return np.clip(self.right @ np.array(means).T, 0.0, 1.0)

    @property
    def square(self) -> float:
        """The weighted mean of the squares of all cells."""
        users = (self.left * self.user_weights[:, None]).T @ self.left
        items = (self.right * self.item_weights[:, None]).T @ self.right
        return float((users * items).sum())

    @property
    def spread(self) -> float:
        """How far cells lie from what their item gets on average: the root of the weighted mean square."""
        return float(np.sqrt(replace(self, left=self.left - self.user_weights @ self.left).square))


def completion(factors: Factors, dealer: Threads, rank: int = RANK) -> tuple[Floats, Floats]:
    """Return two matrices whose product is what some models say of every user and item, on average.

    Exact where the table has no more than `rank` rows or columns, and to what lies beyond its leading `rank` singular
    values elsewhere.

    Examples
    --------
    >>> theta, psi = np.array([[[0.5, 0.5], [1.0, 0.0]]]), np.array([[[1.0, 0.0]]])
    >>> left, right = completion(Factors(theta, psi), Threads(1))
    >>> (left @ right.T).round(6).tolist()
    [[0.5], [1.0]]
    """
    theta, psi, hidden, _ = factors
    n_users, n_items = theta.shape[1], psi.shape[1]
    if hidden and min(n_users, n_items) > rank and n_users * n_items > CELLS:
        return _spanned(theta, psi, dealer, rank)
    whole = _chances(theta, psi, dealer) if hidden else np.empty(0)

    def times(outer: NDArray[np.floating], inner: NDArray[np.floating], vectors: Floats) -> Floats:
        """Return the table of two sides times some columns, one entry for each row of the inner side."""
        if hidden:
            found: Floats = (whole if outer is theta else whole.T) @ vectors
            return found
        total = np.zeros((outer.shape[1], vectors.shape[1]))
        for one, other in zip(outer, inner, strict=True):
            total += one.astype(np.float64) @ (other.astype(np.float64).T @ vectors)
        return total / len(outer)

    if n_items <= rank:
        return times(theta, psi, np.eye(n_items)), np.eye(n_items)
    if n_users <= rank:
        return np.eye(n_users), times(psi, theta, np.eye(n_users))
    left, _ = np.linalg.qr(times(theta, psi, np.random.default_rng(0).standard_normal((n_items, rank))))
    for _ in range(0 if hidden else _POWERS):
        right, _ = np.linalg.qr(times(psi, theta, left))
        left, _ = np.linalg.qr(times(theta, psi, right))
    return left, times(psi, theta, left)


def _spanned(
    theta: NDArray[np.floating], psi: NDArray[np.floating], dealer: Threads, rank: int
) -> tuple[Floats, Floats]:
    """Return the same of chances of a yes in a large table, of which only some columns and some rows are computed.

    The leading sums of the columns of some items, which some users tell, span what matters of all columns. Each column
    is then the sum of these that comes nearest at some users, who are drawn by how much they tell of it, and weighed so
    that they stand for all.
    """
    rng, n_users, n_items = np.random.default_rng(0), theta.shape[1], psi.shape[1]
    users, items = (np.sort(rng.choice(n, min(SAMPLE, n), replace=False)) for n in (n_users, n_items))
    _, _, sums = np.linalg.svd(_chances(theta[:, users], psi[:, items], dealer), full_matrices=False)
    left, _ = np.linalg.qr(_chances(theta, psi[:, items], dealer, sums[:rank].T))
    share = 0.5 / n_users + 0.5 * (left**2).sum(axis=1) / rank
    users = np.sort(rng.choice(n_users, min(SAMPLE, n_users), replace=False, p=share / share.sum()))
    weights = 1.0 / np.sqrt(share[users, None])
    return left, _chances(psi, theta[:, users], dealer, np.linalg.pinv(weights * left[users], 1e-6).T * weights)


def _chances(
    outer: NDArray[np.floating], inner: NDArray[np.floating], dealer: Threads, sums: Floats | None = None
) -> Floats:
    """Return the mean chance of a yes for every row of two sides, or sums of them over the inner side."""
    n, m = outer.shape[1], inner.shape[1]
    found = np.empty((n, m if sums is None else sums.shape[1]))
    some = max(1, _BLOCK // m)

    def blocks(first: int, last: int) -> None:
        for start in range(first * some, min(last * some, n), some):
            rows = slice(start, min(start + some, n))
            total = np.zeros((rows.stop - start, m))
            for one, other in zip(outer, inner, strict=True):
                said = one[rows].astype(np.float32) @ other.astype(np.float32).T
                total += ndtr((said - np.float32(0.5)) * np.float32(1.0 / np.sqrt(NOISE)))
            total /= len(outer)
            found[rows] = total if sums is None else total @ sums

    # Blocks are the same on any number of threads.
    dealer.deal(blocks, -(-n // some), _BLOCK)
    return found
