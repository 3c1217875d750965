"""What a row solver is: an object with `solve(gram, moment, start, seeds)` for a batch of rows, a name and limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support import validation as must
from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.errors import DataError, SolverMismatchError
from kolmogorov.solvers.problems import check_points
from kolmogorov.solvers.rows import batch_values
from kolmogorov.solvers.stopping import stop_cell

_UNLIMITED = {"simplex": "pairwise", "binary": "local_search", "box": "coordinate", "ridge": "cholesky"}
# A line search shortens its step by at least this, or it would not come to an end.
_LEAST_SHRINKING = 0.99
#: What options must be, by their names: an option of one name is the same in every solver.
_RULES: dict[str, must.Requirement] = {
    **dict.fromkeys(("n_starts", "n_draws", "max_iter"), must.integer(1, must.MOST_ROUNDS)),
    **dict.fromkeys(("gamma", "step", "a"), must.POSITIVE),
    **dict.fromkeys(("thorough", "trace", "screened", "initial_step", "reorthogonalised"), must.BOOLEAN),
    "tol": must.real(0.0),
    "time_limit": must.POSITIVE | must.NONE,
    "max_nodes": must.integer(1),
    "shrink": must.between(0.0, _LEAST_SHRINKING),
    "armijo": must.between(0.0, 1.0),
    "initial_dual": must.real(-1e100, 1e100),
    "evd": must.one_of(("full", "lanczos")),
}


@dataclass(frozen=True, eq=False)
class Batch:
    """The points that were found for n rows, and a function that says more where somebody asks.

    That more is a dictionary by the names of `Solution`, with an entry for every row, and `converged` and `proved` for
    its status. A fit does not ask, and no clock runs while bounds are computed.
    """

    x: Floats
    more: Callable[[], dict[str, Any]] = dict


class RowSolver(ABC):
    """Solves a batch of small quadratic programs of one family.

    A solver is a frozen dataclass whose fields are its options, so that it can be compared, printed, stored
    with a model and made from its name. Subclasses implement `_solved` and declare their limits. `cost` is how many
    observations of a row take as long as its problem, about: a method for bits takes a millisecond or more.
    """

    name: str
    family: str = "binary"
    max_variables: ClassVar[int | None] = None
    exact: ClassVar[bool] = False
    cost: ClassVar[int] = 100_000

    def __post_init__(self) -> None:
        """Check the options, and make them the numbers that kernels are compiled for."""
        own = {name: rule for name, rule in _RULES.items() if name in vars(self)}
        must.check_parameters(f"Solver '{self.name}'", vars(self), own)
        for name in own:
            kind = type(getattr(type(self), name))
            if kind is not type(None):
                vars(self)[name] = kind(vars(self)[name])

    @abstractmethod
    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        """Solve n problems given as float64 arrays; must not change its arguments."""

    def solve(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds | None = None) -> Floats:
        """Solve n problems at once: (gram[n,D,D], moment[n,D], start[n,D], seeds[n]) -> x[n,D]."""
        self.check_size(moment.shape[1])
        seeds = row_seeds(0, 0, 0, np.arange(len(moment))) if seeds is None else seeds
        return self._solved(gram, moment, start, seeds).x

    def nearest(self, point: Floats) -> Floats:
        """Return the feasible point nearest to one that lies between feasible ones."""
        return (point > 0.5).astype(np.float64) if self.family == "binary" else point

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
        """Return the cost of a problem of this size; shares of rows are cut by it."""
        return self.cost

    def options(self) -> dict[str, Any]:
        """Return the options as a dictionary from which `resolve` makes the same solver again."""
        return dict(vars(self))

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of the options."""
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Certified(RowSolver):
    """A convex method that knows how far from the optimum it may have ended: at most twice its Frank-Wolfe gap.

    `descent` is its kernel, which improves x and writes the gaps at the end and the iterations.
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    family = "simplex"
    cost = 200
    descent: ClassVar[Any]

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x, gaps, iterations = start.copy(), np.empty(len(start)), np.empty(len(start), dtype=np.int64)
        self.descent(gram, moment, x, self.tol, self.max_iter, stop_cell(), gaps, iterations)

        def more() -> dict[str, Any]:
            batch_values(gram, moment, x, values := np.empty(len(x)))
            ended = gaps <= self.tol * np.maximum(np.einsum("ndd->nd", gram).max(axis=1), 1e-300)
            return {"lower_bound": values - 2.0 * gaps, "iterations": iterations, "converged": ended, "proved": ended}

        return Batch(x, more)


@dataclass(frozen=True)
class Given(RowSolver):
    """A solver from elsewhere: any object with `solve(gram, moment, start, seeds)`, which returns points."""

    solver: Any
    family: str

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the object, or of its class."""
        return str(getattr(self.solver, "name", type(self.solver).__name__))

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x = np.array(self.solver.solve(gram, moment, start, seeds), dtype=np.float64)
        if x.shape != start.shape:
            raise DataError(f"Solver '{self.name}' must return points of shape {start.shape}, got {x.shape}.")
        check_points(self.family, x, f"Points of solver '{self.name}'")
        return Batch(x)
