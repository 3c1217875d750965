"""Errors on the probability scale, in rating units, and for yes/no data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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

    def mean(x: Floats) -> float:
        return float(np.average(x, weights=weights))

    rmse = float(np.sqrt(mean((values - predictions) ** 2)))
    mae = mean(np.abs(values - predictions))
    scores = {"rmse": rmse, "mae": mae, "rmse_rating": rmse * span, "mae_rating": mae * span}
    if binary:
        tiny = np.finfo(np.float64).eps
        safe = np.clip(predictions, tiny, 1.0 - tiny)
        scores["accuracy"] = mean(((predictions >= 0.5) == (values == 1.0)).astype(np.float64))
        scores["log_loss"] = -mean(values * np.log(safe) + (1.0 - values) * np.log1p(-safe))
        scores["brier"] = rmse**2
    return scores
