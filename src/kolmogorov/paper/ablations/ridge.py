"""mu_i: a ridge that draws the values of items to 0, to the mean of the table, or none."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.paper.fits import Fit
from kolmogorov.paper.printed import TABLE_5
from kolmogorov.paper.result import PAPER, Effort, Lines, Panel, Part, Result, added
from kolmogorov.paper.tables.table5 import SIZES, fits

_KINDS: dict[str, dict[str, Any]] = {"to 0": {}, "to the mean": {"to_mean": True}, "none": {"item_reg": 0.0}}
_MODELS = {"NNM": "nonnegative", "KM exact": "auto"}


def _wanted(effort: Effort) -> dict[tuple[str, str, str, int], Fit]:
    """Return the fits by data, model, kind of ridge and D; KM has no mu_i on D2."""
    found = {}
    for name, model in effort.pick((("D2", "NNM"),), (("D2", "NNM"), ("D3", "NNM"), ("D3", "KM exact"))):
        for size in effort.pick((4, 24), SIZES):
            for kind, changes in _KINDS.items():
                found[name, model, kind, size] = fits(name, _MODELS[model], size, effort, **changes)[0]
    return found


def parts(effort: Effort) -> list[Part]:
    """Fit NNM on D2 and D3, and KM with exact BQPs on D3, with three kinds of ridge."""
    return [fit.part for fit in _wanted(effort).values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Show the test errors beside the printed ones."""
    wanted = _wanted(effort)
    table: dict[Any, dict[str, Any]] = {}
    panels: dict[tuple[str, str], Lines] = {}
    for (name, model, kind, size), fit in wanted.items():
        error = float(np.mean(found[fit.key]["test"]))
        added(panels.setdefault((name, model), {}), f"mu_i {kind}", size, error)
        row = table.setdefault((name, model, kind), {"data": name, "model": model, "mu_i": kind})
        row[f"D = {size}"] = error
    for (name, model), lines in panels.items():
        printed = TABLE_5[name]["KM enhanced_gd" if model == "KM exact" else model]
        lines[f"{PAPER}{model}"] = (list(printed), [cells[0] for cells in printed.values()])
        row = table.setdefault((name, model, "paper"), {"data": name, "model": model, "mu_i": "paper"})
        row |= {f"D = {size}": cells[0] for size, cells in printed.items() if (name, model, "to 0", size) in wanted}
    return Result(
        "The ridge mu_i: to 0, to the mean, none",
        list(table.values()),
        [Panel(f"{name}, {model}", "D", "NRMSE", lines) for (name, model), lines in panels.items()],
        sentences=[
            "The paper does not say what mu_i draws to. To 0, which is below the lowest rating, a large mu_i pulls all "
            "predictions down; to the mean of the table it is the usual ridge."
        ],
    )
