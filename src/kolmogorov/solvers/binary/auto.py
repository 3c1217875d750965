"""The default: exact while that is cheap, local search beyond, and a proof for a lone problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import MOST_ROUNDS, Boolean, Integer, Optional, Positive
from kolmogorov.solvers.binary.branch_bound import BranchBound
from kolmogorov.solvers.binary.exhaustive import Exhaustive
from kolmogorov.solvers.binary.local_search import LocalSearch
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver

#: Up to this many variables all points are looked at. `benchmarks/exact_line.py` prints the measurement.
EXACT_LIMIT = 16
#: Up to this many variables so many descents are the better use of time than a proof of so many nodes. By judgement.
_DESCENT_LIMIT = 24
_THOROUGH_STARTS = 32
_THOROUGH_NODES = 2_000_000


@dataclass(frozen=True)
class Auto(BinarySolver):
    """`exhaustive` up to 16 variables, `local_search` above; for a lone problem above 24 `branch_bound`.

    Parameters
    ----------
    n_starts : int
        Descents per problem where local search is used. A fit meets each item again in every sweep and starts from
        where the last one ended, so few are enough.
    thorough : bool
        Spend as much as a problem on its own deserves: 32 descents, and above 24 variables a search for a proof of
        up to two million nodes. `kolmogorov.bqp.solve` sets it; a fit does not.
    time_limit : float or None
        Seconds per problem above 16 variables; past that the best point so far is returned, with a bound where
        `thorough` asks for a proof.

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
        if size <= EXACT_LIMIT:
            return Exhaustive()
        if not self.thorough:
            return LocalSearch(self.n_starts, tabu_moves=0, time_limit=self.time_limit)
        if size <= _DESCENT_LIMIT:
            return LocalSearch(max(self.n_starts, _THOROUGH_STARTS), tabu_moves=0, time_limit=self.time_limit)
        return BranchBound(max_nodes=_THOROUGH_NODES, time_limit=self.time_limit)
