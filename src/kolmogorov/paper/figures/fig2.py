"""Fig. 2: the initial step; and the same gaps counted in EVDs, where Newton joins."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.paper.claims import Claim, Trial
from kolmogorov.paper.data import NEAREST, toy_problems
from kolmogorov.paper.figures.gaps import band, gap_curve, optimum_of
from kolmogorov.paper.fits import deviation
from kolmogorov.paper.result import Effort, Panel, Part, Result

_DESCENT = {**NEAREST, "tol": 1e-6}
_RUNS: dict[str, dict[str, Any]] = {
    "gd": {"solver": "gd", **_DESCENT},
    "enhanced_gd": {"solver": "enhanced_gd", **_DESCENT},
    "enhanced_gd, initial step": {"solver": "enhanced_gd", "initial_step": True, **_DESCENT},
    "enhanced_gd, screened": {"solver": "enhanced_gd", "screened": True, **_DESCENT},
    "newton": {"solver": "newton"},
}
_GAP = 1e-6


def parts(effort: Effort) -> list[Part]:
    """Trace the methods on one BQP of each realisation of D1, D = 4."""
    return [Part(f"fig2-{(n := effort.pick(3, 40))}", partial(_traced, n))]


def _traced(realisations: int) -> dict[str, Any]:
    curves: dict[str, list[list[float]]] = {label: [] for label in _RUNS}
    spent: dict[str, list[int]] = {label: [] for label in _RUNS}
    phases: dict[str, list[int]] = {label: [] for label in _RUNS}
    for seed in range(realisations):
        problem = toy_problems(4, 1, seed)[0]
        optimum = optimum_of(problem, 100.0)
        for label, options in _RUNS.items():
            curve = gap_curve(problem, optimum, **options)
            reached = next((k for k, gap in enumerate(curve) if gap <= _GAP), len(curve) - 1)
            cut = solve(problem, **options, max_iter=max(reached, 1))
            curves[label].append(curve)
            spent[label].append(int(cut.n_evd or 0))
            phases[label].append((cut.phases or {}).get("I-A", 0))
    return {
        label: {
            **band(curves[label]),
            "EVDs": spent[label],
            "I-A": phases[label],
            "lengths": [len(c) - 1 for c in curves[label]],
        }
        for label in _RUNS
    }


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Draw the gaps, and say what the initial step saves."""
    (traced,) = found.values()
    # With screening the points are the same.
    drawn = {label: one for label, one in traced.items() if label != "enhanced_gd, screened"}
    lines = {label: (list(range(len(one["mean"]))), one["mean"]) for label, one in drawn.items()}
    bands = {label: (one["low"], one["high"]) for label, one in drawn.items() if label != "gd"}
    evds = {label: float(np.mean(one["EVDs"])) for label, one in traced.items()}
    plain, jumped = (np.array(traced[name]["lengths"]) for name in ("enhanced_gd", "enhanced_gd, initial step"))
    return Result(
        "Fig. 2: gap of the dual with the initial step, and by EVDs (D1, D = 4)",
        [_row(label, one) for label, one in traced.items()],
        [
            Panel("By iteration", "iteration", "h - h*", lines, log_y=True, bands=bands, pale=("gd",)),
            Panel(
                f"EVDs to a gap of {_GAP:g}", "method", "EVDs", {"EVDs": (list(evds), list(evds.values()))}, bars=True
            ),
        ],
        [
            Claim(
                "Fig. 2",
                "the initial step reduces the iterations",
                "u_0 = 1, first step 0.2 (open), to a gap of 1e-6; the size of the jump is open: just beyond the first "
                "positive eigenvalue",
                [
                    Trial(
                        "",
                        f"{plain.mean():.1f} without, {jumped.mean():.1f} with it; fewer in {(jumped < plain).sum()} "
                        f"of {len(plain)} realisations. EVDs {evds['enhanced_gd']:.1f} and "
                        f"{evds['enhanced_gd, initial step']:.1f}, since iterations in phase I-A cost none",
                        bool(jumped.mean() < plain.mean()),
                        bool(jumped.mean() > plain.mean()),
                    )
                ],
            ),
            Claim(
                "Section III-B",
                "gradient descent is 'more practical and cost-saving' than Newton's method",
                f"EVDs to a gap of {_GAP:g}, the cost that both share; Newton's is the semismooth method of Qi and Sun "
                "(2006), which takes products with the Hessian and never its inverse",
                [
                    Trial(
                        "",
                        "; ".join(f"{label} {count:.0f}" for label, count in evds.items()),
                        evds["enhanced_gd"] < evds["newton"],
                        evds["enhanced_gd"] > evds["newton"],
                    )
                ],
            ),
        ],
        [f"One BQP of each of {effort.pick(3, 40)} realisations of D1."],
    )


def _row(label: str, one: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": label,
        "iterations": float(np.mean(one["lengths"])),
        "sd of iterations": deviation(one["lengths"]),
        "in phase I-A": float(np.mean(one["I-A"])),
        f"EVDs to a gap of {_GAP:g}": float(np.mean(one["EVDs"])),
        "sd of EVDs": deviation(one["EVDs"]),
    }
