"""Exact search: persistency, a convex reformulation by the semidefinite dual, sphere decoding, an incumbent."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, Optional, Positive
from kolmogorov.kernels.branching import open_bound, persistent, sphere_search, triangular_factor
from kolmogorov.kernels.dual import FULL_EVDS, newton_dual, shifted
from kolmogorov.kernels.lifting import lift
from kolmogorov.solvers.binary.local_search import LocalSearch
from kolmogorov.solvers.contract import Batch, BinarySolver, Floats

# Nodes between two looks at the clock: some ten milliseconds.
_CHUNK = 200_000
# Tighter and tighter relaxations, each started from the one before.
_GAMMAS = (1e2, 1e3, 1e4, 1e5)


@dataclass(frozen=True)
class BranchBound(BinarySolver):
    """Prove the minimum by depth-first search on the convexified problem.

    1. Bits that no choice of the others can sway are fixed (first-order persistency).
    2. Local search gives the incumbent.
    3. A near-optimal dual point of the semidefinite relaxation gives the diagonal shift that makes the problem
       convex with the best continuous bound (quadratic convex reformulation, Billionnet and Elloumi 2007).
    4. Sphere decoding on the Cholesky factor, nearest sign first, proves or improves the incumbent.

    Parameters
    ----------
    time_limit : float or None
        Seconds per problem; past that the incumbent is returned with its bound.
    max_nodes : int
        Limit on nodes per problem.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> solution = BranchBound().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]))
    >>> solution.x.tolist(), solution.status.value
    ([0.0, 1.0], 'optimal')
    """

    time_limit: float | None = None
    max_nodes: int = 2_000_000_000

    name = "branch_bound"
    rules: ClassVar = {"time_limit": Optional(Positive()), "max_nodes": Integer(1)}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        n = len(moment)
        x = LocalSearch()._solve_batch(gram, moment, start, seeds).x
        bounds = np.empty(n)
        nodes = np.zeros(n, dtype=np.int64)
        evds = np.zeros(n, dtype=np.int64)
        for row in range(n):
            bounds[row], nodes[row], evds[row] = self._prove(gram[row], moment[row], x[row])
        values = np.einsum("nd,nde,ne->n", x, gram, x) - 2.0 * np.einsum("nd,nd->n", x, moment)
        proved = bounds >= values - 1e-9 * (1.0 + np.abs(values))
        return Batch(x=x, lower_bound=bounds, nodes=nodes, n_evd=evds, converged=proved, proved=proved)

    def _prove(self, gram: Floats, moment: Floats, x: Floats) -> tuple[float, int, int]:
        """Improve `x` in place until it is proved or time is up; return the lower bound, nodes and EVDs."""
        deadline = None if self.time_limit is None else time.perf_counter() + self.time_limit
        incumbent = float(x @ gram @ x - 2.0 * (x @ moment))
        fixed = np.empty(x.size, dtype=np.int64)
        n_free = persistent(gram, moment, fixed)
        settled = np.where(fixed > 0, 1.0, 0.0)
        offset = float(settled @ gram @ settled - 2.0 * (settled @ moment))
        if n_free == 0:
            x[:] = settled
            return offset, 0, 0
        free = np.flatnonzero(fixed < 0)
        sub_gram = np.ascontiguousarray(gram[np.ix_(free, free)])
        sub_moment = moment[free] - gram[np.ix_(free, np.flatnonzero(fixed > 0))].sum(axis=1)
        search = _Search(sub_gram, sub_moment)
        margin = 1e-10 * (1.0 + abs(incumbent))
        found, bound, nodes = search.run(incumbent - offset - margin, deadline, self.max_nodes)
        if found is not None:
            better = settled.copy()
            better[free] = found
            x[:] = better
            incumbent = float(x @ gram @ x - 2.0 * (x @ moment))
        return min(incumbent, bound + offset), nodes, search.n_evd


class _Search:
    """One convexified problem: the value of signs s is scale * |R s + c|^2 + floor."""

    def __init__(self, gram: Floats, moment: Floats) -> None:
        size = moment.size
        lifted = np.empty((size + 1, size + 1))
        constant = lift(gram, moment, lifted)
        self.scale = float(np.abs(lifted).max()) or 1.0
        lifted /= self.scale
        dual = np.zeros(size + 1)
        counts = np.zeros(4, dtype=np.int64)
        for gamma in _GAMMAS:
            newton_dual(lifted, gamma, 1e-2, 30, dual, counts, np.empty(0), np.empty((0, 0)))
        top = float(np.linalg.eigvalsh(shifted(lifted, dual))[-1])
        self.n_evd = int(counts[FULL_EVDS]) + 1
        # Rounding in the eigenvalue must not make the matrix indefinite.
        dual += top + 1e-10
        convex = lifted + np.diag(dual)
        self.order = np.empty(size, dtype=np.int64)
        self.factor = np.empty((size, size))
        triangular_factor(np.ascontiguousarray(convex[1:, 1:]), self.order, self.factor)
        from scipy.linalg import solve_triangular

        self.centre = solve_triangular(self.factor, convex[0, 1:][self.order], trans=1)
        rest = convex[0, 0] - float(self.centre @ self.centre)
        self.floor = constant + self.scale * (rest - float(dual.sum()))

    def run(self, target: float, deadline: float | None, max_nodes: int) -> tuple[Floats | None, float, int]:
        """Search for a value below `target`; return the point, a lower bound of all values, and the nodes."""
        size = self.centre.size
        radius = (target - self.floor) / self.scale
        signs, sums = np.zeros(size), np.zeros(size + 1)
        stage, best = np.zeros(size, dtype=np.int64), np.zeros(size)
        level, nodes = size - 1, 0
        while level < size and nodes < max_nodes:
            budget = min(_CHUNK, max_nodes - nodes)
            radius, level, visited = sphere_search(
                self.factor, self.centre, radius, signs, sums, level, stage, best, budget
            )
            nodes += visited
            if deadline is not None and time.perf_counter() > deadline:
                break
        least = open_bound(self.factor, self.centre, signs, sums, level, stage)
        bound = self.floor + self.scale * min(least, radius) if level < size else np.inf
        if not best.any():
            return None, bound, nodes
        x = np.empty(size)
        x[self.order] = 0.5 * (best + 1.0)
        return x, bound, nodes
