"""Lemmas 1, 2 and 3 of the paper, computed on problems of D1 with nothing but NumPy beside the solver."""

from typing import Any

import numpy as np

from kolmogorov.solvers import bqp
from reproduce.common import NEAREST, Row, Tables, first_problems, lifted, toy_problems

GAMMA = 100.0
#: What `ritz_errors` returns.
COLUMNS = ("max error", "beta", "min error", "beta |q(m)|", "error, largest modulus", "error, algebraically largest")


def final_matrix(size: int, seed: int) -> tuple[Any, Any]:
    """Return C at the end of a descent on a BQP of a realisation of D1, and a unit vector to begin Lanczos with."""
    gram, moment = (array[0] for array in toy_problems(size, seed))
    dual: Any = bqp.solve(gram, moment, solver="enhanced_gd", **NEAREST).dual
    start = np.random.default_rng(seed).standard_normal(size + 1)
    return -lifted(gram, moment) - np.diag(dual), start / np.linalg.norm(start)


def lanczos_run(matrix: Any, start: Any, *, reorthogonalised: bool = True) -> tuple[Any, Any]:
    """Return alpha_1, ... and beta_1 = 0, beta_2, ... of Algorithm 5 run to its end."""
    n = len(matrix)
    basis, diagonal, off = np.zeros((n + 1, n)), np.zeros(n), np.zeros(n + 1)
    basis[0] = start
    for j in range(n):
        w = matrix @ basis[j] - (0.0 if reorthogonalised else off[j] * basis[j - 1])
        diagonal[j] = w @ basis[j]
        known = basis[: j + 1] if reorthogonalised else basis[j : j + 1]
        for _ in range(2 if reorthogonalised else 1):
            w = w - known.T @ (known @ w)
        off[j + 1] = np.linalg.norm(w)
        if off[j + 1] == 0.0:
            break
        basis[j + 1] = w / off[j + 1]
    return diagonal, off


def ritz_errors(true: Any, diagonal: Any, off: Any, m: int) -> list[float]:
    """Return `COLUMNS` after m steps: distances of Ritz values from eigenvalues, and Lemma 2's bounds of them."""
    values, vectors = np.linalg.eigh(np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1))
    distances = np.abs(true[None, :] - values[:, None]).min(axis=1)
    best = int(distances.argmin())
    modulus = abs(np.abs(true).max() - np.abs(values).max())
    bound = off[m] * abs(vectors[m - 1, best])
    return [distances.max(), off[m], distances[best], bound, modulus, abs(true[-1] - values[-1])]


def trace_bounds(matrix: Any) -> tuple[float, float, float]:
    """Return LB, UB and the normalised l1 norm of Lemma 3."""
    n, centre = len(matrix), np.trace(matrix) / len(matrix)
    spread = np.sqrt(max(np.trace(matrix @ matrix) / n - centre**2, 0.0))
    return centre + spread / np.sqrt(n - 1), centre + spread * np.sqrt(n - 1), np.abs(matrix).sum() / n


def h(a: Any, dual: Any) -> tuple[float, Any, Any]:
    """Return h at a dual point, its gradient, and gamma times the positive part of C."""
    values, vectors = np.linalg.eigh(-a - np.diag(dual))
    positive = np.maximum(values, 0.0)
    matrix = GAMMA * (vectors * positive) @ vectors.T
    return float(dual.sum() + GAMMA / 2 * positive @ positive), 1.0 - np.diag(matrix), matrix


def duality(size: int, realisations: int) -> Row:
    """Return for Lemma 1 the largest gap, and how far gradients are from differences and weak duality from failing."""

    def primal(a: Any, matrix: Any) -> float:
        return float((a * matrix).sum() + (matrix**2).sum() / (2 * GAMMA))

    gaps, apart, slack, rng = [], [], [], np.random.default_rng(0)
    for gram, moment in zip(*first_problems(size, realisations), strict=True):
        a = lifted(gram, moment)
        dual: Any = bqp.solve(gram, moment, solver="newton", gamma=GAMMA, tol=1e-10).dual
        value, _, matrix = h(a, dual)
        gaps.append(abs(primal(a, matrix) + value) / (1 + abs(value)))
        point, factor = dual + rng.normal(size=size + 1), rng.normal(size=(size + 1, 3))
        factor /= np.linalg.norm(factor, axis=1, keepdims=True)
        below, gradient, _ = h(a, point)
        slack.append(primal(a, factor @ factor.T) + below)
        ends = [[h(a, point + sign * 1e-6 * unit)[0] for sign in (1, -1)] for unit in np.eye(size + 1)]
        numeric = [(high - low) / 2e-6 for high, low in ends]
        apart.append(np.abs(gradient - numeric).max() / (1 + np.abs(gradient).max()))
    row = {"D": size, "largest gap": max(gaps), "gradient off by": float(max(apart))}
    return row | {"least slack of weak duality": min(slack), "realisations": realisations}


def spectra(size: int, realisations: int) -> tuple[list[Row], list[Row]]:
    """Count for every m whether Lemma 2 holds, by both recurrences, and Lemma 3 for C and for S_i."""
    kinds = ("reorthogonalised", "printed")
    second: dict[str, Row] = {
        name: {"D": size, "recurrence": name, "held": 0, "held by rank": 0, "of m": 0} for name in kinds
    }
    third: dict[tuple[str, bool], list[float]] = {}
    tight: dict[str, list[float]] = {name: [] for name in second}
    for seed in range(realisations):
        matrix, start = final_matrix(size, seed)
        true = np.linalg.eigvalsh(matrix)
        slack = 1e-8 * float(np.abs(true).max())
        for name, row in second.items():
            diagonal, off = lanczos_run(matrix, start, reorthogonalised=name == "reorthogonalised")
            for m in range(1, size + 1):
                largest, beta, smallest, bound, *_ = ritz_errors(true, diagonal, off, m)
                row["held"] += int(largest <= beta + slack and smallest <= bound + slack)
                small = np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1)
                row["held by rank"] += int(
                    np.abs(true[::-1][:m] - np.linalg.eigvalsh(small)[::-1]).max() <= beta + slack
                )
                row["of m"] += 1
                tight[name].append(beta / max(largest, slack))
        for kind, other in (("C", matrix), ("S_i", toy_problems(size + 1, seed)[0][0])):
            low, high, norm = trace_bounds(other)
            premise = low <= np.abs(np.linalg.eigvalsh(other)).max() <= high and low <= norm <= high
            _, off = lanczos_run(other, start)
            shares = [off[m] / (2 * m * (high - low + norm)) for m in range(1, size + 1)]
            third.setdefault((kind, bool(premise)), []).extend(shares)
    for name, row in second.items():
        row["median of beta over the largest error"] = float(np.median(tight[name]))
    rows: list[Row] = []
    for (kind, premise), shares in third.items():
        row = {"D": size, "matrix": kind, "premise holds": premise, "held": int(np.sum(np.array(shares) <= 1))}
        rows.append(row | {"of m": len(shares), "largest beta over the bound": max(shares)})
    return list(second.values()), rows


def run(quick: bool = False) -> Tables:
    """Check the lemmas by D."""
    n = 2 if quick else 20
    found = [spectra(size, n) for size in ((12,) if quick else (12, 50, 100))]
    tables: Tables = {"lemma_1": [duality(size, n) for size in ((4,) if quick else (4, 8, 16))]}
    return tables | {
        "lemma_2": [r for rows, _ in found for r in rows],
        "lemma_3": [r for _, rows in found for r in rows],
    }
