"""`tune`: a model's parameters by cross-validation over entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.markup import card, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.validation import nearest
from kolmogorov._support.warn import warn
from kolmogorov.data import Observations
from kolmogorov.data.trainable import check_trainable
from kolmogorov.errors import ConvergenceWarning, DataError, ParameterError
from kolmogorov.fitting.state import Run, State
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.surface.recommender import Recommender

Grid = dict[str, list[Any]]
Parts = Sequence[tuple[Observations, Observations]]
#: Settings that a notebook shows.
_SHOWN = 10


@dataclass(frozen=True)
class Trial:
    """One setting and its errors on the folds, on the probability scale; parameters are attributes too."""

    parameters: Mapping[str, Any]
    scores: tuple[float, ...]

    def __getattr__(self, name: str) -> Any:
        parameters = self.__dict__.get("parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"A trial has no {name!r}; its parameters are {', '.join(parameters)}.")

    @property
    def rmse(self) -> float:
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
    best : Trial
        The setting with the smallest mean error.
    trials : tuple of Trial
        All of them, in the order of the grid.
    model : estimator or None
        The best setting fitted to all the data, unless that was not wanted.
    """

    best: Trial
    trials: tuple[Trial, ...]
    model: Any

    def columns(self, count: int | None = None) -> dict[str, list[Any]]:
        """Return the settings and their errors, best first, as columns."""
        ranked = sorted(self.trials, key=lambda trial: trial.rmse)[:count]
        columns = {name: [trial.parameters[name] for trial in ranked] for name in self.best.parameters}
        return columns | {name: [getattr(trial, name) for trial in ranked] for name in ("rmse", "spread")}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per setting, best first."""
        return to_frame(self.columns(), backend)

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={value!r}" for name, value in self.best.parameters.items())
        error = f"RMSE {self.best.rmse:.4f} ± {self.best.spread:.4f}"
        return f"<tuning of {len(self.trials):,} settings; best: {best} ({error})>"

    def _repr_html_(self) -> str:
        title = f"{len(self.trials):,} settings, best first"
        return card(title, table(self.columns(_SHOWN), more=len(self.trials) - _SHOWN))


def tune(
    observations: Observations,
    *,
    model: Recommender | None = None,
    folds: int = 3,
    random_state: Any = 0,
    refit: bool = True,
    callback: Callable[[Trial, int, int], Any] | None = None,
    **grid: Any,
) -> Tuning:
    """Choose a model's parameters by cross-validation over entries.

    For point models the grid is walked on every fold from the strongest `user_reg` to the weakest, each fit starting
    from where the one before ended. Expect the time of ten to twenty-five single fits for each number of events with
    the default grid.

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
    callback : callable, optional
        Called with each `Trial` as it is known, its number from 1, and the number of all; returning True ends the
        search, and the best trial so far wins.
    **grid : number or sequence of numbers
        The values to try of each parameter. By default `n_events`, `user_reg` and `item_reg` for point models,
        `n_events` for draws, `n_factors` and `reg` for factor models; give one value to fix a parameter.

    Examples
    --------
    >>> import kolmogorov as km
    >>> found = km.tune(km.datasets.load("zoo"), n_events=(1, 4), user_reg=(0.3, 30.0), item_reg=0.0)
    >>> found.best.n_events, found.best.user_reg
    (4, 0.3)
    """
    if not isinstance(observations, Observations):
        raise DataError(f"tune takes Observations, got {type(observations).__name__}.")
    check_trainable(observations)
    seed = base_seed(random_state)
    if model is not None and not isinstance(model, Recommender):
        raise ParameterError(f"'model' must be a model of kolmogorov, got {type(model).__name__}.")
    base = clone(model) if model is not None else KolmogorovModel()
    base.set_params(**({"random_state": seed} if "random_state" in base.get_params() else {}))
    values = _values(base, grid)
    parts = list(observations.folds(folds, random_state=seed))
    for number, (train, _) in enumerate(parts, start=1):
        _check_part(train, number, len(parts))
    total = int(np.prod([len(tried) for tried in values.values()]))
    trials: list[Trial] = []
    try:
        for trial in _trials(base, values, parts):
            trials.append(trial)
            if callback is not None and says_stop(callback(trial, len(trials), total)):
                break
    except KeyboardInterrupt:
        if not trials:
            raise
        warn(f"Interrupted after {len(trials)} of {total} settings; the best of them is taken.", ConvergenceWarning)
    best = min(trials, key=lambda trial: trial.rmse)
    fitted = base.set_params(**best.parameters).fit(observations) if refit else None
    return Tuning(best, tuple(trials), fitted)


def _values(model: Any, grid: dict[str, Any]) -> Grid:
    """Return what to try of each parameter, in the order of the model's usual grid."""
    known = model.get_params(deep=False)
    for name in grid:
        if name not in known:
            raise ParameterError(f"{type(model).__name__} has no parameter {name!r} to tune.{nearest(name, known)}")
    values = {name: _listed(tried) for name, tried in {**model.usual_grid, **grid}.items()}
    for name, tried in values.items():
        if not tried:
            raise ParameterError(f"Every part of the grid needs at least one value; {name!r} has none.")
    return values


def _listed(tried: Any) -> list[Any]:
    return list(tried) if isinstance(tried, Iterable) and not isinstance(tried, str) else [tried]


def _check_part(train: Observations, number: int, total: int) -> None:
    try:
        check_trainable(train)
    except DataError as error:
        raise DataError(f"Without fold {number} of {total} there is too little to learn from. {error}") from None


def _trials(base: Any, values: Grid, parts: Parts) -> Iterator[Trial]:
    """Yield one trial for each setting."""
    if isinstance(base, SimplexModel) and "user_reg" in values:
        yield from _paths(base, values, parts)
        return
    for setting in product(*values.values()):
        parameters = dict(zip(values, setting, strict=True))
        errors = []
        for train, test in parts:
            fitted = clone(base).set_params(**parameters).fit(train)
            errors.append(fitted.evaluate(test)["rmse"])
        yield Trial(parameters, tuple(errors))


def _paths(base: SimplexModel, values: Grid, parts: Parts) -> Iterator[Trial]:
    """Yield trials along paths of `user_reg`, one descent for each fold going down each."""
    others = {name: tried for name, tried in values.items() if name != "user_reg"}
    ridges = values["user_reg"]
    for setting in product(*others.values()):
        fixed = dict(zip(others, setting, strict=True))
        paths = [_path(clone(base).set_params(**fixed), train, test, ridges) for train, test in parts]
        for number, ridge in enumerate(ridges):
            parameters = {name: ridge if name == "user_reg" else fixed[name] for name in values}
            yield Trial(parameters, tuple(path[number] for path in paths))


def _path(base: SimplexModel, train: Observations, test: Observations, ridges: list[Any]) -> list[float]:
    """Return the test errors along the path, in the order of `ridges`."""
    start: Run[State] | None = None
    errors: dict[float, float] = {}
    for ridge in sorted(ridges, reverse=True):
        model = clone(base).set_params(user_reg=ridge).fit(train, start=start, keep_interrupted=False)
        fitted = model.fitted_
        start = Run(State(fitted.theta, fitted.psi.astype(np.float64), fitted.centre))
        errors[ridge] = model.evaluate(test)["rmse"]
    return [errors[ridge] for ridge in ridges]
