"""Inner products theta_u . psi_i at chosen pairs, and what observations differ from them by."""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def pair_products(theta, psi, users, items, out):
    """Write theta[users[k]] . psi[items[k]] to out[k]."""
    size = theta.shape[1]
    for k in range(users.size):
        t = theta[users[k]]
        f = psi[items[k]]
        total = 0.0
        for d in range(size):
            total += t[d] * f[d]
        out[k] = total


@kernel
def residual_squares(indptr, indices, values, weights, theta, psi, first, last, out):
    """Write the (weighted) sum of squared residuals of the rows `first` to `last` to `out`, a place for every row."""
    size = theta.shape[1]
    for row in range(first, last):
        t = theta[row]
        out[row] = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            f = psi[indices[k]]
            total = values[k]
            for d in range(size):
                total -= t[d] * f[d]
            out[row] += total * total * (weights[k] if weights.size else 1.0)
