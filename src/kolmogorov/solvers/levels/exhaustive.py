"""All L^D points, one step at a time: exact, for few variables and levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.errors import SolverMismatchError
from kolmogorov.kernels.levels.enumeration import enumerate_levels
from kolmogorov.kernels.rows.quadratic import batch_values
from kolmogorov.solvers.arithmetic import level_allowance
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import LevelSolver

#: Points of a problem at most: some seconds.
_MOST_POINTS = 2**28


@dataclass(frozen=True)
class Exhaustive(LevelSolver):
    """Look at every point; the minimum is exact.

    Parameters
    ----------
    levels : sequence of float
        Of batches; a `LevelQP` has its own.

    Examples
    --------
    >>> from kolmogorov.problems import LevelQP
    >>> Exhaustive().solve(LevelQP([[1.0, 0.0], [0.0, 1.0]], [0.3, 3.0], [0.0, 0.5, 1.0])).x.tolist()
    [0.5, 1.0]
    """

    name = "exhaustive"
    exact = True

    @property
    def max_variables(self) -> int:  # type: ignore[override]
        """As many as make 2^28 points."""
        return int(math.log(_MOST_POINTS) / math.log(len(self.levels)) + 1e-9)

    def check_size(self, size: int) -> None:
        """Raise where there are too many points."""
        if size > self.max_variables:
            raise SolverMismatchError(
                f"Solver '{self.name}' handles at most {self.max_variables} variables of {len(self.levels)} levels, "
                f"this problem has {size}. Use a solver without that limit, for example '{self.unlimited}'."
            )

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        enumerate_levels(gram, moment, self.grid, x)
        values = np.empty(len(x))
        batch_values(gram, moment, x, values)
        return Batch(
            x=x,
            lower_bound=values - level_allowance(gram, moment, self.grid),
            iterations=np.full(len(x), len(self.levels) ** moment.shape[1], dtype=np.int64),
            proved=np.ones(len(x), dtype=bool),
        )
