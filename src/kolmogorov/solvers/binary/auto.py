"""The default for the items' step: exact while that is cheap, local search beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer
from kolmogorov.solvers.binary.exhaustive import Exhaustive
from kolmogorov.solvers.binary.local_search import LocalSearch
from kolmogorov.solvers.contract import Batch, BinarySolver, Floats

#: Up to this many variables all points are looked at. `benchmarks/exact_line.py` prints the measurement.
EXACT_LIMIT = 16


@dataclass(frozen=True)
class Auto(BinarySolver):
    """`exhaustive` up to 16 variables, `local_search` above.

    Parameters
    ----------
    n_starts : int
        Descents per problem where local search is used.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> Auto().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).status.value
    'optimal'
    """

    n_starts: int = 8

    name = "auto"
    rules: ClassVar = {"n_starts": Integer(1)}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        if moment.shape[1] <= EXACT_LIMIT:
            return Exhaustive()._solve_batch(gram, moment, start, seeds)
        return LocalSearch(self.n_starts)._solve_batch(gram, moment, start, seeds)
