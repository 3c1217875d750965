"""Engines: what alternates the items' and the users' half-steps, on threads here and elsewhere on a cluster.

Kolmogorov and nonnegative models are an engine with their pair of row solvers; matrix factorisation takes its
half-step, and chains its normal equations. SVD++ is a gradient descent of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.data.table.levels import Levels, grid_of
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.execution import Threads
from kolmogorov.fitted.history import Sweep
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.fitting.descent.objective import Mass, Objective, UserTotals, squares_of
from kolmogorov.fitting.descent.state import S, State
from kolmogorov.solvers import LevelSolver, RowSolver


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit solves: a set for users and one for items, by their row solvers, and the objective.

    Attributes
    ----------
    user_solver, item_solver : RowSolver
    objective : Objective
    levels : 2, "auto" or sequence of float
        The values of items, which may depend on the table.
    grid : float64[L] or None
        The same once the table is known; None for two.
    item_prior : "zero", "mean" or None
        What the ridge draws the values of items to; None is the mean of the table where there are several levels.
    keep_better : bool
        Whether a row keeps its point where its solver finds a worse one.
    """

    user_solver: RowSolver
    item_solver: RowSolver
    objective: Objective
    levels: Levels = 2
    grid: Floats | None = None
    item_prior: Literal["zero", "mean"] | None = None
    keep_better: bool = True

    def on(self, grid: Floats | None) -> Problem:
        """Return the problem with the values of items settled."""
        if grid is None:
            return self
        assert isinstance(self.item_solver, LevelSolver)
        return replace(self, item_solver=self.item_solver.on(grid), grid=grid)

    def item_centre(self, mass: Mass) -> float:
        """Return what the ridge draws the values of items to: 0, or with several levels the mean of the table.

        Of two values 0 is "does not happen", and the ridge a price of events; of several it is the worst, or nearly so,
        and an item with few observations should look like an average one.
        """
        prior = self.item_prior or ("zero" if self.grid is None else "mean")
        return mass.mean if prior == "mean" else 0.0

    def first_level(self, centre: float) -> float:
        """Return where the values of items start: 0, or the level nearest to what the ridge draws to."""
        return 0.0 if self.grid is None else float(self.grid[nearest(np.array(centre), self.grid)])

    def settled(self, mass: Mass, n_users: int, n_items: int) -> Problem:
        """Return the same for a table of so many users and items, in which everything has a number."""
        return replace(self, objective=self.objective.settled(mass, n_users, n_items))

    @property
    def unobserved(self) -> float:
        """What an entry that was not observed weighs, once it is settled."""
        return float(self.objective.unobserved)


class Engine(Protocol[S]):
    """Sweeps over one table. `S` is what it keeps between two sweeps."""

    @property
    def problem(self) -> Problem:
        """What is solved, with everything settled that depends on the table."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""

    @property
    def seen_users(self) -> NDArray[np.bool_]:
        """Which users the fit learns something of: those with observations, or all where the unobserved counts."""

    def fingerprint(self) -> str:
        """Return a digest of everything in the table that a fit depends on."""

    def start(self, rng: np.random.Generator, n_events: int) -> S:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""

    def sweep(self, state: S, index: int, seed: int) -> tuple[S, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""

    def spread(self, state: State) -> S:
        """Take over a state that was collected."""

    def collect(self, state: S) -> State:
        """Return a state whose arrays are all here."""

    def observations(self) -> Observations:
        """Return the table, here."""


class TableEngine:
    """What engines on one table in memory, or mapped into it, share: the problem settled, and what is known of it."""

    def __init__(self, problem: Problem, table: Observations) -> None:
        mass = Mass.of(table.rows)
        self.problem = problem.on(grid_of(problem.levels, table)).settled(mass, table.n_users, table.n_items)
        self._table = table
        self._seen = problem.objective.counted(table.rows.counts)
        self._mass = mass.of_table(self.problem.unobserved, table.n_users * table.n_items)
        self._item_centre = self.problem.item_centre(self._mass)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return self._table.n_users, self._table.n_items

    @property
    def seen_users(self) -> NDArray[np.bool_]:
        """Which users the fit learns something of."""
        return self._seen

    def fingerprint(self) -> str:
        """Return a digest of the table."""
        return self._table.fingerprint()

    def observations(self) -> Observations:
        """Return the table."""
        return self._table

    def _drawn(self, rng: np.random.Generator, n_events: int) -> State:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        theta = rng.dirichlet(np.ones(n_events), size=self._table.n_users)
        psi = np.full((self._table.n_items, n_events), self.problem.first_level(self._item_centre))
        return State(theta, psi, np.full(n_events, 1.0 / n_events))


class ThreadedEngine(TableEngine):
    """The engine with rows dealt to threads."""

    def __init__(self, problem: Problem, table: Observations, dealer: Threads) -> None:
        super().__init__(problem, table)
        self._dealer = dealer

    def start(self, rng: np.random.Generator, n_events: int) -> State:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        return self._drawn(rng, n_events)

    def spread(self, state: State) -> State:
        """Take over a state that was collected; here it is one already."""
        return state

    def collect(self, state: State) -> State:
        """Return a state whose arrays are all here."""
        return state

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        self._table.rows.check_intact()
        problem, objective, seen = self.problem, self.problem.objective, self._seen
        centre = objective.centre(state.theta[seen].sum(axis=0), int(seen.sum()))
        began = time.perf_counter()
        middle = np.full_like(centre, self._item_centre)
        item_step = HalfStep(problem.item_solver, objective.item_reg, middle, seed, index, ITEM_SIDE)
        item_step = replace(item_step, unobserved=problem.unobserved, keep_better=problem.keep_better)
        psi, _ = item_step.run(self._table.columns, state.theta, state.psi, self._dealer)
        between = time.perf_counter()
        user_step = HalfStep(problem.user_solver, objective.user_reg, centre, seed, index, USER_SIDE)
        user_step = replace(user_step, unobserved=problem.unobserved, keep_better=problem.keep_better)
        theta, values = user_step.run(self._table.rows, psi, state.theta, self._dealer)
        ended = time.perf_counter()
        totals = UserTotals.of(theta, values, centre, seen)
        reached, rmse = objective.quality(totals, squares_of(psi, self._item_centre), centre, len(theta), self._mass)
        return State(theta, psi, centre), Sweep(index, reached, rmse, ended - between, between - began)


@contextmanager
def threaded_engine(execution: Threads, problem: Problem, table: Observations) -> Iterator[ThreadedEngine]:
    """Open the engine on threads."""
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as dealer:
        yield ThreadedEngine(problem, table, dealer)
