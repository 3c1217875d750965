"""Beside the peers on the same splits in one run: errors or lists or rules, seconds, memory.

    python benchmarks/peers.py [ratings|sparse|lists|rules|repeats] ...

Every fit has a process of its own, in which NumPy, SciPy, pandas, scikit-learn and numba are loaded before anything is
measured. Seconds are those of a fit and its predictions, without imports; memory is the peak beyond what the process
held before, with the import of the peer. Ratings run on one thread, lists on two. A setting was either chosen on a
split that is not reported (seeds of 100 and above for ratings, seed 0 for lists), or is the package's own.
LensKit is in no extra, since it brings PyTorch: `pip install lenskit`, or `pip install --group peers`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import accuracy
import numpy as np
import only_yes
import planted
import rules
from harness import Column, Table, finish, in_process, machine, movielens, peak_memory, peer
from only_yes import Scorer
from tables import RESULTS
from threadpoolctl import threadpool_limits

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.errors import ConvergenceWarning

COMMAND = "python benchmarks/peers.py"
#: Peers that belong to no extra.
ALONE = ("lenskit",)
Predicted = tuple[Any, float | None]


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    os.environ.setdefault("TQDM_DISABLE", "1")  # myfm's progress
    for part in sys.argv[1:] or PARTS:
        finish(PARTS[part]())


# --- ratings: (train, test, seed) -> predictions in stars, and the share that 90% intervals hold ---------------------


def lenskit_als(train: Observations, test: Observations, seed: int) -> Predicted:
    from lenskit.als import BiasedMFScorer

    model = BiasedMFScorer(features=40, epochs=15, regularization=0.15)
    model.train(lenskit_data(train, 5 * train.values), lenskit_options(seed))
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    u, i = users[test.user_rows()], items[test.item_rows()]
    # The last row stands for whom the training part does not know.
    left, right = _padded(model.user_embeddings), _padded(model.item_embeddings)
    biases = _padded(model.bias.user_biases)[u] + _padded(model.bias.item_biases)[i]
    return np.clip(model.bias.global_bias + biases + (left[u] * right[i]).sum(axis=1), 1, 5), None


def _padded(array: Any) -> Any:
    """Append a row of zeros, which the number -1 then means."""
    return np.concatenate([np.asarray(array, dtype=float), np.zeros((1, *np.shape(array)[1:]))])


def lenskit_data(train: Observations, ratings: Any | None) -> Any:
    """Return a table as LensKit takes it, with row numbers for ids."""
    import pandas as pd
    from lenskit.data import from_interactions_df

    columns = {"user_id": train.user_rows(), "item_id": train.item_rows()}
    frame = pd.DataFrame(columns if ratings is None else {**columns, "rating": ratings})
    return from_interactions_df(frame, users=np.arange(train.n_users), items=np.arange(train.n_items))


def lenskit_options(seed: int) -> Any:
    from lenskit.training import TrainingOptions

    return TrainingOptions(rng=seed, device="cpu")


def nmf_of_means(train: Observations, test: Observations, seed: int) -> Predicted:
    """Factorise a full table, whose holes hold the means of their items."""
    from sklearn.decomposition import NMF

    counts, sums = train.columns.counts, np.bincount(train.item_rows(), train.values, train.n_items)
    table = np.tile((sums + train.values.mean()) / (counts + 1), (train.n_users, 1))
    table[train.user_rows(), train.item_rows()] = train.values
    model = NMF(16, init="nndsvda", max_iter=200, random_state=seed)
    return _nmf(model, model.fit_transform(table), train, test), None


def nmf_of_zeros(train: Observations, test: Observations, seed: int) -> Predicted:
    """Factorise the sparse table as it comes: what is not observed is a zero there."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import NMF

    cells = (train.values, (train.user_rows(), train.item_rows()))
    model = NMF(16, init="nndsvda", max_iter=200, random_state=seed)
    left = model.fit_transform(csr_matrix(cells, shape=(train.n_users, train.n_items)))
    return _nmf(model, left, train, test), None


def _nmf(model: Any, left: Any, train: Observations, test: Observations) -> Any:
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    u, i = users[test.user_rows()], items[test.item_rows()]
    found = (left[u] * model.components_.T[i]).sum(axis=1)
    return np.clip(5 * np.where((u >= 0) & (i >= 0), found, train.values.mean()), 1, 5)


#: What a method imports, and how it predicts.
RATERS: dict[str, tuple[str | None, Callable[[Observations, Observations, int], Predicted]]] = {
    "user and item biases": (None, accuracy.biases),
    "scikit-learn NMF, holes as zeros": ("sklearn.decomposition", nmf_of_zeros),
    "scikit-learn NMF, holes as item means": ("sklearn.decomposition", nmf_of_means),
    "LensKit BiasedMF": ("lenskit.als", lenskit_als),
    "Surprise SVD": ("surprise", accuracy.surprise_svd),
    "cmfrec CMF": ("cmfrec", accuracy.cmfrec),
    "myfm, ids only, rank 8": ("myfm", accuracy.myfm(8, pattern=False)),
    "myfm, who rated what, rank 8": ("myfm", accuracy.myfm(8)),
    "myfm, ordered probit, rank 8": ("myfm", accuracy.myfm(8, ordered=True)),
    "`KolmogorovModel()`": (None, accuracy.point),
    '`KolmogorovModel(psi="soft")`': (None, accuracy.chances),
    "`BayesianKolmogorovModel()`": (None, accuracy.draws),
}
DRAWS, FIGURES = "`BayesianKolmogorovModel()`", ("error", "seconds", "memory")


def rated(method: str, train: Observations, test: Observations, seed: int) -> accuracy.Run:
    """Return squared errors in stars, seconds, memory and coverage."""
    import warnings

    warnings.simplefilter("ignore", ConvergenceWarning)
    module, work = RATERS[method]
    before = peak_memory()
    _imported(module, "pandas")
    with threadpool_limits(1):
        began = time.process_time()
        predictions, coverage = work(train, test, seed)
        seconds = time.process_time() - began
    squares, memory = (predictions - 5 * test.values) ** 2, peak_memory() - before
    return accuracy.Run(squares, seconds, memory, np.nan if coverage is None else coverage)


def _imported(*modules: str | None) -> None:
    for module in modules:
        if module is not None:
            import_module(module)


def compare_ratings(name: str, title: str, splits: list[Any], methods: list[str]) -> Table:
    """Make a table of errors."""
    columns = [Column("method"), Column("RMSE, stars", ".4f"), Column("beside draws"), Column("seconds", "significant")]
    columns += [Column("memory, MB", ".0f"), Column("90% intervals hold", ".1%", missing="has none")]
    words = f"{title}; one thread for each" + (f"; mean over {len(splits)}" if len(splits) > 1 else "")
    table = Table(f"peers-{name}", words, f"{COMMAND} {name}", columns)
    present = [method for method in methods if RATERS[method][0] is None or _present(RATERS[method][0] or "")]
    runs = {m: [in_process(rated, m, *split, seed) for seed, split in enumerate(splits)] for m in present}
    for method, found in runs.items():
        apart = None if method == DRAWS else accuracy.beside(found, runs[DRAWS])
        error, seconds, memory = (float(np.mean([getattr(run, name) for run in found])) for name in FIGURES)
        held = float(np.mean([run.coverage for run in found]))
        table.add(method, error, apart, seconds, memory, None if np.isnan(held) else held)
    return table


def _present(module: str) -> bool:
    package = module.partition(".")[0]
    return peer(package, None if package in ALONE else "bench")


def ratings() -> Table:
    """MovieLens 100K, two random splits."""
    table = movielens("ml-100k")
    splits = [table.split(0.2, random_state=seed) for seed in range(2)]
    return compare_ratings("ratings", "MovieLens 100K, random 80/20", splits, list(RATERS))


def sparse() -> Table:
    """A planted table with six ratings a user."""
    split = planted.made("books", 0).split(0.2, random_state=0)
    title = f"Planted, {planted.TABLES['books'][0]}, random 80/20"
    # The full table of item means would have 160 million cells.
    methods = [method for method in RATERS if method != "scikit-learn NMF, holes as item means"]
    return compare_ratings("sparse", title, [split], methods)


# --- lists: each returns what scores all items of some users ---------------------------------------------------------


def lenskit_ease(train: Observations, seed: int, reg: float) -> Scorer:
    from lenskit.knn import EASEScorer

    model = EASEScorer(regularization=reg)
    model.train(lenskit_data(train, None), lenskit_options(seed))
    table, weights = only_yes.matrix(train), np.asarray(model.weights, dtype=float)
    return lambda rows: table[rows] @ weights


def nmf(train: Observations, seed: int, components: int) -> Scorer:
    from sklearn.decomposition import NMF

    model = NMF(components, init="nndsvda", random_state=seed)
    left = model.fit_transform(only_yes.matrix(train))
    return lambda rows: (left[rows] @ model.components_).astype(float)


def topics(train: Observations, seed: int, components: int) -> Scorer:
    """Users are documents, items words; a topic is what items go together."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(components, n_jobs=1, random_state=seed)
    shares = model.fit_transform(only_yes.matrix(train))
    words = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return lambda rows: shares[rows] @ words


#: What a method imports, how it is fitted, and a grid where only_yes.py has chosen nothing.
LISTERS: dict[str, tuple[str | None, Callable[..., Scorer], dict[str, tuple[Any, ...]] | None]] = {
    "most popular": (None, only_yes.popularity, None),
    "LDA (scikit-learn)": ("sklearn.decomposition", topics, {"components": (16, 32)}),
    "NMF (scikit-learn)": ("sklearn.decomposition", nmf, {"components": (8, 16, 32)}),
    "item cosine (implicit)": ("implicit", only_yes.cosine, None),
    "BPR (implicit)": ("implicit", only_yes.bpr, None),
    "ALS (implicit)": ("implicit", only_yes.als, None),
    "EASE (LensKit)": ("lenskit.knn", lenskit_ease, {"reg": (100.0, 300.0, 1000.0)}),
    "`KolmogorovModel`, events alone": (None, only_yes.ours("soft"), {"events": (48,)}),
    "`ListModel`": (None, only_yes.listed(), None),
}


def listed(method: str, table: Observations, seed: int, setting: dict[str, Any]) -> tuple[float, float, float, float]:
    """Return nDCG, recall, seconds and memory."""
    module, fit, _ = LISTERS[method]
    before = peak_memory()
    _imported(module, "pandas")
    with threadpool_limits(1, "blas"):
        scores, seconds = only_yes.judged(fit, table, seed, setting)
    return *(float(np.nanmean(scores[score])) for score in ("ndcg", "recall")), seconds, peak_memory() - before


def lists() -> Table:
    """Lists of ten where only likes are recorded."""
    columns = [Column("method"), Column("setting"), Column("nDCG@10", ".4f"), Column("recall@10", ".4f")]
    columns += [Column("seconds", "significant"), Column("memory, MB", ".0f")]
    title = (
        "MovieLens 100K, at least four stars as yes, a fifth of each user's held out; mean over 2 splits; two threads"
    )
    result, table = Table("peers-lists", title, f"{COMMAND} lists", columns), only_yes.likes_of_movielens()
    chosen = chosen_before()
    for method, (module, _, grid) in LISTERS.items():
        if module is not None and not _present(module):
            continue
        setting = chosen[method] if grid is None else best_setting(method, table, list(only_yes.settings(grid)))
        found = [in_process(listed, method, table, seed, setting) for seed in only_yes.REPORTED[:2]]
        words = ", ".join(f"{parameter} {value:g}" for parameter, value in setting.items())
        result.add(method, words, *np.mean(found, axis=0))
    return result


def best_setting(method: str, table: Observations, tried: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the setting with the best lists on a split that is not reported."""
    if len(tried) == 1:
        return tried[0]
    scores = [in_process(listed, method, table, only_yes.CHOOSING, setting)[0] for setting in tried]
    return tried[int(np.argmax(scores))]


def chosen_before() -> dict[str, dict[str, Any]]:
    """Return the settings that only_yes.py chose on its first split."""
    found = {}
    for method, words, *_ in Table.read("only-yes-ml-100k", RESULTS).rows:
        pairs = [word.split() for word in words.split(", ") if word]
        found[method] = {name: float(value) if "." in value else int(value) for name, value in pairs}
    return found


# --- rules -----------------------------------------------------------------------------------------------------------


def compare_rules() -> Table:
    """Rules between single films, chosen on the training part and counted on the held-out part."""
    columns = [Column("rules"), Column("number", ",.0f"), Column("cases", ",.0f"), Column("hold", ".1%")]
    columns += [
        Column("usual", ".1%"),
        Column("lift", ".3f"),
        Column("films", ",.0f"),
        Column("seconds", "significant"),
    ]
    title = "MovieLens 100K, random 80/20, likes are at least four stars; a fit and its rules"
    table = Table("peers-rules", title, f"{COMMAND} rules", columns)
    if peer("mlxtend"):
        train, test = movielens("ml-100k").split(0.2, random_state=0)
        for name, figures in rules.measured(train, test, 0.8, 0).items():
            if "100" in name:
                # Without the share of cases above the base rate, which benchmarks/rules.py has.
                table.add(name, *figures[:5], *figures[6:])
    return table


# --- the same again --------------------------------------------------------------------------------------------------


def _implicit(name: str) -> Callable[[Observations, int], Any]:
    def fitted(train: Observations, threads: int) -> Any:
        from implicit.als import AlternatingLeastSquares
        from implicit.bpr import BayesianPersonalizedRanking

        kind = {"als": AlternatingLeastSquares, "bpr": BayesianPersonalizedRanking}[name]
        model = kind(32, iterations=10, random_state=1, num_threads=threads)
        model.fit(only_yes.matrix(train), show_progress=False)
        return model.item_factors

    return fitted


def _cmfrec(train: Observations, threads: int) -> Any:
    import pandas as pd
    from cmfrec import CMF

    columns = {"UserId": train.user_rows(), "ItemId": train.item_rows(), "Rating": 5 * train.values}
    return CMF(k=20, verbose=False, random_state=1, nthreads=threads).fit(pd.DataFrame(columns)).B_


def _lenskit(train: Observations, threads: int) -> Any:
    from lenskit.als import BiasedMFScorer
    from lenskit.parallel import initialize

    initialize(processes=1, threads=threads, backend_threads=threads)
    model = BiasedMFScorer(features=20, epochs=5)
    model.train(lenskit_data(train, 5 * train.values), lenskit_options(1))
    return model.item_embeddings


def _ours(drawn: bool) -> Callable[[Observations, int], Any]:
    def fitted(train: Observations, threads: int) -> Any:
        if drawn:
            chains: dict[str, Any] = {"n_chains": 2, "burn_in": 3, "n_samples": 2}
            model: Any = km.BayesianKolmogorovModel(8, random_state=1, n_jobs=threads, **chains)
        else:
            model = km.KolmogorovModel(8, max_iter=5, random_state=1, n_jobs=threads)
        return model.fit(train).predict(train)

    return fitted


#: What a method imports, and what it learns with a number of threads; Surprise and myfm fit on one.
REPEATED: dict[str, tuple[str | None, Callable[[Observations, int], Any]]] = {
    "implicit ALS": ("implicit", _implicit("als")),
    "implicit BPR": ("implicit", _implicit("bpr")),
    "cmfrec CMF": ("cmfrec", _cmfrec),
    "LensKit BiasedMF": ("lenskit", _lenskit),
    "`KolmogorovModel`": (None, _ours(drawn=False)),
    "`BayesianKolmogorovModel`": (None, _ours(drawn=True)),
}


def fingerprint(method: str, train: Observations, threads: int) -> str:
    """Return a hash of the bits that a method learns."""
    import hashlib
    import warnings

    warnings.simplefilter("ignore")
    with threadpool_limits(1, "blas"):
        learned = np.ascontiguousarray(REPEATED[method][1](train, threads))
    return hashlib.sha256(learned.tobytes()).hexdigest()


def repeats() -> Table:
    """Fit with one seed: twice on two threads, and once on one."""
    columns = [Column("method"), Column("again on 2 threads"), Column("on 1 and on 2 threads")]
    title = "MovieLens 100K, one seed: are the learned numbers the same to the last bit?"
    table = Table("peers-repeats", title, f"{COMMAND} repeats", columns)
    ratings = movielens("ml-100k")
    for method, (module, _) in REPEATED.items():
        if module is None or _present(module):
            one, two, again = (in_process(fingerprint, method, ratings, threads) for threads in (1, 2, 2))
            table.add(method, *("same" if same else "differ" for same in (two == again, one == two)))
    return table


PARTS: dict[str, Callable[[], Table]] = {
    "ratings": ratings,
    "sparse": sparse,
    "lists": lists,
    "rules": compare_rules,
    "repeats": repeats,
}

if __name__ == "__main__":
    main()
