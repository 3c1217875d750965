"""Table VI: accuracy of logical relations, as the paper counts it, and as it should be counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.paper.numbers import TABLE_6
from kolmogorov.paper.relations import confidence, influence
from kolmogorov.paper.result import Effort, Panel, Result
from kolmogorov.paper.subjects import dataset, solver

_LIKES = 0.5


def run(effort: Effort) -> Result:
    """List items with influence score 1, their raters and the accuracy; then judge rules on held-out ratings."""
    from kolmogorov.model.estimator import KolmogorovModel

    ratings = dataset("D2")
    train, test = ratings.split(test_size=0.2, random_state=0)
    effort.say("fitting with enhanced_gd, D = 8")
    model = KolmogorovModel(
        8, user_reg=30.0, binary_solver=solver("enhanced_gd"), max_iter=effort.pick(2, 8), random_state=0
    ).fit(train)
    counts = train.columns.counts
    psi = model.psi_[counts > 0]
    names = np.flatnonzero(counts > 0)
    inside, score = influence(psi)
    full = names[score == 1.0]
    rows = _raters(train, full)
    liked = float((train.values >= _LIKES).mean())
    shown = rows[:12]
    columns: dict[str, list[Any]] = {
        "item": [int(ratings.items.ids[i]) for i, *_ in shown],
        "user": [int(ratings.users.ids[u]) for _, u, *_ in shown],
        "items rated": [n for *_, n, _ in shown],
        "accuracy %": [100 * share for *_, share in shown],
        "base rate %": [100 * liked] * len(shown),
    }
    often = np.bincount(train.item_rows(), minlength=train.n_items)[names] >= 20
    proper = inside & ~inside.T & often[:, None] & often[None, :]
    whole = np.zeros((ratings.n_items, ratings.n_items), dtype=bool)
    whole[np.ix_(names, names)] = proper.T  # rules[j, i] for supp psi_j inside supp psi_i
    sentences = [
        f"{len(full)} items have influence score 1; their {len(rows)} raters like on average "
        f"{100 * float(np.mean([share for *_, share in rows])) if rows else 0:.1f}% of what they rated. That is the "
        f"base rate: {100 * liked:.1f}% of all training ratings are at least 3 stars, and the paper's 'above 80%' "
        "measures it."
    ]
    for likes, word in ((0.6, "at least 3 stars"), (0.8, "at least 4 stars")):
        right, reverse = confidence(whole, test, likes), confidence(whole.T, test, likes)
        sentences.append(
            f"On held-out ratings (likes = {word}, items with 20 ratings or more) implications in our direction hold "
            f"in {100 * right['confidence']:.1f}% of {right['pairs']:.0f} cases against a base rate of "
            f"{100 * right['base rate']:.1f}%; read in the paper's direction in {100 * reverse['confidence']:.1f}% "
            f"against {100 * reverse['base rate']:.1f}%."
        )
    shares = [100 * share for *_, share in rows]
    lines = {
        "ours": (list(range(len(shares))), sorted(shares)),
        "paper": (np.linspace(0, max(len(shares) - 1, 1), len(TABLE_6)).tolist(), sorted(r[3] for r in TABLE_6)),
        "base rate": ([0, max(len(shares) - 1, 1)], [100 * liked, 100 * liked]),
    }
    panel = Panel("Raters of items with influence score 1", "rater, sorted", "% of rated items liked", lines)
    return Result("Table VI: accuracy of logical relations (D2, D = 8)", columns, [panel], sentences)


def _raters(train: Any, items: Any) -> list[tuple[int, int, int, float]]:
    """Return (item, user, items rated by the user, share of them liked) for every rater of the items."""
    rows = []
    for item in items.tolist():
        for user in train.columns.indices[train.columns.indptr[item] : train.columns.indptr[item + 1]].tolist():
            values = train.values[train.rows.indptr[user] : train.rows.indptr[user + 1]]
            rows.append((item, user, int(values.size), float((values >= _LIKES).mean())))
    return rows
