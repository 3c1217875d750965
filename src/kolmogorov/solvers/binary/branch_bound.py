"""Exact search: persistency, a convex reformulation by the semidefinite dual, sphere decoding, an incumbent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import Integer, Optional, Positive
from kolmogorov.kernels.binary.branching import open_bound, persistent, pivoted_factor, plain_bound, sphere_search
from kolmogorov.kernels.binary.dual import FULL_EVDS, shifted, spectral_bound
from kolmogorov.kernels.binary.lifting import lift
from kolmogorov.kernels.binary.newton import newton_dual
from kolmogorov.solvers.arithmetic import binary_allowance, value_of
from kolmogorov.solvers.binary.local_search import LocalSearch
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver
from kolmogorov.solvers.stopping import Cell, limited

# Above this many free variables an eigendecomposition takes a good part of a second and a proof is out of reach: the
# bound is then the plain one.
_RELAXED_UP_TO = 1_000
# Tighter and tighter relaxations, each started from the one before. By judgement.
_GAMMAS = (1e2, 1e3, 1e4, 1e5)


@dataclass(frozen=True)
class BranchBound(BinarySolver):
    """Prove the minimum by depth-first search on the convexified problem.

    1. Local search gives the incumbent, so that the answer is never worse than that of `local_search`.
    2. Bits that no choice of the others can sway are fixed (first-order persistency).
    3. A near-optimal dual point of the semidefinite relaxation gives the diagonal shift that makes the problem
       convex with the best continuous bound (quadratic convex reformulation, Billionnet and Elloumi 2007).
    4. Sphere decoding on the Cholesky factor, nearest sign first, proves or improves the incumbent.

    Where more than 1000 variables stay free the search ends after step 2, with a bound from one look at the entries.

    Parameters
    ----------
    time_limit : float or None
        Seconds per problem; past that the incumbent is returned with its bound. Every stage is cut short, local search
        too: at 500 variables it takes a quarter of a second.
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
    requirements: ClassVar = {"time_limit": Optional(Positive()), "max_nodes": Integer(1)}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        n = len(moment)
        x = start.copy()
        bounds = np.empty(n)
        nodes = np.zeros(n, dtype=np.int64)
        evds = np.zeros(n, dtype=np.int64)
        proved = np.empty(n, dtype=bool)
        for row in range(n):
            with limited(self.time_limit) as stop:
                answer = self._prove(gram[row], moment[row], x[row], seeds[row], stop)
            bounds[row], nodes[row], evds[row], proved[row] = answer
        return Batch(x=x, lower_bound=bounds, nodes=nodes, n_evd=evds, converged=proved, proved=proved)

    def _prove(
        self, gram: Floats, moment: Floats, x: Floats, seed: np.uint64, stop: Cell
    ) -> tuple[float, int, int, bool]:
        """Replace the start `x` by the best point found; return its bound, nodes, EVDs, and whether it is proved."""
        x[:] = _searched(gram, moment, x, seed)
        fixed = np.empty(x.size, dtype=np.int64)
        n_free = persistent(gram, moment, stop, fixed)
        # Fixing a bit never harms, whatever the others are.
        x[fixed >= 0] = fixed[fixed >= 0]
        nodes, evds, left, proved = 0, 0, 0.0, True
        if n_free:
            # From here on the fixed bits are out of the way: they may be many orders of magnitude larger.
            free = np.flatnonzero(fixed < 0)
            sub_gram = np.ascontiguousarray(gram[np.ix_(free, free)])
            sub_moment = moment[free] - gram[np.ix_(free, np.flatnonzero(fixed > 0))].sum(axis=1)
            incumbent = x[free]
            if n_free < x.size:
                incumbent = _searched(sub_gram, sub_moment, incumbent, seed)
            search = _Search(sub_gram, sub_moment)
            x[free], left, nodes, proved = search.run(incumbent, int(self.max_nodes), stop)
            evds = search.n_evd
        value = value_of(gram, moment, x)
        return value - left - float(binary_allowance(gram[None], moment[None])[0]), nodes, evds, proved


def _searched(gram: Floats, moment: Floats, start: Floats, seed: np.uint64) -> Floats:
    """Return what local search finds from a start."""
    return LocalSearch()._solve_batch(gram[None], moment[None], start[None], np.array([seed])).x[0]


class _Search:
    """The search for a proof: a bound to begin with, a convexified problem, a tree.

    On the convexified problem the value of signs s is scale * |R s + c|^2 + floor.
    """

    def __init__(self, gram: Floats, moment: Floats) -> None:
        self.gram, self.moment = gram, moment
        self.n_evd = 0

    def run(self, incumbent: Floats, max_nodes: int, stop: Cell) -> tuple[Floats, float, int, bool]:
        """Search for a better point; return the best, how far below it the optimum may lie, nodes, and completeness."""
        value = value_of(self.gram, self.moment, incumbent)
        bound = float(plain_bound(self.gram, self.moment))
        if self.moment.size > _RELAXED_UP_TO or stop[0]:
            return incumbent, max(value - bound, 0.0), 0, False
        relaxed = self._convexify(stop)
        if relaxed is not None:
            return incumbent, max(value - max(bound, relaxed), 0.0), 0, False
        return self._descend_tree(incumbent, value, bound, max_nodes, stop)

    def _convexify(self, stop: Cell) -> float | None:
        """Make the convex problem; where there is no time for it, return the relaxation's bound instead."""
        size = self.moment.size
        lifted = np.empty((size + 1, size + 1))
        constant = lift(self.gram, self.moment, lifted)
        self.scale = float(np.abs(lifted).max()) or 1.0
        lifted /= self.scale
        dual = np.zeros(size + 1)
        counts = np.zeros(4, dtype=np.int64)
        for gamma in _GAMMAS:
            if stop[0]:
                break
            newton_dual(lifted, gamma, 1e-2, 30, dual, counts, np.empty(0), np.empty((0, 0)), stop)
        done = False
        if not stop[0]:
            top = float(np.linalg.eigvalsh(shifted(lifted, dual))[-1])
            # Rounding in the eigenvalue must not make the matrix indefinite.
            convex = lifted + np.diag(dual + (top + 1e-10))
            self.order = np.empty(size, dtype=np.int64)
            self.factor = np.empty((size, size))
            done = pivoted_factor(np.ascontiguousarray(convex[1:, 1:]), stop, self.order, self.factor)
        self.n_evd = int(counts[FULL_EVDS]) + 1
        if not done:
            return constant + self.scale * float(spectral_bound(dual, np.linalg.eigvalsh(shifted(lifted, dual))))
        from scipy.linalg import solve_triangular

        self.centre = solve_triangular(self.factor, convex[0, 1:][self.order], trans=1)
        rest = convex[0, 0] - float(self.centre @ self.centre)
        self.floor = constant + self.scale * (rest - float((dual + (top + 1e-10)).sum()))
        # What the sums of squares may be off by, in units of the value.
        self.noise = 1e-14 * self.scale * (size + 1) ** 2
        return None

    def _descend_tree(
        self, incumbent: Floats, value: float, bound: float, max_nodes: int, stop: Cell
    ) -> tuple[Floats, float, int, bool]:
        size = self.centre.size
        radius = (value - self.noise - self.floor) / self.scale
        signs, sums = np.zeros(size), np.zeros(size + 1)
        stage, best = np.zeros(size, dtype=np.int64), np.zeros(size)
        radius, level, nodes = sphere_search(
            self.factor, self.centre, radius, signs, sums, size - 1, stage, best, max_nodes, stop
        )
        x = incumbent
        if best.any():
            found = np.empty(size)
            found[self.order] = 0.5 * (best + 1.0)
            reached = value_of(self.gram, self.moment, found)
            if reached < value:
                x, value = found, reached
        if level == size:
            return x, self.noise, nodes, True
        least = open_bound(self.factor, self.centre, signs, sums, level, stage)
        bound = max(bound, self.floor + self.scale * least - self.noise)
        return x, max(value - bound, self.noise), nodes, False
