"""Semismooth Newton on the dual, which is the nearest-correlation-matrix problem in disguise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.kernels.binary.relaxation import newton_batch
from kolmogorov.solvers.binary.dual import MAX_VARIABLES, NEWTON_RULES, batch_of, room_for
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver
from kolmogorov.solvers.stopping import stop_cell


@dataclass(frozen=True)
class Newton(BinarySolver):
    """Newton's method on h_gamma (Qi and Sun 2006, Borsdorf and Higham 2010), then Gaussian rounding.

    `<X, A> + |X|^2 / (2 gamma)` is `|X + gamma A|^2 / (2 gamma)` up to a constant, so the relaxation projects -gamma A
    onto the correlation matrices. Convergence is quadratic: some eight iterations to a gradient norm of 1e-8.

    Parameters
    ----------
    gamma, n_draws, max_iter, trace
        As in `gd`.
    tol : float
        Norm of the gradient at which to stop.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> Newton().solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    gamma: float = 100.0
    n_draws: int = 100
    tol: float = 1e-8
    max_iter: int = 200
    trace: bool = False

    name = "newton"
    max_variables = MAX_VARIABLES
    requirements: ClassVar = NEWTON_RULES

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        results = room_for(self, moment)
        numbers = float(self.gamma), float(self.tol), int(self.max_iter), int(self.n_draws)
        newton_batch(gram, moment, seeds, *numbers, stop_cell(), results)
        return batch_of(results, gram, moment, self.gamma)
