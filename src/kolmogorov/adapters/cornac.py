"""`CornacRecommender`: any model as a recommender of Cornac, for its experiments.

The class derives from one of Cornac's and is made when it is first asked for, so that this module can be imported
without Cornac.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from kolmogorov._support.optional import require_package
from kolmogorov._support.typing import Floats
from kolmogorov.adapters.making import made_when_asked
from kolmogorov.data import Observations
from kolmogorov.surface.recommender import Recommender


def fitted_to(model: Recommender, train_set: Any) -> Recommender:
    """Return a copy of a model, fitted to a data set of Cornac, whose numbers of users and items are the ids."""
    users, items, ratings = train_set.uir_tuple
    low, high = min(0.0, float(train_set.min_rating)), float(train_set.max_rating)
    fitted: Recommender = clone(model).fit(Observations.from_arrays(users, items, ratings, minimum=low, maximum=high))
    return fitted


def scores_of(model: Recommender, user: int, n_items: int) -> Floats:
    """Return what a model predicts for one user, in rating units, for items from 0 on."""
    everything = np.arange(n_items)
    found: Floats = model.predict(np.full(n_items, user), everything, output="rating", unknown="ignore")
    return found


def _made() -> type:
    """Derive the class from Cornac's."""
    theirs = require_package("cornac.models", package="cornac", purpose="CornacRecommender").Recommender
    unknown = require_package("cornac.exception", package="cornac", purpose="CornacRecommender").ScoreException

    class CornacRecommender(theirs):  # type: ignore[misc, valid-type]
        """A model of kolmogorov in Cornac: `fit`, `score`, `rate`, `rank` and `recommend` as Cornac has them.

        Parameters
        ----------
        model : KolmogorovModel, BayesianKolmogorovModel, ListModel or a baseline
            Copies of it are fitted, as often as an experiment asks.
        name : str, optional
            What tables of results call it; by default the name of its class.
        """

        def __init__(self, model: Recommender, name: str | None = None) -> None:
            super().__init__(name=name or type(model).__name__)
            self.model = model

        def fit(self, train_set: Any, val_set: Any = None) -> Any:
            """Fit a copy of the model; a validation set is not looked at."""
            super().fit(train_set, val_set)
            self.fitted = fitted_to(self.model, train_set)
            return self

        def score(self, user_idx: int, item_idx: int | None = None) -> Any:
            """Return what the model predicts for a user and an item, or for a user and all items that it knows."""
            if self.is_unknown_user(user_idx) or (item_idx is not None and self.is_unknown_item(item_idx)):
                raise unknown(f"User {user_idx} or item {item_idx} is not in the training data.")
            if item_idx is None:
                return scores_of(self.fitted, user_idx, self.num_items)
            return float(self.fitted.predict([user_idx], [item_idx], output="rating")[0])

    return CornacRecommender


__getattr__ = made_when_asked(globals(), "CornacRecommender", _made)
