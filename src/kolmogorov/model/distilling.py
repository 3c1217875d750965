"""The second of the two steps to a Kolmogorov model: a descent over the table that draws completed."""

from __future__ import annotations

from typing import Any

from kolmogorov._support.seeds import base_seed
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.distillation.attributes import with_placed, without_placed
from kolmogorov.fitting.distillation.one_model import SWEEPS, Distillation, usual_starts
from kolmogorov.fitting.distillation.only_yes import AveragedDescents
from kolmogorov.model.problem import events_of, is_auto, quick_problem
from kolmogorov.solvers import RowSolver


def distilled(model: Any, drawn: Posterior | AveragedDescents, keep_interrupted: bool) -> tuple[Fitted, bool]:
    """Distil draws as a `KolmogorovModel` asks for; return what was learned, and whether Ctrl-C ended it.

    Of users and items that attributes place nothing is learned: they are placed in the model that there is without.
    """
    if not isinstance(drawn, Posterior):
        return learned(model, drawn, keep_interrupted)
    fitted, interrupted = learned(model, without_placed(drawn), keep_interrupted)
    return with_placed(fitted, drawn, placing_solvers(model, fitted)), interrupted


def learned(model: Any, drawn: Posterior | AveragedDescents, keep_interrupted: bool) -> tuple[Fitted, bool]:
    """Distil draws in which attributes place nobody and nothing."""
    n_events = events_of(model, drawn.training)
    distillation = Distillation(
        quick_problem(model, n_events),
        n_events,
        seed=base_seed(model.random_state),
        n_init=usual_starts(drawn.training) if is_auto(model.n_init) else int(model.n_init),
        max_iter=SWEEPS if is_auto(model.max_iter) else int(model.max_iter),
        tol=float(model.tol),
        on_sweep=model._on_sweep,
        keep_interrupted=keep_interrupted,
        n_jobs=model.n_jobs,
    )
    return distillation.of(drawn, drawn.answer_variance, drawn.unobserved)


def placing_solvers(model: Any, fitted: Fitted) -> tuple[RowSolver, RowSolver]:
    """Return the solvers that place users and items by their attributes: those of the distillation."""
    problem = quick_problem(model, fitted.n_events)
    return problem.user_solver, problem.item_solver
