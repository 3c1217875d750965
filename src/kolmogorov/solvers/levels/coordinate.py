"""Descents by one and two coordinates from several points: the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import MOST_ROUNDS, Integer, Optional, Positive
from kolmogorov.kernels.levels.moves import multi_start
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import LevelSolver
from kolmogorov.solvers.stopping import limited, shares_of_limit


@dataclass(frozen=True)
class Coordinate(LevelSolver):
    """Multi-start descent by moving one coordinate, or two together: no proof, any size, never worse than its start.

    Parameters
    ----------
    n_starts : int
        Descents per problem: the given start, the rounded continuous solution, and random points. A fit meets each item
        again in every sweep, and more than two have not made it better.
    time_limit : float or None
        Seconds per problem; past that the best point so far is returned.
    levels : sequence of float
        Of batches; a `LevelQP` has its own.

    Examples
    --------
    >>> from kolmogorov.problems import LevelQP
    >>> Coordinate().solve(LevelQP([[1.0, 0.0], [0.0, 1.0]], [0.3, 3.0], [0.0, 0.5, 1.0])).x.tolist()
    [0.5, 1.0]
    """

    n_starts: int = 2
    time_limit: float | None = None

    name = "coordinate"
    requirements: ClassVar = {"n_starts": Integer(1, MOST_ROUNDS), "time_limit": Optional(Positive())}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        for rows in shares_of_limit(len(x), self.time_limit):
            with limited(self.time_limit) as stop:
                multi_start(gram[rows], moment[rows], self.grid, start[rows], seeds[rows], self.n_starts, stop, x[rows])
        return Batch(x=x, iterations=np.full(len(x), self.n_starts, dtype=np.int64))
