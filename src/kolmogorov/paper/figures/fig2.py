"""Fig. 2: the initial step; and the same gaps counted in EVDs, where Newton joins."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.paper.data import NEAREST, toy_problems
from kolmogorov.paper.figures.gaps import band, gap_curve, optimum_of
from kolmogorov.paper.result import Claim, Effort, Panel, Part, Result, one_of, verdict

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
    lines = {label: (list(range(len(one["mean"]))), one["mean"]) for label, one in traced.items()}
    bands = {label: (one["low"], one["high"]) for label, one in traced.items()}
    rows = [
        {
            "method": label,
            "iterations": float(np.mean(one["lengths"])),
            "sd": float(np.std(one["lengths"], ddof=1)),
            "in phase I-A": float(np.mean(one["I-A"])),
            f"EVDs to a gap of {_GAP:g}": float(np.mean(one["EVDs"])),
            "sd ": float(np.std(one["EVDs"], ddof=1)),
        }
        for label, one in traced.items()
    ]
    evds = {label: float(np.mean(one["EVDs"])) for label, one in traced.items()}
    plain, jumped = (float(np.mean(traced[name]["lengths"])) for name in ("enhanced_gd", "enhanced_gd, initial step"))
    bars: dict[str, Any] = {"EVDs": (list(evds), list(evds.values()))}
    return Result(
        "Fig. 2: gap of the dual with the initial step, and by EVDs (D1, D = 4)",
        rows,
        [
            Panel("By iteration", "iteration", "h - h*", lines, log_y=True, bands=bands),
            Panel(f"EVDs to a gap of {_GAP:g}", "method", "EVDs", bars, bars=True),
        ],
        [
            Claim(
                "Fig. 2",
                "the initial step reduces the iterations",
                f"{plain:.1f} without, {jumped:.1f} with it; EVDs {evds['enhanced_gd']:.1f} and "
                f"{evds['enhanced_gd, initial step']:.1f}, since those of phase I-A cost none",
                verdict(jumped < plain, jumped > plain),
            ),
            Claim(
                "Section III-B",
                "gradient descent is 'more practical and cost-saving' than Newton's method",
                f"EVDs to a gap of {_GAP:g}: {one_of(f'{label} {count:.0f}' for label, count in evds.items())}",
                verdict(evds["enhanced_gd"] < evds["newton"], evds["enhanced_gd"] > evds["newton"]),
            ),
        ],
        [f"One BQP of each of {effort.pick(3, 40)} realisations of D1; u_0 = 1, first step 0.2."],
    )
