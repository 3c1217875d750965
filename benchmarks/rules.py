"""How rules hold on ratings nobody trained on: ours, in the paper's direction, and mlxtend's association rules.

MovieLens 100K, D = 8, random 80/20, items with at least 20 training ratings. Rules are chosen on the training part and
counted on the held-out part. The base rate is the share of likes of the same consequents among all who rated them, in
the mix in which the rules ask; the lift is confidence over base rate, over all cases together.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens

from kolmogorov import KolmogorovModel, Observations
from kolmogorov.interpret import Relations, Rules
from kolmogorov.interpret.rules.counting import Counting
from kolmogorov.interpret.rules.pairs import pairs_of

SEEDS = range(5)
LIKES = {"at least 3 stars": 0.6, "at least 4 stars": 0.8}
TOP = 1000
MIN_RATINGS = 20
# mlxtend's smallest support that ends within minutes; larger ones gave smaller lifts.
MIN_SUPPORT = 0.02
COLUMNS = [
    Column("rules"),
    Column("number", ",.0f"),
    Column("held-out cases", ",.0f"),
    Column("confidence", ".1%"),
    Column("base rate", ".1%"),
    Column("lift", ".3f"),
    Column("items covered", ",.0f"),
    Column("seconds", ".2f"),
]


def main() -> None:
    print(machine())
    ratings = movielens("ml-100k")
    for words, likes in LIKES.items():
        rows: dict[str, list[list[float]]] = {}
        for seed in SEEDS:
            train, test = ratings.split(test_size=0.2, random_state=seed)
            for name, figures in measured(train, test, likes, seed).items():
                rows.setdefault(name, []).append(figures)
        title = f"MovieLens 100K, likes are {words}; mean over {len(SEEDS)} seeds"
        table = Table(f"rules-{round(5 * likes)}-stars", title, "python benchmarks/rules.py", COLUMNS)
        for name, figures in rows.items():
            table.add(name, *np.mean(figures, axis=0))
        finish(table)


def measured(train: Observations, test: Observations, likes: float, seed: int) -> dict[str, list[float]]:
    """Return the figures of every list of rules; seconds include the fit."""
    found = {}
    began = time.perf_counter()
    model = KolmogorovModel(8, learn_from="ratings", user_reg=50.0, item_reg=0.1, random_state=seed).fit(train)
    fitted = time.perf_counter() - began
    relations = model.relations(min_ratings=MIN_RATINGS)
    began = time.perf_counter()
    chosen = relations.rules(train, likes, max_rules=TOP)
    seconds = fitted + time.perf_counter() - began
    found["all implications"] = figures_of(everything(relations, test, likes), fitted)
    reverse = model.relations(min_ratings=MIN_RATINGS, trivial=False, convention="paper")
    found["the paper's direction"] = figures_of(everything(reverse, test, likes), fitted)
    found[f"implications, {TOP:,} strongest"] = figures_of(chosen.on(test), seconds)
    began = time.perf_counter()
    mined = associations(train, likes)
    seconds = time.perf_counter() - began
    counting = Counting(test, test.items, test.scale, np.array([likes]))
    for measure in ("lift", "confidence"):
        best = mined.sort_values(measure, ascending=False, kind="stable").head(TOP)
        left, right = (np.array([next(iter(one)) for one in best[side]]) for side in ("antecedents", "consequents"))
        rules = Rules.counted(counting, "implication", pairs_of(left, right))
        found[f"mlxtend, {TOP:,} by {measure}"] = figures_of(rules, seconds)
    return found


def everything(relations: Relations, test: Observations, likes: float) -> Rules:
    """Return all implications."""
    return relations.rules(test, likes, min_support=0, max_rules=None)


def figures_of(rules: Rules, seconds: float) -> list[float]:
    """Return number, cases, confidence, base rate, lift, items covered and seconds."""
    totals = rules.totals()
    covered = len(np.union1d(rules.antecedent, rules.consequent))
    return [len(rules), totals["pairs"], totals["confidence"], totals["base_rate"], totals["lift"], covered, seconds]


def associations(train: Observations, likes: float) -> Any:
    """Mine rules between single items with mlxtend; a film not rated counts as not liked, as there."""
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    liked = np.zeros((train.n_users, train.n_items), dtype=bool)
    yes = train.values >= likes
    liked[train.user_rows()[yes], train.item_rows()[yes]] = True
    sets = fpgrowth(pd.DataFrame(liked), min_support=MIN_SUPPORT, max_len=2)
    return association_rules(sets, metric="lift", min_threshold=0.0)


if __name__ == "__main__":
    main()
