"""Table I: seconds per sweep for the BQP, by gamma."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.paper.claims import Claim, Trial, same_times
from kolmogorov.paper.data import NEAREST, mean_of, solved, toy_equations
from kolmogorov.paper.fits import deviation
from kolmogorov.paper.printed import TABLE_1
from kolmogorov.paper.result import PAPER, Effort, Lines, Panel, Part, Result, listed
from kolmogorov.solvers import resolve

_GAMMAS = (10, 100, 1000)
_STARTS = (1.0, 50.0)


def parts(effort: Effort) -> list[Part]:
    """Time both descents on all 40 items of realisations of D1, D = 16."""
    n = effort.pick(2, 10)
    return [Part(f"table1-seconds-{n}", partial(_measured, n), cost=3.0 * n, timed=True)]


def _measured(realisations: int) -> list[dict[str, Any]]:
    rows = []
    for start in _STARTS:
        for gamma in _GAMMAS:
            for name in TABLE_1:
                method = resolve("binary", name, **{**NEAREST, "gamma": float(gamma), "initial_dual": start})
                runs = [solved(method, *toy_equations(16, seed)) for seed in range(realisations)]
                rows.append(
                    {
                        "u_0": start,
                        "gamma": gamma,
                        "solver": name,
                        "seconds": float(np.mean([seconds for _, seconds in runs])),
                        "sd": deviation([seconds for _, seconds in runs]),
                        "EVDs": float(np.mean([mean_of(batch.n_evd) for batch, _ in runs])),
                        "iterations": float(np.mean([mean_of(batch.iterations) for batch, _ in runs])),
                    }
                )
    return rows


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Set seconds and EVDs beside the printed seconds."""
    (measured,) = found.values()
    rows = [{**row, "paper s": TABLE_1[row["solver"]][row["gamma"]]} for row in measured]
    at = {(row["u_0"], row["gamma"], row["solver"]): row for row in rows}
    lines: Lines = {}
    for name, printed in TABLE_1.items():
        for start in _STARTS:
            label = name if start == 1.0 else f"{name}, u_0 = {start:g}"
            lines[label] = (list(_GAMMAS), [at[start, g, name]["seconds"] for g in _GAMMAS])
        lines[PAPER + name] = (list(_GAMMAS), [printed[g] for g in _GAMMAS])
    grown = [printed[1000] / printed[10] for printed in TABLE_1.values()]
    trials = []
    for start in _STARTS:
        growth = {
            what: [at[start, 1000, name][what] / at[start, 10, name][what] for name in TABLE_1]
            for what in ("seconds", "EVDs")
        }
        trials.append(
            Trial(
                f"u_0 = {start:g}",
                f"{listed(growth['seconds'], '.1f')}-fold ({listed(growth['EVDs'], '.1f')}-fold in EVDs)",
                all(same_times(ours, paper) for ours, paper in zip(growth["seconds"], grown, strict=True)),
                max(growth["seconds"]) < 1,
            )
        )
    return Result(
        "Table I: seconds per sweep for the BQP by gamma (D1, 40 items, D = 16)",
        rows,
        [Panel("Item step of a sweep", "gamma", "seconds", lines, log_y=True, log_x=True)],
        [
            Claim(
                "Table I, Section V-A",
                f"time grows with gamma: {listed(grown, '.1f')}-fold from 10 to 1000 (gd, enhanced_gd)",
                "one thread, all 40 items; u_0 is 1 as an example, the first step is open (0.2)",
                trials,
            )
        ],
        [
            "Seconds are for all 40 items, the paper's unit ('averaged over BCD iterations'), mean and standard "
            f"deviation over {effort.pick(2, 10)} realisations of D1; EVDs and iterations are per BQP. Of how much "
            "enhanced_gd saves, see the item `start`."
        ],
    )
