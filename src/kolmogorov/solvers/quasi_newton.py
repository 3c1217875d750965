"""BFGS by SciPy on the dual of the semidefinite relaxation, which the paper compares its descent with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Batch, BinarySolver
from kolmogorov.solvers.dual import MAX_VARIABLES, NEWTON_RULES, batch_of, room_for
from kolmogorov.solvers.dual_kernels import (
    CONVERGED,
    FARTHEST,
    FULL_EVDS,
    ITERATIONS,
    Results,
    dual_gradient,
    dual_value,
    projection_factor,
    shifted,
)
from kolmogorov.solvers.lifting import best_rounding, lift
from kolmogorov.solvers.stopping import go_on, stop_cell


@dataclass(frozen=True)
class QuasiNewton(BinarySolver):
    """BFGS on h_gamma, then Gaussian rounding.

    Parameters
    ----------
    gamma, n_draws, max_iter, trace
        As in `gd`.
    tol : float
        Norm of the gradient at which to stop.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import BinaryQP
    >>> QuasiNewton().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    gamma: float = 100.0
    n_draws: int = 100
    tol: float = 1e-3
    max_iter: int = 1_000
    trace: bool = False

    name = "quasi_newton"
    max_variables = MAX_VARIABLES
    requirements: ClassVar = NEWTON_RULES

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        results = room_for(self, moment)
        for row in range(len(moment)):
            self._solve_row(gram[row], moment[row], seeds[row], row, results)
        return batch_of(results, gram, moment, self.gamma)

    def _solve_row(self, gram: Floats, moment: Floats, seed: np.uint64, row: int, out: Results) -> None:
        from scipy.optimize import minimize

        size = moment.size + 1
        lifted = np.empty((size, size))
        lift(gram, moment, lifted)
        gamma = float(self.gamma)
        counts = out.counts[row]
        gradient = np.empty(size)

        def both(dual: Floats) -> tuple[float, Floats]:
            go_on()
            if not np.abs(dual).max() <= FARTHEST:
                return np.inf, np.zeros(size)
            values, vectors = np.linalg.eigh(shifted(lifted, dual))
            counts[FULL_EVDS] += 1
            dual_gradient(gamma, values, vectors, gradient)
            return dual_value(dual, gamma, values), gradient.copy()

        visited = [np.ones(size)]
        # A step that overflows is one the line search takes back.
        with np.errstate(all="ignore"):
            result = minimize(
                both,
                np.ones(size),
                jac=True,
                method="BFGS",
                callback=lambda dual: visited.append(dual.copy()),
                options={"gtol": self.tol, "norm": 2, "maxiter": int(self.max_iter)},
            )
        dual = out.duals[row]
        dual[:] = result.x if np.abs(result.x).max() <= FARTHEST else 1.0
        counts[ITERATIONS] = result.nit
        # The largest entry is looked at first, because the norm of very large ones overflows.
        counts[CONVERGED] = np.abs(result.jac).max() <= self.tol and np.linalg.norm(result.jac) <= self.tol
        values, vectors = np.linalg.eigh(shifted(lifted, dual))
        counts[FULL_EVDS] += 1
        factor = projection_factor(gamma, values, vectors)
        best_rounding(lifted, factor, int(self.n_draws), seed, stop_cell(), out.x[row])
        if self.trace:
            path = np.array(visited[: result.nit + 1])
            out.points[row, : len(path)] = path
            for k, point in enumerate(path):
                spectrum = np.linalg.eigvalsh(shifted(lifted, point))
                out.trace[row, k] = dual_value(point, gamma, spectrum)
