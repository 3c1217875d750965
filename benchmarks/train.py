"""Seconds of fits beside Surprise's SVD and implicit's ALS, by the number of threads, and of reading beside pandas.

    python benchmarks/train.py [fits] [threads] [reading]

`fits`: 20 sweeps or epochs on two threads, Surprise on its one; every fit in a process of its own, after a fit of a
tiny table. `threads`: sweeps of one model and eight whole chains, the best of two runs each. `reading`: a million lines
of user, item, rating; pandas reads ids as texts and numbers them, which is what `read_ratings` begins with; medians of
five in turns.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Column, Table, finish, in_process, machine, movielens, peer, sparse_rows

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov._support.threads import usable_cpus

SWEEPS = 20
COMMAND = "python benchmarks/train.py"


def seconds_of(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# --- fits ------------------------------------------------------------------------------------------------------------


def ours(table: Observations, n_events: int) -> Callable[[int], Any]:
    options: dict[str, Any] = {"user_reg": 30.0, "tol": 0.0, "random_state": 0, "n_jobs": 2}
    return lambda n: km.KolmogorovModel(n_events, learn_from="ratings", max_iter=n, **options).fit(table)


def surprise(table: Observations, n_factors: int) -> Callable[[int], Any]:
    from surprise import SVD, Dataset, Reader

    frame = table.to_frame("pandas")[["user", "item", "rating"]]  # sorted by user
    known = Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()
    return lambda n: SVD(n_factors=n_factors, n_epochs=n, random_state=0).fit(known)


def implicit(table: Observations, n_factors: int) -> Callable[[int], Any]:
    from implicit.als import AlternatingLeastSquares

    known = sparse_rows(table)
    return lambda n: AlternatingLeastSquares(n_factors, iterations=n, random_state=0, num_threads=2).fit(
        known, show_progress=False
    )


FITS: dict[str, tuple[Callable[..., Any], int]] = {
    "kolmogorov D = 8": (ours, 8),
    "kolmogorov D = 24": (ours, 24),
    "Surprise SVD, 20 factors": (surprise, 20),
    "implicit ALS, 8 factors": (implicit, 8),
    "implicit ALS, 24 factors": (implicit, 24),
}


def fitted(name: str, words: str) -> float:
    make, size = FITS[words]
    make(km.datasets.load("zoo"), size)(1)
    fit = make(movielens(name), size)
    return seconds_of(lambda: fit(SWEEPS))


def fits() -> None:
    columns = [Column("seconds"), *(Column(words, ".2f") for words in FITS)]
    table = Table("train", f"{SWEEPS} sweeps or epochs, two threads, Surprise on its one", f"{COMMAND} fits", columns)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    there = [words for words, (make, _) in FITS.items() if make is ours or peer(make.__name__)]
    for name, words in (("ml-100k", "MovieLens 100K"), ("ml-1m", "MovieLens 1M")):
        table.add(words, *(in_process(fitted, name, fit) if fit in there else None for fit in FITS))
    finish(table)


# --- threads ---------------------------------------------------------------------------------------------------------


def sweeps(table: Observations, n: int) -> float:
    """Return the seconds of five sweeps after the first."""
    model = km.KolmogorovModel(16, learn_from="ratings", max_iter=6, tol=0.0, random_state=0, n_jobs=n)
    return sum(sweep.user_seconds + sweep.item_seconds for sweep in model.fit(table).history_[1:])


def chains(table: Observations, n: int) -> float:
    """Return the seconds of eight chains of 40 sweeps."""
    model = km.BayesianKolmogorovModel(n_chains=8, burn_in=38, n_samples=2, random_state=0, n_jobs=n)
    return seconds_of(lambda: model.fit(table))


def threads() -> None:
    counts = [2**k for k in range(10) if 2**k <= usable_cpus()]
    cells = [".2f", ".1f"], "{} ({})"
    columns = [Column("seconds (times faster than one)"), *(Column(f"threads: {n}", *cells) for n in counts)]
    table = Table("threads", "Best of 2 in one run", f"{COMMAND} threads", columns)
    planted = {"n_users": 100_000, "n_items": 40_000, "n_events": 16, "n_observations": 10**7}
    for words, make, work in (
        ("MovieLens 1M, 5 sweeps, D = 16", lambda: movielens("ml-1m"), sweeps),
        ("MovieLens 100K, 8 chains of 40 sweeps", lambda: movielens("ml-100k"), chains),
        (
            "10^7 planted ratings, 5 sweeps, D = 16",
            lambda: km.datasets.load("planted", **planted, noise=0.1, random_state=0),
            sweeps,
        ),
    ):
        observations = make()
        work(observations, max(counts))
        times = [min(work(observations, n) for _ in range(2)) for n in counts]
        table.add(words, *([seconds, times[0] / seconds] for seconds in times))
    finish(table)


# --- reading ---------------------------------------------------------------------------------------------------------


def reading(lines: int = 1_000_000, n_users: int = 70_000, n_items: int = 10_000) -> None:
    import pandas as pd

    def numbered(path: Path) -> Any:
        frame = pd.read_csv(path, dtype={"user": str, "item": str})
        return pd.factorize(frame["user"]), pd.factorize(frame["item"]), frame["rating"].to_numpy()

    rng = np.random.default_rng(0)
    # Users are drawn alike, items by popularity; pairs are distinct.
    pairs = rng.integers(0, n_users, 2 * lines) * n_items + (rng.random(2 * lines) ** 3 * n_items).astype(np.int64)
    pairs = rng.permutation(np.unique(pairs))[:lines]
    ratings = rng.integers(1, 11, lines) / 2
    frame = pd.DataFrame({"user": pairs // n_items, "item": pairs % n_items, "rating": ratings})
    words = {side: side + "-" + frame[side].astype(str) for side in ("user", "item")}
    columns = [Column("a million lines, ids are"), Column("`read_ratings`, seconds", ".2f")]
    columns += [Column("pandas and two `factorize`, seconds", ".2f"), Column("ratio", ".2f")]
    title = f"{lines:,} ratings, {n_users:,} users, {n_items:,} items"
    table = Table("reading", title, f"{COMMAND} reading", columns)
    with tempfile.TemporaryDirectory() as folder:
        for kind, written, name in (
            ("whole numbers", frame, "numbers.csv"),
            ("words", frame.assign(**words), "words.csv"),
            ("whole numbers, packed with gzip", frame, "numbers.csv.gz"),
        ):
            path = Path(folder, name)
            written.to_csv(path, index=False)
            readers = partial(km.read_ratings, path, maximum=5), partial(numbered, path)
            turns = [[seconds_of(reader) for reader in readers] for _ in range(5)]
            mine, theirs = (statistics.median(turn) for turn in zip(*turns, strict=True))
            table.add(kind, mine, theirs, mine / theirs)
    finish(table)


PARTS = {"fits": fits, "threads": threads, "reading": reading}

if __name__ == "__main__":
    print(machine())
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
