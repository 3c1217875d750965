"""Draws of rows that are free: normal, given their answers and a normal prior with one precision matrix for all."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.draws.gibbs import normal
from kolmogorov.solvers.gram import normal_equations

#: The least share of a diagonal entry that elimination leaves of it: less is rounding, and may be below 0.
_LEAST_LEFT = 2.0**-52


@kernel
def factorise(Q):
    """Overwrite the lower half of a positive definite matrix by its Cholesky factor."""
    size = len(Q)
    for d in range(size):
        least = _LEAST_LEFT * Q[d, d]
        for e in range(d + 1):
            total = Q[d, e]
            for f in range(e):
                total -= Q[d, f] * Q[e, f]
            if d == e:
                Q[d, d] = np.sqrt(max(total, least))
            else:
                Q[d, e] = total / Q[e, e]


@kernel
def draw_normals(indptr, indices, values, weights, precision, factors, centre, pull, seeds, first, last, out):
    """Draw rows from normal distributions: answers with noise of one `precision`, a prior around `centre`."""
    size = factors.shape[1]
    gram, moment, nothing = np.empty((1, size, size)), np.empty((1, size)), np.zeros(size)
    for row in range(first, last):
        normal_equations(indptr, indices, values, weights, factors, row, row + 1, 0.0, nothing, gram, moment)
        Q, w, x, state = gram[0], moment[0], out[row], seeds[row - first]
        for d in range(size):
            w[d] *= precision
            for e in range(size):
                w[d] += pull[d, e] * centre[row, e]
                Q[d, e] = precision * Q[d, e] + pull[d, e]
        factorise(Q)
        # With Q = L L^T: solve L y = w, add standard normals, solve L^T x = y.
        for d in range(size):
            total = w[d]
            for e in range(d):
                total -= Q[d, e] * w[e]
            w[d] = total / Q[d, d]
        for d in range(size):
            state, z = normal(state)
            w[d] += z
        for d in range(size - 1, -1, -1):
            total = w[d]
            for e in range(d + 1, size):
                total -= Q[e, d] * x[e]
            x[d] = total / Q[d, d]


@kernel
def leave_first(indptr, indices, values, factors, first, last, out):
    """Write what the first factor of each partner leaves of the answers of rows `first` to `last`."""
    for k in range(indptr[first], indptr[last]):
        out[k] = values[k] - factors[indices[k], 0]
