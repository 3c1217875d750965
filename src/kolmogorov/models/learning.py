"""Ways from a table to a fit: the descent over its ratings, wherever that runs, and short chains that complete it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.cluster.dask import Dask
from kolmogorov.cluster.shards import ShardedEngine
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.data.observations import Observations, check_trainable
from kolmogorov.descent.engine import Engine, Search
from kolmogorov.descent.fitted import Fitted, Pull
from kolmogorov.descent.problem import Problem
from kolmogorov.draws.plan import Plan, level_grid, likelihood_of, short, suited
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.sampler import drawn
from kolmogorov.draws.start import told_apart
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.descent import GpuEngine
from kolmogorov.solvers import RowSolver

if TYPE_CHECKING:
    from kolmogorov.models.kolmogorov import KolmogorovModel

#: What an item may be in an event: it happens there or not, or with any chance.
Psi = Literal["binary", "soft"]
Execution = Threads | Cuda | Dask
#: Beyond so many ratings chains take minutes where a descent takes seconds; by judgement.
MOST_RATINGS = 5_000_000
#: The least variance of answers around predictions, on the probability scale.
_LEAST_NOISE = 1e-6


def is_auto(value: Any) -> bool:
    """Tell whether a parameter is left to the model; others may be solvers or arrays."""
    return isinstance(value, str) and value == "auto"


def why_ratings(model: KolmogorovModel, table: Observations) -> str | None:
    """Say why the descent of a model goes over ratings; None where it goes over a completed table."""
    if model.learn_from == "ratings":
        return "as asked"
    if model.unobserved != 0.0 and model.execution is not None:
        return "tables in which only yes is recorded are completed on threads"
    if len(table) > MOST_RATINGS:
        return f"there are {len(table):,} of them, and draws are made of up to {MOST_RATINGS:,}"
    return None


def short_draws(
    table: Observations,
    seed: int,
    n_jobs: int | None,
    execution: Execution,
    known: TableAttributes,
    on_draw: Any,
    keep_interrupted: bool,
) -> tuple[Posterior, bool]:
    """Draw by a few short chains; return the draws, and whether Ctrl-C ended them early."""
    likelihood, guess = likelihood_of(table), suited(table, answers=False)
    sizes = short(table, told_apart(table, guess.n_events, guess.n_features, n_jobs))
    grid = level_grid("auto", table, likelihood, sizes.n_events)
    plan = Plan(**vars(sizes), likelihood=likelihood, levels=grid)
    return drawn(plan, table, seed, execution, on_draw, known=known, keep_interrupted=keep_interrupted)


def descended(table: Observations, execution: Execution, problem: Problem, search: Search) -> tuple[Fitted, bool]:
    """Descend over ratings; return what was learned, and whether Ctrl-C ended it."""
    with one_blas_thread(), execution:
        engine = _engine(execution, problem, table)
        found = search.run(engine)
    theta, psi, seen = found.state.theta.copy(), found.state.psi.copy(), engine.seen_users
    # A user without observations is the population, an item without any the nearest to the average of the others.
    theta[~seen] = theta[seen].mean(axis=0)
    blank = ~table.seen_items
    if blank.any():
        psi[blank] = _average_item(problem.item_solver, theta, psi[~blank])
    fitted = Fitted(
        theta=theta,
        psi=psi.astype(bool) if problem.item_solver.family == "binary" else psi,
        user_pull=Pull.even(found.state.centre, problem.user_reg),
        item_pull=Pull.even(np.full(search.n_events, engine.item_centre), problem.item_reg),
        training=table.over(),
        history=found.history,
        noise=np.full(len(theta), max(found.history[-1].rmse ** 2, _LEAST_NOISE)),
    )
    return fitted.checked(), found.interrupted


def _engine(execution: Execution, problem: Problem, table: Observations) -> Engine:
    """Return the engine that the descent runs on."""
    check_trainable(table, only_yes=problem.unobserved != 0.0)
    if isinstance(execution, Dask):
        return ShardedEngine(problem, table, execution)
    if isinstance(execution, Cuda):
        return GpuEngine(problem, table, execution)
    return Engine(problem, table, execution)


def _average_item(solver: RowSolver, theta: Floats, psi: Floats) -> Floats:
    """Return the psi whose predictions come nearest to the mean over items."""
    mean = psi.mean(axis=0)
    gram = theta.T @ theta / len(theta)
    seeds = row_seeds(0, 0, 0, np.zeros(1, dtype=np.int64))
    with one_blas_thread():
        return solver.solve(gram[None], (gram @ mean)[None], solver.nearest(mean)[None], seeds)[0]
