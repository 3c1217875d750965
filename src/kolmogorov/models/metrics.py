"""How far predictions are from what was observed; simple guesses beside them; whether chains agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.draws.convergence import effective_size as effective_size
from kolmogorov.draws.convergence import split_rhat as split_rhat
from kolmogorov.draws.posterior import shares as shares
from kolmogorov.errors import DataError
from kolmogorov.models.ranking_kernels import list_scores

__all__ = [
    "DistributionScores",
    "RankingScores",
    "Scores",
    "SimpleGuesses",
    "effective_size",
    "evaluate",
    "simple_guesses",
    "split_rhat",
]


def evaluate(
    values: Floats, predictions: Floats, weights: Floats | None, span: float, binary: bool = False
) -> dict[str, float]:
    """Compare probabilities with observed values in [0, 1].

    Parameters
    ----------
    values, predictions : float64[n]
    weights : float64[n] or None
    span : float
        Rating units per unit of probability.
    binary : bool
        Whether every value is 0 or 1.

    Returns
    -------
    dict
        `rmse`, `mae`, `rmse_rating`, `mae_rating`; for binary values also `accuracy` (probabilities
        of at least 1/2 say yes), `log_loss` (probabilities clipped by the machine epsilon, as scikit-learn
        does) and `brier`.

    Examples
    --------
    >>> evaluate(np.array([1.0, 0.0]), np.array([0.5, 0.0]), None, 5.0)["mae_rating"]
    1.25
    """
    scores = Scores(span, binary)
    scores.add(values, predictions, weights)
    return scores.result()


class Scores:
    """Errors summed block by block, for tables whose predictions need not all be in memory.

    Parameters
    ----------
    span, binary
        As in `evaluate`.
    """

    def __init__(self, span: float, binary: bool) -> None:
        self._span = span
        self._binary = binary
        self._mass = 0.0
        self._sums: dict[str, float] = {}

    def add(self, values: Floats, predictions: Floats, weights: Floats | None) -> None:
        """Take in some more entries."""
        errors = {"square": (values - predictions) ** 2, "absolute": np.abs(values - predictions)}
        if self._binary:
            tiny = np.finfo(np.float64).eps
            safe = np.clip(predictions, tiny, 1.0 - tiny)
            errors["right"] = ((predictions >= 0.5) == (values == 1.0)).astype(np.float64)
            errors["surprise"] = -(values * np.log(safe) + (1.0 - values) * np.log1p(-safe))
        self._mass += float(values.size if weights is None else weights.sum())
        for name, error in errors.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(error.sum() if weights is None else weights @ error)

    def result(self) -> dict[str, float]:
        """Return the scores of everything taken in."""
        if not self._mass:
            raise DataError("There are no observations to compare predictions with.")
        mean = {name: total / self._mass for name, total in self._sums.items()}
        rmse, mae = float(np.sqrt(mean["square"])), mean["absolute"]
        scores = {"rmse": rmse, "mae": mae, "rmse_rating": rmse * self._span, "mae_rating": mae * self._span}
        if self._binary:
            scores |= {"accuracy": mean["right"], "log_loss": mean["surprise"], "brier": mean["square"]}
        return scores


#: Observations that a mean counts as having seen beforehand; usual for ratings.
_ITEM_PRIOR, _USER_PRIOR = 10.0, 15.0
#: The best of the guesses, as a rule.
BIASES = "user and item biases"


@dataclass(frozen=True, eq=False)
class SimpleGuesses:
    """Means and biases of some observations, on the probability scale.

    Attributes
    ----------
    mean : float
    item_bias, user_bias : float64[n_items + 1], float64[n_users + 1]
        What is usual for an item beside the mean, and for a user beside both, shrunk to 0; a last entry 0 stands for
        the unknown.
    """

    mean: float
    item_bias: Floats
    user_bias: Floats

    @classmethod
    def of(cls, train: Observations) -> SimpleGuesses:
        """Sum up block by block, so that no array as long as the table is made."""
        view = train.rows
        items = np.zeros((2, train.n_items))
        users = np.zeros((2, train.n_users))
        for first, last in view.blocks():
            part = slice(int(view.indptr[first]), int(view.indptr[last]))
            values, weights = view.values[part], view.weights[part] if view.weights.size else None
            items += _sums(view.indices[part], values, weights, train.n_items)
            view.forget(first, last)
        mean = float(items[0].sum() / items[1].sum())
        item_bias = np.append((items[0] - mean * items[1]) / (items[1] + _ITEM_PRIOR), 0.0)
        for first, last in view.blocks():
            part = slice(int(view.indptr[first]), int(view.indptr[last]))
            rest = view.values[part] - mean - item_bias[view.indices[part]]
            weights = view.weights[part] if view.weights.size else None
            users += _sums(view.owners(first, last), rest, weights, train.n_users)
            view.forget(first, last)
        return cls(mean, item_bias, np.append(users[0] / (users[1] + _USER_PRIOR), 0.0))

    def at(self, users: NDArray[Any], items: NDArray[Any]) -> dict[str, Floats]:
        """Guess entries: rows of the observations, -1 for ids that they do not have."""
        of_items = self.mean + self.item_bias[items]
        return {
            "overall mean": np.full(len(users), self.mean),
            "item means": np.clip(of_items, 0.0, 1.0),
            BIASES: np.clip(of_items + self.user_bias[users], 0.0, 1.0),
        }


def simple_guesses(train: Observations, users: NDArray[Any], items: NDArray[Any]) -> dict[str, Floats]:
    """Guess entries (rows of `train`, -1 where it does not know the id) in three ways, on the probability scale.

    "overall mean" is one number; "item means" are shrunk to it; "user and item biases" add to it what is usual for the
    item and then what is usual for the user.

    Examples
    --------
    >>> table = Observations.from_dense([[1, 0], [1, 0]])
    >>> simple_guesses(table, np.array([0]), np.array([1]))["overall mean"]
    array([0.5])
    """
    return SimpleGuesses.of(train).at(users, items)


def _sums(rows: NDArray[Any], values: Floats, weights: Floats | None, size: int) -> Floats:
    """Return the sum of each row's values and its number of observations, weighted."""
    heavy = np.ones(len(values)) if weights is None else weights
    return np.stack([np.bincount(rows, weights=part, minlength=size) for part in (heavy * values, heavy)])


#: Share of every forecast that is spread evenly over the scale, so that no rating is impossible. By judgement.
FLOOR = 0.01
#: Equal parts of [0, 1] in which forecasts are compared with what happened, as is usual.
_BINS = 10
# Values come through divisions; a rating on a point of the scale must not fall below it by rounding.
_ROUNDING = 1e-9


class DistributionScores:
    """Log score and calibration summed block by block.

    Parameters
    ----------
    points : float64[K]
        The values of the rating scale, increasing, which the forecasts are distributions over. One hundredth of every
        forecast is spread over them evenly.

    Examples
    --------
    >>> scores = DistributionScores(np.array([0.0, 1.0]))
    >>> scores.add(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.2, 0.8]]), None)
    >>> {name: round(score, 3) for name, score in scores.result().items()}
    {'log_score': -0.911, 'calibration': 0.297}
    """

    def __init__(self, points: Floats) -> None:
        self._points = points
        self._mass = self._logs = 0.0
        # By threshold and bin: mass, sum of forecasts, sum of outcomes.
        self._bins = np.zeros((3, len(points) - 1, _BINS))

    def add(self, values: Floats, distribution: Floats, weights: Floats | None) -> None:
        """Take in some more entries: what was observed, and float64[n, K] what was forecast."""
        heavy = np.ones(len(values)) if weights is None else weights
        forecast = (1.0 - FLOOR) * distribution + FLOOR / len(self._points)
        observed = shares(values, self._points)
        self._mass += float(heavy.sum())
        self._logs += float(heavy @ np.log((forecast * observed).sum(axis=1)))
        chance = np.cumsum(forecast[:, :0:-1], axis=1)[:, ::-1]
        for k in range(len(self._points) - 1):
            said, came = chance[:, k], values >= self._points[k + 1] - _ROUNDING
            which = np.minimum((said * _BINS).astype(np.int64), _BINS - 1)
            for sums, amount in zip(self._bins, (heavy, heavy * said, heavy * came), strict=True):
                sums[k] += np.bincount(which, weights=amount, minlength=_BINS)

    def result(self) -> dict[str, float]:
        """Return `log_score` and `calibration` of everything taken in."""
        _, said, came = self._bins
        off = np.abs(said - came).sum(axis=1) / self._mass
        return {"log_score": self._logs / self._mass, "calibration": float(off.mean())}


_PER_LIST = ("recall", "precision", "ndcg", "map", "mrr", "hit_rate")


class RankingScores:
    """Scores of lists, one for each user, summed up user by user.

    Parameters
    ----------
    indptr, indices : int64[n_users + 1], int[nnz]
        The relevant items of every user, increasing.
    missed : int64[n_users]
        Relevant items of a user that nobody could list.
    counts : int64[n_items]
        Observations of every item, which say how popular it is.

    Examples
    --------
    >>> nothing, counts = np.zeros(1, dtype=np.int64), np.array([9, 5, 2, 2, 1])
    >>> scores = RankingScores(np.array([0, 2]), np.array([1, 4]), nothing, counts)
    >>> scores.add(0, np.array([[4, 0]]))
    >>> scores.result()["recall"], scores.result()["mean_popularity"]
    (0.5, 5.0)
    """

    def __init__(
        self, indptr: NDArray[np.int64], indices: NDArray[Any], missed: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        self._table = (indptr, indices)
        self._missed = missed
        self._counts = counts
        self._relevant = np.diff(indptr) + missed
        self._by_user = np.zeros((missed.size, len(_PER_LIST)))
        self._listed = np.zeros(missed.size, dtype=np.int64)
        self._popularity = np.zeros(missed.size)
        self._shown = np.zeros(counts.size, dtype=bool)

    def add(self, first: int, lists: NDArray[np.int64]) -> None:
        """Take in the lists of some users in a row; threads may do so at once for different ones."""
        rows = slice(first, first + len(lists))
        by_user: Floats = np.empty((len(lists), len(_PER_LIST)))
        list_scores(lists, *self._table, first, self._missed, by_user)
        self._by_user[rows] = by_user
        asked = (lists >= 0) & (self._relevant[rows] > 0)[:, None]
        self._listed[rows] = asked.sum(axis=1)
        self._popularity[rows] = np.where(asked, self._counts[lists], 0).sum(axis=1)
        self._shown[lists[asked]] = True

    def result(self) -> dict[str, float]:
        """Return the means over the users who have something relevant, and what is true of all lists."""
        asked = self._relevant > 0
        if not asked.any():
            raise DataError("No user has a held-out item that counts as liked; there is nothing to rank.")
        means = self._by_user[asked].mean(axis=0)
        listed = max(int(self._listed.sum()), 1)
        overall = {"coverage": float(self._shown.mean()), "mean_popularity": float(self._popularity.sum() / listed)}
        return dict(zip(_PER_LIST, means.tolist(), strict=True)) | overall
