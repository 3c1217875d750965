"""Fig. 6: error of the approximate EVD, the bounds of Lemma 2, and the threshold."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.kernels.binary.dual import shifted
from kolmogorov.kernels.binary.lanczos import threshold, tridiagonalise
from kolmogorov.kernels.binary.lifting import lift
from kolmogorov.paper.data import NEAREST, toy_problems
from kolmogorov.paper.result import Claim, Effort, Panel, Part, Result, one_of, verdict

_SIZE = 12
_AS = (1.0, 10.0, 100.0)
_COLUMNS = ("max error", "beta", "min error", "beta |q(m)|", "error, largest modulus", "error, algebraically largest")
_SMALLEST = 1e-17


def parts(effort: Effort) -> list[Part]:
    """Run Lanczos with m = 1, 2, ... on C at the end of descents, D = 12."""
    return [Part(f"fig6-{(n := effort.pick(5, 100))}", partial(_measured, n))]


def _measured(realisations: int) -> dict[str, Any]:
    runs = [_run(seed) for seed in range(realisations)]
    table = np.array([run["errors"] for run in runs])
    return {
        "mean": np.exp(np.log(table).mean(axis=0)).tolist(),
        "low": np.quantile(table, 0.1, axis=0).tolist(),
        "high": np.quantile(table, 0.9, axis=0).tolist(),
        "negative": float(np.mean([run["negative"] for run in runs])),
        "lemma": bool(all(run["lemma"] for run in runs)),
        "stops": {f"{a:g}": [run["stops"][k] for run in runs] for k, a in enumerate(_AS)},
        "at stop": [run["errors"][run["stops"][0] - 1] for run in runs],
    }


def _run(seed: int) -> dict[str, Any]:
    """Compare Ritz values with eigenvalues for every m, on the C of one realisation."""
    problem = toy_problems(_SIZE, 1, seed)[0]
    n = _SIZE + 1
    lifted = np.empty((n, n))
    lift(problem.gram, problem.moment, lifted)
    matrix = shifted(lifted, solve(problem, solver="enhanced_gd", **NEAREST).dual)
    true = np.linalg.eigvalsh(matrix)
    start = np.random.default_rng(seed).standard_normal(n)
    start /= np.linalg.norm(start)
    basis, diagonal, off = np.empty((n, n)), np.empty(n), np.empty(n + 1)
    tridiagonalise(matrix, start, 0.0, True, basis, diagonal, off)
    errors, held = [], True
    for m in range(1, n):
        values, vectors = np.linalg.eigh(np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1))
        distances = np.abs(true[None, :] - values[:, None]).min(axis=1)
        best = int(distances.argmin())
        small = float(off[m]) * abs(float(vectors[m - 1, best]))
        modulus = abs(np.abs(true).max() - np.abs(values).max())
        row = (distances.max(), off[m], distances[best], small, modulus, abs(true[-1] - values[-1]))
        held = held and distances.max() <= off[m] + 1e-12 and distances[best] <= small + 1e-12
        errors.append([max(float(value), _SMALLEST) for value in row])
    stops = [next((m for m in range(1, n) if off[m] <= threshold(matrix, a)), n) for a in _AS]
    return {
        "errors": [*errors, [_SMALLEST] * len(_COLUMNS)],
        "lemma": held,
        "stops": stops,
        "negative": bool(-true[0] > true[-1]),
    }


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Draw errors and bounds by m, and say where the threshold stops."""
    (measured,) = found.values()
    ms = list(range(1, _SIZE + 1))
    mean, low, high = (np.array(measured[name])[: len(ms)] for name in ("mean", "low", "high"))
    lines: dict[str, Any] = {name: (ms, mean[:, k].tolist()) for k, name in enumerate(_COLUMNS)}
    bands = {name: (low[:, k].tolist(), high[:, k].tolist()) for k, name in enumerate(_COLUMNS[4:], start=4)}
    rows = [{"m": m, **{name: mean[m - 1, k] for k, name in enumerate(_COLUMNS)}} for m in ms]
    at = np.array(measured["at stop"])
    stops = {a: np.array(ends) for a, ends in measured["stops"].items()}
    modulus, largest = np.median(at[:, 4]), np.median(at[:, 5])
    below = float((at[:, 4] < 1e-5).mean())
    return Result(
        "Fig. 6: error of the approximate EVD and its bounds (D1, D = 12)",
        rows,
        [Panel("Approximate EVD", "m", "error or bound", lines, log_y=True, bands=bands)],
        [
            Claim(
                "Lemma 2, Fig. 6",
                "beta bounds the largest error of a Ritz value and beta |q(m)| the smallest",
                f"{'held' if measured['lemma'] else 'failed'} in all {len(at)} realisations at every m",
                verdict(measured["lemma"], not measured["lemma"]),
            ),
            Claim(
                "Fig. 6",
                "the threshold stops Lanczos at m = 5",
                f"of {_SIZE + 1}: "
                + "; ".join(
                    f"a = {a}: {ends.min()}-{ends.max()}, median {np.median(ends):.0f}" for a, ends in stops.items()
                ),
                verdict(int(stops["1"].min()) <= 5 <= int(stops["1"].max())),
            ),
            Claim(
                "Fig. 6",
                "where it stops the error of the dominant eigenvalue is 'far below 1e-5'",
                f"largest modulus: median {modulus:.0e}, below 1e-5 in {100 * below:.0f}% of the runs; algebraically "
                f"largest, which the gradient needs: median {largest:.0e}",
                verdict(below > 0.5),
            ),
        ],
        [
            f"C at the end of a descent on one BQP of each of {len(at)} realisations of D1; lines are geometric means, "
            f"bands the 10% and 90% quantiles; the stops are for a = {one_of(stops)}, the errors where it stops for a "
            "= 1.",
            f"In {100 * measured['negative']:.0f}% of the runs the eigenvalue of largest modulus is negative; h and "
            "its gradient are made of the positive ones.",
        ],
    )
