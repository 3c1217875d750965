"""Which observations a model has not been trained on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Observations
from kolmogorov.fitted.base import Trained


def held_out(fitted: Trained, observations: Observations) -> Observations:
    """Return the observations of (user, item) pairs that the model was not fitted to."""
    return observations.subset(~_trained(fitted, observations))


def _trained(fitted: Trained, observations: Observations) -> NDArray[np.bool_]:
    users = fitted.users.translate(observations.users)[observations.user_rows()]
    items = fitted.items.translate(observations.items)[observations.item_rows()]
    known = (users >= 0) & (items >= 0)
    size = len(fitted.items)
    trained = fitted.training.user_rows().astype(np.int64) * size + fitted.training.item_rows()
    mask = np.zeros(len(observations), dtype=bool)
    mask[known] = np.isin(users[known] * size + items[known], trained)
    return mask
