"""How good a model is: errors, forecasts and lists, beside simple guesses; whether chains agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.observations import least_like, reaching
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import Trained, entry_rows, item_counts
from kolmogorov.draws.convergence import effective_size as effective_size
from kolmogorov.draws.convergence import split_rhat as split_rhat
from kolmogorov.errors import DataError
from kolmogorov.models.ids import Strangers, Unknown
from kolmogorov.models.ranking import best_lists

__all__ = ["Scores", "SimpleGuesses", "effective_size", "guess_scores", "popularity_scores", "split_rhat"]

#: Share of every forecast that is spread evenly over the scale, so that no rating is impossible. By judgement.
FLOOR = 0.01
#: Equal parts of [0, 1] in which forecasts are compared with what happened, as is usual.
_BINS = 10
# Values come through divisions; a rating on a point of the scale must not fall below it by rounding.
_ROUNDING = 1e-9
NO_AND_YES = np.array([0.0, 1.0])


class Scores:
    """Errors of probabilities beside observed values in [0, 1], and scores of forecasts, summed block by block.

    Parameters
    ----------
    span : float
        Rating units per unit of probability.
    binary : bool
        Whether every value is 0 or 1. Then there are also `accuracy` (probabilities of at least 1/2 say yes),
        `log_loss` (probabilities clipped by the machine epsilon, as scikit-learn does) and `brier`.
    points : float64[K], optional
        The values of the rating scale, increasing, which forecasts are distributions over. Then there are also
        `log_score` and `calibration`. One hundredth of every forecast is spread over them evenly.

    Examples
    --------
    >>> Scores(5.0).add(np.array([1.0, 0.0]), np.array([0.5, 0.0])).result()["mae_rating"]
    1.25
    >>> scores = Scores(1.0, points=NO_AND_YES).add(np.array([1.0, 0.0]), np.array([0.8, 0.8]))
    >>> found = scores.add_forecasts(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.2, 0.8]])).result()
    >>> round(found["log_score"], 3), round(found["calibration"], 3)
    (-0.911, 0.297)
    """

    def __init__(self, span: float, binary: bool = False, points: Floats | None = None) -> None:
        self._span, self._binary, self._points = span, binary, points
        self._sums: dict[str, float] = {}
        # By threshold and bin: sum of forecasts less sum of outcomes.
        self._off = np.zeros((0 if points is None else len(points) - 1, _BINS))

    def add(self, values: Floats, predictions: Floats, weights: Floats | None = None) -> Self:
        """Take in some more entries: what was observed, and what was predicted."""
        self._add(weights, mass=np.ones(len(values)))
        self._add(weights, square=(values - predictions) ** 2, absolute=np.abs(values - predictions))
        if self._binary:
            tiny = np.finfo(np.float64).eps
            safe = np.clip(predictions, tiny, 1.0 - tiny)
            surprise = -(values * np.log(safe) + (1.0 - values) * np.log1p(-safe))
            self._add(weights, right=1.0 * ((predictions >= 0.5) == (values == 1.0)), surprise=surprise)
        return self

    def add_forecasts(self, values: Floats, forecasts: Floats, weights: Floats | None = None) -> Self:
        """Take in what was said of the same entries: float64[n, K], how probable each point is."""
        points: Any = self._points
        forecasts = (1.0 - FLOOR) * forecasts + FLOOR / len(points)
        self._add(weights, logs=np.log((forecasts * shares(values, points)).sum(axis=1)))
        chance = np.cumsum(forecasts[:, :0:-1], axis=1)[:, ::-1]
        for k, off in enumerate(self._off):
            said, came = chance[:, k], values >= points[k + 1] - _ROUNDING
            amount = (said - came) * (1.0 if weights is None else weights)
            off += np.bincount(np.minimum((said * _BINS).astype(np.int64), _BINS - 1), amount, _BINS)
        return self

    def _add(self, weights: Floats | None, **amounts: Floats) -> None:
        for name, amount in amounts.items():
            total = amount.sum() if weights is None else weights @ amount
            self._sums[name] = self._sums.get(name, 0.0) + float(total)

    def result(self) -> dict[str, float]:
        """Return the scores of everything taken in."""
        mass = self._sums.get("mass")
        if not mass:
            raise DataError("There are no observations to compare predictions with.")
        mean = {name: total / mass for name, total in self._sums.items()}
        rmse, mae = float(np.sqrt(mean["square"])), mean["absolute"]
        scores = {"rmse": rmse, "mae": mae, "rmse_rating": rmse * self._span, "mae_rating": mae * self._span}
        if self._binary:
            scores |= {"accuracy": mean["right"], "log_loss": mean["surprise"], "brier": mean["square"]}
        if self._points is not None:
            calibration = float(np.abs(self._off).sum(axis=1).mean()) / mass
            scores |= {"log_score": mean["logs"], "calibration": calibration}
        return scores


def shares(values: Floats, points: Floats) -> Floats:
    """Spread values over the points of a scale: float64[n, n_points], rows sum to 1.

    A value beyond an end counts there; one between two points is divided between them so that its mean is kept.

    Examples
    --------
    >>> shares(np.array([-0.4, 0.6, 1.0]), np.array([0.2, 0.4, 1.0])).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.667, 0.333], [0.0, 0.0, 1.0]]
    """
    inside = np.clip(values, points[0], points[-1])
    right = np.clip(np.searchsorted(points, inside), 1, len(points) - 1)
    part = (inside - points[right - 1]) / (points[right] - points[right - 1])
    # Snapped, so that a rating that rounding has moved off its point is on it.
    part = np.where(part < _ROUNDING, 0.0, np.where(part > 1.0 - _ROUNDING, 1.0, part))
    out = np.zeros((len(values), len(points)))
    rows = np.arange(len(values))
    out[rows, right] = part
    out[rows, right - 1] += 1.0 - part
    return out


# --- simple guesses ---------------------------------------------------------------------------------------------------

#: Observations that a mean counts as having seen beforehand; usual for ratings.
_ITEM_PRIOR, _USER_PRIOR = 10.0, 15.0
#: The best of the guesses, as a rule; and the one of lists.
BIASES, POPULARITY = "user and item biases", "most popular"


@dataclass(frozen=True, eq=False)
class SimpleGuesses:
    """Means and biases of some observations, on the probability scale.

    "overall mean" is one number; "item means" are shrunk to it; "user and item biases" add to it what is usual for the
    item and then what is usual for the user.

    Attributes
    ----------
    mean : float
    item_bias, user_bias : float64[n_items + 1], float64[n_users + 1]
        What is usual for an item beside the mean, and for a user beside both, shrunk to 0; a last entry 0 stands for
        the unknown.

    Examples
    --------
    >>> table = Observations.from_dense([[1, 0], [1, 0]])
    >>> SimpleGuesses.of(table).at(np.array([0]), np.array([1]))["overall mean"]
    array([0.5])
    """

    mean: float
    item_bias: Floats
    user_bias: Floats

    @classmethod
    def of(cls, train: Observations) -> SimpleGuesses:
        """Sum up block by block, so that no array as long as the table is made."""
        items, users = np.zeros((2, train.n_items)), np.zeros((2, train.n_users))
        for _, rows, values, weights in _blocks(train.rows):
            items += _sums(rows, values, weights, train.n_items)
        mean = float(items[0].sum() / items[1].sum())
        item_bias = np.append((items[0] - mean * items[1]) / (items[1] + _ITEM_PRIOR), 0.0)
        for owners, rows, values, weights in _blocks(train.rows):
            users += _sums(owners, values - mean - item_bias[rows], weights, train.n_users)
        return cls(mean, item_bias, np.append(users[0] / (users[1] + _USER_PRIOR), 0.0))

    def at(self, users: NDArray[Any], items: NDArray[Any]) -> dict[str, Floats]:
        """Guess entries: rows of the observations, -1 for ids that they do not have."""
        of_items = self.mean + self.item_bias[items]
        return {
            "overall mean": np.full(len(users), self.mean),
            "item means": np.clip(of_items, 0.0, 1.0),
            BIASES: np.clip(of_items + self.user_bias[users], 0.0, 1.0),
        }


def _blocks(view: View) -> Iterator[tuple[NDArray[Any], NDArray[Any], Floats, Floats | None]]:
    """Yield the entries block by block: their rows, partners, values and weights, None where all weigh one."""
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        weights = view.weights[part] if view.weights.size else None
        yield view.owners(first, last), view.indices[part], view.values[part], weights
        view.forget(first, last)


def _sums(rows: NDArray[Any], values: Floats, weights: Floats | None, size: int) -> Floats:
    """Return the sum of each row's values and its number of observations, weighted."""
    heavy = np.ones(len(values)) if weights is None else weights
    return np.stack([np.bincount(rows, part, size) for part in (heavy * values, heavy)])


def guess_scores(train: Observations, observations: Observations) -> dict[str, dict[str, float]]:
    """Return the errors of means and biases of what a model was fitted to, by the guess's name.

    Of yes and no these include the log score, computed as that of a model.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(random_state=0)
    >>> {name: round(scores["rmse"], 2) for name, scores in guess_scores(train, test).items()}
    {'overall mean': 0.49, 'item means': 0.44, 'user and item biases': 0.45}
    """
    test = observations.rescaled(train.scale)
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    guesses, binary = SimpleGuesses.of(train), test.is_binary
    sums: dict[str, Scores] = {}
    for owners, rows, values, weights in _blocks(test.rows):
        for name, guess in guesses.at(users[owners], items[rows]).items():
            scores = sums.setdefault(name, Scores(test.scale.span, binary, NO_AND_YES if binary else None))
            scores.add(values, guess, weights)
            if binary:
                scores.add_forecasts(values, np.column_stack((1.0 - guess, guess)), weights)
    return {name: scores.result() for name, scores in sums.items()}


def popularity_scores(train: Observations, test: Observations, k: int) -> dict[str, float]:
    """Return the scores of lists that hold what most were observed with; the same for everybody."""
    counts = item_counts(train)
    popular = counts / max(int(counts.max()), 1)

    def lists(rows: Rows) -> Rows:
        return best_lists(lambda part, _: np.tile(popular, (rows[part].size, 1)), rows, train.rows, counts, k, 0)[0]

    return ranking_scores(train, lists, test.rescaled(train.scale), least_like(train))


# --- lists ------------------------------------------------------------------------------------------------------------


def list_scores(lists: Rows, users: Rows, items: Rows) -> dict[str, Floats]:
    """Return scores of lists, as `evaluate` describes them, by name: a number for every list.

    `lists`, int64[n, k], holds items, best first, and -1 where there were too few. Entry by entry, users[e] of the n
    users likes items[e]; everybody likes something. An item that no list can hold is missed.

    Examples
    --------
    >>> list_scores(np.array([[3, 5]]), np.array([0, 0]), np.array([5, 7]))["ndcg"].round(3)
    array([0.387])
    """
    (n, k), size = lists.shape, int(max(items.max(), lists.max())) + 2
    hits = np.isin(np.arange(n)[:, None] * size + lists + 1, users.astype(np.int64) * size + items + 1)
    place, found, relevant = np.arange(1.0, k + 1.0), hits.sum(axis=1), np.bincount(users, minlength=n)
    worth, reachable = 1.0 / np.log2(place + 1.0), np.minimum(relevant, k)
    return {
        "recall": found / relevant,
        "precision": found / k,
        "ndcg": (hits * worth).sum(axis=1) / np.cumsum(worth)[reachable - 1],
        "map": (hits * np.cumsum(hits, axis=1) / place).sum(axis=1) / reachable,
        "mrr": (hits / place).max(axis=1),
        "hit_rate": 1.0 * (found > 0),
    }


def held_out(fitted: Trained, observations: Observations) -> Observations:
    """Return the observations of (user, item) pairs that the model was not fitted to."""
    users, items = entry_rows(fitted.training, observations)
    size = len(fitted.items)
    trained = fitted.training.user_rows().astype(np.int64) * size + fitted.training.item_rows()
    known = (users >= 0) & (items >= 0) & np.isin(users * size + items, trained)
    return observations.subset(~known)


def ranking_scores(
    training: Observations,
    lists_of: Callable[[Rows], Rows],
    test: Observations,
    likes: float,
    unknown: Unknown = "ignore",
) -> dict[str, float]:
    """Look where the items that users of `test` like are in their lists, which are made for rows of the training."""
    liked = test.subset(reaching(test.values, likes))
    strangers = Strangers(unknown)
    present = liked.rows.counts > 0
    if not present.any():
        raise DataError("No user has a held-out item that counts as liked; there is nothing to rank.")
    users = strangers.rows_by_id(training.users, training.rows.counts > 0, liked.users, present, "user")
    # An item without observations can still be listed.
    anything = np.ones(training.n_items, dtype=bool)
    items = strangers.rows_by_id(training.items, anything, liked.items, liked.seen_items, "item")
    strangers.tell()
    lists, counts = lists_of(users[present]), item_counts(training)
    owner = np.cumsum(present)[liked.user_rows()] - 1
    scores = list_scores(lists, owner, items[liked.item_rows()])
    shown = lists[lists >= 0]
    return {name: float(each.mean()) for name, each in scores.items()} | {
        "coverage": np.unique(shown).size / counts.size,
        "mean_popularity": float(counts[shown].sum() / max(shown.size, 1)),
    }


# --- verdicts ---------------------------------------------------------------------------------------------------------


def decisive(scores: Mapping[str, float]) -> str:
    """Return the score by which a model is judged: of lists ndcg, of ratings rmse, of yes and no a log loss.

    That is the log score where there is one: a single prediction that was sure and wrong decides the plain log loss.
    """
    if "ndcg" in scores:
        return "ndcg"
    return ("log_score" if "log_score" in scores else "log_loss") if "log_loss" in scores else "rmse"


def verdict(model: Mapping[str, float], guesses: Mapping[str, Mapping[str, float]], score: str) -> str | None:
    """Return a sentence where a guess is as good as the model, and None where the model beats all of them.

    Examples
    --------
    >>> verdict({"rmse": 0.2}, {"item means": {"rmse": 0.19}, "overall mean": {"rmse": 0.3}}, "rmse")
    'The model does not beat the item means: rmse 0.2000 against 0.1900.'
    """
    smaller = score in ("rmse", "mae", "rmse_rating", "mae_rating", "log_loss", "brier")
    name, best = sorted(guesses.items(), key=lambda guess: guess[1][score] if smaller else -guess[1][score])[0]
    if model[score] < best[score] if smaller else model[score] > best[score]:
        return None
    return f"The model does not beat the {name}: {score} {model[score]:.4f} against {best[score]:.4f}."
