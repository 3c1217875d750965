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
def pair_distributions(theta, codes, average, users, items, out):
    """Write to out[k, l] the mass of theta[users[k]] on the events in which items[k] is at level l.

    Parameters
    ----------
    theta : float64[n_users, D]
    codes : uint8[n_items, D]
    average : float64[D, L]
        What stands for an item past the last: by event, the share of each level.
    users, items : int64[n]
    out : float64[n, L]
    """
    size = theta.shape[1]
    for k in range(users.size):
        t = theta[users[k]]
        out[k] = 0.0
        if items[k] < codes.shape[0]:
            for d in range(size):
                out[k, codes[items[k], d]] += t[d]
        else:
            for d in range(size):
                for level in range(out.shape[1]):
                    out[k, level] += t[d] * average[d, level]


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
