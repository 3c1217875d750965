"""The default: exact while that is cheap, local search beyond; more of both for a lone problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import MOST_ROUNDS, Boolean, Integer, Optional, Positive
from kolmogorov.solvers.binary.exhaustive import Exhaustive
from kolmogorov.solvers.binary.local_search import LocalSearch
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver

#: Up to this many variables all points are looked at. `benchmarks/exact_line.py` prints the measurement.
EXACT_LIMIT = 16
# The same for a problem on its own, a tenth of a second; and descents beyond, enough for the optimum of every instance
# that `benchmarks/solvers.py` looks at.
_THOROUGH_LIMIT = 24
_THOROUGH_STARTS = 100


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
        `kolmogorov.bqp.solve` sets it; a fit does not.
    time_limit : float or None
        Seconds per problem of local search; past that the best point so far is returned.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> Auto().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).status.value
    'optimal'
    """

    n_starts: int = 8
    thorough: bool = False
    time_limit: float | None = None

    name = "auto"
    requirements: ClassVar = {
        "n_starts": Integer(1, MOST_ROUNDS),
        "thorough": Boolean(),
        "time_limit": Optional(Positive()),
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
