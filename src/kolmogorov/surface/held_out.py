"""Which observations a model has not been trained on."""

from __future__ import annotations

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.fitted.base import Trained, entry_rows


def held_out(fitted: Trained, observations: Observations) -> Observations:
    """Return the observations of (user, item) pairs that the model was not fitted to."""
    users, items = entry_rows(fitted.training, observations)
    known = (users >= 0) & (items >= 0)
    size = len(fitted.items)
    trained = fitted.training.user_rows().astype(np.int64) * size + fitted.training.item_rows()
    return observations.subset(~(known & np.isin(users * size + items, trained)))
