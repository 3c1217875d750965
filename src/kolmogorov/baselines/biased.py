"""Factor models with biases: what matrix factorisation and SVD++ share once they are learned."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kolmogorov import metrics
from kolmogorov._support.invariants import check_array, check_finite
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.trainable import check_trainable
from kolmogorov.errors import DataError, InvariantError
from kolmogorov.fitting.stored import Parts, StoredParts
from kolmogorov.kernels.products import pair_products
from kolmogorov.surface.prediction import Unknown, pair_rows
from kolmogorov.surface.tables import check_evaluable

Floats = NDArray[np.float64]
_ARRAYS = {"user_bias": 1, "item_bias": 1, "user_factors": 2, "item_factors": 2}


@dataclass(frozen=True, eq=False)
class BiasedFactors:
    """p = mean + b_u + b_i + f_u . g_i, clipped to [0, 1]. An unknown user or item has bias and factors zero."""

    mean: float
    user_bias: Floats
    item_bias: Floats
    user_factors: Floats
    item_factors: Floats
    users: Vocabulary
    items: Vocabulary
    scale: Scale
    user_seen: NDArray[np.bool_]
    item_seen: NDArray[np.bool_]

    def at_rows(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        """Return predictions for aligned row numbers; the row past the last is unknown."""
        left, right = _with_zero(self.user_factors), _with_zero(self.item_factors)
        pair_products(left, right, users.astype(np.int64), items.astype(np.int64), out := np.empty(users.size))
        out += self.mean + np.append(self.user_bias, 0.0)[users] + np.append(self.item_bias, 0.0)[items]
        return np.clip(out, 0.0, 1.0)

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays["user_seen"] = self.user_seen.astype(np.uint8)
        arrays["item_seen"] = self.item_seen.astype(np.uint8)
        return {"mean": self.mean}, arrays | self.users.arrays("users") | self.items.arrays("items")

    @classmethod
    def restored(cls, parts: StoredParts) -> BiasedFactors:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        seen = {name: parts.array(name, 1, "uint8") for name in ("user_seen", "item_seen")}
        if any(array.size and array.max() > 1 for array in seen.values()):
            raise InvariantError("who was seen must be said by 0 and 1")
        return cls(
            mean=float(parts.meta["mean"]),
            **{name: parts.array(name, dimensions, "float64") for name, dimensions in _ARRAYS.items()},
            users=Vocabulary.from_arrays("users", parts.arrays),
            items=Vocabulary.from_arrays("items", parts.arrays),
            scale=parts.scale(),
            **{name: array.astype(bool) for name, array in seen.items()},
        )

    def validate(self) -> None:
        """Raise `InvariantError` where the parts do not belong together; for parts that come from a file."""
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


class BiasedModel(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that end in `BiasedFactors`: predict, evaluate, save."""

    fitted_: BiasedFactors

    def adopt(self, fitted: BiasedFactors) -> Self:
        """Take over parameters learned elsewhere, for instance read from a file."""
        self.fitted_ = fitted
        return self

    def predict(self, users: Any, items: Any = None, *, unknown: Unknown = "average") -> Any:
        """Return predictions on the probability scale for aligned raw ids, or for each entry of Observations.

        `unknown` says what to do with ids that had no observations at `fit`: "average" (with a warning of those that
        the model has never heard of), "ignore" (the same without it) or "error".
        """
        check_is_fitted(self)
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        result = self.fitted_.at_rows(*rows)
        return float(result[0]) if single else result

    def evaluate(self, observations: Observations, *, unknown: Unknown = "average") -> dict[str, float]:
        """Compare predictions with observations; the keys of `KolmogorovModel.evaluate`."""
        check_is_fitted(self)
        test = check_evaluable(observations).rescaled(self.fitted_.scale)
        predictions = self.predict(test, unknown=unknown)
        return metrics.evaluate(test.values, predictions, test.weights, test.scale.span, test.is_binary)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, ids included, to be read by `kolmogorov.load`."""
        from kolmogorov.surface.saving import save

        check_is_fitted(self)
        save(self, path)


def check_observations(model: str, X: Any) -> Observations:
    """Accept Observations, sparse matrices and dense tables (whose users and items are numbered) to learn from."""
    if isinstance(X, (str, os.PathLike)):
        raise DataError(f"{model}: expected a table, got the text {str(X)!r}. Read files with kolmogorov.read_ratings.")
    if isinstance(X, Observations):
        observations = X
    else:
        observations = Observations.from_scipy(X) if hasattr(X, "tocoo") else Observations.from_dense(X)
    check_trainable(observations)
    return observations


def _with_zero(factors: Floats) -> Floats:
    return np.vstack([factors, np.zeros(factors.shape[1])])
