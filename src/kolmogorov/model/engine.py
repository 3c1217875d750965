"""Block coordinate descent: normal equations of every row, then a batch row solver, side by side.

Every model of the library is this engine with another pair of row solvers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov.data.observations import Observations, View
from kolmogorov.execution import Threads
from kolmogorov.kernels.gram import binary_normal_equations, normal_equations
from kolmogorov.kernels.quadratic import keep_better
from kolmogorov.model.history import Sweep
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
    psi : float64[n_items, D]
        0 and 1, kept as floats because the normal equations multiply them.
    centre : float64[D]
        What theta was shrunk to when it was last updated.
    """

    theta: Floats
    psi: Floats
    centre: Floats


@dataclass(frozen=True, eq=False)
class HalfStep:
    """How the rows of one side are solved: the solver, the ridge, what it shrinks to, and the seed.

    A `tilt` is added to the moments, row by row; `scale` weighs all observations of a row alike. With `keep` a row
    whose solver returns a worse point than it has stays as it is; samplers go uphill too, and say no.
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

    def run(self, view: View, factors: Floats, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values.

        The value of a row is x^T gram x - 2 x^T moment; without `keep` it is not computed.
        """
        n_rows, size = current.shape
        bits = None if view.weights.size else packed_bits(factors)
        scale = np.ones(n_rows) if self.scale is None else self.scale
        if bits is None and self.scale is not None:
            view = view.weighed(np.repeat(self.scale, view.counts))
        result = np.empty_like(current)
        values = np.empty(n_rows)

        def share(first: int, last: int) -> None:
            gram = np.empty((last - first, size, size))
            moment = np.empty((last - first, size))
            table = (view.indptr, view.indices, view.values)
            rest = (first, last, self.ridge, self.centre, gram, moment)
            if bits is None:
                normal_equations(*table, view.weights, factors, *rest)
            else:
                binary_normal_equations(*table, bits, scale, *rest)
            if self.tilt is not None:
                moment += self.tilt[first:last]
            start = current[first:last]
            seeds = row_seeds(self.seed, self.sweep, self.side, np.arange(first, last))
            result[first:last] = self.solver.solve_batch(gram, moment, start, seeds)
            if self.keep:
                keep_better(gram, moment, start, result[first:last], values[first:last])

        dealer.deal(share, n_rows, size * size)
        return result, values


def packed_bits(factors: Floats) -> NDArray[np.uint64] | None:
    """Return factors that are all 0 or 1 as one word per row, or None where they are not or do not fit."""
    size = factors.shape[1]
    if size > _WORD or not ((factors == 0.0) | (factors == 1.0)).all():
        return None
    return factors.astype(np.uint64) @ (np.uint64(1) << np.arange(size, dtype=np.uint64))


class Engine:
    """Alternates the items' and the users' half-steps on one table.

    The objective is the sum over observations of w (theta_u . psi_i - p)^2, plus `user_reg` times the squared
    distance of every theta_u from the centre, plus `item_reg` times the number of ones in psi. With
    prior "mean" the centre is a third block, whose optimum is the mean theta of the users observed.
    """

    def __init__(
        self,
        observations: Observations,
        user_solver: RowSolver,
        item_solver: RowSolver,
        *,
        user_reg: float,
        item_reg: float,
        prior: Prior,
        dealer: Threads,
    ) -> None:
        self.observations = observations
        self.user_solver = user_solver
        self.item_solver = item_solver
        self.user_reg = user_reg
        self.item_reg = item_reg
        self.prior = prior
        self.dealer = dealer
        self.seen_users = observations.rows.counts > 0
        weights = observations.weights
        squares = observations.values**2
        self._square_sum = float(squares.sum() if weights is None else weights @ squares)
        self._mass = float(len(observations) if weights is None else weights.sum())

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        centre = self._centre(state)
        began = time.perf_counter()
        item_step = HalfStep(self.item_solver, self.item_reg, np.zeros_like(centre), seed, index, ITEM_SIDE)
        psi, _ = item_step.run(self.observations.columns, state.theta, state.psi, self.dealer)
        between = time.perf_counter()
        user_step = HalfStep(self.user_solver, self.user_reg, centre, seed, index, USER_SIDE)
        theta, values = user_step.run(self.observations.rows, psi, state.theta, self.dealer)
        ended = time.perf_counter()
        new = State(theta, psi, centre)
        objective, rmse = self._quality(new, values)
        return new, Sweep(index, objective, rmse, ended - between, between - began)

    def _centre(self, state: State) -> Floats:
        if self.prior == "uniform":
            return np.full_like(state.centre, 1.0 / state.centre.size)
        return state.theta[self.seen_users].mean(axis=0)

    def _quality(self, state: State, values: Floats) -> tuple[float, float]:
        """Return the objective and the training RMSE, from the users' row values."""
        ridge = self.user_reg * float(((state.theta - state.centre) ** 2).sum())
        ones = self.item_reg * float((state.psi**2).sum())
        pull = self.user_reg * len(values) * float(state.centre @ state.centre)
        squared_error = max(float(values.sum()) + pull - ridge + self._square_sum, 0.0)
        return squared_error + ridge + ones, float(np.sqrt(squared_error / self._mass))
