"""Every binary solver on item problems of the toy (D1) and of MovieLens 100K, in one run.

Prints, for D = 4 ... 100: milliseconds per problem on one thread (median), eigendecompositions, mean gap to the best
value known, and the share of problems solved to it; then the ratios of the times to `enhanced_gd` beside the
paper's Table IV; the phases of its Table II; Newton against gradient descent; Beasley's instances; and how many item
problems `branch_bound` proves at D = 32 within 50 ms; and random problems of 250 and 500 variables. "best known" is the
best of all solvers of the run. `--only large` prints the last part alone.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
from surroundings import machine

from kolmogorov import KolmogorovModel, bqp, datasets
from kolmogorov._support.optional import installed
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.errors import DataError
from kolmogorov.kernels.gram import normal_equations
from kolmogorov.kernels.relinking import relinked_search
from kolmogorov.problems import BinaryQP, Status
from kolmogorov.solvers import resolve

SIZES = (4, 8, 12, 16, 20, 50, 100)
SOLVERS = {
    "exhaustive": ("exhaustive", {}, 20),
    "auto": ("auto", {}, 100),
    "local_search": ("local_search", {}, 100),
    "branch_bound": ("branch_bound", {"time_limit": 5.0}, 100),
    "newton": ("newton", {}, 100),
    "enhanced_gd": ("enhanced_gd", {}, 100),
    "enhanced_gd lanczos": ("enhanced_gd", {"evd": "lanczos"}, 100),
    "gd": ("gd", {}, 100),
    "quasi_newton": ("quasi_newton", {}, 100),
    "sdr": ("sdr", {}, 50),
    "dmo": ("dmo", {"max_nodes": 3_000_000}, 20),
}
# Table IV of the paper as ratios to its enhanced GD with exact EVD.
PAPER = {
    "D1": {
        "sdr": {4: 87.8, 8: 85.6, 12: 71.2},
        "dmo": {4: 1.49, 8: 21.5, 12: 9346.0},
        "quasi_newton": {20: 11.7, 50: 33.0, 100: 31.4},
        "gd": {4: 1.01, 8: 1.30, 12: 1.23, 20: 9.02, 50: 27.7, 100: 26.4},
        "enhanced_gd lanczos": {20: 0.95, 50: 0.37, 100: 0.11},
    },
    "ML-100K": {
        "sdr": {4: 14.2, 8: 14.1, 12: 13.8},
        "dmo": {4: 0.96, 8: 3.56, 12: 329.0},
        "gd": {4: 1.02, 8: 1.02, 12: 1.05, 20: 3.82, 50: 10.1, 100: 19.7},
        "enhanced_gd lanczos": {20: 0.97, 50: 0.58, 100: 0.15},
    },
}


def item_problems(observations, n_events, count, user_reg):
    """Item problems after a few sweeps of training, a random choice of them."""
    descents = resolve("binary", "local_search", tabu_moves=0)
    model = KolmogorovModel(n_events, user_reg=user_reg, max_iter=5, random_state=0, binary_solver=descents)
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


def table(title, observations, user_reg, count, ratios):
    print(f"\n{title}: {count} problems per D\n")
    print("  D  solver                ms/problem     EVDs   mean gap   at best   × enhanced_gd   paper's ×")
    for size in SIZES:
        few = count if size <= 20 else max(4, count // 4)
        problems = item_problems(observations, size, few, user_reg)
        results = {}
        for name, (solver, _, limit) in SOLVERS.items():
            if size > limit or (solver == "sdr" and not installed("clarabel")):
                continue
            results[name] = run(problems, name)
        best = np.min([values for _, values, _ in results.values()], axis=0)
        base = np.median(results["enhanced_gd"][0])
        for name, (seconds, values, evds) in results.items():
            at_best = np.mean(values <= best + 1e-6 * (1 + np.abs(best)))
            paper = ratios.get(name, {}).get(size)
            print(
                f"{size:3d}  {name:20s} {1e3 * np.median(seconds):11.4f} {evds:8.1f}   {(values - best).mean():8.1e} "
                f"{at_best:8.0%} {np.median(seconds) / base:14.4f}   {'' if paper is None else f'{paper:9.2f}'}",
                flush=True,
            )
        if "sdr" in results:
            ratio = np.median(results["sdr"][0]) / np.median(results["auto"][0])
            print(f"{size:3d}  auto is {ratio:.0f} times faster than sdr")


def phases(observations):
    print("\nTable II: share of iterations in the phases I-A, I-B, II-A, II-B; D1, D = 8 (paper: 37 / 9 / 8 / 46 %)\n")
    for options in ({}, {"step": 0.2}, {"step": 0.2, "tol": 1e-2}):
        total = np.zeros(4)
        for seed in range(10):
            toy = datasets.load("toy", random_state=seed)
            for problem in item_problems(toy, 8, 40, 0.1):
                total += list(bqp.solve(problem, solver="enhanced_gd", **options).phases.values())
        shares = " / ".join(f"{100 * share:.0f}" for share in total / total.sum())
        print(f"  {options or 'defaults (step 1, tol 1e-4)'}: {shares} %")


def newton_against_gd(observations):
    print("\nNewton against gradient descent on D1, mean of 40 problems\n")
    print("  D   EVDs gd   EVDs enhanced_gd   EVDs newton   |gradient| gd   |gradient| newton")
    for size in (4, 8, 16, 50):
        rows = []
        for problem in item_problems(observations, size, 40, 0.1):
            answers = [bqp.solve(problem, solver=name) for name in ("gd", "enhanced_gd", "newton")]
            norms = [gradient_norm(problem, answers[k].dual) for k in (0, 2)]
            rows.append([a.n_evd for a in answers] + norms)
        means = np.mean(rows, axis=0)
        print(f"{size:3d} {means[0]:9.1f} {means[1]:18.1f} {means[2]:13.1f} {means[3]:15.1e} {means[4]:19.1e}")


def gradient_norm(problem, dual, gamma=100.0):
    ones = np.ones(problem.size)
    a = problem.gram @ ones / 2 - problem.moment
    lifted = np.block([[np.zeros((1, 1)), a[None] / 2], [a[:, None] / 2, problem.gram / 4]])
    values, vectors = np.linalg.eigh(-lifted - np.diag(dual))
    return np.linalg.norm(1 - gamma * ((vectors**2) @ np.clip(values, 0, None)))


def beasley(folder):
    if not folder.exists():
        print(f"\nBeasley's instances: skipped, not in {folder}")
        return
    print("\nBeasley's instances: local_search (found?, seconds), branch_bound (proved?, nodes, seconds)\n")
    with (folder / "best_known.csv").open() as file:
        optima = {row["instance"]: float(row["best_known"]) for row in csv.DictReader(file)}
    found = proved = 0
    for name, optimum in optima.items():
        problem = bqp.read(folder / f"{name}.sparse")
        search = bqp.solve(problem, solver="local_search")
        exact = bqp.solve(problem, solver="branch_bound", time_limit=60)
        found += search.value == optimum
        proved += exact.status is Status.OPTIMAL and exact.value == optimum
        print(
            f"  {name:10s} {optimum:9.0f}   {'yes' if search.value == optimum else 'no':3s} {search.seconds:7.3f}   "
            f"{'yes' if exact.status is Status.OPTIMAL else 'no':3s} {exact.nodes:9,d} {exact.seconds:7.3f}"
        )
    print(f"  found {found} of {len(optima)}, proved {proved} of {len(optima)}")


def proofs(observations):
    print("\nML-100K item problems proved by branch_bound within 50 ms, D = 32, all items with ratings\n")
    problems = item_problems(observations, 32, observations.n_items, 60.0)
    bqp.solve(problems[0], solver="branch_bound")
    within = 0
    times = []
    for problem in problems:
        answer = bqp.solve(problem, solver="branch_bound", time_limit=0.05)
        within += answer.status is Status.OPTIMAL and answer.seconds <= 0.05
        times.append(answer.seconds)
    print(f"  {within} of {len(problems)} = {within / len(problems):.1%}; median {1e3 * np.median(times):.1f} ms")


def sparse_integers(size, seed, density):
    """A matrix as Beasley's: integers from -100 to 100 in a share of the places."""
    rng = np.random.default_rng([size, seed])
    upper = np.triu(rng.integers(-100, 101, (size, size)) * (rng.random((size, size)) < density)).astype(float)
    return upper + np.triu(upper, 1).T


def best_found(problem):
    """The best of two searches of ten times the flips, with a larger pool and longer walks."""
    size = problem.size
    values = []
    for seed in range(2):
        x = np.zeros((1, size))
        stop = np.zeros(1, dtype=np.int64)
        seeds = np.array([1000 + seed], dtype=np.uint64)
        relinked_search(problem.gram[None], problem.moment[None], seeds, 20, 20 * size, 10_000 * size, stop, x)
        values.append(problem.value(x[0]))
    return min(values)


def large(count):
    print(f"\nRandom problems, {count} each, integers from -100 to 100; gaps to the best of all and of longer runs\n")
    print("  n   density  solver                      at best   mean gap %   worst gap %   seconds (median, longest)")
    methods = {
        "local_search": {},
        "branch_bound 0.5 s": {"time_limit": 0.5},
        "branch_bound 2 s": {"time_limit": 2.0},
    }
    for size, density in ((250, 0.1), (500, 0.1), (500, 0.5), (500, 1.0)):
        problems = [BinaryQP(sparse_integers(size, seed, density), np.zeros(size)) for seed in range(count)]
        best = np.array([best_found(problem) for problem in problems])
        rows = {}
        for name, options in methods.items():
            solver = name.split()[0]
            for limit in (0.02, 0.5):  # Both ways a search can end are compiled before the clock starts.
                bqp.solve(sparse_integers(101, 0, 0.1), solver=solver, time_limit=limit)
            answers = [bqp.solve(problem, solver=solver, **options) for problem in problems]
            rows[name] = np.array([a.value for a in answers]), np.array([a.seconds for a in answers])
            best = np.minimum(best, rows[name][0])
        for name, (values, seconds) in rows.items():
            gaps = 100.0 * (values - best) / np.abs(best)
            print(
                f"{size:4d} {density:7.0%}  {name:26s} {np.mean(gaps == 0):8.0%} {gaps.mean():11.4f} {gaps.max():13.4f}"
                f"{np.median(seconds):13.2f} {seconds.max():8.2f}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="problems per table entry")
    parser.add_argument("--only", choices=["large"], help="print one part alone")
    arguments = parser.parse_args()
    count = arguments.count
    if arguments.only == "large":
        print(machine())
        large(count)
        return
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.setdefault("KOLMOGOROV_DATA", str(default)))
    print(machine())
    began = time.perf_counter()
    toy = datasets.load("toy")
    with one_blas_thread():
        table("D1", toy, 0.1, count, PAPER["D1"])
        try:
            ratings = datasets.load("ml-100k")
        except DataError as error:
            ratings = None
            print(f"\nML-100K: skipped: {error}")
        if ratings is not None:
            table("ML-100K", ratings, 60.0, count, PAPER["ML-100K"])
        phases(toy)
        newton_against_gd(toy)
        beasley(folder / "bqp")
        if ratings is not None:
            proofs(ratings)
    large(count)
    print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
