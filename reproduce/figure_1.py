"""Fig. 1: optimality gap of the dual by iteration, gd and enhanced_gd, D1, D = 4; and the rate of Proposition 2."""

from typing import Any

import numpy as np

from kolmogorov.solvers import bqp
from reproduce.common import NEAREST, Panel, Tables, band, first_problems, gaps, lifted, lines_of, thinned

GAMMAS = (10.0, 100.0, 1000.0)


def slopes(gaps: Any) -> Any:
    """Return log(c) of c^i between gaps of 1e-4 and 1e-9: on the whole, and on the first and second half of it."""
    inside = np.flatnonzero((gaps < 1e-4) & (gaps > 1e-9))
    if inside.size < 3:
        return None
    first, middle, last = inside[[0, inside.size // 2, -1]]
    return [np.log(gaps[j] / gaps[i]) / (j - i) for i, j in ((first, last), (first, middle), (middle, last))]


def least_curvature(gram: Any, moment: Any, dual: Any, gamma: float) -> float:
    """Return the smallest eigenvalue of the generalised Hessian of h."""
    values, vectors = np.linalg.eigh(-lifted(gram, moment) - np.diag(dual))
    positive = np.maximum(values, 0.0)
    apart = np.subtract.outer(values, values)
    both = np.where(values > 0, 1.0, 0.0)[:, None] + np.zeros_like(apart)
    weights = np.divide(np.subtract.outer(positive, positive), apart, out=both, where=np.abs(apart) > 1e-12)
    hessian = gamma * np.einsum("ia,ja,ib,jb,ab->ij", vectors, vectors, vectors, vectors, weights)
    return float(np.linalg.eigvalsh(hessian)[0])


def run(quick: bool = False) -> Tables:
    """Trace both descents on one BQP of each realisation of D1."""
    problems = first_problems(4, 3 if quick else 40)
    rows, rates = [], []
    for gamma in GAMMAS:
        options = {**NEAREST, "gamma": gamma, "tol": 1e-7, "max_iter": 5_000}
        found = {name: gaps(problems, solver=name, **options) for name in ("gd", "enhanced_gd")}
        both = zip(*found.values(), strict=True)
        apart = max(np.abs(a[: len(b)] - b[: len(a)]).max() for a, b in both)
        middle, low, high = band(found["enhanced_gd"])
        for k in thinned(np.flatnonzero(middle >= 1e-9)):
            rows.append({"gamma": int(gamma), "iteration": k, "gap": middle[k], "10%": low[k], "90%": high[k]})
        log_c, first, second = np.mean([rate for curve in found["enhanced_gd"] if (rate := slopes(curve))], axis=0)
        row = {"gamma": int(gamma), "iterations": np.mean([len(curve) - 1 for curve in found["gd"]])}
        row |= {"log(c)": log_c, "c": np.exp(log_c), "c, first half": np.exp(first), "c, second half": np.exp(second)}
        optima = bqp.solve_many(*problems, solver="newton", gamma=gamma)
        at = zip(*problems, [best.dual for best in optima], strict=True)
        least = min(least_curvature(gram, moment, dual, gamma) for gram, moment, dual in at)
        rates.append(row | {"least curvature": least, "gd and enhanced_gd apart": float(apart)})
    return {"figure_1": rows, "figure_1_rates": rates}


def panels(tables: Tables) -> list[Panel]:
    """Draw the mean gaps with the quantiles."""
    lines, low, high = (lines_of(tables["figure_1"], "gamma", "iteration", name) for name in ("gap", "10%", "90%"))
    bands = {label: (low[label][1], high[label][1]) for label in lines}
    return [Panel("gd and enhanced_gd, one curve for each gamma", "iteration", "h - h*", lines, bands, log=True)]
