"""Soft values where the unobserved counts as a no: descents over values that may be any number.

What was not observed is known of every pair, so that there is enough to settle values without a chain. Each descent
alternates the users' problem, on the simplex, and a ridge regression for every item.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data import Observations
from kolmogorov.data.levels import FURTHEST_LEVEL
from kolmogorov.execution import Threads
from kolmogorov.fitting.engine import Engine, Problem, opened_engine
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.multi_start import MultiStart
from kolmogorov.fitting.objective import Objective
from kolmogorov.fitting.state import Run, State
from kolmogorov.sampling.grid import FINE_STEPS, on_grid
from kolmogorov.sampling.posterior import stacked
from kolmogorov.solvers import resolve
from kolmogorov.surface.retrieval import LIKES, ranking_scores

Ridges = tuple[float, float]
#: Ridges on theta and on values of a descent that goes on from a model.
_RIDGES: Ridges = (60.0, 0.5)
#: The same of descents that begin at random and are averaged, which may overfit more: those that are tried.
_TRIED: tuple[Ridges, ...] = ((30.0, 0.5), (45.0, 0.75), (60.0, 1.0), (90.0, 1.5))
#: Share of the entries held out to choose among them, and of the descents that each is tried with.
_HELD_OUT, _FEWER = 0.2, 4
#: Sweeps of a descent, and events of those that begin at random.
_SWEEPS, _EVENTS = 6, 48
#: What all descents may cost together, in entries gone through in a sweep; a row costs as much as so many entries.
_WORK, _ROW = 3_000_000, 30
#: Places of random streams.
_MEMBER, _TRIAL = 7, 8


@dataclass(eq=False)
class Listener:
    """Passes on the records of sweeps, numbered on from `count`, until somebody has heard enough."""

    told: Callable[[Sweep], bool]
    count: int
    ended: bool = False

    def __call__(self, sweep: Sweep) -> bool:
        """Pass on one record; tell whether it is time to end."""
        self.count += 1
        self.ended = self.told(replace(sweep, sweep=self.count))
        return self.ended


def usual_members(table: Observations) -> int:
    """Return how many descents are averaged by default: 16 for small tables, 2 for large ones.

    Examples
    --------
    >>> import kolmogorov as km
    >>> usual_members(km.datasets.load("zoo"))
    16
    """
    work = len(table) + _ROW * (table.n_users + table.n_items)
    return next((n for n in (16, 8, 4) if n * work <= _WORK), 2)


def continued(hard: Fitted, problem: Problem, unobserved: float, seed: int, n_jobs: int | None) -> tuple[Fitted, bool]:
    """Go on from a model, in its own events; return the companion, and whether Ctrl-C ended it."""
    start = Run(State(hard.theta, hard.psi.astype(np.float64), hard.centre))
    changed = _with_any_values(problem, _RIDGES, unobserved)
    with one_blas_thread(), opened_engine(Threads(n_jobs), changed, hard.training) as engine:
        run = MultiStart(engine, hard.n_events, seed, 1, _SWEEPS, 0.0, start=start).run()
    return _companion([run], hard.training, _RIDGES), run.interrupted


def averaged_descents(
    hard: Fitted,
    problem: Problem,
    unobserved: float,
    n_members: int,
    seed: int,
    n_jobs: int | None,
    on_sweep: Callable[[Sweep], bool],
) -> tuple[Fitted, bool]:
    """Average descents that begin at random; return the companion, and whether Ctrl-C ended it.

    How much they shrink is what makes the best lists of entries held out. `on_sweep` is told of all sweeps, whose
    numbers go on from those of the model; where it returns True, or after Ctrl-C, the descents done so far are taken.
    """
    problem = replace(problem, user_solver=resolve("simplex", "pairwise"))
    listener = Listener(on_sweep, len(hard.history))
    ridges = _best_ridges(hard.training, problem, unobserved, max(1, n_members // _FEWER), seed, n_jobs, listener)
    changed = _with_any_values(problem, ridges, unobserved)
    with one_blas_thread(), opened_engine(Threads(n_jobs), changed, hard.training) as engine:
        runs = _descents(engine, n_members, generator(seed, _MEMBER), listener)
    return _companion(runs, hard.training, ridges), runs[-1].interrupted


def _best_ridges(
    table: Observations,
    problem: Problem,
    unobserved: float,
    n_members: int,
    seed: int,
    n_jobs: int | None,
    listener: Listener,
) -> Ridges:
    """Return the ridges whose lists find most of what was held out."""
    train, test = table.split(_HELD_OUT, random_state=seed, by="user")
    if not (test.values >= LIKES).any():
        return _TRIED[0]
    found: dict[float, Ridges] = {}
    for ridges in _TRIED:
        changed = _with_any_values(problem, ridges, unobserved)
        with one_blas_thread(), opened_engine(Threads(n_jobs), changed, train) as engine:
            runs = _descents(engine, n_members, generator(seed, _TRIAL), listener)
        if runs[-1].interrupted:
            raise KeyboardInterrupt
        companion = _companion(runs, train, ridges)
        scores = ranking_scores(train, companion.of_users, test, 10, LIKES, n_jobs=n_jobs)
        found.setdefault(scores["ndcg"], ridges)
        if listener.ended:
            break
    return found[max(found)]


def _descents(engine: Engine[State], n_members: int, rng: np.random.Generator, listener: Listener) -> list[Run[State]]:
    """Descend from random starts until all are done or somebody ends it; then only whole ones count, if any."""
    n_events = min(_EVENTS, *engine.shape)
    runs: list[Run[State]] = []
    for start in rng.integers(2**62, size=n_members).tolist():
        try:
            run = MultiStart(engine, n_events, start, 1, _SWEEPS, 0.0, on_sweep=listener).run()
        except KeyboardInterrupt:
            if not runs:
                raise
            runs[-1] = replace(runs[-1], interrupted=True)
            break
        if not runs or len(run.history) == _SWEEPS:
            runs.append(run)
        if run.interrupted or listener.ended:
            runs[-1] = replace(runs[-1], interrupted=run.interrupted)
            break
    return runs


def _with_any_values(problem: Problem, ridges: Ridges, unobserved: float) -> Problem:
    """Return the problem with items that may have any value in an event."""
    return replace(problem, item_solver=resolve("ridge", "cholesky"), objective=Objective(*ridges, "mean", unobserved))


def _companion(runs: list[Run[State]], table: Observations, ridges: Ridges) -> Fitted:
    """Put the ends of descents side by side, exact in four bytes."""
    theta = on_grid(stacked([run.state.theta for run in runs]), FINE_STEPS).astype(np.float64)
    values = np.concatenate([run.state.psi for run in runs], axis=1).clip(-FURTHEST_LEVEL, FURTHEST_LEVEL)
    psi = values.astype(np.float32).astype(np.float64)
    centre = theta.mean(axis=0)
    return Fitted(theta, psi, centre, table, (), ridges=np.array(ridges), n_members=len(runs))
