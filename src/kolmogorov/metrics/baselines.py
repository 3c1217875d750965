"""Simple guesses that a model has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Observations

Floats = NDArray[np.float64]
# Observations that a mean counts as having seen beforehand; usual for ratings.
_ITEM_PRIOR, _USER_PRIOR = 10.0, 15.0


def simple_guesses(train: Observations, users: NDArray[Any], items: NDArray[Any]) -> dict[str, Floats]:
    """Guess entries (rows of `train`, -1 where it does not know the id) in three ways, on the probability scale.

    "overall mean" is one number; "item means" are shrunk to it; "user and item biases" add to it what is usual for the
    item and then what is usual for the user.

    Examples
    --------
    >>> table = Observations.from_dense([[1, 0], [1, 0]])
    >>> simple_guesses(table, np.array([0]), np.array([1]))["overall mean"]
    array([0.5])
    """
    rows, columns = train.user_rows(), train.item_rows()
    mean = float(np.average(train.values, weights=train.weights))
    item_bias = _shrunk(columns, train.values - mean, train.weights, train.n_items, _ITEM_PRIOR)
    rest = train.values - mean - item_bias[columns]
    user_bias = _shrunk(rows, rest, train.weights, train.n_users, _USER_PRIOR)
    return {
        "overall mean": np.full(len(users), mean),
        "item means": np.clip(mean + item_bias[items], 0.0, 1.0),
        "user and item biases": np.clip(mean + item_bias[items] + user_bias[users], 0.0, 1.0),
    }


def _shrunk(rows: NDArray[Any], values: Floats, weights: Floats | None, size: int, prior: float) -> Floats:
    """Return each row's mean, shrunk to 0, and a last entry 0 for the unknown row -1."""
    heavy = np.ones(len(values)) if weights is None else weights
    total = np.bincount(rows, weights=heavy * values, minlength=size)
    count = np.bincount(rows, weights=heavy, minlength=size)
    return np.append(total / (count + prior), 0.0)
