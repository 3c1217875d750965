"""From a solver's name to the solver."""

from __future__ import annotations

from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov.errors import ParameterError
from kolmogorov.solvers.box import Cholesky, Coordinate
from kolmogorov.solvers.contract import Given, RowSolver
from kolmogorov.solvers.dmo import DiscreteMonotonic
from kolmogorov.solvers.exhaustive import Exhaustive
from kolmogorov.solvers.flips import Auto, LocalSearch
from kolmogorov.solvers.gd import EnhancedGradientDescent, GradientDescent
from kolmogorov.solvers.newton import Newton
from kolmogorov.solvers.quasi_newton import QuasiNewton
from kolmogorov.solvers.sdr import SemidefiniteRelaxation
from kolmogorov.solvers.simplex import ActiveSet, FrankWolfe, Pairwise

_FOR_BITS = (Auto, Exhaustive, LocalSearch, DiscreteMonotonic)
_BY_RELAXATION = (GradientDescent, EnhancedGradientDescent, QuasiNewton, Newton, SemidefiniteRelaxation)
_ALL = (ActiveSet, Pairwise, FrankWolfe, *_FOR_BITS, *_BY_RELAXATION, Coordinate, Cholesky)
#: Every solver by its name; of each family the usual one comes first.
SOLVERS: dict[str, type[Any]] = {kind.name: kind for kind in _ALL}
_FAMILIES = tuple(dict.fromkeys(kind.family for kind in SOLVERS.values()))


def names(family: str) -> list[str]:
    """List the solvers of a family.

    Examples
    --------
    >>> names("simplex")
    ['active_set', 'pairwise', 'frank_wolfe']
    """
    if family not in _FAMILIES:
        raise ParameterError(f"Unknown family {family!r}; known: {', '.join(_FAMILIES)}.")
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
    return solver if most is None or size <= most else resolve(family, solver.unlimited)


def resolve(family: str, solver: Any, /, **options: Any) -> RowSolver:
    """Return the solver with this name and options, the given solver itself, or one made of any object with `solve`.

    Such an object's ``solve(gram, moment, start, seeds)`` gets arrays of shape (n, D, D), (n, D), (n, D) and (n,), and
    returns points of shape (n, D).

    Examples
    --------
    >>> resolve("binary", "local_search", n_starts=4)
    LocalSearch(n_starts=4, time_limit=None)
    """
    known = names(family)
    if not isinstance(solver, str):
        if not callable(getattr(solver, "solve", None)):
            raise ParameterError(
                f"A {family} solver is a name ({', '.join(known)}) or an object with a method solve(gram, moment, "
                f"start, seeds), got {solver!r}."
            )
        if options:
            raise ParameterError("Options go with a solver's name; a solver object already has its own.")
        found = solver if isinstance(solver, RowSolver) else Given(solver, family)
        if found.family != family:
            raise ParameterError(f"A {family} solver is needed, got the {found.family} solver '{found.name}'.")
        return found
    if solver not in known:
        raise ParameterError(
            f"Unknown {family} solver {solver!r}; known: {', '.join(known)}, or a solver object."
            f"{suggestion(solver, known)}"
        )
    own = SOLVERS[solver].option_names()
    for option in options:
        if option not in own:
            raise ParameterError(
                f"Solver '{solver}' has no option '{option}'; it has: {', '.join(own) or 'none'}."
                f"{suggestion(option, own)}"
            )
    made: RowSolver = SOLVERS[solver](**options)
    return made
