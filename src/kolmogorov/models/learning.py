"""Ways from a table to a fit: the descent over its ratings, wherever that runs, and the chains that complete it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.cluster import Dask, ShardedEngine, SpreadView
from kolmogorov.data.observations import Observations, check_trainable
from kolmogorov.data.view import View
from kolmogorov.descent.distillation import returning
from kolmogorov.descent.engine import Engine, Search
from kolmogorov.descent.fitted import LOST, Fitted, Pull
from kolmogorov.descent.problem import Problem
from kolmogorov.draws.plan import Plan, level_grid, likelihood_of, short
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.descent import GpuEngine
from kolmogorov.solvers import RowSolver

if TYPE_CHECKING:
    from kolmogorov.models.kolmogorov import KolmogorovModel

#: What an item may be in an event: it happens there or not, or with any chance.
Psi = Literal["binary", "soft"]
Auto = Literal["auto"]
Execution = Threads | Cuda | Dask
#: Beyond so many ratings chains take minutes where a descent takes seconds; by judgement.
MOST_RATINGS = 5_000_000
#: The least variance of answers around predictions, on the probability scale.
_LEAST_NOISE = 1e-6
#: Place of a random stream.
_SAMPLED = 9


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


def usual_events(n_ratings: int, n_users: int, n_items: int) -> int:
    """Return how many events a model learned from ratings has by default: as many as tell people apart.

    Examples
    --------
    >>> usual_events(1_500, 101, 17), usual_events(80_000, 943, 1682)
    (9, 16)
    """
    wanted = round(10.0 * (max(n_ratings, 1) / 2_000.0) ** 0.25)
    return int(np.clip(wanted, 1, max(1, min(16, n_users, n_items))))


def short_plan(table: Observations) -> Plan:
    """Return the plan of the few short chains that complete a table."""
    likelihood, sizes = likelihood_of(table), short(table)
    return Plan(**vars(sizes), likelihood=likelihood, levels=level_grid(table, likelihood, sizes.n_events))


def descended(table: Observations, execution: Execution, problem: Problem, search: Search) -> tuple[Fitted, bool]:
    """Descend over ratings; return what was learned, and whether Ctrl-C ended it."""
    check_trainable(table, only_yes=problem.unobserved != 0.0)
    kind: Any = Engine
    if not isinstance(execution, Threads):
        kind = GpuEngine if isinstance(execution, Cuda) else ShardedEngine
    with one_blas_thread(), execution:
        engine = kind(problem, table, execution)
        found = search.run(engine)
        if isinstance(rows := table.rows, SpreadView):
            # The model keeps the ratings, and the cluster may go.
            table = table.over(rows=View(rows.indptr, rows.indices, rows.values, rows.weights))
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


def _average_item(solver: RowSolver, theta: Floats, psi: Floats) -> Floats:
    """Return the psi whose predictions come nearest to the mean over items."""
    mean = psi.mean(axis=0)
    gram = theta.T @ theta / len(theta)
    seeds = row_seeds(0, 0, 0, np.zeros(1, dtype=np.int64))
    with one_blas_thread():
        return solver.solve(gram[None], (gram @ mean)[None], solver.nearest(mean)[None], seeds)[0]


# --- events that are found again --------------------------------------------------------------------------------------


def resampled(fitted: Fitted, table: Observations, execution: Execution, problem: Problem, search: Search) -> Fitted:
    """Return a model that knows how well its events are found in two samples of its ratings, drawn with replacement."""
    found, quiet = [], replace(search, on_sweep=None, checkpoint=None, keep_interrupted=False)
    for sample in range(2):
        times = generator(search.seed, _SAMPLED, sample).multinomial(len(table), np.full(len(table), 1.0 / len(table)))
        drawn = table.subset(times > 0)
        weights = times[times > 0].astype(np.float64)
        if drawn.weights is not None:
            weights *= drawn.weights
        drawn = drawn.over(rows=replace(drawn.rows, weights=weights))
        found.append(descended(drawn, execution, problem, quiet)[0].theta)
    return replace(fitted, stability=returning(fitted.theta, found, table.rows.counts.astype(np.float64), halved=False))


def found_again(stability: Floats, samples: str) -> str:
    """Say in a line how well events are found again in both halves of the chains, or in two samples of the ratings.

    Examples
    --------
    >>> found_again(np.array([0.97, 0.931, 0.94]), "chains")
    '3 events, each found again in both halves of the chains (0.93 or more).'
    """
    n, where = stability.size, "both halves of the chains" if samples == "chains" else "two samples of the ratings"
    lost = np.flatnonzero(stability < LOST).tolist()
    if np.isnan(stability).any():
        return f"{n} events; there are too few draws to tell whether they would be found again."
    if not lost:
        return f"{n} events, each found again in {where} ({np.floor(100.0 * stability.min()) / 100.0:.2f} or more)."
    return f"{n} events; another sample of the {samples} has no event {' or '.join(map(str, lost))}."
