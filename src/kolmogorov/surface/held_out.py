"""Which observations a model has not been trained on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Observations
from kolmogorov.fitted.base import Trained, entry_rows


def trained_on(fitted: Trained, observations: Observations) -> NDArray[np.bool_]:
    """Tell of every observation whether the model was fitted to its (user, item) pair."""
    users, items = entry_rows(fitted.training, observations)
    known = (users >= 0) & (items >= 0)
    size = len(fitted.items)
    trained = fitted.training.user_rows().astype(np.int64) * size + fitted.training.item_rows()
    found: NDArray[np.bool_] = known & np.isin(users * size + items, trained)
    return found


def held_out(fitted: Trained, observations: Observations) -> Observations:
    """Return the observations of (user, item) pairs that the model was not fitted to."""
    return observations.subset(~trained_on(fitted, observations))
