"""The second of the two steps to a Kolmogorov model: a descent over the table that draws completed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kolmogorov._support.seeds import base_seed
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.distillation.one_model import SWEEPS, Distillation, quick_solver, usual_starts
from kolmogorov.fitting.distillation.only_yes import AveragedDescents
from kolmogorov.model.problem import events_of, is_auto, item_family, problem_of


def distilled(model: Any, drawn: Posterior | AveragedDescents, keep_interrupted: bool) -> tuple[Fitted, bool]:
    """Distil draws as a `KolmogorovModel` asks for; return what was learned, and whether Ctrl-C ended it."""
    n_events = events_of(model, drawn.training)
    problem = problem_of(model, n_events)
    if is_auto(model.item_solver):
        problem = replace(problem, item_solver=quick_solver(item_family(model.levels), n_events))
    distillation = Distillation(
        problem,
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
