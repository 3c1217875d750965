"""Answers without order, beside latent classes of StepMix: held-out log loss and seconds.

    python benchmarks/nominal.py [table ...]

A fifth of the answers is held out, three times over. StepMix (`pip install --group peers`) fits 1, 2, ...
classes until BIC has not fallen three times in a row, and the number with the least is taken; its seconds are those of
all of these fits. The settings of `NominalModel` were chosen on tables of other seeds, most of other sizes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, peer

import kolmogorov as km

SHARE, REPEATS, MOST_CLASSES, PATIENCE = 0.2, 3, 16, 3
#: What a chance is at least in the log loss: an answer that StepMix takes for impossible would decide all.
FLOOR = 1e-3
COMMAND = "python benchmarks/nominal.py"
COLUMNS = [
    Column("table"),
    Column("rows"),
    Column("items"),
    Column("shares of answers", ".4f"),
    Column("StepMix, classes by BIC", ".4f"),
    Column("classes", ".1f"),
    Column("NominalModel", ".4f"),
    Column("StepMix, s", ".1f"),
    Column("NominalModel, s", ".1f"),
]


def chances_by_kind(rng: np.random.Generator, n_items: int, n_kinds: int) -> np.ndarray:
    """Make up chances of two to five answers to every item for every kind of people."""
    chances = np.zeros((n_kinds, n_items, 5))
    for item, width in enumerate(rng.integers(2, 6, size=n_items)):
        chances[:, item, :width] = rng.dirichlet(np.full(width, 0.6), n_kinds)
    return chances


def classes(n_rows: int, n_items: int, n_kinds: int, seed: int) -> np.ndarray:
    """Make up answers of people who are each of one kind."""
    rng = np.random.default_rng([seed, n_rows])
    chances = chances_by_kind(rng, n_items, n_kinds)
    return answered(rng, chances[rng.choice(n_kinds, n_rows, p=rng.dirichlet(np.full(n_kinds, 3.0)))])


def mixed(n_rows: int, n_items: int, n_kinds: int, seed: int) -> np.ndarray:
    """Make up answers of people who lie between kinds."""
    rng = np.random.default_rng([seed, n_rows, 1])
    chances = chances_by_kind(rng, n_items, n_kinds)
    return answered(rng, np.einsum("uk,kia->uia", rng.dirichlet(np.full(n_kinds, 0.4), n_rows), chances))


def answered(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """Draw answers with given chances."""
    upto = np.cumsum(chances, axis=2)
    return (rng.random(upto.shape[:2])[..., None] * upto[..., -1:] > upto[..., :-1]).sum(axis=2)


def bundled(name: str, **options: Any) -> np.ndarray:
    """Return answers of a bundled table, -1 for none; those of which nobody differs are left out."""
    table = km.datasets.load(name, **options)
    codes = np.full((table.n_users, table.n_items), -1)
    codes[table.user_rows(), table.item_rows()] = np.searchsorted(np.unique(table.values), table.values)
    return codes[:, [np.unique(column[column >= 0]).size > 1 for column in codes.T]]


TABLES: dict[str, Callable[[int], np.ndarray]] = {
    "three kinds": lambda seed: classes(250, 10, 3, seed),
    "six kinds": lambda seed: classes(1000, 15, 6, seed),
    "ten kinds": lambda seed: classes(2000, 20, 10, seed),
    "between three kinds": lambda seed: mixed(400, 12, 3, seed),
    "between five kinds": lambda seed: mixed(1500, 20, 5, seed),
    "zoo": lambda seed: bundled("zoo"),
    "food": lambda seed: bundled("food"),
    "un-votes since 2019": lambda seed: bundled("un-votes", since=2019),
}


def ours(known: np.ndarray) -> np.ndarray:
    """Return the chances of answers, float64[n_rows, n_items, most], by `NominalModel`."""
    labels = known.astype(object)
    labels[known < 0] = None
    model = km.NominalModel(random_state=0).fit(labels)
    out = np.zeros((*known.shape, known.max() + 1))
    for item, chances in model.predict_distribution(labels).items():
        out[:, item, model.categories_[item]] = chances
    return out


def theirs(known: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the same by StepMix, and the number of classes."""
    from stepmix.stepmix import StepMix

    table = np.where(known < 0, np.nan, known)
    fits = []
    for n in range(1, MOST_CLASSES + 1):
        model = StepMix(n, measurement="categorical_nan", n_init=1, random_state=0, progress_bar=0).fit(table)
        fits.append((model.bic(table), n, model))
        if n - min(fits)[1] >= PATIENCE:
            break
    _, n, model = min(fits)
    chances = model.predict_proba(table) @ model.get_parameters()["measurement"]["pis"]
    return chances.reshape(*known.shape, -1), n


def log_loss(chances: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> float:
    """Return the mean log loss of the answers held out."""
    rows, items = np.nonzero(held_out)
    return float(-np.log(np.maximum(chances[rows, items, codes[rows, items]], FLOOR)).mean())


def shares(known: np.ndarray) -> np.ndarray:
    """Return how frequent each answer to each item is, for every row."""
    counts = [np.bincount(column[column >= 0], minlength=known.max() + 1) for column in known.T]
    return np.broadcast_to([each / each.sum() for each in counts], (*known.shape, known.max() + 1))


def main() -> None:
    """Hold out answers of every table."""
    print(machine())
    warnings.filterwarnings("ignore")
    asked = sys.argv[1:]
    there = peer("stepmix", None)
    ours(np.random.default_rng(0).integers(3, size=(20, 3)))  # compiles
    table = Table("nominal", "Log loss of answers held out", COMMAND, COLUMNS)
    for name, make in TABLES.items():
        if asked and name not in asked:
            continue
        found = []
        for repeat in range(REPEATS):
            codes = make(1000 + repeat)
            rng = np.random.default_rng([len(name), repeat])
            held_out = (rng.random(codes.shape) < SHARE) & (codes >= 0)
            known = np.where(held_out, -1, codes)
            began = time.perf_counter()
            mine = log_loss(ours(known), codes, held_out)
            took = time.perf_counter() - began
            began = time.perf_counter()
            chances, n = theirs(known) if there else (np.full((*known.shape, 1 + codes.max()), np.nan), 0)
            row = [log_loss(shares(known), codes, held_out), log_loss(chances, codes, held_out), float(n), mine]
            found.append([*row, time.perf_counter() - began, took])
        table.add(name, *codes.shape, *np.mean(found, axis=0).tolist())
    finish(table, complete=bool(there) and not asked)


if __name__ == "__main__":
    main()
