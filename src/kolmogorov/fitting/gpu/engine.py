"""The engine on a GPU: one table there, and half-steps over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kolmogorov._support.typing import Floats
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.execution import Cuda
from kolmogorov.execution.gpu.table import gpu_sides
from kolmogorov.fitting.descent.engine import TableEngine
from kolmogorov.fitting.descent.half_step import HalfStep
from kolmogorov.fitting.descent.objective import UserTotals
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.descent.state import State
from kolmogorov.fitting.gpu.half_step import GpuHalfSteps
from kolmogorov.fitting.gpu.solvers import check_events, check_solvers

_ADVICE = "Give it fewer events, or less of it with 'memory': what does not fit is sent in blocks."


@dataclass(frozen=True, eq=False)
class GpuState:
    """A state whose theta and psi are on the GPU, as `GpuFactors` says; `total` sums the thetas of the users who count.

    Arrays are never changed in place.
    """

    theta: Any
    psi: Any
    centre: Floats
    total: Floats


class GpuEngine(TableEngine[GpuState]):
    """The engine on one GPU."""

    def __init__(self, problem: Problem, table: Observations, cuda: Cuda) -> None:
        check_solvers(problem)
        super().__init__(problem, table)
        self._cuda = cuda
        self._cupy = cuda.cupy
        self.users, self.items = gpu_sides(cuda, table.rows, table.columns)
        self.steps = GpuHalfSteps(cuda, self.problem.grid)
        #: The largest gap of a user's problem in the last sweep, relative to the scale of its data.
        self.gap = 0.0

    @property
    def resident(self) -> bool:
        """Whether the table is kept on the GPU."""
        return self.users.resident

    def spread(self, state: State) -> GpuState:
        """Send a state to the GPU."""
        check_events(state.centre.size)
        factors = self.steps.factors
        theta, psi = factors.sent_theta(state.theta), factors.sent_psi(state.psi)
        total = factors.user_totals(theta, 0.0, state.centre, self.seen_users).total
        return GpuState(theta, psi, state.centre, total)

    def collect(self, state: GpuState) -> State:
        """Return a state whose arrays are on the host."""
        factors, size = self.steps.factors, state.centre.size
        return State(factors.theta(state.theta, size), factors.psi(state.psi, size), state.centre)

    def _theta_total(self, state: GpuState) -> Floats:
        return state.total

    def _items(self, state: GpuState, step: HalfStep) -> Any:
        self._table.rows.check_intact()
        with self._cuda.guarded(_ADVICE):
            psi = self.steps.item_step(self.items, state.theta, state.psi, step)
            self.wait()
        return psi

    def _users(self, state: GpuState, psi: Any, step: HalfStep) -> tuple[GpuState, UserTotals]:
        with self._cuda.guarded(_ADVICE):
            theta, value, self.gap = self.steps.user_step(self.users, psi, state.theta, step)
            totals = self.steps.factors.user_totals(theta, value, step.centre, self.seen_users)
        return GpuState(theta, psi, step.centre, totals.total), totals

    def _squares(self, psi: Any, n_events: int) -> float:
        return self.steps.factors.item_squares(psi, n_events, self._item_centre)

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
