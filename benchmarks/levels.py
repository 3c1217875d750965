"""Point models with two and with several levels on MovieLens 100K: error, rules on held-out ratings.

Random 80/20, mean of three seeds. For each seed, number of events and set of levels, `user_reg` and `item_reg` are
chosen by 2-fold cross-validation of the training entries.
"""

import numpy as np
from harness import Column, Table, finish, machine, movielens

from kolmogorov import KolmogorovModel, tune

SEEDS = range(3)
EVENTS = (4, 8, 12)
LEVELS = {"two": 2, "0 to 1 by 0.2": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], "-0.4 to 1.4 by 0.2 (auto)": "auto"}
GRID = {"user_reg": (10.0, 30.0), "item_reg": (0.0, 0.3, 1.0)}
#: Items rated so often make the rules.
MIN_RATINGS = 50
COLUMNS = [
    Column("levels"),
    Column("D"),
    Column("RMSE in stars", ".4f"),
    Column("strongest 100 rules: confidence", ".1%"),
    Column("base rate", ".1%"),
    Column("lift", ".2f"),
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


def main():
    ratings = movielens("ml-100k")
    print(machine())
    finish(errors(ratings))


if __name__ == "__main__":
    main()
