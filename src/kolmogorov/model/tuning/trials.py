"""What a search found: settings, their scores, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kolmogorov._support.markup import card, table
from kolmogorov._support.optional import to_frame

#: Settings that a notebook shows.
_SHOWN = 10


@dataclass(frozen=True)
class Trial:
    """One setting and its scores on the folds; parameters are attributes too.

    Attributes
    ----------
    parameters : mapping
    scores : tuple of float
        One for each fold it was tried on: errors on the probability scale, or the nDCG of lists.
    effort : float
        Share of the work of a whole cross-validation; below 1 for settings that were given up early.
    measure : {"rmse", "ndcg"}
    """

    parameters: Mapping[str, Any]
    scores: tuple[float, ...]
    effort: float = 1.0
    measure: str = "rmse"

    def __getattr__(self, name: str) -> Any:
        parameters = self.__dict__.get("parameters", {})
        if name in parameters:
            return parameters[name]
        if name == self.__dict__.get("measure"):
            return self.score
        raise AttributeError(f"A trial has no {name!r}; its parameters are {', '.join(parameters)}.")

    @property
    def score(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def spread(self) -> float:
        """Standard deviation over the folds."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0

    @property
    def place(self) -> tuple[float, float]:
        """What trials are ordered by, best first: those tried longest, and by their scores."""
        return -self.effort, self.score if self.measure == "rmse" else -self.score


@dataclass(frozen=True, repr=False)
class Tuning:
    """What a search found.

    Attributes
    ----------
    best : Trial
        The setting with the smallest mean error, or the largest mean nDCG.
    trials : tuple of Trial
        All of them, in the order of the grid; of a setting that was tried several times the longest.
    model : estimator or None
        The best setting fitted to all the data, unless that was not wanted.
    guesses : mapping
        The same score of simple guesses on the same folds, by their names.
    """

    best: Trial
    trials: tuple[Trial, ...]
    model: Any
    guesses: Mapping[str, float] = field(default_factory=dict)

    @property
    def ranked(self) -> list[Trial]:
        """The trials, best first."""
        return sorted(self.trials, key=lambda trial: trial.place)

    def columns(self, count: int | None = None) -> dict[str, list[Any]]:
        """Return the settings and their scores, best first, as columns."""
        ranked = self.ranked[:count]
        columns = {name: [trial.parameters[name] for trial in ranked] for name in self.best.parameters}
        columns[self.best.measure] = [trial.score for trial in ranked]
        return columns | {name: [getattr(trial, name) for trial in ranked] for name in ("spread", "effort")}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per setting, best first."""
        return to_frame(self.columns(), backend)

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={value!r}" for name, value in self.best.parameters.items())
        score = f"{self.best.measure} {self.best.score:.4f} ± {self.best.spread:.4f}"
        return f"<tuning of {len(self.trials):,} settings; best: {best} ({score})>"

    def _repr_html_(self) -> str:
        title = f"{len(self.trials):,} settings, best first"
        return card(title, table(self.columns(_SHOWN), more=len(self.trials) - _SHOWN))
