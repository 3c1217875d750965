"""Defaults on tables of many kinds, beside plain averages and Bayesian factorisation machines.

Nineteen tables (`planted.py`; digits and the zoo are real), random 80/20. `python benchmarks/spread.py [one|peers]
[TABLE...]` runs some; `jobs=16` runs so many methods side by side, each on one thread. Settings were chosen with seeds
100 and above; 0 is reported, of yes/no tables with few cells the mean of 0, 1 and 2.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from accuracy import design
from harness import Column, Table, finish, machine, peer
from planted import TABLES, made

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.metrics import simple_guesses

SEEDS, MORE_SEEDS = (0,), (0, 1, 2)
#: Those whose test has a few thousand cells at most.
SMALL = ("zoo", "parties", "blocs", "probit", "hundred", "sixes", "types")
COLUMNS = [
    Column("table"),
    Column("what it is"),
    Column("biases", ".4f"),
    Column("myfm, best rank", ".4f"),
    Column("rank", ".0f"),
    Column("KM, draws", ".4f"),
    Column("draws / myfm", ".3f"),
    Column("seconds, myfm", ".1f"),
    Column("seconds, draws", ".1f"),
]
RANKS = (4, 8)
ONE = [
    Column("table"),
    Column("what it is"),
    Column("biases", ".4f"),
    Column("KM, one model", ".4f"),
    Column("with chances", ".4f"),
    Column("KM, draws", ".4f"),
    Column("chances / draws", ".3f"),
    Column("seconds, one model", ".1f"),
    Column("seconds, draws", ".1f"),
]


def biases(train: Observations, test: Observations, seed: int) -> Any:
    users, items = train.users.translate(test.users), train.items.translate(test.items)
    return simple_guesses(train, users[test.user_rows()], items[test.item_rows()])["user and item biases"]


def factorisation(rank: int) -> Callable[[Observations, Observations, int], Any]:
    def fitted(train: Observations, test: Observations, seed: int) -> Any:
        from myfm import MyFMClassifier, MyFMRegressor

        known, answers, sizes, asked = design(train, test)
        options: dict[str, Any] = {"n_iter": 200, "n_kept_samples": 150, "group_shapes": sizes}
        if train.is_binary:
            model = MyFMClassifier(rank=rank, random_seed=seed).fit(known, answers > 0.5, **options)
            return model.predict_proba(asked)
        found = MyFMRegressor(rank=rank, random_seed=seed).fit(known, answers, **options).predict(asked)
        return np.clip(train.scale.probability(found), 0.0, 1.0)

    return fitted


def point(train: Observations, test: Observations, seed: int) -> Any:
    return km.KolmogorovModel(random_state=seed, n_jobs=1).fit(train).predict(test)


def chances(train: Observations, test: Observations, seed: int) -> Any:
    return km.KolmogorovModel(levels="chances", random_state=seed, n_jobs=1).fit(train).predict(test)


def draws(train: Observations, test: Observations, seed: int) -> Any:
    return km.BayesianKolmogorovModel(random_state=seed, n_jobs=1).fit(train).predict(test)


METHODS: dict[str, Callable[[Observations, Observations, int], Any]] = {
    "biases": biases,
    "point": point,
    "chances": chances,
    "draws": draws,
    **{f"myfm {rank}": factorisation(rank) for rank in RANKS},
}


def run(name: str, method: str, seed: int) -> tuple[float, float]:
    """Return the error, RMSE in rating units or log loss with yes and no, and the seconds."""
    observations = made(name, seed)
    train, test = observations.split(test_size=0.2, random_state=seed)
    began = time.perf_counter()
    found = METHODS[method](train, test, seed)
    seconds = time.perf_counter() - began
    if observations.is_binary:
        chance = np.clip(found, 1e-3, 1.0 - 1e-3)
        return float(-np.log(np.where(test.values > 0.5, chance, 1.0 - chance)).mean()), seconds
    return float(np.sqrt(((found - test.values) ** 2).mean())) * observations.scale.span, seconds


def seeds_of(name: str) -> tuple[int, ...]:
    """Return the seeds that are reported of a table."""
    return MORE_SEEDS if name in SMALL else SEEDS


def main() -> None:
    """Run what was asked for, and make a table of each kind."""
    given = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    names = [word for word in words if word not in ("one", "peers")] or list(TABLES)
    jobs, whole = int(given.get("jobs", 1)), names == list(TABLES)
    print(machine())
    if "peers" in words or "one" not in words:
        finish(beside_peers(names, jobs), complete=whole)
    if "one" in words or "peers" not in words:
        finish(one_model(names, jobs), complete=whole)


def measured(names: list[str], methods: list[str], jobs: int) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Return by table the errors and the seconds of the methods, means over seeds."""
    tasks = [(name, method, seed) for name in names for method in methods for seed in seeds_of(name)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = dict(zip(tasks, pool.map(run, *zip(*tasks, strict=True)), strict=True))

    def means(name: str, k: int) -> dict[str, float]:
        return {m: float(np.mean([found[name, m, seed][k] for seed in seeds_of(name)])) for m in methods}

    return {name: (means(name, 0), means(name, 1)) for name in names}


def beside_peers(names: list[str], jobs: int) -> Table:
    """Draws beside Bayesian factorisation machines."""
    ranks = [f"myfm {rank}" for rank in RANKS] if peer("myfm") else []
    title = "RMSE in rating units, with yes/no log loss; random 80/20, one thread for each method"
    table = Table("spread", title, "python benchmarks/spread.py peers jobs=2", COLUMNS)
    for name, (error, seconds) in measured(names, ["biases", "draws", *ranks], jobs).items():
        best = min(ranks, key=lambda m: error[m]) if ranks else None
        theirs = (error[best], int(best[5:]), seconds[best]) if best else (None, None, None)
        ratio = error["draws"] / theirs[0] if theirs[0] else None
        words = (name, TABLES[name][0], error["biases"], theirs[0], theirs[1])
        table.add(*words, error["draws"], ratio, theirs[2], seconds["draws"])
    return table


def one_model(names: list[str], jobs: int) -> Table:
    """One model beside the draws that it is learned from the like of."""
    title = "RMSE in rating units, with yes/no log loss; random 80/20, one thread for each method"
    table = Table("spread-one-model", title, "python benchmarks/spread.py one jobs=2", ONE)
    for name, (error, seconds) in measured(names, ["biases", "point", "chances", "draws"], jobs).items():
        errors = (error["biases"], error["point"], error["chances"], error["draws"])
        ratio = error["chances"] / error["draws"]
        table.add(name, TABLES[name][0], *errors, ratio, seconds["point"], seconds["draws"])
    return table


if __name__ == "__main__":
    main()
