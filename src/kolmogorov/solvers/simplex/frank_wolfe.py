"""The Frank-Wolfe method, as the paper uses it for the users' step, with exact line search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import MOST_ROUNDS, Boolean, Integer, Real
from kolmogorov.kernels.rows.simplex import frank_wolfe
from kolmogorov.solvers.certificate import Certified
from kolmogorov.solvers.families import SimplexSolver


@dataclass(frozen=True)
class FrankWolfe(Certified, SimplexSolver):
    """Frank-Wolfe with exact line search; without away steps it converges like 1/k.

    Parameters
    ----------
    tol : float
        Stop when the gap is below `tol` times the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on steps per row.
    away_steps : bool
        Also step away from vertices that should lose mass, which converges linearly.

    Examples
    --------
    >>> from kolmogorov.problems import SimplexQP
    >>> FrankWolfe().solve(SimplexQP([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).x.round(3).tolist()
    [0.333, 0.667]
    """

    tol: float = 1e-6
    max_iter: int = 1_000
    away_steps: bool = False

    name = "frank_wolfe"
    requirements: ClassVar = {"tol": Real(0.0), "max_iter": Integer(1, MOST_ROUNDS), "away_steps": Boolean()}

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: NDArray[np.int64]) -> None:
        frank_wolfe(gram, moment, x, float(self.tol), int(self.max_iter), bool(self.away_steps), gaps, iterations)
