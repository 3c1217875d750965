"""Lemma 1: the dual of the regularised semidefinite relaxation, and what the methods that minimise it have in common.

h(u) = sum(u) + gamma/2 * sum(max(l, 0)^2), where l are the eigenvalues of C(u) = -A - Diag(u). Its gradient is
1 - gamma * diag(V max(l, 0) V^T), and at the minimum X* = gamma * V max(l, 0) V^T has unit diagonal. Algorithm 3 rounds
X* to signs. In code u is `dual`, because u is a user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats
from kolmogorov.errors import ParameterError
from kolmogorov.solvers.contract import Batch, RowSolver
from kolmogorov.solvers.rounding import lift

# Columns of the array `counts` that the methods fill in.
ITERATIONS, FULL_EVDS, LANCZOS_EVDS, CONVERGED = 0, 1, 2, 3
PHASES = ("I-A", "I-B", "II-A", "II-B")
# Times that a line search halves its step at most; then rounding is all that is left.
HALVINGS = 60
# Steps beyond this, where squares would overflow, are too long.
FARTHEST = 1e120
# Numbers kept for the traces of a batch: 800 MB.
_LONGEST_TRACE = 100_000_000


class Results(NamedTuple):
    """Where the methods write, a row of every array for each problem; `trace` and `points` may have no columns."""

    x: Any
    counts: Any
    phases: Any
    duals: Any
    trace: Any
    points: Any


@kernel
def shifted(lifted, dual):
    """Return C = -A - Diag(dual)."""
    c = -lifted
    for i in range(dual.size):
        c[i, i] -= dual[i]
    return c


@kernel
def dual_value(dual, gamma, values):
    """Return h from the eigenvalues of C."""
    total = np.sum(dual)
    for k in range(values.size):
        if values[k] > 0.0:
            total += 0.5 * gamma * values[k] * values[k]
    return total


@kernel
def dual_gradient(gamma, values, vectors, out):
    """Write 1 - gamma * diag(V max(l, 0) V^T) to `out`."""
    for i in range(out.size):
        total = 0.0
        for k in range(values.size):
            if values[k] > 0.0:
                total += values[k] * vectors[i, k] * vectors[i, k]
        out[i] = 1.0 - gamma * total


@kernel
def projection_factor(gamma, values, vectors):
    """Return L = V+ sqrt(gamma max(l, 0)), so that X* = L L^T."""
    rank = 0
    for k in range(values.size):
        if values[k] > 0.0:
            rank += 1
    n = vectors.shape[0]
    factor = np.empty((n, rank))
    column = 0
    for k in range(values.size):
        if values[k] > 0.0:
            for i in range(n):
                factor[i, column] = vectors[i, k] * np.sqrt(gamma * values[k])
            column += 1
    return factor


@kernel
def record(trace, points, iteration, h, dual):
    """Keep the value and the point of an iteration, where a trace is wanted."""
    if trace.size > 0:
        trace[iteration] = h
        for i in range(dual.size):
            points[iteration, i] = dual[i]


@kernel
def certify_duals(gram, moment, gamma, duals, bounds, norms):
    """Write a lower bound of every row's value, and the norm of its dual's gradient, from a full EVD at its dual point.

    Over signs s^T A s >= -sum(dual) - n * l_max(C), at any dual point. These say how good a result is. They are no part
    of a method, so that they are neither counted nor timed.
    """
    n = moment.shape[1] + 1
    lifted = np.empty((n, n))
    gradient = np.empty(n)
    for row in range(moment.shape[0]):
        dual = duals[row]
        constant = lift(gram[row], moment[row], lifted)
        values, vectors = np.linalg.eigh(shifted(lifted, dual))
        # What rounding may add to the sum and to the eigenvalue.
        size = np.sum(np.abs(dual)) + n * max(abs(values[0]), abs(values[n - 1]))
        bound = -np.sum(dual) - n * values[n - 1] - 8.0 * n * 2.0**-52 * size
        bounds[row] = bound + constant - 8.0 * 2.0**-52 * (abs(bound) + abs(constant))
        dual_gradient(gamma, values, vectors, gradient)
        norms[row] = np.sqrt(np.sum(gradient * gradient))


@dataclass(frozen=True)
class DualSolver(RowSolver):
    """A method that minimises h, and then rounds."""

    gamma: float = 100.0
    n_draws: int = 100
    tol: float = 1e-4
    max_iter: int = 1_000
    trace: bool = False

    # The methods make some hundred eigendecompositions; above this size each takes a good part of a second.
    max_variables = 1_000

    def _room(self, moment: Floats) -> Results:
        """Make room for the results of the problems with these moments, and for traces where they are kept."""
        n, size = moment.shape
        length = self.max_iter + 1 if self.trace else 0
        if n * length * (size + 1) > _LONGEST_TRACE:
            raise ParameterError(
                f"A trace of up to {length:,} points of {size + 1} numbers does not fit; at most "
                f"{_LONGEST_TRACE:,} numbers are kept. Lower 'max_iter', or set trace=False."
            )
        return Results(
            x=np.zeros((n, size)),
            counts=np.zeros((n, 4), dtype=np.int64),
            phases=np.zeros((n, 4), dtype=np.int64),
            duals=np.empty((n, size + 1)),
            trace=np.empty((n, length)),
            points=np.empty((n, length, size + 1)),
        )

    def _told(self, results: Results, gram: Floats, moment: Floats, longest: float = np.inf) -> Batch:
        """Put results into the form of the contract; a row whose gradient is above `longest` did not converge."""

        def more() -> dict[str, Any]:
            bounds, norms, counts = np.empty(len(moment)), np.empty(len(moment)), results.counts
            certify_duals(gram, moment, self.gamma, results.duals, bounds, norms)
            known = {"lower_bound": bounds, "gradient_norm": norms, "iterations": counts[:, ITERATIONS]}
            known |= {"converged": (counts[:, CONVERGED] == 1) & ~(norms > longest), "dual": results.duals}
            known |= {"n_evd": counts[:, FULL_EVDS], "n_lanczos": counts[:, LANCZOS_EVDS]}
            if self.trace:
                lengths = counts[:, ITERATIONS] + 1
                known["trace"] = [h[:n] for h, n in zip(results.trace, lengths, strict=True)]
                known["dual_trace"] = [points[:n] for points, n in zip(results.points, lengths, strict=True)]
            if self.name == "enhanced_gd":
                known["phases"] = [dict(zip(PHASES, row.tolist(), strict=True)) for row in results.phases]
            return known

        return Batch(results.x, more)
