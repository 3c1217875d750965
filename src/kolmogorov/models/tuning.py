"""`tune`: a model's parameters by cross-validation over entries, from a grid."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from kolmogorov._support.display import card, says_stop, table, warn
from kolmogorov._support.outside import to_frame
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.validation import NONE, POSITIVE, check_parameters, integer, suggestion
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


@dataclass(frozen=True, repr=False)
class Tuning:
    """What a search found.

    Attributes
    ----------
    settings : list of dict
        What was tried, best first.
    scores : float64[n_settings, n_folds]
        Of each setting on every fold: errors on the probability scale, or the nDCG of lists.
    measure : {"rmse", "ndcg"}
    guesses : dict
        The mean score of simple guesses on the same folds, by their names.
    model : estimator or None
        The best setting fitted to all the data, unless that was not wanted.
    """

    settings: list[dict[str, Any]]
    scores: Any
    measure: str
    guesses: dict[str, float]
    model: Any

    @property
    def best(self) -> dict[str, Any]:
        """The setting with the smallest mean error, or the largest mean nDCG."""
        return self.settings[0]

    @property
    def score(self) -> float:
        """Its mean over the folds."""
        return float(self.scores[0].mean())

    def columns(self) -> dict[str, list[Any]]:
        """Return the settings, the means of their scores, and their standard deviations over the folds, best first."""
        columns = {name: [setting[name] for setting in self.settings] for name in self.best}
        spread = self.scores.std(axis=1, ddof=1).tolist()
        return columns | {self.measure: self.scores.mean(axis=1).tolist(), "spread": spread}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per setting, best first."""
        return to_frame(self.columns(), backend)

    def __repr__(self) -> str:
        return f"<tuning of {len(self.settings):,} settings; best: {self.best} ({self.measure} {self.score:.4f})>"

    def _repr_html_(self) -> str:
        return card(f"{len(self.settings):,} settings, best first", table(self.columns()))


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
    callback: Callable[[dict[str, Any], float, int, int], Any] | None = None,
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
        Called with each setting as it is known, its mean score, its number from 1, and the number of all; returning
        True ends the search, and the best so far wins.
    **grid : number or sequence of numbers
        The values to try of each parameter. By default `n_events`; `user_reg` besides for models learned from ratings,
        as those are that no `model` is given of but a ridge; both by the size of the table; and `unobserved` where it
        is not 0. Give one value to fix a parameter.

    Examples
    --------
    >>> import kolmogorov as km
    >>> found = km.tune(km.datasets.load("zoo"), n_events=(1, 4), user_reg=(0.3, 30.0))
    >>> found.best, found.score < found.guesses["user and item biases"]
    ({'n_events': 4, 'user_reg': 0.3}, True)
    """
    if not isinstance(observations, Observations):
        raise DataError(f"tune takes Observations, got {type(observations).__name__}.")
    rules = {"max_seconds": POSITIVE | NONE, "k": integer(1)}
    check_parameters("tune", {"max_seconds": max_seconds, "k": k}, rules)
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
    by_lists = only_yes if ranking is None else ranking
    measure, sign = ("ndcg", -1.0) if by_lists else ("rmse", 1.0)

    def score(setting: dict[str, Any], train: Observations, test: Observations) -> float:
        fitted = clone(base).set_params(**setting).fit(train)
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt
        return float(fitted.evaluate(test, ranking=by_lists, k=k, unknown="ignore")[measure])

    tried: list[list[float]] = []
    try:
        for setting in settings:
            tried.append([score(setting, *part) for part in parts])
            mean = float(np.mean(tried[-1]))
            told = callback is not None and callback(setting, mean, len(tried), len(settings))
            if says_stop(told) or time.monotonic() > ends:
                break
    except KeyboardInterrupt:
        if not tried:
            raise
        done = f"{len(tried)} of {len(settings)} settings"
        warn(f"Interrupted after {done}; the best so far is taken.", ConvergenceWarning)
    scores = np.array(tried)
    order = np.argsort(sign * scores.mean(axis=1), kind="stable")
    ranked = [settings[place] for place in order]
    said = [{POPULARITY: popularity_scores(*part, k)} if by_lists else guess_scores(*part) for part in parts]
    guesses = {name: float(np.mean([found[name][measure] for found in said])) for name in said[0]}
    fitted = base.set_params(**ranked[0]).fit(observations) if refit else None
    return Tuning(ranked, scores[order], measure, guesses, fitted)


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
