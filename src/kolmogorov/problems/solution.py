"""What a solver returns: a point, how good it is, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kolmogorov._support.typing import Floats


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
    seconds : float
    iterations : int or None
    n_evd, n_lanczos : int or None
        Eigendecompositions that the method made, those of line searches included: full ones, and Lanczos runs. The one
        from which `lower_bound` and `gradient_norm` are taken at the end is not among them.
    gradient_norm : float or None
        Norm of the dual's gradient at the end, from a full EVD.
    nodes : int or None
        Of a search tree.
    phases : dict or None
        Iterations of the enhanced gradient descent in its phases I-A, I-B, II-A, II-B.
    dual : ndarray of shape (D + 1,) or None
        Final dual variables.
    trace : ndarray or None
        With the option ``trace=True``: the dual value at the start and after every iteration.
    dual_trace : ndarray or None
        The dual points that belong to `trace`.
    """

    x: Floats
    value: float
    lower_bound: float | None
    status: Status
    seconds: float
    iterations: int | None = None
    n_evd: int | None = None
    n_lanczos: int | None = None
    gradient_norm: float | None = None
    nodes: int | None = None
    phases: dict[str, int] | None = None
    dual: Floats | None = None
    trace: Floats | None = None
    dual_trace: Floats | None = None

    @property
    def gap(self) -> float | None:
        """Value minus lower bound, where there is a bound."""
        return None if self.lower_bound is None else self.value - self.lower_bound
