"""How good a model is: errors, forecasts and lists, beside simple guesses; whether chains agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.observations import least_like, reaching
from kolmogorov.data.view import ends_of
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
        self._mass = self._logs = 0.0
        self._sums: dict[str, float] = {}
        # By threshold and bin: sum of forecasts, sum of outcomes.
        self._bins = np.zeros((2, 0 if points is None else len(points) - 1, _BINS))

    def add(self, values: Floats, predictions: Floats, weights: Floats | None = None) -> Self:
        """Take in some more entries: what was observed, and what was predicted."""
        errors = {"square": (values - predictions) ** 2, "absolute": np.abs(values - predictions)}
        if self._binary:
            tiny = np.finfo(np.float64).eps
            safe = np.clip(predictions, tiny, 1.0 - tiny)
            errors["right"] = ((predictions >= 0.5) == (values == 1.0)).astype(np.float64)
            errors["surprise"] = -(values * np.log(safe) + (1.0 - values) * np.log1p(-safe))
        self._mass += float(values.size if weights is None else weights.sum())
        for name, error in errors.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(error.sum() if weights is None else weights @ error)
        return self

    def add_forecasts(self, values: Floats, forecasts: Floats, weights: Floats | None = None) -> Self:
        """Take in what was said of the same entries: float64[n, K], how probable each point is."""
        points: Any = self._points
        heavy = np.ones(len(values)) if weights is None else weights
        forecasts = (1.0 - FLOOR) * forecasts + FLOOR / len(points)
        self._logs += float(heavy @ np.log((forecasts * shares(values, points)).sum(axis=1)))
        chance = np.cumsum(forecasts[:, :0:-1], axis=1)[:, ::-1]
        for k in range(len(points) - 1):
            said, came = chance[:, k], values >= points[k + 1] - _ROUNDING
            which = np.minimum((said * _BINS).astype(np.int64), _BINS - 1)
            for sums, amount in zip(self._bins, (heavy * said, heavy * came), strict=True):
                sums[k] += np.bincount(which, weights=amount, minlength=_BINS)
        return self

    def result(self) -> dict[str, float]:
        """Return the scores of everything taken in."""
        if not self._mass:
            raise DataError("There are no observations to compare predictions with.")
        mean = {name: total / self._mass for name, total in self._sums.items()}
        rmse, mae = float(np.sqrt(mean["square"])), mean["absolute"]
        scores = {"rmse": rmse, "mae": mae, "rmse_rating": rmse * self._span, "mae_rating": mae * self._span}
        if self._binary:
            scores |= {"accuracy": mean["right"], "log_loss": mean["surprise"], "brier": mean["square"]}
        if self._points is not None:
            off = np.abs(self._bins[0] - self._bins[1]).sum(axis=1) / self._mass
            scores |= {"log_score": self._logs / self._mass, "calibration": float(off.mean())}
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


#: Observations that a mean counts as having seen beforehand; usual for ratings.
_ITEM_PRIOR, _USER_PRIOR = 10.0, 15.0
#: The best of the guesses, as a rule.
BIASES = "user and item biases"


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


def _sums(rows: NDArray[Any], values: Floats, weights: Floats | None, size: int) -> Floats:
    """Return the sum of each row's values and its number of observations, weighted."""
    heavy = np.ones(len(values)) if weights is None else weights
    return np.stack([np.bincount(rows, weights=part, minlength=size) for part in (heavy * values, heavy)])


@kernel
def list_scores(lists, indptr, indices, extra, out):
    """Write recall, precision, nDCG, average precision, reciprocal rank and hit of every list to `out`.

    `lists`, int64[n, k], holds items, best first, and -1 where there were too few. The relevant items of every row,
    increasing, are in `indptr` and `indices`. `extra` counts relevant items of a row that could not be listed; they are
    missed. `out` is float64[n, 6], 0 where a row has nothing relevant.
    """
    n, k = lists.shape
    for row in range(n):
        begin, end = indptr[row], indptr[row + 1]
        relevant = end - begin + extra[row]
        hits = 0
        gain = ideal = precision = reciprocal = 0.0
        for j in range(k):
            worth = 1.0 / np.log2(j + 2.0)
            if j < relevant:
                ideal += worth
            item = lists[row, j]
            if item < 0:
                continue
            low, high = begin, end
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < item:
                    low = middle + 1
                else:
                    high = middle
            if low < end and indices[low] == item:
                hits += 1
                gain += worth
                precision += hits / (j + 1.0)
                if hits == 1:
                    reciprocal = 1.0 / (j + 1.0)
        for j in range(6):
            out[row, j] = 0.0
        if relevant:
            out[row, 0] = hits / relevant
            out[row, 1] = hits / k
            out[row, 2] = gain / ideal
            out[row, 3] = precision / min(k, relevant)
            out[row, 4] = reciprocal
            out[row, 5] = 1.0 if hits else 0.0


def held_out(fitted: Trained, observations: Observations) -> Observations:
    """Return the observations of (user, item) pairs that the model was not fitted to."""
    users, items = entry_rows(fitted.training, observations)
    size = len(fitted.items)
    trained = fitted.training.user_rows().astype(np.int64) * size + fitted.training.item_rows()
    known = (users >= 0) & (items >= 0) & np.isin(users * size + items, trained)
    return observations.subset(~known)


_PER_LIST = ("recall", "precision", "ndcg", "map", "mrr", "hit_rate")


def ranking_scores(
    training: Observations,
    of_users: Callable[[Rows], Floats],
    test: Observations,
    k: int,
    likes: float,
    unknown: Unknown = "ignore",
    *,
    elsewhere: Callable[[Rows], Rows | None] | None = None,
) -> dict[str, float]:
    """Rank all items for every user of `test`, leave out those of the training, and look where the liked ones are.

    Items are ranked by what `of_users` returns for some rows of the training: a score for each of its items.
    `elsewhere` may make the lists of all of them at once, or return None.
    """
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
    rows = users[present]
    owner = np.cumsum(present)[liked.user_rows()] - 1
    found = items[liked.item_rows()]
    known = found < training.n_items
    # The model's order of items need not be the test's.
    order = np.lexsort((found[known], owner[known]))
    indptr = ends_of(np.bincount(owner[known], minlength=rows.size))
    missed = np.bincount(owner[~known], minlength=rows.size).astype(np.int64)
    counts = item_counts(training)
    lists = None if elsewhere is None else elsewhere(rows)
    if lists is None:
        lists = best_lists(lambda part, _: of_users(rows[part]), rows, training.rows, counts, k, 0)[0]
    by_user = np.empty((rows.size, len(_PER_LIST)))
    list_scores(lists, indptr, found[known][order], missed, by_user)
    shown = lists[lists >= 0]
    overall = {
        "coverage": np.unique(shown).size / counts.size,
        "mean_popularity": float(counts[shown].sum() / max(shown.size, 1)),
    }
    return dict(zip(_PER_LIST, by_user.mean(axis=0).tolist(), strict=True)) | overall


POPULARITY = "most popular"


def guess_scores(train: Observations, observations: Observations) -> dict[str, dict[str, float]]:
    """Return the errors of means and biases of what a model was fitted to, by the guess's name.

    Of yes and no these include the log score, computed as that of a model.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(random_state=0)
    >>> model = km.KolmogorovModel(6, learn_from="ratings", user_reg=0.3, random_state=0).fit(train)
    >>> guesses = guess_scores(train, test)
    >>> list(guesses), model.evaluate(test)["rmse"] < guesses["user and item biases"]["rmse"]
    (['overall mean', 'item means', 'user and item biases'], True)
    """
    test = observations.rescaled(train.scale)
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    guesses = SimpleGuesses.of(train)
    view, binary = test.rows, test.is_binary
    sums: dict[str, Scores] = {}
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        weights = view.weights[part] if view.weights.size else None
        made = guesses.at(users[view.owners(first, last)], items[view.indices[part]])
        for name, guess in made.items():
            scores = sums.setdefault(name, Scores(test.scale.span, binary, NO_AND_YES if binary else None))
            scores.add(view.values[part], guess, weights)
            if binary:
                scores.add_forecasts(view.values[part], np.column_stack((1.0 - guess, guess)), weights)
        view.forget(first, last)
    return {name: scores.result() for name, scores in sums.items()}


def popularity_scores(train: Observations, test: Observations, k: int) -> dict[str, float]:
    """Return the scores of lists that hold what most were observed with; the same for everybody."""
    counts = item_counts(train)
    popular = counts / max(int(counts.max()), 1)
    return ranking_scores(
        train, lambda rows: np.tile(popular, (rows.size, 1)), test.rescaled(train.scale), k, least_like(train)
    )


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
