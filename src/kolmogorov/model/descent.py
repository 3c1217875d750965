"""The paper's way to a Kolmogorov model: a descent over the ratings themselves."""

from __future__ import annotations

import hashlib
import numbers
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov._support.files import check_writable
from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.base import by_users, checked, item_counts
from kolmogorov.fitted.point import Fitted, Pull
from kolmogorov.fitting.cluster import sharded_engine
from kolmogorov.fitting.descent.checkpoint import Checkpoint
from kolmogorov.fitting.descent.engine import RatingsEngine, threaded_engine
from kolmogorov.fitting.descent.multi_start import MultiStart
from kolmogorov.fitting.descent.objective import Mass
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.gpu import gpu_engine
from kolmogorov.model.problem import events_of, problem_of
from kolmogorov.solvers import RowSolver

#: Sweeps and starts where nothing else is said; by judgement.
_SWEEPS, _STARTS = 100, 1
#: The least variance of answers around predictions, on the probability scale.
_LEAST_NOISE = 1e-6


def run(model: Any, table: Any, execution: Threads | Cuda | Dask, keep_interrupted: bool) -> tuple[Fitted, bool]:
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
        training=by_users(observations),
        history=found.history,
        noise=np.full(len(theta), max(found.history[-1].rmse ** 2, _LEAST_NOISE)),
    )
    return checked(fitted), found.interrupted


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
        return solver.solve_batch(gram[None], (gram @ mean)[None], solver.nearest(mean)[None], seeds)[0]


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
