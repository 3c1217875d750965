"""Discrete monotonic optimisation, which the paper compares with: branch, reduce and bound over boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import NONE, POSITIVE, integer
from kolmogorov.solvers.contract import Batch, BinarySolver, binary_allowance
from kolmogorov.solvers.monotonic import branch_reduce_bound
from kolmogorov.solvers.stopping import limited


@dataclass(frozen=True)
class DiscreteMonotonic(BinarySolver):
    """Write the value as a difference of increasing functions; split boxes until none can hold anything better.

    Exact where it ends by itself. Its bounds are weak, so boxes multiply with D as they do for the paper.

    Parameters
    ----------
    max_nodes : int
        Boxes to look at; past that the best point so far is returned with its bound.
    time_limit : float or None
        Seconds per problem; past that likewise.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import BinaryQP
    >>> solution = DiscreteMonotonic().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]))
    >>> solution.x.tolist(), solution.status.value
    ([0.0, 1.0], 'optimal')
    """

    max_nodes: int = 20_000_000
    time_limit: float | None = None

    name = "dmo"
    # Some thirty variables are proved in minutes; beyond this size all that is left of the method is its start.
    max_variables = 100
    requirements: ClassVar = {"max_nodes": integer(1), "time_limit": POSITIVE | NONE}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        bounds = np.empty(len(x))
        nodes = np.empty(len(x), dtype=np.int64)
        proved = np.empty(len(x), dtype=bool)
        for row in range(len(x)):
            with limited(self.time_limit) as stop:
                value, bound, nodes[row] = branch_reduce_bound(
                    gram[row], moment[row], int(self.max_nodes), stop, x[row]
                )
            proved[row] = bound >= value
            bounds[row] = bound
        bounds -= binary_allowance(gram, moment)
        return Batch(x=x, lower_bound=bounds, nodes=nodes, converged=proved, proved=proved)
