"""The split of D2: u1 to u5, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.paper.fits import Fit
from kolmogorov.paper.printed import TABLE_5
from kolmogorov.paper.result import PAPER, Effort, Lines, Panel, Part, Result, added
from kolmogorov.paper.tables.table5 import SIZES, fits

_RANDOM = 3


def _wanted(effort: Effort) -> dict[tuple[str, int], Fit]:
    """Return the fits by split and D, with the exact solver; splits beyond the fifth are random."""
    count = effort.pick(2, 5 + _RANDOM)
    return {
        (f"u{fold + 1}" if fold < 5 else f"random {fold - 4}", size): fit
        for size in effort.pick((8,), SIZES)
        for fold, fit in enumerate(fits("D2", "auto", size, effort, count))
    }


def parts(effort: Effort) -> list[Part]:
    """Fit every split with the printed parameters and exact BQPs."""
    return [fit.part for fit in _wanted(effort).values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Show the test error by split."""
    lines: Lines = {}
    table: dict[str, dict[str, Any]] = {}
    for (name, size), fit in _wanted(effort).items():
        error = float(np.mean(found[fit.key]["test"]))
        added(lines, name, size, error)
        table.setdefault(name, {"split": name})[f"D = {size}"] = error
    printed = {size: cells[0] for size, cells in TABLE_5["D2"]["KM enhanced_gd"].items()}
    lines[f"{PAPER}D2"] = (list(printed), list(printed.values()))
    sizes = [key for key in next(iter(table.values())) if key != "split"]
    folds = [row for name, row in table.items() if name.startswith("u")]
    table["mean of folds"] = {"split": "mean of folds", **{n: float(np.mean([row[n] for row in folds])) for n in sizes}}
    table["paper"] = {"split": "paper", **{f"D = {n}": value for n, value in printed.items() if f"D = {n}" in sizes}}
    spread = [max(row[n] for row in folds) / min(row[n] for row in folds) - 1 for n in sizes]
    return Result(
        "The split: test error on D2 by fold",
        list(table.values()),
        [Panel("KM with exact BQPs", "D", "NRMSE", lines)],
        sentences=[
            f"The paper says 80% and 20% and not which. The folds differ by up to {100 * max(spread):.1f}%. Table VI "
            "is of u1.base; random splits are easier than u1 and must not stand beside printed numbers unmarked."
        ],
    )
