"""Engines: what alternates the items' and the users' half-steps, on threads here and elsewhere on a cluster.

Kolmogorov and nonnegative models are an engine with their pair of row solvers; matrix factorisation takes its
half-step, and chains its normal equations. SVD++ is a gradient descent of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.observations import Observations
from kolmogorov.data.trainable import check_trainable
from kolmogorov.execution import Threads
from kolmogorov.fitting.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.objective import Mass, Objective, UserTotals
from kolmogorov.fitting.state import S, State
from kolmogorov.solvers import RowSolver


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit solves: a set for users and one for items, by their row solvers, and the objective."""

    user_solver: RowSolver
    item_solver: RowSolver
    objective: Objective

    def settled(self, mass: Mass, n_users: int, n_items: int) -> Problem:
        """Return the same for a table of so many users and items, in which everything has a number."""
        return replace(self, objective=self.objective.settled(mass, n_users, n_items))

    @property
    def unobserved(self) -> float:
        """What an entry that was not observed weighs, once it is settled."""
        return float(self.objective.unobserved)


class Engine(Protocol[S]):
    """Sweeps over one table. `S` is what it keeps between two sweeps.

    Another way to execute is another implementation, made known by `opened_engine.register`.
    """

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


@singledispatch
def opened_engine(execution: Any, problem: Problem, table: Any) -> AbstractContextManager[Engine[Any]]:
    """Open the engine of an execution (`Threads`, `Dask`, ...) for a table."""
    raise TypeError(f"There is no engine for {type(execution).__name__}.")


class ThreadedEngine:
    """The engine on one table in memory, or mapped into it, with rows dealt to threads."""

    def __init__(self, problem: Problem, table: Observations, dealer: Threads) -> None:
        mass = Mass.of(table.rows)
        self._problem = problem.settled(mass, table.n_users, table.n_items)
        self._table = table
        self._dealer = dealer
        self._seen = problem.objective.counted(table.rows.counts)
        self._mass = mass.of_table(self._problem.unobserved, table.n_users * table.n_items)

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

    def start(self, rng: np.random.Generator, n_events: int) -> State:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        theta = rng.dirichlet(np.ones(n_events), size=self._table.n_users)
        psi = np.zeros((self._table.n_items, n_events))
        return State(theta, psi, np.full(n_events, 1.0 / n_events))

    def spread(self, state: State) -> State:
        """Take over a state that was collected; here it is one already."""
        return state

    def collect(self, state: State) -> State:
        """Return a state whose arrays are all here."""
        return state

    def observations(self) -> Observations:
        """Return the table."""
        return self._table

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        self._table.check_intact()
        problem, objective, seen = self._problem, self._problem.objective, self._seen
        centre = objective.centre(state.theta[seen].sum(axis=0), int(seen.sum()))
        began = time.perf_counter()
        item_step = HalfStep(problem.item_solver, objective.item_reg, np.zeros_like(centre), seed, index, ITEM_SIDE)
        item_step = replace(item_step, unobserved=problem.unobserved)
        psi, _ = item_step.run(self._table.columns, state.theta, state.psi, self._dealer)
        between = time.perf_counter()
        user_step = HalfStep(problem.user_solver, objective.user_reg, centre, seed, index, USER_SIDE)
        user_step = replace(user_step, unobserved=problem.unobserved)
        theta, values = user_step.run(self._table.rows, psi, state.theta, self._dealer)
        ended = time.perf_counter()
        totals = UserTotals.of(theta, values, centre, seen)
        reached, rmse = objective.quality(totals, psi, centre, len(theta), self._mass)
        return State(theta, psi, centre), Sweep(index, reached, rmse, ended - between, between - began)


@opened_engine.register
@contextmanager
def _(execution: Threads, problem: Problem, table: Observations) -> Iterator[ThreadedEngine]:
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as dealer:
        yield ThreadedEngine(problem, table, dealer)
