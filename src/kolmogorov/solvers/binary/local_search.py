"""Descents by one and two flips, from the previous point, from zero and from random points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov.kernels.flips import multi_start
from kolmogorov.solvers.contract import Batch, BinarySolver, Floats


@dataclass(frozen=True)
class LocalSearch(BinarySolver):
    """Multi-start 1- and 2-flip descent: no proof, any size, never worse than its start.

    Parameters
    ----------
    n_starts : int
        Descents per problem: the given start, zero, and random points.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> LocalSearch().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    n_starts: int = 8

    name = "local_search"

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        x = np.empty_like(moment)
        multi_start(gram, moment, start, seeds, self.n_starts, x)
        return Batch(x=x, iterations=np.full(len(x), self.n_starts, dtype=np.int64))
