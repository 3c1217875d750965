"""Point models with two and with several levels on MovieLens 100K: error, rules on held-out ratings; the level solvers.

Random 80/20, mean of three seeds. For each seed, number of events and set of levels, `user_reg` and `item_reg` are
chosen by 2-fold cross-validation of the training entries.
"""

import numpy as np
from harness import Column, Table, finish, machine, movielens, timed

from kolmogorov import KolmogorovModel, tune
from kolmogorov.kernels.rows.gram import normal_equations
from kolmogorov.solvers import resolve

SEEDS = range(3)
EVENTS = (4, 8, 12)
LEVELS = {"two": 2, "0 to 1 by 0.2": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], "-0.4 to 1.4 by 0.2 (auto)": "auto"}
GRID = {"user_reg": (10.0, 30.0), "item_reg": (0.0, 0.3, 1.0)}
#: Items rated so often make the rules.
MIN_RATINGS = 50
PROBLEMS = 200
COLUMNS = [
    Column("levels"),
    Column("D"),
    Column("RMSE in stars", ".4f"),
    Column("strongest 100 rules: confidence", ".1%"),
    Column("base rate", ".1%"),
    Column("lift", ".2f"),
]
SOLVER_COLUMNS = [
    Column("solver"),
    Column("D"),
    Column("microseconds per problem", ".0f"),
    Column("share of problems where it is worse than branch_bound", ".1%"),
]


def fitted(train, seed, n_events, levels):
    """The model with cross-validated regularisation."""
    base = KolmogorovModel(n_events, levels=levels, learn_from="ratings", max_iter=30)
    found = tune(train, model=base, folds=2, random_state=seed, refit=False, n_events=n_events, **GRID)
    best = {name: found.best.parameters[name] for name in GRID}
    return KolmogorovModel(n_events, levels=levels, learn_from="ratings", random_state=seed, **best).fit(train)


def errors(ratings):
    """Fit every kind of model; return the table."""
    title = (
        "Point models on MovieLens 100K, random 80/20, mean of three seeds; rules chosen in training, held-out ratings"
    )
    table = Table("levels", title, "python benchmarks/levels.py", COLUMNS)
    for n_events in EVENTS:
        for name, levels in LEVELS.items():
            found = []
            for seed in SEEDS:
                train, test = ratings.split(test_size=0.2, random_state=seed)
                model = fitted(train, seed, n_events, levels)
                rules = model.relations(min_ratings=MIN_RATINGS).rules(
                    train, supported=False, max_rules=100, min_support=20
                )
                totals = rules.on(test).totals()
                found.append([model.evaluate(test)["rmse_rating"], *(totals[k] for k in ("confidence", "base_rate"))])
            error, confidence, rate = np.mean(found, axis=0)
            table.add(name, n_events, error, confidence, rate, confidence / rate)
    return table


def problems(ratings, n_events):
    """Normal equations of the most observed items of a fit."""
    model = KolmogorovModel(
        n_events, levels="auto", learn_from="ratings", user_reg=10.0, max_iter=5, random_state=0
    ).fit(ratings)
    view, n = ratings.columns, ratings.n_items
    gram, moment = np.empty((n, n_events, n_events)), np.empty((n, n_events))
    table = (view.indptr, view.indices, view.values, view.weights)
    normal_equations(*table, model.theta_, 0, n, 0.1, np.full(n_events, 0.1), gram, moment)
    busy = np.argsort(-view.counts, kind="stable")[:PROBLEMS]
    return gram[busy], moment[busy], model.levels_


def solved(solver, gram, moment):
    """Seconds for one problem, and the values found."""
    start, seeds = np.zeros_like(moment), np.arange(len(moment), dtype=np.uint64)
    timing = timed(
        lambda: solver.solve_batch(gram, moment, start, seeds),
        warm_up=lambda: solver.solve_batch(gram[:2], moment[:2], start[:2], seeds[:2]),
    )
    x = timing.result
    return timing.median / len(moment), np.einsum("nd,nde,ne->n", x, gram, x) - 2 * (x * moment).sum(axis=1)


def solvers(ratings):
    """Time the solvers on the items' problems; return the table."""
    title = f"{PROBLEMS} item problems of MovieLens 100K over ten levels, from scratch, on one thread"
    table = Table("level-solvers", title, "python benchmarks/levels.py", SOLVER_COLUMNS)
    for n_events in (4, 8, 16):
        gram, moment, grid = problems(ratings, n_events)
        methods = {
            "branch_bound": resolve("levels", "branch_bound", levels=grid),
            "coordinate": resolve("levels", "coordinate", levels=grid),
            "coordinate, 8 starts": resolve("levels", "coordinate", n_starts=8, levels=grid),
            "binary, auto": resolve("levels", "binary", levels=grid),
        }
        if n_events <= 4:
            methods["exhaustive"] = resolve("levels", "exhaustive", levels=grid)
        best = None
        for name, solver in methods.items():
            seconds, values = solved(solver, gram, moment)
            best = values if best is None else best
            worse = float((values > best + 1e-9 * (1 + np.abs(best))).mean())
            table.add(name, n_events, 1e6 * seconds, worse)
    return table


def main():
    ratings = movielens("ml-100k")
    print(machine())
    finish(errors(ratings), solvers(ratings))


if __name__ == "__main__":
    main()
