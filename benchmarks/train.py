"""Seconds and peak memory of training, beside Surprise's SVD and implicit's ALS, in one run.

Every fit runs in a process of its own. Compilation and imports are not timed: each process first fits a tiny
table. Memory is the peak of the resident set during a fit above what it was with the data loaded; "× data"
divides it by the bytes of our observations. The last lines give our peak from reading the file to the fitted
model above the interpreter with its imports.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from harness import Column, Table, finish, machine, movielens, peer

from kolmogorov import KolmogorovModel, datasets

SWEEPS = 20
PAPER_ITEM_STEP_SECONDS = 689.0  # Table IV, D3, D = 20, enhanced GD with approximate EVD
JOBS = [
    (data, name)
    for data in ("ml-100k", "ml-1m")
    for name in (
        "km-8-1",
        "km-8-2",
        "km-20-2",
        "km-24-1",
        "km-24-2",
        "surprise-10",
        "surprise-20",
        "implicit-8",
        "implicit-24",
    )
]


#: What the README shows, by the names of jobs.
SHOWN = {
    "km-8-2": "kolmogorov D = 8",
    "km-24-2": "kolmogorov D = 24",
    "surprise-20": "Surprise SVD, 20 factors",
    "implicit-8": "implicit ALS, 8 factors",
    "implicit-24": "implicit ALS, 24 factors",
}
COLUMNS = [Column("seconds"), *(Column(title, ".2f") for title in SHOWN.values())]


class Memory:
    """Resident memory above the level at which it was started, now and at its peak (Linux)."""

    def __init__(self):
        gc.collect()
        self.before = self._read("VmRSS")
        self.reset()

    def reset(self):
        """Forget the peak so far."""
        Path("/proc/self/clear_refs").write_text("5")

    def now(self):
        return self._read("VmRSS") - self.before

    def peak(self):
        return self._read("VmHWM") - self.before

    @staticmethod
    def _read(field):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
        raise KeyError(field)


def ours(data, n_events, n_jobs):
    def model(**options):
        return KolmogorovModel(
            n_events, learn_from="ratings", user_reg=30.0, tol=0.0, random_state=0, n_jobs=n_jobs, **options
        )

    model(max_iter=2).fit(datasets.load("zoo"))
    memory = Memory()
    observations = movielens(data)
    _ = observations.columns
    reading, loaded = memory.peak(), memory.now()
    memory.reset()
    began = time.perf_counter()
    fitted = model(max_iter=SWEEPS).fit(observations)
    seconds = time.perf_counter() - began
    fitting = memory.peak()
    sweeps = [s.user_seconds + s.item_seconds for s in fitted.history_]
    return {
        "seconds": seconds,
        "sweep": float(np.median(sweeps)),
        "item_sweep": float(np.median([s.item_seconds for s in fitted.history_])),
        "fit_bytes": fitting - loaded,
        "total_bytes": max(reading, fitting),
        "data_bytes": observations.rows.nbytes + observations.columns.nbytes,
    }


def surprise(data, n_factors):
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    def trainset(observations):
        frame = observations.to_frame("pandas")[["user", "item", "rating"]]  # sorted by user
        return Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()

    SVD(n_factors=2, n_epochs=1).fit(trainset(datasets.load("zoo")))
    assert pd
    table = trainset(movielens(data))
    memory = Memory()
    began = time.perf_counter()
    SVD(n_factors=n_factors, n_epochs=SWEEPS, random_state=0).fit(table)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "sweep": seconds / SWEEPS, "fit_bytes": memory.peak()}


def implicit(data, n_factors):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from implicit.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    def matrix(observations):
        rows = observations.rows
        return csr_matrix(
            (rows.values.astype(np.float32), rows.indices.copy(), rows.indptr.astype(np.int32)),
            shape=(observations.n_users, observations.n_items),
        )

    def model(iterations):
        return AlternatingLeastSquares(factors=n_factors, iterations=iterations, random_state=0, num_threads=2)

    model(1).fit(matrix(datasets.load("zoo")), show_progress=False)
    table = matrix(movielens(data))
    memory = Memory()
    began = time.perf_counter()
    model(SWEEPS).fit(table, show_progress=False)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "sweep": seconds / SWEEPS, "fit_bytes": memory.peak()}


def run_one(data, name):
    kind, *numbers = name.split("-")
    return {"km": ours, "surprise": surprise, "implicit": implicit}[kind](data, *map(int, numbers))


def label(name):
    kind, *numbers = name.split("-")
    if kind == "km":
        return f"kolmogorov D = {numbers[0]}, {numbers[1]} thread{'s' if numbers[1] != '1' else ''}"
    if kind == "surprise":
        return f"Surprise SVD, {numbers[0]} factors"
    return f"implicit ALS, {numbers[0]} factors, 2 threads"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=2, metavar=("DATA", "NAME"), help="run one fit and print JSON (internal)")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_one(*arguments.one)))
        return
    movielens("ml-100k")
    print(machine())
    results = {}
    for data, name in JOBS:
        if name.startswith(("surprise", "implicit")) and not peer(name.split("-")[0]):
            continue
        if name == JOBS[0][1]:
            print(f"\n{data}: {SWEEPS} sweeps or epochs\n{'':34s} total s   s/sweep   memory MB   × data")
        command = [sys.executable, __file__, "--one", data, name]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            print(f"{label(name):34s} skipped: {process.stderr.strip().splitlines()[-1][:80]}")
            continue
        result = results[data, name] = json.loads(process.stdout.splitlines()[-1])
        size = results[data, "km-8-1"]["data_bytes"]
        print(
            f"{label(name):34s} {result['seconds']:7.3f}   {result['sweep']:7.4f}   "
            f"{result['fit_bytes'] / 1e6:9.1f}   {result['fit_bytes'] / size:6.2f}",
            flush=True,
        )
    summary(results)
    title = f"Training time of {SWEEPS} sweeps or epochs, two threads, Surprise on its one"
    table = Table("train", title, "python benchmarks/train.py", COLUMNS)
    for data, words in (("ml-100k", "MovieLens 100K"), ("ml-1m", "MovieLens 1M")):
        table.add(words, *(results.get((data, name), {}).get("seconds") for name in SHOWN))
    finish(table, complete=all((data, name) in results for data, name in JOBS))


def summary(results):
    print()
    fast, peer = results.get(("ml-100k", "km-8-2")), results.get(("ml-100k", "surprise-20"))
    if peer:
        print(
            f"ML-100K, D = 8: Surprise's SVD, 20 factors, takes {peer['seconds'] / fast['seconds']:.1f} times as long"
        )
        single = results["ml-100k", "km-8-1"]
        print(f"  on one thread: {peer['seconds'] / single['seconds']:.1f} times")
    step = results["ml-1m", "km-20-2"]["item_sweep"]
    sweep = results["ml-1m", "km-20-2"]["sweep"]
    print(
        f"ML-1M, D = 20: one sweep {sweep:.3f} s, its item step {step:.3f} s; the paper prints "
        f"{PAPER_ITEM_STEP_SECONDS:.0f} s for its item step, {PAPER_ITEM_STEP_SECONDS / sweep:.0f} times our sweep"
    )
    for data in ("ml-100k", "ml-1m"):
        r = results[data, "km-8-2"]
        print(
            f"{data}: observations {r['data_bytes'] / 1e6:.1f} MB; peak from the file to the fitted model "
            f"{r['total_bytes'] / r['data_bytes']:.1f} times that"
        )


if __name__ == "__main__":
    main()
