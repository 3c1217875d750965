"""Fig. 6: error of the approximate EVD, the bounds of Lemma 2, and the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.kernels.binary.dual import shifted
from kolmogorov.kernels.binary.lanczos import threshold, tridiagonalise
from kolmogorov.kernels.binary.lifting import lift
from kolmogorov.paper.data import toy_problems
from kolmogorov.paper.result import Effort, Panel, Result

_SIZE = 12
_A = 100.0


def run(effort: Effort) -> Result:
    """Run Lanczos with m = 1, 2, ... on C at the end of a descent, D = 12."""
    problem = toy_problems(_SIZE, 1)[0]
    lifted = np.empty((_SIZE + 1, _SIZE + 1))
    lift(problem.gram, problem.moment, lifted)
    matrix = shifted(lifted, solve(problem, solver="enhanced_gd").dual)
    true = np.linalg.eigvalsh(matrix)
    n = _SIZE + 1
    start = np.random.default_rng(0).standard_normal(n)
    start /= np.linalg.norm(start)
    basis, diagonal, off = np.empty((n, n)), np.empty(n), np.empty(n + 1)
    tridiagonalise(matrix, start, 0.0, basis, diagonal, off)
    delta = threshold(matrix, _A)
    names = ("m", "max error", "beta", "min error", "beta |q(m)|", "dominant error", "threshold")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    stop = n
    for m in range(1, n):
        small = np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1)
        values, vectors = np.linalg.eigh(small)
        errors = np.abs(true[None, :] - values[:, None]).min(axis=1)
        beta = float(off[m])
        if beta <= delta:
            stop = min(stop, m)
        best = int(errors.argmin())
        row = (
            m,
            float(errors.max()),
            beta,
            max(float(errors[best]), 1e-17),
            beta * abs(float(vectors[m - 1, best])),
            max(float(abs(true[-1] - values[-1])), 1e-17),
            delta,
        )
        for column, cell in zip(columns.values(), row, strict=True):
            column.append(cell)
    ms = columns["m"]
    lines = {name: (ms, [max(v, 1e-17) for v in columns[name]]) for name in columns if name != "m"}
    held = all(e <= b + 1e-12 for e, b in zip(columns["max error"], columns["beta"], strict=True))
    tight = all(e <= b + 1e-12 for e, b in zip(columns["min error"], columns["beta |q(m)|"], strict=True))
    ending = (
        f"With a = {_A:g} Lanczos stops at m = {stop} of {n} with an error of the largest eigenvalue of "
        f"{columns['dominant error'][stop - 1]:.0e}; the paper stops at m = 5 with one far below 1e-5."
        if stop < n
        else f"With a = {_A:g} the threshold is not reached before m = {n}; the paper stops at m = 5."
    )
    return Result(
        "Fig. 6: error of the approximate EVD and its bounds (D = 12)",
        columns,
        [Panel("Approximate EVD", "m", "error or bound", lines, log_y=True)],
        [
            f"Lemma 2 {'holds' if held and tight else 'fails'} at every m: beta bounds the largest error of a Ritz "
            "value, beta |q(m)| the smallest.",
            ending,
        ],
    )
