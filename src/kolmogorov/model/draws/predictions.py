"""Predictions with their uncertainty, of known users and items and of such as are introduced by attributes."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Between, Integer, OneOf, check_parameters
from kolmogorov.data.table.observations import Observations
from kolmogorov.fitted.intervals import coverage, probability_interval, rating_interval
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.model.diagnostics import agreement, by_chain, for_arviz
from kolmogorov.model.event_model import EventModel
from kolmogorov.surface.ids import Unknown, pair_rows
from kolmogorov.surface.recommender import Output


class DrawnPredictions(EventModel):
    """Adds to models that are draws what their spread says."""

    fitted_: Posterior

    def predict(
        self,
        users: Any,
        items: Any = None,
        *,
        output: Output = "probability",
        return_std: bool = False,
        unknown: Unknown = "average",
    ) -> Any:
        """Return probabilities, or ratings: the mean over draws.

        Parameters
        ----------
        users, items, output, unknown
            As in `KolmogorovModel.predict`. Where both are given, a data frame in the place of ids introduces users or
            items by their attributes, one for each of its rows: see `introduce`.
        return_std : bool
            Also return the standard deviation over draws, in the same units.
        """
        if not return_std:
            return super().predict(users, items, output=output, unknown=unknown)
        check_parameters("predict", {"output": output}, {"output": OneOf(("probability", "rating"))})
        model, users, items = self._met(users, items)
        rows, single = pair_rows(model.fitted_, users, items, unknown)
        mean, deviation = model.fitted_.moments(*rows)
        mean = self._in_units(mean, output)
        deviation = deviation * (self.scale_.span if output == "rating" else 1.0)
        return (float(mean[0]), float(deviation[0])) if single else (mean, deviation)

    def predict_interval(
        self,
        users: Any,
        items: Any = None,
        *,
        level: float = 0.9,
        of: Literal["rating", "probability"] = "rating",
        unknown: Unknown = "average",
    ) -> tuple[Any, Any]:
        """Return (low, high), which hold a new rating or the probability with the given probability.

        Parameters
        ----------
        users, items, unknown
            As in `predict`.
        level : float
        of : {"rating", "probability"}
            "rating": of a new rating, noise included, in rating units; with the yes/no likelihood its ends are 0 or 1.
            "probability": of the probability alone. For an unknown user or item both include how much users and items
            differ.
        """
        check_parameters(
            "predict_interval",
            {"level": level, "of": of},
            {"level": Between(0.0, 1.0), "of": OneOf(("rating", "probability"))},
        )
        model, users, items = self._met(users, items)
        rows, single = pair_rows(model.fitted_, users, items, unknown)
        interval = probability_interval if of == "probability" else rating_interval
        low, high = interval(model.fitted_, *rows, float(level))
        return (float(low[0]), float(high[0])) if single else (low, high)

    def evaluate(
        self, observations: Observations, *, ranking: bool = False, unknown: Unknown = "average", **lists: Any
    ) -> dict[str, float]:
        """Compare predictions with observations, and count how many ratings the 90% interval holds.

        Returns
        -------
        dict
            The scores of `KolmogorovModel.evaluate`, and `coverage_90`; with `ranking` the scores of lists alone.
        """
        scores = super().evaluate(observations, ranking=ranking, unknown=unknown, **lists)
        if ranking:
            return scores
        test = observations.rescaled(self.scale_)
        rows, _ = pair_rows(self.fitted_, test, None, "ignore")
        return scores | {"coverage_90": coverage(self.fitted_, *rows, test.values, test.weights)}

    def diagnostics(self, observations: Observations, max_entries: int = 1000) -> dict[str, dict[str, Floats]]:
        """Return split R-hat and effective sample size of predictions for some entries, of the priors and the noise.

        Priors that are fixed after burn-in do not vary within a chain, and have neither; they are left out.

        Parameters
        ----------
        observations : Observations
            Best held-out ones; the first `max_entries` are looked at.
        """
        check_is_fitted(self)
        check_parameters("diagnostics", {"max_entries": max_entries}, {"max_entries": Integer(1)})
        return agreement(by_chain(self.fitted_, observations, max_entries))

    def to_arviz(self, observations: Observations, max_entries: int = 1000) -> Any:
        """Return draws, answers and their log likelihood for ArviZ (extra `arviz`): from its version 1 a DataTree.

        Its groups are `posterior`, `posterior_predictive`, `log_likelihood`, `observed_data` and `constant_data`, which
        says how many answers of each user and item were learned from. Entries have the coordinates `of_user` and
        `of_item`, to select and to group by.

        Parameters
        ----------
        observations : Observations
            Best held-out ones; the first `max_entries` are looked at.
        """
        check_is_fitted(self)
        return for_arviz(self.fitted_, observations, max_entries)
