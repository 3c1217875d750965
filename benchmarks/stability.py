"""Events that come back: what another seed, the other half of the ratings and other people tell, beside topics.

Two models are compared by the correlation of their thetas, event by event, users weighted by their ratings; events are
matched so that these are largest together. Said are the mean and the worst, and how many of the ten items that name an
event are the same. Where one has more events than the other, the fewer are matched. `seeds`: two default fits, with
every pair of seeds. `halves`: fits of two halves of the ratings, at random. `users`: a fit without a fifth of the
users, and one of all, compared on the users of both. Beside them NMF and LDA of scikit-learn, and archetypes where the
package is there, of likes (of ratings, four stars or more; archetypes of all answers, a blank being the item's mean),
with as many topics as the soft model has events.

`choices` is what was weighed: sweeps over chances and towards bits, on planted tables alone.

    python benchmarks/stability.py [zoo|votes|food|ml-100k|ml-1m|choices] ...

A table takes no new fit after `LIMIT` seconds; rows that are missing then are left out.
"""

import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

import kolmogorov as km
from kolmogorov._support.threads import Threads
from kolmogorov.descent import distillation
from kolmogorov.descent.distillation import alike
from kolmogorov.draws.sampler import drawn
from kolmogorov.models.learning import short_plan

LIMIT, SEEDS, NAMED = 900.0, {"ml-1m": 2}, 10


@dataclass(frozen=True)
class Found:
    """Thetas by user id, the items that name each event by item id, and what each user weighs."""

    users: Any
    theta: Any
    names: list[set[str]]
    weights: Any


def table_of(name: str) -> km.Observations:
    if name == "votes":
        return km.datasets.load("un-votes", since=2018)
    return movielens(name) if name.startswith("ml-") else km.datasets.load(name)


def ours(psi: str) -> Callable[[km.Observations, int, int], Found]:
    def fitted(table: km.Observations, seed: int, n_topics: int) -> Found:
        model = km.KolmogorovModel(psi=psi, random_state=seed).fit(table)  # type: ignore[arg-type]
        named = [{str(table.items.ids[row]) for row in event.rows} for event in model.events(NAMED)]
        return _found(table, model.theta_, named)

    return fitted


def topics(kind: str) -> Callable[[km.Observations, int, int], Found]:
    def fitted(table: km.Observations, seed: int, n_topics: int) -> Found:
        from sklearn.decomposition import NMF, LatentDirichletAllocation

        values = (table.values >= 0.8 - 1e-9).astype(float)
        shape = (table.n_users, table.n_items)
        likes = csr_array((values, (table.user_rows(), table.item_rows())), shape=shape)
        if kind == "archetypes":
            answers = np.full(shape, np.nan)
            answers[table.user_rows(), table.item_rows()] = table.values
            usual = np.nanmean(np.where(np.isnan(answers).all(axis=0), 0.0, answers), axis=0)
            from archetypes import AA  # type: ignore[import-not-found]

            model = AA(n_archetypes=n_topics, random_state=seed)
            mixture = model.fit_transform(np.where(np.isnan(answers), usual, answers))
            weights = model.archetypes_ - usual
        else:
            makers = {
                "NMF": lambda: NMF(n_topics, max_iter=400, init="nndsvdar", random_state=seed),
                "LDA": lambda: LatentDirichletAllocation(n_topics, random_state=seed),
            }
            model = makers[kind]()
            mixture, weights = model.fit_transform(likes), model.components_
        named = [{str(table.items.ids[row]) for row in np.argsort(-topic)[:NAMED]} for topic in weights]
        return _found(table, mixture, named)

    return fitted


def _found(table: km.Observations, theta: Any, names: list[set[str]]) -> Found:
    seen = table.rows.counts > 0
    return Found(table.users.ids[seen], np.asarray(theta)[seen], names, table.rows.counts[seen].astype(float))


METHODS = {
    "binary": ours("binary"),
    "soft": ours("soft"),
    "NMF of likes": topics("NMF"),
    "LDA of likes": topics("LDA"),
    "archetypes": topics("archetypes"),
}


def compared(first: Found, second: Found) -> tuple[float, float, float]:
    """Return how thetas of matched events correlate, on average and at worst, and the share of names they share."""
    if first.theta.shape[1] > second.theta.shape[1]:
        first, second = second, first
    _, mine, theirs = np.intersect1d(first.users.astype(str), second.users.astype(str), return_indices=True)
    found = alike(first.theta[mine], second.theta[theirs], first.weights[mine])
    place = linear_sum_assignment(-found)[1]
    each = found[np.arange(len(place)), place]
    names = [len(one & second.names[k]) / max(len(one), 1) for one, k in zip(first.names, place, strict=True)]
    return float(each.mean()), float(each.min()), float(np.mean(names))


def pairs(name: str, table: km.Observations, fit: Callable[[km.Observations, int], Found]) -> Iterator[Any]:
    """Yield what each row compares: its name, and pairs of models, made when they are asked for."""
    seeds = range(SEEDS.get(name, 3))
    whole = {}

    def of(seed: int) -> Found:
        if seed not in whole:
            whole[seed] = fit(table, seed)
        return whole[seed]

    yield "seeds", [lambda pair=pair: (of(pair[0]), of(pair[1])) for pair in itertools.combinations(seeds, 2)]

    def halves(seed: int) -> tuple[Found, Found]:
        half = np.random.default_rng(seed).random(len(table)) < 0.5
        return fit(table.subset(half), seed), fit(table.subset(~half), seed)

    def fewer(seed: int) -> tuple[Found, Found]:
        out = np.random.default_rng(seed).random(table.n_users) < 0.2
        return fit(table.subset(~out[table.user_rows()]), seed), of(seed)

    yield "halves of the ratings", [lambda seed=seed: halves(seed) for seed in seeds]
    yield "a fifth of the users left out", [lambda seed=seed: fewer(seed) for seed in seeds]


def stability(name: str) -> None:
    """Compare the models of a table with others."""
    table, began = table_of(name), time.perf_counter()
    columns = [Column("compared"), Column("model"), Column("events"), Column("theta", ".2f"), Column("worst", ".2f")]
    columns += [Column("naming items the same", ".0%")]
    title = f"{name}, mean over {SEEDS.get(name, 3)} seeds or pairs of them"
    result = Table(f"stability-{name}", title, f"python benchmarks/stability.py {name}", columns)
    n_topics = [8]
    for method, made in METHODS.items():
        if method == "archetypes" and (table.n_users * table.n_items > 1e7 or not find_spec("archetypes")):
            continue
        sizes = set()
        for row, made_pairs in pairs(name, table, lambda part, seed, made=made: made(part, seed, n_topics[0])):
            found = []
            for pair in made_pairs:
                if time.perf_counter() - began < LIMIT:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        two = pair()
                    sizes |= {one.theta.shape[1] for one in two}
                    found.append(compared(*two))
            if found:
                said = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else str(min(sizes))
                result.add(row, method, said, *np.mean(found, axis=0))
            if row == "seeds" and method == "soft":
                n_topics[0] = max(2, min(sizes))
            sizes = set()
    finish(result)


def choices() -> None:
    """What was weighed: planted tables of five kinds of people, with 5, 6 and 8 events asked for."""
    columns = [Column("sweeps", ".0f"), Column("to bits", ".0f"), Column("psi")]
    columns += [Column("theta", ".3f"), Column("worst", ".3f"), Column("distance", ".4f")]
    table = Table("stability-choices", "planted", "python benchmarks/stability.py choices", columns)
    planted = [_planted(seed) for seed in (100, 101, 102)]
    draws = [[drawn(short_plan(one), one, seed, Threads(-1))[0] for seed in (0, 1)] for one in planted]
    usual = distillation.SWEEPS, distillation.FIRMED
    for setting in (usual, (5, 10), (50, 10), (200, 10), (15, 1), (15, 30)):
        distillation.SWEEPS, distillation.FIRMED = setting
        for psi in ("soft", "binary"):
            found = []
            for one, two in zip(planted, draws, strict=True):
                for size in (5, 6, 8):
                    sweeps = setting[0] if psi == "soft" else "auto"
                    made = km.KolmogorovModel(size, psi=psi, max_iter=sweeps, random_state=0)  # type: ignore[arg-type]
                    fits = [made._fit(one, drawn=drawn, compared=False).fitted_ for drawn in two]
                    both = alike(fits[0].theta, fits[1].theta, one.rows.counts.astype(float))
                    each = both[np.arange(size), linear_sum_assignment(-both)[1]]
                    found.append((each.mean(), each.min(), fits[0].history[-1].rmse))
            table.add(*setting, psi, *np.mean(found, axis=0))
    distillation.SWEEPS, distillation.FIRMED = usual
    finish(table)


def _planted(seed: int) -> km.Observations:
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.full(5, 0.2), 400), rng.random((60, 5)) ** 1.5
    stars = np.clip(np.round(5 * theta @ psi.T + rng.normal(0, 0.7, (400, 60))), 1, 5)
    users, items = np.nonzero(rng.random((400, 60)) < 0.25)
    return km.Observations.from_arrays(users, items, stars[users, items], maximum=5)


def main() -> None:
    """Make a table for each that was asked for."""
    print(machine())
    for name in sys.argv[1:] or ("zoo", "votes", "food", "ml-100k", "ml-1m", "choices"):
        choices() if name == "choices" else stability(name)


if __name__ == "__main__":
    main()
