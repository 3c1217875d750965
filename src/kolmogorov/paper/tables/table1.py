"""Table I: seconds per sweep for the BQP, by gamma."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.paper.data import NEAREST, mean_of, solved, toy_equations
from kolmogorov.paper.printed import TABLE_1
from kolmogorov.paper.result import Claim, Effort, Panel, Part, Result, one_of, verdict
from kolmogorov.solvers import resolve

_GAMMAS = (10, 100, 1000)
_STARTS = (1.0, 50.0)


def parts(effort: Effort) -> list[Part]:
    """Time both descents on all 40 items of realisations of D1, D = 16."""
    return [Part(f"table1-{(n := effort.pick(2, 10))}", lambda: _measured(n))]


def _measured(realisations: int) -> list[dict[str, Any]]:
    rows = []
    for start in _STARTS:
        for gamma in _GAMMAS:
            for name in TABLE_1:
                method = resolve("binary", name, **{**NEAREST, "gamma": float(gamma), "initial_dual": start})
                seconds: list[Any] = []
                evds: list[Any] = []
                iterations: list[Any] = []
                for seed in range(realisations):
                    batch, spent = solved(method, *toy_equations(16, seed))
                    seconds.append(spent)
                    evds.append(mean_of(batch.n_evd))
                    iterations.append(mean_of(batch.iterations))
                rows.append(
                    {
                        "u_0": start,
                        "gamma": gamma,
                        "solver": name,
                        "seconds": float(np.mean(seconds)),
                        "sd": float(np.std(seconds, ddof=1)),
                        "EVDs": float(np.mean(evds)),
                        "iterations": float(np.mean(iterations)),
                    }
                )
    return rows


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Set seconds and EVDs beside the printed seconds."""
    (measured,) = found.values()
    rows = []
    for row in measured:
        printed = TABLE_1[row["solver"]][row["gamma"]]
        rows.append({**row, "paper s": printed, "paper / ours": printed / row["seconds"]})
    at = {(row["u_0"], row["gamma"], row["solver"]): row for row in rows}

    def ratios(start: float, what: str) -> list[float]:
        return [at[start, g, "gd"][what] / at[start, g, "enhanced_gd"][what] for g in _GAMMAS]

    growth = [at[1.0, 1000, name]["seconds"] / at[1.0, 10, name]["seconds"] for name in TABLE_1]
    evds, seconds, far = ratios(1.0, "EVDs"), ratios(1.0, "seconds"), ratios(_STARTS[-1], "EVDs")
    printed_ratio = [TABLE_1["gd"][g] / TABLE_1["enhanced_gd"][g] for g in _GAMMAS]
    lines: dict[str, Any] = {
        f"{name}, u_0 = {start:g}": (list(_GAMMAS), [at[start, g, name]["seconds"] for g in _GAMMAS])
        for start in _STARTS
        for name in TABLE_1
    }
    lines |= {f"paper: {name}": (list(_GAMMAS), [TABLE_1[name][g] for g in _GAMMAS]) for name in TABLE_1}
    return Result(
        "Table I: seconds per sweep for the BQP by gamma (D1, 40 items, D = 16)",
        rows,
        [
            Panel(
                "Item step of a sweep",
                "gamma",
                "seconds",
                lines,
                log_y=True,
                dashed=tuple(label for label in lines if label.startswith("paper")),
            )
        ],
        [
            Claim(
                "Table I",
                f"time grows with gamma: {2.79 / 0.651:.1f}-fold (gd) and {0.262 / 0.0679:.1f}-fold (enhanced_gd) from "
                "10 to 1000",
                f"{growth[0]:.1f}-fold and {growth[1]:.1f}-fold",
                verdict(min(growth) > 1, max(growth) < 1),
            ),
            Claim(
                "Table I",
                f"gd takes {one_of(f'{r:.1f}' for r in printed_ratio)} times as long as enhanced_gd",
                f"u_0 = 1: {one_of(f'{r:.2f}' for r in evds)} times the EVDs, {one_of(f'{r:.2f}' for r in seconds)} "
                f"times the seconds; u_0 = {_STARTS[-1]:g}: {one_of(f'{r:.1f}' for r in far)} times the EVDs",
                verdict(min(evds) > 5),
            ),
        ],
        [
            "Seconds are of one thread for all 40 items, the paper's unit ('averaged over BCD iterations'), mean and "
            f"standard deviation over {effort.pick(2, 10)} realisations of D1; EVDs and iterations are per BQP."
        ],
    )
