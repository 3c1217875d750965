"""Errors on the probability scale, in rating units, and for yes/no data."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError


def evaluate(
    values: Floats, predictions: Floats, weights: Floats | None, span: float, binary: bool = False
) -> dict[str, float]:
    """Compare probabilities with observed values in [0, 1].

    Parameters
    ----------
    values, predictions : float64[n]
    weights : float64[n] or None
    span : float
        Rating units per unit of probability.
    binary : bool
        Whether every value is 0 or 1.

    Returns
    -------
    dict
        `rmse`, `mae`, `rmse_rating`, `mae_rating`; for binary values also `accuracy` (probabilities
        of at least 1/2 say yes), `log_loss` (probabilities clipped by the machine epsilon, as scikit-learn
        does) and `brier`.

    Examples
    --------
    >>> evaluate(np.array([1.0, 0.0]), np.array([0.5, 0.0]), None, 5.0)["mae_rating"]
    1.25
    """
    scores = Scores(span, binary)
    scores.add(values, predictions, weights)
    return scores.result()


class Scores:
    """Errors summed block by block, for tables whose predictions need not all be in memory.

    Parameters
    ----------
    span, binary
        As in `evaluate`.
    """

    def __init__(self, span: float, binary: bool) -> None:
        self._span = span
        self._binary = binary
        self._mass = 0.0
        self._sums: dict[str, float] = {}

    def add(self, values: Floats, predictions: Floats, weights: Floats | None) -> None:
        """Take in some more entries."""
        errors = {"square": (values - predictions) ** 2, "absolute": np.abs(values - predictions)}
        if self._binary:
            tiny = np.finfo(np.float64).eps
            safe = np.clip(predictions, tiny, 1.0 - tiny)
            errors["right"] = ((predictions >= 0.5) == (values == 1.0)).astype(np.float64)
            errors["surprise"] = -(values * np.log(safe) + (1.0 - values) * np.log1p(-safe))
        self._mass += float(values.size if weights is None else weights.sum())
        for name, error in errors.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(error.sum() if weights is None else weights @ error)

    def result(self) -> dict[str, float]:
        """Return the scores of everything taken in."""
        if not self._mass:
            raise DataError("There are no observations to compare predictions with.")
        mean = {name: total / self._mass for name, total in self._sums.items()}
        rmse, mae = float(np.sqrt(mean["square"])), mean["absolute"]
        scores = {"rmse": rmse, "mae": mae, "rmse_rating": rmse * self._span, "mae_rating": mae * self._span}
        if self._binary:
            scores |= {"accuracy": mean["right"], "log_loss": mean["surprise"], "brier": mean["square"]}
        return scores
