"""When ratings were made, on MovieLens 100K: moods of users, beside factorisation machines that know the day.

u1 as published, where a held-out rating often has neighbours of the same sitting in the training part; and the latest
fifth of every user's ratings, which has few. `python benchmarks/moments.py u` runs u1 to u5. What form moods have was
chosen on u2. Every model runs on one thread; seconds are those of the processor. `keep=FOLDER` writes what each run
found, so that a command that was stopped goes on from there.

`python benchmarks/moments.py forms` measures cheaply which form of time could pay: what part of the squared error of
draws on held-out ratings goes when the mean of the training residuals of a rating's group, shrunken, is added to the
prediction: what a user rated on that day, in that sitting (no pause of an hour), in that month, what an item got in
that month, and what everybody gave then. How much is shrunk is the best of a few for the other half of the held-out
users. Beside them, draws whose ratings weigh less with age. `quick` runs short chains on a part, and saves nothing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from factorisation import ITERATIONS, KEPT, blocks, predicted
from harness import Column, Table, finish, kept, machine, movielens, paired_error, peer
from scipy import sparse

import kolmogorov as km
from kolmogorov.data.datasets.movielens import official_folds
from kolmogorov.data.entries.view import View

RANK, DAY = 8, 86_400.0
COLUMNS = [
    Column("what is asked"),
    Column("method"),
    Column("RMSE, stars", ".4f"),
    Column("beside draws"),
    Column("90% intervals hold", ".1%"),
    Column("seconds", ".0f"),
    Column("half-life, minutes", ".0f"),
]


@dataclass(frozen=True)
class Run:
    """What one method found: squared errors in stars, what intervals hold, seconds, and the half-life in minutes."""

    squares: Any
    held: float
    seconds: float
    half_life: float = float("nan")


def drawn(train: km.Observations, test: km.Observations, time_: str | None) -> Run:
    """Fit draws, and predict with all that they know."""
    # What is compiled or loaded once is not counted.
    km.BayesianKolmogorovModel(2, n_chains=1, burn_in=1, n_samples=1, n_jobs=1, time=time_).fit(train)
    began = time.process_time()
    model = km.BayesianKolmogorovModel(random_state=0, n_jobs=1, time=time_).fit(train)
    seconds = time.process_time() - began
    stars = 5.0 * test.values
    low, high = model.predict_interval(test, unknown="ignore")
    squares = (model.predict(test, output="rating", unknown="ignore") - stars) ** 2
    half_life = model.mood_half_life_ / 60.0 if time_ else float("nan")
    return Run(squares, float(((stars >= low - 1e-9) & (stars <= high + 1e-9)).mean()), seconds, half_life)


def factorised(train: km.Observations, test: km.Observations, *, days: bool) -> Run:
    """Learn a factorisation machine of who rated what, with the day of the rating if wanted."""
    began = time.process_time()
    stars = with_days(train, test) if days else predicted(train, test, RANK, 0, pattern=True, ordered=False)
    return Run((stars - 5.0 * test.values) ** 2, float("nan"), time.process_time() - began)


def with_days(train: km.Observations, test: km.Observations) -> Any:
    """Return ratings of the test part by a machine that knows the day of each rating, one column for each."""
    from myfm import MyFMRegressor, RelationBlock

    known, asked, sizes = blocks(train, test, pattern=True)
    days, rows = np.unique(np.floor(train.times / DAY), return_inverse=True)  # type: ignore[operator]
    wanted = np.floor(test.times / DAY)  # type: ignore[operator]
    places = np.minimum(np.searchsorted(days, wanted), days.size - 1)
    places = np.where(days[places] == wanted, places, days.size)
    columns = sparse.vstack([sparse.identity(days.size), sparse.csr_matrix((1, days.size))]).tocsr()
    known, asked = [*known, RelationBlock(rows, columns)], [*asked, RelationBlock(places, columns)]
    nothing = sparse.csr_matrix((len(train), 0)), sparse.csr_matrix((len(test), 0))
    options = {"n_iter": ITERATIONS, "n_kept_samples": KEPT, "group_shapes": [*sizes, days.size], "X_rel": known}
    machine_ = MyFMRegressor(rank=RANK, random_seed=0).fit(nothing[0], train.scale.rating(train.values), **options)
    return np.clip(machine_.predict(nothing[1], X_rel=asked), train.scale.minimum, train.scale.maximum)


# --- which form of time pays -----------------------------------------------------------------------------------------

HOUR, MONTH = 3_600.0, 30.0 * DAY
#: Ratings that the mean of a group is shrunken by, and half-lives of ratings, in days, that are tried.
SHRUNK, HALF_LIVES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0), (30.0, 180.0)
QUICK = "quick" in sys.argv[1:]
#: Of draws: the defaults, or what a trial takes.
CHAINS: dict[str, Any] = {"n_chains": 1, "burn_in": 5, "n_samples": 3, "n_events": 4} if QUICK else {}
FORM_COLUMNS = [
    Column("what is asked"),
    Column("form"),
    Column("held-out squared error that it takes away", ".2%"),
    Column("standard error", ".2%"),
    Column("held-out ratings of a group that is known", ".0%"),
]


def groups(train: km.Observations, test: km.Observations) -> dict[str, tuple[Any, Any]]:
    """Return for each form the group of every rating, of both parts: numbers below that of the last one."""
    users, items, when = (
        np.concatenate(pair)
        for pair in (
            (train.user_rows(), test.user_rows()),
            (train.item_rows(), test.item_rows()),
            (train.times, test.times),
        )
    )
    day, month = (np.floor((when - when.min()) / unit).astype(np.int64) for unit in (DAY, MONTH))
    # A sitting ends where a user pauses; held-out ratings, whose time is known, belong to one as well.
    order = np.lexsort((when, users))
    begins = (np.diff(users[order], prepend=-1) != 0) | (np.diff(when[order], prepend=-np.inf) > HOUR)
    sitting = np.empty(users.size, dtype=np.int64)
    sitting[order] = np.cumsum(begins)
    keys = {
        "user and sitting": sitting,
        "user and day": users * (day.max() + 1) + day,
        "user and month": users * (month.max() + 1) + month,
        "item and month": items * (month.max() + 1) + month,
        "month": month,
    }
    numbered = {name: np.unique(key, return_inverse=True)[1] for name, key in keys.items()}
    return {name: (found[: len(train)], found[len(train) :]) for name, found in numbered.items()}


def shrunken(own: Any, other: Any, residuals: Any, by: float) -> Any:
    """Return for ratings of groups `other` the mean residual of the same groups among `own`, as if `by` more were 0."""
    size = 1 + max(int(own.max()), int(other.max()))
    sums, counts = np.bincount(own, residuals, size), np.bincount(own, minlength=size)
    return (sums / (counts + by))[other]


def taken_away(own: Any, other: Any, known: Any, left: Any, halves: Any) -> tuple[Any, float]:
    """Return squared errors with a form, each half shrunken as suits the other, and how many have a known group."""
    squares = {by: (left - shrunken(own, other, known, by)) ** 2 for by in SHRUNK}
    best = [min(SHRUNK, key=lambda by: squares[by][halves != half].mean()) for half in (0, 1)]
    found = np.where(halves == 0, squares[best[0]], squares[best[1]])
    return found, float(np.isin(other, own).mean())


def aged(train: km.Observations, half_life: float) -> km.Observations:
    """Return ratings that weigh half after so many days, and 1 on average."""
    age = (train.times.max() - train.times) / DAY  # type: ignore[union-attr, operator]
    weights = np.maximum(2.0 ** (-age / half_life), 1e-6)
    rows = train.rows
    return train.over(rows=View(rows.indptr, rows.indices, rows.values, weights / weights.mean()))


def left_of(train: km.Observations, *asked: km.Observations) -> list[Any]:
    """Return what ratings differ by from what draws predict, in stars."""
    model = km.BayesianKolmogorovModel(random_state=0, likelihood="gaussian", n_jobs=1, **CHAINS).fit(train)
    return [5.0 * (part.values - model.predict(part, unknown="ignore")) for part in asked]


def add_forms(table: Table, asked: str, train: km.Observations, test: km.Observations) -> None:
    """Add a row for each form."""
    known, left = left_of(train, train, test)
    halves, usual = test.user_rows() % 2, left**2

    def add_form(form: str, squares: Any, share: float | None) -> None:
        gone, error = float((usual - squares).mean()), paired_error(squares, usual)
        table.add(asked, form, gone / usual.mean(), error / usual.mean(), share)

    for form, (own, other) in groups(train, test).items():
        squares, share = taken_away(own, other, known, left, halves)
        add_form(f"mean of {form}", squares, share)
    for half_life in HALF_LIVES:
        (other_left,) = left_of(aged(train, half_life), test)
        add_form(f"weights with a half-life of {half_life:.0f} days", other_left**2, None)


def forms(parts: dict[str, tuple[km.Observations, km.Observations]]) -> Table:
    """Measure which form of time could pay."""
    command = "python benchmarks/moments.py forms"
    table = Table("moments-forms", "Forms of time, MovieLens 100K", command, FORM_COLUMNS)
    for name, (train, test) in parts.items():
        few = [part.subset(part.user_rows() % 9 == 0) if QUICK else part for part in (train, test)]
        add_forms(table, name, few[0], few[1])
    return table


METHODS = {
    "draws": lambda train, test: drawn(train, test, None),
    "draws with moods": lambda train, test: drawn(train, test, "mood"),
    "myfm, who rated what": lambda train, test: factorised(train, test, days=False),
    "myfm, who rated what, and the day": lambda train, test: factorised(train, test, days=True),
}


def add(table: Table, asked: str, runs: dict[str, list[Run]]) -> None:
    """Add a row for each method: means over splits, and paired standard errors."""
    usual = np.concatenate([run.squares for run in runs["draws"]])
    for method, found in runs.items():
        squares = np.concatenate([run.squares for run in found])
        error = float(np.mean([np.sqrt(run.squares.mean()) for run in found]))
        apart = None
        if method != "draws":
            difference = float((squares - usual).mean()) / (2.0 * error)
            apart = f"{difference:+.4f} ± {paired_error(squares, usual) / (2.0 * error):.4f}"
        held, half_life = (float(np.mean([getattr(run, name) for run in found])) for name in ("held", "half_life"))
        seconds = float(np.mean([run.seconds for run in found]))
        shown = [None if np.isnan(number) else number for number in (held, seconds, half_life)]
        table.add(asked, method, error, apart, *shown)


def runs_of(name: str, train: km.Observations, test: km.Observations, folder: Path | None) -> dict[str, Run]:
    """Run all methods on one split."""
    found = {}
    for method in METHODS:
        if method.startswith("myfm") and not peer("myfm"):
            continue
        found[method] = run = kept(Run, folder, (name, method), partial(METHODS[method], train, test))
        print(name, method, f"{np.sqrt(run.squares.mean()):.4f} {run.held:.3f} {run.seconds:.0f} s", flush=True)
    return found


def main() -> None:
    """Run what was asked for."""
    print(machine())
    ratings, folds = movielens("ml-100k"), official_folds()
    folders = [Path(word.removeprefix("keep=")) for word in sys.argv[1:] if word.startswith("keep=")]
    folder, words = folders[0] if folders else None, "python benchmarks/moments.py"
    parts = {"u1": folds[0], "the latest fifth of every user": ratings.split(0.2, by="user", times=ratings.times)}
    if "forms" in sys.argv[1:]:
        finish(forms(parts), complete=not QUICK)
        return
    if "u" in sys.argv[1:]:
        table = Table("moments-u", "RMSE in stars, MovieLens 100K", f"{words} u", COLUMNS)
        found = [runs_of(f"u{k}", *fold, folder) for k, fold in enumerate(folds, 1)]
        add(table, "u1 to u5, the mean", {method: [runs[method] for runs in found] for method in found[0]})
    else:
        table = Table("moments", "RMSE in stars, MovieLens 100K", words, COLUMNS)
        for name, part in parts.items():
            add(table, name, {method: [run] for method, run in runs_of(name, *part, folder).items()})
    finish(table)


if __name__ == "__main__":
    main()
