"""The engine on a GPU: one table there, and half-steps over it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.seeds import half_step_seed
from kolmogorov._support.typing import Floats
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.execution import Cuda
from kolmogorov.execution.gpu.table import gpu_sides
from kolmogorov.fitted.history import Sweep
from kolmogorov.fitting.descent.engine import Problem, TableEngine
from kolmogorov.fitting.descent.half_step import ITEM_SIDE
from kolmogorov.fitting.descent.state import State
from kolmogorov.fitting.gpu.half_step import GpuHalfSteps
from kolmogorov.fitting.gpu.solvers import check_events, check_solvers


@dataclass(frozen=True, eq=False)
class GpuState:
    """A state whose factors are on the GPU. Arrays are never changed in place.

    Attributes
    ----------
    theta : float32[n_users, P]
        Rows are filled up with zeros.
    psi : uint64[n_items], a bit for each event, or with several levels float32[n_items, P]
    centre : float64[D]
    total : float64[D]
        Sum of the thetas of the users who count.
    """

    theta: Any
    psi: Any
    centre: Floats
    total: Floats


class GpuEngine(TableEngine):
    """The engine on one GPU."""

    def __init__(self, problem: Problem, table: Observations, cuda: Cuda) -> None:
        check_solvers(problem)
        super().__init__(problem, table)
        self._cuda = cuda
        self._cupy = cuda.cupy
        self.users, self.items = gpu_sides(cuda, table.rows, table.columns)
        self.steps = GpuHalfSteps(cuda, self.problem.grid, self.problem.unobserved)
        #: The largest gap of a user's problem in the last sweep, relative to the scale of its data.
        self.gap = 0.0

    @property
    def resident(self) -> bool:
        """Whether the table is kept on the GPU."""
        return self.users.resident

    def start(self, rng: np.random.Generator, n_events: int) -> GpuState:
        """Draw the thetas that the engine on threads draws."""
        return self.spread(self._drawn(rng, n_events))

    def spread(self, state: State) -> GpuState:
        """Send a state to the GPU."""
        check_events(state.centre.size)
        factors = self.steps.factors
        theta, psi = factors.sent_theta(state.theta), factors.sent_psi(state.psi)
        total = factors.user_totals(theta, 0.0, state.centre, self._seen).total
        return GpuState(theta, psi, state.centre, total)

    def collect(self, state: GpuState) -> State:
        """Return a state whose arrays are on the host."""
        factors, size = self.steps.factors, state.centre.size
        return State(factors.theta(state.theta, size), factors.psi(state.psi, size), state.centre)

    def sweep(self, state: GpuState, index: int, seed: int) -> tuple[GpuState, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        self._table.rows.check_intact()
        objective, steps, factors = self.problem.objective, self.steps, self.steps.factors
        centre = objective.centre(state.total, int(self._seen.sum()))
        with self._cuda.guarded(
            "Give it fewer events, or less of it with 'memory': what does not fit is sent in blocks."
        ):
            began = time.perf_counter()
            middle, half_step = np.full_like(centre, self._item_centre), half_step_seed(seed, index, ITEM_SIDE)[0]
            psi = steps.item_step(self.items, state.theta, state.psi, objective.item_reg, middle, half_step)
            self.wait()
            between = time.perf_counter()
            theta, value, self.gap = steps.user_step(self.users, psi, state.theta, objective.user_reg, centre)
            totals = factors.user_totals(theta, value, centre, self._seen)
            ended = time.perf_counter()
        squares = factors.item_squares(psi, centre.size, self._item_centre) if objective.item_reg else 0.0
        reached, rmse = objective.quality(totals, squares, centre, self._table.n_users, self._mass)
        return GpuState(theta, psi, centre, totals.total), Sweep(index, reached, rmse, ended - between, between - began)

    def wait(self) -> None:
        """Wait until the GPU has done what it was asked for."""
        self._cupy.cuda.get_current_stream().synchronize()


@contextmanager
def gpu_engine(execution: Cuda, problem: Problem, table: Observations) -> Iterator[GpuEngine]:
    """Open the engine on a GPU."""
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as cuda:
        with cuda.guarded("Pack the table ('kolmogorov data pack') or say 'memory': it is then sent in blocks."):
            engine = GpuEngine(problem, table, cuda)
        yield engine
