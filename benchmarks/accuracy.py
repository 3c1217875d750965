"""Accuracy of the Bayesian Kolmogorov model beside its peers: errors, seconds, peak memory, coverage of intervals.

MovieLens 100K, random 80/20 (five seeds) and the official u1 to u5; MovieLens 1M, random 80/20 (one seed). Every method
runs in a process of its own. `python benchmarks/accuracy.py 100k u 1m binary time` runs parts, in this order of naming;
`only=NAME` and `skip=NAME` choose methods whose names contain NAME.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from surroundings import machine, movielens, peak_memory, reliability

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.metrics import evaluate, simple_guesses

Result = dict[str, float]


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    for part in [word for word in sys.argv[1:] if "=" not in word] or PARTS:
        PARTS[part]()


def random_100k() -> None:
    """Five random splits of MovieLens 100K."""
    ratings = movielens("ml-100k")
    compare("MovieLens 100K, random 80/20", [ratings.split(0.2, random_state=seed) for seed in range(5)])


def random_1m() -> None:
    """One random split of MovieLens 1M."""
    compare("MovieLens 1M, random 80/20", [movielens("ml-1m").split(0.2, random_state=0)], MORE_EVENTS)


def official_100k() -> None:
    """The five splits that come with MovieLens 100K."""
    compare("MovieLens 100K, u1 to u5", official())


def official() -> list[tuple[Observations, Observations]]:
    """Return the splits that come with MovieLens 100K."""
    import os

    movielens("ml-100k")
    folder = Path(os.environ["KOLMOGOROV_DATA"]) / "ml-100k"
    return [
        tuple(km.read_ratings(folder / f"u{k}.{part}", maximum=5) for part in ("base", "test"))  # type: ignore[misc]
        for k in range(1, 6)
    ]


# --- methods: (train, test, seed) -> predictions in stars, and the share that 90% intervals hold -----------------


def biases(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    guesses = simple_guesses(train, users[test.user_rows()], items[test.item_rows()])
    return 5 * guesses["user and item biases"], None


def point(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    model = km.KolmogorovModel(24, user_reg=25.0, item_reg=0.1, simplex_solver="active_set", random_state=seed)
    return 5 * model.fit(train).predict(test), None


def bag(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    base = km.KolmogorovModel(24, user_reg=10.0, item_reg=0.1, simplex_solver="active_set")
    return 5 * km.bagged(train, 10, model=base, random_state=seed).predict(test), None


def bayes(train: Observations, test: Observations, seed: int, n_events: int = 24) -> tuple[Any, float | None]:
    model = km.BayesianKolmogorovModel(n_events, random_state=seed).fit(train)
    low, high = model.predict_interval(test, level=0.9)
    stars = 5 * test.values
    return 5 * model.predict(test), float(((stars >= low - 1e-9) & (stars <= high + 1e-9)).mean())


def bayes_40(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    return bayes(train, test, seed, n_events=40)


def surprise_svd(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    from surprise import SVD

    return _surprise(SVD(n_factors=100, n_epochs=50, lr_all=0.005, reg_all=0.08, random_state=seed), train, test), None


def surprise_svdpp(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    from surprise import SVDpp

    return _surprise(SVDpp(n_factors=10, random_state=seed), train, test), None


def _surprise(algorithm: Any, train: Observations, test: Observations) -> Any:
    import pandas as pd
    from surprise import Dataset, Reader

    frame = pd.DataFrame(
        {
            "user": train.users.ids[train.user_rows()],
            "item": train.items.ids[train.item_rows()],
            "stars": 5 * train.values,
        }
    )
    algorithm.fit(Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset())
    pairs = zip(test.users.ids[test.user_rows()], test.items.ids[test.item_rows()], strict=True)
    return np.array([algorithm.predict(user, item).est for user, item in pairs])


def cmfrec(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    import pandas as pd
    from cmfrec import CMF

    frame = pd.DataFrame(
        {
            "UserId": train.users.ids[train.user_rows()],
            "ItemId": train.items.ids[train.item_rows()],
            "Rating": 5 * train.values,
        }
    )
    model = CMF(k=40, lambda_=15.0, verbose=False, random_state=seed + 1).fit(frame)
    found = model.predict(test.users.ids[test.user_rows()], test.items.ids[test.item_rows()])
    return np.clip(np.where(np.isnan(found), 5 * train.values.mean(), found), 1, 5), None


def myfm(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    from myfm import MyFMRegressor

    design, answers, sizes, asked = _design(train, test)
    model = MyFMRegressor(rank=8, random_seed=seed).fit(
        design, answers, n_iter=300, n_kept_samples=250, group_shapes=sizes
    )
    return np.clip(model.predict(asked), 1, 5), None


def _design(train: Observations, test: Observations) -> tuple[Any, Any, list[int], Any]:
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore")
    pairs = [
        np.column_stack([table.users.ids[table.user_rows()], table.items.ids[table.item_rows()]])
        for table in (train, test)
    ]
    design = encoder.fit_transform(pairs[0])
    return design, 5 * train.values, [len(ids) for ids in encoder.categories_], encoder.transform(pairs[1])


METHODS: dict[str, Callable[..., tuple[Any, float | None]]] = {
    "user and item biases": biases,
    "Surprise SVD": surprise_svd,
    "Surprise SVD++": surprise_svdpp,
    "cmfrec": cmfrec,
    "myfm (rank 8)": myfm,
    "KM, point (D = 24)": point,
    "KM, bag of 10 (D = 24)": bag,
    "KM, Bayesian (D = 24)": bayes,
}
#: For the larger table.
MORE_EVENTS: dict[str, Callable[..., tuple[Any, float | None]]] = {"KM, Bayesian (D = 40)": bayes_40}


def _run(method: str, train: Observations, test: Observations, seed: int, pipe: Any) -> None:
    before = peak_memory()
    began = time.perf_counter()
    predictions, coverage = (METHODS | MORE_EVENTS)[method](train, test, seed)
    seconds = time.perf_counter() - began
    memory = peak_memory() - before
    error = float(np.sqrt(np.mean((predictions - 5 * test.values) ** 2)))
    pipe.send((error, seconds, memory, coverage))


def _wanted(method: str) -> bool:
    only = [word[5:] for word in sys.argv if word.startswith("only=")]
    skip = [word[5:] for word in sys.argv if word.startswith("skip=")]
    return (not only or any(name in method for name in only)) and not any(name in method for name in skip)


def compare(title: str, splits: list[tuple[Observations, Observations]], more: dict[str, Any] | None = None) -> None:
    """Print one row per method."""
    print(f"\n{title}; mean and standard deviation over {len(splits)}\n")
    print("| method | RMSE, stars | sd | on the p-scale | seconds | memory, MB | 90% intervals hold |")
    print("|---|---|---|---|---|---|---|")
    context = multiprocessing.get_context("spawn")
    for method in filter(_wanted, METHODS | (more or {})):
        rows = []
        for seed, (train, test) in enumerate(splits):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(method, train, test, seed, there))
            process.start()
            there.close()
            try:
                rows.append(here.recv())
            except EOFError:
                sys.exit(f"{method} failed")
            process.join()
        errors = [row[0] for row in rows]
        spread = f"{np.std(errors, ddof=1):.4f}" if len(errors) > 1 else ""
        seconds, memory = (float(np.mean([row[k] for row in rows])) for k in (1, 2))
        held = f"{np.mean([row[3] for row in rows]):.1%}" if rows[0][3] is not None else ""
        print(
            f"| {method} | {np.mean(errors):.4f} | {spread} | {np.mean(errors) / 5:.4f} | {seconds:.1f} | {memory:.0f} "
            f"| {held} |",
            flush=True,
        )


def compare_binary() -> None:
    """Print log loss and Brier score on 0/1 data."""
    zoo = km.datasets.load("zoo")
    digits = km.datasets.load("digits")
    half = Observations.from_arrays(digits.user_rows(), digits.item_rows(), (digits.values >= 0.5).astype(float))
    for name, table in (("zoo", zoo), ("digits, ink at half", half)):
        print(f"\n{name}, random 80/20, mean over 3 seeds\n")
        print("| method | log loss | Brier score | accuracy | calibration error |\n|---|---|---|---|---|")
        found: dict[str, list[Result]] = {}
        for seed in range(3):
            train, test = table.split(0.2, random_state=seed)
            for method, scores in binary_scores(train, test, seed).items():
                found.setdefault(method, []).append(scores)
        for method, rows in found.items():
            mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
            cells = f"{mean['log_loss']:.4f} | {mean['brier']:.4f} | {mean['accuracy']:.1%} | {mean['calibration']:.3f}"
            print(f"| {method} | {cells} |", flush=True)


def binary_scores(train: Observations, test: Observations, seed: int) -> dict[str, Result]:
    def scores(predictions: Any) -> Result:
        safe = np.clip(predictions, 1e-3, 1 - 1e-3)
        points = reliability(test.values, safe)
        apart = float(np.abs(points[:, 0] - points[:, 1]).mean())
        return evaluate(test.values, safe, None, 1.0, True) | {"calibration": apart}

    found = {}
    guesses = simple_guesses(train, test.user_rows(), test.item_rows())
    found["item rates"] = scores(guesses["item means"])
    found["restricted Boltzmann machine"] = scores(boltzmann(train, test, seed))
    size = 16 if train.n_users > 500 else 8
    found[f"KM, point (D = {size})"] = scores(
        km.KolmogorovModel(size, user_reg=0.3, n_init=5, random_state=seed).fit(train).predict(test)
    )
    for likelihood in ("gaussian", "bernoulli"):
        model = km.BayesianKolmogorovModel(size, likelihood=likelihood, random_state=seed).fit(train)  # type: ignore[arg-type]
        found[f"KM, Bayesian, {likelihood} (D = {size})"] = scores(model.predict(test))
    return found


def boltzmann(train: Observations, test: Observations, seed: int) -> Any:
    """Fill holes with item rates, fit scikit-learn's machine, and read the visible units' probabilities."""
    from scipy.special import expit
    from sklearn.neural_network import BernoulliRBM

    sums = np.bincount(train.item_rows(), weights=train.values, minlength=train.n_items)
    rates = sums / np.maximum(train.columns.counts, 1)
    table = np.tile(rates, (train.n_users, 1))
    table[train.user_rows(), train.item_rows()] = train.values
    machine = BernoulliRBM(n_components=64, learning_rate=0.05, n_iter=60, random_state=seed).fit(table)
    hidden = machine.transform(table)
    visible = expit(hidden @ machine.components_ + machine.intercept_visible_)
    return visible[test.user_rows(), test.item_rows()]


def compare_time() -> None:
    """Print the seconds of 200 sweeps of one chain and of 200 iterations of myfm, in one process."""
    from myfm import MyFMRegressor

    train, test = movielens("ml-100k").split(0.2, random_state=0)
    design, answers, sizes, _ = _design(train, test)
    settings: dict[str, Any] = {"n_chains": 1, "n_samples": 10, "random_state": 0}
    km.BayesianKolmogorovModel(24, **settings, burn_in=1, thin=1).fit(train)
    print("\n200 sweeps of one chain at D = 24, and 200 iterations of myfm at rank 8, MovieLens 100K; best of 3\n")
    ours, theirs = [], []
    for _ in range(3):
        began = time.perf_counter()
        km.BayesianKolmogorovModel(24, **settings, burn_in=100, thin=10).fit(train)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        MyFMRegressor(rank=8, random_seed=0).fit(design, answers, n_iter=200, n_kept_samples=180, group_shapes=sizes)
        theirs.append(time.perf_counter() - began)
    print(f"kolmogorov {min(ours):.2f} s, myfm {min(theirs):.2f} s: {min(ours) / min(theirs):.2f} times")


PARTS: dict[str, Callable[[], None]] = {
    "100k": random_100k,
    "u": official_100k,
    "1m": random_1m,
    "binary": compare_binary,
    "time": compare_time,
}

if __name__ == "__main__":
    main()
