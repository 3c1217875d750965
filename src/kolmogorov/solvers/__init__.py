"""Row solvers: small quadratic programs, a batch at a time, by their names.

contract: what a solver is · bqp: problems of your own · rows: normal equations and values
simplex (LCQP), box (and no constraint) · exhaustive, flips, dmo: bits without a relaxation
dual (Lemma 1): gd (Algorithms 1 and 2), lanczos (Algorithm 5), newton, quasi_newton · sdr · rounding (Algorithm 3)
"""

from dataclasses import fields
from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov.errors import ParameterError
from kolmogorov.solvers.box import Cholesky, Coordinate
from kolmogorov.solvers.contract import UNLIMITED, Given, RowSolver
from kolmogorov.solvers.dmo import DiscreteMonotonic
from kolmogorov.solvers.exhaustive import Exhaustive
from kolmogorov.solvers.flips import Auto, LocalSearch
from kolmogorov.solvers.gd import EnhancedGradientDescent, GradientDescent
from kolmogorov.solvers.newton import Newton
from kolmogorov.solvers.quasi_newton import QuasiNewton
from kolmogorov.solvers.sdr import SemidefiniteRelaxation
from kolmogorov.solvers.simplex import ActiveSet, FrankWolfe, Pairwise

__all__ = ["SOLVERS", "RowSolver", "names", "resolve", "usual"]

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
                f"No {family} solver {solver!r}; known: {', '.join(known)}.{suggestion(solver, known)}"
            )
        own = [field.name for field in fields(SOLVERS[solver])]
        for option in options:
            if option not in own:
                raise ParameterError(f"Solver '{solver}' has no option '{option}'.{suggestion(option, own)}")
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
