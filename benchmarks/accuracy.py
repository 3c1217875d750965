"""Accuracy of Kolmogorov models beside their peers: errors, seconds, peak memory, coverage of intervals.

MovieLens 100K, random 80/20 (five seeds) and the official u1 to u5; MovieLens 1M, random 80/20 and 90/10. Every method
runs in a process of its own, on one thread. `python benchmarks/accuracy.py PART...` runs parts in this order of naming:
100k u 1m 1m90 choices binary time. `only=NAME` and `skip=NAME` choose methods whose names contain NAME,
`jobs=16` runs so many processes side by side, of which the processor's seconds are counted, and `keep=FOLDER` writes
what each run found, so that a command that was stopped goes on from there.

"Beside draws" is how much larger an error is than that of our draws, with the standard error of this difference, from
the squared errors of the same ratings. Less than two standard errors is a tie.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from factorisation import blocks, predicted
from harness import (
    Column,
    Table,
    finish,
    in_process,
    kept,
    machine,
    movielens,
    paired_error,
    peak_memory,
    peer,
    ratio,
    reliability,
)
from scipy.sparse import csr_matrix

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.models.metrics import Scores, SimpleGuesses

Result = dict[str, float]
COLUMNS = [
    Column("method"),
    Column("RMSE, stars", ".4f"),
    Column("sd", ".4f"),
    Column("beside draws"),
    Column("on the p-scale", ".4f"),
    Column("seconds", ".1f"),
    Column("memory, MB", ".0f"),
    Column("90% intervals hold", ".1%"),
]
BINARY = [
    Column("method"),
    Column("log loss", ".4f"),
    Column("Brier score", ".4f"),
    Column("accuracy", ".1%"),
    Column("calibration error", ".3f"),
]


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    for part in [word for word in sys.argv[1:] if "=" not in word] or PARTS:
        PARTS[part]()


def random_100k() -> None:
    """Five random splits of MovieLens 100K."""
    ratings = movielens("ml-100k")
    splits = [ratings.split(0.2, random_state=seed) for seed in range(5)]
    few = [name for name in METHODS if not name.startswith("myfm") or name in FEW]
    compare("100k", "MovieLens 100K, random 80/20", splits, few)


def random_1m() -> None:
    """One random split of MovieLens 1M."""
    split = movielens("ml-1m").split(0.2, random_state=0)
    compare("1m", "MovieLens 1M, random 80/20", [split], ["user and item biases", *LARGE, *ONE, "KM, draws"])


def ninety_1m() -> None:
    """Three random splits of MovieLens 1M by 90/10, as papers on neural completion have it."""
    ratings = movielens("ml-1m")
    splits = [ratings.split(0.1, random_state=seed) for seed in range(3)]
    compare("1m90", "MovieLens 1M, random 90/10", splits, ["user and item biases", "KM, draws"])


def official_100k() -> None:
    """The five splits that come with MovieLens 100K."""
    runs = runs_of("u", official(), ["user and item biases", *MACHINES, *ONE, "KM, draws"])
    finish(compared("u", "MovieLens 100K, u1 to u5", runs), complete=_everything())
    first = compared("u1", "MovieLens 100K, u1", {method: rows[:1] for method, rows in runs.items()})
    first.command = "python benchmarks/accuracy.py u"
    finish(first, complete=_everything())


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
    guesses = SimpleGuesses.of(train).at(users[test.user_rows()], items[test.item_rows()])
    return 5 * guesses["user and item biases"], None


def point(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    return 5 * km.KolmogorovModel(random_state=seed, n_jobs=1).fit(train).predict(test), None


def chances(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    model = km.KolmogorovModel(psi="soft", random_state=seed, n_jobs=1)
    return 5 * model.fit(train).predict(test), None


def two_valued(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    return _drawn(km.BayesianKolmogorovModel(psi="binary", random_state=seed, n_jobs=1), train, test)


def draws(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    return _drawn(km.BayesianKolmogorovModel(random_state=seed, n_jobs=1), train, test)


def one_chain(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    return _drawn(km.BayesianKolmogorovModel(n_chains=1, random_state=seed, n_jobs=1), train, test)


def _drawn(model: Any, train: Observations, test: Observations) -> tuple[Any, float | None]:
    low, high = model.fit(train).predict_interval(test, level=0.9)
    stars = 5 * test.values
    return 5 * model.predict(test), float(((stars >= low - 1e-9) & (stars <= high + 1e-9)).mean())


def surprise_svd(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
    from surprise import SVD

    return _surprise(SVD(n_factors=100, n_epochs=50, lr_all=0.005, reg_all=0.08, random_state=seed), train, test), None


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


def myfm(
    rank: int, *, pattern: bool = True, ordered: bool = False
) -> Callable[[Observations, Observations, int], tuple[Any, float | None]]:
    def fitted(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
        return predicted(train, test, rank, seed, pattern=pattern, ordered=ordered), None

    return fitted


METHODS: dict[str, Callable[[Observations, Observations, int], tuple[Any, float | None]]] = {
    "user and item biases": biases,
    "Surprise SVD": surprise_svd,
    "cmfrec": cmfrec,
    "myfm, ids only, rank 8": myfm(8, pattern=False),
    **{f"myfm, who rated what, rank {rank}": myfm(rank) for rank in (8, 16, 32, 64)},
    **{f"myfm, ordered probit, rank {rank}": myfm(rank, ordered=True) for rank in (8, 16, 32)},
    "KM, one model": point,
    "KM, one model with chances": chances,
    "KM, draws with two values": two_valued,
    "KM, draws, one chain": one_chain,
    "KM, draws": draws,
}


ONE = ["KM, one model", "KM, one model with chances"]
MACHINES = [name for name in METHODS if name.startswith("myfm")]
#: Those of them that are best on u1 to u5.
FEW = [
    "myfm, ids only, rank 8", "myfm, who rated what, rank 8", "myfm, who rated what, rank 16",
    "myfm, ordered probit, rank 8",
]  # fmt: skip
LARGE = ["myfm, who rated what, rank 16", "myfm, who rated what, rank 32"]


def _needs(method: str) -> str | None:
    """Return the package that a peer needs."""
    return next((name for name in ("surprise", "cmfrec", "myfm") if method.lower().startswith(name)), None)


@dataclass(frozen=True)
class Run:
    """One method on one split."""

    squares: Any
    seconds: float
    memory: float
    coverage: float

    @property
    def error(self) -> float:
        """Root mean squared error, stars."""
        return float(np.sqrt(self.squares.mean()))


def _run(method: str, train: Observations, test: Observations, seed: int) -> Run:
    before = peak_memory()
    began = time.process_time()
    predictions, coverage = METHODS[method](train, test, seed)
    seconds = time.process_time() - began
    memory = peak_memory() - before
    return Run((predictions - 5 * test.values) ** 2, seconds, memory, np.nan if coverage is None else coverage)


def beside(runs: list[Run], draws: list[Run]) -> str:
    """Say how much larger the error is, and the standard error of that, from the same ratings of every split."""
    apart = [run.error - ours.error for run, ours in zip(runs, draws, strict=True)]
    spread = [
        paired_error(run.squares, ours.squares) / (run.error + ours.error)
        for run, ours in zip(runs, draws, strict=True)
    ]
    difference, error = float(np.mean(apart)), float(np.sqrt(np.square(spread).sum())) / len(runs)
    return f"{difference:+.4f} ± {error:.4f}" + (", a tie" if abs(difference) < 2 * error else "")


def _jobs() -> int:
    return int((_chosen("jobs") or ["1"])[0])


def _wanted(method: str) -> bool:
    only, skip = _chosen("only"), _chosen("skip")
    return (not only or any(name in method for name in only)) and not any(name in method for name in skip)


def _chosen(word: str) -> list[str]:
    return [given[5:] for given in sys.argv if given.startswith(f"{word}=")]


def compare(part: str, title: str, splits: list[tuple[Observations, Observations]], chosen: list[str]) -> None:
    """Save a table with one row per method."""
    table = compared(part, title, runs_of(part, splits, chosen))
    finish(table, complete=_everything())
    if part == "100k":
        finish(opening(table), complete=_everything())


def runs_of(part: str, splits: list[tuple[Observations, Observations]], chosen: list[str]) -> dict[str, list[Run]]:
    """Run every method on every split."""
    methods = [m for m in chosen if _wanted(m) and (_needs(m) is None or peer(_needs(m) or ""))]
    # The longest first, so that none is left alone at the end.
    tasks = [(method, *split, seed) for method in reversed(methods) for seed, split in enumerate(splits)]
    folder = Path(_chosen("keep")[0]) if _chosen("keep") else None

    def one_task(task: tuple[Any, ...]) -> Run:
        words = part, task[0], task[3]
        return kept(Run, folder, words, lambda: in_process(_run, *task))  # type: ignore[no-any-return]

    with ThreadPoolExecutor(_jobs()) as pool:
        found = dict(zip([(task[0], task[3]) for task in tasks], pool.map(one_task, tasks), strict=True))
    return {method: [found[method, seed] for seed in range(len(splits))] for method in methods}


def compared(part: str, title: str, runs: dict[str, list[Run]]) -> Table:
    """Return a table with one row per method."""
    number = len(next(iter(runs.values())))
    words = f"{title}; {f'mean and standard deviation over {number}; ' if number > 1 else ''}one thread for each method"
    table = Table(f"accuracy-{part}", words, f"python benchmarks/accuracy.py {part}", COLUMNS)
    for method, rows in runs.items():
        errors = [row.error for row in rows]
        spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else None
        apart = beside(rows, runs["KM, draws"]) if method != "KM, draws" and "KM, draws" in runs else None
        seconds, memory = (float(np.mean([getattr(row, name) for row in rows])) for name in ("seconds", "memory"))
        held = float(np.mean([row.coverage for row in rows]))
        coverage = None if np.isnan(held) else held
        table.add(method, np.mean(errors), spread, apart, np.mean(errors) / 5, seconds, memory, coverage)
    return table


def _everything() -> bool:
    return not _chosen("only") + _chosen("skip")


def opening(table: Table) -> Table:
    """Return what the README shows of a table."""
    columns = [
        Column("MovieLens 100K, random 80/20"),
        Column("RMSE, stars", ".3f"),
        Column("beside draws"),
        Column("seconds, one thread", ".1f"),
    ]
    short = Table("readme", table.title, table.command, [*columns, Column("what you get")])
    for method, words in OPENING.items():
        row = next((row for row in table.rows if row[0] == method), None)
        if row is not None:
            short.add(words[0], row[1], row[3], row[5], words[1])
    return short


#: Methods that the README shows: how it names them, and what they leave behind.
OPENING = {
    "user and item biases": ("user and item biases", "two numbers a rating"),
    "Surprise SVD": ("Surprise, SVD", "factors"),
    "cmfrec": ("cmfrec", "factors"),
    "myfm, who rated what, rank 8": ("myfm, with who rated what", "factors, an average of 400 draws"),
    "KM, one model": ("`KolmogorovModel()`", "16 events, each item happens in some of them"),
    "KM, one model with chances": ('`KolmogorovModel(psi="soft")`', "16 events, a chance for each item"),
    "KM, draws": ("`BayesianKolmogorovModel()`", "an average of draws: intervals, and one model to read"),
}


def each(work: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
    """Call for each task, every one in a process of its own, as many side by side as `jobs=` says."""
    with ThreadPoolExecutor(_jobs()) as pool:
        return list(pool.map(lambda task: in_process(work, *task), tasks))


#: What is changed from the defaults of draws, to see what each is worth.
CHOICES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "two values": {"psi": "binary", "n_events": 24},
    "without features of the pattern": {"n_features": 0},
    "10 features of the pattern": {"n_features": 10},
    "8 events": {"n_events": 8},
    "16 events": {"n_events": 16},
    "24 events": {"n_events": 24},
    "one chain": {"n_chains": 1},
    "half the burn-in": {"burn_in": 50},
}


def compare_choices() -> None:
    """What the choices behind draws are worth, on a split that no other table reports."""
    columns = [Column("draws"), Column("RMSE, stars", ".4f"), Column("seconds", ".1f")]
    title = "MovieLens 100K, random 80/20, one split; 4 chains where nothing else is said; one thread"
    table = Table("accuracy-choices", title, "python benchmarks/accuracy.py choices", columns)
    train, test = movielens("ml-100k").split(0.2, random_state=100)
    for words, found in zip(CHOICES, each(_choice, [(words, train, test) for words in CHOICES]), strict=True):
        table.add(words, *found)
    finish(table)


def _choice(words: str, train: Observations, test: Observations) -> tuple[float, float]:
    began = time.perf_counter()
    options = {"n_chains": 4, **CHOICES[words]}
    model = km.BayesianKolmogorovModel(random_state=0, n_jobs=1, **options).fit(train)
    seconds = time.perf_counter() - began
    return model.evaluate(test)["rmse_rating"], seconds


def compare_binary() -> None:
    """Make tables of log loss and Brier score on 0/1 data."""
    zoo = km.datasets.load("zoo")
    digits = km.datasets.load("digits")
    half = Observations.from_arrays(digits.user_rows(), digits.item_rows(), (digits.values >= 0.5).astype(float))
    for name, words, data in (("zoo", "Zoo", zoo), ("digits", "Digits, ink at half", half)):
        title = f"{words}, random 80/20, mean over 3 seeds"
        table = Table(f"accuracy-{name}", title, "python benchmarks/accuracy.py binary", BINARY)
        found: dict[str, list[Result]] = {}
        for seed in range(3):
            train, test = data.split(0.2, random_state=seed)
            for method, scores in binary_scores(train, test, seed).items():
                found.setdefault(method, []).append(scores)
        for method, rows in found.items():
            mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
            table.add(method, mean["log_loss"], mean["brier"], mean["accuracy"], mean["calibration"])
        finish(table)


def binary_scores(train: Observations, test: Observations, seed: int) -> dict[str, Result]:
    def scores(predictions: Any) -> Result:
        safe = np.clip(predictions, 1e-3, 1 - 1e-3)
        points = reliability(test.values, safe)
        apart = float(np.abs(points[:, 0] - points[:, 1]).mean())
        return Scores(1.0, True).add(test.values, safe).result() | {"calibration": apart}

    found = {}
    guesses = SimpleGuesses.of(train).at(test.user_rows(), test.item_rows())
    found["item rates"] = scores(guesses["item means"])
    found["restricted Boltzmann machine"] = scores(boltzmann(train, test, seed))
    found["KM, one model"] = scores(km.KolmogorovModel(random_state=seed).fit(train).predict(test))
    one = km.KolmogorovModel(psi="soft", random_state=seed)
    found["KM, one model with chances"] = scores(one.fit(train).predict(test))
    two = km.BayesianKolmogorovModel(16 if train.n_users > 500 else 8, psi="binary", random_state=seed)
    found["KM, draws with two values"] = scores(two.fit(train).predict(test))
    for likelihood in ("gaussian", "bernoulli"):
        model = km.BayesianKolmogorovModel(likelihood=likelihood, random_state=seed).fit(train)  # type: ignore[arg-type]
        found[f"KM, draws, {likelihood}"] = scores(model.predict(test))
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
    if not peer("myfm"):
        return
    from myfm import MyFMRegressor

    train, test = movielens("ml-100k").split(0.2, random_state=0)
    known, _, sizes = blocks(train, test, pattern=True)
    nothing, answers = csr_matrix((len(train), 0)), train.scale.rating(train.values)
    settings: dict[str, Any] = {"n_chains": 1, "n_samples": 25, "random_state": 0}
    km.BayesianKolmogorovModel(8, **settings, burn_in=1).fit(train)
    print(
        "\n200 sweeps of one chain with 8 events, and 200 iterations of myfm at rank 8, MovieLens 100K; median of 3\n"
    )
    ours, theirs, times = ratio(
        lambda: km.BayesianKolmogorovModel(8, **settings, burn_in=100).fit(train),
        lambda: MyFMRegressor(rank=8, random_seed=0).fit(
            nothing, answers, X_rel=known, n_iter=200, n_kept_samples=180, group_shapes=sizes
        ),
    )
    print(f"kolmogorov {ours.median:.2f} s, myfm {theirs.median:.2f} s: {times:.2f} times")


PARTS: dict[str, Callable[[], None]] = {
    "100k": random_100k,
    "u": official_100k,
    "1m": random_1m,
    "1m90": ninety_1m,
    "choices": compare_choices,
    "binary": compare_binary,
    "time": compare_time,
}

if __name__ == "__main__":
    main()
