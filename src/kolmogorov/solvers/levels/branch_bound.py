"""Exact search: a Cholesky factor, an incumbent, depth first with the cheapest level first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import Integer, Optional, Positive
from kolmogorov.kernels.binary.branching import pivoted_factor
from kolmogorov.kernels.levels.branching import level_search
from kolmogorov.solvers.arithmetic import level_allowance, value_of
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import LevelSolver
from kolmogorov.solvers.levels.coordinate import Coordinate
from kolmogorov.solvers.stopping import Cell, limited

# A matrix whose least eigenvalue is below this share of its largest entry is shifted, so that it is at least this. By
# judgement: the shift is far above rounding, and changes little.
_DEFINITE = 1e-5
# Descents for the incumbent; as many as `local_search` makes.
_DESCENTS = 8


@dataclass(frozen=True)
class BranchBound(LevelSolver):
    """Prove the minimum by depth-first search on the Cholesky factor.

    1. Coordinate descent gives the incumbent, so that the answer is never worse than that of `coordinate`.
    2. The matrix is factored with the smallest pivot first, so that the search begins with the largest. One that is not
       positive definite is shifted by a multiple of the identity; what that adds to the value of the coordinates still
       open is bounded by their largest level, so that the search stays exact and grows with the shift.
    3. Coordinates are fixed from the last to the first, the cheapest level first; a branch ends where what is fixed
       costs more than the incumbent.

    Parameters
    ----------
    time_limit : float or None
        Seconds per problem; past that the incumbent is returned with its bound.
    max_nodes : int
        Limit on nodes per problem.
    levels : sequence of float
        Of batches; a `LevelQP` has its own.

    Examples
    --------
    >>> from kolmogorov.problems import LevelQP
    >>> solution = BranchBound().solve(LevelQP([[1.0, 0.0], [0.0, 1.0]], [0.3, 3.0], [0.0, 0.5, 1.0]))
    >>> solution.x.tolist(), solution.status.value
    ([0.5, 1.0], 'optimal')
    """

    time_limit: float | None = None
    max_nodes: int = 2_000_000_000

    name = "branch_bound"
    requirements: ClassVar = {"time_limit": Optional(Positive()), "max_nodes": Integer(1)}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        n = len(moment)
        x = np.empty_like(moment)
        bounds = np.empty(n)
        nodes = np.zeros(n, dtype=np.int64)
        proved = np.empty(n, dtype=bool)
        incumbent = Coordinate(_DESCENTS, levels=self.levels)
        for row in range(n):
            one = slice(row, row + 1)
            with limited(self.time_limit) as stop:
                x[row] = incumbent._solve_batch(gram[one], moment[one], start[one], seeds[one]).x[0]
                bounds[row], nodes[row], proved[row] = self._prove(gram[row], moment[row], x[row], stop)
        return Batch(x=x, lower_bound=bounds, nodes=nodes, converged=proved, proved=proved)

    def _prove(self, gram: Floats, moment: Floats, x: Floats, stop: Cell) -> tuple[float, int, bool]:
        """Improve the incumbent `x` in place; return its bound, nodes, and whether it is proved."""
        from scipy.linalg import solve_triangular

        size = moment.size
        noise = float(level_allowance(gram[None], moment[None], self.grid)[0])
        value = value_of(gram, moment, x)
        scale = float(np.abs(gram).max()) or 1.0
        least = float(np.linalg.eigvalsh(gram)[0])
        shift = max(_DEFINITE * scale - least, 0.0)
        order, factor = np.empty(size, dtype=np.int64), np.empty((size, size))
        if not pivoted_factor(gram + shift * np.eye(size), stop, order, factor):
            return _plain_bound(gram, moment, self.grid) - noise, 0, False
        centre = solve_triangular(factor, moment[order], trans=1)
        constant = float(centre @ centre)
        # The factor is exact only to rounding, which grows with how large the terms are that cancel.
        noise += 1e-13 * size * (constant + float(np.abs(self.grid).max()) ** 2 * shift * size)
        best = np.full(size, np.nan)
        radius, bound, nodes = level_search(
            factor, centre, shift, self.grid, value + constant - noise, int(self.max_nodes), stop, best
        )
        if not np.isnan(best).any():
            found = np.empty(size)
            found[order] = best
            reached = value_of(gram, moment, found)
            if reached < value:
                x[:], value = found, reached
        done = bool(bound >= radius)
        return (value if done else min(bound - constant, value)) - noise, int(nodes), done


def _plain_bound(gram: Floats, moment: Floats, levels: Floats) -> float:
    """Return a lower bound that takes one look at the entries."""
    reach = float(np.abs(levels).max())
    return -float(reach**2 * np.abs(gram).sum() + 2.0 * reach * np.abs(moment).sum())
