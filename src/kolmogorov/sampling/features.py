"""What the pattern of a table says of users and items: who was observed with what, whatever was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations

#: A table of which more is observed says nothing by its pattern.
_DENSE = 0.5


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of users and of items: float64[n_users, k] and float64[n_items, l], standardised."""

    users: Floats
    items: Floats


def user_features(observations: Observations, count: int) -> Features:
    """Describe users by leading singular vectors of the pattern, and how much was observed of them."""
    count = _sensible(observations, count)
    if count < 1:
        return Features(np.zeros((observations.n_users, 0)), np.zeros((observations.n_items, 0)))
    left, _, _ = _singular(observations, count, "u")
    return Features(_described(left, observations.rows.counts), np.zeros((observations.n_items, 0)))


def pattern_features(observations: Observations, count: int) -> Features:
    """Describe users and items, both by the same singular vectors."""
    count = _sensible(observations, count)
    if count < 1:
        return Features(np.zeros((observations.n_users, 0)), np.zeros((observations.n_items, 0)))
    left, _, right = _singular(observations, count, True)
    counts = observations.columns.counts
    # What is observed often is liked more, and not in proportion: hence the square of the logarithm.
    items = _described(right.T, counts, np.log(np.maximum(counts, 1)) ** 2)
    return Features(_described(left, observations.rows.counts), items)


def _sensible(observations: Observations, count: int) -> int:
    n_users, n_items = observations.n_users, observations.n_items
    if len(observations) > _DENSE * n_users * n_items:
        return 0
    return min(count, min(n_users, n_items) - 1)


def _singular(observations: Observations, count: int, which: Any) -> tuple[Any, Any, Any]:
    """Return singular vectors of the pattern, in which frequent users and items count less."""
    n_users, n_items = observations.n_users, observations.n_items
    rows, columns = observations.rows, observations.columns
    scale = 1.0 / np.sqrt(np.maximum(rows.counts, 1))[observations.user_rows()]
    scale = scale / np.sqrt(np.maximum(columns.counts, 1))[observations.item_rows()]
    pattern = csr_array((scale, rows.indices.copy(), rows.indptr.copy()), shape=(n_users, n_items))
    left, sizes, right = svds(pattern, k=count, v0=np.ones(min(n_users, n_items)), return_singular_vectors=which)
    return left, sizes, right


def _described(vectors: Floats, counts: Any, *more: Floats) -> Floats:
    """Put standardised vectors, whose signs are free and get fixed, beside the size and more columns."""
    vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
    features = np.column_stack([vectors, np.log(np.maximum(counts, 1)), *more])
    spread = features.std(axis=0)
    return (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
