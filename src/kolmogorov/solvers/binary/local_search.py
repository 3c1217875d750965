"""Descents by one and two flips from several points, and tabu search from the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import MOST_ROUNDS, Integer, Optional, Positive
from kolmogorov.kernels.binary.flips import multi_start
from kolmogorov.kernels.binary.relinking import relinked_search
from kolmogorov.kernels.binary.tabu import tabu_search
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver
from kolmogorov.solvers.stopping import Cell, limited, shares_of_limit

# Up to this many variables eight descents have found the optimum of nearly every problem of benchmarks/exact_line.py.
_DESCENTS_SUFFICE = 16
# Up to this many variables shaken copies of the best point are enough; above, a pool of so many good points finds more
# (random problems of 250 and 500 variables, benchmarks/solvers.py).
_ONE_POINT_SUFFICES = 100
_POOL = 8
# Flips in all, as a multiple of the variables, and entries of the matrix to touch at most: one to four seconds.
_FLIPS_PER_VARIABLE = 1_000
_MOST_WORK = 2_000_000_000


@dataclass(frozen=True)
class LocalSearch(BinarySolver):
    """Multi-start 1- and 2-flip descent, then tabu search: no proof, any size, never worse than its start.

    Above 100 variables the walks start from a pool of good points and from paths between them (path relinking, Wang,
    Lü, Glover and Hao 2012), up to 100 from the best point and from shaken copies of it.

    Parameters
    ----------
    n_starts : int
        Descents per problem: the given start, zero, and random points.
    tabu_moves : int or None
        Flips of each tabu walk, above 100 variables those without progress. Up to 100 variables there are as many walks
        as tenths of them, and above as many as make 1000 D flips. None is 10 D above 100 variables, 20 D above 16, and
        no walk below; 0 is none at all.
    time_limit : float or None
        Seconds per problem; past that the best point so far is returned.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> LocalSearch().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    n_starts: int = 8
    tabu_moves: int | None = None
    time_limit: float | None = None

    name = "local_search"
    requirements: ClassVar = {
        "n_starts": Integer(1, MOST_ROUNDS),
        "tabu_moves": Optional(Integer(0, MOST_ROUNDS)),
        "time_limit": Optional(Positive()),
    }

    def row_cost(self, size: int) -> int:
        """Return how many observations of a row take as long as its descents, or its walks, about."""
        return 400 if size <= _DESCENTS_SUFFICE or self.tabu_moves == 0 else 6_000

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        for rows in shares_of_limit(len(x), self.time_limit):
            with limited(self.time_limit) as stop:
                self._improve(gram[rows], moment[rows], start[rows], seeds[rows], stop, x[rows])
        return Batch(x=x, iterations=np.full(len(x), self.n_starts, dtype=np.int64))

    def _improve(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds, stop: Cell, x: Floats) -> None:
        multi_start(gram, moment, start, seeds, int(self.n_starts), stop, x)
        size = moment.shape[1]
        if size > _ONE_POINT_SUFFICES:
            patience = 10 * size if self.tabu_moves is None else int(self.tabu_moves)
            flips = min(_FLIPS_PER_VARIABLE * size, _MOST_WORK // size)
            if patience:
                relinked_search(gram, moment, seeds, _POOL, patience, flips, stop, x)
            return
        moves = self.tabu_moves
        if moves is None:
            moves = 20 * size if size > _DESCENTS_SUFFICE else 0
        if moves:
            tabu_search(gram, moment, seeds, int(moves), 1 + size // 10, stop, x)
