"""Test error on MovieLens 100K: random 80/20, five seeds, regularisation chosen inside the training part.

For each seed and number of events, `user_reg` is chosen by 3-fold cross-validation of the training entries with
`item_reg` = 0, then `item_reg` likewise with that `user_reg`; the model is refitted on all training entries.
"""

import time

import numpy as np
from harness import Column, Table, finish, machine, movielens

from kolmogorov import KolmogorovModel

EVENTS = (4, 8, 16, 24)
USER_REGS = (10.0, 20.0, 40.0, 80.0, 120.0)
ITEM_REGS = (0.0, 0.1, 0.3)
SEEDS = range(5)
COLUMNS = [Column("D"), Column("RMSE", ".4f"), Column("in stars", ".3f")]


def results():
    """Return the table, empty."""
    title = "Test error on MovieLens 100K, random 80/20, mean of five seeds, on the scale p = stars / 5"
    return Table("movielens", title, "python benchmarks/movielens.py", COLUMNS, transposed=True)


def validated(train, seed, n_events, **regs):
    """Mean validation RMSE of one setting."""
    scores = []
    for fold, (part, held) in enumerate(train.folds(3, random_state=seed)):
        model = KolmogorovModel(
            n_events, learn_from="ratings", max_iter=30, random_state=100 * seed + fold, **regs
        ).fit(part)
        scores.append(model.evaluate(held)["rmse"])
    return np.mean(scores)


def chosen(train, seed, n_events):
    """Regularisation by cross-validation, one parameter after the other."""
    user = {r: validated(train, seed, n_events, user_reg=r, item_reg=0.0) for r in USER_REGS}
    user_reg = min(user, key=user.get)
    item = {0.0: user[user_reg]}
    item |= {r: validated(train, seed, n_events, user_reg=user_reg, item_reg=r) for r in ITEM_REGS if r}
    return {"user_reg": user_reg, "item_reg": min(item, key=item.get)}


def main():
    ratings = movielens("ml-100k")
    print(machine())
    table = results()
    for n_events in EVENTS:
        began = time.perf_counter()
        errors, regs = [], []
        for seed in SEEDS:
            train, test = ratings.split(test_size=0.2, random_state=seed)
            reg = chosen(train, seed, n_events)
            model = KolmogorovModel(n_events, learn_from="ratings", random_state=seed, **reg).fit(train)
            errors.append(model.evaluate(test)["rmse"])
            regs.append(f"({reg['user_reg']:g}, {reg['item_reg']:g})")
        mean, spread = np.mean(errors), np.std(errors, ddof=1)
        table.add(n_events, mean, 5 * mean)
        seconds = time.perf_counter() - began
        print(f"  sd {spread:.4f}; (user_reg, item_reg) by seed: {' '.join(regs)}; {seconds:.0f} s", flush=True)
    finish(table)


if __name__ == "__main__":
    main()
