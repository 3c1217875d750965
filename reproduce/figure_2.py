"""Fig. 2: gap of the dual with the initial step, D1, D = 4; and by EVDs, where Newton's method joins."""

from typing import Any

import numpy as np

from kolmogorov.solvers import bqp
from reproduce.common import NEAREST, Panel, Tables, band, deviation, first_problems, gaps, lines_of, thinned

DESCENT = {**NEAREST, "tol": 1e-6}
RUNS: dict[str, dict[str, Any]] = {
    "gd": {"solver": "gd", **DESCENT},
    "enhanced_gd": {"solver": "enhanced_gd", **DESCENT},
    "enhanced_gd, initial step": {"solver": "enhanced_gd", "initial_step": True, **DESCENT},
    "enhanced_gd, screened": {"solver": "enhanced_gd", "screened": True, **DESCENT},
    "newton": {"solver": "newton"},
}


def run(quick: bool = False) -> Tables:
    """Trace the methods on one BQP of each realisation, and stop them at a gap of 1e-6 to count EVDs."""
    grams, moments = first_problems(4, 3 if quick else 40)
    rows, curves = [], []
    for label, options in RUNS.items():
        found = gaps((grams, moments), **options)
        spent: list[Any] = []
        early = []
        for gram, moment, curve in zip(grams, moments, found, strict=True):
            reached = next((k for k, gap in enumerate(curve) if gap <= 1e-6), len(curve) - 1)
            cut = bqp.solve(gram, moment, **options, max_iter=max(reached, 1))
            spent.append(cut.n_evd)
            early.append((cut.phases or {}).get("I-A", 0))
        lengths = [len(curve) - 1 for curve in found]
        row = {"method": label, "iterations": np.mean(lengths), "sd of iterations": deviation(lengths)}
        row |= {"in phase I-A": np.mean(early), "EVDs to a gap of 1e-6": np.mean(spent), "sd of EVDs": deviation(spent)}
        rows.append(row)
        middle, low, high = band(found)
        for k in thinned(np.arange(len(middle))):
            curves.append({"method": label, "iteration": k, "gap": middle[k], "10%": low[k], "90%": high[k]})
    return {"figure_2": curves, "figure_2_evds": rows}


def panels(tables: Tables) -> list[Panel]:
    """Draw the gaps; with screening the points are those without."""
    rows = [row for row in tables["figure_2"] if not str(row["method"]).endswith("screened")]
    return [Panel("Geometric means", "iteration", "h - h*", lines_of(rows, "method", "iteration", "gap"), log=True)]
