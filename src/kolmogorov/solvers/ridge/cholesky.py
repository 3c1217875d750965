"""Linear systems by Cholesky."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.kernels.rows.quadratic import batch_values
from kolmogorov.kernels.rows.ridge import solve_systems
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import RidgeSolver


@dataclass(frozen=True)
class Cholesky(RidgeSolver):
    """Solve gram x = moment.

    Examples
    --------
    >>> from kolmogorov.problems import RidgeQP
    >>> Cholesky().solve(RidgeQP([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])).x.round(12).tolist()
    [0.5, 0.25]
    """

    name = "cholesky"
    exact = True

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        solve_systems(gram, moment, x)
        batch_values(gram, moment, x, values := np.empty(len(x)))
        return Batch(x=x, lower_bound=values, proved=np.ones(len(x), dtype=bool))
