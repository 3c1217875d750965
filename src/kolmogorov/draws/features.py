"""What the pattern of a table says of users and items: who was observed with what, whatever was answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.draws.priors import Blocks

#: A table of which more is observed says nothing by its pattern. By judgement.
_DENSE = 0.5
#: Rows or columns up to which singular vectors are found all at once. By judgement.
_FEW = 20
#: Singular values that count as 0; the largest is 1.
_NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of users and of items: float64[n_users, k] and float64[n_items, l], standardised.

    The last columns of either are blocks of attributes, as wide as `user_blocks` and `item_blocks` say; those before
    are of the pattern.
    """

    users: Floats
    items: Floats
    user_blocks: Blocks = ()
    item_blocks: Blocks = ()

    @classmethod
    def none(cls, n_users: int, n_items: int) -> Features:
        """Know nothing."""
        return cls(np.zeros((n_users, 0)), np.zeros((n_items, 0)))

    def with_attributes(self, known: TableAttributes) -> Features:
        """Put attributes beside what is known already."""
        found, users, items = self, known.users, known.items
        if users is not None:
            found = replace(found, users=np.hstack([found.users, users.values]), user_blocks=users.blocks)
        if items is not None:
            found = replace(found, items=np.hstack([found.items, items.values]), item_blocks=items.blocks)
        return found


def pattern_features(observations: Observations, count: int) -> Features:
    """Describe users and items, both by the same singular vectors."""
    count = _sensible(observations, count)
    if count < 1:
        return Features.none(observations.n_users, observations.n_items)
    left, _, right = _singular(observations, count)
    counts = observations.columns.counts
    # What is observed often is liked more, and not in proportion: hence the square of the logarithm.
    items = _described(right.T, counts, np.log(np.maximum(counts, 1)) ** 2)
    return Features(_described(left, observations.rows.counts), items)


def _sensible(observations: Observations, count: int) -> int:
    n_users, n_items = observations.n_users, observations.n_items
    if len(observations) > _DENSE * n_users * n_items:
        return 0
    return min(count, min(n_users, n_items) - 1)


def _singular(observations: Observations, count: int) -> tuple[Any, Any, Any]:
    """Return singular vectors of the pattern, in which frequent users and items count less."""
    n_users, n_items = observations.n_users, observations.n_items
    rows, columns = observations.rows, observations.columns
    scale = 1.0 / np.sqrt(np.maximum(rows.counts, 1))[observations.user_rows()]
    scale = scale / np.sqrt(np.maximum(columns.counts, 1))[observations.item_rows()]
    pattern = csr_array((scale, rows.indices.copy(), rows.indptr.copy()), shape=(n_users, n_items))
    if min(n_users, n_items) <= max(_FEW, 2 * count + 1):
        # ARPACK would go through the whole space, and where that is less than it seems begin anew at random.
        return _all_at_once(pattern, count)
    left, sizes, right = svds(pattern, k=count, v0=np.ones(min(n_users, n_items)))
    return left, sizes, right


def _all_at_once(pattern: Any, count: int) -> tuple[Floats, Floats, Floats]:
    """Return leading singular vectors of a table with a short side; of those without size, zeros on the other one."""
    tall = pattern.shape[0] >= pattern.shape[1]
    table = pattern if tall else pattern.T
    squares, vectors = np.linalg.eigh((table.T @ table).toarray())
    squares, vectors = squares[-count:], vectors[:, -count:]
    sizes = np.sqrt(np.maximum(squares, 0.0))
    others = (table @ vectors) / np.where(sizes > _NOTHING, sizes, np.inf)
    return (others, sizes, vectors.T) if tall else (vectors, sizes, others.T)


def _described(vectors: Floats, counts: Any, *more: Floats) -> Floats:
    """Put standardised vectors, whose signs are free and get fixed, beside the size and more columns."""
    vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
    features = np.column_stack([vectors, np.log(np.maximum(counts, 1)), *more])
    spread = features.std(axis=0)
    return (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
