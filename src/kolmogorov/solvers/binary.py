"""Binary quadratic programs without a relaxation: all points, or flips from many starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import BOOLEAN, MOST_ROUNDS, NONE, POSITIVE, integer
from kolmogorov.solvers.contract import Batch, BinarySolver, binary_allowance
from kolmogorov.solvers.enumeration import enumerate_all
from kolmogorov.solvers.flips import multi_start
from kolmogorov.solvers.quadratic import batch_values
from kolmogorov.solvers.stopping import limited, shares_of_limit

#: Up to this many variables all points are looked at. `benchmarks/exact_line.py` prints the measurement.
EXACT_LIMIT = 16
# The same for a problem on its own, a tenth of a second; and descents beyond, enough for the optimum of every instance
# that `benchmarks/solvers.py` looks at.
_THOROUGH_LIMIT = 24
_THOROUGH_STARTS = 100


@dataclass(frozen=True)
class Exhaustive(BinarySolver):
    """Look at every point; the minimum is exact.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import BinaryQP
    >>> Exhaustive().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    name = "exhaustive"
    max_variables = 30
    exact = True

    def row_cost(self, size: int) -> int:
        """Return how many observations of a row take as long as going through all points, about."""
        return max(1 << size >> 5, 16)

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        enumerate_all(gram, moment, x)
        values = np.empty(len(x))
        batch_values(gram, moment, x, values)
        points = np.full(len(x), 1 << moment.shape[1], dtype=np.int64)
        return Batch(
            x=x,
            lower_bound=values - binary_allowance(gram, moment),
            iterations=points,
            proved=np.ones(len(x), dtype=bool),
        )


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
    >>> from kolmogorov.solvers.problems import BinaryQP
    >>> LocalSearch().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    n_starts: int = 8
    time_limit: float | None = None

    name = "local_search"
    typical_cost = 400
    requirements: ClassVar = {"n_starts": integer(1, MOST_ROUNDS), "time_limit": POSITIVE | NONE}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        for rows in shares_of_limit(len(x), self.time_limit):
            with limited(self.time_limit) as stop:
                multi_start(gram[rows], moment[rows], start[rows], seeds[rows], int(self.n_starts), stop, x[rows])
        return Batch(x=x, iterations=np.full(len(x), self.n_starts, dtype=np.int64))


@dataclass(frozen=True)
class Auto(BinarySolver):
    """`exhaustive` up to 16 variables, `local_search` above.

    Parameters
    ----------
    n_starts : int
        Descents per problem where local search is used. A fit meets each item again in every sweep and starts from
        where the last one ended, so few are enough.
    thorough : bool
        Spend as much as a problem on its own deserves: `exhaustive` up to 24 variables, 100 descents or more above.
        `kolmogorov.solvers.bqp.solve` sets it; a fit does not.
    time_limit : float or None
        Seconds per problem of local search; past that the best point so far is returned.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import BinaryQP
    >>> Auto().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).status.value
    'optimal'
    """

    n_starts: int = 8
    thorough: bool = False
    time_limit: float | None = None

    name = "auto"
    requirements: ClassVar = {
        "n_starts": integer(1, MOST_ROUNDS),
        "thorough": BOOLEAN,
        "time_limit": POSITIVE | NONE,
    }

    def row_cost(self, size: int) -> int:
        """Return what the solver of this size takes."""
        return self._chosen(size).row_cost(size)

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        return self._chosen(moment.shape[1])._solve_batch(gram, moment, start, seeds)

    def _chosen(self, size: int) -> BinarySolver:
        if size <= (_THOROUGH_LIMIT if self.thorough else EXACT_LIMIT):
            return Exhaustive()
        return LocalSearch(max(self.n_starts, _THOROUGH_STARTS if self.thorough else 1), time_limit=self.time_limit)
