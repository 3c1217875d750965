"""The families of row solvers: the set that each minimises over, where it starts and which starts it takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.problems import BinaryQP, BoxQP, LevelQP, RidgeQP, SimplexQP
from kolmogorov.problems.programs import level_values
from kolmogorov.problems.quadratic import QuadraticProgram
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


@dataclass(frozen=True)
class LevelSolver(RowSolver):
    """Base of the items' solvers of many-valued models: minimise over levels^D.

    A batch has no place for the levels, so that they are an option; a problem on its own brings its own.
    """

    levels: tuple[float, ...] = field(default=(0.0, 1.0), kw_only=True)

    family = "levels"
    problem = LevelQP
    typical_cost = 8_000
    unlimited = "coordinate"

    def __post_init__(self) -> None:
        """Check the options; levels may come as any sequence of numbers."""
        try:
            object.__setattr__(self, "levels", tuple(level_values(self.levels).tolist()))
        except DataError as error:
            raise ParameterError(f"Solver '{self.name}': " + error.args[0]) from None
        super().__post_init__()

    @cached_property
    def grid(self) -> Floats:
        """The levels as an array."""
        return np.array(self.levels)

    def on(self, levels: ArrayLike) -> Self:
        """Return the same solver for other levels."""
        return replace(self, levels=tuple(np.asarray(levels, dtype=np.float64).tolist()))

    def _prepared(self, problem: QuadraticProgram) -> Self:
        assert isinstance(problem, LevelQP)
        return self.on(problem.levels)

    def _default_start(self, size: int) -> Floats:
        return np.full(size, self.nearest(np.zeros(1))[0])

    def nearest(self, point: Floats) -> Floats:
        """Return the feasible point nearest to one that lies between feasible ones."""
        found: Floats = self.grid[nearest(point, self.grid)]
        return found

    def _check_start(self, start: Floats) -> None:
        if not np.isin(start, self.grid).all():
            raise DataError(f"'start' must hold only levels: {', '.join(f'{level:g}' for level in self.levels)}.")


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
