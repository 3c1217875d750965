"""Lists of ten where only yes is recorded: `ListModel` beside implicit's ALS and BPR, EASE, item cosine, popularity.

MovieLens 100K and 1M with at least four stars as yes, a planted table, and two that are made up to be unlike them:
games that are bought with their extensions, and few areas of a site that very many people visit. Every user gives a
fifth of his entries to the test part; lists are made of all items that he has not in the training part. The setting of
every other method is the one of its grid with the largest nDCG on one split (seed 100), and is then reported on others
(seeds 0 and 1; of MovieLens 1M seed 0): means, and medians of the seconds of a fit, on two threads. `ListModel` has
nothing set; links or events alone are its two parts. The last column is the difference of nDCG from the best of the
other methods, user by user, and its standard error.

    python benchmarks/lists.py [ml-100k|ml-1m|planted|games|areas] ...
"""

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens, peer, sparse_rows
from threadpoolctl import threadpool_limits

from kolmogorov import ListModel, Observations
from kolmogorov.models.metrics import list_scores
from kolmogorov.models.ranking import best_lists

CHOOSING, REPORTED = 100, range(2)
THREADS = 2
COMMAND = "python benchmarks/lists.py"
Scorer = Callable[[Any], Any]
Fit = Callable[[Observations, int], Scorer]


# --- tables ----------------------------------------------------------------------------------------------------------


def likes_of_movielens(name: str = "ml-100k") -> Observations:
    """Return the ratings of at least four stars, as yes."""
    ratings = movielens(name)
    liked = ratings.values >= 0.8
    users, items = ratings.users.ids[ratings.user_rows()[liked]], ratings.items.ids[ratings.item_rows()[liked]]
    return Observations.from_arrays(users, items, np.ones(users.size))


def planted_visits(n_users: int = 2000, n_items: int = 800, n_events: int = 12, seed: int = 0) -> Observations:
    """Draw visits of a Kolmogorov model: somebody goes where his event leads, if he hears of the place at all."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(n_events, 0.2), n_users)
    psi = rng.random((n_items, n_events)) < 0.15
    heard = rng.beta(1.0, 2.0, n_items) * rng.beta(4.0, 2.0, (n_users, 1))
    users, items = np.nonzero(rng.random((n_users, n_items)) < heard * (theta @ psi.T))
    return Observations.from_arrays(users, items, np.ones(users.size))


def bought_games(n_users: int = 3000, n_series: int = 700, seed: int = 0) -> Observations:
    """Draw purchases of series of games: who has the first part of one has others by how complete he likes things."""
    rng = np.random.default_rng(seed)
    size = 1 + rng.geometric(0.3, n_series)
    kind, fame = rng.integers(0, 10, n_series), rng.lognormal(0.0, 1.3, n_series)
    taste = rng.dirichlet(np.full(10, 0.4), n_users)[:, kind]
    share = fame / fame.sum() * (0.15 + 8.5 * taste) * rng.gamma(1.5, 4.0, (n_users, 1))
    series = rng.random(share.shape) < 1.0 - np.exp(-share)
    parts = np.repeat(series, size, axis=1)
    first = np.zeros(parts.shape[1], dtype=bool)
    first[np.cumsum(size) - size] = True
    complete = rng.beta(0.7, 0.9, (n_users, 1))
    parts &= first | (rng.random(parts.shape) < complete)
    users, items = np.nonzero(parts)
    return Observations.from_arrays(users, items, np.ones(users.size))


def visited_areas(n_users: int = 20_000, n_items: int = 260, seed: int = 0) -> Observations:
    """Draw visits of areas of a site: of few kinds, short, and a third of the areas are reached through another."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(n_items, 0.04), 18) * 0.75 + 0.25 * rng.dirichlet(np.full(n_items, 0.3))
    theta = rng.dirichlet(np.full(18, 0.12), n_users)
    visited = rng.random((n_users, n_items)) < 1.0 - np.exp(-rng.gamma(1.2, 3.0, (n_users, 1)) * (theta @ kinds))
    inner = np.flatnonzero(rng.random(n_items) < 1 / 3)
    through = rng.permutation(n_items)[: inner.size]
    visited[:, inner] |= visited[:, through] & (rng.random((n_users, inner.size)) < 0.35)
    users, items = np.nonzero(visited & (visited.sum(axis=1, keepdims=True) > 1))
    return Observations.from_arrays(users, items, np.ones(users.size))


# --- methods: each returns what scores all items of some users -------------------------------------------------------


def popularity(train: Observations, seed: int) -> Scorer:
    counts = np.bincount(train.item_rows(), minlength=train.n_items).astype(float)
    return lambda rows: np.tile(counts / counts.max(), (len(rows), 1))


def cosine(train: Observations, seed: int, neighbours: int) -> Scorer:
    from implicit.nearest_neighbours import CosineRecommender

    model, table = CosineRecommender(K=neighbours, num_threads=THREADS), sparse_rows(train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table, show_progress=False)
    return lambda rows: (table[rows] @ model.similarity.T).toarray().astype(float)


def als(train: Observations, seed: int, factors: int, reg: float, alpha: float) -> Scorer:
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors, regularization=reg, alpha=alpha, random_state=seed, num_threads=THREADS)
    return factored(model, train)


def bpr(train: Observations, seed: int, factors: int, rate: float, reg: float, epochs: int) -> Scorer:
    from implicit.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(
        factors, learning_rate=rate, regularization=reg, iterations=epochs, random_state=seed, num_threads=THREADS
    )
    return factored(model, train)


def factored(model: Any, train: Observations) -> Scorer:
    """Fit a model of implicit."""
    model.fit(sparse_rows(train), show_progress=False)
    users, items = model.user_factors.astype(float), model.item_factors.astype(float)
    return lambda rows: users[rows] @ items.T


def ease(train: Observations, seed: int, reg: float) -> Scorer:
    """Fit EASE as it is printed (Steck 2019)."""
    table = sparse_rows(train).astype(float)
    gram = (table.T @ table).toarray()
    inverse = np.linalg.inv(gram + reg * np.eye(len(gram)))
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return lambda rows: table[rows] @ weights


def listed(balance: Any = "auto") -> Callable[..., Scorer]:
    """Return a way to fit lists, or one of their parts."""

    def fit(train: Observations, seed: int) -> Scorer:
        return ListModel(balance=balance, n_jobs=THREADS, random_state=seed).fit(train).fitted_.of_users

    return fit


METHODS: dict[str, tuple[Callable[..., Scorer], dict[str, tuple[Any, ...]]]] = {
    "most popular": (popularity, {}),
    "item cosine (implicit)": (cosine, {"neighbours": (20, 50, 100, 200, 400)}),
    "ALS (implicit)": (als, {"factors": (16, 48, 128), "reg": (1.0, 5.0, 10.0, 20.0, 40.0), "alpha": (1.0, 2.0, 5.0)}),
    "BPR (implicit)": (bpr, {"factors": (64,), "rate": (0.01, 0.05), "reg": (0.001, 0.01), "epochs": (50, 100)}),
    "EASE": (ease, {"reg": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)}),
    "events alone": (listed(1.0), {}),
    "links alone": (listed(0.0), {}),
    "`ListModel`": (listed(), {}),
}
OURS = ("events alone", "links alone", "`ListModel`")


def judged(
    fit: Callable[..., Scorer], table: Observations, seed: int, setting: dict[str, Any]
) -> tuple[dict[str, Any], float]:
    """Return nDCG and recall of every user on one split, the share of items listed, and the seconds of the fit."""
    train, test = table.split(0.2, random_state=seed, by="user")
    began = time.perf_counter()
    scorer = fit(train, seed, **setting)
    seconds = time.perf_counter() - began
    users = np.flatnonzero(test.rows.counts > 0)
    counts = np.bincount(train.item_rows(), minlength=train.n_items)
    lists = best_lists(lambda part, _: scorer(users[part]), users, train.rows, counts, 10, 0)[0]
    place = np.searchsorted(users, test.user_rows())
    found = list_scores(lists, place, test.item_rows())
    by_user = {name: np.full(table.n_users, np.nan) for name in ("ndcg", "recall")}
    for name, numbers in by_user.items():
        numbers[users] = found[name]
    return by_user | {"coverage": np.unique(lists).size / train.n_items}, seconds


def ndcg(scores: dict[str, Any]) -> float:
    return float(np.nanmean(scores["ndcg"]))


def compare(name: str, table: Observations, seeds: range) -> None:
    """Choose settings on one split, and save the rows of a table: what the others give."""
    columns = [Column("table"), Column("method"), Column("setting"), Column("nDCG@10", ".4f")]
    columns += [Column("recall@10", ".4f"), Column("coverage", ".2f"), Column("seconds", "significant")]
    result = Table("lists", "Lists of ten", COMMAND, [*columns, Column("from the best peer")])
    rows = {}
    for method, (fit, grid) in METHODS.items():
        if "implicit" in method and not peer("implicit"):
            continue
        tried = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        if len(tried) > 1:
            tried.sort(key=lambda setting: -ndcg(judged(fit, table, CHOOSING, setting)[0]))
        rows[method] = tried[0], [judged(fit, table, seed, tried[0]) for seed in seeds]
        print(method, tried[0], round(ndcg(rows[method][1][0][0]), 4), flush=True)
    means = {method: np.mean([scores["ndcg"] for scores, _ in found], axis=0) for method, (_, found) in rows.items()}
    best = max((method for method in rows if method not in OURS), key=lambda method: np.nanmean(means[method]))
    for method, (setting, found) in rows.items():
        means_of = [np.mean([np.nanmean(scores[score]) for scores, _ in found]) for score in ("ndcg", "recall")]
        coverage = np.mean([scores["coverage"] for scores, _ in found])
        words = ", ".join(f"{parameter} {value:g}" for parameter, value in setting.items())
        apart = (means[method] - means[best])[~np.isnan(means[best])]
        error = apart.std(ddof=1) / apart.size**0.5
        told = "" if method == best else f"{apart.mean():+.4f} ± {error:.4f}"
        result.add(name, method, words, *means_of, coverage, float(np.median([seconds for _, seconds in found])), told)
    finish(result, parts=True)


TABLES: dict[str, Callable[[], Observations]] = {
    "ml-100k": likes_of_movielens,
    "ml-1m": lambda: likes_of_movielens("ml-1m"),
    "planted": planted_visits,
    "games": bought_games,
    "areas": visited_areas,
}


def main() -> None:
    """Compare on the tables that were asked for, or on all."""
    print(machine())
    with threadpool_limits(1, "blas"):
        for name in sys.argv[1:] or TABLES:
            compare(name, TABLES[name](), range(1) if name == "ml-1m" else REPORTED)


if __name__ == "__main__":
    main()
