"""All 2^D points, in Gray-code order: exact, and the fastest method while D is small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.kernels.binary.enumeration import enumerate_all
from kolmogorov.kernels.rows.quadratic import batch_values
from kolmogorov.solvers.arithmetic import binary_allowance
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver


@dataclass(frozen=True)
class Exhaustive(BinarySolver):
    """Look at every point; the minimum is exact.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> Exhaustive().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    name = "exhaustive"
    max_variables = 30
    exact = True

    def row_cost(self, size: int) -> int:
        """Return how many observations of a row take as long as going through all points, about."""
        return max(1 << size >> 5, 16)

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        enumerate_all(gram, moment, x)
        values = np.empty(len(x))
        batch_values(gram, moment, x, values)
        points = np.full(len(x), 1 << moment.shape[1], dtype=np.int64)
        return Batch(
            x=x,
            lower_bound=values - binary_allowance(gram, moment),
            iterations=points,
            proved=np.ones(len(x), dtype=bool),
        )
