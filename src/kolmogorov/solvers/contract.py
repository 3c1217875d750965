"""What every row solver is: a public `solve` that checks and times, a private batch that computes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Counts, Floats, Seeds
from kolmogorov._support.validation import Requirement, check_parameters
from kolmogorov.errors import DataError, SolverMismatchError
from kolmogorov.solvers.problems import BinaryQP, QuadraticProgram, Solution, Status, real_array
from kolmogorov.solvers.quadratic import certify, rounding_allowances
from kolmogorov.solvers.stopping import interruptible

PHASES = ("I-A", "I-B", "II-A", "II-B")
# Up to this many variables every solver ends in milliseconds (benchmarks/solvers.py), and a thread to interrupt would
# be the larger part.
_MOMENTARY = 16
_UNLIMITED = {"simplex": "pairwise", "binary": "local_search", "box": "coordinate", "ridge": "cholesky"}


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
    n_evd, n_lanczos : int64[n] or None
        Eigendecompositions, full ones and Lanczos runs apart, those of line searches included, that of the bound not.
    gradient_norm : float64[n] or None
        Norm of the dual's gradient at the end, from a full EVD.
    phases : int64[n, 4] or None
        Iterations in the phases I-A, I-B, II-A, II-B.
    nodes : int64[n] or None
        Of a search tree.
    dual : float64[n, D + 1] or None
        Final dual variables.
    trace, dual_trace : list of arrays or None
        Per row, the dual value and the dual point of every iteration.
    later : callable or None
        Adds what takes more work and is no part of the method, such as a bound; `certified` calls it.
    """

    x: Floats
    lower_bound: Floats | None = None
    iterations: Counts | None = None
    converged: NDArray[np.bool_] | None = None
    proved: NDArray[np.bool_] | None = None
    n_evd: Counts | None = None
    n_lanczos: Counts | None = None
    gradient_norm: Floats | None = None
    phases: Counts | None = None
    nodes: Counts | None = None
    dual: Floats | None = None
    trace: list[Floats] | None = None
    dual_trace: list[Floats] | None = None
    later: Callable[[Batch], Batch] | None = None

    def certified(self) -> Batch:
        """Return the batch with the bounds that were left for later."""
        return self if self.later is None else replace(self.later(self), later=None)

    def solution(self, problem: QuadraticProgram, seconds: float, row: int = 0) -> Solution:
        """Return what is known about a row, as the answer to a problem of its own."""
        columns = {name: column for name, column in vars(self).items() if column is not None and name != "later"}
        known: dict[str, Any] = {name: column[row] for name, column in columns.items()}
        known = {name: first.item() if isinstance(first, np.generic) else first for name, first in known.items()}
        ended, proved = known.pop("converged", True), known.pop("proved", False)
        if "phases" in known:
            known["phases"] = dict(zip(PHASES, known["phases"].tolist(), strict=True))
        bound = known.pop("lower_bound") + problem.offset if "lower_bound" in known else None
        status = Status.ITERATION_LIMIT if not ended else Status.OPTIMAL if proved else Status.FEASIBLE
        return Solution(value=problem.value(self.x[row]), lower_bound=bound, status=status, seconds=seconds, **known)


class RowSolver(ABC):
    """Solves a batch of small quadratic programs of one family.

    A solver is a frozen dataclass whose fields are its options, so that it can be compared, printed, stored
    with a model and made from its name. Subclasses implement `_solve_batch` and declare their limits.
    """

    name: str
    problem: type[QuadraticProgram]
    max_variables: ClassVar[int | None] = None
    exact: ClassVar[bool] = False
    typical_cost: ClassVar[int] = 200
    from_table: ClassVar[bool] = False
    requirements: ClassVar[Mapping[str, Requirement]] = {}

    def __post_init__(self) -> None:
        """Check the options; dataclasses call this at the end of their constructor."""
        options = {name: getattr(self, name) for name in self.requirements}
        check_parameters(f"Solver '{self.name}'", options, self.requirements)

    @abstractmethod
    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        """Solve n problems given as float64 arrays; must not change its arguments."""

    @property
    def family(self) -> str:
        """Name of the set over which it minimises."""
        return self.problem.family

    def nearest(self, point: Floats) -> Floats:
        """Return the feasible point nearest to one that lies between feasible ones."""
        return self.problem.nearest(point)

    def solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds | None = None) -> Floats:
        """Solve n problems at once: (gram[n,D,D], moment[n,D], start[n,D]) -> x[n,D]."""
        self.check_size(moment.shape[1])
        if seeds is None:
            seeds = row_seeds(0, 0, 0, np.arange(len(moment)))
        return self._points(gram, moment, start, seeds)

    def _points(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Floats:
        """Return what a fit needs, the points alone; for methods whose bounds are extra work."""
        return self._solve_batch(gram, moment, start, seeds).x

    def solve_rows(self, table: tuple[Any, ...], first: int, last: int, out: Floats, reached: Floats) -> None:
        """Make the normal equations of some rows, solve them and keep the better point, all in one compiled call.

        The table is what `kernels.rows.gram.normal_equations` takes before the rows, with the partners as bits where
        they are, and the points to start from; `reached` gets the values. Only solvers `from_table` can.
        """
        raise NotImplementedError(f"Solver '{self.name}' takes normal equations.")

    def solve(self, problem: QuadraticProgram, *, start: ArrayLike | None = None, random_state: Any = 0) -> Solution:
        """Solve one problem.

        Parameters
        ----------
        problem : SimplexQP, BinaryQP, ...
            Of this solver's family.
        start : array-like of shape (D,), optional
        random_state : int, Generator or None
            Seed of methods that draw random numbers.
        """
        return self.solve_many([problem], start=None if start is None else [start], random_state=random_state)[0]

    def solve_many(
        self, problems: Sequence[QuadraticProgram], *, start: Sequence[ArrayLike] | None = None, random_state: Any = 0
    ) -> list[Solution]:
        """Solve problems of one size in one call; each as `solve` would, in its share of the seconds.

        Parameters
        ----------
        problems : sequence of SimplexQP, BinaryQP, ...
            Of this solver's family.
        start : sequence of array-like of shape (D,), optional
            A point for every problem.
        random_state : int, Generator or None
            Seed of methods that draw random numbers, the same for all problems.
        """
        for problem in problems:
            self._check_family(problem)
        n, size = len(problems), problems[0].size
        self.check_size(size)
        points = [self.problem.first(size)] * n if start is None else [self._given_start(p, size) for p in start]
        seeds = row_seeds(base_seed(random_state), 0, 0, np.zeros(n, dtype=np.int64))

        def work() -> tuple[Batch, float]:
            with one_blas_thread():
                began = time.perf_counter()
                # Kernels would be compiled again for arrays that are read-only, for half a minute: copies are not.
                gram, moment = (np.stack([getattr(p, name) for p in problems]) for name in ("gram", "moment"))
                batch = self._solve_batch(gram, moment, np.stack(points), seeds)
                seconds = time.perf_counter() - began
                return batch.certified(), seconds

        batch, seconds = work() if size <= _MOMENTARY and n == 1 else interruptible(work)
        if not np.isfinite(batch.x).all():
            raise DataError(
                f"Solver '{self.name}' found no finite solution: the entries of this problem differ by too many "
                "orders of magnitude. Rescale the variables, or add a ridge to the diagonal of 'gram'."
            )
        return [batch.solution(problem, seconds / n, row) for row, problem in enumerate(problems)]

    def _given_start(self, start: ArrayLike, size: int) -> Floats:
        try:
            point = real_array(start, "start", ndim=1)
        except DataError:
            raise DataError("'start' must be an array of numbers, one per variable, all of them finite.") from None
        if point.shape != (size,):
            raise DataError(f"'start' must have shape ({size},), got {point.shape}.")
        self.problem.check_points(point, "'start'")
        return point

    def check_size(self, size: int) -> None:
        """Raise where the problem has more variables than this solver declares to handle."""
        if self.max_variables is not None and size > self.max_variables:
            raise SolverMismatchError(
                f"Solver '{self.name}' handles at most {self.max_variables} variables, this problem has {size}. "
                f"Use a solver without that limit, for example '{self.unlimited}'."
            )

    @property
    def unlimited(self) -> str:
        """Name of a solver of this family that takes any size."""
        return _UNLIMITED[self.family]

    def row_cost(self, size: int) -> int:
        """Return how many observations of a row take as long as its problem, about; shares of rows are cut by it."""
        return self.typical_cost

    def options(self) -> dict[str, Any]:
        """Return the options as a dictionary from which `resolve` makes the same solver again."""
        return {name: getattr(self, name) for name in self.option_names()}

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of the options."""
        return [field.name for field in fields(cls)] if is_dataclass(cls) else []

    def _check_family(self, problem: QuadraticProgram) -> None:
        if not isinstance(problem, self.problem):
            raise SolverMismatchError(
                f"Solver '{self.name}' takes a {self.problem.__name__}, got a {type(problem).__name__}."
            )


class BinarySolver(RowSolver):
    """Base of the items' solvers: minimise over {0,1}^D."""

    problem = BinaryQP
    # Most methods take a millisecond or more for a row.
    typical_cost = 100_000


def binary_allowance(gram: Floats, moment: Floats) -> Floats:
    """Bound each row's rounding error of its value over {0,1}^D, so that lower bounds stay below every value."""
    rounding_allowances(gram, moment, out := np.empty(len(moment)))
    return out


class Certified(RowSolver):
    """A method that knows how far from the optimum it may have ended: at most twice its gap."""

    tol: float

    @abstractmethod
    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: Counts) -> None:
        """Improve `x`; write the gap at the end and the iterations of each row."""

    def _descended(self, gram: Floats, moment: Floats, start: Floats) -> tuple[Floats, Floats, Any]:
        x, gaps, iterations = start.copy(), np.empty(len(start)), np.empty(len(start), dtype=np.int64)
        self._descend(gram, moment, x, gaps, iterations)
        return x, gaps, iterations

    def _points(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Floats:
        return self._descended(gram, moment, start)[0]

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x, gaps, iterations = self._descended(gram, moment, start)
        bounds, converged = np.empty(len(x)), np.empty(len(x), dtype=bool)
        certify(gram, moment, x, float(self.tol), gaps, bounds, converged)
        return Batch(x, bounds, iterations, converged, proved=converged)


@dataclass(frozen=True)
class Given(RowSolver):
    """A solver from elsewhere: any object with `solve(gram, moment, start, seeds)`, which returns points.

    Parameters
    ----------
    solver : object
    problem : type
        The quadratic program that it is asked to solve.

    Examples
    --------
    >>> class Nothing:
    ...     def solve(self, gram, moment, start, seeds):
    ...         return 0.0 * start
    >>> Given(Nothing(), BinaryQP).solve(BinaryQP([[1.0]], [1.0])).x.tolist()
    [0.0]
    """

    solver: Any
    problem: type[QuadraticProgram]

    typical_cost = 100_000

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the object, or of its class."""
        return str(getattr(self.solver, "name", type(self.solver).__name__))

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.array(self.solver.solve(gram, moment, start, seeds), dtype=np.float64)
        if x.shape != start.shape:
            raise DataError(f"Solver '{self.name}' must return points of shape {start.shape}, got {x.shape}.")
        self.problem.check_points(x, f"Points of solver '{self.name}'")
        return Batch(x)
