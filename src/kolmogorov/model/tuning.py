"""`tune`: events and regularisation by cross-validation, warm-started along the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.optional import to_frame
from kolmogorov._support.seeds import base_seed
from kolmogorov.data import Observations
from kolmogorov.data.trainable import check_trainable
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.state import Run, State
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.model.simplex_model import SimplexModel


@dataclass(frozen=True)
class Trial:
    """One setting and its errors on the folds, on the probability scale."""

    n_events: int
    user_reg: float
    item_reg: float
    scores: tuple[float, ...]

    @property
    def rmse(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def spread(self) -> float:
        """Standard deviation over the folds."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0


@dataclass(frozen=True)
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

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per setting, best first."""
        ranked = sorted(self.trials, key=lambda trial: trial.rmse)
        names = ("n_events", "user_reg", "item_reg", "rmse", "spread")
        return to_frame({name: [getattr(trial, name) for trial in ranked] for name in names}, backend)


def tune(
    observations: Observations,
    *,
    n_events: int | Sequence[int] = (4, 8, 16),
    user_reg: float | Sequence[float] = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    item_reg: float | Sequence[float] = (0.0, 0.1),
    folds: int = 3,
    model: SimplexModel | None = None,
    random_state: Any = 0,
    refit: bool = True,
    callback: Callable[[Trial, int, int], Any] | None = None,
) -> Tuning:
    """Choose the number of events and the regularisation by cross-validation over entries.

    On every fold the grid is walked from the strongest `user_reg` to the weakest, each fit starting from where the one
    before ended. Expect the time of ten to twenty-five single fits for each number of events with the default grid.

    Parameters
    ----------
    observations : Observations
    n_events, user_reg, item_reg : number or sequence of numbers
        The grid.
    folds : int
    model : estimator, optional
        Whose other parameters to use; a plain `KolmogorovModel` by default.
    random_state : int
        Of the folds and of the fits.
    refit : bool
        Fit the best setting to all observations.
    callback : callable, optional
        Called with each `Trial` as it is known, its number from 1, and the number of all; returning True ends the
        search, and the best trial so far wins.

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
    grid_events, grid_user, grid_item = (_grid(values) for values in (n_events, user_reg, item_reg))
    base = clone(model) if model is not None else KolmogorovModel()
    seed = base_seed(random_state)
    parts = list(observations.folds(folds, random_state=seed))
    for number, (train, _) in enumerate(parts, start=1):
        _check_part(train, number, len(parts))
    settings = list(product(grid_events, grid_item))
    scores: dict[tuple[int, float, float], tuple[float, ...]] = {}
    total = len(settings) * len(grid_user)
    stopped = False
    for events, price in settings:
        if stopped:
            break
        # One descent per fold goes down the path of user_reg.
        paths = [_path(base, train, test, int(events), price, grid_user, seed) for train, test in parts]
        for place, ridge in enumerate(grid_user):
            key = (int(events), float(ridge), float(price))
            scores[key] = tuple(path[place] for path in paths)
            if callback is not None and says_stop(callback(Trial(*key, scores[key]), len(scores), total)):
                stopped = True
                break
    trials = tuple(Trial(*key, errors) for key, errors in scores.items())
    best = min(trials, key=lambda trial: trial.rmse)
    fitted = None
    if refit:
        chosen = {"n_events": best.n_events, "user_reg": best.user_reg, "item_reg": best.item_reg}
        fitted = base.set_params(**chosen, random_state=seed).fit(observations)
    return Tuning(best, trials, fitted)


def _check_part(train: Observations, number: int, total: int) -> None:
    try:
        check_trainable(train)
    except DataError as error:
        raise DataError(f"Without fold {number} of {total} there is too little to learn from. {error}") from None


def _path(
    base: SimplexModel,
    train: Observations,
    test: Observations,
    n_events: int,
    item_reg: float,
    user_regs: list[float],
    seed: int,
) -> list[float]:
    """Return the test errors along the path, in the order of `user_regs`."""
    start: Run[State] | None = None
    errors: dict[float, float] = {}
    for user_reg in sorted(user_regs, reverse=True):
        model = clone(base).set_params(n_events=n_events, user_reg=user_reg, item_reg=item_reg, random_state=seed)
        model.fit(train, start=start)
        start = Run(_state(model.fitted_.theta, model.fitted_.psi, model.fitted_.centre))
        errors[user_reg] = model.evaluate(test)["rmse"]
    return [errors[user_reg] for user_reg in user_regs]


def _state(theta: NDArray[np.float64], psi: NDArray[Any], centre: NDArray[np.float64]) -> State:
    return State(theta, psi.astype(np.float64), centre)


def _grid(values: Any) -> list[Any]:
    grid = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if not grid:
        raise ParameterError("Every part of the grid needs at least one value.")
    return grid
