"""SDRwR, which the paper compares with: the semidefinite relaxation by an interior-point solver, then Algorithm 3."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.outside import require
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver, stop_cell
from kolmogorov.solvers.rounding import best_rounding, lift


@dataclass(frozen=True)
class SemidefiniteRelaxation(RowSolver):
    """Minimise <A, X> over correlation matrices X with Clarabel (extra ``sdp``) to a gap of `tol`, and round."""

    n_draws: int = 100
    tol: float = 1e-8
    max_iter: int = 200

    name = "sdr"
    # The interior-point method factors a matrix with D^4 / 4 entries: half a minute and 1.5 GB at this size.
    max_variables = 100

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        n, size = moment.shape
        x, bounds = np.zeros((n, size)), np.empty(n)
        iterations, converged = np.empty(n, dtype=np.int64), np.empty(n, dtype=bool)
        lifted, stop = np.empty((size + 1, size + 1)), stop_cell()
        for row in range(n):
            # Clarabel could be told to stop by a callback, but then it holds Python's lock and Ctrl-C has to wait for
            # it. As it is, a solve that nobody waits for any more ends by itself, within half a minute.
            if stop[0]:
                raise KeyboardInterrupt
            constant = lift(gram[row], moment[row], lifted)
            matrix, bound, iterations[row], converged[row] = correlation_sdp(lifted, self.tol, self.max_iter)
            bounds[row] = bound + constant
            # What has to be added to the diagonal for a Cholesky factor to exist.
            ridge = max(0.0, -float(np.linalg.eigvalsh(matrix)[0])) + 1e-9
            factor = np.linalg.cholesky(matrix + ridge * np.eye(size + 1))
            best_rounding(lifted, factor, self.n_draws, seeds[row], stop, x[row])
        return x, {"lower_bound": bounds, "iterations": iterations, "converged": converged}


def correlation_sdp(cost: Floats, tol: float, max_iter: int) -> tuple[Floats, float, int, bool]:
    """Minimise <cost, X> over X positive semidefinite with unit diagonal, by Clarabel.

    Returns X, a lower bound made safe by the dual, the iterations, and whether it converged.
    """
    clarabel = require("clarabel", extra="sdp", purpose="Solver 'sdr'")
    from scipy.sparse import csc_matrix, identity, vstack

    n = len(cost)
    # The interior-point method sees a cost of size one, whatever the data's units are.
    unit = float(np.abs(cost).max()) or 1.0
    cost = cost / unit
    # The upper triangle by columns, off-diagonal entries times sqrt(2), is how Clarabel's cone counts.
    columns = np.repeat(np.arange(n), np.arange(1, n + 1))
    rows = np.concatenate([np.arange(k + 1) for k in range(n)])
    scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
    length = rows.size
    equal = csc_matrix((np.ones(n), (np.arange(n), np.flatnonzero(rows == columns))), shape=(n, length))
    constraints = csc_matrix(vstack([equal, -identity(length, format="csc")]))
    right = np.concatenate([np.ones(n), np.zeros(length)])
    cones = [clarabel.ZeroConeT(n), clarabel.PSDTriangleConeT(n)]
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
    linear = scale * cost[rows, columns]
    solved = clarabel.DefaultSolver(csc_matrix((length, length)), linear, constraints, right, cones, settings).solve()
    matrix = np.zeros((n, n))
    matrix[rows, columns] = matrix[columns, rows] = np.array(solved.x) / scale
    dual = np.array(solved.z)[:n]
    least = float(np.linalg.eigvalsh(cost + np.diag(dual))[0])
    bound = -float(dual.sum()) + n * min(least, 0.0)
    bound -= 8.0 * n * float(np.finfo(np.float64).eps) * (float(np.abs(dual).sum()) + n)
    return matrix, unit * bound, int(solved.iterations), str(solved.status) == "Solved"
