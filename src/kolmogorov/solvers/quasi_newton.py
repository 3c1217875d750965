"""BFGS by SciPy on the dual of Lemma 1: the quasi-Newton method that the paper compares its descent with."""

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import stop_cell
from kolmogorov.solvers.dual import FARTHEST, DualSolver, Results, dual_gradient, dual_value, round_dual, shifted
from kolmogorov.solvers.rounding import lift


@dataclass(frozen=True)
class QuasiNewton(DualSolver):
    """BFGS on h_gamma to a gradient norm of `tol`, then Gaussian rounding; the other options are those of `gd`."""

    tol: float = 1e-3

    name = "quasi_newton"
    initial_dual = 1.0

    def _minimise(self, gram: Floats, moment: Floats, seeds: Seeds, out: Results) -> None:
        from scipy.optimize import minimize

        n, gamma, stop = moment.shape[1] + 1, self.gamma, stop_cell()
        lifted, gradient = np.empty((n, n)), np.empty(n)
        for row, dual in enumerate(out.dual):
            lift(gram[row], moment[row], lifted)

            def both(point: Floats, row: int = row) -> tuple[float, Floats]:
                if stop[0]:
                    raise KeyboardInterrupt
                if not np.abs(point).max() <= FARTHEST:
                    return np.inf, np.zeros(n)
                values, vectors = np.linalg.eigh(shifted(lifted, point))
                out.n_evd[row] += 1
                dual_gradient(gamma, values, vectors, gradient)
                return dual_value(point, gamma, values), gradient.copy()

            options = {"gtol": self.tol, "norm": 2, "maxiter": self.max_iter}
            # A step that overflows is one the line search takes back.
            with np.errstate(all="ignore"):
                found = minimize(both, dual.copy(), jac=True, method="BFGS", options=options)
            if np.abs(found.x).max() <= FARTHEST:
                dual[:] = found.x
            out.iterations[row] = found.nit
            # The largest entry is looked at first, because the norm of very large ones overflows.
            out.converged[row] = np.abs(found.jac).max() <= self.tol and np.linalg.norm(found.jac) <= self.tol
            values, vectors = np.linalg.eigh(shifted(lifted, dual))
            out.n_evd[row] += 1
            round_dual(lifted, gamma, values, vectors, self.n_draws, seeds[row], stop, out.x[row])
