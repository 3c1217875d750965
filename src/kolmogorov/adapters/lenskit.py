"""`LensKitScorer`: any model as a component that scores items, for pipelines of LensKit.

The class derives from one of LensKit's and is made when it is first asked for, so that this module can be imported
without LensKit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import kolmogorov
from kolmogorov._support.optional import require_package
from kolmogorov._support.typing import Floats
from kolmogorov.adapters.making import made_when_asked
from kolmogorov.data import Observations
from kolmogorov.surface.recommender import Recommender

_PURPOSE = "LensKitScorer"


@dataclass
class ScorerConfig:
    """What a pipeline says of a scorer: which model, and with which parameters."""

    model: Literal["KolmogorovModel", "BayesianKolmogorovModel", "ListModel"] = "KolmogorovModel"
    parameters: dict[str, Any] = field(default_factory=dict)


def fitted_to(config: ScorerConfig, data: Any, seed: int) -> Recommender:
    """Return a model fitted to a data set of LensKit: its ratings, or where it has none that there was something."""
    columns = data.interaction_table(format="pandas", original_ids=True)
    parameters = {"random_state": seed} | config.parameters
    model: Recommender = getattr(kolmogorov, config.model)(**parameters)
    ratings = columns["rating"] if "rating" in columns else np.ones(len(columns))
    table = Observations.from_arrays(columns["user_id"].to_numpy(), columns["item_id"].to_numpy(), np.asarray(ratings))
    fitted: Recommender = model.fit(table)  # type: ignore[attr-defined]
    return fitted


def scores_of(model: Recommender, user: Any, items: Any) -> Floats:
    """Return what a model predicts for one user, in rating units; NaN for an item, or a user, that it does not know."""
    scores = np.full(len(items), np.nan)
    known = np.asarray(model.items_.encode(items)) >= 0
    if user is not None and model.users_.encode([user])[0] >= 0 and known.any():
        scores[known] = model.predict(np.repeat([user], known.sum()), np.asarray(items)[known], output="rating")
    return scores


def _made() -> type:
    """Derive the class from LensKit's."""
    component = require_package("lenskit.pipeline", package="lenskit", purpose=_PURPOSE).Component
    data = require_package("lenskit.data", package="lenskit", purpose=_PURPOSE)

    class LensKitScorer(component):  # type: ignore[misc, valid-type]
        """A model of kolmogorov in a pipeline of LensKit: it is trained with it, and gives scores to items.

        Parameters
        ----------
        model : {"KolmogorovModel", "BayesianKolmogorovModel", "ListModel"}
        parameters : dict
            Of the model; `random_state` comes from the training where it is not named.
        """

        config: ScorerConfig
        fitted: Any = None

        def is_trained(self) -> bool:
            """Whether there is a fitted model."""
            return self.fitted is not None

        def train(self, data: Any, options: Any) -> None:
            """Fit the model to a data set."""
            if self.fitted is None or options.retrain:
                seed = int(options.random_generator().integers(2**31))
                self.fitted = fitted_to(self.config, data, seed)

        def __call__(self, query, items):  # type: ignore[no-untyped-def]
            """Return the items with scores; users and items that the model does not know have none."""
            user = data.RecQuery.create(query).user_id
            return data.ItemList(items, scores=scores_of(self.fitted, user, items.ids()))

    # LensKit reads the types of what a component takes and gives, which only it knows.
    hints = {"query": data.QueryInput, "items": data.ItemList, "return": data.ItemList}
    LensKitScorer.__call__.__annotations__ = hints
    return LensKitScorer


__getattr__ = made_when_asked(globals(), "LensKitScorer", _made)
