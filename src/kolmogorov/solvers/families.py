"""The families of row solvers: the set that each minimises over, where it starts and which starts it takes."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError
from kolmogorov.problems import BinaryQP, BoxQP, RidgeQP, SimplexQP
from kolmogorov.solvers.contract import RowSolver


class SimplexSolver(RowSolver):
    """Base of the users' solvers: minimise over the probability simplex."""

    family = "simplex"
    problem = SimplexQP
    unlimited = "pairwise"

    def _default_start(self, size: int) -> Floats:
        return np.full(size, 1.0 / size)

    def _check_start(self, start: Floats) -> None:
        if not (start >= 0).all() or abs(start.sum() - 1.0) > 1e-9:
            raise DataError("'start' must be non-negative and sum to 1.")


class BinarySolver(RowSolver):
    """Base of the items' solvers: minimise over {0,1}^D."""

    family = "binary"
    problem = BinaryQP
    # Most methods take a millisecond or more for a row.
    typical_cost = 100_000
    unlimited = "local_search"

    def _default_start(self, size: int) -> Floats:
        return np.zeros(size)

    def nearest(self, point: Floats) -> Floats:
        """Return the feasible point nearest to one that lies between feasible ones."""
        return (point > 0.5).astype(np.float64)

    def _check_start(self, start: Floats) -> None:
        if not np.isin(start, (0.0, 1.0)).all():
            raise DataError("'start' must hold only 0 and 1.")


class BoxSolver(RowSolver):
    """Base of the items' solvers where psi holds chances: minimise over [0,1]^D."""

    family = "box"
    problem = BoxQP
    unlimited = "coordinate"

    def _default_start(self, size: int) -> Floats:
        return np.full(size, 0.5)

    def _check_start(self, start: Floats) -> None:
        if not ((start >= 0.0) & (start <= 1.0)).all():
            raise DataError("'start' must lie in [0, 1].")


class RidgeSolver(RowSolver):
    """Base of the solvers of alternating least squares: minimise without constraints."""

    family = "ridge"
    problem = RidgeQP
    unlimited = "cholesky"

    def _default_start(self, size: int) -> Floats:
        return np.zeros(size)

    def _check_start(self, start: Floats) -> None:
        if not np.isfinite(start).all():
            raise DataError("'start' must be finite.")
