"""Rules: how many a model states of what data confirm, how they hold on other people, and what chance makes of it.

    python benchmarks/rules.py [found|held-out|chance|planted|seconds] ...

Held out: rules are chosen on the answers of four fifths of the users and counted on those of the others. (Rules are
about what the same person says twice: of answers that are held out one by one, hardly any person has two.) The base
rate is the share of likes of the same consequents among all who rated them, in the mix in which the rules ask; the lift
is confidence over base rate, over all cases together.

Chance and planted: 600 users (or 2,000) and 40 items, a part of all cells observed. Without rules: items of differing
popularity; users who differ in readiness; items seen by different users; both. Planted: six implications of 95%. Beside
ours stands Fisher's exact test of all pairs with Bonferroni's correction.
"""

import sys
import time
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens
from scipy.special import expit, logit
from scipy.stats import hypergeom

from kolmogorov import KolmogorovModel, Observations, associations, datasets
from kolmogorov.data.observations import liked
from kolmogorov.interpret import Rules

SEEDS = range(3)
N_ITEMS, N_PLANTED, TABLES, CHANCE_TABLES = 40, 6, 8, 6
NAMED = ("zoo", "food", "un-votes", "ml-100k", "ml-1m")
KINDS = ("independent", "users differ", "seen by different users", "both")
SIZES = ((600, 0.6), (2000, 0.6), (600, 1.0))
COMMAND = "python benchmarks/rules.py"


def main() -> None:
    print(machine())
    parts = {"found": found, "held-out": held_out, "chance": chance, "planted": planted, "seconds": seconds}
    for part in sys.argv[1:] or parts:
        parts[part]()


def table_of(name: str) -> Observations:
    return movielens(name) if name.startswith("ml-") else datasets.load(name)


def pairs_of(rules: Rules) -> set[tuple[int, int]]:
    """Return the pairs of items of rules with one antecedent, by their numbers, the lower first."""
    rules = rules[rules.antecedents[:, 1] < 0]
    return set(map(tuple, np.sort(np.column_stack([rules.antecedent, rules.consequent]), axis=1).tolist()))


# --- on tables --------------------------------------------------------------------------------------------------------


def found() -> None:
    """Count what data alone find, and what a default model states of it."""
    columns = [Column("table"), Column("psi"), Column("associations", ",.0f"), Column("of these stated", ",.0f")]
    columns.append(Column("exclusions and coverages besides", ",.0f"))
    table = Table("rules-found", "Pairs that data confirm, and a default model states", f"{COMMAND} found", columns)
    for name in NAMED:
        ratings = table_of(name)
        known = associations(ratings)
        for psi in ("binary", "soft"):
            rules = KolmogorovModel(psi=psi, random_state=0).fit(ratings).rules()
            together = rules[rules.kind == "implication"]
            table.add(name, psi, len(known), len(pairs_of(together) & pairs_of(known)), len(rules) - len(together))
    finish(table)


def held_out() -> None:
    """Compare lists of rules on the likes of a fifth of the users of MovieLens 100K."""
    ratings, rows = movielens("ml-100k"), dict[str, list[list[float]]]()
    for seed in SEEDS:
        theirs = (np.random.default_rng(seed).random(ratings.n_users) < 0.2)[ratings.user_rows()]
        train, test = ratings.subset(~theirs), ratings.subset(theirs)
        longer = associations(train, 0.8, max_antecedents=2)
        lists = {
            "by data alone": associations(train, 0.8).on(test),
            "by data alone, two antecedents": longer[longer.antecedents[:, 1] >= 0].on(test),
        }
        for psi in ("binary", "soft"):
            model = KolmogorovModel(psi=psi, random_state=seed).fit(train)
            lists[f"stated ({psi}) and confirmed"] = model.rules(likes=0.8).on(test)
            liking = model.liking(0.8).rules()
            lists[f"stated by a model of liking ({psi}) and confirmed"] = liking.on(liked(test, 0.8))
        papers = KolmogorovModel(8, learn_from="ratings", user_reg=50.0, item_reg=0.1, random_state=seed).fit(train)
        relations = papers.relations(likes=0.8, min_ratings=20)
        lists["nested supports of a model of the paper, whatever the data say"] = relations.counted(test)
        lists["the paper's direction"] = relations.counted(test, turned=True)
        for words, rules in lists.items():
            totals = rules.totals()
            rows.setdefault(words, []).append([totals[k] for k in ("rules", "confidence", "base_rate", "lift")])
    columns = [Column("rules"), Column("number", ",.0f"), Column("confidence", ".1%", missing="–")]
    columns += [Column("base rate", ".1%", missing="–"), Column("lift", ".3f", missing="–")]
    title = f"MovieLens 100K, likes are at least 4 of 5, a fifth of the users held out; mean of {len(SEEDS)} seeds"
    table = Table("rules-held-out", title, f"{COMMAND} held-out", columns)
    for words, several in rows.items():
        seen = np.ma.masked_invalid(several).mean(axis=0)
        table.add(words, *(None if np.ma.getmaskarray(seen)[k] else float(seen[k]) for k in range(len(seen))))
    finish(table)


# --- made up ----------------------------------------------------------------------------------------------------------


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
    every = []
    for kind in KINDS:
        for density in (0.6, 1.0):
            some = []
            for seed in range(CHANCE_TABLES):
                one = made(rng, 600, density, kind, (0.3, 0.8))
                stated = KolmogorovModel(random_state=seed).fit(answers(*one)).rules(max_antecedents=2)
                known = associations(answers(*one), max_antecedents=2)
                longer = [bool((rules.antecedents[:, 1] >= 0).any()) for rules in (stated, known)]
                lists = pairs_of(stated), longer[0], pairs_of(known), longer[1], fishers(*one)
                some.append([bool(one) for one in lists])
            table.add(kind, density, *np.mean(some, axis=0).tolist())
            every += some
    table.add("all", None, *np.mean(every, axis=0).tolist())
    finish(table)


def planted() -> None:
    """Count the planted implications that are found."""
    names = ("nested supports", "stated and confirmed", "the same, soft", "by data alone", "Fisher, Bonferroni")
    columns = [Column("users", ",.0f"), Column("density", ".0%"), *(Column(name, ".2f") for name in names)]
    columns += [Column("of stated and confirmed, false", ".1%"), Column("of those by data, false", ".1%")]
    title = f"Share of {N_PLANTED} planted implications that is found; {TABLES} tables each, items liked by 50-93%"
    table, rng = Table("rules-power", title, f"{COMMAND} planted", columns), np.random.default_rng(1)
    truth = {(j, j + 1) for j in range(0, 2 * N_PLANTED, 2)}
    for n_users, density in SIZES:
        lists: list[list[set[tuple[int, int]]]] = [[] for _ in names]
        for seed in range(TABLES):
            one = made(rng, n_users, density, "independent", (0.5, 0.93), N_PLANTED)
            model, soft = (KolmogorovModel(psi=psi, random_state=seed).fit(answers(*one)) for psi in ("binary", "soft"))
            nested = [pairs_of(model.relations().counted(kind=kind)) for kind in ("implication", "equivalence")]
            stated = pairs_of(model.rules()), pairs_of(soft.rules())
            each = set.union(*nested), *stated, pairs_of(associations(answers(*one))), fishers(*one)
            for several, some in zip(lists, each, strict=True):
                several.append(some)
        shares = [sum(len(some & truth) for some in several) / (N_PLANTED * TABLES) for several in lists]
        wrong = [sum(len(one - truth) for one in lists[k]) / max(1, sum(map(len, lists[k]))) for k in (1, 3)]
        table.add(n_users, density, *shares, *wrong)
    finish(table)


def seconds() -> None:
    """Time rules of MovieLens with up to two antecedents, after a small table has compiled everything."""
    small = answers(*made(np.random.default_rng(0), 300, 1.0, "both", (0.3, 0.8), N_PLANTED))
    KolmogorovModel(random_state=0).fit(small).rules(max_antecedents=2)
    columns = [Column("table"), Column("antecedents", ".0f"), Column("rules"), Column("number", ",.0f")]
    columns += [Column("basis", ",.0f"), Column("looked at"), Column("seconds", ".1f")]
    table = Table("rules-seconds", "MovieLens, likes are at least 4 stars", f"{COMMAND} seconds", columns)
    for name in ("ml-100k", "ml-1m"):
        ratings = movielens(name)
        model = KolmogorovModel(random_state=0).fit(ratings)
        for antecedents in (1, 2):
            for words in ("stated and confirmed", "by data alone"):
                model.fitted_.kept.clear()
                began = time.perf_counter()
                alone = words == "by data alone"
                rules = associations if alone else model.rules
                listed = rules(ratings if alone else None, 0.8, max_antecedents=antecedents)
                past = time.perf_counter() - began
                table.add(name, antecedents, words, len(listed), len(listed.basis()), listed.looked_at, past)
    finish(table)


if __name__ == "__main__":
    main()
