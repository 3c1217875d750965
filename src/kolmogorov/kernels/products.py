"""Inner products theta_u . psi_i at chosen pairs."""

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
