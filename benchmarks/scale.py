"""Tables larger than memory and larger than one machine.

    python benchmarks/scale.py [packed] [cluster]

`packed` packs and fits 100 million planted ratings (a million users, a hundred thousand items) beside 10 million in
memory; it needs about 12 GB of disk under the temporary directory. `cluster` compares threads, Dask and implicit's ALS
on 10 million ratings, on two processors. Every run is a process of its own.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Column, Table, finish, in_process, machine, peak_memory, peer, sparse_rows

import kolmogorov as km

EVENTS, SWEEPS, ROUNDS = 16, 3, 6
PACKED = [
    Column("ratings"),
    Column("users × items"),
    Column("step"),
    Column("seconds", ".1f"),
    Column("ns per rating and sweep", ".0f"),
    Column("peak memory, MB", ".0f"),
]
CLUSTER = [
    Column("method"),
    Column("seconds per sweep", ".2f"),
    Column("peak memory, MB", ".0f"),
    Column("rmse", ".4f"),
]
SETTINGS: dict[str, Any] = {"learn_from": "ratings", "user_reg": 1.0, "random_state": 0, "tol": 0.0}


def main() -> None:
    print(machine())
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


def planted_files(folder: Path, n_users: int, n_items: int, per_user: int, n_files: int) -> list[Path]:
    """Write half-star ratings of a planted model to parquet files, a share of the users in each."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    psi = (rng.random((n_items, EVENTS)) < 0.5).astype(np.float64)
    paths = []
    for number in range(n_files):
        users = np.arange(n_users * number // n_files, n_users * (number + 1) // n_files)
        theta = rng.dirichlet(np.full(EVENTS, 0.5), users.size)
        # A sorted multiset plus 0, 1, 2, ... is a set.
        items = np.sort(rng.integers(n_items - per_user, size=(users.size, per_user)), axis=1) + np.arange(per_user)
        chance = np.empty(items.shape)
        for k in range(0, users.size, 4096):
            chance[k : k + 4096] = np.einsum("ud,ukd->uk", theta[k : k + 4096], psi[items[k : k + 4096]])
        ratings = np.round(10 * np.clip(chance + 0.1 * rng.standard_normal(chance.shape), 0, 1)) / 2
        order = rng.permutation(items.size)
        columns = (np.repeat(users, per_user)[order], items.ravel()[order], ratings.ravel()[order])
        paths.append(folder / f"ratings-{number:03}.parquet")
        parquet.write_table(pa.table(dict(zip(("user", "item", "value"), columns, strict=True))), paths[-1])
    return paths


# --- packed --------------------------------------------------------------------------------------------------


def packed() -> None:
    """100 million ratings through a packed table, 10 million in memory, in one run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = Table("scale", "Packed tables, two processors", "python benchmarks/scale.py packed", PACKED)
        small = in_process(planted_files, folder, 100_000, 10_000, 100, 4)
        one = in_process(_fit_in_memory, small)
        _row(table, "10 million", "100,000 × 10,000", f"fit in memory, {SWEEPS} sweeps", one, 10**7)
        for path in small:
            path.unlink()
        large = in_process(planted_files, folder, 1_000_000, 100_000, 100, 40)
        _row(table, "100 million", "1,000,000 × 100,000", "pack", in_process(_pack, large, folder / "table"), 10**8)
        print(
            f"The files have {sum(p.stat().st_size for p in large) / 1e9:.2f} GB, the table "
            f"{sum(p.stat().st_size for p in (folder / 'table').iterdir()) / 1e9:.2f} GB."
        )
        for path in large:
            path.unlink()
        two = in_process(_fit_packed, folder / "table")
        _row(table, "100 million", "1,000,000 × 100,000", f"fit packed, {SWEEPS} sweeps", two, 10**8)
        ratio = (two["sweeps"] / 10**8) / (one["sweeps"] / 10**7)
        print(f"\nTime per rating, packed to in memory: {ratio:.2f}; rmse {one['rmse']:.4f} and {two['rmse']:.4f}")
        finish(table)


def _row(table: Table, ratings: str, shape: str, step: str, found: dict[str, float], n: int) -> None:
    each = 1e9 * found["sweeps"] / n / SWEEPS if "sweeps" in found else None
    table.add(ratings, shape, step, found["seconds"], each, found["memory"])


def _pack(paths: list[Path], out: Path) -> dict[str, float]:
    began = time.perf_counter()
    km.pack(paths, out, maximum=5)
    return {"seconds": time.perf_counter() - began, "memory": peak_memory()}


def _fit_packed(path: Path) -> dict[str, float]:
    return _fitted(lambda: km.Observations.open(path))


def _fit_in_memory(paths: list[Path]) -> dict[str, float]:
    import pandas as pd

    def table() -> km.Observations:
        return km.read_ratings(pd.concat(map(pd.read_parquet, paths)), maximum=5)

    return _fitted(table)


def _fitted(table: Callable[[], km.Observations]) -> dict[str, float]:
    km.KolmogorovModel(EVENTS, max_iter=1, n_jobs=-1, **SETTINGS).fit(km.datasets.load("zoo"))
    began = time.perf_counter()
    model = km.KolmogorovModel(EVENTS, max_iter=SWEEPS, n_jobs=-1, **SETTINGS).fit(table())
    sweeps = sum(sweep.user_seconds + sweep.item_seconds for sweep in model.history_)
    rmse = model.history_[-1].rmse
    return {"seconds": time.perf_counter() - began, "sweeps": sweeps, "memory": peak_memory(), "rmse": rmse}


# --- cluster -------------------------------------------------------------------------------------------------


def cluster() -> None:
    """10 million ratings, the same number of sweeps with everything, on two processors."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = in_process(planted_files, folder, 100_000, 10_000, 100, 4)
        in_process(_pack, paths, folder / "table")
        title = f"10 million ratings, 100,000 users, 10,000 items, {EVENTS} events or factors, {ROUNDS} sweeps"
        table = Table("cluster", title, "python benchmarks/scale.py cluster", CLUSTER)
        runs: dict[str, tuple[Any, ...]] = {
            "kolmogorov, 2 threads": (_threads,),
            "kolmogorov, Dask, 1 worker of 2 threads": (_dask, 1, 2),
            "kolmogorov, Dask, 2 workers of 1 thread": (_dask, 2, 1),
            "kolmogorov, Dask, 1 worker of 1 thread": (_dask, 1, 1),
            "implicit ALS, 2 threads": (_implicit,),
        }
        for method, (work, *args) in runs.items():
            if (work is _dask and not peer("distributed", "dask")) or (work is _implicit and not peer("implicit")):
                continue
            found = in_process(work, folder / "table", *args)
            table.add(method, *(found.get(name) for name in ("sweep", "memory", "rmse")))
        finish(table)


def _timed(model: km.KolmogorovModel) -> dict[str, Any]:
    seconds = [sweep.user_seconds + sweep.item_seconds for sweep in model.history_]
    return {"sweep": float(np.mean(seconds[1:])), "rmse": model.history_[-1].rmse}


def _threads(path: Path) -> dict[str, Any]:
    warm_up = km.KolmogorovModel(EVENTS, max_iter=1, n_jobs=-1, **SETTINGS)
    warm_up.fit(km.datasets.load("zoo"))
    model = km.KolmogorovModel(EVENTS, max_iter=ROUNDS, n_jobs=2, **SETTINGS).fit(km.Observations.open(path))
    return _timed(model) | {"memory": peak_memory()}


def _dask(path: Path, n_workers: int, n_threads: int) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    workers: dict[str, Any] = {"n_workers": n_workers, "threads_per_worker": n_threads, "memory_limit": None}
    with LocalCluster(**workers, processes=True, dashboard_address=":0") as local, Client(local) as client:
        execution = km.Dask(client)
        km.KolmogorovModel(EVENTS, max_iter=1, execution=execution, **SETTINGS).fit(km.datasets.load("zoo"))
        model = km.KolmogorovModel(EVENTS, max_iter=ROUNDS, execution=execution, **SETTINGS)
        model.fit(km.Observations.open(path))
        memory = peak_memory() + sum(client.run(peak_memory).values())
    return _timed(model) | {"memory": memory}


def _implicit(path: Path) -> dict[str, Any]:
    from implicit.als import AlternatingLeastSquares

    seconds: list[float] = []
    model = AlternatingLeastSquares(factors=EVENTS, iterations=ROUNDS, num_threads=2, random_state=0)
    known = sparse_rows(km.Observations.open(path))
    model.fit(known, show_progress=False, callback=lambda iteration, elapsed, loss: seconds.append(elapsed))
    return {"sweep": float(np.mean(seconds[1:])), "memory": peak_memory()}


PARTS: dict[str, Callable[[], None]] = {"packed": packed, "cluster": cluster}

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
