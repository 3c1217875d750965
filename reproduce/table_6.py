"""Table VI: accuracy of logical relations on u1.base, D = 8, as the paper counts it and on held-out pairs."""

from typing import Any

import numpy as np

from kolmogorov import KolmogorovModel, Observations
from reproduce.common import Row, Tables, split
from reproduce.printed import TABLE_6


def taste(table: Observations, user: int) -> tuple[int, float]:
    """Return how many items a user rated, and the percentage with p >= 0.5."""
    row = int(table.users.encode([user])[0])
    values = table.values[table.rows.indptr[row] : table.rows.indptr[row + 1]]
    return int(values.size), 100 * float((values >= 0.5).mean())


def raters(model: Any, table: Observations) -> list[tuple[int, int]]:
    """Return (item, user) for the raters of the items of influence 1, as the paper lists them."""
    found, view = [], table.columns
    for item in np.flatnonzero(model.relations().influence == 1.0).tolist():
        for user in view.indices[view.indptr[item] : view.indptr[item + 1]].tolist():
            found.append((int(table.items.ids[item]), int(table.users.ids[user])))
    return sorted(found)


def row(whose: str, table: Observations, item: int, user: int, *printed: float) -> Row:
    """Return a row of the table; `printed` are the paper's last two columns."""
    (count, share), (rated, accuracy) = taste(table, user), printed or (None, None)
    base = 100 * float((table.values >= 0.5).mean())
    cells = {"items of influence 1": whose, "item": item, "user": user, "items rated": count, "paper": rated}
    return cells | {"accuracy %": round(share, 2), "paper %": accuracy, "base rate %": round(base, 2)}


def few(table: Observations, model: Any) -> Row:
    """Count the items that got five stars and nothing else, and the users whose taste is above the paper's 80%."""
    view = table.columns
    rated = [(k, slice(*view.indptr[k : k + 2])) for k in np.flatnonzero(view.counts)]
    items = [k for k, entries in rated if view.values[entries].min() == 1.0]
    influential = int((model.relations().influence[items] == 1.0).sum())
    row: Row = {"items with five stars alone": len(items), "of these of influence 1": influential}
    row["most raters of one"] = int(view.counts[items].max())
    return row | {"% of users above 80%": 100 * float(np.mean([taste(table, u)[1] > 80 for u in table.users.ids]))}


def run(quick: bool = False) -> Tables:
    """List the printed rows from u1.base and those of our first fit; count by start, and on u1.test both ways."""
    train, test = split("D2")
    sweeps, starts = (2, 1) if quick else (20, 5)
    models = [KolmogorovModel.as_in_paper(8, max_iter=sweeps, random_state=k).fit(train) for k in range(starts)]
    rows = [row("the paper's", train, *printed) for printed in TABLE_6]
    rows += [row("our fit's", train, *pair) for pair in raters(models[0], train)]
    means = []
    for k, model in enumerate(models):
        shares = [taste(train, user)[1] for _, user in raters(model, train)]
        means.append({"start": k + 1, "accuracy %": float(np.mean(shares)), "raters": len(shares)})
    held = []
    directions = {False: "X_j = 1 ⇒ X_i = 1", True: "X_i = 1 ⇒ X_j = 1, as printed"}
    for likes, word in ((0.6, "at least 3 stars"), (0.8, "at least 4 stars")):
        for turned, direction in directions.items():
            relations = models[0].relations(likes=likes, min_ratings=20)
            total = relations.counted(test, turned=turned).totals()
            cells = {"likes": word, "supp(psi_j) ⊆ supp(psi_i) gives": direction, "pairs": int(total["pairs"])}
            cells |= {"confidence %": 100 * total["confidence"], "base rate %": 100 * total["base_rate"]}
            held.append(cells | {"lift": total["confidence"] / total["base_rate"]})
    return {
        "table_6": rows,
        "table_6_starts": means,
        "table_6_held_out": held,
        "table_6_raters": [few(train, models[0])],
    }
