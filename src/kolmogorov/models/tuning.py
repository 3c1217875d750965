"""`tune`: a model's parameters by cross-validation over entries, from a grid."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from kolmogorov._support.markup import card, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.progress import says_stop, warn
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.validation import NONE, POSITIVE, Requirement, check_parameters, integer, suggestion
from kolmogorov.data import Observations
from kolmogorov.data.observations import check_trainable
from kolmogorov.descent.problem import usual_weight
from kolmogorov.errors import ConvergenceWarning, DataError, ParameterError
from kolmogorov.models.base import Recommender
from kolmogorov.models.kolmogorov import KolmogorovModel
from kolmogorov.models.metrics import POPULARITY, guess_scores, popularity_scores

#: Numbers of events for tables with at most so many entries; these grids are by judgement.
_EVENTS = ((2_000, (2, 4, 8)), (300_000, (4, 8, 16)), (float("inf"), (8, 16, 24)))
#: Ridges on theta, and the users with fewer entries than this, on average, of whom no fit can do without one.
_RIDGES, _SPARSE = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0), 10
#: Weights of unobserved entries, as multiples of the usual one.
_WEIGHTS = (0.3, 1.0, 3.0)
#: What says that the model is to learn from ratings: draws learn how much to shrink.
OF_RATINGS = ("user_reg", "item_reg", "prior")
_RULES: dict[str, Requirement] = {"max_seconds": POSITIVE | NONE, "k": integer(1)}


@dataclass(frozen=True)
class Trial:
    """One setting and its scores on the folds.

    Attributes
    ----------
    parameters : mapping
    scores : tuple of float
        One for each fold: errors on the probability scale, or the nDCG of lists.
    measure : {"rmse", "ndcg"}
    """

    parameters: Mapping[str, Any]
    scores: tuple[float, ...]
    measure: str = "rmse"

    @property
    def score(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def spread(self) -> float:
        """Standard deviation over the folds."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0


@dataclass(frozen=True, repr=False)
class Tuning:
    """What a search found.

    Attributes
    ----------
    trials : tuple of Trial
        All of them, best first.
    model : estimator or None
        The best setting fitted to all the data, unless that was not wanted.
    guesses : mapping
        The same score of simple guesses on the same folds, by their names.
    """

    trials: tuple[Trial, ...]
    model: Any
    guesses: Mapping[str, float]

    @property
    def best(self) -> Trial:
        """The setting with the smallest mean error, or the largest mean nDCG."""
        return self.trials[0]

    def columns(self) -> dict[str, list[Any]]:
        """Return the settings and their scores, best first, as columns."""
        columns = {name: [trial.parameters[name] for trial in self.trials] for name in self.best.parameters}
        columns[self.best.measure] = [trial.score for trial in self.trials]
        return columns | {"spread": [trial.spread for trial in self.trials]}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per setting, best first."""
        return to_frame(self.columns(), backend)

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={value!r}" for name, value in self.best.parameters.items())
        score = f"{self.best.measure} {self.best.score:.4f} ± {self.best.spread:.4f}"
        return f"<tuning of {len(self.trials):,} settings; best: {best} ({score})>"

    def _repr_html_(self) -> str:
        return card(f"{len(self.trials):,} settings, best first", table(self.columns()))


def tune(
    observations: Observations,
    *,
    model: Recommender | None = None,
    folds: int = 3,
    random_state: Any = 0,
    refit: bool = True,
    max_seconds: float | None = None,
    ranking: bool | None = None,
    k: int = 10,
    callback: Callable[[Trial, int, int], Any] | None = None,
    **grid: Any,
) -> Tuning:
    """Choose a model's parameters by cross-validation over entries: every setting of a grid on every fold.

    Parameters
    ----------
    observations : Observations
    model : estimator, optional
        What to tune; its other parameters are kept. A plain `KolmogorovModel` by default.
    folds : int
    random_state : int
        Of the folds and of the fits.
    refit : bool
        Fit the best setting to all observations.
    max_seconds : float, optional
        After this time no further setting is tried, and the best so far wins. Ctrl-C does the same.
    ranking : bool, optional
        Compare the nDCG of lists of k items instead of errors. By default where the model counts unobserved entries,
        of whose errors nothing is known.
    k : int
        Length of the lists.
    callback : callable, optional
        Called with each `Trial` as it is known, its number from 1, and the number of all; returning True ends the
        search, and the best trial so far wins.
    **grid : number or sequence of numbers
        The values to try of each parameter. By default `n_events`; `user_reg` besides for models learned from ratings,
        as those are that no `model` is given of but a ridge; both by the size of the table; and `unobserved` where it
        is not 0. Give one value to fix a parameter.

    Examples
    --------
    >>> import kolmogorov as km
    >>> found = km.tune(km.datasets.load("zoo"), n_events=(1, 4), user_reg=(0.3, 30.0))
    >>> found.best.parameters, found.best.score < found.guesses["user and item biases"]
    ({'n_events': 4, 'user_reg': 0.3}, True)
    """
    if not isinstance(observations, Observations):
        raise DataError(f"tune takes Observations, got {type(observations).__name__}.")
    check_parameters("tune", {"max_seconds": max_seconds, "k": k}, _RULES)
    ends = time.monotonic() + (math.inf if max_seconds is None else max_seconds)
    if model is not None and not isinstance(model, Recommender):
        raise ParameterError(f"'model' must be a model of kolmogorov, got {type(model).__name__}.")
    base = KolmogorovModel() if model is None else clone(model)
    if model is None and any(name in grid for name in OF_RATINGS):
        base.set_params(learn_from="ratings")
    seed = base_seed(random_state)
    base.set_params(random_state=seed)
    settings = _settings(base, grid, observations)
    only_yes = any(setting.get("unobserved", getattr(base, "unobserved", 0.0)) != 0.0 for setting in settings)
    check_trainable(observations, only_yes=only_yes)
    parts = list(observations.folds(folds, random_state=seed))
    for number, (train, _) in enumerate(parts, start=1):
        try:
            check_trainable(train, only_yes=only_yes)
        except DataError as error:
            raise DataError(f"Without fold {number} of {folds} there is too little to learn from. {error}") from None
    length = k if (only_yes if ranking is None else ranking) else None
    trials: list[Trial] = []
    try:
        for setting in settings:
            fits = (_score(clone(base).set_params(**setting), *part, length) for part in parts)
            trials.append(Trial(setting, tuple(fits), "rmse" if length is None else "ndcg"))
            told = callback is not None and callback(trials[-1], len(trials), len(settings))
            if says_stop(told) or time.monotonic() > ends:
                break
    except KeyboardInterrupt:
        if not trials:
            raise
        done = f"{len(trials)} of {len(settings)} trials"
        warn(f"Interrupted after {done}; the best so far is taken.", ConvergenceWarning)
    trials.sort(key=lambda trial: trial.score if length is None else -trial.score)
    fitted = base.set_params(**trials[0].parameters).fit(observations) if refit else None
    return Tuning(tuple(trials), fitted, _guesses(parts, length))


def _score(model: Any, train: Observations, test: Observations, k: int | None) -> float:
    """Return the error of a model fitted to one part of a table on the other, or with `k` the nDCG of its lists."""
    model.fit(train)
    if getattr(model, "interrupted_", False):
        raise KeyboardInterrupt
    if k is None:
        return float(model.evaluate(test, ranking=False, unknown="ignore")["rmse"])
    return float(model.evaluate(test, ranking=True, k=k, unknown="ignore")["ndcg"])


def _guesses(parts: list[tuple[Observations, Observations]], k: int | None) -> dict[str, float]:
    """Return the mean score of simple guesses over all folds."""
    if k is not None:
        return {POPULARITY: float(np.mean([popularity_scores(train, test, k)["ndcg"] for train, test in parts]))}
    found = [guess_scores(train, test) for train, test in parts]
    return {name: float(np.mean([scores[name]["rmse"] for scores in found])) for name in found[0]}


def _settings(model: Any, grid: dict[str, Any], table: Observations) -> list[dict[str, Any]]:
    """Return every combination of what is tried of each parameter."""
    known = model.get_params(deep=False)
    for name in grid:
        if name not in known:
            raise ParameterError(f"{type(model).__name__} has no parameter {name!r} to tune.{suggestion(name, known)}")
    values: dict[str, Any] = {"n_events": next(events for most, events in _EVENTS if len(table) <= most)}
    if known.get("learn_from") == "ratings":
        sparse = len(table) < _SPARSE * table.n_users
        values["user_reg"] = [ridge for ridge in _RIDGES if ridge >= 1.0 or not sparse]
    if isinstance(model, KolmogorovModel) and model.unobserved:
        usual = usual_weight(len(table), table.n_users * table.n_items)
        values["unobserved"] = dict.fromkeys(min(1.0, times * usual) for times in _WEIGHTS)
    for name, tried in {**values, **grid}.items():
        values[name] = list(tried) if isinstance(tried, Iterable) and not isinstance(tried, str) else [tried]
        if not values[name]:
            raise ParameterError(f"Every part of the grid needs at least one value; {name!r} has none.")
    return [dict(zip(values, setting, strict=True)) for setting in product(*values.values())]
