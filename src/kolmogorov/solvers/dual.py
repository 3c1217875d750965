"""Lemma 1: the dual (12) of the regularised semidefinite relaxation (11), and what its methods have in common.

h(u) = sum(u) + gamma/2 * sum(max(l, 0)^2), where l are the eigenvalues of C(u) = -A - Diag(u). Its gradient is
1 - gamma * diag(V max(l, 0) V^T), and at the minimum X* = gamma * V max(l, 0) V^T has unit diagonal. Algorithm 3 rounds
X* to signs. In code u is `dual`, because u is a user.
"""

from abc import abstractmethod
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver
from kolmogorov.solvers.rounding import best_rounding, lift

PHASES = ("I-A", "I-B", "II-A", "II-B")
# Times that a line search halves its step at most; then rounding is all that is left.
HALVINGS = 60
# Steps beyond this, where squares would overflow, are too long.
FARTHEST = 1e120


#: Where methods write, a row for each problem, by the names of `Solution`; without a trace it has no columns.
Results = namedtuple("Results", "x iterations n_evd n_lanczos converged phases dual trace dual_trace")


@kernel
def shifted(lifted, dual):
    """Return C = -A - Diag(dual)."""
    return -lifted - np.diag(dual)


@kernel
def dual_value(dual, gamma, values):
    """Return h, (14), from the eigenvalues of C."""
    total = np.sum(dual)
    for k in range(values.size):
        if values[k] > 0.0:
            total += 0.5 * gamma * values[k] * values[k]
    return total


@kernel
def dual_gradient(gamma, values, vectors, out):
    """Write the gradient (13), 1 - gamma * diag(V max(l, 0) V^T), to `out`."""
    for i in range(out.size):
        total = 0.0
        for k in range(values.size):
            if values[k] > 0.0:
                total += values[k] * vectors[i, k] * vectors[i, k]
        out[i] = 1.0 - gamma * total


@kernel
def round_dual(lifted, gamma, values, vectors, n_draws, state, stop, x):
    """Round X* = L L^T with L = V+ sqrt(gamma max(l, 0)) by Algorithm 3, and write the point to `x`."""
    n = vectors.shape[0]
    factor = np.empty((n, np.sum(values > 0.0)))
    column = 0
    for k in range(values.size):
        if values[k] > 0.0:
            for i in range(n):
                factor[i, column] = vectors[i, k] * np.sqrt(gamma * values[k])
            column += 1
    best_rounding(lifted, factor, n_draws, state, stop, x)


@kernel
def record(out, row, h):
    """Keep the value and the point of an iteration, where a trace is wanted."""
    k = out.iterations[row]
    if k < out.trace.shape[1]:
        out.trace[row, k] = h
        out.dual_trace[row, k] = out.dual[row]


@kernel
def certify_duals(gram, moment, gamma, duals, bounds, norms):
    """Write a lower bound of every row's value, and the norm of its dual's gradient, from a full EVD at its dual point.

    Over signs s^T A s >= -sum(dual) - n * l_max(C), at any dual point.
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
    """A method that minimises h, and then rounds.

    It starts from u_0, all of whose entries are `initial_dual`, or where `start` has a column more than there are
    variables from that dual point, which is written over by the one reached; NaN stands for u_0. Where `warm`, sweeps
    of a fit go on from the dual points of the last sweep, which are nearly right: the paper starts anew every time.
    """

    gamma: float = 100.0
    n_draws: int = 100
    tol: float = 1e-4
    max_iter: int = 1_000
    warm: bool = True

    initial_dual = 0.0
    trace = False
    # The methods make some hundred eigendecompositions; above this size each takes a good part of a second.
    max_variables = 1_000

    @abstractmethod
    def _minimise(self, gram: Floats, moment: Floats, seeds: Seeds, out: Results) -> None:
        """Minimise h for every row from the dual points in `out`, and write what is found there."""

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        n, size = moment.shape
        length = self.max_iter + 1 if self.trace else 0
        iterations, n_evd, n_lanczos, converged = np.zeros((4, n), dtype=np.int64)
        phases = np.zeros((n, 4), dtype=np.int64)
        dual = start if start.shape[1] > size else np.full((n, size + 1), np.nan)
        dual[np.isnan(dual)] = self.initial_dual
        traces = np.empty((n, length)), np.empty((n, length, size + 1))
        out = Results(np.zeros((n, size)), iterations, n_evd, n_lanczos, converged, phases, dual, *traces)
        self._minimise(gram, moment, seeds, out)
        known = out._asdict()
        known["phases"] = [dict(zip(PHASES, row.tolist(), strict=True)) if row.any() else None for row in phases]
        for name in ("trace", "dual_trace"):
            kept = zip(known[name], iterations, strict=True)
            known[name] = [path[: ended + 1] if self.trace else None for path, ended in kept]
        return known.pop("x"), known

    def _judged(self, gram: Floats, moment: Floats, known: Known) -> Known:
        bounds, norms = np.empty((2, len(moment)))
        certify_duals(gram, moment, self.gamma, known["dual"], bounds, norms)
        return known | {"lower_bound": bounds, "gradient_norm": norms}
