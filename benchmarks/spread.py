"""Defaults on tables of many kinds, beside plain averages and Bayesian factorisation machines.

Twenty-two tables (`planted.py`; digits, the zoo and the assembly are real), random 80/20. `python benchmarks/spread.py
[TABLE...]` runs some; `jobs=16` runs so many methods side by side, each on one thread, of which the processor's seconds
are counted; `keep=FOLDER` writes what each run found, and a command that was stopped goes on from there. Settings were
chosen with seeds 100 and above; 0 is reported, of yes/no tables with few cells the mean of 0, 1 and 2. Of factorisation
machines the best rank is taken by the test part itself. Ratios stand beside their standard errors, from the losses of
the same cells; a ratio less than two of them from 1 is a tie.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from factorisation import predicted
from harness import Column, Table, finish, kept, machine, paired_error, peer
from planted import TABLES, made

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.models.metrics import SimpleGuesses

SEEDS, MORE_SEEDS = (0,), (0, 1, 2)
#: Those whose test has a few thousand cells at most.
SMALL = ("zoo", "parties", "blocs", "probit", "hundred", "sixes", "types")
COLUMNS = [
    Column("table"),
    Column("what it is"),
    Column("biases", ".4f"),
    Column("myfm, best rank", ".4f"),
    Column("rank"),
    Column("KM, draws", ".4f"),
    Column("draws / myfm"),
    Column("seconds, myfm", ".1f"),
    Column("seconds, draws", ".1f"),
]
RANKS = (4, 8, 16, 32)
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
    return SimpleGuesses.of(train).at(users[test.user_rows()], items[test.item_rows()])["user and item biases"]


def factorisation(
    rank: int, *, pattern: bool, ordered: bool = False
) -> Callable[[Observations, Observations, int], Any]:
    def fitted(train: Observations, test: Observations, seed: int) -> Any:
        found = predicted(train, test, rank, seed, pattern=pattern, ordered=ordered)
        return found if train.is_binary else train.scale.probability(found)

    return fitted


def point(train: Observations, test: Observations, seed: int) -> Any:
    return km.KolmogorovModel(random_state=seed, n_jobs=1).fit(train).predict(test)


def chances(train: Observations, test: Observations, seed: int) -> Any:
    return km.KolmogorovModel(psi="soft", random_state=seed, n_jobs=1).fit(train).predict(test)


def draws(train: Observations, test: Observations, seed: int) -> Any:
    return km.BayesianKolmogorovModel(random_state=seed, n_jobs=1).fit(train).predict(test)


METHODS: dict[str, Callable[[Observations, Observations, int], Any]] = {
    "biases": biases,
    "point": point,
    "chances": chances,
    "draws": draws,
    **{
        f"myfm {rank}{words}": factorisation(rank, pattern=bool(words))
        for rank in RANKS
        for words in ("", ", who rated what")
    },
    **{f"myfm {rank}, ordered probit": factorisation(rank, pattern=True, ordered=True) for rank in (4, 16)},
}
#: Tables with few values but more than yes and no, of which there is an ordered probit model.
ORDERED = ("books", "tweets", "survey", "votes", "clusters", "noise", "three", "small", "assembly")

#: Nearly full ones, which bear high ranks; the others, and two that were planted with few factors, are left without the
#: highest.
DENSE = ("survey", "digits", "assembly", "assembly, yes/no")


def suits(method: str, name: str) -> bool:
    """Whether a method is run on a table: few factors of some, many of others."""
    if not method.startswith("myfm"):
        return True
    return ("probit" not in method or name in ORDERED) and (not method.startswith("myfm 32") or name in DENSE)


@dataclass(frozen=True)
class Run:
    """One method on one table: the loss of every held-out cell, squared or log, and the seconds."""

    losses: Any
    seconds: float
    span: float
    binary: bool

    @property
    def error(self) -> float:
        """RMSE in rating units, with yes and no the log loss."""
        return float(self.losses.mean()) if self.binary else float(np.sqrt(self.losses.mean())) * self.span


def run(name: str, method: str, seed: int) -> Run:
    """Return what a method makes of a table."""
    observations = made(name, seed)
    train, test = observations.split(test_size=0.2, random_state=seed)
    began = time.process_time()
    found = METHODS[method](train, test, seed)
    seconds = time.process_time() - began
    if observations.is_binary:
        chance = np.clip(found, 1e-3, 1.0 - 1e-3)
        return Run(-np.log(np.where(test.values > 0.5, chance, 1.0 - chance)), seconds, 1.0, True)
    return Run((found - test.values) ** 2, seconds, observations.scale.span, False)


def seeds_of(name: str) -> tuple[int, ...]:
    """Return the seeds that are reported of a table."""
    return MORE_SEEDS if name in SMALL else SEEDS


def one_task(task: tuple[str, str, int], folder: Path | None) -> Run:
    """Return what a task found when it ran before, or run it."""
    return kept(Run, folder, task, partial(run, *task))  # type: ignore[no-any-return]


def warm() -> None:
    """Load the kernels before anything is timed."""
    draws(*made("zoo", 0).split(random_state=0), 0)


def main() -> None:
    """Run what was asked for, and make both tables."""
    given = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    names = [word for word in sys.argv[1:] if "=" not in word] or list(TABLES)
    jobs, folder = int(given.get("jobs", 1)), Path(given["keep"]) if "keep" in given else None
    print(machine())
    machines = [name for name in METHODS if name.startswith("myfm")] if peer("myfm") else []
    found = measured(names, ["biases", *machines, "draws", "point", "chances"], jobs, folder)
    finish(beside_peers(found, machines), one_model(found), complete=names == list(TABLES))


Runs = dict[str, list[Run]]


def measured(names: list[str], methods: list[str], jobs: int, folder: Path | None) -> dict[str, Runs]:
    """Return by table and method the runs of all seeds."""
    tasks = [
        (name, method, seed) for name in names for method in methods for seed in seeds_of(name) if suits(method, name)
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=warm) as pool:
        found = dict(zip(tasks, pool.map(partial(one_task, folder=folder), tasks), strict=True))
    tables: dict[str, Runs] = {name: {} for name in names}
    for (name, method, _), one in found.items():
        tables[name].setdefault(method, []).append(one)
    return tables


def error_of(runs: list[Run]) -> float:
    """Return the mean error over seeds."""
    return float(np.mean([one.error for one in runs]))


def seconds_of(runs: list[Run]) -> float:
    """Return the mean seconds over seeds."""
    return float(np.mean([one.seconds for one in runs]))


def ratio_of(ours: list[Run], theirs: list[Run]) -> str:
    """Say the ratio of two errors and its standard error, from the losses of the same cells."""
    spread = [
        paired_error(one.losses, other.losses) / other.losses.mean() / (1 if one.binary else 2)
        for one, other in zip(ours, theirs, strict=True)
    ]
    ratio, error = error_of(ours) / error_of(theirs), float(np.sqrt(np.square(spread).sum())) / len(ours)
    return f"{ratio:.3f} ± {error:.3f}" + (", a tie" if abs(ratio - 1.0) < 2 * error else "")


TITLE = "RMSE in rating units, with yes/no log loss; random 80/20; seconds of a processor, one thread for each method"


def beside_peers(found: dict[str, Runs], machines: list[str]) -> Table:
    """Draws beside Bayesian factorisation machines."""
    table = Table("spread", TITLE, "python benchmarks/spread.py jobs=2", COLUMNS)
    for name, runs in found.items():
        best = min((m for m in machines if m in runs), key=lambda m: error_of(runs[m]), default=None)
        theirs, ratio = (None, None, None), None
        if best is not None:
            theirs = (error_of(runs[best]), best[5:], seconds_of(runs[best]))
            ratio = ratio_of(runs["draws"], runs[best])
        words = (name, TABLES[name][0], error_of(runs["biases"]), theirs[0], theirs[1])
        table.add(*words, error_of(runs["draws"]), ratio, theirs[2], seconds_of(runs["draws"]))
    return table


def one_model(found: dict[str, Runs]) -> Table:
    """One model beside the draws that it is learned from the like of."""
    table = Table("spread-one-model", TITLE, "python benchmarks/spread.py jobs=2", ONE)
    for name, runs in found.items():
        errors = [error_of(runs[method]) for method in ("biases", "point", "chances", "draws")]
        seconds = (seconds_of(runs["point"]), seconds_of(runs["draws"]))
        table.add(name, TABLES[name][0], *errors, errors[2] / errors[3], *seconds)
    return table


if __name__ == "__main__":
    main()
