"""Factor models with biases: what matrix factorisation and SVD++ share once they are learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kolmogorov._support.invariants import check_array, check_bounded
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.fitted.base import Trained
from kolmogorov.fitted.files import Parts, StoredParts, training_arrays
from kolmogorov.kernels.rows.products import pair_products
from kolmogorov.surface.recommender import Recommender

_ARRAYS = {"user_bias": 1, "item_bias": 1, "user_factors": 2, "item_factors": 2}


@dataclass(frozen=True, eq=False)
class BiasedFactors(Trained):
    """p = mean + b_u + b_i + f_u . g_i, clipped to [0, 1]. An unknown user or item has bias and factors zero."""

    mean: float
    user_bias: Floats
    item_bias: Floats
    user_factors: Floats
    item_factors: Floats
    training: Observations

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return predictions for aligned rows."""
        users, items = self.known_rows(users, items)
        left, right = _with_zero(self.user_factors), _with_zero(self.item_factors)
        pair_products(left, right, users, items, out := np.empty(users.size))
        out += self.mean + np.append(self.user_bias, 0.0)[users] + np.append(self.item_bias, 0.0)[items]
        return np.clip(out, 0.0, 1.0)

    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the predictions of all items for some users."""
        users, items = self.known_rows(users, np.arange(len(self.items)))
        out = _with_zero(self.user_factors)[users] @ _with_zero(self.item_factors)[items].T
        out += self.mean + np.append(self.user_bias, 0.0)[users][:, None] + np.append(self.item_bias, 0.0)[items]
        return np.clip(out, 0.0, 1.0)

    def similar_to(self, item: int) -> Floats:
        """Return the cosine of every item's factors with those of one item."""
        length = np.linalg.norm(self.item_factors, axis=1)
        scale = length * length[item]
        return np.where(scale > 0.0, self.item_factors @ self.item_factors[item] / np.where(scale > 0, scale, 1.0), 0.0)

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {"mean": self.mean}, arrays | training_arrays(self.training)

    @classmethod
    def restored(cls, parts: StoredParts) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        arrays: dict[str, Any] = {name: parts.array(name, d, "float64") for name, d in _ARRAYS.items()}
        return cls(float(parts.meta["mean"]), **arrays, training=parts.training())

    def validate_numbers(self) -> None:
        """Check shapes, types, and that every number is one."""
        n_users, n_items, size = len(self.users), len(self.items), self.user_factors.shape[-1]
        shapes: dict[str, tuple[int, ...]] = {"user_bias": (n_users,), "item_bias": (n_items,)}
        shapes |= {"user_factors": (n_users, size), "item_factors": (n_items, size)}
        for name, shape in shapes.items():
            check_array(name, getattr(self, name), np.float64, shape)
            check_bounded(name, getattr(self, name))
        check_bounded("the mean", np.array([self.mean]))


class BiasedModel(Recommender):
    """Base of the estimators that end in `BiasedFactors`."""

    fitted_: BiasedFactors
    _learned = BiasedFactors


def _with_zero(factors: Floats) -> Floats:
    return np.vstack([factors, np.zeros(factors.shape[1])])
