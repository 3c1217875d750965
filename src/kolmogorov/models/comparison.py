"""How good a model is on what it was not fitted to: lists and what was held out, beside what anybody could guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.dealing import Threads
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.liking import least_like, reaching
from kolmogorov.descent.trained import Trained, entry_rows, item_counts
from kolmogorov.models import metrics
from kolmogorov.models.ids import Strangers, Unknown
from kolmogorov.models.ranking_kernels import best_items


def trained_on(fitted: Trained, observations: Observations) -> NDArray[np.bool_]:
    """Tell of every observation whether the model was fitted to its (user, item) pair."""
    users, items = entry_rows(fitted.training, observations)
    known = (users >= 0) & (items >= 0)
    size = len(fitted.items)
    trained = fitted.training.user_rows().astype(np.int64) * size + fitted.training.item_rows()
    found: NDArray[np.bool_] = known & np.isin(users * size + items, trained)
    return found


def held_out(fitted: Trained, observations: Observations) -> Observations:
    """Return the observations of (user, item) pairs that the model was not fitted to."""
    return observations.subset(~trained_on(fitted, observations))


#: Scores that a share of users holds at once count so much less than scratch of the kernels; by judgement.
_LIGHT = 16


def ranking_scores(
    training: Observations,
    of_users: Callable[[Rows], Floats],
    test: Observations,
    k: int,
    likes: float,
    unknown: Unknown = "ignore",
    n_jobs: int | None = None,
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
    users = strangers.rows_by_id(training.users, training.rows.counts > 0, liked.users, present, "user")
    # An item without observations can still be listed.
    anything = np.ones(training.n_items, dtype=bool)
    items = strangers.rows_by_id(training.items, anything, liked.items, liked.seen_items, "item")
    strangers.tell()
    asked = np.flatnonzero(present)
    owner = np.cumsum(present)[liked.user_rows()] - 1
    found = items[liked.item_rows()]
    known = found < training.n_items
    # The model's order of items need not be the test's.
    order = np.lexsort((found[known], owner[known]))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(owner[known], minlength=asked.size)))).astype(np.int64)
    missed = np.bincount(owner[~known], minlength=asked.size).astype(np.int64)
    counts = item_counts(training)
    scores = metrics.RankingScores(indptr, found[known][order], missed, counts)
    seen, rows = training.rows, users[asked]

    def share(first: int, last: int) -> None:
        lists = np.empty((last - first, min(k, counts.size)), dtype=np.int64)
        mine = rows[first:last]
        best_items(of_users(mine), mine, seen.indptr, seen.indices, counts, 0, lists)
        scores.add(first, lists)

    made = None if elsewhere is None else elsewhere(rows)
    if made is not None:
        scores.add(0, made)
        return scores.result()
    with one_blas_thread(), Threads(n_jobs) as dealer:
        dealer.deal(share, asked.size, max(1, counts.size // _LIGHT))
    return scores.result()


POPULARITY = "most popular"
_NO_AND_YES = np.array([0.0, 1.0])


def guess_scores(train: Observations, observations: Observations) -> dict[str, dict[str, float]]:
    """Return the errors of means and biases of what a model was fitted to, by the guess's name.

    Of yes and no these include the log score, computed as that of a model.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(random_state=0)
    >>> model = km.KolmogorovModel(6, user_reg=0.3, random_state=0).fit(train)
    >>> guesses = guess_scores(train, test)
    >>> list(guesses), model.evaluate(test)["rmse"] < guesses["user and item biases"]["rmse"]
    (['overall mean', 'item means', 'user and item biases'], True)
    """
    test = observations.rescaled(train.scale)
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    guesses = metrics.SimpleGuesses.of(train)
    view, binary = test.rows, test.is_binary
    sums: dict[str, metrics.Scores] = {}
    wholes: dict[str, metrics.DistributionScores] = {}
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        weights = view.weights[part] if view.weights.size else None
        made = guesses.at(users[view.owners(first, last)], items[view.indices[part]])
        for name, guess in made.items():
            sums.setdefault(name, metrics.Scores(test.scale.span, binary)).add(view.values[part], guess, weights)
            if binary:
                whole = wholes.setdefault(name, metrics.DistributionScores(_NO_AND_YES))
                whole.add(view.values[part], np.column_stack((1.0 - guess, guess)), weights)
        view.forget(first, last)
    return {name: scores.result() | (wholes[name].result() if binary else {}) for name, scores in sums.items()}


def log_loss(values: Floats, guess: Floats, weights: Floats | None) -> float:
    """Return the log loss of probabilities of a yes, of each of which one hundredth is spread evenly.

    Examples
    --------
    >>> round(log_loss(np.array([1.0, 0.0]), np.array([1.0, 0.0]), None), 4)
    0.005
    """
    scores = metrics.DistributionScores(_NO_AND_YES)
    scores.add(values, np.column_stack((1.0 - guess, guess)), weights)
    return -scores.result()["log_score"]


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
