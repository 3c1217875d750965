"""Models that consist of draws: what they can do beyond what every model can."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kolmogorov import metrics
from kolmogorov._support.optional import require
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Between, Integer, OneOf, check_parameters
from kolmogorov.data.entries.view import View
from kolmogorov.data.table.levels import CHANCES, Levels
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_any
from kolmogorov.errors import DataError
from kolmogorov.fitted.intervals import answer_interval, probability_interval
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.model.interpretation import DrawnInterpretation
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.sampling.new_rows import new_psis, new_thetas
from kolmogorov.surface.event_model import EventModel
from kolmogorov.surface.ids import Unknown, pair_rows
from kolmogorov.surface.recommender import Output, Rank


class DrawnModel(DrawnInterpretation, EventModel):
    """Base of estimators that end in a `Posterior`: spreads, intervals, diagnostics, and their average as one model."""

    fitted_: Posterior
    _has_draws = True
    _distilled: Fitted | None
    n_jobs: int | None

    @property
    def posterior_(self) -> Posterior:
        """The draws."""
        return self.fitted_

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
            As in `KolmogorovModel.predict`.
        return_std : bool
            Also return the standard deviation over draws, in the same units.
        """
        if not return_std:
            return super().predict(users, items, output=output, unknown=unknown)
        check_is_fitted(self)
        check_parameters("predict", {"output": output}, {"output": OneOf(("probability", "rating"))})
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        mean, deviation = self.fitted_.moments(*rows)
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
        check_is_fitted(self)
        check_parameters(
            "predict_interval",
            {"level": level, "of": of},
            {"level": Between(0.0, 1.0), "of": OneOf(("rating", "probability"))},
        )
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        ends: tuple[Any, Any]
        if of == "probability":
            ends = probability_interval(self.fitted_, *rows, float(level))
        else:
            low, high = answer_interval(self.fitted_, *rows, float(level))
            ends = self.scale_.rating(low), self.scale_.rating(high)
        return (float(ends[0][0]), float(ends[1][0])) if single else ends

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
        low, high = self.predict_interval(test, unknown="ignore")
        ratings = test.scale.rating(test.values)
        inside = (ratings >= low - 1e-9) & (ratings <= high + 1e-9)
        return scores | {"coverage_90": float(np.average(inside, weights=test.weights))}

    def as_model(
        self, n_events: int | Literal["auto"] = "auto", levels: Levels = 2, *, random_state: Any = 0
    ) -> KolmogorovModel:
        """Return one model that stands for the draws: what a `KolmogorovModel` learns from the table they complete.

        It is read, predicts, places new users and is saved as any other; `history_` says its distance from the average.

        Parameters
        ----------
        n_events, levels
            As in `KolmogorovModel`. Its predictions are near those of the draws: with 16 events and chances within
            about 1%, with two levels about 2%.
        random_state : int
            Of the starts from random events.
        """
        check_is_fitted(self)
        return self._standing(n_events, levels, random_state, keep_interrupted=True)

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
        chains = self._by_chain(observations, max_entries)
        if next(iter(chains.values())).shape[1] < 4:
            raise DataError("Diagnostics need at least 4 draws of each chain; raise n_samples.")
        return {
            name: {"rhat": metrics.split_rhat(draws), "ess": metrics.effective_size(draws)}
            for name, draws in chains.items()
            if not _fixed(draws)
        }

    def to_arviz(self, observations: Observations, max_entries: int = 1000) -> Any:
        """Return predictions and noise for ArviZ (extra `arviz`): InferenceData, or from its version 1 a DataTree."""
        check_is_fitted(self)
        arviz = require("arviz", extra="arviz", purpose="posterior plots")
        groups = {"posterior": self._by_chain(observations, max_entries)}
        # Version 1 takes groups in one dictionary, those before it by their names.
        by_name = "posterior" in signature(arviz.from_dict).parameters
        return arviz.from_dict(**groups) if by_name else arviz.from_dict(groups)

    # --- inside -----------------------------------------------------------------------------------------

    def _new_thetas(self, view: View) -> Floats:
        return new_thetas(self.fitted_, view, self.n_jobs)

    def _new_psis(self, view: View) -> NDArray[Any]:
        return new_psis(self.fitted_, view)

    @property
    def _n_columns(self) -> int:
        return self.fitted_.n_draws * self.fitted_.n_events

    def _standing(self, n_events: Any, levels: Levels, random_state: Any, *, keep_interrupted: bool) -> KolmogorovModel:
        unobserved = self.fitted_.unobserved
        model = KolmogorovModel(n_events, levels=levels, unobserved=unobserved, random_state=random_state)
        model.set_params(n_jobs=self.n_jobs)._check_parameters()
        return model._distil(self.fitted_, keep_interrupted)

    @property
    def _one_model(self) -> Fitted:
        """The one model that stands for the draws: as near to their average as few events with chances come."""
        if self._distilled is None:
            self._distilled = self._standing("auto", CHANCES, 0, keep_interrupted=False).fitted_
        return self._distilled

    def _adopt(self, fitted: Posterior) -> Self:
        self._distilled = None
        return super()._adopt(fitted)

    def _ranks_lower(self, rank: Rank) -> bool:
        return rank != "probability"

    def _by_chain(self, observations: Observations, max_entries: int) -> dict[str, Floats]:
        posterior = self.fitted_
        check_any(observations, "to look at")
        (users, items), _ = pair_rows(posterior, observations, None, "ignore")
        draws = posterior.draws(users[:max_entries], items[:max_entries]).T
        chains = {"prediction": draws.reshape(posterior.n_chains, -1, draws.shape[1])}
        chains |= {name: values.reshape(posterior.n_chains, -1, 1) for name, values in posterior.priors.items()}
        if posterior.likelihood == "gaussian":
            noise = posterior.noise[:, posterior.user_seen]
            chains["user_noise"] = np.sqrt(noise).reshape(posterior.n_chains, -1, noise.shape[1])
        return chains


def _fixed(draws: Floats) -> bool:
    """Tell whether nothing varies within any chain."""
    return bool(np.ptp(draws, axis=1).max() <= 1e-12 * np.abs(draws).max())
