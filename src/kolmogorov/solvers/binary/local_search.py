"""Descents by one and two flips from several points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import MOST_ROUNDS, Integer, Optional, Positive
from kolmogorov.kernels.binary.flips import multi_start
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver
from kolmogorov.solvers.stopping import limited, shares_of_limit


@dataclass(frozen=True)
class LocalSearch(BinarySolver):
    """Multi-start 1- and 2-flip descent: no proof, any size, never worse than its start.

    Parameters
    ----------
    n_starts : int
        Descents per problem: the given start, zero, and random points.
    time_limit : float or None
        Seconds per problem; past that the best point so far is returned.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> LocalSearch().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    n_starts: int = 8
    time_limit: float | None = None

    name = "local_search"
    typical_cost = 400
    requirements: ClassVar = {"n_starts": Integer(1, MOST_ROUNDS), "time_limit": Optional(Positive())}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        for rows in shares_of_limit(len(x), self.time_limit):
            with limited(self.time_limit) as stop:
                multi_start(gram[rows], moment[rows], start[rows], seeds[rows], int(self.n_starts), stop, x[rows])
        return Batch(x=x, iterations=np.full(len(x), self.n_starts, dtype=np.int64))
