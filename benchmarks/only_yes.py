"""Tables in which only yes is recorded: lists of ten beside implicit's ALS and BPR, item cosine and popularity.

MovieLens 100K with at least four stars as yes, and a planted table. Every user gives a fifth of his entries to the test
part; lists are made of all items that he has not in the training part. The setting of every other method is the one of
its grid with the largest nDCG on one split (seed 100), and is then reported on others (seeds 0 to 4): means, and
medians of the seconds of a fit, on two threads. Our models have nothing set but the command line's number of events.

    python benchmarks/only_yes.py [ml-100k|planted|rules|weight] ...
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

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov.fitting.descent.objective import UNOBSERVED_MASS, usual_weight
from kolmogorov.surface.retrieval import ranking_scores

CHOOSING, REPORTED = 100, range(5)
THREADS = 2
COMMAND = "python benchmarks/only_yes.py"
Scorer = Callable[[Any], Any]
Fit = Callable[[Observations, int], Scorer]


# --- tables ----------------------------------------------------------------------------------------------------------


def likes_of_movielens() -> Observations:
    """Return the ratings of at least four stars, as yes."""
    ratings = movielens("ml-100k")
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


def ours(levels: Any) -> Callable[..., Scorer]:
    """Return a way to fit our model, with the command line's number of events."""

    def fit(train: Observations, seed: int, events: int = 48, mass: float = UNOBSERVED_MASS) -> Scorer:
        model = KolmogorovModel(
            events, levels=levels, unobserved=weight(train, mass), n_jobs=THREADS, random_state=seed
        )
        return model.fit(train).fitted_.of_users

    return fit


def drawn(train: Observations, seed: int) -> Scorer:
    return BayesianKolmogorovModel(unobserved="auto", n_jobs=THREADS, random_state=seed).fit(train).fitted_.of_users


def weight(train: Observations, mass: float) -> float:
    """Return the weight with which all unobserved entries weigh so many times what was observed."""
    cells = train.n_users * train.n_items
    return min(1.0, mass / UNOBSERVED_MASS * usual_weight(len(train), cells))


METHODS: dict[str, tuple[Callable[..., Scorer], dict[str, tuple[Any, ...]]]] = {
    "most popular": (popularity, {}),
    "item cosine (implicit)": (cosine, {"neighbours": (20, 50, 100, 200, 400)}),
    "ALS (implicit)": (
        als,
        {"factors": (16, 32, 64, 128), "reg": (1.0, 5.0, 10.0, 20.0, 40.0), "alpha": (1.0, 2.0, 5.0)},
    ),
    "BPR (implicit)": (
        bpr,
        {"factors": (64, 128), "rate": (0.01, 0.02), "reg": (0.001, 0.01), "epochs": (50, 100)},
    ),
    "`fit --only-yes`": (ours("chances"), {}),
    "`fit --only-yes --levels 2`": (ours(2), {}),
    "draws": (drawn, {}),
}


def settings(grid: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def judged(fit: Callable[..., Scorer], table: Observations, seed: int, setting: dict[str, Any]) -> tuple[Any, float]:
    """Return the scores of lists on one split, and the seconds of the fit."""
    train, test = table.split(0.2, random_state=seed, by="user")
    began = time.perf_counter()
    scorer = fit(train, seed, **setting)
    seconds = time.perf_counter() - began
    return ranking_scores(train, scorer, test, k=10, likes=0.6), seconds


def compare(name: str, table: Observations) -> Table:
    """Choose settings on one split and report on the others."""
    columns = [Column("method"), Column("setting"), Column("nDCG@10", ".4f"), Column("recall@10", ".4f")]
    columns += [Column("coverage", ".2f"), Column("seconds", "significant")]
    result = Table(f"only-yes-{name}", f"{name}: {table}", f"{COMMAND} {name}", columns)
    for method, (fit, grid) in METHODS.items():
        if "implicit" in method and not peer("implicit"):
            continue
        tried = list(settings(grid))
        if len(tried) > 1:
            tried.sort(key=lambda setting: -judged(fit, table, CHOOSING, setting)[0]["ndcg"])
        setting = tried[0]
        found = [judged(fit, table, seed, setting) for seed in REPORTED]
        means = [np.mean([scores[score] for scores, _ in found]) for score in ("ndcg", "recall", "coverage")]
        words = ", ".join(f"{parameter} {value:g}" for parameter, value in setting.items())
        result.add(method, words, *means, float(np.median([seconds for _, seconds in found])))
    return result


# --- the usual weight ------------------------------------------------------------------------------------------------


def weights() -> Table:
    """Show what weights do, for the default of `unobserved="auto"`."""
    columns = [Column("unobserved, times what was observed", "g"), Column("MovieLens, 16 events", ".4f")]
    columns += [Column("32 events", ".4f"), Column("a third of MovieLens, 16 events", ".4f"), Column("planted", ".4f")]
    result = Table("only-yes-weight", "nDCG@10 by the weight of the unobserved", f"{COMMAND} weight", columns)
    likes, visits = likes_of_movielens(), planted_visits()
    third = likes.subset(np.random.default_rng(0).random(len(likes)) < 1 / 3)
    fit = ours("chances")
    for mass in (1, 2, 4, 8, 16, 32):
        cells = []
        for table, events in ((likes, 16), (likes, 32), (third, 16), (visits, 16)):
            setting = {"events": events, "mass": mass}
            cells.append(np.mean([judged(fit, table, seed, setting)[0]["ndcg"] for seed in range(100, 102)]))
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
    "planted": lambda: compare("planted", planted_visits()),
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
