"""From a solver's name to the solver. A name equals its file's name; the file is imported when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov.errors import ParameterError
from kolmogorov.solvers.contract import RowSolver

_HOME = "kolmogorov.solvers"
_CLASSES = {
    "simplex": {"pairwise": "Pairwise", "frank_wolfe": "FrankWolfe", "active_set": "ActiveSet"},
    "binary": {
        "auto": "Auto",
        "exhaustive": "Exhaustive",
        "local_search": "LocalSearch",
        "dmo": "DiscreteMonotonic",
        "gd": "GradientDescent",
        "enhanced_gd": "EnhancedGradientDescent",
        "quasi_newton": "QuasiNewton",
        "newton": "Newton",
        "sdr": "SemidefiniteRelaxation",
    },
    "box": {"coordinate": "Coordinate"},
    "ridge": {"cholesky": "Cholesky"},
}
#: Where each solver is, "package.module:Class".
_TARGETS = {
    family: {name: f"{_HOME}.{family}.{name}:{cls}" for name, cls in classes.items()}
    for family, classes in _CLASSES.items()
}
#: What "auto" stands for where a family has no solver of that name.
_USUAL = {"simplex": "active_set", "box": "coordinate", "ridge": "cholesky"}


def usual(family: str, size: int) -> RowSolver:
    """Return the solver that suits most problems of a family and size.

    Examples
    --------
    >>> usual("simplex", 8).name, usual("simplex", 10_000).name
    ('active_set', 'pairwise')
    """
    solver = resolve(family, _USUAL.get(family, "auto"))
    most = solver.max_variables
    return solver if most is None or size <= most else resolve(family, solver.unlimited)


def names(family: str) -> list[str]:
    """List the solvers of a family.

    Examples
    --------
    >>> names("simplex")
    ['pairwise', 'frank_wolfe', 'active_set']
    """
    return list(_family(family))


def _family(family: str) -> dict[str, str]:
    if family not in _TARGETS:
        raise ParameterError(f"Unknown family {family!r}; known: {', '.join(_TARGETS)}.")
    return _TARGETS[family]


def resolve(family: str, solver: str | RowSolver, /, **options: Any) -> RowSolver:
    """Return the solver with this name and options, or the given solver object itself.

    Examples
    --------
    >>> resolve("binary", "local_search", n_starts=4)
    LocalSearch(n_starts=4, time_limit=None)
    """
    if isinstance(solver, RowSolver):
        if options:
            raise ParameterError("Options go with a solver's name; a solver object already has its own.")
        if solver.family != family:
            raise ParameterError(f"A {family} solver is needed, got the {solver.family} solver '{solver.name}'.")
        return solver
    known = _family(family)
    if not isinstance(solver, str) or solver not in known:
        hint = suggestion(solver, known) if isinstance(solver, str) else ""
        raise ParameterError(
            f"Unknown {family} solver {solver!r}; known: {', '.join(known)}, or a solver object.{hint}"
        )
    module, _, attribute = known[solver].partition(":")
    cls: type[RowSolver] = getattr(import_module(module), attribute)
    for option in options:
        if option not in cls.option_names():
            raise ParameterError(
                f"Solver '{solver}' has no option '{option}'; it has: {', '.join(cls.option_names()) or 'none'}."
                f"{suggestion(option, cls.option_names())}"
            )
    return cls(**options)
