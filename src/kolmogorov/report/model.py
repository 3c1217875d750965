"""The one model that the page shows and computes with; of draws, the one that stands for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Rows
from kolmogorov.fitted.point import Fitted
from kolmogorov.report.packing import as_text, bits, shares


def threshold_of(fitted: Fitted, likes: float) -> float:
    """Return what an item must be in an event, so that it is shown as happening there."""
    return 0.5 if fitted.training.is_binary else likes


def reading(fitted: Fitted, threshold: float) -> Fitted:
    """Return the model of "happens or not" that a fitted one holds."""
    return fitted if fitted.psi.dtype == bool else fitted.reaching(threshold)


def shown_model(fitted: Fitted, rows: Rows, unobserved: float) -> dict[str, Any]:
    """Describe a model by what the page needs to predict, and to place someone new.

    Parameters
    ----------
    fitted : Fitted
    rows : int64[n]
        The users that the page shows.
    unobserved : float
        What an entry that was not observed weighs, as a no.

    Returns
    -------
    dict
        The psis of all items, the thetas of the users shown and of the population. Someone new is at the smallest
        x.Qx - 2 w.x: `gram` and `moment` are what Q and w begin with, the pull and all items as a no; what is known of
        an item adds to Q with `weight`.
    """
    psi, pull = fitted.psi.astype(np.float64), fitted.user_pull
    return _items(fitted) | {
        "theta": shares(fitted.theta[rows]),
        "population": fitted.population.tolist(),
        "centre": pull.centre.tolist(),
        "gram": (pull.strength + unobserved * (psi.T @ psi)).tolist(),
        "moment": (pull.strength @ pull.centre).tolist(),
        "weight": 1.0 - unobserved,
    }


def _items(fitted: Fitted) -> dict[str, Any]:
    """Return psi as text, and how it is to be read: as bits, or as numbers.

    Nothing is rounded: what the page expects of someone new is what `recommend` says.
    """
    if fitted.psi.dtype == bool:
        return {"kind": "bits", "psi": bits(fitted.psi)}
    return {"kind": "chances", "psi": as_text(fitted.psi.astype(np.float64))}
