"""BFGS by SciPy on the dual of Lemma 1: the quasi-Newton method that the paper compares its descent with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.dual import (
    FARTHEST,
    DualSolver,
    Results,
    dual_gradient,
    dual_value,
    projection_factor,
    shifted,
)
from kolmogorov.solvers.rounding import best_rounding, lift
from kolmogorov.solvers.stopping import go_on, stop_cell


@dataclass(frozen=True)
class QuasiNewton(DualSolver):
    """BFGS on h_gamma, then Gaussian rounding.

    Parameters
    ----------
    gamma, n_draws, max_iter, trace
        As in `gd`.
    tol : float
        Norm of the gradient at which to stop.
    """

    tol: float = 1e-3

    name = "quasi_newton"

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        results = self._room(moment)
        for row in range(len(moment)):
            self._solve_row(gram[row], moment[row], seeds[row], row, results)
        return self._told(results, gram, moment)

    def _solve_row(self, gram: Floats, moment: Floats, seed: np.uint64, row: int, out: Results) -> None:
        from scipy.optimize import minimize

        size = moment.size + 1
        lift(gram, moment, lifted := np.empty((size, size)))
        gamma, dual = self.gamma, out.dual[row]
        gradient = np.empty(size)

        def both(point: Floats) -> tuple[float, Floats]:
            go_on()
            if not np.abs(point).max() <= FARTHEST:
                return np.inf, np.zeros(size)
            values, vectors = np.linalg.eigh(shifted(lifted, point))
            out.n_evd[row] += 1
            dual_gradient(gamma, values, vectors, gradient)
            return dual_value(point, gamma, values), gradient.copy()

        visited = [np.ones(size)]
        # A step that overflows is one the line search takes back.
        with np.errstate(all="ignore"):
            result = minimize(
                both,
                np.ones(size),
                jac=True,
                method="BFGS",
                callback=lambda point: visited.append(point.copy()),
                options={"gtol": self.tol, "norm": 2, "maxiter": self.max_iter},
            )
        dual[:] = result.x if np.abs(result.x).max() <= FARTHEST else 1.0
        out.iterations[row] = result.nit
        # The largest entry is looked at first, because the norm of very large ones overflows.
        out.converged[row] = np.abs(result.jac).max() <= self.tol and np.linalg.norm(result.jac) <= self.tol
        values, vectors = np.linalg.eigh(shifted(lifted, dual))
        out.n_evd[row] += 1
        best_rounding(lifted, projection_factor(gamma, values, vectors), self.n_draws, seed, stop_cell(), out.x[row])
        if self.trace:
            for k, point in enumerate(visited[: result.nit + 1]):
                out.dual_trace[row, k] = point
                out.trace[row, k] = dual_value(point, gamma, np.linalg.eigvalsh(shifted(lifted, point)))
