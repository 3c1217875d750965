"""Descents by one and two flips from several points, and tabu search from the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, Optional
from kolmogorov.kernels.flips import multi_start
from kolmogorov.kernels.tabu import tabu_search
from kolmogorov.solvers.contract import Batch, BinarySolver, Floats

# Up to this many variables eight descents have found the optimum of nearly every problem seen.
_DESCENTS_SUFFICE = 16


@dataclass(frozen=True)
class LocalSearch(BinarySolver):
    """Multi-start 1- and 2-flip descent, then tabu search: no proof, any size, never worse than its start.

    Parameters
    ----------
    n_starts : int
        Descents per problem: the given start, zero, and random points.
    tabu_moves : int or None
        Flips of each tabu walk; there are as many walks as tenths of the variables, from the best point and
        from shaken copies of it. None is 20 D above 16 variables, and no walk below; 0 is none at all.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> LocalSearch().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    n_starts: int = 8
    tabu_moves: int | None = None

    name = "local_search"
    rules: ClassVar = {"n_starts": Integer(1), "tabu_moves": Optional(Integer(0))}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        x = np.empty_like(moment)
        multi_start(gram, moment, start, seeds, self.n_starts, x)
        size = moment.shape[1]
        moves = self.tabu_moves
        if moves is None:
            moves = 20 * size if size > _DESCENTS_SUFFICE else 0
        if moves:
            tabu_search(gram, moment, seeds, moves, 1 + size // 10, x)
        return Batch(x=x, iterations=np.full(len(x), self.n_starts, dtype=np.int64))
