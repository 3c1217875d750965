"""Factor models with biases: what matrix factorisation and SVD++ share once they are learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_finite
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.table.observations import View
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.errors import InvariantError
from kolmogorov.fitted.base import Trained
from kolmogorov.fitted.files import Parts, StoredParts, training_arrays
from kolmogorov.kernels.rows.products import pair_products
from kolmogorov.surface.recommender import Recommender
from kolmogorov.surface.tables import table_of

_ARRAYS = {"user_bias": 1, "item_bias": 1, "user_factors": 2, "item_factors": 2}


@dataclass(frozen=True, eq=False)
class BiasedFactors(Trained):
    """p = mean + b_u + b_i + f_u . g_i, clipped to [0, 1]. An unknown user or item has bias and factors zero.

    Models of version 0.1.0 come without their training table, but with who was `seen` in it.
    """

    mean: float
    user_bias: Floats
    item_bias: Floats
    user_factors: Floats
    item_factors: Floats
    training: Observations
    seen: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None

    @cached_property
    def user_seen(self) -> NDArray[np.bool_]:
        """Which users had observations."""
        return self.user_counts > 0 if self.seen is None else self.seen[0]

    @cached_property
    def item_seen(self) -> NDArray[np.bool_]:
        """Which items had observations."""
        return self.item_counts > 0 if self.seen is None else self.seen[1]

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return predictions for aligned rows."""
        users, items = self.known_rows(users, items)
        left, right = _with_zero(self.user_factors), _with_zero(self.item_factors)
        pair_products(left, right, users, items, out := np.empty(users.size))
        out += self.mean + np.append(self.user_bias, 0.0)[users] + np.append(self.item_bias, 0.0)[items]
        return np.clip(out, 0.0, 1.0)

    def of_users(self, users: Rows) -> Floats:
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
        if self.seen is None:
            return {"mean": self.mean}, arrays | training_arrays(self.training)
        arrays |= {name: seen.astype(np.uint8) for name, seen in zip(_SEEN, self.seen, strict=True)}
        return {"mean": self.mean}, arrays | self.users.arrays("users") | self.items.arrays("items")

    @classmethod
    def restored(cls, parts: StoredParts) -> BiasedFactors:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        arrays: dict[str, Any] = {name: parts.array(name, d, "float64") for name, d in _ARRAYS.items()}
        if "seen_indptr" in parts.arrays:
            return cls(float(parts.meta["mean"]), **arrays, training=parts.training())
        flags = [parts.array(name, 1, "uint8") for name in _SEEN]
        if any(array.size and array.max() > 1 for array in flags):
            raise InvariantError("who was seen must be said by 0 and 1")
        users, items = (Vocabulary.from_arrays(side, parts.arrays) for side in ("users", "items"))
        nothing = View(np.zeros(len(users) + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
        training = Observations(users, items, nothing, parts.scale())
        return cls(float(parts.meta["mean"]), **arrays, training=training, seen=(flags[0] > 0, flags[1] > 0))

    def validate(self) -> None:
        """Raise `InvariantError` where the parts do not belong together; for parts that come from a file."""
        if self.seen is None:
            super().validate()
        self.validate_numbers()

    def validate_numbers(self) -> None:
        """Check shapes, types, and that every number is one."""
        n_users, n_items, size = len(self.users), len(self.items), self.user_factors.shape[-1]
        shapes: dict[str, tuple[int, ...]] = {"user_bias": (n_users,), "item_bias": (n_items,)}
        shapes |= {"user_factors": (n_users, size), "item_factors": (n_items, size)}
        for name, shape in shapes.items():
            check_array(name, getattr(self, name), np.float64, shape)
            check_finite(name, getattr(self, name))
        check_finite("the mean", np.array([self.mean]))
        check_array("user_seen", self.user_seen, bool, (n_users,))
        check_array("item_seen", self.item_seen, bool, (n_items,))


_SEEN = ("user_seen", "item_seen")


class BiasedModel(Recommender):
    """Base of the estimators that end in `BiasedFactors`."""

    fitted_: BiasedFactors
    _usual_grid: ClassVar = {"n_factors": (5, 10, 20), "reg": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)}


def learnable(model: BiasedModel, X: Any) -> Observations:
    """Return what to learn from: Observations, or a table as `KolmogorovModel.fit` takes it."""
    observations = table_of(model, X, reset=True)
    check_trainable(observations)
    return observations


def _with_zero(factors: Floats) -> Floats:
    return np.vstack([factors, np.zeros(factors.shape[1])])
