"""Convex problems: users' over the simplex, items' over the box, and without constraints.

`pairwise` moves mass from one coordinate to another, by the best amount. `frank_wolfe` is what the paper uses for the
users' step. `active_set` solves on a support, drops what turns negative, adds what would gain. `coordinate` goes over
the box one coordinate after another; `cholesky` solves a linear system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support.typing import Counts, Floats, Seeds
from kolmogorov._support.validation import BOOLEAN, MOST_ROUNDS, Requirement, integer, real
from kolmogorov.solvers.active_set import active_set, active_set_rows
from kolmogorov.solvers.box import coordinate_descent
from kolmogorov.solvers.contract import Batch, Certified, RowSolver
from kolmogorov.solvers.problems import BoxQP, RidgeQP, SimplexQP
from kolmogorov.solvers.quadratic import batch_values
from kolmogorov.solvers.ridge import solve_systems
from kolmogorov.solvers.simplex import frank_wolfe, pairwise_descent
from kolmogorov.solvers.stopping import stop_cell

_RULES: dict[str, Requirement] = {"tol": real(0.0), "max_iter": integer(1, MOST_ROUNDS)}


@dataclass(frozen=True)
class Pairwise(Certified):
    """Pairwise descent with exact steps, to a certified gap.

    Parameters
    ----------
    tol : float
        Stop when the Frank-Wolfe gap is below `tol` times the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on moves per row.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import SimplexQP
    >>> Pairwise().solve(SimplexQP([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).x.round(6).tolist()
    [0.333333, 0.666667]
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    problem = SimplexQP
    name = "pairwise"
    exact = True
    requirements: ClassVar = _RULES

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: Counts) -> None:
        pairwise_descent(gram, moment, x, float(self.tol), int(self.max_iter), gaps, iterations)


@dataclass(frozen=True)
class FrankWolfe(Certified):
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
    >>> from kolmogorov.solvers.problems import SimplexQP
    >>> FrankWolfe().solve(SimplexQP([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).x.round(3).tolist()
    [0.333, 0.667]
    """

    tol: float = 1e-6
    max_iter: int = 1_000
    away_steps: bool = False

    problem = SimplexQP
    name = "frank_wolfe"
    requirements: ClassVar = {**_RULES, "away_steps": BOOLEAN}

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: Counts) -> None:
        frank_wolfe(gram, moment, x, float(self.tol), int(self.max_iter), bool(self.away_steps), gaps, iterations)


@dataclass(frozen=True)
class ActiveSet(Certified):
    """Exact in finitely many rounds where the matrix is definite; pairwise descent finishes the other rows.

    Parameters
    ----------
    tol : float
        Gap that counts as none, relative to the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on rounds and moves per row.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import SimplexQP
    >>> ActiveSet().solve(SimplexQP([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0])).x.round(6).tolist()
    [0.333333, 0.666667]
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    problem = SimplexQP
    name = "active_set"
    exact = True
    from_table = True
    # Every round factors the support again: some ten seconds at this size.
    max_variables = 500
    requirements: ClassVar = _RULES

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: Counts) -> None:
        active_set(gram, moment, x, float(self.tol), int(self.max_iter), stop_cell(), gaps, iterations)

    def solve_rows(self, table: tuple[Any, ...], first: int, last: int, out: Floats, reached: Floats) -> None:
        """Solve some rows of a table."""
        active_set_rows(table, float(self.tol), int(self.max_iter), stop_cell(), first, last, out, reached)


@dataclass(frozen=True)
class Coordinate(Certified):
    """Minimise over one coordinate after another, exactly, to a certified gap.

    Parameters
    ----------
    tol : float
        Gap at which to stop, relative to the largest diagonal entry of the Gram matrix.
    max_iter : int
        Limit on rounds over all coordinates.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import BoxQP
    >>> Coordinate().solve(BoxQP([[1.0, 0.0], [0.0, 1.0]], [0.25, 3.0])).x.tolist()
    [0.25, 1.0]
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    problem = BoxQP
    name = "coordinate"
    exact = True
    requirements: ClassVar = _RULES

    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: Counts) -> None:
        coordinate_descent(gram, moment, x, float(self.tol), int(self.max_iter), stop_cell(), gaps, iterations)


@dataclass(frozen=True)
class Cholesky(RowSolver):
    """Solve gram x = moment.

    Examples
    --------
    >>> from kolmogorov.solvers.problems import RidgeQP
    >>> Cholesky().solve(RidgeQP([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])).x.round(12).tolist()
    [0.5, 0.25]
    """

    problem = RidgeQP
    name = "cholesky"
    exact = True

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.empty_like(moment)
        solve_systems(gram, moment, x)
        batch_values(gram, moment, x, values := np.empty(len(x)))
        return Batch(x=x, lower_bound=values, proved=np.ones(len(x), dtype=bool))
