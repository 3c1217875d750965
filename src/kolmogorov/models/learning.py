"""How a model learns: the problems and chains that its parameters describe, and the ways from a table to a fit."""

from __future__ import annotations

import hashlib
import numbers
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kolmogorov._support.progress import warn
from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.writing import check_writable
from kolmogorov.cluster.dask import Dask
from kolmogorov.cluster.shards import sharded_engine
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.data.observations import Observations, check_trainable
from kolmogorov.descent.attributes import with_placed, without_placed
from kolmogorov.descent.distillation import SWEEPS, Distillation, quick_solver, usual_events, usual_starts
from kolmogorov.descent.engine import Checkpoint, MultiStart, RatingsEngine, threaded_engine
from kolmogorov.descent.fitted import Fitted, Pull, item_counts
from kolmogorov.descent.implicit import AveragedDescents, averaged_descents
from kolmogorov.descent.problem import Mass, Objective, Problem, usual_weight
from kolmogorov.draws.factors import told_apart
from kolmogorov.draws.levels import level_grid
from kolmogorov.draws.plan import Plan, likelihood_of, settled_weight, short, suited
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.sampler import drawn
from kolmogorov.errors import ConvergenceWarning, DataError, ParameterError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.descent import gpu_engine
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.solvers.registry import usual

#: What an item may be in an event: it happens there or not, or with any chance.
Psi = Literal["binary", "soft"]
#: Ridges on theta and psi of a descent over ratings whose user gave none; by judgement.
_RIDGES = (10.0, 0.0)
#: Chains are enough when more would take less than this share of the squared error away, of ratings and of answers,
#: whose log loss feels it twice as much. `benchmarks/spread.py` shows errors and seconds.
_ENOUGH = (0.003, 0.0015)
#: Beyond so many ratings chains take minutes where a descent takes seconds; by judgement.
MOST_RATINGS = 5_000_000
#: Sweeps and starts where nothing else is said; by judgement.
_SWEEPS, _STARTS = 100, 1
#: The least variance of answers around predictions, on the probability scale.
_LEAST_NOISE = 1e-6


def problem_of(model: Any, n_events: int) -> Problem:
    """Return the row solvers and the objective that the parameters of a model describe."""
    sides = (("simplex", model.user_solver), (item_family(model.psi), model.item_solver))
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
        problem = replace(problem, item_solver=quick_solver(item_family(model.psi), n_events))
    return problem


def item_family(psi: Psi) -> str:
    """Return the family of the row solvers of items."""
    return "box" if psi == "soft" else "binary"


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
        raise ParameterError("'n_events' must be a number for a table in a cluster.")
    return usual_events(len(table), table.n_users, table.n_items)


def is_auto(value: Any) -> bool:
    """Tell whether a parameter is left to the model; others may be solvers or arrays."""
    return isinstance(value, str) and value == "auto"


def plan_of(model: Any, table: Observations, *, learned: bool) -> Plan:
    """Return what `fit` samples of a table; a number of events that is left open is a guess unless it is `learned`."""
    likelihood = _likelihood(model, table)
    # An event is drawn behind each answer but where a rating is.
    answers, only_yes = likelihood != "gaussian" and model.psi == "binary", model.unobserved != 0.0
    timed = model.max_seconds is not None
    given = {name: getattr(model, name) for name in ("n_events", "n_chains", "burn_in", "n_samples", "n_features")}
    sizes = replace(
        suited(table, answers=answers, only_yes=only_yes),
        **{name: int(n) for name, n in given.items() if n != "auto"},
    )
    if learned and model.n_events == "auto" and not answers and not only_yes:
        sizes = replace(sizes, n_events=told_apart(table, sizes.n_events, sizes.n_features, model.n_jobs))
    return Plan(
        **vars(sizes),
        likelihood=likelihood,
        levels=level_grid(model.psi, table, likelihood, sizes.n_events),
        unobserved=_unobserved(model, table, likelihood),
        enough=_ENOUGH[likelihood != "gaussian"] if model.n_chains == "auto" and not timed and not only_yes else 0.0,
    )


def _unobserved(model: Any, table: Observations, likelihood: str) -> float:
    if model.unobserved == 0.0:
        return 0.0
    if likelihood != "gaussian":
        raise ParameterError("'unobserved' goes with likelihood 'gaussian'.")
    wanted = usual_weight(len(table), table.n_users * table.n_items)
    if model.unobserved != "auto":
        wanted = float(model.unobserved)
        least = 1.0 if table.weights is None else float(table.weights.min())
        if wanted > least:
            raise ParameterError(f"'unobserved' must not exceed the least weight, {least:g}, got {wanted:g}.")
    return settled_weight(wanted, table)


def _likelihood(model: Any, table: Observations) -> str:
    if model.likelihood == "auto":
        return likelihood_of(table) if model.unobserved == 0.0 else "gaussian"
    if model.likelihood == "bernoulli" and not table.is_binary:
        raise DataError("likelihood 'bernoulli' is for values 0 and 1; these data have others. Use 'gaussian'.")
    if model.likelihood != "gaussian" and table.weights is not None and (table.weights % 1.0).any():
        raise DataError(
            f"With likelihood '{model.likelihood}' weights must be whole numbers: how often an answer was given."
        )
    return str(model.likelihood)


def why_ratings(model: Any, table: Any) -> str | None:
    """Say why the descent of a `KolmogorovModel` goes over ratings; None where it goes over a completed table."""
    if model.learn_from == "ratings":
        return "as asked"
    if not model.keep_better:
        return "keep_better=False is for that"
    given = [name for name in ("user_reg", "item_reg") if getattr(model, name) != "auto"]
    if given or model.prior != "mean":
        return f"{' and '.join(given) or 'the uniform prior'} {'are' if len(given) > 1 else 'is'} for that"
    if not isinstance(table, Observations):
        return "the table is in a cluster"
    if model.unobserved != 0.0 and model.execution is not None:
        return "tables in which only yes is recorded are completed on threads"
    if len(table) > MOST_RATINGS:
        return f"there are {len(table):,} of them, and draws are made of up to {MOST_RATINGS:,}"
    return None


def refuse_attributes(beside: tuple[Any, Any], why: str) -> None:
    """Raise where there are frames of attributes and nothing that could use them."""
    if any(frame is not None for frame in beside):
        raise ParameterError(f"'users' and 'items' are attributes for draws, and there are none: {why}.")


def completed(
    model: Any,
    table: Observations,
    execution: Threads | Cuda | Dask,
    keep_interrupted: bool,
    beside: tuple[Any, Any] = (None, None),
) -> tuple[Posterior | AveragedDescents, bool]:
    """Draw as a `KolmogorovModel` asks for; return the draws, and whether Ctrl-C ended them early.

    Where only yes is recorded descents complete the table instead. `beside` are frames of attributes.
    """
    if model.checkpoint is not None:
        raise ParameterError(
            "'checkpoint' is for learning from ratings, which may take hours. Leave it out, or set "
            "learn_from='ratings'."
        )
    table.rows.check_intact()
    only_yes = model.unobserved != 0.0
    check_trainable(table, only_yes=only_yes)
    found: Posterior | AveragedDescents
    if only_yes:
        refuse_attributes(beside, "a table in which only yes is recorded is completed without chains")
        found, interrupted = _of_only_yes(model, table, keep_interrupted)
    else:
        found, interrupted = _of_chains(model, table, execution, keep_interrupted, beside)
    if interrupted:
        warn("Interrupted while the table was completed; what was done so far is used.", ConvergenceWarning)
    return found, interrupted


def _of_only_yes(model: Any, table: Observations, keep_interrupted: bool) -> tuple[AveragedDescents, bool]:
    usual = usual_weight(len(table), table.n_users * table.n_items)
    weight = usual if model.unobserved == "auto" else float(model.unobserved)
    seed = base_seed(model.random_state)
    return averaged_descents(table, weight, seed, model.n_jobs, model._on_sweep, keep_interrupted)


def _of_chains(
    model: Any,
    table: Observations,
    execution: Threads | Cuda | Dask,
    keep_interrupted: bool,
    beside: tuple[Any, Any],
) -> tuple[Posterior, bool]:
    likelihood = likelihood_of(table)
    guess = suited(table, answers=False)
    sizes = short(table, told_apart(table, guess.n_events, guess.n_features, model.n_jobs))
    grid = level_grid("auto", table, likelihood, sizes.n_events)
    plan = Plan(**vars(sizes), likelihood=likelihood, levels=grid)
    known = TableAttributes.read(*beside, (table.users, table.items))
    seed = base_seed(model.random_state)
    return drawn(plan, table, seed, execution, model._on_draw, known=known, keep_interrupted=keep_interrupted)


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
    return distillation.of(drawn, drawn.factors, drawn.answer_variance, drawn.unobserved)


def placing_solvers(model: Any, fitted: Fitted) -> tuple[RowSolver, RowSolver]:
    """Return the solvers that place users and items by their attributes: those of the distillation."""
    problem = quick_problem(model, fitted.n_events)
    return problem.user_solver, problem.item_solver


def descended(model: Any, table: Any, execution: Threads | Cuda | Dask, keep_interrupted: bool) -> tuple[Fitted, bool]:
    """Descend as a `KolmogorovModel` asks for; return what was learned, and whether Ctrl-C ended it."""
    n_events, seed = events_of(model, table), base_seed(model.random_state)
    problem = problem_of(model, n_events)
    max_iter = _SWEEPS if model.max_iter == "auto" else int(model.max_iter)
    n_init = _STARTS if model.n_init == "auto" else int(model.n_init)
    with one_blas_thread(), _opened(execution, problem, table) as engine:
        found = MultiStart(
            engine,
            n_events=n_events,
            seed=seed,
            n_init=n_init,
            max_iter=max_iter,
            tol=float(model.tol),
            on_sweep=model._on_sweep,
            checkpoint=_checkpoint(model, engine, n_events, n_init, seed),
            keep_interrupted=keep_interrupted,
            keep_better=bool(model.keep_better),
        ).run()
        observations = engine.observations()
        settled, seen = engine.problem, engine.seen_users
    theta, psi = found.state.theta.copy(), found.state.psi.copy()
    # A user without observations is the population, an item without any the nearest to the average of the others.
    theta[~seen] = theta[seen].mean(axis=0)
    blank = item_counts(observations) == 0
    if blank.any():
        psi[blank] = _average_item(settled.item_solver, theta, psi[~blank])
    cells = Mass.of(observations.rows).of_table(settled.unobserved, theta.shape[0] * psi.shape[0])
    middle = np.full(n_events, settled.item_centre(cells))
    fitted = Fitted(
        theta=theta,
        psi=psi.astype(bool) if settled.item_solver.family == "binary" else psi,
        user_pull=Pull.even(found.state.centre, settled.objective.user_reg),
        item_pull=Pull.even(middle, settled.objective.item_reg),
        training=observations.over(),
        history=found.history,
        noise=np.full(len(theta), max(found.history[-1].rmse ** 2, _LEAST_NOISE)),
    )
    return fitted.checked(), found.interrupted


def _opened(
    execution: Threads | Cuda | Dask, problem: Problem, table: Any
) -> AbstractContextManager[RatingsEngine[Any]]:
    """Open the engine that the descent runs on."""
    if isinstance(execution, Dask):
        return sharded_engine(execution, problem, table)
    if isinstance(execution, Cuda):
        return gpu_engine(execution, problem, table)
    return threaded_engine(execution, problem, table)


def _average_item(solver: RowSolver, theta: Floats, psi: Floats) -> Floats:
    """Return the psi whose predictions come nearest to the mean over items."""
    mean = psi.mean(axis=0)
    gram = theta.T @ theta / len(theta)
    seeds = row_seeds(0, 0, 0, np.zeros(1, dtype=np.int64))
    with one_blas_thread():
        return solver.solve(gram[None], (gram @ mean)[None], solver.nearest(mean)[None], seeds)[0]


def _checkpoint(model: Any, engine: RatingsEngine[Any], n_events: int, n_init: int, seed: int) -> Checkpoint | None:
    if model.checkpoint is None:
        return None
    check_writable(model.checkpoint)
    problem = engine.problem
    # Everything but the seed that shapes the sweeps.
    shape = [n_events, problem.objective, n_init, repr(problem.user_solver), repr(problem.item_solver)]
    if not problem.keep_better:
        shape.append("as found")
    text = repr((shape, engine.fingerprint()))
    return Checkpoint(
        Path(model.checkpoint),
        hashlib.sha256(text.encode()).hexdigest(),
        seed if isinstance(model.random_state, numbers.Integral) else None,
        (*engine.shape, n_events),
        binary=problem.item_solver.family == "binary",
        n_init=n_init,
    )
