"""Tables in which only yes is recorded: lists of ten beside implicit's ALS and BPR, EASE, item cosine and popularity.

MovieLens 100K and 1M with at least four stars as yes, a planted table, and two that are made up to be unlike them:
games that are bought with their extensions, and few areas of a site that very many people visit. Every user gives a
fifth of his entries to the test part; lists are made of all items that he has not in the training part. The setting of
every other method is the one of its grid with the largest nDCG on one split (seed 100), and is then reported on others
(seeds 0 and 1; of MovieLens 1M seed 0): means, and medians of the seconds of a fit, on two threads. `ListModel` has
nothing set; links or events alone are its two parts. The last column is the difference of nDCG from the best of the
other methods, user by user, and its standard error.

    python benchmarks/only_yes.py [ml-100k|ml-1m|planted|games|areas|rules|weight] ...
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens, peer
from threadpoolctl import threadpool_limits

from kolmogorov import KolmogorovModel, ListModel, Observations
from kolmogorov.descent.problem import UNOBSERVED_MASS, usual_weight
from kolmogorov.models.metrics import list_scores
from kolmogorov.models.ranking import best_items

CHOOSING, REPORTED = 100, range(2)
THREADS = 2
COMMAND = "python benchmarks/only_yes.py"
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


def matrix(table: Observations) -> Any:
    """Return the table as implicit takes it."""
    from scipy.sparse import csr_matrix

    cells = (np.ones(len(table), dtype=np.float32), (table.user_rows(), table.item_rows()))
    return csr_matrix(cells, shape=(table.n_users, table.n_items))


# --- methods: each returns what scores all items of some users -------------------------------------------------------


def popularity(train: Observations, seed: int) -> Scorer:
    counts = np.bincount(train.item_rows(), minlength=train.n_items).astype(float)
    return lambda rows: np.tile(counts / counts.max(), (len(rows), 1))


def cosine(train: Observations, seed: int, neighbours: int) -> Scorer:
    from implicit.nearest_neighbours import CosineRecommender

    model, table = CosineRecommender(K=neighbours, num_threads=THREADS), matrix(train)
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
    model.fit(matrix(train), show_progress=False)
    users, items = model.user_factors.astype(float), model.item_factors.astype(float)
    return lambda rows: users[rows] @ items.T


def ease(train: Observations, seed: int, reg: float) -> Scorer:
    """Fit EASE as it is printed (Steck 2019)."""
    table = matrix(train).astype(float)
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


def ours(psi: str) -> Callable[..., Scorer]:
    """Return a way to fit our model, with the command line's number of events."""

    def fit(train: Observations, seed: int, events: int = 48, mass: float = UNOBSERVED_MASS) -> Scorer:
        model = KolmogorovModel(events, psi=psi, unobserved=weight(train, mass), n_jobs=THREADS, random_state=seed)
        return model.fit(train).fitted_.of_users

    return fit


def weight(train: Observations, mass: float) -> float:
    """Return the weight with which all unobserved entries weigh so many times what was observed."""
    cells = train.n_users * train.n_items
    return min(1.0, mass / UNOBSERVED_MASS * usual_weight(len(train), cells))


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


def settings(grid: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def judged(
    fit: Callable[..., Scorer], table: Observations, seed: int, setting: dict[str, Any]
) -> tuple[dict[str, Any], float]:
    """Return nDCG and recall of every user on one split, the share of items listed, and the seconds of the fit."""
    train, test = table.split(0.2, random_state=seed, by="user")
    began = time.perf_counter()
    scorer = fit(train, seed, **setting)
    seconds = time.perf_counter() - began
    counts, seen = np.bincount(train.item_rows(), minlength=train.n_items), train.rows
    users = np.flatnonzero(test.rows.counts > 0)
    lists, found = np.empty((users.size, 10), dtype=np.int64), np.empty((users.size, 6))
    for first in range(0, users.size, 500):
        part = users[first : first + 500]
        scores = np.ascontiguousarray(scorer(part), dtype=float)
        best_items(scores, part, seen.indptr, seen.indices, counts, 0, lists[first : first + 500])
    wanted = test.rows.counts[users]
    indptr = np.concatenate(([0], np.cumsum(wanted))).astype(np.int64)
    list_scores(lists, indptr, test.rows.indices, np.zeros(users.size, dtype=np.int64), found)
    by_user = {"ndcg": np.full(table.n_users, np.nan), "recall": np.full(table.n_users, np.nan)}
    by_user["ndcg"][users], by_user["recall"][users] = found[:, 2], found[:, 0]
    return by_user | {"coverage": np.unique(lists[lists >= 0]).size / train.n_items}, seconds


def ndcg(scores: dict[str, Any]) -> float:
    return float(np.nanmean(scores["ndcg"]))


def compare(name: str, table: Observations, seeds: range = REPORTED) -> Table:
    """Choose settings on one split and report on the others."""
    columns = [Column("method"), Column("setting"), Column("nDCG@10", ".4f"), Column("recall@10", ".4f")]
    columns += [Column("coverage", ".2f"), Column("seconds", "significant"), Column("from the best peer")]
    result = Table(f"only-yes-{name}", f"{name}: {table}", f"{COMMAND} {name}", columns)
    rows = {}
    for method, (fit, grid) in METHODS.items():
        if "implicit" in method and not peer("implicit"):
            continue
        tried = list(settings(grid))
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
        result.add(method, words, *means_of, coverage, float(np.median([seconds for _, seconds in found])), told)
    return result


# --- the usual weight ------------------------------------------------------------------------------------------------


def weights() -> Table:
    """Show what weights do, for the default of `unobserved="auto"`."""
    columns = [Column("unobserved, times what was observed", "g"), Column("MovieLens, 16 events", ".4f")]
    columns += [Column("32 events", ".4f"), Column("a third of MovieLens, 16 events", ".4f"), Column("planted", ".4f")]
    result = Table("only-yes-weight", "nDCG@10 by the weight of the unobserved", f"{COMMAND} weight", columns)
    likes, visits = likes_of_movielens(), planted_visits()
    third = likes.subset(np.random.default_rng(0).random(len(likes)) < 1 / 3)
    fit = ours("soft")
    for mass in (1, 2, 4, 8, 16, 32):
        cells = []
        for table, events in ((likes, 16), (likes, 32), (third, 16), (visits, 16)):
            setting = {"events": events, "mass": mass}
            cells.append(np.mean([ndcg(judged(fit, table, seed, setting)[0]) for seed in range(100, 102)]))
        result.add(mass, *cells)
    return result


# --- rules -----------------------------------------------------------------------------------------------------------


def rules() -> Table:
    """Compare rules "who likes j likes i" with mlxtend's: how often they come true in the test part."""
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    columns = [Column("rules"), Column("number", ",d"), Column("cases", ",d"), Column("come true", ".1%")]
    columns += [
        Column("usual", ".1%"),
        Column("lift", ".2f"),
        Column("films covered", ",d"),
        Column("seconds", "significant"),
    ]
    result = Table("only-yes-rules", "Rules of likes, on likes held out", f"{COMMAND} rules", columns)
    train, test = likes_of_movielens().split(0.2, random_state=1, by="user")
    have, later = (matrix(part).toarray() > 0 for part in (train, test))
    began = time.perf_counter()
    model = KolmogorovModel(
        32, learn_from="ratings", user_reg=5.0, unobserved="auto", random_state=0, n_jobs=THREADS
    ).fit(train)
    # A rule is counted among all users: who is not seen to like something counts as not liking it.
    found = model.relations(min_ratings=20).rules(train.filled(), supported=False, max_rules=1000)
    seconds = time.perf_counter() - began
    result.add("implications, 1,000 strongest", *outcome(found.antecedent, found.consequent, have, later), seconds)
    began = time.perf_counter()
    sets = fpgrowth(pd.DataFrame(have), min_support=0.02, max_len=2)
    mined = association_rules(sets, metric="lift", min_threshold=0.0)
    seconds = time.perf_counter() - began
    for measure in ("lift", "confidence"):
        best = mined.sort_values(measure, ascending=False, kind="stable").head(1000)
        left, right = (np.array([next(iter(one)) for one in best[side]]) for side in ("antecedents", "consequents"))
        result.add(f"mlxtend, 1,000 by {measure}", *outcome(left, right, have, later), seconds)
    return result


def outcome(left: Any, right: Any, have: Any, later: Any) -> list[float]:
    """Return number, cases, share that came true, usual share, lift and films, of those who had not the consequent."""
    open_ = ~have[:, right]
    cases = have[:, left] & open_
    true = (cases & later[:, right]).sum() / cases.sum()
    usual = (later[:, right] & open_).sum(axis=0) / open_.sum(axis=0)
    base = (usual * cases.sum(axis=0)).sum() / cases.sum()
    return [len(left), int(cases.sum()), true, base, true / base, len(np.union1d(left, right))]


PARTS: dict[str, Callable[[], Table]] = {
    "ml-100k": lambda: compare("ml-100k", likes_of_movielens()),
    "ml-1m": lambda: compare("ml-1m", likes_of_movielens("ml-1m"), range(1)),
    "planted": lambda: compare("planted", planted_visits()),
    "games": lambda: compare("games", bought_games()),
    "areas": lambda: compare("areas", visited_areas()),
    "weight": weights,
}


def main() -> None:
    print(machine())
    wanted = sys.argv[1:] or [*PARTS, "rules"]
    with threadpool_limits(1, "blas"):
        for part in wanted:
            if part == "rules":
                if peer("mlxtend"):
                    finish(rules())
            else:
                finish(PARTS[part]())


if __name__ == "__main__":
    main()
