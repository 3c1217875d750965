"""Time per rating on planted tables of growing size: it should stay flat."""

import numpy as np
from harness import Column, Table, finish, machine

from kolmogorov import KolmogorovModel, datasets

EVENTS = 16
SIZES = (10**5, 10**6, 10**7)
RATINGS_PER_USER = 100
RATINGS_PER_ITEM = 250
SWEEPS = 8
COLUMNS = [
    Column("ratings", ",d"),
    Column("users", ",d"),
    Column("items", ",d"),
    Column("seconds per sweep", ".3f"),
    Column("ns per rating and sweep", ".1f"),
]


def main():
    print(machine())
    title = (
        f"Planted tables, D = {EVENTS}, about {RATINGS_PER_USER} ratings per user and "
        f"{RATINGS_PER_ITEM} per item, median of {SWEEPS} sweeps"
    )
    results = Table("scaling", title, "python benchmarks/scaling.py", COLUMNS)
    costs = []
    KolmogorovModel(EVENTS, learn_from="ratings", max_iter=1, random_state=0).fit(datasets.load("zoo"))
    for size in SIZES:
        n_users = size // RATINGS_PER_USER
        n_items = size // RATINGS_PER_ITEM
        table = datasets.load(
            "planted",
            n_users=n_users,
            n_items=n_items,
            n_events=EVENTS,
            n_observations=size,
            noise=0.1,
            random_state=0,
        )
        model = KolmogorovModel(EVENTS, learn_from="ratings", max_iter=SWEEPS, tol=0.0, random_state=0).fit(table)
        seconds = float(np.median([s.user_seconds + s.item_seconds for s in model.history_]))
        costs.append(1e9 * seconds / len(table))
        results.add(len(table), n_users, n_items, seconds, costs[-1])
    print(f"\nlargest over smallest time per rating: {max(costs) / min(costs):.2f}")
    finish(results)


if __name__ == "__main__":
    main()
