"""The small problems of users and items that the parameters of a `KolmogorovModel` describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from kolmogorov._support.wording import named
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.fitting.descent.objective import Objective
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.distillation.one_model import quick_solver, usual_events
from kolmogorov.solvers import resolve
from kolmogorov.solvers.registry import usual

#: What an item may be in an event: it happens there or not, or with any chance.
Levels = Literal[2, "chances"]
#: Ridges on theta and psi of a descent over ratings whose user gave none; by judgement.
_RIDGES = (10.0, 0.0)


def problem_of(model: Any, n_events: int) -> Problem:
    """Return the row solvers and the objective that the parameters of a model describe."""
    sides = (("simplex", model.user_solver), (item_family(model.levels), model.item_solver))
    users, items = (usual(name, n_events) if is_auto(solver) else resolve(name, solver) for name, solver in sides)
    for solver in (users, items):
        solver.check_size(n_events)
    unobserved = model.unobserved if is_auto(model.unobserved) else float(model.unobserved)
    return Problem(
        users,
        items,
        Objective(*ridges_of(model), model.prior, unobserved),
        item_prior=model._item_prior,
        keep_better=bool(model.keep_better),
    )


def quick_problem(model: Any, n_events: int) -> Problem:
    """Return the same for sweeps over a completed table: items are solved quickly, unless a solver was asked for."""
    problem = problem_of(model, n_events)
    if is_auto(model.item_solver):
        problem = replace(problem, item_solver=quick_solver(item_family(model.levels), n_events))
    return problem


def item_family(levels: Levels) -> str:
    """Return the family of the row solvers of items.

    Examples
    --------
    >>> item_family(2), item_family("chances")
    ('binary', 'box')
    """
    return "box" if levels == "chances" else "binary"


def ridges_of(model: Any) -> tuple[float, float]:
    """Return the ridges of a descent over ratings on theta and psi, in numbers."""
    given = zip((model.user_reg, model.item_reg), _RIDGES, strict=True)
    user_reg, item_reg = (ridge if is_auto(value) else float(value) for value, ridge in given)
    return user_reg, item_reg


def events_of(model: Any, table: Any) -> int:
    """Return the number of events of a model of a table."""
    if not is_auto(model.n_events):
        return int(model.n_events)
    if not isinstance(table, Observations):
        raise ParameterError("With a table in a cluster " + named("n_events") + " must be a number.")
    return usual_events(len(table), table.n_users, table.n_items)


def is_auto(value: Any) -> bool:
    """Tell whether a parameter is left to the model; others may be solvers or arrays."""
    return isinstance(value, str) and value == "auto"
