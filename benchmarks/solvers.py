"""Every binary solver on item problems of the toy (D1) and of MovieLens 100K, in one run.

For D = 4 ... 100, on one thread: milliseconds per problem (median), the share of problems solved to the best value that
any solver of the run found, and the mean gap to it; then Beasley's instances. `quick` looks at two problems of each
kind, and saves nothing. The paper's tables: `python -m reproduce table_1 table_2 table_4`.
"""

import csv
import sys

import numpy as np
from harness import Column, Table, data_folder, finish, machine, movielens

from kolmogorov import KolmogorovModel, datasets
from kolmogorov._support.outside import installed
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.solvers import bqp, resolve
from kolmogorov.solvers.bqp import BinaryQP
from kolmogorov.solvers.rows import normal_equations

SIZES = (4, 8, 12, 16, 20, 50, 100)
COUNT = 20

COLUMNS = [Column("problems"), Column("solver")]
COLUMNS += [Column(f"D = {size}", ["significant", ".0%", "gap"], "{} ({}; {})", missing="–") for size in SIZES]
SOLVERS = {
    "exhaustive": ("exhaustive", {}, 20),
    "auto": ("auto", {}, 100),
    "local_search": ("local_search", {}, 100),
    "newton": ("newton", {}, 100),
    "enhanced_gd": ("enhanced_gd", {}, 100),
    "enhanced_gd lanczos": ("enhanced_gd", {"evd": "lanczos"}, 100),
    "gd": ("gd", {}, 100),
    "quasi_newton": ("quasi_newton", {}, 100),
    "sdr": ("sdr", {}, 50),
    "dmo": ("dmo", {"max_nodes": 3_000_000}, 20),
}


def item_problems(observations, n_events, count, user_reg):
    """Item problems after a few sweeps of training, a random choice of them."""
    descents = resolve("binary", "local_search")
    model = KolmogorovModel(
        n_events, user_reg=user_reg, max_iter=5, random_state=0, item_solver=descents, learn_from="ratings"
    )
    theta = model.fit(observations).theta_
    view, n = observations.columns, observations.n_items
    gram, moment = np.empty((n, n_events, n_events)), np.empty((n, n_events))
    zero = np.zeros(n_events)
    normal_equations(view.indptr, view.indices, view.values, view.weights, theta, 0, n, 0.0, zero, gram, moment)
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(view.counts))[:count]
    return [BinaryQP(gram[k], moment[k]) for k in chosen]


def run(problems, name):
    """Solve all problems with one solver: milliseconds and values."""
    solver, options, _ = SOLVERS[name]
    bqp.solve(np.eye(problems[0].size), np.ones(problems[0].size), solver=solver, **options)
    answers = [bqp.solve(problem, solver=solver, **options) for problem in problems]
    return 1e3 * np.array([answer.seconds for answer in answers]), np.array([answer.value for answer in answers])


def compare(table, title, observations, user_reg, count):
    """Add the rows of a table's item problems."""
    cells = {}
    for size in SIZES:
        few = count if size <= 20 else max(2, count // 4)
        problems = item_problems(observations, size, few, user_reg)
        found = {
            name: run(problems, name)
            for name, (solver, _, limit) in SOLVERS.items()
            if size <= limit and (solver != "sdr" or installed("clarabel"))
        }
        best = np.min([values for _, values in found.values()], axis=0)
        for name, (times, values) in found.items():
            at_best = np.mean(values <= best + 1e-6 * (1 + np.abs(best)))
            cells[size, name] = [np.median(times), at_best, (values - best).mean()]
        print(f"{title}, D = {size}: done", flush=True)
    for name in SOLVERS:
        table.add(title, f"`{name}`", *(cells.get((size, name)) for size in SIZES))


def beasley(folder):
    if not folder.exists():
        print(f"\nBeasley's instances: skipped, not in {folder}")
        return
    print("\nBeasley's instances: descents (found?, seconds)\n")
    with (folder / "best_known.csv").open() as file:
        optima = {row["instance"]: float(row["best_known"]) for row in csv.DictReader(file)}
    found = 0
    for name, optimum in optima.items():
        answer = bqp.solve(bqp.read(folder / f"{name}.sparse"))
        found += answer.value == optimum
        print(f"  {name:10s} {optimum:9.0f}   {'yes' if answer.value == optimum else 'no':3s} {answer.seconds:7.3f}")
    print(f"  found {found} of {len(optima)}")


def main():
    print(machine())
    folder, quick = data_folder(), "quick" in sys.argv
    count = 2 if quick else COUNT
    title = "Milliseconds per problem (share solved to the best value known; mean gap to it), one thread"
    table = Table("solvers", title, "python benchmarks/solvers.py", COLUMNS)
    with one_blas_thread():
        compare(table, "D1", datasets.load("toy"), 0.1, count)
        compare(table, "MovieLens 100K", movielens("ml-100k"), 60.0, count)
        finish(table, complete=not quick and installed("clarabel"))
        beasley(folder / "bqp")


if __name__ == "__main__":
    main()
