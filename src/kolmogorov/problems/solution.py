"""What a solver returns: a point, how good it is, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Status(Enum):
    """How much is known about a solution."""

    OPTIMAL = "optimal"  #: proved to the solver's tolerance
    FEASIBLE = "feasible"  #: a point of the set; no proof that it is the best
    ITERATION_LIMIT = "iteration_limit"  #: stopped before the solver's own criterion was met


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved problem.

    Attributes
    ----------
    x : ndarray of shape (D,)
    value : float
        The problem's value at `x`.
    lower_bound : float or None
        No point of the set has a value below this, where the solver can tell.
    status : Status
    iterations : int or None
    seconds : float
    """

    x: NDArray[np.float64]
    value: float
    lower_bound: float | None
    status: Status
    iterations: int | None
    seconds: float
