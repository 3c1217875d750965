"""What a change of the table makes of each kind of fitted value."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import singledispatch
from typing import Any

from kolmogorov._support.progress import notice
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data.table.changes import Change
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import checked
from kolmogorov.fitted.lists import FittedLists
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting import moving as rows
from kolmogorov.fitting.distillation.going_on import gone_on
from kolmogorov.fitting.lists.links import ItemTable, links_of
from kolmogorov.model.learning import plan_of, problem_of, quick_problem
from kolmogorov.sampling.plan import likelihood_of
from kolmogorov.sampling.warm import drawn_again, drawn_from
from kolmogorov.solvers.registry import usual

#: The share of a table's ratings that must change, in one update or in several, for chains to go over it; by
#: judgement. Below, only rows move.
_SWEPT = 0.01


@singledispatch
def moved(fitted: Any, model: Any, change: Change) -> Any:
    """Return the fitted value after a change of its table."""
    raise DataError(f"{type(model).__name__} cannot be updated; fit it again.")


@moved.register
def _(fitted: Fitted, model: Any, change: Change) -> Fitted:
    problem = problem_of(model, fitted.n_events)
    solvers = problem.user_solver, problem.item_solver
    found = rows.moved(fitted, change, solvers, model.unobserved_, model.n_jobs)
    if fitted.learned_from == "ratings" or model.unobserved_ or not _is_swept(found):
        return found
    seed = _seed(model, change.after)
    drawn = drawn_from(found, change.after, seed, model.n_jobs)
    found = gone_on(found, drawn, quick_problem(model, fitted.n_events), seed, model.n_jobs)
    return replace(found, n_changed=0)


def _is_swept(found: Fitted) -> bool:
    """Tell whether so much has changed that chains go over the table; of yes and no, chains as short bring nothing."""
    return found.n_changed >= _SWEPT * len(found.training) and likelihood_of(found.training) == "gaussian"


@moved.register
def _(fitted: Posterior, model: Any, change: Change) -> Posterior:
    _check_ratings(fitted, change.after)
    plan = plan_of(model, change.after, learned=False)
    if plan.likelihood != fitted.likelihood:
        raise DataError(
            f"The draws are of likelihood '{fitted.likelihood}', which does not go with the new ratings. Fit a model "
            "to all ratings instead."
        )
    plan = replace(plan, n_events=fitted.n_events, levels=fitted.levels, unobserved=fitted.unobserved)
    notice(f"Fitting the {fitted.n_chains} chains again, each from its last draw.")
    return drawn_again(fitted, change, plan, _seed(model, change.after), model.n_jobs)


@moved.register
def _(fitted: FittedLists, model: Any, change: Change) -> FittedLists:
    settings, size = fitted.settings, fitted.events.n_events
    solvers = usual("simplex", size), usual("box", size)
    events = rows.moved(fitted.events, change, solvers, settings.unobserved, model.n_jobs)
    with one_blas_thread(), Threads(model.n_jobs) as dealer:
        items = ItemTable.of(change.after.rows, change.after.n_items)
        links = links_of(items, items.ridges(settings.ridge, settings.growth), model.neighbours, dealer)
    return checked(FittedLists(links, events, settings), "A larger 'ridge' may help.")


def _check_ratings(fitted: Posterior, table: Observations) -> None:
    """Refuse ratings that draws of yes and no have no chances of."""
    if fitted.likelihood == "bernoulli" and not table.is_binary:
        raise DataError(
            "The draws are of yes and no, and the new ratings are others. Fit a model to all ratings instead."
        )
    least = 1.0 if table.weights is None else float(table.weights.min())
    if fitted.unobserved and fitted.unobserved >= least:
        raise DataError(
            f"What was not observed weighs {fitted.unobserved:g} in the draws, and a new rating weighs {least:g}, "
            "which must be more. Fit a model to all ratings instead."
        )


def _seed(model: Any, table: Observations) -> int:
    """Return a seed for this table: one update after another must not meet the same random numbers again."""
    text = f"{base_seed(model.random_state)} {table.fingerprint()}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
