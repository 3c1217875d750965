"""From many models to one: the completed table, the descent over it, and how new rows are placed in what is learned.

Nobody tells such a model how strongly a new user is to be drawn to the population. The users that it knows do: placed
again from their own ratings, as if they were new, they should come out where they are. The pull is the one under
which they do so best; likewise for items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.attribute_maps import Attributed, Placing
from kolmogorov.descent.completion import CompletedTable, CompletionEngine
from kolmogorov.descent.engine import State
from kolmogorov.descent.fold_in import placed
from kolmogorov.descent.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.descent.multi_start import MultiStart
from kolmogorov.descent.objective import Problem
from kolmogorov.descent.placed import placing_of
from kolmogorov.descent.point import Fitted, Pull, Sweep
from kolmogorov.descent.trained import Counted, Factors, by_users, checked
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.solvers.binary import EXACT_LIMIT
from kolmogorov.solvers.registry import usual

# Numbers by judgement; `benchmarks/one_model.py placed` shows what comes of them.
#: Rows that are placed again.
_ROWS = 400
#: Strengths that are tried: equal in all directions, in ratings; and the more where rows differ less, as shares of the
#: inverse of their covariance.
_EVEN = np.geomspace(0.03, 100.0, 8)
_SHAPED = np.geomspace(0.001, 1.0, 13)
#: The least variance of rows in any direction, as a share of the usual one.
_LEAST = 1e-2
#: Rows that differ by less are the same but for rounding, and their spread says nothing.
_NO_SPREAD = 1e-12


class LearnedRows(NamedTuple):
    """Rows of one side as they were learned, their observations, and the partners that they were learned with.

    Differences of predictions count by the partners' weights; `number` is `USER_SIDE` or `ITEM_SIDE`.
    """

    rows: Floats
    view: View
    factors: Floats
    weights: Floats
    solver: RowSolver
    number: int


def best_pull(side: LearnedRows, unobserved: float, n_jobs: int | None, most_rows: int = _ROWS) -> Pull:
    """Return the pull under which some rows, placed again from their observations, predict most as they did."""
    seen = np.flatnonzero(side.view.counts > 0)
    centre = side.rows[seen].mean(axis=0)
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, min(seen.size, most_rows)).round().astype(np.int64)])
    view, rows = _part(side.view, chosen), side.rows[chosen]
    gram = (side.factors * side.weights[:, None]).T @ side.factors

    def distance(pull: Pull) -> float:
        away = placed(view, side.factors, pull, side.solver, side.number, unobserved, n_jobs) - rows
        return float(((away @ gram) * away).sum())

    return min(_pulls(centre, side.rows[seen]), key=distance)


def _pulls(centre: Floats, rows: Floats) -> Iterator[Pull]:
    """Yield those that are tried."""
    covariance = np.cov(rows.T, bias=True).reshape(centre.size, centre.size)
    usual = float(np.trace(covariance)) / centre.size
    for ridge in _EVEN:
        yield Pull.even(centre, ridge)
    if usual > _NO_SPREAD:
        inverse = np.linalg.inv(covariance + _LEAST * usual * np.eye(centre.size))
        for share in _SHAPED:
            yield Pull(centre, share * (inverse + inverse.T) / 2.0)


def _part(view: View, rows: Rows) -> View:
    """Return some rows of a view, as a view of their own."""
    mask = np.zeros(view.counts.size, dtype=bool)
    mask[rows] = True
    kept = view.chosen(np.repeat(mask, view.counts))
    indptr = np.concatenate(([0], np.cumsum(view.counts[rows]))).astype(np.int64)
    return View(indptr, kept.indices, kept.values, kept.weights)


#: Sweeps of a descent where nothing else is said; descents of a table, and of one with few rows, whose are short.
#: By judgement, as are the numbers below.
SWEEPS, _STARTS, _MORE_STARTS, _FEW = 30, 2, 10, 1_000
#: Shares of the population in a theta that are tried, the users they are tried on, and what counts as never.
_SHARES, _HEDGED, _NEVER = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1), 400, 1e-6


@dataclass(frozen=True, eq=False)
class Distillation:
    """How one model is made of many: by `n_init` descents over the table that they complete.

    One starts from the events of all of them, similar ones grouped, the others from random ones; the nearest to the
    completed table is kept. Of the problem the row solvers are used, and no ridge.
    """

    problem: Problem
    n_events: int
    seed: int = 0
    n_init: int = _STARTS
    max_iter: int = SWEEPS
    tol: float = 1e-4
    on_sweep: Callable[[Sweep], Any] | None = None
    keep_interrupted: bool = False
    n_jobs: int | None = -1

    def of(self, drawn: Counted, factors: Factors, noise: Floats, unobserved: float = 0.0) -> tuple[Fitted, bool]:
        """Return the model nearest to the average of many, and whether Ctrl-C ended the search for it.

        Parameters
        ----------
        drawn : Counted
            What they were learned from.
        factors : Factors
            What they say.
        noise : float64[n_users]
            The variance of answers around the average.
        unobserved : float
            What an entry that was not observed weighs, as a no.
        """
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            target = CompletedTable.of(drawn, factors, unobserved)
            engine = CompletionEngine(self.problem, target, dealer)
            run = MultiStart(
                engine,
                n_events=self.n_events,
                seed=self.seed,
                n_init=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                on_sweep=self.on_sweep,
                start=engine.grouped_start(factors, self.n_events),
                keep_interrupted=self.keep_interrupted,
            ).run()
        theta, psi = run.state.theta.copy(), run.state.psi
        placings = _placings(drawn, factors, run.state, target)
        if target.training.is_binary and not unobserved:
            theta = _hedged(theta, psi, target)
        theta[~drawn.user_seen] = theta[drawn.user_seen].mean(axis=0)
        problem, table = engine.problem, target.training
        users = LearnedRows(theta, table.rows, psi, target.item_weights, problem.user_solver, USER_SIDE)
        items = LearnedRows(psi, table.columns, theta, target.user_weights, problem.item_solver, ITEM_SIDE)
        fitted = Fitted(
            theta=theta,
            psi=psi.astype(bool) if problem.item_solver.family == "binary" else psi,
            user_pull=best_pull(users, unobserved, self.n_jobs),
            item_pull=best_pull(items, unobserved, self.n_jobs),
            training=by_users(table),
            history=run.history,
            noise=noise + run.history[-1].rmse ** 2,
            learned_from="draws",
            user_attributes=placings.get("user_attributes"),
            item_attributes=placings.get("item_attributes"),
        )
        return checked(fitted), run.interrupted


def _placings(drawn: Counted, factors: Factors, state: State, target: CompletedTable) -> dict[str, Placing]:
    """Return how attributes place users and items in the events of a state, where draws know any."""
    found: dict[str, Placing] = {}
    theta, psi = factors.theta[:, :-1], factors.psi[:, :-1]
    if isinstance(drawn.user_attributes, Attributed):
        partners = psi, state.psi, target.item_weights
        found["user_attributes"] = placing_of(drawn.user_attributes, *partners, of_users=True)
    if isinstance(drawn.item_attributes, Attributed):
        partners = theta, state.theta, target.user_weights
        found["item_attributes"] = placing_of(drawn.item_attributes, *partners, of_users=False)
    return found


def usual_starts(table: Observations) -> int:
    """Return how many descents are made by default: where they take no time, more."""
    return _MORE_STARTS if table.n_users + table.n_items <= _FEW else _STARTS


def quick_solver(family: str, n_events: int) -> RowSolver:
    """Return the solver of items that suits sweeps over a completed table.

    Every sweep meets every item again: none has to be solved to the last digit, or from very many starts.

    Examples
    --------
    >>> quick_solver("box", 16).tol, quick_solver("binary", 24).n_starts, quick_solver("binary", 16).name
    (1e-06, 4, 'auto')
    """
    if family == "box":
        return resolve("box", "coordinate", tol=1e-6)
    if family == "binary" and n_events > EXACT_LIMIT:
        return resolve("binary", "local_search", n_starts=4)
    return usual(family, n_events)


def _hedged(theta: Floats, psi: Floats, target: CompletedTable) -> Floats:
    """Move thetas towards the population by the share that brings chances of a yes nearest to the completed ones.

    Squared distances hardly tell a chance of a hundredth from none at all, and who is asked for a chance does.
    """
    seen = np.flatnonzero(target.user_weights > 0.0)
    some = seen[np.linspace(0, seen.size - 1, min(seen.size, _HEDGED)).round().astype(np.int64)]
    wanted = np.clip(target.completion.left[some] @ target.completion.right.T, 0.0, 1.0)
    middle = theta[seen].mean(axis=0)

    def loss(share: float) -> float:
        chance = np.clip(((1.0 - share) * theta[some] + share * middle) @ psi.T, _NEVER, 1.0 - _NEVER)
        each = wanted * np.log(chance) + (1.0 - wanted) * np.log1p(-chance)
        return -float((each @ target.item_weights).mean())

    share = min(_SHARES, key=loss)
    return (1.0 - share) * theta + share * middle


def usual_events(n_ratings: int, n_users: int, n_items: int) -> int:
    """Return how many events a model of a table has by default: as many as tell people apart and can still be read.

    Examples
    --------
    >>> usual_events(1_500, 101, 17), usual_events(80_000, 943, 1682)
    (9, 16)
    """
    wanted = round(10.0 * (max(n_ratings, 1) / 2_000.0) ** 0.25)
    return int(np.clip(wanted, 1, max(1, min(16, n_users, n_items))))


#: Sweeps, from a model that is near; by judgement.
_SWEEPS = 3


def gone_on(
    fitted: Fitted, drawn: Counted, factors: Factors, noise: Floats, problem: Problem, seed: int, n_jobs: int | None
) -> Fitted:
    """Return the model nearby that is nearest to what draws of the same users and items say on average.

    Of the problem the row solvers are used. Events keep their numbers; pulls stay as they are.
    """
    with one_blas_thread(), Threads(n_jobs) as dealer:
        engine = CompletionEngine(problem, CompletedTable.of(drawn, factors), dealer)
        state = State(fitted.theta, fitted.psi.astype(np.float64), fitted.population)
        for index in range(1, _SWEEPS + 1):
            state, sweep = engine.sweep(state, index, seed)
    theta, psi = state.theta.copy(), state.psi.astype(fitted.psi.dtype)
    theta[~fitted.user_seen] = theta[fitted.user_seen].mean(axis=0)
    # Nobody has answered for those whom attributes place.
    users, items = fitted.user_known & ~fitted.user_seen, fitted.item_known & ~fitted.item_seen
    theta[users], psi[items] = fitted.theta[users], fitted.psi[items]
    return checked(replace(fitted, theta=theta, psi=psi, noise=noise + sweep.rmse**2))
