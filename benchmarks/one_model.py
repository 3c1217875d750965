"""One model that stands for draws: error against events, what it costs, and how new people are placed.

    python benchmarks/one_model.py [events|cost|chances|placed|choices] ...

`events`: MovieLens 100K, u1. Draws with nothing set, the models that `as_model` makes of them, models with nothing set,
and one learned from the ratings alone with the best of a grid of ridges (chosen on a fifth of the training part).
`cost`: seconds of the steps, MovieLens 100K and 1M. `chances`: tables of chances that random draws complete, by all
cells and by some. `placed`: users of the training part placed again from their own
answers, as if they were new (the zoo, and MovieLens 100K); and a fifth of MovieLens 100K's users kept out, placed from
four fifths of their ratings, and the errors of the others. `choices`: what was weighed, on a split not reported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from accuracy import biases, official
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km
from kolmogorov._support.threads import Threads
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.descent import completion
from kolmogorov.descent.completion import CompletedTable
from kolmogorov.descent.fitted import Factors
from kolmogorov.descent.placing import view_of
from kolmogorov.models.ids import at_entries

Weights = Callable[[Any], Any]
COMMAND = "python benchmarks/one_model.py"


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def warm() -> None:
    """Compile everything on a small table."""
    small = movielens("ml-100k").split(0.97, random_state=0)[0]
    for psi in ("binary", "soft"):
        km.KolmogorovModel(20, psi=psi, random_state=0, max_iter=2).fit(small)
    km.KolmogorovModel(4, random_state=0, max_iter=2).fit(small)


def events() -> None:
    """Errors on u1, by events and values."""
    train, test = official()[0]
    columns = [Column("u1 of MovieLens 100K"), Column("events", ".0f"), Column("RMSE, stars", ".4f")]
    columns += [Column("from the average, stars", ".3f"), Column("log score", ".3f"), Column("seconds", ".1f")]
    table = Table("one-model", "MovieLens 100K, u1; as many threads as processors", f"{COMMAND} events", columns)
    table.add("user and item biases", None, _error(biases(train, test, 0)[0], test), None, None, None)

    def row(name: str, model: Any, seconds: float) -> None:
        scores = model.evaluate(test, unknown="ignore")
        apart = 5 * model.history_[-1].rmse if getattr(model, "learned_from_", "") == "draws" else None
        size = model.fitted_.n_events
        table.add(name, size, scores["rmse_rating"], apart, scores["log_score"], seconds)

    row("learned from the ratings, ridges from a grid", *timed(lambda: from_ratings(train)))
    draws, seconds = timed(lambda: km.BayesianKolmogorovModel(random_state=0).fit(train))
    row("draws", draws, seconds)
    for psi, words in (("binary", "happens or not"), ("soft", "a chance")):
        for size in (8, 16, 24, 32):
            made, seconds = timed(lambda size=size, psi=psi: draws.as_model(size, psi))
            row(f"`as_model`, {words}", made, seconds)
    row("`KolmogorovModel()`", *timed(lambda: km.KolmogorovModel(random_state=0).fit(train)))
    with_chances = km.KolmogorovModel(psi="soft", random_state=0)
    row('`KolmogorovModel(psi="soft")`', *timed(lambda: with_chances.fit(train)))
    finish(table)


def from_ratings(train: km.Observations) -> Any:
    base = km.KolmogorovModel(8, learn_from="ratings")
    grid = {"n_events": (8, 16), "user_reg": (3.0, 10.0, 30.0, 100.0), "item_reg": (0.0, 0.3)}
    return km.tune(train, model=base, folds=5, random_state=0, **grid).model


def _error(stars: Any, test: km.Observations) -> float:
    return float(np.sqrt(np.mean((stars - 5 * test.values) ** 2)))


def cost() -> None:
    """Seconds of every step."""
    columns = [Column("seconds of"), Column("chains", ".2f"), Column("completing", ".2f"), Column("whole fit", ".2f")]
    columns += [Column("20 sweeps over ratings instead", ".2f")]
    table = Table("one-model-cost", "as many threads as processors", f"{COMMAND} cost", columns)
    for name in ("ml-100k", "ml-1m"):
        train = movielens(name).split(0.2, random_state=0)[0]
        _, whole = timed(lambda train=train: km.KolmogorovModel(random_state=0).fit(train))
        drawn, _ = km.KolmogorovModel(random_state=0)._drawn(
            train, Threads(-1), False, TableAttributes.read(None, None, (train.users, train.items))
        )
        _, completing = timed(lambda drawn=drawn: _completed(drawn))
        again = km.KolmogorovModel(random_state=0)
        _, distilling = timed(lambda again=again, train=train, drawn=drawn: again._fit(train, drawn=drawn))
        plain = km.KolmogorovModel(16, learn_from="ratings", max_iter=20, tol=0.0, random_state=0)
        _, descent = timed(lambda plain=plain, train=train: plain.fit(train))
        table.add(f"`KolmogorovModel()`, {name}", whole - distilling, completing, whole, descent)
    finish(table)


def _completed(drawn: Any) -> CompletedTable:
    with Threads(-1) as dealer:
        return CompletedTable.of(drawn, dealer)


def chances() -> None:
    """How near a large table of chances comes, where all of its cells are computed and where some are."""
    columns = [
        Column("users x items"),
        Column("cells that are computed"),
        Column("RMSE", ".5f"),
        Column("seconds", ".1f"),
    ]
    table = Table("one-model-chances", "hidden ratings, 10 draws of 24 events", f"{COMMAND} chances", columns)
    rng, usual = np.random.default_rng(0), completion.CELLS
    for n_users, n_items in ((4_000, 2_000), (8_000, 4_000), (40_000, 10_000)):
        tastes, kinds = rng.dirichlet(np.full(24, 0.2), n_users), rng.normal(0.5, 0.6, (n_items, 24))
        theta = np.array([0.9 * tastes + 0.1 * rng.dirichlet(np.ones(24), n_users) for _ in range(10)])
        psi = np.array([kinds + rng.normal(0.0, 0.2, kinds.shape) for _ in range(10)])
        factors, some = Factors(theta, psi, hidden=True), rng.choice(n_users, 200, replace=False)
        with Threads(-1) as dealer:
            expected, _ = completion.completion(replace(factors, theta=theta[:, some]), dealer, n_items)
            for cells, words in ((1 << 40, "all"), (0, "of some users and items")):
                if cells and n_users * n_items > 1 << 26:
                    continue
                completion.CELLS = cells
                (left, right), seconds = timed(lambda factors=factors: completion.completion(factors, dealer))
                error = float(np.sqrt(np.mean((left[some] @ right.T - expected) ** 2)))
                table.add(f"{n_users:,} x {n_items:,}", words, error, seconds)
        completion.CELLS = usual
    finish(table)


def placed() -> None:
    """How far people are from where they were, and errors of people who are new."""
    columns = [Column("placed again"), Column("mean difference", ".3f"), Column("yes/no flipped", ".1%", missing="")]
    again = Table("one-model-placed", "users of the training part, as if new", f"{COMMAND} placed", columns)
    zoo = km.datasets.load("zoo")
    stars = movielens("ml-100k")
    for psi in ("binary", "soft"):
        for name, table in (("zoo", zoo), ("MovieLens 100K", stars)):
            found = []
            for seed in range(5 if name == "zoo" else 1):
                train = table.split(0.2, random_state=seed)[0]
                model = km.KolmogorovModel(psi=psi, random_state=seed).fit(train)
                before = np.clip(model.theta_ @ model.psi_.T, 0.0, 1.0)
                after = np.clip(model.fold_in(train, side="users") @ model.psi_.T, 0.0, 1.0)
                found.append((np.abs(after - before).mean(), ((after >= 0.5) != (before >= 0.5)).mean()))
            mean = np.mean(found, axis=0)
            words = "happens or not" if psi == "binary" else "chances"
            again.add(f"{name}, {words}", mean[0], mean[1] if name == "zoo" else None)
    finish(again)
    new_people(stars)


def new_people(stars: km.Observations) -> None:
    """A fifth of the users kept out, placed from four fifths of their ratings."""
    columns = [Column("people kept out"), Column("events", ".0f"), Column("RMSE, stars", ".4f")]
    table = Table("one-model-new", "MovieLens 100K, 5 seeds", f"{COMMAND} placed", columns)
    rows: dict[str, list[tuple[float, float]]] = {}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        out = rng.random(stars.n_users) < 0.2
        mask = out[stars.user_rows()]
        train, rest = stars.subset(~mask), stars.subset(mask)
        known, asked = rest.split(0.2, random_state=seed, by="user")
        models = {
            "`KolmogorovModel()`": km.KolmogorovModel(random_state=seed),
            "24 events": km.KolmogorovModel(24, random_state=seed),
            "chances": km.KolmogorovModel(psi="soft", random_state=seed),
            "draws": km.BayesianKolmogorovModel(random_state=seed),
        }
        for name, model in models.items():
            view = view_of(model.fit(train).fitted_, known, "users")
            said = 5 * model._of_thetas(model._new_thetas(view))[asked.user_rows(), asked.item_rows()]
            rows.setdefault(name, []).append((model.fitted_.n_events, _error(said, asked)))
        guess = biases(_joined(train, known), asked, 0)[0]
        rows.setdefault("user and item biases", []).append((np.nan, _error(guess, asked)))
    for name, found in rows.items():
        size, error = np.mean(found, axis=0)
        table.add(name, None if np.isnan(size) else size, error)
    finish(table)


def _joined(first: km.Observations, second: km.Observations) -> km.Observations:
    """Return both together; they are parts of one table."""
    parts = [
        (part.users.ids[part.user_rows()], part.items.ids[part.item_rows()], part.scale.rating(part.values))
        for part in (first, second)
    ]
    users, items, ratings = (np.concatenate(column) for column in zip(*parts, strict=True))
    return km.Observations.from_arrays(users, items, ratings, maximum=5)


def choices() -> None:
    """What was weighed on a split that is not reported: weights of rows and columns, chains, starts."""
    train, test = movielens("ml-100k").split(0.2, random_state=100)
    columns = [Column("split 100 of MovieLens 100K"), Column("happens or not, stars", ".4f"), Column("chances", ".4f")]
    columns += [Column("draws themselves", ".4f"), Column("seconds of chains", ".1f")]
    table = Table("one-model-choices", "16 events", f"{COMMAND} choices", columns)

    def row(name: str, drawn: Any, seconds: float | None, weights: Weights = lambda n: n + 10.0) -> None:
        errors = []
        for psi in ("binary", "soft"):
            model = km.KolmogorovModel(16, psi=psi, random_state=0)
            with _weighed(weights):
                model._fit(train, drawn=drawn)
            errors.append(model.evaluate(test, unknown="ignore")["rmse_rating"])
        own = _error(5 * at_entries(drawn, test), test)
        table.add(name, *errors, own, seconds)

    draws = km.BayesianKolmogorovModel(random_state=0).fit(train).fitted_
    for name, weights in WEIGHTS.items():
        row(f"weights of users and items: {name}", draws, None, weights)
    for n_chains, burn_in, n_samples in ((1, 50, 20), (2, 20, 10), (2, 50, 20), (4, 50, 20), (8, 150, 20)):
        model = km.BayesianKolmogorovModel(n_chains=n_chains, burn_in=burn_in, n_samples=n_samples, random_state=0)
        fitted, seconds = timed(lambda model=model: model.fit(train).fitted_)
        row(f"{n_chains} chains, {burn_in} sweeps and {n_samples} draws of each", fitted, seconds, WEIGHTS["n + 10"])
    finish(table)


#: How much users and items count, by their numbers of ratings.
WEIGHTS: dict[str, Weights] = {
    "all the same": lambda n: np.ones_like(n),
    "root of n": lambda n: np.sqrt(n),
    "n": lambda n: n,
    "n + 10": lambda n: n + 10.0,
    "n + 100": lambda n: n + 100.0,
}


@contextmanager
def _weighed(weights: Weights) -> Iterator[None]:
    """Let the users and items of completed tables count otherwise."""
    usual = CompletedTable.of

    def changed(drawn: Any, dealer: Threads, factors: Factors | None = None) -> CompletedTable:
        found = usual(drawn, dealer, factors)
        sides = drawn.training.rows.counts, drawn.training.columns.counts
        plain = [np.where(counts > 0, weights(counts.astype(float)), 0.0) for counts in sides]
        users, items = (each / each.sum() for each in plain)
        return replace(found, user_weights=users, item_weights=items)

    CompletedTable.of = changed  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        CompletedTable.of = usual  # type: ignore[method-assign]


PARTS: dict[str, Callable[[], None]] = {
    "events": events,
    "cost": cost,
    "chances": chances,
    "placed": placed,
    "choices": choices,
}


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    warm()
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
