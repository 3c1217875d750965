"""Simple guesses that a model has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations

#: Observations that a mean counts as having seen beforehand; usual for ratings.
_ITEM_PRIOR, _USER_PRIOR = 10.0, 15.0
#: The best of the guesses, as a rule.
BIASES = "user and item biases"


@dataclass(frozen=True, eq=False)
class SimpleGuesses:
    """Means and biases of some observations, on the probability scale.

    Attributes
    ----------
    mean : float
    item_bias, user_bias : float64[n_items + 1], float64[n_users + 1]
        What is usual for an item beside the mean, and for a user beside both, shrunk to 0; a last entry 0 stands for
        the unknown.
    """

    mean: float
    item_bias: Floats
    user_bias: Floats

    @classmethod
    def of(cls, train: Observations) -> SimpleGuesses:
        """Sum up block by block, so that no array as long as the table is made."""
        view = train.rows
        items = np.zeros((2, train.n_items))
        users = np.zeros((2, train.n_users))
        for first, last in view.blocks():
            part = slice(int(view.indptr[first]), int(view.indptr[last]))
            values, weights = view.values[part], view.weights[part] if view.weights.size else None
            items += _sums(view.indices[part], values, weights, train.n_items)
            view.forget(first, last)
        mean = float(items[0].sum() / items[1].sum())
        item_bias = np.append((items[0] - mean * items[1]) / (items[1] + _ITEM_PRIOR), 0.0)
        for first, last in view.blocks():
            part = slice(int(view.indptr[first]), int(view.indptr[last]))
            rest = view.values[part] - mean - item_bias[view.indices[part]]
            weights = view.weights[part] if view.weights.size else None
            users += _sums(view.owners(first, last), rest, weights, train.n_users)
            view.forget(first, last)
        return cls(mean, item_bias, np.append(users[0] / (users[1] + _USER_PRIOR), 0.0))

    def at(self, users: NDArray[Any], items: NDArray[Any]) -> dict[str, Floats]:
        """Guess entries: rows of the observations, -1 for ids that they do not have."""
        of_items = self.mean + self.item_bias[items]
        return {
            "overall mean": np.full(len(users), self.mean),
            "item means": np.clip(of_items, 0.0, 1.0),
            BIASES: np.clip(of_items + self.user_bias[users], 0.0, 1.0),
        }


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
    return SimpleGuesses.of(train).at(users, items)


def _sums(rows: NDArray[Any], values: Floats, weights: Floats | None, size: int) -> Floats:
    """Return the sum of each row's values and its number of observations, weighted."""
    heavy = np.ones(len(values)) if weights is None else weights
    return np.stack([np.bincount(rows, weights=part, minlength=size) for part in (heavy * values, heavy)])
