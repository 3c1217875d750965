"""What a row solver is: an object with `solve(gram, moment, start, seeds)` for a batch of rows, a name and limits."""

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support import validation as must
from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.errors import DataError, ParameterError

#: What is known of a batch beside its points: by the names of `Solution`, and `converged` and `proved` for its status,
#: an entry for every row.
Known = dict[str, Any]

#: The solver of each family that takes any number of variables.
UNLIMITED = {"simplex": "pairwise", "binary": "local_search", "box": "coordinate", "ridge": "cholesky"}
#: What options must be, by their names: an option of one name is the same in every solver.
_RULES: dict[str, must.Requirement] = {
    **dict.fromkeys(("n_starts", "n_draws", "max_iter"), must.integer(1, must.MOST_ROUNDS)),
    **dict.fromkeys(("gamma", "step", "a"), must.POSITIVE),
    **dict.fromkeys(("trace", "warm", "screened", "initial_step", "reorthogonalised"), must.BOOLEAN),
    "tol": must.real(0.0),
    "max_nodes": must.integer(1),
    "exact_up_to": must.integer(0, 30),
    # A line search that hardly shortens its step would not come to an end.
    "shrink": must.between(0.0, 0.99),
    "armijo": must.between(0.0, 1.0),
    "initial_dual": must.real(-1e100, 1e100),
    "evd": must.one_of(("full", "lanczos")),
}

_NEVER = np.zeros(1, dtype=np.int64)
#: Of the thread that solves one problem while another waits for it: `cell` is set when the user interrupts.
solving = threading.local()


def stop_cell() -> NDArray[np.int64]:
    """Return the int64[1] that long kernels look at and end when it is set; in a fit, whose shares are short, never."""
    cell: NDArray[np.int64] = getattr(solving, "cell", _NEVER)
    return cell


class RowSolver(ABC):
    """Solves a batch of small quadratic programs: minimise x^T gram x - 2 x^T moment over the set of its family.

    A solver is a frozen dataclass whose fields are its options, so that it can be compared, printed, stored with a
    model and made from its name. `cost` is how many observations of a row take as long as its problem, about: a method
    for bits takes a millisecond or more.
    """

    name: str
    family: str = "binary"
    max_variables: ClassVar[int | None] = None
    #: Whether it goes on from dual points (see `dual.DualSolver`).
    warm: bool = False
    cost: ClassVar[int] = 100_000

    def __post_init__(self) -> None:
        """Check the options, and make them the numbers that kernels are compiled for."""
        own = {name: rule for name, rule in _RULES.items() if name in vars(self)}
        must.check_parameters(f"Solver '{self.name}'", vars(self), own)
        for name in own:
            vars(self)[name] = type(getattr(type(self), name))(vars(self)[name])

    @abstractmethod
    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        """Solve n problems given as float64 arrays, which must stay as they are; return points and what is known."""

    def _judged(self, gram: Floats, moment: Floats, known: Known) -> Known:
        """Add what takes a computation of its own, such as bounds: no fit asks for it, and no clock runs."""
        return known

    def solve(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds | None = None) -> Floats:
        """Solve n problems at once: (gram[n,D,D], moment[n,D], start[n,D], seeds[n]) -> x[n,D]."""
        self.check_size(moment.shape[1])
        seeds = row_seeds(0, 0, 0, np.arange(len(moment))) if seeds is None else seeds
        return self._solved(gram, moment, start, seeds)[0]

    def nearest(self, point: Floats) -> Floats:
        """Return the feasible point nearest to one that lies between feasible ones."""
        return (point > 0.5).astype(np.float64) if self.family == "binary" else point

    def check_size(self, size: int) -> None:
        """Raise where the problem has more variables than this solver declares to handle."""
        if self.max_variables is not None and size > self.max_variables:
            raise ParameterError(
                f"Solver '{self.name}' handles at most {self.max_variables} variables, this problem has {size}. "
                f"Use a solver without that limit, for example '{UNLIMITED[self.family]}'."
            )

    def row_cost(self, size: int) -> int:
        """Return the cost of a problem of this size; shares of rows are cut by it."""
        return self.cost


@dataclass(frozen=True)
class Given(RowSolver):
    """A solver from elsewhere: any object with `solve(gram, moment, start, seeds)`, which returns points."""

    solver: Any
    family: str

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the object, or of its class."""
        return str(getattr(self.solver, "name", type(self.solver).__name__))

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        x = np.array(self.solver.solve(gram, moment, start, seeds), dtype=np.float64)
        if x.shape != start.shape:
            raise DataError(f"Solver '{self.name}' must return points of shape {start.shape}, got {x.shape}.")
        if self.family == "binary" and not ((x == 0.0) | (x == 1.0)).all():
            raise DataError(f"Points of solver '{self.name}' must hold only 0 and 1.")
        beside = np.abs(x.sum(axis=1) - 1.0).max() if self.family == "simplex" else 0.0
        if not ((x >= 0.0) & (x <= 1.0)).all() or beside > 1e-9:
            raise DataError(f"Points of solver '{self.name}' must lie in [0, 1], on the simplex with the sum 1.")
        return x, {}
