"""Attributes of films and people on MovieLens: beside ratings, and of a fifth that has none, beside peers.

    python benchmarks/attributes.py [100k|1m|lists] [keep=FOLDER] [quick]

`100k`: u1 as published; the same with ten columns of noise for films and ten for people; a fifth of the films, and a
fifth of the people, taken out whole, two seeds of each. `1m`: a fifth of the films and of the people of MovieLens 1M,
one seed. Films have genres and the year of their release, people age, sex and job: every model gets the same columns.
How much attributes are shrunk, and the settings of cmfrec, were chosen on other parts: u2, and seeds from 2 on (cmfrec:
seed 2, in this run; some of what it chooses are ends of what is tried). Seconds are those of the processor for a fit of
draws, without attributes and with them.

`lists`: the films of MovieLens 100K that were taken out, ordered for every user, beside LightFM, which ranks and
predicts no ratings. Its settings are the best on seed 2 by what it is good at, the likes among all cold films. LightFM
is in the extra `bench`, as lightfm-next.

`keep` goes on from what was found before. `quick` runs short chains on a part of the table, and saves nothing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Column, Table, data_folder, finish, kept, machine, movielens, peer
from scipy import sparse

import kolmogorov as km
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.descent.fitted import entry_rows
from kolmogorov.models.metrics import SimpleGuesses

SEEDS, OTHER = (0, 1), 2
#: Settings of cmfrec that are tried: factors, ridge, and what attributes weigh.
TRIED = tuple(product((20, 50), (5.0, 15.0, 45.0), (1.0, 10.0)))
#: Settings of LightFM that are tried: loss, whether items have ids beside attributes, factors, and epochs.
LOSSES = {"LightFM, WARP": "warp", "LightFM, logistic": "logistic"}
TRIED_LISTS = tuple(product((False, True), (16, 64), (10, 30)))
N_NOISE = 10
#: The least rating that is a like.
LIKED = 4.0
COLUMNS = [
    Column("what is asked"),
    Column("user and item biases", ".4f"),
    Column("cmfrec", ".4f"),
    Column("draws", ".4f"),
    Column("draws with attributes", ".4f"),
    Column("one model of them, chances", ".4f"),
    Column("90% intervals hold", ".1%"),
    Column("seconds of draws, without and with attributes", [".0f", ".0f"]),
    Column("ratio", ".2f"),
]
LIST_COLUMNS = [
    Column("method"),
    Column("likes among all cold films, AUC", ".4f"),
    Column("nDCG@10", ".4f"),
    Column("of two rated cold films, the better first", ".4f"),
    Column("seconds", ".0f"),
]
Part = tuple[km.Observations, km.Observations]
Settings = tuple[int, float, float]
QUICK = "quick" in sys.argv[1:]
#: Of draws: the defaults, or what a trial takes.
CHAINS: dict[str, Any] = {"n_chains": 1, "burn_in": 5, "n_samples": 3, "n_events": 4} if QUICK else {}


@dataclass(frozen=True)
class Found:
    """Errors in stars, what intervals hold, and seconds of a fit without attributes and with them."""

    biases: float
    cmfrec: float
    plain: float
    told: float
    one: float
    held: float
    seconds: float
    seconds_told: float


@dataclass(frozen=True)
class Listed:
    """Scores of lists, and seconds of the fit."""

    auc: float
    ndcg: float
    concordance: float
    seconds: float


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
    found = min(TRIED[:2] if QUICK else TRIED, key=lambda settings: error_of_cmfrec(part, known, settings))
    print("cmfrec: factors, ridge, weight of attributes", found, flush=True)
    return found


def compared(part: Part, known: dict[str, Any], settings: Settings | None, seed: int) -> Found:
    """Return errors in stars, what intervals hold, and seconds."""
    train, test = part
    guess = SimpleGuesses.of(train).at(*entry_rows(train, test))["user and item biases"]
    biases = 5.0 * float(np.sqrt(((guess - test.values) ** 2).mean()))
    # What is compiled or loaded once is not counted.
    km.BayesianKolmogorovModel(2, n_chains=1, burn_in=1, n_samples=1).fit(train, **known)
    began = time.process_time()
    plain = km.BayesianKolmogorovModel(random_state=seed, **CHAINS).fit(train)
    middle = time.process_time()
    model = km.BayesianKolmogorovModel(random_state=seed, **CHAINS).fit(train, **known)
    ended = time.process_time()
    told = model.evaluate(test, unknown="ignore")
    one = model.as_model(psi="soft").evaluate(test, unknown="ignore")["rmse"]
    found = Found(
        biases,
        float("nan") if settings is None else error_of_cmfrec(part, known, settings),
        5.0 * plain.evaluate(test, unknown="ignore")["rmse"],
        5.0 * told["rmse"],
        5.0 * one,
        told["coverage_90"],
        middle - began,
        ended - middle,
    )
    print(found, flush=True)
    return found


def add(table: Table, name: str, runs: list[Found]) -> None:
    """Add a row of means over parts."""
    mean = {key: float(np.mean([getattr(run, key) for run in runs])) for key in vars(runs[0])}
    errors = [mean[key] for key in ("biases", "cmfrec", "plain", "told", "one", "held")]
    table.add(name, *errors, [mean["seconds"], mean["seconds_told"]], mean["seconds_told"] / mean["seconds"])


def cold(name: str, seeds: tuple[int, ...], folder: Path | None) -> dict[str, list[Found]]:
    """Take out a fifth of the films, and of the people, and compare."""
    ratings, known = trimmed(movielens(name)), frames(name)
    found = {}
    for side in ("films", "people"):
        settings = settings_of_cmfrec(taken_out(ratings, side, OTHER), known)
        found[f"a fifth of the {side}, taken out whole"] = [
            kept(
                Found, folder, (name, side, seed), partial(compared, taken_out(ratings, side, seed), known, settings, k)
            )
            for k, seed in enumerate(seeds)
        ]
    return found


def trimmed(ratings: km.Observations) -> km.Observations:
    """Return the table, or of a trial a part of it."""
    if not QUICK:
        return ratings
    return ratings.subset((ratings.user_rows() % 9 == 0) & (ratings.item_rows() % 5 == 0))


def of_100k(folder: Path | None) -> Table:
    """Compare on MovieLens 100K."""
    table = Table("attributes", "RMSE in stars, MovieLens 100K", "python benchmarks/attributes.py 100k", COLUMNS)
    known, folds = frames(), [tuple(map(trimmed, fold)) for fold in km.datasets.folds()]
    settings = settings_of_cmfrec(folds[1], known)
    add(table, "u1", [kept(Found, folder, ("u1",), partial(compared, folds[0], known, settings, 0))])
    for name, runs in cold("ml-100k", SEEDS, folder).items():
        add(table, name, runs)
    train, test = folds[0]
    model = km.BayesianKolmogorovModel(random_state=0, **CHAINS).fit(train, **with_noise(known))
    noisy, blank = model.evaluate(test, unknown="ignore"), [None] * 3
    name = "u1, ten columns of noise on either side"
    table.add(name, *blank, 5.0 * noisy["rmse"], None, noisy["coverage_90"], None, None)
    return table


def of_1m(folder: Path | None) -> Table:
    """Compare on MovieLens 1M."""
    table = Table("attributes-1m", "RMSE in stars, MovieLens 1M", "python benchmarks/attributes.py 1m", COLUMNS)
    for name, runs in cold("ml-1m", SEEDS[:1], folder).items():
        add(table, name, runs)
    return table


# --- lists of films that nobody has rated ----------------------------------------------------------------------------


def list_scores(scores: Any, films: Any, test: km.Observations) -> tuple[float, float, float]:
    """Return the AUC and the nDCG@10 of likes among all cold films, and how often the better of two rated is first.

    `scores` are those of every user, in rows, for the cold `films`, in columns; all are means over users.
    """
    place = np.full(test.n_items, -1)
    place[films] = np.arange(films.size)
    gains = 1.0 / np.log2(np.arange(2, 12))
    areas, lists, orders = [], [], []
    for user in np.flatnonzero(test.rows.counts).tolist():
        own = slice(*test.rows.indptr[user : user + 2])
        at, stars, mine = place[test.rows.indices[own]], test.scale.rating(test.values[own]), scores[user]
        liked = np.zeros(films.size, dtype=bool)
        liked[at[stars >= LIKED - 1e-9]] = True
        if liked.any() and not liked.all():
            ranks, n = np.argsort(np.argsort(mine)), int(liked.sum())
            areas.append((ranks[liked].sum() - n * (n - 1) / 2) / (n * (films.size - n)))
            lists.append(gains[liked[np.argsort(-mine)[:10]]].sum() / gains[: min(10, n)].sum())
        better = np.subtract.outer(stars, stars) > 1e-9
        if better.any():
            apart = np.subtract.outer(mine[at], mine[at])[better]
            orders.append(((apart > 0) + 0.5 * (apart == 0)).mean())
    return float(np.mean(areas)), float(np.mean(lists)), float(np.mean(orders))


def lists_of_draws(part: Part, known: dict[str, Any], seed: int) -> dict[str, Listed]:
    """Order cold films by draws with attributes, and by the one model that stands for them."""
    train, test = part
    films = np.flatnonzero(test.seen_items)
    began = time.process_time()
    model = km.BayesianKolmogorovModel(random_state=seed, **CHAINS).fit(train, **known)
    seconds = [time.process_time() - began]
    one = model.as_model(psi="soft")
    seconds.append(time.process_time() - began)
    pairs = np.repeat(train.users.ids, films.size), np.tile(train.items.ids[films], train.n_users)
    found = {}
    for name, each, spent in zip(("draws", "one model of them, chances"), (model, one), seconds, strict=True):
        scores = each.predict(*pairs, unknown="ignore").reshape(train.n_users, films.size)
        found[name] = Listed(*list_scores(scores, films, test), spent)
    return found


def lists_of_lightfm(part: Part, known: dict[str, Any], loss: str, settings: tuple[bool, int, int]) -> Listed:
    """Order cold films by LightFM, which learns likes, or likes and dislikes."""
    from lightfm import LightFM

    train, test = part
    with_ids, factors, epochs = settings
    values = TableAttributes.read(known["users"], known["items"], (train.users, train.items))
    # Its features are not negative, and it divides each row by its sum.
    users, items = (side.values - side.values.min(axis=0) for side in (values.users, values.items))
    users, items = (sparse.csr_matrix(side / np.maximum(side.max(axis=0), 1e-9)) for side in (users, items))
    users = sparse.hstack([sparse.identity(train.n_users), users]).tocsr().astype(np.float32)
    items = sparse.hstack([sparse.identity(train.n_items), items] if with_ids else [items]).tocsr().astype(np.float32)
    liked = train.scale.rating(train.values) >= LIKED - 1e-9
    chosen = liked if loss == "warp" else np.ones(liked.size, dtype=bool)
    cells = train.user_rows()[chosen], train.item_rows()[chosen]
    answers = np.where(liked[chosen], 1.0, -1.0).astype(np.float32)
    table = sparse.coo_matrix((answers, cells), shape=(train.n_users, train.n_items))
    began = time.process_time()
    model = LightFM(no_components=factors, loss=loss, learning_rate=0.03, random_state=0)
    model.fit(table, user_features=users, item_features=items, epochs=epochs)
    seconds, films = time.process_time() - began, np.flatnonzero(test.seen_items)
    pairs = np.repeat(np.arange(train.n_users), films.size), np.tile(films, train.n_users)
    scores = model.predict(*pairs, user_features=users, item_features=items).reshape(train.n_users, films.size)
    return Listed(*list_scores(scores, films, test), seconds)


def of_lists(folder: Path | None) -> Table:
    """Order the films that were taken out, for every user."""
    command = "python benchmarks/attributes.py lists"
    table = Table("attributes-lists", "Lists of cold films, MovieLens 100K", command, LIST_COLUMNS)
    ratings, known = trimmed(movielens("ml-100k")), frames()
    parts = [taken_out(ratings, "films", seed) for seed in SEEDS]
    runs: dict[str, list[Listed]] = {}
    for seed, part in enumerate(parts):
        for name, found in lists_of_draws(part, known, seed).items():
            runs.setdefault(name, []).append(found)
    other = taken_out(ratings, "films", OTHER)
    for name, loss in LOSSES.items() if peer("lightfm") else ():
        tried = TRIED_LISTS[:2] if QUICK else TRIED_LISTS
        best = max(tried, key=lambda settings: lists_of_lightfm(other, known, loss, settings).auc)
        print(name, "ids, factors, epochs", best, flush=True)
        runs[name] = [lists_of_lightfm(part, known, loss, best) for part in parts]
    for name, found in runs.items():
        table.add(name, *(float(np.mean([getattr(one, key) for one in found])) for key in vars(found[0])))
    return table


PARTS = {"100k": of_100k, "1m": of_1m, "lists": of_lists}


def main() -> None:
    """Run what was asked for, or all of it."""
    print(machine())
    folders = [Path(word.removeprefix("keep=")) for word in sys.argv[1:] if word.startswith("keep=")]
    for name in [name for name in PARTS if name in sys.argv[1:]] or PARTS:
        finish(PARTS[name](folders[0] if folders else None), complete=not QUICK)


if __name__ == "__main__":
    main()
