"""Where looking at all 2^D points stops being cheap: exhaustive against local search on real item problems.

The problems are the items' steps of a fit (MovieLens 100K where it is there, else a planted table).
"""

import numpy as np
from harness import Column, Table, data_folder, finish, machine, timed

from kolmogorov import KolmogorovModel, datasets
from kolmogorov.errors import DataError
from kolmogorov.solvers import resolve
from kolmogorov.solvers.flips import EXACT_LIMIT
from kolmogorov.solvers.rows import normal_equations

PROBLEMS = 200
COLUMNS = [
    Column("D"),
    Column("exhaustive", ".1f"),
    Column("local search", ".1f"),
    Column("share of problems where local search is worse", ".1%"),
]


def table():
    data_folder()
    try:
        return "MovieLens 100K", datasets.load("ml-100k")
    except DataError:
        return "planted", datasets.load("planted", n_users=900, n_items=1600, n_observations=80_000, noise=0.2)


def item_problems(observations, n_events):
    """Normal equations of the most observed items after a few sweeps."""
    model = KolmogorovModel(
        n_events, user_reg=30.0, max_iter=5, random_state=0, item_solver="local_search", learn_from="ratings"
    ).fit(observations)
    view = observations.columns
    n = observations.n_items
    gram, moment = np.empty((n, n_events, n_events)), np.empty((n, n_events))
    zero = np.zeros(n_events)
    normal_equations(view.indptr, view.indices, view.values, view.weights, model.theta_, 0, n, 0.0, zero, gram, moment)
    busy = np.argsort(-view.counts, kind="stable")[:PROBLEMS]
    return gram[busy], moment[busy]


def solved(solver, gram, moment):
    """Seconds for one problem, and the values found."""
    start, seeds = np.zeros_like(moment), np.arange(len(moment), dtype=np.uint64)
    timing = timed(
        lambda: solver.solve(gram, moment, start, seeds),
        warm_up=lambda: solver.solve(gram[:2], moment[:2], start[:2], seeds[:2]),
    )
    x = timing.result
    return timing.median / len(moment), np.einsum("nd,nde,ne->n", x, gram, x) - 2 * (x * moment).sum(axis=1)


def main():
    name, observations = table()
    print(machine())
    title = (
        f"{PROBLEMS} item problems of {name}; microseconds per problem on one thread; "
        f"auto is exact up to D = {EXACT_LIMIT}"
    )
    results = Table("exact-line", title, "python benchmarks/exact_line.py", COLUMNS)
    for n_events in (4, 8, 10, 12, 14, 16, 18, 20):
        gram, moment = item_problems(observations, n_events)
        exact_seconds, exact = solved(resolve("binary", "exhaustive"), gram, moment)
        search_seconds, found = solved(resolve("binary", "local_search"), gram, moment)
        worse = float((found > exact + 1e-9 * (1 + np.abs(exact))).mean())
        results.add(n_events, 1e6 * exact_seconds, 1e6 * search_seconds, worse)
    finish(results)


if __name__ == "__main__":
    main()
