"""Predictions at known times, of draws whose users have moods."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kolmogorov import metrics
from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Between, Boolean, OneOf, check_parameters
from kolmogorov.data.numbers.moments import Moments, moments_of
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError
from kolmogorov.fitted.moods.telling import Asked, timed_answers, training_times
from kolmogorov.model.draws.predictions import DrawnPredictions
from kolmogorov.surface.ids import Unknown, pair_rows
from kolmogorov.surface.recommender import Output
from kolmogorov.surface.tables import check_evaluable

# Answers come through divisions.
_NEAR = 1e-9


class TimedPredictions(DrawnPredictions):
    """Adds times to what is predicted; where there are none, or no moods, everything is as it was."""

    @property
    def mood_half_life_(self) -> float:
        """How long it takes until half of a mood is left, in the unit of the times: the median over draws."""
        return float(np.median(self._moods("half_life")))

    @property
    def mood_deviation_(self) -> float:
        """How large moods are, in rating units: their standard deviation, the mean over draws."""
        return float(self._moods("mood").mean() * self.scale_.span)

    def _moods(self, name: str) -> Floats:
        check_is_fitted(self)
        if not self.fitted_.has_moods:
            raise DataError("This model knows no moods. Fit it with time='mood' to ratings with times.")
        return self.fitted_.priors[name]

    def predict(
        self,
        users: Any,
        items: Any = None,
        *,
        times: Any = None,
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
        times : float, date, or array-like of either, optional
            When, in the unit of the training data, one for each pair or one for all: of a model with ``time="mood"``.
            Dates are for training data whose times were dates. Observations bring their own. Without them the answer is
            that of a user in no particular mood.
        return_std : bool
            Also return the standard deviation over draws, in the same units.
        """
        model, users, items = self._met(users, items)
        asked, single = model._timed(users, items, times, unknown)
        if asked is None:
            return super(TimedPredictions, model).predict(
                users, items, output=output, return_std=return_std, unknown=unknown
            )
        check_parameters("predict", {"output": output}, {"output": OneOf(("probability", "rating"))})
        mean, deviation = np.empty(asked.times.size), np.empty(asked.times.size)
        for part, answers in timed_answers(model.fitted_, asked):
            mean[part], deviation[part] = answers.mean, answers.deviation
        mean = self._in_units(mean, output)
        if not return_std:
            return float(mean[0]) if single else mean
        deviation *= self.scale_.span if output == "rating" else 1.0
        return (float(mean[0]), float(deviation[0])) if single else (mean, deviation)

    def predict_interval(
        self,
        users: Any,
        items: Any = None,
        *,
        times: Any = None,
        level: float = 0.9,
        of: Literal["rating", "probability"] = "rating",
        unknown: Unknown = "average",
    ) -> tuple[Any, Any]:
        """Return (low, high), which hold a new rating or the probability with the given probability.

        Parameters
        ----------
        users, items, times, unknown
            As in `predict`.
        level : float
        of : {"rating", "probability"}
            "rating": of a new rating, noise included, in rating units; with the yes/no likelihood its ends are 0 or 1.
            "probability": of the probability alone. For an unknown user or item both include how much users and items
            differ.
        """
        model, users, items = self._met(users, items)
        asked, single = model._timed(users, items, times, unknown)
        if asked is None:
            return super(TimedPredictions, model).predict_interval(users, items, level=level, of=of, unknown=unknown)
        given = {"level": level, "of": of}
        rules = {"level": Between(0.0, 1.0), "of": OneOf(("rating", "probability"))}
        check_parameters("predict_interval", given, rules)
        ends = np.empty((2, asked.times.size))
        for part, answers in timed_answers(model.fitted_, asked):
            ends[:, part] = answers.interval(float(level), noisy=of == "rating")
        low, high = self._in_units(ends, "rating" if of == "rating" else "probability")
        return (float(low[0]), float(high[0])) if single else (low, high)

    def predict_distribution(
        self, users: Any, items: Any = None, *, times: Any = None, as_frame: bool = False, unknown: Unknown = "average"
    ) -> Any:
        """Return the probability of each rating for pairs of ids, as `KolmogorovModel.predict_distribution` does.

        Parameters
        ----------
        users, items, as_frame, unknown
            As there.
        times
            As in `predict`.
        """
        model, users, items = self._met(users, items)
        asked, single = model._timed(users, items, times, unknown)
        if asked is None:
            return super(TimedPredictions, model).predict_distribution(users, items, as_frame=as_frame, unknown=unknown)
        check_parameters("predict_distribution", {"as_frame": as_frame}, {"as_frame": Boolean()})
        found = np.empty((asked.times.size, self.fitted_.points.size))
        for part, answers in timed_answers(model.fitted_, asked):
            found[part] = answers.distribution(self.fitted_.points)
        if as_frame:
            return to_frame({f"{value:g}": found[:, k] for k, value in enumerate(self.rating_values_)})
        return found[0] if single else found

    def evaluate(
        self, observations: Observations, *, ranking: bool = False, unknown: Unknown = "average", **lists: Any
    ) -> dict[str, float]:
        """Compare predictions with observations, and count how many ratings the 90% interval holds.

        A model with ``time="mood"`` uses the times of the observations, if they have any.

        Returns
        -------
        dict
            The scores of `KolmogorovModel.evaluate`, and `coverage_90`; with `ranking` the scores of lists alone.
        """
        check_is_fitted(self)
        known = self.fitted_.has_moods and not ranking and check_evaluable(observations).times is not None
        if not known or lists:
            return super().evaluate(observations, ranking=ranking, unknown=unknown, **lists)
        test = observations.rescaled(self.scale_)
        asked, _ = self._timed(test, None, None, unknown)
        scores = metrics.Scores(test.scale.span, test.is_binary)
        wholes = metrics.DistributionScores(self.fitted_.points)
        held = np.empty(len(test))
        for part, answers in timed_answers(self.fitted_, asked) if asked is not None else ():
            values, weights = test.values[part], None if test.weights is None else test.weights[part]
            scores.add(values, answers.mean, weights)
            wholes.add(values, answers.distribution(self.fitted_.points), weights)
            low, high = answers.interval(0.9, noisy=True)
            held[part] = (values >= low - _NEAR) & (values <= high + _NEAR)
        return scores.result() | wholes.result() | {"coverage_90": float(np.average(held, weights=test.weights))}

    def _timed(self, users: Any, items: Any, times: Any, unknown: Unknown) -> tuple[Asked | None, bool]:
        """Return what is asked, and whether of a single pair; None where no time is given or needed."""
        check_is_fitted(self)
        if isinstance(users, Observations) and items is None:
            users = users if times is None else users.with_times(times)
            when = None if users.times is None else Moments(users.times, users.dated)
        else:
            when = None if times is None else _moments(times)
        if when is None or (times is None and not self.fitted_.has_moods):
            return None, False
        self._moods("mood")
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        return Asked(*rows, _aligned(when, rows[0].size, self.fitted_.training)), single


def _moments(times: Any) -> Moments:
    try:
        return moments_of(times)
    except (TypeError, ValueError):
        raise DataError(f"'times' must be numbers, or dates, got {type(times).__name__}.") from None


def _aligned(times: Moments, n: int, training: Observations) -> Floats:
    """Return times as numbers in the unit of the training data, one for each of the pairs."""
    when = times.seconds
    if when.shape not in ((), (n,)) or not np.isfinite(when).all():
        raise DataError(
            f"'times' must be one finite number or one date, or one for each of the {n} pairs, got {when.shape}."
        )
    if times.dated and not training.dated:
        raise DataError(
            "'times' must be numbers in the unit of the training data, such as "
            f"{training_times(training).max():g}, got dates. Fit the model to ratings whose times are dates, or give "
            "numbers."
        )
    return np.ascontiguousarray(np.broadcast_to(when, (n,)))
