"""Complete tables of numbers, beside scikit-learn's imputers: errors, coverage of intervals, seconds of a processor.

python benchmarks/imputation.py [--only METHOD] [table ...]

With --only one method is measured anew, and the errors of the others, and all figures of tables that are not named, are
those of the run before: what has not changed gives the same. Seconds are measured of all methods.
"""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine
from scipy.stats import t as student
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

import kolmogorov as km

SHARES, USUAL, N_IMPUTATIONS, LEVEL = (0.1, 0.3, 0.5), 0.3, 20, 0.95
#: Choices of gaps for each setting. For the first alone, and only at random, regressions are drawn twenty times, and
#: seconds are measured.
REPEATS = 4
#: Up to so many different numbers a column is one of few.
FEW = 10
MECHANISMS = ("at random", "given others", "by itself")
METHODS: dict[str, Callable[[], Any]] = {
    "means": SimpleImputer,
    "neighbours": KNNImputer,
    "regressions": lambda: IterativeImputer(random_state=0),
    "forests": lambda: IterativeImputer(RandomForestRegressor(50, random_state=0), max_iter=3, random_state=0),
    "KolmogorovImputer": lambda: km.KolmogorovImputer(random_state=0, n_jobs=1),
}
OURS = "KolmogorovImputer"
COMMAND = "python benchmarks/imputation.py"
WHERE = [Column("table"), Column("missing"), Column("share", ".0%")]


def tables() -> dict[str, np.ndarray]:
    """Return tables without gaps: of continuous columns, of yes and no, and made-up surveys."""
    rng = np.random.default_rng(2024)
    zoo = km.datasets.load("zoo")
    answers = np.full((zoo.n_users, zoo.n_items), np.nan)
    answers[zoo.user_rows(), zoo.item_rows()] = zoo.values
    return {
        "iris": load_iris().data,
        "wine": load_wine().data,
        "diabetes": load_diabetes(scaled=False).data,
        "zoo": answers,
        "survey of four kinds": _kinds(rng),
        "survey of two traits": _traits(rng),
    }


def column_names() -> dict[str, list[str]]:
    """Return what the columns of the tables are called."""
    loads = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}
    named = {name: list(load().feature_names) for name, load in loads.items()}
    named["zoo"] = km.datasets.load("zoo").items.ids.tolist()
    return named | {name: [f"answer {k + 1}" for k in range(15)] for name in tables() if name not in named}


def _kinds(rng: np.random.Generator) -> np.ndarray:
    """Make up 15 answers from 1 to 5 of 300 people of four kinds, each with its chances of every answer."""
    chances = rng.dirichlet(np.full(5, 0.7), (4, 15))
    kind = rng.integers(4, size=300)
    upto = np.cumsum(chances[kind], axis=2)
    return 1.0 + (rng.random((300, 15, 1)) > upto[..., :-1]).sum(axis=2)


def _traits(rng: np.random.Generator) -> np.ndarray:
    """Make up 15 answers from 1 to 5 of 300 people by two traits and thresholds, some turned round."""
    loadings = rng.uniform(0.4, 1.6, (2, 15)) * rng.choice([-1.0, 1.0], (2, 15)) * (rng.random((2, 15)) < 0.7)
    thresholds = np.sort(rng.normal(0.0, 1.5, (15, 4)), axis=1)
    said = rng.normal(size=(300, 2)) @ loadings + rng.logistic(size=(300, 15)) * 0.6
    return 1.0 + (said[..., None] > thresholds).sum(axis=2)


def gaps(table: np.ndarray, mechanism: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """Choose what is missing: anything; more where another column is large; or more where the number itself is large.

    A row keeps at least one number, and a column two different ones.
    """
    ranks = table.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") / (len(table) - 1.0)
    odds = {
        "at random": np.ones(table.shape),
        "given others": 0.25 + 1.5 * np.roll(ranks, 1, axis=1),
        "by itself": 0.25 + 1.5 * ranks,
    }[mechanism]
    if mechanism == "given others":
        odds[:, 0] = 0.0  # The first column is always there, and the others look at their neighbours.
    wanted = share * table.shape[1] / max((odds.mean(axis=0) > 0).sum(), 1)
    missing = rng.random(table.shape) < np.clip(wanted * odds / odds[:, odds.any(axis=0)].mean(), 0.0, 0.95)
    missing[missing.all(axis=1), 0] = False
    for column in range(table.shape[1]):
        left = table[~missing[:, column], column]
        if np.unique(left).size < 2:
            missing[:, column] = False
    return missing


def errors_by_column(found: np.ndarray, table: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return the error of every column, in its deviations; nan where nothing was missing."""
    each = [
        np.sqrt(((found - table)[there, column] ** 2).mean()) / table[:, column].std() if there.any() else np.nan
        for column, there in enumerate(missing.T)
    ]
    return np.array(each)


def covered(drawn: np.ndarray, table: np.ndarray, missing: np.ndarray) -> float:
    """Return the share of missing numbers within their 95% intervals, given some draws.

    In a column of many numbers the interval is that of one more draw by Student's distribution. No interval of a column
    of few numbers holds 95% of them. There the rank of the number among the draws counts, ties broken at random: if all
    are alike it is one of n + 1 as often as another, and the two at the ends lie outside as often as 5% ask for.
    """
    n = len(drawn)
    half = student.ppf(0.5 + LEVEL / 2, n - 1) * drawn.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / n)
    inside = (np.abs(table - drawn.mean(axis=0)) <= half).astype(float)
    same = np.abs(drawn - table) < 1e-9
    rank = ((drawn < table) & ~same).sum(axis=0) + np.random.default_rng(0).integers(0, same.sum(axis=0) + 1)
    at_the_ends = (rank == 0) | (rank == n)
    few = [np.unique(column).size <= FEW for column in table.T]
    inside[:, few] = 1.0 - 0.5 * (1.0 - LEVEL) * (n + 1) * at_the_ends[:, few]
    return float(inside[missing].mean())


def regressed(known: np.ndarray) -> np.ndarray:
    """Return imputations by regressions, each fitted anew, as scikit-learn has it."""
    makes = (IterativeImputer(sample_posterior=True, random_state=k) for k in range(N_IMPUTATIONS))
    return np.stack([make.fit_transform(known) for make in makes])


Setting = tuple[str, str, float]


def settings() -> list[Setting]:
    """Return every table with every kind of gaps at the usual share, and with every share at random."""
    kinds = [(mechanism, share) for mechanism in MECHANISMS for share in SHARES]
    chosen = [(mechanism, share) for mechanism, share in kinds if share == USUAL or mechanism == MECHANISMS[0]]
    return [(name, *kind) for name in tables() for kind in chosen]


def measured(setting: Setting, only: str | None = None) -> tuple[dict[str, Any], ...]:
    """Return errors of methods, coverage of regressions and ours, and at the usual setting seconds of all methods.

    The last are errors by column, at the usual setting.
    """
    warnings.filterwarnings("ignore")
    name, mechanism, share = setting
    usual = share == USUAL and mechanism == MECHANISMS[0]
    table = tables()[name]
    errors: dict[str, list[np.ndarray]] = {}
    inside: dict[str, list[float]] = {}
    seconds = {}
    for repeat in range(REPEATS):
        rng = np.random.default_rng([len(name), MECHANISMS.index(mechanism), round(100 * share), repeat])
        missing = gaps(table, mechanism, share, rng)
        known = np.where(missing, np.nan, table)
        timed = usual and repeat == 0
        for method, make in METHODS.items():
            if only in (None, method) or timed:
                began = time.process_time()
                imputer = make()
                found = errors_by_column(imputer.fit_transform(known), table, missing)
                errors.setdefault(method, []).append(found)
                if timed:
                    seconds[method] = time.process_time() - began
                if method == OURS:
                    drawn = imputer.imputations(N_IMPUTATIONS)
                    inside.setdefault(OURS, []).append(covered(drawn, table, missing))
        if timed and only in (None, "regressions"):
            inside["regressions"] = [covered(regressed(known), table, missing)]
    asked = [method for method in METHODS if only in (None, method)]
    means = {method: float(np.mean([np.nanmean(each) for each in errors[method]])) for method in asked}
    covering = {method: float(np.mean(each)) for method, each in inside.items() if method in asked}
    by_column = {method: np.nanmean(errors[method], axis=0).tolist() for method in asked} if usual else {}
    return means, covering, seconds, by_column


def before(table: Table, where: tuple[Any, ...]) -> dict[str, Any]:
    """Return the figures of a row that are stored, by their columns."""
    rows, n = Table.read(table.name).rows, len(where)
    found = next(row[n:] for row in rows if tuple(row[:n]) == where)
    return dict(zip([column.title for column in table.columns[n:]], found, strict=True))


def columns_of(results: dict[Setting, tuple[dict[str, Any], ...]], only: str | None) -> Table:
    """Return the table of errors by column, at the usual setting."""
    figures = [Column(method, ".3f") for method in METHODS]
    title = f"Errors by column, {USUAL:.0%} missing at random"
    table = Table("imputation-columns", title, COMMAND, [Column("table"), Column("column"), *figures])
    for name, titles in column_names().items():
        found = results.get((name, MECHANISMS[0], USUAL), ({},))[-1]
        for place, title in enumerate(titles):
            kept = before(table, (name, title)) if only else {}
            row = kept | {method: each[place] for method, each in found.items()}
            if row:
                table.add(name, title, *(row[method] for method in METHODS))
    return table


def main() -> None:
    """Complete every table by every method, two settings at a time, each on one thread."""
    print(machine())
    parser = ArgumentParser()
    parser.add_argument("--only", choices=list(METHODS))
    parser.add_argument("tables", nargs="*")
    told = parser.parse_args()
    errors = Table(
        "imputation",
        "Errors of missing numbers, in deviations of their columns",
        COMMAND,
        WHERE + [Column(method, ".3f") for method in METHODS],
    )
    shares = [Column(name, ".1%") for name in ("regressions", OURS)]
    title = "Missing numbers in 95% intervals of 20 imputations"
    coverage = Table("imputation-coverage", title, COMMAND, WHERE + shares)
    seconds: dict[str, dict[str, float]] = {}
    METHODS[OURS]().fit_transform(np.random.default_rng(0).integers(3, size=(40, 3)) * 1.0)  # compiles
    chosen = settings()
    anew = [setting for setting in chosen if not told.tables or setting[0] in told.tables]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        results = dict(zip(anew, pool.map(partial(measured, only=told.only), anew), strict=True))
    for setting in chosen:
        found, inside, took, _ = results.get(setting, ({}, {}, {}, {}))
        kept = before(errors, setting) if told.only else {}
        covering = before(coverage, setting) if told.only else {}
        if found or kept:
            errors.add(*setting, *((kept | found)[method] for method in METHODS))
            coverage.add(*setting, *((covering | inside).get(method) for method in ("regressions", OURS)))
        if took:
            seconds[setting[0]] = took
    columns = [Column("table"), *(Column(method, ".2f") for method in METHODS)]
    times = Table("imputation-seconds", "Seconds", COMMAND, columns)
    for name in tables():
        if name in seconds or told.only:
            times.add(name, *((before(times, (name,)) if told.only else {}) | seconds.get(name, {})).values())
    finish(errors, coverage, times, columns_of(results, told.only), complete=bool(told.only) or not told.tables)


if __name__ == "__main__":
    main()
