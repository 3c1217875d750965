"""Spectra of the matrices C that descents end with, and how near Ritz values come to them."""

from __future__ import annotations

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.kernels.binary.dual import shifted
from kolmogorov.kernels.binary.lanczos import tridiagonalise
from kolmogorov.kernels.binary.lifting import lift
from kolmogorov.paper.data import NEAREST, Floats, toy_problems

#: What `errors_at` returns.
COLUMNS = ("max error", "beta", "min error", "beta |q(m)|", "error, largest modulus", "error, algebraically largest")


def final_matrix(size: int, seed: int) -> tuple[Floats, Floats]:
    """Return C at the end of a descent on a BQP of a realisation of D1, and a unit vector to begin Lanczos with."""
    problem = toy_problems(size, 1, seed)[0]
    lifted = np.empty((size + 1, size + 1))
    lift(problem.gram, problem.moment, lifted)
    start = np.random.default_rng(seed).standard_normal(size + 1)
    return shifted(lifted, solve(problem, solver="enhanced_gd", **NEAREST).dual), start / np.linalg.norm(start)


def spectrum(matrix: Floats) -> Floats:
    """Return the eigenvalues of a symmetric matrix, ascending."""
    return np.linalg.eigvalsh(matrix).astype(np.float64)


def lanczos_run(matrix: Floats, start: Floats, *, reorthogonalised: bool = True) -> tuple[Floats, Floats]:
    """Return alpha_1, ... and beta_1, ... of a Lanczos run to its end."""
    n = len(matrix)
    basis, diagonal, off = np.empty((n, n)), np.zeros(n), np.zeros(n + 1)
    tridiagonalise(matrix, start, 0.0, reorthogonalised, basis, diagonal, off)
    return diagonal, off


def errors_at(true: Floats, diagonal: Floats, off: Floats, m: int) -> tuple[float, ...]:
    """Return `COLUMNS` after m steps: distances of Ritz values from eigenvalues, and Lemma 2's bounds of them."""
    values, vectors = np.linalg.eigh(np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1))
    distances = np.abs(true[None, :] - values[:, None]).min(axis=1)
    best = int(distances.argmin())
    small = off[m] * abs(vectors[m - 1, best])
    modulus = abs(np.abs(true).max() - np.abs(values).max())
    return tuple(map(float, (distances.max(), off[m], distances[best], small, modulus, abs(true[-1] - values[-1]))))
