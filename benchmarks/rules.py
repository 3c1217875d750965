"""Rules: how they hold on entries nobody trained on, what is found of planted ones, and how many are there by chance.

    python benchmarks/rules.py [held-out|entries|chance|planted|seconds] ...

Held out: rules are chosen on the answers of four fifths of the users and counted on those of the others. (Rules are
about what the same person says twice: of answers that are held out one by one, hardly any person has two.) The base
rate is the share of likes of the same consequents among all who rated them, in the mix in which the rules ask; the lift
is confidence over base rate, over all cases together. "Above" is the share of the cases that belong to rules that held
more often than their base rate: a rule with a single case counts once, one with a hundred a hundred times. Entries: the
same with a fifth of all answers held out one by one, whoever gave them.

Chance and planted: 600 users (or 2,000) and 40 items, a part of all cells observed. Without rules: items of differing
popularity; users who differ in readiness; items seen by different users; both. Planted: six implications of 95%. Beside
ours stands Fisher's exact test of all pairs with Bonferroni's correction.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens, peer
from scipy.special import expit, logit
from scipy.stats import hypergeom

from kolmogorov import KolmogorovModel, Observations, datasets
from kolmogorov.data.observations import liked
from kolmogorov.interpret import Rules
from kolmogorov.interpret.counting import Terms
from kolmogorov.interpret.judging import MOST_ANTECEDENTS
from kolmogorov.interpret.mining import Limits, supported_rules
from kolmogorov.interpret.rules import lower_bound

SEEDS = range(5)
TOP = 100
MIN_RATINGS = 20
# mlxtend's smallest support that ends within minutes on MovieLens; larger ones gave smaller lifts.
MIN_SUPPORT = 0.02
N_ITEMS, N_PLANTED, TABLES = 40, 6, 100
# Shares near 5% take more tables to be told from it.
CHANCE_TABLES = 400
KINDS = ("independent", "users differ", "seen by different users", "both")
SIZES = ((600, 0.6), (2000, 0.6), (600, 1.0))
COMMAND = "python benchmarks/rules.py"
COLUMNS = [
    Column("rules"),
    Column("number", ",.0f"),
    Column("held-out cases", ",.0f"),
    Column("confidence", ".1%", missing="–"),
    Column("base rate", ".1%", missing="–"),
    Column("lift", ".3f", missing="–"),
    Column("above", ".1%"),
    Column("items covered", ",.0f"),
]


def main() -> None:
    print(machine())
    parts = {"held-out": held_out, "entries": entries, "chance": chance, "planted": planted, "seconds": seconds}
    for part in sys.argv[1:] or parts:
        parts[part]()


# --- held out --------------------------------------------------------------------------------------------------------


def held_out(names: tuple[str, ...] = ("zoo", "planted", "ml-100k")) -> None:
    """Compare lists of rules on some tables."""
    for name in names:
        ratings = movielens(name) if name.startswith("ml-") else datasets.load(name)
        rows: dict[str, list[list[float]]] = {}
        for seed in SEEDS:
            kept_out = np.random.default_rng(seed).random(ratings.n_users) < 0.2
            theirs = kept_out[ratings.user_rows()]
            train, test = ratings.subset(~theirs), ratings.subset(theirs)
            for words, figures in measured(train, test, 0.8, seed).items():
                rows.setdefault(words, []).append(figures)
        title = f"{name}, likes are at least 4 of 5, a fifth of the users held out; mean over {len(SEEDS)} seeds"
        table = Table(f"rules-{name}", title, f"{COMMAND} held-out", COLUMNS)
        for words, found in rows.items():
            seen = np.ma.masked_invalid(found).mean(axis=0)
            table.add(words, *(None if np.ma.getmaskarray(seen)[k] else float(seen[k]) for k in range(len(seen))))
        finish(table)


def entries(names: tuple[str, ...] = ("zoo", "planted", "ml-100k")) -> None:
    """Compare rules on answers that were held out one by one."""
    title = f"Likes are at least 4 of 5, a fifth of all answers held out one by one; mean over {len(SEEDS)} seeds"
    table = Table("rules-entries", title, f"{COMMAND} entries", [Column("table"), *COLUMNS[:-1]])
    for name in names:
        ratings = movielens(name) if name.startswith("ml-") else datasets.load(name)
        rows: dict[str, list[list[float]]] = {}
        for seed in SEEDS:
            train, test = ratings.split(test_size=0.2, random_state=seed)
            every = looked_at(train, 0.8)
            found = {"supported": figures_of(shown(every).on(test))}
            found[f"{TOP} strongest, supported or not"] = figures_of(every[:TOP].on(test))
            if peer("mlxtend"):
                found |= mined(train, test, 0.8, 1, MIN_SUPPORT)
            for words, figures in found.items():
                rows.setdefault(words, []).append(figures[:-1])
        for words, several in rows.items():
            table.add(name, words, *np.ma.masked_invalid(several).mean(axis=0).tolist())
    finish(table)


def measured(train: Observations, test: Observations, likes: float, seed: int) -> dict[str, list[float]]:
    """Return the figures of every list of rules."""
    found = {}
    least = MIN_RATINGS if train.n_items > 100 else 1
    every = looked_at(train, likes)
    found["supported"] = figures_of(shown(every).on(test))
    longer = shown(looked_at(train, likes, 2, max_p=0.05))
    found["supported, two antecedents"] = figures_of(longer[longer.further[:, 0] >= 0].on(test))
    found[f"{TOP} strongest, supported or not"] = figures_of(every[:TOP].on(test))
    beyond = lower_bound(every.confidence, every.support) - every.expected
    found[f"{TOP} first by the gain over expected"] = figures_of(every[np.argsort(-beyond)[:TOP]].on(test))
    often = every[every.held >= MIN_SUPPORT * train.n_users]
    found[f"{TOP} strongest, at mlxtend's support"] = figures_of(often[:TOP].on(test))
    liking = liked(train, likes)
    for words, table, yes in (("ratings", train, likes), ("liking", liking, 1.0)):
        model = KolmogorovModel(16, random_state=seed).fit(table)
        said = model.relations(min_ratings=least).rules(table, yes, supported=False, min_support=5, max_rules=TOP)
        counted = said.on(test if table is train else liked(test, likes))
        found[f"{TOP} strongest that a model of {words} says"] = figures_of(counted)
    papers = KolmogorovModel(8, learn_from="ratings", user_reg=50.0, item_reg=0.1, random_state=seed).fit(train)
    reverse = papers.relations(min_ratings=least, trivial=False, convention="paper")
    turned = reverse.rules(test, likes, supported=False, min_support=0, max_rules=None)
    found["the paper's direction, all"] = figures_of(turned)
    if peer("mlxtend"):
        for length in (1, 2):
            found |= mined(train, test, likes, length, MIN_SUPPORT)
    return found


def mined(train: Observations, test: Observations, likes: float, length: int, support: float) -> dict[str, list[float]]:
    """Return the figures of mlxtend's rules with so many antecedents."""
    found = {}
    rules = associations(train, likes, length, support)
    counting = Terms(train.items, test.scale, likes).counting(test)
    for measure in ("lift", "confidence"):
        best = rules.sort_values(measure, ascending=False, kind="stable").head(TOP)
        sides = np.array([sorted(one) for one in best["antecedents"]], dtype=np.int64).reshape(-1, length)
        further = np.full((len(best), MOST_ANTECEDENTS - 1), -1)
        further[:, : length - 1] = sides[:, 1:]
        ends = np.array([next(iter(one)) for one in best["consequents"]], dtype=np.int64)
        counted = Rules.counted(counting, "implication", sides[:, 0], ends, further=further)
        words = f"mlxtend, {TOP} by {measure}" + (", two antecedents" if length == 2 else "")
        found[words] = figures_of(counted)
    return found


def looked_at(train: Observations, likes: float, antecedents: int = 1, max_p: float = 1.0) -> Rules:
    """Return the rules of all pairs that go together, strongest first, with their p-values."""
    counting, limits = Terms(train.items, train.scale, likes).counting(train), Limits(min_confidence=0.0, max_p=max_p)
    return supported_rules(counting, np.ones(train.n_items, dtype=bool), limits, max_antecedents=antecedents)


def shown(rules: Rules) -> Rules:
    """Return those that are shown where nothing else is asked for."""
    return rules[Limits().good(rules)]


def figures_of(rules: Rules) -> list[float]:
    """Return number, cases, confidence, base rate, lift, cases of rules above it and items covered."""
    totals, met = rules.totals(), rules.support > 0
    better = float(rules.support[met & (rules.confidence > rules.base_rate)].sum()) / max(totals["pairs"], 1.0)
    covered = len(np.union1d(rules.antecedent, rules.consequent))
    return [len(rules), *(totals[k] for k in ("pairs", "confidence", "base_rate", "lift")), better, covered]


def associations(train: Observations, likes: float, length: int, support: float) -> Any:
    """Mine rules to single items with mlxtend; what was not rated counts as not liked, as there."""
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    yes = np.zeros((train.n_users, train.n_items), dtype=bool)
    some = train.values >= likes - 1e-9
    yes[train.user_rows()[some], train.item_rows()[some]] = True
    sets = fpgrowth(pd.DataFrame(yes), min_support=support, max_len=length + 1)
    rules = association_rules(sets, metric="lift", min_threshold=0.0)
    return rules[(rules["antecedents"].map(len) == length) & (rules["consequents"].map(len) == 1)]


# --- made up ---------------------------------------------------------------------------------------------------------


def made(rng: Any, n_users: int, density: float, kind: str, rates: tuple[float, float], n_planted: int = 0) -> Any:
    """Return answers and which were observed, n_users × 40; of the first items each even one implies the next."""
    readiness = rng.normal(0, 1, (n_users, 1)) if kind in ("users differ", "both") else np.zeros((n_users, 1))
    liking = logit(rng.uniform(*rates, N_ITEMS))
    yes = rng.random((n_users, N_ITEMS)) < expit(readiness + liking)
    for j in range(0, 2 * n_planted, 2):
        yes[yes[:, j], j + 1] = rng.random(int(yes[:, j].sum())) < 0.95
    chance = np.full(yes.shape, density)
    if kind in ("seen by different users", "both"):
        half = rng.random((n_users, 1)) < 0.5
        chance = np.clip(2 * density * expit(np.where(half, 3.0, -3.0) * liking), 0.05, 1.0)
    return yes, rng.random(yes.shape) < chance


def ours(yes: Any, seen: Any) -> set[tuple[int, int]]:
    """Return the supported rules."""
    table = answers(yes, seen)
    rules = looked_at(table, 1.0)
    rules, ids = rules[rules.p_adjusted <= 0.05], table.items.ids.astype(int)
    return set(zip(ids[rules.antecedent].tolist(), ids[rules.consequent].tolist(), strict=True))


def longer(yes: Any, seen: Any) -> int:
    """Return how many supported rules have two antecedents."""
    rules = looked_at(answers(yes, seen), 1.0, 2, max_p=0.05)
    return int((rules.further[:, 0] >= 0).sum())


def answers(yes: Any, seen: Any) -> Observations:
    """Return the observed answers as a table."""
    users, items = np.nonzero(seen)
    return Observations.from_arrays(users, items, yes[users, items].astype(float), minimum=0, maximum=1)


def fishers(yes: Any, seen: Any) -> set[tuple[int, int]]:
    """Return the pairs that Fisher's test with Bonferroni's correction finds."""
    y, n = (yes & seen).astype(float), (~yes & seen).astype(float)
    both, left, right, none = y.T @ y, y.T @ n, n.T @ y, n.T @ n
    p = hypergeom.sf(both - 1, both + left + right + none, both + left, both + right)
    first, second = np.nonzero(np.triu(p <= 0.05 / (N_ITEMS * (N_ITEMS - 1) / 2), 1))
    return set(zip(first.tolist(), second.tolist(), strict=True))


def chance() -> None:
    """Count tables without rules in which some are found."""
    columns = [Column("table"), Column("density", ".0%"), Column("ours", ".1%"), Column("two antecedents", ".1%")]
    columns += [Column("Fisher, Bonferroni", ".1%")]
    title = f"Tables in which rules are found where there are none; {CHANCE_TABLES} of 600 users and 40 items each"
    table, rng = Table("rules-chance", title, f"{COMMAND} chance", columns), np.random.default_rng(0)
    for kind in KINDS:
        for density in (0.6, 1.0):
            tables = [made(rng, 600, density, kind, (0.3, 0.8)) for _ in range(CHANCE_TABLES)]
            table.add(
                kind, density, *(np.mean([bool(test(*one)) for one in tables]) for test in (ours, longer, fishers))
            )
    finish(table)


def planted() -> None:
    """Count the planted implications that are found."""
    columns = [Column("users", ",.0f"), Column("density", ".0%"), Column("ours", ".2f")]
    columns += [
        Column("of ours, false", ".1%"),
        Column("tables with two antecedents", ".1%"),
        Column("Fisher, Bonferroni", ".2f"),
    ]
    title = f"Share of {N_PLANTED} planted implications that is found; {TABLES} tables each, items liked by 50-93%"
    table, rng = Table("rules-power", title, f"{COMMAND} planted", columns), np.random.default_rng(1)
    truth = {(j, j + 1) for j in range(0, 2 * N_PLANTED, 2)}
    turned = {(i, j) for j, i in truth}
    for n_users, density in SIZES:
        hits = theirs = false = everything = long = 0
        for _ in range(TABLES):
            one = made(rng, n_users, density, "independent", (0.5, 0.93), N_PLANTED)
            found = ours(*one)
            hits, theirs = hits + len(found & truth), theirs + len(fishers(*one) & truth)
            false, everything = false + len(found - truth - turned), everything + len(found)
            long += bool(longer(*one))
        number = N_PLANTED * TABLES
        table.add(n_users, density, hits / number, false / max(everything, 1), long / TABLES, theirs / number)
    finish(table)


def seconds() -> None:
    """Time all pairs of MovieLens, and longer rules, after a small table has compiled everything."""
    longer(*made(np.random.default_rng(0), 300, 1.0, "both", (0.3, 0.8), N_PLANTED))
    columns = [Column("table"), Column("antecedents", ".0f"), Column("pairs looked at", ",.0f")]
    columns += [Column("longer rules looked at", ",.0f"), Column("supported", ",.0f"), Column("seconds", ".1f")]
    table = Table("rules-seconds", "MovieLens, likes are at least 4 stars", f"{COMMAND} seconds", columns)
    for name in ("ml-100k", "ml-1m"):
        for antecedents in (1, 2):
            ratings = movielens(name)
            began = time.perf_counter()
            found = shown(looked_at(ratings, 0.8, antecedents, max_p=0.05))
            past = time.perf_counter() - began
            table.add(name, antecedents, found.n_judged, found.n_longer, len(found), past)
    finish(table)


if __name__ == "__main__":
    main()
