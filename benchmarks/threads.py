"""Seconds by number of threads: sweeps of the point model, and whole sampling of eight chains.

`python benchmarks/threads.py [point] [draws] [large]`; thread counts are the powers of two up to the processors there
are. Every figure is the best of two; within a run they can be compared, between machines they cannot.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from harness import Column, Table, finish, machine, movielens

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov._support.threads import usable_cpus

COLUMNS = [
    Column("what"),
    Column("threads", "d"),
    Column("seconds", ".3f"),
    Column("times faster than one", ".1f"),
]


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    table = Table("threads", "Best of 2 in one run", "python benchmarks/threads.py", COLUMNS)
    for part in sys.argv[1:] or PARTS:
        for words, run in PARTS[part]().items():
            run(max(counts()))
            times = {}
            for n in counts():
                times[n] = min(run(n) for _ in range(2))
                table.add(words, n, times[n], times[1] / times[n])
    finish(table, complete=not sys.argv[1:])


def counts() -> list[int]:
    """Return 1, 2, 4 and so on, up to the number of processors."""
    return [n for n in (2**k for k in range(10)) if n <= usable_cpus()]


def point() -> dict[str, Callable[[int], float]]:
    table = movielens("ml-1m")
    return {"MovieLens 1M, 5 sweeps, D = 16": lambda n: sweeps(table, n)}


def large() -> dict[str, Callable[[int], float]]:
    table = km.datasets.load(
        "planted", n_users=100_000, n_items=40_000, n_events=16, n_observations=10**7, noise=0.1, random_state=0
    )
    return {"10^7 planted ratings, 5 sweeps, D = 16": lambda n: sweeps(table, n)}


def sweeps(table: Observations, n: int) -> float:
    """Return the seconds of five sweeps after the first."""
    model = km.KolmogorovModel(16, learn_from="ratings", max_iter=6, tol=0.0, random_state=0, n_jobs=n)
    return sum(sweep.user_seconds + sweep.item_seconds for sweep in model.fit(table).history_[1:])


def draws() -> dict[str, Callable[[int], float]]:
    table = movielens("ml-100k")
    return {"MovieLens 100K, 8 chains of 40 sweeps": lambda n: sampling(table, n, 40)}


def sampling(table: Observations, n: int, length: int) -> float:
    """Return the seconds of eight chains."""
    model = km.BayesianKolmogorovModel(n_chains=8, burn_in=length - 2, n_samples=2, random_state=0, n_jobs=n)
    began = time.perf_counter()
    model.fit(table)
    return time.perf_counter() - began


PARTS = {"point": point, "draws": draws, "large": large}

if __name__ == "__main__":
    main()
