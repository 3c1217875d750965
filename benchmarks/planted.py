"""Tables of many kinds, made from random numbers: none of them is drawn from a Kolmogorov model."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov import Observations, datasets

Rows = NDArray[np.int64]
Generator = np.random.Generator
Maker = Callable[[Generator], Observations]


def sparse_pairs(rng: Generator, n_users: int, n_items: int, n: int, users: float, items: float) -> tuple[Rows, Rows]:
    """Return different pairs, of which frequent users and items have more by a power law."""

    def side(size: int, power: float) -> Rows:
        share = 1.0 / np.arange(1, size + 1) ** power
        return rng.choice(size, size=int(1.3 * n), p=share / share.sum())

    pairs = np.unique(np.column_stack([side(n_users, users), side(n_items, items)]), axis=0)
    kept = pairs[rng.permutation(len(pairs))[:n]]
    return kept[:, 0], kept[:, 1]


def dense_pairs(rng: Generator, n_users: int, n_items: int, share: float) -> tuple[Rows, Rows]:
    """Return a random share of all pairs."""
    users, items = np.nonzero(rng.random((n_users, n_items)) < share)
    return users, items


def low_rank(rng: Generator, users: Rows, items: Rows, rank: int, *spreads: float) -> Any:
    """Return biases of users, biases of items, products of factors and noise, each with its standard deviation."""
    n_users, n_items = users.max() + 1, items.max() + 1
    of_users, of_items, of_factors, of_noise = spreads
    left, right = rng.standard_normal((n_users, rank)), rng.standard_normal((n_items, rank))
    total = of_users * rng.standard_normal(n_users)[users] + of_items * rng.standard_normal(n_items)[items]
    total += of_factors * (left[users] * right[items]).sum(axis=1) / np.sqrt(rank)
    return total + of_noise * rng.standard_normal(len(users))


def table(users: Rows, items: Rows, values: Any, low: float, high: float) -> Observations:
    """Make observations of values between `low` and `high`."""
    scaling: dict[str, Any] = {"scaling": "minmax", "minimum": low} if low else {}
    return Observations.from_arrays(users, items, np.clip(values, low, high), maximum=high, **scaling)


Pairs = Callable[[Generator], tuple[Rows, Rows]]


def sparse(*options: Any) -> Pairs:
    return lambda rng: sparse_pairs(rng, *options)


def dense(*options: Any) -> Pairs:
    return lambda rng: dense_pairs(rng, *options)


def ranked(pairs: Pairs, mean: float, spreads: Any, shown: Callable[[Any], Any], low: float, high: float) -> Maker:
    """Return what makes a table of low rank: a mean, rank and spreads as in `low_rank`, and how numbers are told."""

    def make(rng: Generator) -> Observations:
        users, items = pairs(rng)
        return table(users, items, shown(mean + low_rank(rng, users, items, *spreads)), low, high)

    return make


def stars(values: Any) -> Any:
    return np.clip(np.round(values), 1, 5)


def thirds(values: Any) -> Any:
    return np.select([values < -0.6, values < 0.5], [0, 1], 2)


def positive(values: Any) -> Any:
    return values > 0.0


def survey(rng: Generator) -> Observations:
    users, items = dense_pairs(rng, 1_500, 50, 0.95)
    kind, profile = rng.integers(6, size=1_500), rng.normal(0.0, 0.9, (6, 50))
    trait, key, sign = rng.standard_normal((1_500, 5)), np.repeat(np.arange(5), 10), rng.choice([-1, 1], 50)
    values = 3.1 + 0.7 * trait[users, key[items]] * sign[items] + 0.5 * profile[kind[users], items]
    values += 0.3 * rng.standard_normal(1_500)[users] + 0.75 * rng.standard_normal(len(users))
    return table(users, items, np.round(values), 1, 5)


def votes(rng: Generator) -> Observations:
    users, items = dense_pairs(rng, 180, 2_000, 0.9)
    bloc, line = rng.integers(7, size=180), rng.choice([0, 0.5, 1], p=[0.15, 0.15, 0.7], size=(7, 2_000))
    apart = rng.random(len(users)) < 0.07
    return table(users, items, np.where(apart, rng.choice([0, 0.5, 1], len(users)), line[bloc[users], items]), 0, 1)


def clusters(rng: Generator) -> Observations:
    users, items = sparse_pairs(rng, 2_000, 500, 50_000, 0.4, 0.6)
    mine, yours, mean = rng.integers(8, size=2_000), rng.integers(12, size=500), rng.normal(3.4, 1.0, (8, 12))
    values = mean[mine[users], yours[items]] + 0.3 * rng.standard_normal(2_000)[users]
    values += 0.4 * rng.standard_normal(500)[items] + 0.8 * rng.standard_normal(len(users))
    return table(users, items, np.clip(np.round(values), 1, 5), 0, 5)


def parties(rng: Generator) -> Observations:
    users, items = dense_pairs(rng, 435, 16, 0.95)
    place = np.where(rng.random(435) < 0.6, 1.0, -1.0) + 0.5 * rng.standard_normal(435)
    odds = rng.normal(0.0, 1.4, 16)[items] * place[users] + rng.normal(0.0, 1.0, 16)[items]
    return table(users, items, rng.random(len(users)) < 1.0 / (1.0 + np.exp(-odds)), 0, 1)


def roll_calls(rng: Generator) -> Observations:
    users, items = dense_pairs(rng, 400, 600, 0.9)
    place = np.where(rng.random(400) < 0.5, 1.0, -1.0)[:, None] * [1.5, 0.0] + 0.6 * rng.standard_normal((400, 2))
    odds = (rng.normal(0.0, 2.2, (600, 2))[items] * place[users]).sum(axis=1) + rng.normal(1.0, 2.0, 600)[items]
    return table(users, items, rng.random(len(users)) < 1.0 / (1.0 + np.exp(-odds)), 0, 1)


def types(rng: Generator) -> Observations:
    users, items = dense_pairs(rng, 600, 40, 0.8)
    kind, chance = rng.integers(5, size=600), rng.beta(0.5, 0.5, (5, 40))
    return table(users, items, rng.random(len(users)) < chance[kind[users], items], 0, 1)


def assembly(rng: Generator) -> Observations:
    """Votes of countries on some motions since 2000: yes, abstain, no."""
    motions = datasets.load("un-votes")
    chosen = np.zeros(motions.n_items, dtype=bool)
    chosen[rng.choice(motions.n_items, 1_110, replace=False)] = True
    return motions.subset(chosen[motions.item_rows()])


def assembly_yes(rng: Generator) -> Observations:
    """The same without those who abstained."""
    some = assembly(rng)
    kept = some.subset(some.values != 0.5)
    names = kept.users.ids[kept.user_rows()], kept.items.ids[kept.item_rows()]
    return Observations.from_arrays(*names, kept.values, maximum=1)


#: By name: what is said of each, and how it is made.
TABLES: dict[str, tuple[str, Maker]] = {
    "books": (
        "16,000 × 10,000, 6 a user, 1 to 5",
        ranked(sparse(16_000, 10_000, 100_000, 0.6, 0.8), 3.9, (8, 0.35, 0.25, 0.25, 0.8), stars, 0, 5),
    ),
    "tweets": (
        "12,000 × 5,000, 6 a user, 0 to 10",
        ranked(sparse(12_000, 5_000, 72_000, 0.3, 0.9), 7.4, (5, 0.9, 0.9, 0.6, 1.3), np.round, 0, 10),
    ),
    "survey": ("1,500 × 50, nearly full, 1 to 5, traits and types", survey),
    "jokes": (
        "4,000 × 100, 60% full, continuous",
        ranked(dense(4_000, 100, 0.6), 1.0, (6, 2.0, 1.0, 2.2, 3.8), np.asarray, -10, 10),
    ),
    "votes": ("180 × 2,000, 90% full, yes, abstain, no", votes),
    "clusters": ("2,000 × 500, 25 a user, 1 to 5, clusters of both", clusters),
    "noise": (
        "1,000 × 1,000, 20 a user, 1 to 5, nearly all noise",
        ranked(sparse(1_000, 1_000, 20_000, 0.4, 0.5), 3.5, (3, 0.1, 0.2, 0.1, 1.2), stars, 0, 5),
    ),
    "three": (
        "3,000 × 1,500, 20 a user, three values, 6 strong factors",
        ranked(sparse(3_000, 1_500, 60_000, 0.5, 0.7), 0.0, (6, 0.3, 0.6, 0.8, 0.5), thirds, 0, 2),
    ),
    "digits": ("1,797 × 64 pixels, 0 to 16", lambda rng: datasets.load("digits")),
    "parties": ("435 × 16, yes/no, one dimension", parties),
    "roll calls": ("400 × 600, yes/no, two dimensions", roll_calls),
    "zoo": ("101 × 15, yes/no", lambda rng: datasets.load("zoo")),
    "probit": (
        "400 × 16, yes/no, 3 factors",
        ranked(dense(400, 16, 0.85), 0.0, (3, 0.5, 0.6, 1.0, 0.8), positive, 0, 1),
    ),
    "types": ("600 × 40, yes/no, 5 types", types),
    "assembly": ("193 × 1,110 motions, votes of countries: yes, abstain, no", assembly),
    "assembly, yes/no": ("the same without those who abstained", assembly_yes),
}


def made(name: str, seed: int) -> Observations:
    """Return a table; the seed is for the random numbers behind it."""
    place = list(TABLES).index(name)
    return TABLES[name][1](np.random.default_rng([place, seed]))
