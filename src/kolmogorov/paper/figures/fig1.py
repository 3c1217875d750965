"""Fig. 1: optimality gap of the dual by iteration, gd and enhanced_gd; and the rate of Proposition 2."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.kernels.binary.dual import shifted
from kolmogorov.kernels.binary.lifting import lift
from kolmogorov.kernels.binary.newton import hessian_times, hessian_weights
from kolmogorov.paper.claims import FACTOR, Claim, Trial, same_times
from kolmogorov.paper.data import NEAREST, toy_problems
from kolmogorov.paper.figures.gaps import band, gap_curve, optimum_of
from kolmogorov.paper.result import Effort, Lines, Panel, Part, Result, listed
from kolmogorov.problems import BinaryQP

_GAMMAS = (10, 100, 1000)
_SIZE = 4
#: Between these gaps a descent is on its last piece and not yet at rounding.
_TAIL = (1e-4, 1e-9)


def parts(effort: Effort) -> list[Part]:
    """Trace both descents on one BQP of each realisation of D1."""
    return [Part(f"fig1-halves-{(n := effort.pick(3, 40))}", partial(_traced, n), cost=0.4 * n)]


def _traced(realisations: int) -> dict[str, Any]:
    found: dict[str, Any] = {"apart": 0.0}
    problems = [toy_problems(_SIZE, 1, seed)[0] for seed in range(realisations)]
    options = {**NEAREST, "tol": 1e-7, "max_iter": 5_000}
    for gamma in _GAMMAS:
        curves: dict[str, list[list[float]]] = {"gd": [], "enhanced_gd": []}
        rates, curvatures = [], []
        for problem in problems:
            optimum = optimum_of(problem, gamma)
            for name, kept in curves.items():
                kept.append(gap_curve(problem, optimum, solver=name, gamma=gamma, **options))
            one, other = curves["gd"][-1], curves["enhanced_gd"][-1]
            # Near rounding one may end an iteration before the other.
            both = min(len(one), len(other))
            apart = np.abs(np.subtract(one[:both], other[:both])).max()
            found["apart"] = max(found["apart"], float(apart))
            curvatures.append(_least_curvature(problem, gamma))
            rates += [rate] if (rate := _rates(other)) else []
        found[str(gamma)] = {
            **{name: band(kept) for name, kept in curves.items()},
            "iterations": float(np.mean([len(curve) - 1 for curve in curves["gd"]])),
            "rates": rates,
            "curvatures": curvatures,
        }
    return found


def _rates(curve: list[float]) -> tuple[float, float, float] | None:
    """Return log(c) of c^i on the tail of a curve, on the first half of its iterations and on the second."""
    gaps = np.array(curve)
    inside = np.flatnonzero((gaps < _TAIL[0]) & (gaps > _TAIL[1]))
    if inside.size < 3:
        return None
    first, middle, last = inside[0], inside[inside.size // 2], inside[-1]

    def slope(start: int, stop: int) -> float:
        return float((np.log(gaps[stop]) - np.log(gaps[start])) / (stop - start))

    return slope(first, last), slope(first, middle), slope(middle, last)


def _least_curvature(problem: BinaryQP, gamma: float) -> float:
    """Return the smallest eigenvalue of the generalised Hessian of h at the optimum."""
    n = problem.size + 1
    lifted = np.empty((n, n))
    lift(problem.gram, problem.moment, lifted)
    dual = solve(problem, solver="newton", gamma=gamma).dual
    values, vectors = np.linalg.eigh(shifted(lifted, dual))
    weights = hessian_weights(values)
    columns = [hessian_times(gamma, weights, vectors, unit, np.empty(weights.shape)) for unit in np.eye(n)]
    return float(np.linalg.eigvalsh(np.array(columns))[0])


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Draw the mean gaps, and say how fast the tails are."""
    (traced,) = found.values()
    lines: Lines = {}
    bands, rows = {}, []
    for gamma in _GAMMAS:
        for name in ("gd", "enhanced_gd"):
            one = traced[str(gamma)][name]
            label = f"{name}, gamma {gamma}"
            # What follows is rounding.
            end = next((k for k, gap in enumerate(one["mean"]) if gap < _TAIL[1]), len(one["mean"]))
            lines[label] = (list(range(end)), one["mean"][:end])
            if name == "enhanced_gd":
                bands[label] = (one["low"][:end], one["high"][:end])
            for k, (mean, low, high) in enumerate(zip(one["mean"], one["low"], one["high"], strict=True)):
                rows.append({"gamma": gamma, "solver": name, "iteration": k, "gap": mean, "10%": low, "90%": high})
    pale = tuple(label for label in lines if label.startswith("gd"))
    panel = Panel(
        "gd (wide) and enhanced_gd (thin)",
        "iteration",
        "h - h*",
        lines,
        log_y=True,
        bands=bands,
        pale=pale,
        kin={label: f"enhanced_{label}" for label in pale},
    )
    return Result(
        "Fig. 1: gap of the dual by iteration (D1, D = 4), and Proposition 2",
        rows,
        [panel],
        _claims(traced),
        [
            f"One BQP of each of {effort.pick(3, 40)} realisations of D1. Lines are geometric means, bands the 10% and "
            f"90% quantiles. c is taken between gaps of {_TAIL[0]:g} and {_TAIL[1]:g}; the smallest curvature at an "
            f"optimum is {min(min(traced[str(gamma)]['curvatures']) for gamma in _GAMMAS):.2g}.",
        ],
        table=[],
    )


def _claims(traced: dict[str, Any]) -> list[Claim]:
    reading = "one BQP of each realisation; u_0 = 1 as printed; first step 0.2 and Armijo constants are open"
    iterations = [traced[str(gamma)]["iterations"] for gamma in _GAMMAS]
    halves = {g: np.mean(traced[str(g)]["rates"], axis=0).tolist() for g in _GAMMAS if traced[str(g)]["rates"]}
    slopes = {gamma: whole for gamma, (whole, _, _) in halves.items()}
    steepest, flattest = min(slopes.values()), max(slopes.values())
    return [
        Claim(
            "Fig. 1, Remark 2",
            "gd and enhanced_gd visit the same points",
            reading,
            [Trial("", f"their gaps differ by at most {traced['apart']:.0e}", traced["apart"] < 1e-6)],
        ),
        Claim(
            "Fig. 1",
            "a larger gamma means slower convergence",
            reading,
            [
                Trial(
                    "",
                    f"{listed(iterations, '.0f')} iterations for gamma = {listed(_GAMMAS)}",
                    iterations == sorted(iterations),
                    iterations == sorted(iterations, reverse=True),
                )
            ],
        ),
        Claim(
            "Proposition 2",
            "the gap is O(c^i) with c < 1",
            "c of the last piece, where h is curved (far out it is linear, and not strongly convex); a descent slower "
            "than c^i would flatten, so log(c) must not halve from the first half of that piece to the second",
            [
                Trial(
                    f"gamma = {gamma}",
                    f"c = {np.exp(whole):.2f}, {np.exp(first):.2f} and {np.exp(second):.2f} by halves",
                    second <= first / FACTOR,
                    second > first / FACTOR,
                )
                for gamma, (whole, first, second) in halves.items()
            ],
        ),
        Claim(
            "Remark 2",
            "the asymptotic slope log(c) is independent of gamma",
            "the same slopes; the same within a factor of two",
            [
                Trial(
                    "",
                    f"mean log(c) = {listed(slopes.values(), '.3f')} for gamma = {listed(slopes)}",
                    same_times(-steepest, -flattest),
                    not same_times(-steepest, -flattest),
                )
            ],
        ),
    ]
