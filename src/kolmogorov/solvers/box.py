"""Items' problems over the box [0,1]^D, as in the nonnegative model (NNM), and rows without a constraint (ALS)."""

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver
from kolmogorov.solvers.simplex import Convex, half_gradient


@kernel
def coordinate_descent(gram, moment, x, tol, max_iter):
    """Minimise exactly over one coordinate after another, until the gap g^T x - sum(min(g, 0)) is small."""
    rows, size = x.shape
    g = np.empty(size)
    for row in range(rows):
        q, t = gram[row], x[row]
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
        rounds = 0
        while True:
            # Computed again in every round, so that rounding does not add up.
            half_gradient(q, moment[row], t, g)
            gap = 0.0
            for d in range(size):
                gap += g[d] * t[d] - min(g[d], 0.0)
            if gap <= tol * scale or rounds >= max_iter:
                break
            rounds += 1
            for d in range(size):
                if q[d, d] > 0.0:
                    target = min(max(t[d] - g[d] / q[d, d], 0.0), 1.0)
                else:
                    target = 1.0 if g[d] < 0.0 else 0.0
                move = target - t[d]
                if move != 0.0:
                    t[d] = target
                    for e in range(size):
                        g[e] += move * q[d, e]


@dataclass(frozen=True)
class Coordinate(Convex):
    """Minimise over one coordinate after another, exactly; `max_iter` counts rounds over all of them."""

    family = "box"
    name = "coordinate"
    descent = staticmethod(coordinate_descent)


@kernel
def solve_systems(gram, moment, x):
    """Write the solution of gram x = moment to each row of `x`, by Cholesky; every matrix is definite by its ridge."""
    rows, size = x.shape
    factor = np.empty((size, size))
    for row in range(rows):
        q = gram[row]
        for a in range(size):
            for b in range(a + 1):
                total = q[a, b]
                for k in range(b):
                    total -= factor[a, k] * factor[b, k]
                factor[a, b] = total / factor[b, b] if a > b else np.sqrt(total)
        for a in range(size):
            total = moment[row, a]
            for k in range(a):
                total -= factor[a, k] * x[row, k]
            x[row, a] = total / factor[a, a]
        for a in range(size - 1, -1, -1):
            total = x[row, a]
            for k in range(a + 1, size):
                total -= factor[k, a] * x[row, k]
            x[row, a] = total / factor[a, a]


@dataclass(frozen=True)
class Cholesky(RowSolver):
    """Solve gram x = moment."""

    family = "ridge"
    name = "cholesky"
    cost = 200

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        x = np.empty_like(moment)
        solve_systems(gram, moment, x)
        return x, {}
