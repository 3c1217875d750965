"""Every binary solver on item problems of the toy (D1) and of MovieLens 100K, in one run.

Measures, for D = 4 ... 100: milliseconds per problem on one thread (median), eigendecompositions, mean gap to the best
value known, and the share of problems solved to it; then Newton against gradient descent, and Beasley's instances.
"Best known" is the best of all solvers of the run. The paper's tables: `python -m reproduce table_1 table_2 table_4`.
"""

import argparse
import csv
import time

import numpy as np
from harness import Column, Table, data_folder, finish, machine

from kolmogorov import KolmogorovModel, datasets
from kolmogorov._support.optional import installed
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.errors import DataError
from kolmogorov.solvers import bqp, resolve
from kolmogorov.solvers.bqp import BinaryQP
from kolmogorov.solvers.rows import normal_equations

SIZES = (4, 8, 12, 16, 20, 50, 100)
COUNT = 20


def by_size(*arguments, **options):
    """Columns: the solver, and one for each D."""
    return [Column("solver"), *(Column(f"D = {size}", *arguments, **options, missing="–") for size in SIZES)]


TIMES = by_size(["significant", ".0%"], "{} ({})")
GAPS = by_size(["gap", ".0f"], "{} / {}")
NEWTON = [
    Column("D"),
    *(Column(f"EVDs `{name}`", ".1f") for name in ("gd", "enhanced_gd", "newton")),
    *(Column(f"gradient norm `{name}`", ".1e") for name in ("gd", "newton")),
]
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
    """Solve all problems with one solver: seconds, values, decompositions."""
    solver, options, _ = SOLVERS[name]
    bqp.solve(np.eye(problems[0].size), np.ones(problems[0].size), solver=solver, **options)
    answers = [bqp.solve(problem, solver=solver, **options) for problem in problems]
    evds = [(a.n_evd or 0) + (a.n_lanczos or 0) for a in answers]
    return np.array([a.seconds for a in answers]), np.array([a.value for a in answers]), np.mean(evds)


def compare(title, observations, user_reg, count):
    """Make the tables of times and of gaps."""
    results = {}
    for size in SIZES:
        few = count if size <= 20 else max(4, count // 4)
        problems = item_problems(observations, size, few, user_reg)
        for name, (solver, _, limit) in SOLVERS.items():
            if size <= limit and (solver != "sdr" or installed("clarabel")):
                results[size, name] = run(problems, name)
        print(f"{title}, D = {size}: done", flush=True)
    words = {
        "times": ("milliseconds per problem (share solved to the best value known)", TIMES),
        "gaps": ("mean gap to the best value known / EVDs per problem", GAPS),
    }
    tables = []
    for kind, (what, columns) in words.items():
        command = "python benchmarks/solvers.py"
        table = Table(f"solvers-{title.lower()}-{kind}", f"{title}, {what}", command, columns)
        for name in SOLVERS:
            if kind != "gaps" or name != "exhaustive":
                table.add(f"`{name}`", *(figures(results, size, name)[kind] for size in SIZES))
        tables.append(table)
    finish(*tables, complete=count == COUNT and installed("clarabel"))
    for size in SIZES:
        if (size, "sdr") in results:
            times = np.median(results[size, "sdr"][0]) / np.median(results[size, "auto"][0])
            print(f"{title}, D = {size}: auto is {times:.0f} times faster than sdr")


def figures(results, size, name):
    """The cells of one solver and size."""
    if (size, name) not in results:
        return {"times": None, "gaps": None}
    best = np.min([values for (d, _), (_, values, _) in results.items() if d == size], axis=0)
    seconds, values, evds = results[size, name]
    at_best = np.mean(values <= best + 1e-6 * (1 + np.abs(best)))
    return {
        "times": [1e3 * np.median(seconds), at_best],
        "gaps": [(values - best).mean(), evds] if evds else [(values - best).mean()],
    }


def newton_against_gd(observations):
    title = "Newton against gradient descent on D1, mean of 40 problems"
    table = Table("solvers-newton", title, "python benchmarks/solvers.py", NEWTON)
    for size in (4, 8, 16, 50):
        rows = []
        for problem in item_problems(observations, size, 40, 0.1):
            answers = [bqp.solve(problem, solver=name) for name in ("gd", "enhanced_gd", "newton")]
            rows.append([a.n_evd for a in answers] + [answers[k].gradient_norm for k in (0, 2)])
        table.add(size, *np.mean(rows, axis=0))
    finish(table)


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, help="problems per table entry")
    arguments = parser.parse_args()
    count = arguments.count or COUNT
    folder = data_folder()
    print(machine())
    began = time.perf_counter()
    toy = datasets.load("toy")
    with one_blas_thread():
        compare("D1", toy, 0.1, count)
        try:
            ratings = datasets.load("ml-100k")
        except DataError as error:
            ratings = None
            print(f"\nML-100K: skipped: {error}")
        if ratings is not None:
            compare("ML-100K", ratings, 60.0, count)
        newton_against_gd(toy)
        beasley(folder / "bqp")
    print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
