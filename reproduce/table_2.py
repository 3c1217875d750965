"""Table II: share of iterations in the four phases, D1, D = 8."""

from typing import Any

import numpy as np

from kolmogorov.solvers import bqp
from reproduce.common import NEAREST, Tables, toy_problems
from reproduce.printed import TABLE_2

#: Nearest to Table II of 1,053 settings that were tried, one number changed at a time, on 12 other realisations.
FIT = {"initial_dual": 63.0, "step": 21.6, "armijo": 0.0545, "shrink": 0.468, "tol": 0.141}


def shares(settings: dict[str, float], seeds: range) -> Any:
    """Return the percentages of a BQP's iterations in the four phases, averaged over all BQPs of realisations."""
    found = []
    for seed in seeds:
        for solution in bqp.solve_many(*toy_problems(8, seed), solver="enhanced_gd", n_draws=1, **settings):
            counts = np.array(list((solution.phases or {}).values()))
            found.append(100 * counts / counts.sum())
    return np.mean(found, axis=0)


def run(quick: bool = False) -> Tables:
    """Count phases by three settings; the last is a fit."""
    settings = {"u_0 = 1, step 0.2, tol 1e-2": NEAREST, "u_0 = 1, step 1, tol 1e-4": {}, "the fit": FIT}
    found = {label: shares(options, range(3 if quick else 250)) for label, options in settings.items()}
    rows = [
        {"phase": phase, "paper %": printed, **{label: float(kept[k]) for label, kept in found.items()}}
        for k, (phase, printed) in enumerate(TABLE_2.items())
    ]
    return {"table_2": rows}
