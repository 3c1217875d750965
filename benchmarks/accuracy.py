"""Errors of Kolmogorov models beside their peers: ratings, tables of many kinds, one model by its events.

    python benchmarks/accuracy.py [PART | TABLE] ... [jobs=N]

Parts are 100k, u, 1m and 1m90 (MovieLens 100K, random 80/20 and the official u1 to u5; MovieLens 1M, random 80/20 and
90/10), kinds (all tables of `planted.py`; each may be named instead) and events (u1: one model by its number of events,
beside the draws that it is learned from and one learned from ratings with the best of a grid of ridges). Every fit but
those of the last has a process of its own, on one thread, in which imports and kernels are loaded before anything is
measured; seconds are the processor's, so that `jobs=` may be as many as there are processors. Memory is the peak beyond
what the process held before.

"Beside draws" is how much larger an error is than that of our draws, with the standard error of this difference, from
the losses of the same ratings; less than two standard errors is a tie. Settings of peers were chosen on splits of seeds
from 100 on; only the rank and kind of factorisation machines in `kinds` is the best by the test part itself.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from harness import Column, Table, data_folder, finish, in_process, machine, movielens, paired_error, peak_memory, peer
from planted import TABLES, made
from scipy import sparse
from threadpoolctl import threadpool_limits

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.descent.fitted import entry_rows
from kolmogorov.models.metrics import SimpleGuesses

Split = tuple[Observations, Observations]
#: (train, test, seed) -> predictions in rating units, and the share of test ratings that 90% intervals hold.
Method = Callable[[Observations, Observations, int], tuple[Any, float | None]]
COLUMNS = [
    Column("table"),
    Column("method"),
    Column("RMSE", ".4f"),
    Column("beside draws"),
    Column("seconds", "significant"),
    Column("memory, MB", ".0f"),
    Column("90% intervals hold", ".1%"),
]
KINDS = [
    Column("table"),
    Column("what it is"),
    Column("biases", ".4f"),
    Column("myfm, best rank", ".4f"),
    Column("rank"),
    Column("one model", ".4f"),
    Column("with chances", ".4f"),
    Column("draws", ".4f"),
    Column("draws / myfm"),
    Column("seconds: myfm, one model, draws", [".1f", ".1f", ".1f"], "{} / {} / {}"),
]
COMMAND = "python benchmarks/accuracy.py"


# --- methods ---------------------------------------------------------------------------------------------------------


def biases(train: Observations, test: Observations, seed: int) -> tuple[Any, None]:
    return train.scale.rating(SimpleGuesses.of(train).at(*entry_rows(train, test))["user and item biases"]), None


def one_model(**options: Any) -> Method:
    def fitted(train: Observations, test: Observations, seed: int) -> tuple[Any, None]:
        model = km.KolmogorovModel(random_state=seed, n_jobs=1, **options).fit(train)
        return model.predict(test), None

    return fitted


def draws(**options: Any) -> Method:
    def fitted(train: Observations, test: Observations, seed: int) -> tuple[Any, float | None]:
        model = km.BayesianKolmogorovModel(random_state=seed, n_jobs=1, **options).fit(train)
        held = None if train.is_binary else inside(model, test, 0.9)
        return model.predict(test), held

    return fitted


def inside(model: km.BayesianKolmogorovModel, test: Observations, level: float) -> float:
    """Return the share of ratings in their intervals."""
    low, high = model.predict_interval(test, level=level)
    ratings = test.scale.rating(test.values)
    return float(((ratings >= low - 1e-9) & (ratings <= high + 1e-9)).mean())


def myfm(rank: int, *, pattern: bool = True, ordered: bool = False) -> Method:
    """Bayesian factorisation machines that know what draws know: ids, and with `pattern` who rated what.

    A user is known by an id and by the items rated, an item by an id and by its raters, each 1 / sqrt(how many).
    """
    n_iter, n_kept = 500, 400

    def fitted(train: Observations, test: Observations, seed: int) -> tuple[Any, None]:
        from myfm import MyFMClassifier, MyFMOrderedProbit, MyFMRegressor, RelationBlock

        cells = (np.ones(len(train)), (train.user_rows(), train.item_rows()))
        rated = sparse.csr_matrix(cells, shape=(train.n_users, train.n_items))
        known, asked, sizes = [], [], []
        places = zip((train.user_rows(), train.item_rows()), entry_rows(train, test), strict=True)
        for table, (mine, theirs) in zip((rated, rated.T.tocsr()), places, strict=True):
            counts = np.maximum(np.asarray(table.sum(axis=1)).ravel(), 1.0)
            blocks = [sparse.identity(table.shape[0], format="csr")]
            if pattern:
                blocks.append(sparse.diags(counts**-0.5) @ table)
            sizes += [block.shape[1] for block in blocks]
            # The last row is of those that the training part does not know.
            side = sparse.vstack([sparse.hstack(blocks), sparse.csr_matrix((1, sum(b.shape[1] for b in blocks)))])
            known.append(RelationBlock(mine, side.tocsr()))
            asked.append(RelationBlock(np.where(theirs < 0, side.shape[0] - 1, theirs), side.tocsr()))
        nothing = [sparse.csr_matrix((len(part), 0)) for part in (train, test)]
        options = {"n_iter": n_iter, "n_kept_samples": n_kept, "group_shapes": sizes, "X_rel": known}
        answers = train.scale.rating(train.values)
        if train.is_binary:
            model = MyFMClassifier(rank=rank, random_seed=seed).fit(nothing[0], train.values > 0.5, **options)
            return model.predict_proba(nothing[1], X_rel=asked), None
        if ordered:
            points, codes = np.unique(answers, return_inverse=True)
            model = MyFMOrderedProbit(rank=rank, random_seed=seed).fit(nothing[0], codes, **options)
            return model.predict_proba(nothing[1], X_rel=asked) @ points, None
        model = MyFMRegressor(rank=rank, random_seed=seed).fit(nothing[0], answers, **options)
        return np.clip(model.predict(nothing[1], X_rel=asked), train.scale.minimum, train.scale.maximum), None

    return fitted


def framed(table: Observations) -> Any:
    """Return user, item and rating as a data frame."""
    import pandas as pd

    columns = {"UserId": table.users.ids[table.user_rows()], "ItemId": table.items.ids[table.item_rows()]}
    return pd.DataFrame(columns | {"Rating": table.scale.rating(table.values)})


def surprise_svd(train: Observations, test: Observations, seed: int) -> tuple[Any, None]:
    from surprise import SVD, Dataset, Reader

    model = SVD(n_factors=100, n_epochs=50, lr_all=0.005, reg_all=0.08, random_state=seed)
    model.fit(Dataset.load_from_df(framed(train), Reader(rating_scale=(1, 5))).build_full_trainset())
    asked = framed(test)
    return np.array([model.predict(*pair).est for pair in zip(asked["UserId"], asked["ItemId"], strict=True)]), None


def cmfrec(train: Observations, test: Observations, seed: int) -> tuple[Any, None]:
    from cmfrec import CMF

    frame, asked = framed(train), framed(test)
    model = CMF(k=40, lambda_=15.0, verbose=False, random_state=seed + 1).fit(frame)
    found = model.predict(asked["UserId"], asked["ItemId"])
    return np.clip(np.where(np.isnan(found), frame["Rating"].mean(), found), 1, 5), None


BIASES, DRAWS = "user and item biases", "`BayesianKolmogorovModel()`"
ONE, CHANCES = "`KolmogorovModel()`", '`KolmogorovModel(psi="soft")`'
ONE_16, CHANCES_16 = "`KolmogorovModel(16)`", '`KolmogorovModel(16, psi="soft")`'
#: What a method imports, and how it predicts.
METHODS: dict[str, tuple[str | None, Method]] = {
    BIASES: (None, biases),
    "Surprise SVD": ("surprise", surprise_svd),
    "cmfrec CMF": ("cmfrec", cmfrec),
    **{f"myfm, ids only, rank {rank}": ("myfm", myfm(rank, pattern=False)) for rank in (4, 8, 16, 32)},
    **{f"myfm, who rated what, rank {rank}": ("myfm", myfm(rank)) for rank in (4, 8, 16, 32, 64)},
    **{f"myfm, ordered probit, rank {rank}": ("myfm", myfm(rank, ordered=True)) for rank in (4, 8, 16, 32)},
    ONE: (None, one_model()),
    CHANCES: (None, one_model(psi="soft")),
    ONE_16: (None, one_model(n_events=16)),
    CHANCES_16: (None, one_model(n_events=16, psi="soft")),
    "draws, one chain": (None, draws(n_chains=1)),
    DRAWS: (None, draws()),
}
OURS = [ONE, CHANCES, ONE_16, CHANCES_16, DRAWS]
OF_RANK_8 = ["myfm, ids only, rank 8", "myfm, who rated what, rank 8", "myfm, ordered probit, rank 8"]
LARGER = [
    *(f"myfm, who rated what, rank {rank}" for rank in (16, 32, 64)),
    *(f"myfm, ordered probit, rank {rank}" for rank in (16, 32)),
]


@dataclass(frozen=True)
class Run:
    """One method on one split: the loss of every held-out cell, squared or log, seconds, MB, what intervals hold."""

    losses: Any
    seconds: float
    memory: float
    coverage: float
    binary: bool

    @property
    def error(self) -> float:
        """Root mean squared error in rating units, with yes and no the log loss."""
        return float(self.losses.mean()) if self.binary else float(np.sqrt(self.losses.mean()))


def run(method: str, train: Observations, test: Observations, seed: int) -> Run:
    module, work = METHODS[method]
    for name in ("pandas", module):
        if name is not None:
            import_module(name)
    km.BayesianKolmogorovModel(2, n_chains=1, burn_in=1, n_samples=1, n_jobs=1).fit(km.datasets.load("zoo"))
    with threadpool_limits(1):
        before, began = peak_memory(), time.process_time()
        found, coverage = work(train, test, seed)
        seconds, memory = time.process_time() - began, peak_memory() - before
    if train.is_binary:
        chance = np.clip(found, 1e-3, 1.0 - 1e-3)
        losses = -np.log(np.where(test.values > 0.5, chance, 1.0 - chance))
    else:
        losses = (found - test.scale.rating(test.values)) ** 2
    return Run(losses, seconds, memory, np.nan if coverage is None else coverage, train.is_binary)


def runs_of(splits: list[Split], methods: list[str], jobs: int) -> dict[str, list[Run]]:
    """Run every method whose package is there on every split."""
    present = [name for name in METHODS if name in methods and ((module := METHODS[name][0]) is None or peer(module))]
    # The longest first, so that none is left alone at the end.
    tasks = [(method, *split, seed) for method in reversed(present) for seed, split in enumerate(splits)]
    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(lambda task: in_process(run, *task), tasks))
    return {name: [one for one, task in zip(found, tasks, strict=True) if task[0] == name] for name in present}


def mean(runs: list[Run], name: str) -> float:
    return float(np.mean([getattr(run, name) for run in runs]))


def relative_error(runs: list[Run], others: list[Run]) -> float:
    """Return the standard error of a ratio of mean errors, from the losses of the same cells."""
    spread = [
        paired_error(one.losses, other.losses) / other.losses.mean() / (1 if one.binary else 2)
        for one, other in zip(runs, others, strict=True)
    ]
    return float(np.sqrt(np.square(spread).sum())) / len(runs)


def tie(difference: float, error: float) -> str:
    return ", a tie" if abs(difference) < 2 * error else ""


# --- MovieLens ---------------------------------------------------------------------------------------


def official() -> list[Split]:
    """Return the splits that come with MovieLens 100K."""
    movielens("ml-100k")
    folder = data_folder() / "ml-100k"
    return [
        tuple(km.read_ratings(folder / f"u{k}.{part}", maximum=5) for part in ("base", "test"))  # type: ignore[misc]
        for k in range(1, 6)
    ]


def random(name: str, share: float, seeds: int) -> Callable[[], list[Split]]:
    return lambda: [movielens(name).split(share, random_state=seed) for seed in range(seeds)]


#: How a part is called in the table, its splits, and the methods.
PARTS: dict[str, tuple[str, Callable[[], list[Split]], list[str]]] = {
    "100k": (
        "MovieLens 100K, 80/20",
        random("ml-100k", 0.2, 5),
        [*OF_RANK_8, LARGER[0], *(name for name in METHODS if not name.startswith("myfm"))],
    ),
    "u": ("u1 to u5", official, [BIASES, *OF_RANK_8, *LARGER, *OURS]),
    "1m": ("MovieLens 1M, 80/20", random("ml-1m", 0.2, 1), [BIASES, *LARGER[:2], *OURS]),
    "1m90": ("MovieLens 1M, 90/10", random("ml-1m", 0.1, 3), [BIASES, DRAWS]),
}
#: Methods that the README shows: how it names them, and what they leave behind.
OPENING = {
    BIASES: ("user and item biases", "two numbers a rating"),
    "Surprise SVD": ("Surprise, SVD", "factors"),
    "cmfrec CMF": ("cmfrec", "factors"),
    "myfm, who rated what, rank 8": ("myfm, with who rated what", "factors, an average of 400 draws"),
    ONE_16: (ONE_16, "16 events, each item happens in some of them"),
    CHANCES_16: (CHANCES_16, "16 events, a chance for each item"),
    DRAWS: (DRAWS, "an average of draws: intervals, and one model to read"),
}


def compare(part: str, jobs: int) -> None:
    """Save the rows of a part, and of MovieLens 100K what the README shows."""
    words, splits, methods = PARTS[part]
    table = Table("accuracy", "Errors in rating units, means over splits; one thread", f"{COMMAND} {part}", COLUMNS)
    runs = runs_of(splits(), methods, jobs)
    for method, found in runs.items():
        apart = None
        if method != DRAWS:
            difference = mean(found, "error") - mean(runs[DRAWS], "error")
            error = relative_error(found, runs[DRAWS]) * mean(found, "error")
            apart = f"{difference:+.4f} ± {error:.4f}{tie(difference, error)}"
        held = mean(found, "coverage")
        figures = (mean(found, "error"), apart, mean(found, "seconds"), mean(found, "memory"))
        table.add(words, method, *figures, None if np.isnan(held) else held)
    if part == "100k":
        columns = [Column("MovieLens 100K, random 80/20"), Column("RMSE, stars", ".3f"), Column("beside draws")]
        columns += [Column("seconds, one thread", ".1f"), Column("what you get")]
        short = Table("readme", table.title, table.command, columns)
        rows = {row[1]: row for row in table.rows}
        for method, (shown, leaves) in OPENING.items():
            if method in rows:
                short.add(shown, *rows[method][2:5], leaves)
        finish(short)
    table.command = f"{COMMAND} {' '.join(PARTS)}"
    finish(table, parts=True)


# --- tables of many kinds --------------------------------------------------------------------------------------------

#: Those whose test has a few thousand cells at most: means over three seeds.
SMALL = ("zoo", "parties", "probit", "types")
#: Tables with few values but more than yes and no, of which there is an ordered probit model.
ORDERED = ("books", "tweets", "survey", "votes", "clusters", "noise", "three", "assembly")
#: Nearly full ones, which bear high ranks.
DENSE = ("survey", "digits", "assembly", "assembly, yes/no")


def suits(machine: str, name: str) -> bool:
    """Whether a factorisation machine is tried on a table."""
    rank = int(machine.split()[-1])
    if "probit" in machine:
        return name in ORDERED and rank in (4, 16)
    return rank < 32 or (rank == 32 and name in DENSE)


def compare_kinds(names: list[str], jobs: int) -> None:
    """Save a row for each table; of factorisation machines the one that is best on the test part."""
    title = "RMSE in rating units, with yes/no log loss; random 80/20; seconds of a processor, one thread"
    table = Table("kinds", title, f"{COMMAND} kinds", KINDS)
    for name in names:
        splits = [made(name, seed).split(0.2, random_state=seed) for seed in range(3 if name in SMALL else 1)]
        machines = [method for method in METHODS if method.startswith("myfm") and suits(method, name)]
        ours = [ONE, CHANCES, DRAWS]
        runs = runs_of(splits, [BIASES, *machines, *ours], jobs)
        best = min((method for method in machines if method in runs), key=lambda m: mean(runs[m], "error"), default=ONE)
        theirs, drawn = runs[best], runs[DRAWS]
        ratio, error = mean(drawn, "error") / mean(theirs, "error"), relative_error(drawn, theirs)
        rank = ", ".join(reversed(best.replace("rank ", "").split(", ")[1:])).removesuffix(", ids only")
        errors = {method: mean(found, "error") for method, found in runs.items()}
        seconds = [mean(runs[method], "seconds") for method in (best, ONE, DRAWS)]
        table.add(name, TABLES[name][0], errors[BIASES], errors[best], rank, *(errors[method] for method in ours),
                  f"{ratio:.3f} ± {error:.3f}{tie(ratio - 1.0, error)}", seconds)  # fmt: skip
    finish(table, parts=True)


# --- one model by the number of events -------------------------------------------------------------------------------


def events() -> None:
    """Save errors on u1 of one model by its events and values, and of what it is learned from."""
    train, test = official()[0]
    columns = [Column("u1 of MovieLens 100K"), Column("events", ".0f"), Column("RMSE, stars", ".4f")]
    columns += [Column("from the average, stars", ".3f"), Column("log score", ".3f"), Column("seconds", ".1f")]
    table = Table("one-model", "MovieLens 100K, u1; as many threads as processors", f"{COMMAND} events", columns)
    guess, _ = biases(train, test, 0)
    table.add(BIASES, None, np.sqrt(np.mean((guess - test.scale.rating(test.values)) ** 2)), None, None, None)

    def row(name: str, made: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        model = made()
        seconds, scores = time.perf_counter() - began, model.evaluate(test, unknown="ignore")
        apart = 5 * model.history_[-1].rmse if getattr(model, "learned_from_", "") == "draws" else None
        table.add(name, model.fitted_.n_events, scores["rmse_rating"], apart, scores["log_score"], seconds)
        return model

    km.KolmogorovModel(random_state=0).fit(km.datasets.load("zoo"))
    base = km.KolmogorovModel(8, learn_from="ratings")
    grid = {"n_events": (8, 16), "user_reg": (3.0, 10.0, 30.0, 100.0), "item_reg": (0.0, 0.3)}
    ridges = "learned from the ratings, ridges from a grid"
    row(ridges, lambda: km.tune(train, model=base, folds=5, random_state=0, **grid).model)
    drawn = row("draws", lambda: km.BayesianKolmogorovModel(random_state=0).fit(train))
    for psi, words in (("binary", "happens or not"), ("soft", "a chance")):
        for size in (8, 16, 24, 32):
            row(f"`as_model`, {words}", lambda size=size, psi=psi: drawn.as_model(size, psi))
    row(ONE, lambda: km.KolmogorovModel(random_state=0).fit(train))
    row(CHANCES, lambda: km.KolmogorovModel(psi="soft", random_state=0).fit(train))
    finish(table)


def main() -> None:
    """Run what was asked for, or all of it."""
    print(machine())
    os.environ.setdefault("TQDM_DISABLE", "1")  # myfm's progress
    words = [word for word in sys.argv[1:] if "=" not in word] or [*PARTS, "kinds", "events"]
    jobs = next((int(word[5:]) for word in sys.argv[1:] if word.startswith("jobs=")), 1)
    for word in words:
        if word in PARTS:
            compare(word, jobs)
    if names := list(TABLES) if "kinds" in words else [word for word in words if word in TABLES]:
        compare_kinds(names, jobs)
    if "events" in words:
        events()


if __name__ == "__main__":
    main()
