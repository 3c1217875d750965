"""The three lemmas, computed on problems of D1."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.kernels.binary.dual import dual_gradient, dual_value, shifted
from kolmogorov.kernels.binary.lifting import lift
from kolmogorov.paper.claims import Claim, Trial
from kolmogorov.paper.data import Floats, toy_equations, toy_problems
from kolmogorov.paper.result import Effort, Lines, Panel, Part, Result, added
from kolmogorov.paper.spectra import errors_at, final_matrix, lanczos_run, spectrum

_GAMMA = 100.0
#: Relative errors up to this are rounding, and those of central differences.
_ROUNDING, _DIFFERENCES = 1e-8, 1e-4
#: Smaller shares are not drawn: S_i has rank 20, and there Lanczos ends.
_NEXT_TO_NONE = 1e-9
_RECURRENCES = ("reorthogonalised", "printed recurrence")


def parts(effort: Effort) -> list[Part]:
    """Check every lemma on realisations of D1, by D."""
    n = effort.pick(3, 20)
    duality = [Part(f"lemma1-D{size}-{n}", partial(_duality, size, n), cost=0.1 * n) for size in (4, 8, 16)]
    sizes = effort.pick((12,), (12, 50, 100))
    return duality + [
        Part(f"lemma23-D{size}-{n}", partial(_spectra, size, n), cost=2e-4 * n * size**2) for size in sizes
    ]


def _duality(size: int, realisations: int) -> dict[str, float]:
    """Return the largest gap between the primal and the dual value, and between the gradient and differences."""
    worst = {"D": float(size), "gap": 0.0, "diagonal": 0.0, "weak": -np.inf, "gradient": 0.0}
    for seed in range(realisations):
        problem, rng = toy_problems(size, 1, seed)[0], np.random.default_rng(seed)
        lifted = np.empty((size + 1, size + 1))
        lift(problem.gram, problem.moment, lifted)
        dual = solve(problem, solver="newton", gamma=_GAMMA, tol=1e-10).dual
        assert dual is not None
        values, vectors = np.linalg.eigh(shifted(lifted, dual))
        matrix = _GAMMA * (vectors * np.maximum(values, 0)) @ vectors.T
        primal = _primal(lifted, matrix)
        worst["gap"] = max(worst["gap"], abs(primal + dual_value(dual, _GAMMA, values)) / (1 + abs(primal)))
        worst["diagonal"] = max(worst["diagonal"], float(np.abs(np.diag(matrix) - 1).max()))
        # Weak duality, at any dual point and any matrix with ones on its diagonal.
        point, factor = dual + rng.normal(size=size + 1), rng.normal(size=(size + 1, 3))
        factor /= np.linalg.norm(factor, axis=1, keepdims=True)
        below = -dual_value(point, _GAMMA, np.linalg.eigvalsh(shifted(lifted, point)))
        worst["weak"] = max(worst["weak"], below - _primal(lifted, factor @ factor.T))
        worst["gradient"] = max(worst["gradient"], _difference(lifted, point))
    return worst


def _primal(lifted: Floats, matrix: Floats) -> float:
    return float((lifted * matrix).sum() + (matrix**2).sum() / (2 * _GAMMA))


def _difference(lifted: Floats, point: Floats) -> float:
    """Return how far the gradient is from central differences, relative to its size."""
    values, vectors = np.linalg.eigh(shifted(lifted, point))
    gradient, numeric, h = np.empty(point.size), np.empty(point.size), 1e-6
    dual_gradient(_GAMMA, values, vectors, gradient)
    for k in range(point.size):
        ends = [point + sign * h * np.eye(point.size)[k] for sign in (1, -1)]
        high, low = (dual_value(end, _GAMMA, np.linalg.eigvalsh(shifted(lifted, end))) for end in ends)
        numeric[k] = (high - low) / (2 * h)
    return float(np.abs(gradient - numeric).max() / (1 + np.abs(gradient).max()))


def _spectra(size: int, realisations: int) -> dict[str, Any]:
    """Count for every m of a Lanczos run whether Lemma 2 holds, by both recurrences, and keep what Lemma 3 bounds.

    Lemma 3 is looked at for C at the end of descents, and for the Gram matrices S_i, of which its premise may hold.
    """
    found: dict[str, Any] = {"D": size, **{label: {"held": 0, "of": 0} for label in _RECURRENCES}}
    tight: list[float] = []
    found["beta"] = []
    for seed in range(realisations):
        matrix, start = final_matrix(size, seed)
        true = spectrum(matrix)
        slack = _ROUNDING * float(np.abs(true).max())
        for label in _RECURRENCES:
            diagonal, off = lanczos_run(matrix, start, reorthogonalised=label == _RECURRENCES[0])
            for m in range(1, size + 1):
                largest, beta, smallest, small, *_ = errors_at(true, diagonal, off, m)
                found[label]["held"] += int(largest <= beta + slack and smallest <= small + slack)
                found[label]["of"] += 1
                if label == _RECURRENCES[0]:
                    tight.append(beta / max(largest, slack))
        for kind, other in (("C", matrix), ("S_i", toy_equations(size + 1, seed)[0][0])):
            low, high, norm = trace_bounds(other)
            premise = low <= float(np.abs(spectrum(other)).max()) <= high and low <= norm <= high
            _, off = lanczos_run(other, start)
            found["beta"] += [
                [kind, m, float(off[m]), 2 * m * (high - low + norm), premise] for m in range(1, size + 1)
            ]
    return {**found, "tight": float(np.median(tight))}


def trace_bounds(matrix: Floats) -> tuple[float, float, float]:
    """Return LB, UB and the normalised l1 norm of Lemma 3."""
    n = len(matrix)
    mean = np.trace(matrix) / n
    spread = np.sqrt(max(np.trace(matrix @ matrix) / n - mean**2, 0.0))
    norm = float(np.abs(matrix).sum() / n)
    return float(mean + spread / np.sqrt(n - 1)), float(mean + spread * np.sqrt(n - 1)), norm


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Say where the lemmas hold."""
    first = [one for key, one in found.items() if key.startswith("lemma1")]
    spectra = [one for key, one in found.items() if key.startswith("lemma23")]
    trials_1 = []
    for one in first:
        holds = max(one["gap"], one["diagonal"], one["weak"]) <= _ROUNDING and one["gradient"] <= _DIFFERENCES
        told = f"gap {one['gap']:.0e}, gradient off by {one['gradient']:.0e}"
        trials_1.append(Trial(f"D = {one['D']:.0f}", told, holds, not holds))
    trials_2 = [
        Trial(
            f"D = {one['D']}, {label}",
            f"held for {one[label]['held']} of {one[label]['of']} m",
            one[label]["held"] == one[label]["of"],
            one[label]["held"] < one[label]["of"],
        )
        for one in spectra
        for label in _RECURRENCES
    ]
    held, of = ([one[label][what] for one in spectra for label in _RECURRENCES] for what in ("held", "of"))
    tight = ", ".join(f"{one['tight']:.1f} (D = {one['D']})" for one in spectra)
    rows = [
        {"D": one["D"], "matrix": kind, "m": m, "beta": beta, "bound": bound, "premise holds": premise}
        for one in spectra
        for kind, m, beta, bound, premise in one["beta"]
    ]
    return Result(
        "Lemmas 1, 2 and 3",
        rows,
        [_panel(rows)],
        [
            Claim(
                "Lemma 1",
                "the dual of the regularised SDP is d_gamma, its gradient -1 + gamma diag(Pi_+(C)); no gap",
                f"gamma = 100; values at the optimum of Newton's method, to {_ROUNDING:g}; gradients beside "
                "differences; weak duality at random points",
                trials_1,
            ),
            Claim(
                "Lemma 2, Fig. 6",
                "beta bounds the error of every Ritz value and beta |q(m)| the smallest",
                "C at the end of descents; every m; 'the associated true eigenvalue' is the nearest",
                trials_2,
                brief=f"held for {sum(held)} of {sum(of)} m",
                listed=False,
                note=f"in the median beta is so many times the largest error: {tight}",
            ),
            Claim(
                "Lemma 3",
                "beta_(m+1) <= 2m (UB - LB + the normalised l1 norm)",
                "C at the end of descents, and S_i; premise: largest singular value and l1 norm lie between LB and UB",
                _third(rows),
            ),
        ],
        [f"{effort.pick(3, 20)} realisations of D1 at each D."],
        table=[],
    )


def _panel(rows: list[dict[str, Any]]) -> Panel:
    """Draw the largest share of the bound over the realisations."""
    largest: dict[tuple[str, int], float] = {}
    for row in rows:
        place = f"{row['matrix']}, D = {row['D']}", row["m"]
        largest[place] = max(largest.get(place, 0.0), row["beta"] / row["bound"])
    lines: Lines = {}
    for (label, m), share in largest.items():
        added(lines, label, m, share if share > _NEXT_TO_NONE else None)
    words = "largest share of the realisations"
    return Panel("beta over the bound of Lemma 3", "m", words, lines, log_y=True, levels={"the bound": 1.0})


def _third(rows: list[dict[str, Any]]) -> list[Trial]:
    trials = []
    for kind in ("C", "S_i"):
        for premise, words in ((True, "premise holds"), (False, "premise fails")):
            held = [
                row["beta"] <= row["bound"] for row in rows if (row["matrix"], row["premise holds"]) == (kind, premise)
            ]
            if held:
                told = f"holds for {sum(held)} of {len(held)} m"
                trials.append(Trial(f"{kind}, {words}", told, all(held), not all(held)))
    return trials
