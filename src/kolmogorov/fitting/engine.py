"""Block coordinate descent: normal equations of every row, then a batch row solver, side by side.

Kolmogorov and nonnegative models are this engine with their pair of row solvers; matrix factorisation and the users'
step of a chain take its half-step. SVD++ is a gradient descent of its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_between, check_bits, check_simplex
from kolmogorov._support.seeds import row_seeds
from kolmogorov.data.observations import Observations, View
from kolmogorov.execution import Threads
from kolmogorov.fitting.history import Sweep
from kolmogorov.kernels.gram import binary_normal_equations, normal_equations
from kolmogorov.kernels.quadratic import keep_better
from kolmogorov.solvers import RowSolver

Floats = NDArray[np.float64]
Prior = Literal["mean", "uniform"]
USER_SIDE, ITEM_SIDE = 0, 1
_WORD = 64


@dataclass(frozen=True, eq=False)
class State:
    """The factors between two sweeps. Arrays are never changed in place.

    Attributes
    ----------
    theta : float64[n_users, D]
        Or what stands for it where it is on other machines.
    psi : float64[n_items, D]
        0 and 1, kept as floats because the normal equations multiply them.
    centre : float64[D]
        What theta was shrunk to when it was last updated.
    """

    theta: Any
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
class Partners:
    """The other side's factors, whose products the normal equations sum; as bits where they are bits.

    Attributes
    ----------
    factors : float64[n_partners, D]
    bits : uint64[n_partners] or None
        With them the sums are counts, which is quicker.
    """

    factors: Floats
    bits: NDArray[np.uint64] | None

    @classmethod
    def of(cls, factors: Floats, view: View) -> Partners:
        """Look whether the factors are bits, and whether the view's observations all weigh the same."""
        return cls(factors, None if view.weights.size else packed_bits(factors))

    def equations(
        self, view: View, first: int, last: int, ridge: float, centre: Floats, scale: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return Gram matrices and moments of the rows `first` to `last`.

        `scale`, one number for each row of the view, weighs its observations; with it the factors must be bits.
        """
        size = self.factors.shape[1]
        gram = np.empty((last - first, size, size))
        moment = np.empty((last - first, size))
        table = (view.indptr, view.indices, view.values)
        rest = (first, last, ridge, centre, gram, moment)
        if self.bits is None:
            normal_equations(*table, view.weights, self.factors, *rest)
        else:
            binary_normal_equations(*table, self.bits, np.empty(0) if scale is None else scale, *rest)
        view.forget(first, last)
        return gram, moment


@dataclass(frozen=True, eq=False)
class HalfStep:
    """How the rows of one side are solved: the solver, the ridge, what it shrinks to, and the seed.

    A `tilt` is added to the moments, row by row; `scale` weighs all observations of a row alike. With `keep` a row
    whose solver returns a worse point than it has stays as it is; samplers go uphill too, and say no. Where the rows
    are part of a larger table, `offset` is the number of the first.
    """

    solver: RowSolver
    ridge: float
    centre: Floats
    seed: int
    sweep: int
    side: int
    tilt: Floats | None = None
    scale: Floats | None = None
    keep: bool = True
    offset: int = 0

    def run(self, view: View, factors: Floats, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values.

        The value of a row is x^T gram x - 2 x^T moment; without `keep` it is not computed.
        """
        n_rows, size = current.shape
        partners = Partners.of(factors, view)
        if partners.bits is None and self.scale is not None:
            view = view.weighed(np.repeat(self.scale, view.counts))
        result = np.empty_like(current)
        values = np.empty(n_rows)

        def share(first: int, last: int) -> None:
            gram, moment = partners.equations(view, first, last, self.ridge, self.centre, self.scale)
            if self.tilt is not None:
                moment += self.tilt[first:last]
            result[first:last], values[first:last] = self.solved(gram, moment, current[first:last], first)

        dealer.deal(share, n_rows, size * size)
        return result, values

    def solved(self, gram: Floats, moment: Floats, start: Floats, first: int) -> tuple[Floats, Floats]:
        """Solve rows from their normal equations; `first` is the number of the first of them."""
        rows = np.arange(self.offset + first, self.offset + first + len(start))
        result = self.solver.solve_batch(gram, moment, start, row_seeds(self.seed, self.sweep, self.side, rows))
        values = np.empty(len(start))
        if self.keep:
            keep_better(gram, moment, start, result, values)
        return result, values


def packed_bits(factors: Floats) -> NDArray[np.uint64] | None:
    """Return factors that are all 0 or 1 as one word per row, or None where they are not or do not fit."""
    size = factors.shape[1]
    if size > _WORD or not ((factors == 0.0) | (factors == 1.0)).all():
        return None
    return factors.astype(np.uint64) @ (np.uint64(1) << np.arange(size, dtype=np.uint64))


@dataclass(frozen=True, eq=False)
class Tally:
    """What the objective and the next centre need to know of some users; tallies of different users add up.

    Attributes
    ----------
    value : float
        Sum of the values of their rows.
    distance : float
        Sum of the squared distances of their thetas from the centre.
    total : float64[D]
        Sum of the thetas of those who were observed.
    """

    value: float
    distance: float
    total: Floats

    @classmethod
    def of(cls, theta: Floats, values: Floats, centre: Floats, seen: NDArray[np.bool_]) -> Tally:
        """Sum up users by their new thetas and the values of their rows."""
        return cls(float(values.sum()), float(((theta - centre) ** 2).sum()), theta[seen].sum(axis=0))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.value + other.value, self.distance + other.distance, self.total + other.total)


@dataclass(frozen=True)
class Mass:
    """Constants of the objective: the (weighted) sum of squared values and number of observations."""

    squares: float
    count: float

    @classmethod
    def of(cls, view: View) -> Mass:
        """Sum block by block, so that no array as long as the table is made."""
        squares = count = 0.0
        for first, last in view.blocks():
            part = slice(view.indptr[first], view.indptr[last])
            heavy = view.weights[part] if view.weights.size else np.ones(part.stop - part.start)
            squares += float(heavy @ view.values[part] ** 2)
            count += float(heavy.sum())
            view.forget(first, last)
        return cls(squares, count)

    def __add__(self, other: Mass) -> Mass:
        return Mass(self.squares + other.squares, self.count + other.count)


@dataclass(frozen=True)
class Objective:
    """What every half-step lowers.

    The sum over observations of w (theta_u . psi_i - p)^2, plus `user_reg` times the squared distance of every theta_u
    from the centre, plus `item_reg` times the number of ones in psi. With prior "mean" the centre is a third block,
    whose optimum is the mean theta of the users observed.
    """

    user_reg: float
    item_reg: float
    prior: Prior

    def centre(self, total: Floats, n_seen: int) -> Floats:
        """Return the best centre given the sum of the thetas of the users observed."""
        return np.full_like(total, 1.0 / total.size) if self.prior == "uniform" else total / n_seen

    def quality(self, tally: Tally, psi: Floats, centre: Floats, n_users: int, mass: Mass) -> tuple[float, float]:
        """Return the objective and the training RMSE."""
        ridge = self.user_reg * tally.distance
        ones = self.item_reg * float((psi**2).sum())
        pull = self.user_reg * n_users * float(centre @ centre)
        squared_error = max(tally.value + pull - ridge + mass.squares, 0.0)
        return squared_error + ridge + ones, float(np.sqrt(squared_error / mass.count))


class Engine:
    """Alternates the items' and the users' half-steps on one table in memory."""

    def __init__(
        self,
        observations: Observations,
        user_solver: RowSolver,
        item_solver: RowSolver,
        objective: Objective,
        dealer: Threads,
    ) -> None:
        self.observations = observations
        self.user_solver = user_solver
        self.item_solver = item_solver
        self.objective = objective
        self.dealer = dealer
        self.seen_users = observations.rows.counts > 0
        self._mass = Mass.of(observations.rows)

    def start(self, rng: np.random.Generator, n_events: int) -> State:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        theta = rng.dirichlet(np.ones(n_events), size=self.observations.n_users)
        psi = np.zeros((self.observations.n_items, n_events))
        return State(theta, psi, np.full(n_events, 1.0 / n_events))

    def spread(self, state: State) -> State:
        """Take over a state that was collected; here it is one already."""
        return state

    def collect(self, state: State) -> State:
        """Return a state whose arrays are all here."""
        return state

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        self.observations.check_intact()
        seen = self.seen_users
        centre = self.objective.centre(state.theta[seen].sum(axis=0), int(seen.sum()))
        began = time.perf_counter()
        item_step = HalfStep(self.item_solver, self.objective.item_reg, np.zeros_like(centre), seed, index, ITEM_SIDE)
        psi, _ = item_step.run(self.observations.columns, state.theta, state.psi, self.dealer)
        between = time.perf_counter()
        user_step = HalfStep(self.user_solver, self.objective.user_reg, centre, seed, index, USER_SIDE)
        theta, values = user_step.run(self.observations.rows, psi, state.theta, self.dealer)
        ended = time.perf_counter()
        tally = Tally.of(theta, values, centre, seen)
        objective, rmse = self.objective.quality(tally, psi, centre, len(theta), self._mass)
        return State(theta, psi, centre), Sweep(index, objective, rmse, ended - between, between - began)
