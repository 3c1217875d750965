"""Attributes of films and people on MovieLens: beside ratings, and of a fifth that has none, beside cmfrec.

    python benchmarks/attributes.py [100k] [1m]

`100k`: u1 as published; the same with ten columns of noise for films and ten for people; a fifth of the films, and a
fifth of the people, taken out whole, two seeds of each. `1m`: a fifth of the films and of the people of MovieLens 1M,
one seed. Films have genres and the year of their release, people age, sex and job: every model gets the same columns.
How much attributes are shrunk, and the settings of cmfrec, were chosen on other parts: u2, and seeds from 2 on (cmfrec:
seed 2, in this run; some of what it chooses are ends of what is tried). Seconds are those of the processor for a fit of
draws, without attributes and with them.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Column, Table, data_folder, finish, machine, movielens, peer

import kolmogorov as km
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.descent.fitted import entry_rows
from kolmogorov.models.metrics import SimpleGuesses

SEEDS, OTHER = (0, 1), 2
#: Settings of cmfrec that are tried: factors, ridge, and what attributes weigh.
TRIED = tuple(product((20, 50), (5.0, 15.0, 45.0), (1.0, 10.0)))
N_NOISE = 10
COLUMNS = [
    Column("table"),
    Column("what is asked"),
    Column("user and item biases", ".4f"),
    Column("cmfrec", ".4f"),
    Column("draws", ".4f"),
    Column("draws with attributes", ".4f"),
    Column("one model of them, chances", ".4f"),
    Column("90% intervals hold", ".1%"),
    Column("seconds of draws, without and with attributes", [".0f", ".0f"]),
]
Part = tuple[km.Observations, km.Observations]
Settings = tuple[int, float, float]


def frames(name: str = "ml-100k") -> dict[str, Any]:
    """Return what is known of people and of films."""
    folder = data_folder() / name
    if name == "ml-1m":
        return frames_of_1m(folder)
    genres = [line.split("|")[0] for line in (folder / "u.genre").read_text().splitlines() if line.strip()]
    names = ["item", "title", "date", "video", "address", *genres]
    films = pd.read_csv(folder / "u.item", sep="|", encoding="latin-1", names=names)
    listed = ["|".join(name for name in genres if film[name]) for _, film in films.iterrows()]
    years = pd.to_datetime(films["date"], format="%d-%b-%Y").dt.year
    people = pd.read_csv(folder / "u.user", sep="|", names=["user", "age", "sex", "job", "zip"])
    items = pd.DataFrame({"item": films["item"], "genres": listed, "year": years})
    return {"users": people[["user", "age", "sex", "job"]], "items": items}


def frames_of_1m(folder: Path) -> dict[str, Any]:
    """Return the same of MovieLens 1M: ages are the lowest of a group, jobs are numbers that mean one."""
    options = {"sep": "::", "engine": "python", "encoding": "latin-1", "header": None}
    films = pd.read_csv(folder / "movies.dat", names=["item", "title", "genres"], **options)
    people = pd.read_csv(folder / "users.dat", names=["user", "sex", "age", "job", "zip"], **options)
    years = films["title"].str.extract(r"\((\d{4})\)\s*$")[0].astype(float)
    jobs = "job " + people["job"].astype(str)
    return {
        "users": people[["user", "age", "sex"]].assign(job=jobs),
        "items": films[["item", "genres"]].assign(year=years),
    }


def taken_out(ratings: km.Observations, side: str, seed: int) -> tuple[km.Observations, km.Observations]:
    """Return a table without the ratings of a fifth of one side, and these."""
    rows, n = (ratings.item_rows(), ratings.n_items) if side == "films" else (ratings.user_rows(), ratings.n_users)
    out = (np.random.default_rng(seed).random(n) < 0.2)[rows]
    return ratings.subset(~out), ratings.subset(out)


def with_noise(known: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of people and of films, and ten columns that say nothing of either."""
    rng = np.random.default_rng(0)
    columns = [f"noise {k}" for k in range(N_NOISE)]
    return {
        side: pd.concat([frame, pd.DataFrame(rng.standard_normal((len(frame), N_NOISE)), columns=columns)], axis=1)
        for side, frame in known.items()
    }


def error_of_cmfrec(part: Part, known: dict[str, Any], settings: Settings) -> float:
    """Return the error, in stars, of cmfrec: cold factors of those without ratings, those of the fit of all others."""
    from cmfrec import CMF

    train, test = part
    factors, ridge, weight = settings
    values = TableAttributes.read(*(known[side] for side in ("users", "items")), (train.users, train.items))
    users, items = entry_rows(train, test)
    sides = {"UserId": train.user_rows(), "ItemId": train.item_rows()}
    table = pd.DataFrame(sides | {"Rating": train.scale.rating(train.values)})
    seen_users, seen_items = train.rows.counts > 0, train.seen_items
    model = CMF(k=factors, lambda_=ridge, w_user=weight, w_item=weight, use_float=False, random_state=1, nthreads=-1)
    frames = [
        pd.DataFrame(side.values[seen]).assign(**{name: np.flatnonzero(seen)})
        for side, seen, name in ((values.users, seen_users, "UserId"), (values.items, seen_items, "ItemId"))
    ]
    model.fit(table, U=frames[0], I=frames[1])
    mean = float(table["Rating"].mean())
    found = np.full(users.size, mean)
    both = seen_users[users] & seen_items[items]
    if both.any():
        found[both] = model.predict(users[both], items[both])
    cold = seen_users[users] & ~seen_items[items]
    if cold.any():
        found[cold] = model.predict_new(users[cold], I=values.items.values[items[cold]])
    cold = ~seen_users[users] & seen_items[items]
    if cold.any():
        found[cold] = model.predict_cold_multiple(items[cold], U=values.users.values[users[cold]])
    return float(np.sqrt(((np.clip(found, 1.0, 5.0) - test.scale.rating(test.values)) ** 2).mean()))


def settings_of_cmfrec(part: Part, known: dict[str, Any]) -> Settings | None:
    """Return the settings of cmfrec that are best on a part that is not reported; None where it is not installed."""
    if not peer("cmfrec"):
        return None
    found = min(TRIED, key=lambda settings: error_of_cmfrec(part, known, settings))
    print("cmfrec: factors, ridge, weight of attributes", found, flush=True)
    return found


def compared(part: Part, known: dict[str, Any], settings: Settings | None, seed: int) -> list[float]:
    """Return errors in stars, what intervals hold, and seconds of fits without attributes and with them."""
    train, test = part
    guess = SimpleGuesses.of(train).at(*entry_rows(train, test))["user and item biases"]
    biases = 5.0 * float(np.sqrt(((guess - test.values) ** 2).mean()))
    # What is compiled or loaded once is not counted.
    km.BayesianKolmogorovModel(2, n_chains=1, burn_in=1, n_samples=1).fit(train, **known)
    began = time.process_time()
    plain = km.BayesianKolmogorovModel(random_state=seed).fit(train)
    middle = time.process_time()
    model = km.BayesianKolmogorovModel(random_state=seed).fit(train, **known)
    ended = time.process_time()
    told = model.evaluate(test, unknown="ignore")
    one = model.as_model(psi="soft").evaluate(test, unknown="ignore")["rmse"]
    found = [
        biases,
        float("nan") if settings is None else error_of_cmfrec(part, known, settings),
        5.0 * plain.evaluate(test, unknown="ignore")["rmse"],
        5.0 * told["rmse"],
        5.0 * one,
        told["coverage_90"],
        middle - began,
        ended - middle,
    ]
    print(found, flush=True)
    return found


def add(table: Table, words: str, name: str, runs: list[list[float]]) -> None:
    """Add a row of means over parts."""
    *errors, seconds, seconds_told = np.mean(runs, axis=0)
    table.add(words, name, *errors, [seconds, seconds_told])


def add_cold(table: Table, words: str, name: str, seeds: tuple[int, ...]) -> None:
    """Take out a fifth of the films, and of the people, and compare."""
    ratings, known = movielens(name), frames(name)
    for side in ("films", "people"):
        settings = settings_of_cmfrec(taken_out(ratings, side, OTHER), known)
        runs = [compared(taken_out(ratings, side, seed), known, settings, seed) for seed in seeds]
        add(table, words, f"a fifth of the {side}, taken out whole", runs)


def main() -> None:
    """Run what was asked for, or all of it."""
    print(machine())
    title = "RMSE in stars; seconds of draws without and with attributes"
    table = Table("attributes", title, "python benchmarks/attributes.py", COLUMNS)
    parts = sys.argv[1:] or ["100k", "1m"]
    if "100k" in parts:
        movielens("ml-100k")
        words, known, folds = "MovieLens 100K", frames(), km.datasets.folds()
        train, test = folds[0]
        add(table, words, "u1", [compared(folds[0], known, settings_of_cmfrec(folds[1], known), 0)])
        add_cold(table, words, "ml-100k", SEEDS)
        noisy = km.BayesianKolmogorovModel(random_state=0).fit(train, **with_noise(known))
        scores, blank = noisy.evaluate(test, unknown="ignore"), [None] * 3
        name = "u1, ten columns of noise on either side"
        table.add(words, name, *blank, 5.0 * scores["rmse"], None, scores["coverage_90"], None)
    if "1m" in parts:
        add_cold(table, "MovieLens 1M", "ml-1m", SEEDS[:1])
    finish(table, parts=True)


if __name__ == "__main__":
    main()
