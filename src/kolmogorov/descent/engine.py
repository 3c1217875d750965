"""Engines: what alternates the items' and the users' half-steps.

Kolmogorov and nonnegative models are an engine with their pair of row solvers; matrix factorisation takes its
half-step, and chains its normal equations. SVD++ is a gradient descent of its own.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import check_array, check_between, check_bits, check_simplex
from kolmogorov.data.observations import Observations
from kolmogorov.data.trainable import check_trainable
from kolmogorov.descent.half_step import HalfStep
from kolmogorov.descent.objective import Mass, Problem, UserTotals, squares_of
from kolmogorov.descent.point import Sweep

#: What an engine keeps between two sweeps: a `State`, or what stands for one where theta is on other machines.
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class State:
    """The factors between two sweeps. Arrays are never changed in place.

    Supports are kept as floats because the normal equations multiply them. The centre is what theta was shrunk to when
    it was last updated.
    """

    theta: Floats
    psi: Floats
    centre: Floats

    def validate(self, n_users: int, n_items: int, n_events: int, *, binary: bool) -> None:
        """Raise `InvariantError` where the arrays are not factors of such a table; for arrays that come from a file."""
        check_array("theta", self.theta, np.float64, (n_users, n_events))
        check_array("psi", self.psi, np.float64, (n_items, n_events))
        check_array("the centre", self.centre, np.float64, (n_events,))
        check_simplex("theta", self.theta)
        check_simplex("the centre", self.centre)
        if binary:
            check_bits("psi", self.psi)
        check_between("psi", self.psi, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Run(Generic[S]):
    """One descent: where it is, how it came there, and whether Ctrl-C ended it."""

    state: S
    history: tuple[Sweep, ...] = ()
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective reached; infinite before the first sweep."""
        return self.history[-1].objective if self.history else float("inf")


class Engine(Protocol[S]):
    """Sweeps over one table, be it of ratings or completed. `S` is what it keeps between two sweeps."""

    def start(self, rng: np.random.Generator, n_events: int) -> S:
        """Draw thetas on the simplex; psi follows from them in the first half-step."""

    def sweep(self, state: S, index: int, seed: int) -> tuple[S, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""

    def spread(self, state: State) -> S:
        """Take over a state that was collected."""

    def collect(self, state: S) -> State:
        """Return a state whose arrays are all here."""


class RatingsEngine(Engine[S], ABC):
    """An engine over a table of ratings, wherever that is, with everything in its problem settled.

    Parameters
    ----------
    problem : Problem
    table : Observations or DistributedTable
    mass : Mass
        Of the table.
    seen_users : bool[n_users]
        Which users the fit learns something of: those with observations, or all where the unobserved counts.
    """

    def __init__(self, problem: Problem, table: Any, mass: Mass, seen_users: NDArray[np.bool_]) -> None:
        self._table = table
        self.shape = table.n_users, table.n_items
        self.seen_users = seen_users
        self.problem = problem.settled(mass, *self.shape)
        self._mass = mass.of_table(self.problem.unobserved, table.n_users * table.n_items)
        self._item_centre = self.problem.item_centre(self._mass)

    def fingerprint(self) -> str:
        """Return a digest of everything in the table that a fit depends on."""
        digest: str = self._table.fingerprint()
        return digest

    def sweep(self, state: S, index: int, seed: int) -> tuple[S, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        problem, objective = self.problem, self.problem.objective
        centre = objective.centre(self._theta_total(state), int(self.seen_users.sum()))
        began = time.perf_counter()
        psi = self._items(state, problem.item_step(np.full_like(centre, self._item_centre), seed, index))
        between = time.perf_counter()
        new, totals = self._users(state, psi, problem.user_step(centre, seed, index))
        ended = time.perf_counter()
        squares = self._squares(psi, centre.size) if objective.item_reg else 0.0
        reached, rmse = objective.quality(totals, squares, centre, self.shape[0], self._mass)
        return new, Sweep(index, reached, rmse, ended - between, between - began)

    def _first_psi(self, n_events: int) -> Floats:
        return np.zeros((self.shape[1], n_events))

    @abstractmethod
    def observations(self) -> Observations:
        """Return the table, here."""

    @abstractmethod
    def _theta_total(self, state: S) -> Floats:
        """Return the sum of the thetas of the users seen."""

    @abstractmethod
    def _items(self, state: S, step: HalfStep) -> Any:
        """Return new psis."""

    @abstractmethod
    def _users(self, state: S, psi: Any, step: HalfStep) -> tuple[S, UserTotals]:
        """Return the state with new psis and thetas, and what the objective needs to know of the users."""

    def _squares(self, psi: Any, n_events: int) -> float:
        """Return the sum of the squared distances of psi from what its ridge draws to."""
        return squares_of(psi, self._item_centre)


class TableEngine(RatingsEngine[S]):
    """An engine on one table in memory, or mapped into it."""

    def __init__(self, problem: Problem, table: Observations) -> None:
        seen = problem.objective.counted(table.rows.counts)
        super().__init__(problem, table, Mass.of(table.rows), seen)

    def start(self, rng: np.random.Generator, n_events: int) -> S:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        theta = rng.dirichlet(np.ones(n_events), size=self.shape[0])
        return self.spread(State(theta, self._first_psi(n_events), np.full(n_events, 1.0 / n_events)))

    def observations(self) -> Observations:
        """Return the table."""
        table: Observations = self._table
        return table


class ThreadedEngine(TableEngine[State]):
    """The engine with rows dealt to threads."""

    def __init__(self, problem: Problem, table: Observations, dealer: Threads) -> None:
        super().__init__(problem, table)
        self._dealer = dealer

    def spread(self, state: State) -> State:
        """Take over a state that was collected; here it is one already."""
        return state

    def collect(self, state: State) -> State:
        """Return a state whose arrays are all here."""
        return state

    def _theta_total(self, state: State) -> Floats:
        total: Floats = state.theta[self.seen_users].sum(axis=0)
        return total

    def _items(self, state: State, step: HalfStep) -> Floats:
        self._table.rows.check_intact()
        return step.run(self._table.columns, state.theta, state.psi, self._dealer)[0]

    def _users(self, state: State, psi: Floats, step: HalfStep) -> tuple[State, UserTotals]:
        theta, values = step.run(self._table.rows, psi, state.theta, self._dealer)
        return State(theta, psi, step.centre), UserTotals.of(theta, values, step.centre, self.seen_users)


@contextmanager
def threaded_engine(execution: Threads, problem: Problem, table: Observations) -> Iterator[ThreadedEngine]:
    """Open the engine on threads."""
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as dealer:
        yield ThreadedEngine(problem, table, dealer)
