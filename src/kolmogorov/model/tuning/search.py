"""`tune`: a model's parameters by cross-validation over entries.

Many settings are first compared by short fits on one fold, and the better third of them goes on to longer ones
(successive halving, Jamieson and Talwalkar 2016); the last are compared on all folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from kolmogorov._support.progress import says_stop, warn
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.validation import Integer, Optional, Positive, Requirement, check_parameters
from kolmogorov.data import Observations
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.errors import ConvergenceWarning, DataError, ParameterError
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.descent.state import Run, State
from kolmogorov.fitting.distillation.only_yes import AveragedDescents
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.model.tuning.budget import Budget
from kolmogorov.model.tuning.grids import OF_RATINGS, Setting, counts_unobserved, settings_of
from kolmogorov.model.tuning.trials import Trial, Tuning
from kolmogorov.surface.comparison import POPULARITY, guess_scores, popularity_scores
from kolmogorov.surface.recommender import Recommender

Parts = Sequence[tuple[Observations, Observations]]
# Numbers of a search, all by judgement.
#: With more settings than this, short fits choose those that are tried in earnest.
_FEW = 12
#: Shares of the work of whole fits that the rounds spend on a setting, and the share of settings that goes on.
_EFFORTS, _KEPT = (0.1, 0.3), 1 / 3
#: Parameters that say how long a fit goes on, and the least that is worth while.
_LENGTHS = {"max_iter": 4, "n_epochs": 3, "burn_in": 10, "n_samples": 4}
#: What these come to, about, where a model suits them to the table.
_SUITED = {"burn_in": 150, "n_samples": 20, "max_iter": 50}
_RULES: dict[str, Requirement] = {"max_seconds": Optional(Positive()), "k": Integer(1)}
#: What changes along a walk, and the effort from which on chains are as long as they are in a fit.
_WALKED, _SOME = ("n_events", "user_reg"), 0.3


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
    """Choose a model's parameters by cross-validation over entries.

    More than a dozen settings are first compared by short fits on one fold; the best third goes on twice, and what is
    left is compared on all folds. Models learned from draws are all learned from the same draws of a fold; from ratings
    the grid is walked from the strongest `user_reg` to the weakest, each fit starting from where the one before ended.

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
        Time for all of it, refit included. When it is over the best setting so far wins.
    ranking : bool, optional
        Compare the nDCG of lists of k items instead of errors. By default where the model counts unobserved entries,
        of whose errors nothing is known.
    k : int
        Length of the lists.
    callback : callable, optional
        Called with each `Trial` as it is known, its number from 1, and the number of all; returning True ends the
        search, and the best trial so far wins.
    **grid : number or sequence of numbers
        The values to try of each parameter. By default `n_events` for draws and for models learned from them;
        `user_reg` and `item_reg` besides for models learned from ratings, or where either is given; `n_factors` and
        `reg` for factor models; all by the size of the table; and `unobserved` where it is not 0. Give one value to
        fix a parameter.

    Examples
    --------
    >>> import kolmogorov as km
    >>> found = km.tune(km.datasets.load("zoo"), n_events=(1, 4), user_reg=(0.3, 30.0), item_reg=0.0)
    >>> found.best.n_events, found.best.user_reg, found.best.rmse < found.guesses["user and item biases"]
    (4, 0.3, True)
    """
    if not isinstance(observations, Observations):
        raise DataError(f"tune takes Observations, got {type(observations).__name__}.")
    check_parameters("tune", {"max_seconds": max_seconds, "k": k}, _RULES)
    budget = Budget(max_seconds)
    if model is not None and not isinstance(model, Recommender):
        raise ParameterError(f"'model' must be a model of kolmogorov, got {type(model).__name__}.")
    base = clone(model) if model is not None else KolmogorovModel()
    seed = base_seed(random_state)
    base.set_params(**({"random_state": seed} if "random_state" in base.get_params() else {}))
    if isinstance(base, KolmogorovModel) and any(name in grid for name in OF_RATINGS):
        base.set_params(learn_from="ratings")
    only_yes = counts_unobserved(base, grid)
    check_trainable(observations, only_yes=only_yes)
    search = Search(
        base,
        settings_of(base, grid, observations),
        list(observations.folds(folds, random_state=seed)),
        budget,
        k if (only_yes if ranking is None else ranking) else None,
        callback,
    )
    for number, (train, _) in enumerate(search.parts, start=1):
        _check_part(train, number, len(search.parts), only_yes)
    trials = search.run()
    best = min(trials, key=lambda trial: trial.place)
    fitted = budget.fitted(base.set_params(**best.parameters), observations) if refit else None
    return Tuning(best, tuple(trials), fitted, search.guesses())


@dataclass(eq=False)
class Search:
    """A search under way. `k` is the length of lists where these are compared, and None for errors."""

    base: Any
    settings: list[Setting]
    parts: Parts
    budget: Budget
    k: int | None
    callback: Callable[[Trial, int, int], Any] | None
    found: dict[int, Trial] = field(default_factory=dict)
    done: int = 0
    effort: float = 1.0
    drawn: dict[tuple[int, str, float], Posterior | AveragedDescents] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """Name of what is compared."""
        return "rmse" if self.k is None else "ndcg"

    def run(self) -> list[Trial]:
        """Try the settings; return the longest trial of each, in the order of the grid."""
        sizes = self._sizes()
        total = sum(sizes)
        try:
            for effort, size in zip([*_EFFORTS[: len(sizes) - 1], 1.0], sizes, strict=True):
                chosen = sorted(self.found, key=lambda number: self.found[number].place)[:size]
                if not self._round(sorted(chosen) or list(range(len(self.settings))), effort, total):
                    break
        except KeyboardInterrupt:
            if not self.found:
                raise
            warn(f"Interrupted after {self.done} of {total} trials; the best so far is taken.", ConvergenceWarning)
        return [self.found[number] for number in sorted(self.found)]

    def _sizes(self) -> list[int]:
        """Return the number of settings of every round."""
        n = len(self.settings)
        return [n] if n <= _FEW else [n, *(max(3, round(n * _KEPT**j)) for j in range(1, len(_EFFORTS) + 1))]

    def _round(self, chosen: list[int], effort: float, total: int) -> bool:
        """Try the chosen settings; tell whether the search goes on."""
        parts = self.parts if effort == 1.0 else self.parts[:1]
        base, self.effort = shortened(clone(self.base), effort), effort
        for number, scores in self._scores(base, chosen, parts):
            spent = effort * len(scores) / len(parts)
            self.found[number] = Trial(self.settings[number], scores, spent, self.measure)
            self.done += 1
            told = self.callback is not None and self.callback(self.found[number], self.done, total)
            if says_stop(told) or self.budget.over():
                return False
        return True

    def _scores(self, base: Any, chosen: list[int], parts: Parts) -> Iterator[tuple[int, tuple[float, ...]]]:
        if not isinstance(base, KolmogorovModel):
            for number in chosen:
                fits = (clone(base).set_params(**self.settings[number]).fit(train) for train, _ in parts)
                yield number, tuple(self._judged(fit, test) for fit, (_, test) in zip(fits, parts, strict=True))
            return
        paths: dict[str, list[int]] = {}
        for number in chosen:
            fixed = repr([value for name, value in self.settings[number].items() if name not in _WALKED])
            paths.setdefault(fixed, []).append(number)
        for numbers in paths.values():
            walked = [self._path(base, numbers, train, test) for train, test in parts]
            for number in numbers:
                scores = tuple(path[number] for path in walked if number in path)
                if scores:
                    yield number, scores

    def _path(
        self, base: KolmogorovModel, numbers: list[int], train: Observations, test: Observations
    ) -> dict[int, float]:
        """Return the scores of settings that differ by what one walk can go through, while there is time.

        Models learned from draws all learn from the same draws. From ratings one descent goes down the ridges, from
        the strongest to the weakest, for each number of events.
        """
        start: Run[State] | None = None
        scores: dict[int, float] = {}
        settings = self.settings
        order = sorted(numbers, key=lambda number: _along(settings[number]))
        for number in order:
            model = self.budget.limited(clone(base).set_params(**settings[number]))
            same = start is not None and start.state.theta.shape[1] == model.n_events
            effort = min(1.0, self.effort / _SOME)
            # Draws depend on the fold, and on what unobserved entries weigh.
            place = (id(train), repr(model.unobserved), effort)
            model._fit(
                train,
                start=start if same else None,
                drawn=self.drawn.get(place),
                keep_drawn=True,
                keep_interrupted=False,
                effort=effort,
            )
            fitted = model.fitted_
            if fitted.learned_from == "draws":
                self.drawn[place] = model._drawn
            else:
                start = Run(State(fitted.theta, fitted.psi.astype(np.float64), fitted.user_pull.centre))
            scores[number] = self._judged(model, test)
            if self.budget.over():
                break
        return scores

    def _judged(self, model: Any, test: Observations) -> float:
        if self.k is None:
            return float(model.evaluate(test, unknown="ignore")["rmse"])
        return float(model.evaluate(test, ranking=True, k=self.k, unknown="ignore")["ndcg"])

    def guesses(self) -> dict[str, float]:
        """Return the mean score of simple guesses over all folds."""
        sums: dict[str, list[float]] = {}
        for train, test in self.parts:
            if self.k is None:
                scores = guess_scores(train, test)
            else:
                scores = {POPULARITY: popularity_scores(train, test, self.k)}
            for name, found in scores.items():
                sums.setdefault(name, []).append(found[self.measure])
        return {name: float(np.mean(found)) for name, found in sums.items()}


def shortened(model: Any, effort: float) -> Any:
    """Let a model's fits go on for a share of their usual length.

    Examples
    --------
    >>> shortened(KolmogorovModel(max_iter=50), 0.1).max_iter
    5
    """
    if effort < 1.0:
        known = model.get_params(deep=False)
        usual = {name: _SUITED[name] if known[name] == "auto" else known[name] for name in _LENGTHS if name in known}
        model.set_params(**{name: min(n, max(round(effort * n), _LENGTHS[name])) for name, n in usual.items()})
    return model


def _along(setting: Setting) -> tuple[str, float]:
    """Return the place of a setting on a walk: those of one number of events together, the strongest ridge first."""
    ridge = setting.get("user_reg", 0.0)
    return str(setting.get("n_events")), 0.0 if ridge == "auto" else -float(ridge)


def _check_part(train: Observations, number: int, total: int, only_yes: bool) -> None:
    try:
        check_trainable(train, only_yes=only_yes)
    except DataError as error:
        where = f"Without fold {number} of {total} there is too little to learn from. "
        raise DataError(where + error.args[0]) from None
