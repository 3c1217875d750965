"""From a solver's name to the solver; and solvers from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import suggestion
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.solvers.box import Cholesky, Coordinate
from kolmogorov.solvers.contract import UNLIMITED, Known, RowSolver
from kolmogorov.solvers.dmo import DiscreteMonotonic
from kolmogorov.solvers.exhaustive import Exhaustive
from kolmogorov.solvers.flips import Auto, LocalSearch
from kolmogorov.solvers.gd import EnhancedGradientDescent, GradientDescent
from kolmogorov.solvers.newton import Newton
from kolmogorov.solvers.quasi_newton import QuasiNewton
from kolmogorov.solvers.sdr import SemidefiniteRelaxation
from kolmogorov.solvers.simplex import ActiveSet, FrankWolfe, Pairwise

_CONVEX = (ActiveSet, Pairwise, FrankWolfe, Coordinate, Cholesky)
_FOR_BITS = (Auto, Exhaustive, LocalSearch, DiscreteMonotonic)
_BY_RELAXATION = (GradientDescent, EnhancedGradientDescent, QuasiNewton, Newton, SemidefiniteRelaxation)
#: Every solver by its name; of each family the usual one comes first.
SOLVERS: dict[str, type[Any]] = {kind.name: kind for kind in (*_CONVEX, *_FOR_BITS, *_BY_RELAXATION)}


def names(family: str) -> list[str]:
    """List the solvers of a family: "simplex", "binary", "box" or "ridge".

    Examples
    --------
    >>> names("simplex")
    ['active_set', 'pairwise', 'frank_wolfe']
    """
    return [name for name, kind in SOLVERS.items() if kind.family == family]


def usual(family: str, size: int) -> RowSolver:
    """Return the solver that suits most problems of a family and size.

    Examples
    --------
    >>> usual("simplex", 8).name, usual("simplex", 10_000).name
    ('active_set', 'pairwise')
    """
    solver = resolve(family, names(family)[0])
    most = solver.max_variables
    return solver if most is None or size <= most else resolve(family, UNLIMITED[family])


def resolve(family: str, solver: Any, /, **options: Any) -> RowSolver:
    """Return the solver with this name and options, the given solver itself, or one made of any object with `solve`.

    Such an object's ``solve(gram, moment, start, seeds)`` gets arrays of shape (n, D, D), (n, D), (n, D) and (n,), and
    returns points of shape (n, D).

    Examples
    --------
    >>> resolve("binary", "local_search", n_starts=4)
    LocalSearch(n_starts=4)
    """
    known = names(family)
    if isinstance(solver, str):
        if solver not in known:
            raise ParameterError(
                f"Unknown {family} solver {solver!r}; known: {', '.join(known)}, or a solver object."
                f"{suggestion(solver, known)}"
            )
        own = [field.name for field in fields(SOLVERS[solver])]
        for option in options:
            if option not in own:
                raise ParameterError(
                    f"Solver '{solver}' has no option '{option}'; it has: {', '.join(own) or 'none'}."
                    f"{suggestion(option, own)}"
                )
        made: RowSolver = SOLVERS[solver](**options)
        return made
    if not callable(getattr(solver, "solve", None)) or options:
        raise ParameterError(
            f"A {family} solver is a name ({', '.join(known)}) with options, or an object with a method solve(gram, "
            f"moment, start, seeds) without, got {solver!r}."
        )
    found = solver if isinstance(solver, RowSolver) else Given(solver, family)
    if found.family != family:
        raise ParameterError(f"A {family} solver is needed, got the {found.family} solver '{found.name}'.")
    return found


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
        inside, words = ((x >= 0.0) & (x <= 1.0)).all(), "lie in [0, 1]"
        if self.family == "binary":
            inside, words = ((x == 0.0) | (x == 1.0)).all(), "hold only 0 and 1"
        elif self.family == "simplex":
            inside, words = inside and np.abs(x.sum(axis=1) - 1.0).max() <= 1e-9, "be non-negative and sum to 1"
        if not inside:
            raise DataError(f"Points of solver '{self.name}' must {words}.")
        return x, {}
