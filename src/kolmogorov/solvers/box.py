"""Items' problems over the box [0,1]^D, as in the nonnegative model (NNM), and rows without a constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Batch, Certified, RowSolver
from kolmogorov.solvers.rows import batch_values
from kolmogorov.solvers.simplex import half_gradient
from kolmogorov.solvers.stopping import stopped


@kernel
def coordinate_descent(gram, moment, x, tol, max_iter, stop, gaps, iterations):
    """Minimise exactly over one coordinate after another; arguments as in `frank_wolfe`.

    The gap g^T x - sum(min(g, 0)) is that of Frank and Wolfe. An iteration is a round over all coordinates.
    """
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
            if gap <= tol * scale or rounds >= max_iter or stopped(stop):
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
        gaps[row] = max(gap, 0.0)
        iterations[row] = rounds


@dataclass(frozen=True)
class Coordinate(Certified):
    """Minimise over one coordinate after another, exactly, to a certified gap.

    Parameters
    ----------
    tol : float
        Gap at which to stop, relative to the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on rounds over all coordinates.

    Examples
    --------
    >>> from kolmogorov import bqp, problems
    >>> bqp.solve(problems.BoxQP([[1.0, 0.0], [0.0, 1.0]], [0.25, 3.0])).x.tolist()
    [0.25, 1.0]
    """

    family = "box"
    name = "coordinate"
    exact = True
    descent = staticmethod(coordinate_descent)


@kernel
def solve_systems(gram, moment, x):
    """Write the solution of gram x = moment to each row of `x`, by Cholesky.

    A singular matrix gets a ridge of 1e-10 of its trace, which picks a solution of nearly smallest norm. With a trace
    below 0 there is no minimum: the row becomes NaN.
    """
    rows, size = x.shape
    factor = np.empty((size, size))
    for row in range(rows):
        q = gram[row]
        trace = 0.0
        for d in range(size):
            trace += q[d, d]
        ridge = 0.0
        done = False
        while not done:
            done = True
            for a in range(size):
                for b in range(a + 1):
                    total = q[a, b]
                    if a == b:
                        total += ridge
                    for k in range(b):
                        total -= factor[a, k] * factor[b, k]
                    if a > b:
                        factor[a, b] = total / factor[b, b]
                    elif total <= 1e-13 * trace:
                        done = False
                        break
                    else:
                        factor[a, a] = np.sqrt(total)
                if not done:
                    break
            if not done:
                if not trace > 0.0:
                    x[row] = 0.0 if trace == 0.0 else np.nan
                    break
                ridge = 1e-10 * trace if ridge == 0.0 else 10.0 * ridge
        if not done:
            continue
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
    """Solve gram x = moment.

    Examples
    --------
    >>> from kolmogorov import bqp, problems
    >>> bqp.solve(problems.RidgeQP([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])).x.round(12).tolist()
    [0.5, 0.25]
    """

    family = "ridge"
    name = "cholesky"
    cost = 200
    exact = True

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        solve_systems(gram, moment, x)

        def more() -> dict[str, Any]:
            batch_values(gram, moment, x, values := np.empty(len(x)))
            return {"lower_bound": values, "proved": np.ones(len(x), dtype=bool)}

        return Batch(x, more)
