"""The contract of every row solver: a public `solve` that checks and times, a private batch that computes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov.errors import DataError, SolverMismatchError
from kolmogorov.problems import BinaryQP, SimplexQP, Solution, Status
from kolmogorov.problems.quadratic import QuadraticProgram

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """What a solver knows about n rows; arrays have one entry per row.

    Attributes
    ----------
    x : float64[n, D]
    lower_bound : float64[n] or None
        Absent where the method gives no bound.
    iterations : int64[n] or None
    converged : bool[n] or None
        Absent where the method always runs to its end.
    proved : bool[n] or None
        Whether the row's optimality was shown; absent where the method shows nothing.
    """

    x: Floats
    lower_bound: Floats | None = None
    iterations: NDArray[np.int64] | None = None
    converged: NDArray[np.bool_] | None = None
    proved: NDArray[np.bool_] | None = None


class RowSolver(ABC):
    """Solves a batch of small quadratic programs of one family.

    A solver is a frozen dataclass whose fields are its options, so that it can be compared, printed, stored
    with a model and made from its name. Subclasses implement `_solve_batch` and declare their limits.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    max_variables: ClassVar[int | None] = None
    exact: ClassVar[bool] = False

    @abstractmethod
    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        """Solve n problems given as float64 arrays; must not change its arguments."""

    @abstractmethod
    def _default_start(self, size: int) -> Floats:
        """Return the point from which a lone problem starts."""

    @abstractmethod
    def _check_start(self, start: Floats) -> None:
        """Raise where a given start is not in the feasible set."""

    def solve_batch(
        self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64] | None = None
    ) -> Floats:
        """Solve n problems at once: (gram[n,D,D], moment[n,D], start[n,D]) -> x[n,D]."""
        self.check_size(moment.shape[1])
        if seeds is None:
            seeds = row_seeds(0, 0, 0, np.arange(len(moment)))
        return self._solve_batch(gram, moment, start, seeds).x

    def solve(self, problem: QuadraticProgram, *, start: ArrayLike | None = None, random_state: Any = 0) -> Solution:
        """Solve one problem.

        Parameters
        ----------
        problem : SimplexQP or BinaryQP
            Of this solver's family.
        start : array-like of shape (D,), optional
        random_state : int, Generator or None
            Seed of methods that draw random numbers.
        """
        self._check_family(problem)
        self.check_size(problem.size)
        if start is None:
            point = self._default_start(problem.size)
        else:
            point = np.array(start, dtype=np.float64)
            if point.shape != (problem.size,):
                raise DataError(f"'start' must have shape ({problem.size},), got {point.shape}.")
            self._check_start(point)
        seeds = row_seeds(base_seed(random_state), 0, 0, np.zeros(1, dtype=np.int64))
        began = time.perf_counter()
        batch = self._solve_batch(
            np.ascontiguousarray(problem.gram[None]), problem.moment[None].copy(), point[None], seeds
        )
        seconds = time.perf_counter() - began
        x = batch.x[0]
        return Solution(
            x=x,
            value=problem.value(x),
            lower_bound=None if batch.lower_bound is None else float(batch.lower_bound[0]),
            status=_status(batch),
            iterations=None if batch.iterations is None else int(batch.iterations[0]),
            seconds=seconds,
        )

    def check_size(self, size: int) -> None:
        """Raise where the problem has more variables than this solver declares to handle."""
        if self.max_variables is not None and size > self.max_variables:
            raise SolverMismatchError(
                f"Solver '{self.name}' handles at most {self.max_variables} variables, this problem has {size}. "
                f"Use a solver without that limit, for example '{self.unlimited}'."
            )

    @property
    @abstractmethod
    def unlimited(self) -> str:
        """Name of a solver of this family that takes any size."""

    def options(self) -> dict[str, Any]:
        """Return the options as a dictionary from which `resolve` makes the same solver again."""
        return asdict(self) if is_dataclass(self) else {}  # type: ignore[call-overload,no-any-return]

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of the options."""
        return [field.name for field in fields(cls)] if is_dataclass(cls) else []

    def _check_family(self, problem: QuadraticProgram) -> None:
        expected = {"simplex": SimplexQP, "binary": BinaryQP}[self.family]
        if not isinstance(problem, expected):
            raise SolverMismatchError(
                f"Solver '{self.name}' takes a {expected.__name__}, got a {type(problem).__name__}."
            )


class SimplexSolver(RowSolver):
    """Base of the users' solvers: minimise over the probability simplex."""

    family = "simplex"
    unlimited = "pairwise"

    def _default_start(self, size: int) -> Floats:
        return np.full(size, 1.0 / size)

    def _check_start(self, start: Floats) -> None:
        if not (start >= 0).all() or abs(start.sum() - 1.0) > 1e-9:
            raise DataError("'start' must be non-negative and sum to 1.")


class BinarySolver(RowSolver):
    """Base of the items' solvers: minimise over {0,1}^D."""

    family = "binary"
    unlimited = "local_search"

    def _default_start(self, size: int) -> Floats:
        return np.zeros(size)

    def _check_start(self, start: Floats) -> None:
        if not np.isin(start, (0.0, 1.0)).all():
            raise DataError("'start' must hold only 0 and 1.")


def _status(batch: Batch) -> Status:
    if batch.converged is not None and not batch.converged[0]:
        return Status.ITERATION_LIMIT
    return Status.OPTIMAL if batch.proved is not None and batch.proved[0] else Status.FEASIBLE
