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
from kolmogorov.solvers.binary.rounding import rounding_allowance
from kolmogorov.solvers.contract import Batch, BinarySolver, Floats

# Entries touched between two looks at the clock: some ten milliseconds.
_CHUNK_WORK = 10_000_000
# Above this many variables a time limit leaves no time for tabu search.
_LARGE = 60
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
        Seconds per problem; past that the incumbent is returned with its bound. The clock is looked at between
        stages, so the set-up (one relaxation, which takes 0.1 s at 100 variables) is not cut short.
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
        x = start.copy()
        bounds = np.empty(n)
        nodes = np.zeros(n, dtype=np.int64)
        evds = np.zeros(n, dtype=np.int64)
        proved = np.empty(n, dtype=bool)
        for row in range(n):
            bounds[row], nodes[row], evds[row], proved[row] = self._prove(gram[row], moment[row], x[row], seeds[row])
        return Batch(x=x, lower_bound=bounds, nodes=nodes, n_evd=evds, converged=proved, proved=proved)

    def _prove(self, gram: Floats, moment: Floats, x: Floats, seed: np.uint64) -> tuple[float, int, int, bool]:
        """Replace the start `x` by the best point found; return its bound, nodes, EVDs, and whether it is proved."""
        deadline = None if self.time_limit is None else time.perf_counter() + self.time_limit
        fixed = np.empty(x.size, dtype=np.int64)
        n_free = persistent(gram, moment, fixed)
        free = np.flatnonzero(fixed < 0)
        better = np.where(fixed > 0, 1.0, 0.0)
        nodes, evds, left, proved = 0, 0, 0.0, True
        if n_free:
            # From here on the fixed bits are out of the way: they may be many orders of magnitude larger.
            sub_gram = np.ascontiguousarray(gram[np.ix_(free, free)])
            sub_moment = moment[free] - gram[np.ix_(free, np.flatnonzero(fixed > 0))].sum(axis=1)
            effort = LocalSearch() if deadline is None or n_free <= _LARGE else LocalSearch(2, tabu_moves=0)
            incumbent = effort._solve_batch(sub_gram[None], sub_moment[None], x[free][None], np.array([seed])).x[0]
            search = _Search(sub_gram, sub_moment, deadline)
            point, left, nodes, proved = search.run(incumbent, deadline, self.max_nodes)
            better[free] = point
            evds = search.n_evd
        x[:] = better
        value = float(x @ gram @ x - 2.0 * (x @ moment))
        return value - left - float(rounding_allowance(gram[None], moment[None])[0]), nodes, evds, proved


class _Search:
    """One convexified problem: the value of signs s is scale * |R s + c|^2 + floor."""

    def __init__(self, gram: Floats, moment: Floats, deadline: float | None) -> None:
        size = moment.size
        lifted = np.empty((size + 1, size + 1))
        constant = lift(gram, moment, lifted)
        self.gram, self.moment = gram, moment
        self.scale = float(np.abs(lifted).max()) or 1.0
        lifted /= self.scale
        dual = np.zeros(size + 1)
        counts = np.zeros(4, dtype=np.int64)
        for gamma in _GAMMAS:
            newton_dual(lifted, gamma, 1e-2, 30, dual, counts, np.empty(0), np.empty((0, 0)))
            if deadline is not None and time.perf_counter() > deadline:
                break
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
        # What the sums of squares may be off by, in units of the value.
        self.noise = 1e-14 * self.scale * (size + 1) ** 2

    def run(self, incumbent: Floats, deadline: float | None, max_nodes: int) -> tuple[Floats, float, int, bool]:
        """Search for a better point; return the best, how far below it the optimum may lie, nodes, and completeness."""
        size = self.centre.size
        value = float(incumbent @ self.gram @ incumbent - 2.0 * (incumbent @ self.moment))
        radius = (value - self.noise - self.floor) / self.scale
        signs, sums = np.zeros(size), np.zeros(size + 1)
        stage, best = np.zeros(size, dtype=np.int64), np.zeros(size)
        level, nodes = size - 1, 0
        chunk = max(_CHUNK_WORK // size, 1)
        while level < size and nodes < max_nodes:
            budget = min(chunk, max_nodes - nodes)
            radius, level, visited = sphere_search(
                self.factor, self.centre, radius, signs, sums, level, stage, best, budget
            )
            nodes += visited
            if deadline is not None and time.perf_counter() > deadline:
                break
        x = incumbent
        if best.any():
            found = np.empty(size)
            found[self.order] = 0.5 * (best + 1.0)
            reached = float(found @ self.gram @ found - 2.0 * (found @ self.moment))
            if reached < value:
                x, value = found, reached
        complete = bool(level == size)
        if complete:
            return x, self.noise, nodes, True
        least = open_bound(self.factor, self.centre, signs, sums, level, stage)
        bound = self.floor + self.scale * least - self.noise
        return x, max(value - bound, self.noise), nodes, False
