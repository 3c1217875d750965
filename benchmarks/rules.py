"""Rules: how they hold on entries nobody trained on, what is found of planted ones, and how many are there by chance.

    python benchmarks/rules.py [held-out|chance|planted|seconds] ...

Held out: rules are chosen on the answers of four fifths of the users and counted on those of the others. (Rules are
about what the same person says twice: of answers that are held out one by one, hardly any person has two.) The base
rate is the share of likes of the same consequents among all who rated them, in the mix in which the rules ask; the lift
is confidence over base rate, over all cases together. "Above" is the share of the cases that belong to rules that held
more often than their base rate: a rule with a single case counts once, one with a hundred a hundred times.

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

from kolmogorov import KolmogorovModel, Observations, associations, datasets
from kolmogorov.data.observations import liked
from kolmogorov.interpret import Rules
from kolmogorov.interpret.rules import Terms

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
    parts = {"held-out": held_out, "chance": chance, "planted": planted, "seconds": seconds}
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


def measured(train: Observations, test: Observations, likes: float, seed: int) -> dict[str, list[float]]:
    """Return the figures of every list of rules."""
    found = {}
    by_data = associations(train, likes)
    found["by data alone"] = figures_of(by_data.on(test))
    longer = associations(train, likes, max_antecedents=2)
    found["by data alone, two antecedents"] = figures_of(longer[longer.antecedents[:, 1] >= 0].on(test))
    said = test if train.is_binary else liked(test, likes)
    for psi in ("binary", "soft"):
        model = KolmogorovModel(psi=psi, random_state=seed).fit(train)
        found[f"stated ({psi}) and confirmed"] = figures_of(model.rules(likes=likes).on(test))
        if not train.is_binary:
            liking = model.liking(likes).rules()
            found[f"stated by a model of liking ({psi}) and confirmed"] = figures_of(liking.on(said))
    papers = KolmogorovModel(8, learn_from="ratings", user_reg=50.0, item_reg=0.1, random_state=seed).fit(train)
    relations = papers.relations(likes=likes, min_ratings=MIN_RATINGS if train.n_items > 100 else 1)
    found["stated by a model of the paper, whatever the data say"] = figures_of(relations.counted(test))
    found["the paper's direction"] = figures_of(relations.counted(test, turned=True))
    if peer("mlxtend"):
        for length in (1, 2):
            found |= mined(train, test, likes, length, MIN_SUPPORT)
    return found


def mined(train: Observations, test: Observations, likes: float, length: int, support: float) -> dict[str, list[float]]:
    """Return the figures of mlxtend's rules with so many antecedents."""
    found = {}
    rules = by_mlxtend(train, likes, length, support)
    counting = Terms(train.items, test.scale, likes).counting(test)
    for measure in ("lift", "confidence"):
        best = rules.sort_values(measure, ascending=False, kind="stable").head(TOP)
        sides = np.array([sorted(one) for one in best["antecedents"]], dtype=np.int64).reshape(-1, length)
        ends = np.array([next(iter(one)) for one in best["consequents"]], dtype=np.int64)
        counted = Rules.counted(counting, 0, sides, ends)
        words = f"mlxtend, {TOP} by {measure}" + (", two antecedents" if length == 2 else "")
        found[words] = figures_of(counted)
    return found


def figures_of(rules: Rules) -> list[float]:
    """Return number, cases, confidence, base rate, lift, cases of rules above it and items covered."""
    totals, met = rules.totals(), rules.support > 0
    better = float(rules.support[met & (rules.confidence > rules.base_rate)].sum()) / max(totals["pairs"], 1.0)
    covered = np.union1d(rules.antecedents, rules.consequent)
    return [
        len(rules),
        *(totals[k] for k in ("pairs", "confidence", "base_rate", "lift")),
        better,
        int((covered >= 0).sum()),
    ]


def by_mlxtend(train: Observations, likes: float, length: int, support: float) -> Any:
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


def pairs_of(rules: Rules) -> set[tuple[int, int]]:
    """Return the pairs of items of rules with one antecedent, the lower first."""
    rules = rules[rules.antecedents[:, 1] < 0]
    sides = np.sort(rules.terms.items.ids.astype(int)[np.column_stack([rules.antecedent, rules.consequent])], axis=1)
    return set(map(tuple, sides.tolist()))


def has_longer(rules: Rules) -> bool:
    """Tell whether any rule has two antecedents."""
    return bool((rules.antecedents[:, 1] >= 0).any())


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
    names = ("stated and confirmed", "longer", "by data alone", "longer, by data", "Fisher, Bonferroni")
    columns = [Column("table"), Column("density", ".0%"), *(Column(name, ".1%") for name in names)]
    title = f"Tables in which rules are found where there are none; {CHANCE_TABLES} of 600 users and 40 items each"
    table, rng = Table("rules-chance", title, f"{COMMAND} chance", columns), np.random.default_rng(0)
    for kind in KINDS:
        for density in (0.6, 1.0):
            found = []
            for seed in range(CHANCE_TABLES):
                one = made(rng, 600, density, kind, (0.3, 0.8))
                stated = KolmogorovModel(random_state=seed).fit(answers(*one)).rules(max_antecedents=2)
                by_data = associations(answers(*one), max_antecedents=2)
                lists = [test(rules) for rules in (stated, by_data) for test in (pairs_of, has_longer)]
                found.append([bool(one) for one in (*lists, fishers(*one))])
            table.add(kind, density, *np.mean(found, axis=0).tolist())
    finish(table)


def planted() -> None:
    """Count the planted implications that are found."""
    names = ("nested supports", "stated and confirmed", "by data alone", "Fisher, Bonferroni")
    columns = [Column("users", ",.0f"), Column("density", ".0%"), *(Column(name, ".2f") for name in names)]
    columns += [Column("of stated and confirmed, false", ".1%"), Column("of those by data, false", ".1%")]
    title = f"Share of {N_PLANTED} planted implications that is found; {TABLES} tables each, items liked by 50-93%"
    table, rng = Table("rules-power", title, f"{COMMAND} planted", columns), np.random.default_rng(1)
    truth = {(j, j + 1) for j in range(0, 2 * N_PLANTED, 2)}
    for n_users, density in SIZES:
        lists: list[list[set[tuple[int, int]]]] = [[], [], [], []]
        for seed in range(TABLES):
            one = made(rng, n_users, density, "independent", (0.5, 0.93), N_PLANTED)
            model = KolmogorovModel(random_state=seed).fit(answers(*one))
            says = [model.relations().counted(kind=kind) for kind in ("implication", "equivalence")]
            lists[0].append(set.union(*map(pairs_of, says)))
            lists[1].append(pairs_of(model.rules()))
            lists[2].append(pairs_of(associations(answers(*one))))
            lists[3].append(fishers(*one))
        shares = [sum(len(found & truth) for found in several) / (N_PLANTED * TABLES) for several in lists]
        wrong = [
            sum(len(found - truth) for found in several) / max(1, sum(map(len, several))) for several in lists[1:3]
        ]
        table.add(n_users, density, *shares, *wrong)
    finish(table)


def seconds() -> None:
    """Time rules of MovieLens with up to three antecedents, after a small table has compiled everything."""
    small = answers(*made(np.random.default_rng(0), 300, 1.0, "both", (0.3, 0.8), N_PLANTED))
    KolmogorovModel(random_state=0).fit(small).rules(max_antecedents=2)
    associations(small, max_antecedents=2)
    columns = [Column("table"), Column("antecedents", ".0f"), Column("rules"), Column("number", ",.0f")]
    columns += [Column("basis", ",.0f"), Column("looked at"), Column("seconds", ".1f")]
    table = Table("rules-seconds", "MovieLens, likes are at least 4 stars", f"{COMMAND} seconds", columns)
    for name in ("ml-100k", "ml-1m"):
        ratings = movielens(name)
        model = KolmogorovModel(random_state=0).fit(ratings)
        for antecedents in (1, 2, 3):
            for words, function in (("stated and confirmed", model.rules), ("by data alone", associations)):
                given = (ratings, 0.8) if function is associations else (None, 0.8)
                began = time.perf_counter()
                found = function(*given, max_antecedents=antecedents)
                past = time.perf_counter() - began
                table.add(name, antecedents, words, len(found), len(found.basis()), found.looked_at, past)
    finish(table)


if __name__ == "__main__":
    main()
