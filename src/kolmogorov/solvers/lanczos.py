"""The paper's Algorithm 5: Lanczos tridiagonalisation that stops when beta falls below a threshold delta."""

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def threshold(matrix, a):
    """Return delta, (20): ((UB - LB) + normalised l1 norm) / (a D ln D), for a (D+1) x (D+1) matrix.

    UB and LB bound the largest *eigenvalue* from the two traces (Wolkowicz and Styan 1980). Lemma 3 takes
    them for bounds on the largest singular value, which they are only while no negative eigenvalue
    dominates; delta is a heuristic either way.
    """
    n = matrix.shape[0]
    size = n - 1
    if size < 2:
        return 0.0
    trace = squares = absolute = 0.0
    for i in range(n):
        trace += matrix[i, i]
        for j in range(n):
            squares += matrix[i, j] * matrix[i, j]
            absolute += abs(matrix[i, j])
    mean = trace / n
    spread = max(squares / n - mean * mean, 0.0)
    gap = np.sqrt(spread * size) - np.sqrt(spread / size)
    return (gap + absolute / n) / (a * size * np.log(size))


@kernel
def tridiagonalise(matrix, start, delta, reorthogonalised, basis, diagonal, off):
    """Build an orthonormal Krylov basis until beta_{m+1} <= delta (Algorithm 5); return m and beta_{m+1}.

    With `reorthogonalised` every new vector is orthogonalised twice against all earlier ones. Without, it is the
    recurrence of three terms that the paper prints, which loses orthogonality, and with it Lemma 2 on its error.
    Row j of `basis` becomes p_{j+1}; `diagonal` becomes alpha_1, ..., alpha_m, `off` beta_1 = 0, ..., beta_{m+1}.
    """
    n = start.size
    for i in range(n):
        basis[0, i] = start[i]
    off[0] = 0.0
    for j in range(n):
        p = basis[j]
        w = np.dot(matrix, p)
        if reorthogonalised:
            diagonal[j] = np.dot(w, p)
            known = basis[: j + 1]
            for _ in range(2):
                w -= np.dot(np.dot(known, w), known)
        else:
            if j > 0:
                w -= off[j] * basis[j - 1]
            diagonal[j] = np.dot(w, p)
            w -= diagonal[j] * p
        beta = np.sqrt(np.dot(w, w))
        off[j + 1] = beta
        if j + 1 == n or beta <= delta or beta == 0.0:
            return j + 1, beta
        basis[j + 1] = w / beta
    return n, 0.0


@kernel
def ritz_pairs(matrix, a, reorthogonalised, start):
    """Return Ritz values and Ritz vectors (as columns), (15), of a symmetric matrix; `a` sets the threshold."""
    n = matrix.shape[0]
    basis, diagonal, off = np.empty((n, n)), np.empty(n), np.empty(n + 1)
    m, _ = tridiagonalise(matrix, start, threshold(matrix, a), reorthogonalised, basis, diagonal, off)
    small = np.zeros((m, m))
    for j in range(m):
        small[j, j] = diagonal[j]
        if j + 1 < m:
            small[j, j + 1] = off[j + 1]
            small[j + 1, j] = off[j + 1]
    values, vectors = np.linalg.eigh(small)
    return values, np.dot(np.ascontiguousarray(basis[:m].T), np.ascontiguousarray(vectors))
