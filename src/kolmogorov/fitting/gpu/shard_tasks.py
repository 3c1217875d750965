"""What the tasks of a fit on a cluster do with a shard on the GPU of its worker.

A worker takes the first GPU that it sees, so that ``CUDA_VISIBLE_DEVICES`` gives each its own. The entries of a shard
are sent when they are first needed and stay there as long as the worker holds the shard, where there is room for them;
thetas stay there from sweep to sweep. Normal equations travel, as they do between processors.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import named
from kolmogorov.data.packed.shards import Shard
from kolmogorov.execution import Cuda, Dask
from kolmogorov.execution.dask import gpu_of_worker
from kolmogorov.execution.distributed import DistributedTable
from kolmogorov.execution.gpu.table import gpu_sides
from kolmogorov.fitting.cluster.engine import ShardedEngine, SpreadState
from kolmogorov.fitting.cluster.shard_tasks import Encoded, Equations, ShardTasks
from kolmogorov.fitting.descent.half_step import HalfStep
from kolmogorov.fitting.descent.objective import Objective, UserTotals
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.gpu.factors import GpuFactors
from kolmogorov.fitting.gpu.half_step import GpuHalfSteps
from kolmogorov.fitting.gpu.solvers import check_events, check_solvers

#: Threads of a worker take turns at its GPU: one task fills it, and two would need its memory twice.
_TURN = threading.Lock()


@dataclass(frozen=True, eq=False)
class GpuUserBlock:
    """The thetas of a shard's users, float32[n_users, P] on the GPU, and what others need to know."""

    theta: Any
    totals: UserTotals

    def __sizeof__(self) -> int:
        # Of the host's memory, which is what a worker looks after, it takes next to nothing.
        return self.totals.total.nbytes


class _GpuShard:
    """A shard's entries in both orders."""

    def __init__(self, cuda: Cuda, shard: Shard) -> None:
        self.users, self.items = gpu_sides(cuda, shard.rows, shard.columns)


#: Shards on the GPU of this process, which go when the worker lets go of them: tasks share nothing else.
_shards: WeakKeyDictionary[Shard, _GpuShard] = WeakKeyDictionary()


@contextmanager
def _worker_gpu() -> Iterator[Cuda]:
    """Take the worker's GPU for a task."""
    with _TURN:
        cuda = gpu_of_worker()
        with cuda.guarded("Give it less at a time: a smaller " + named("shard_ratings") + "."):
            yield cuda


def _sent(cuda: Cuda, shard: Shard) -> _GpuShard:
    """Return a shard on the GPU, sent there unless it is there."""
    if shard not in _shards:
        _shards[shard] = _GpuShard(cuda, shard)
    return _shards[shard]


def _given(shard: Shard, theta: Floats, objective: Objective) -> GpuUserBlock:
    with _worker_gpu() as cuda:
        factors = GpuFactors(cuda.cupy, None)
        sent, centre = factors.sent_theta(theta), np.zeros(theta.shape[1])
        return GpuUserBlock(sent, factors.user_totals(sent, 0.0, centre, objective.counted(shard.rows.counts)))


def _theta(block: GpuUserBlock) -> Floats:
    with _worker_gpu() as cuda:
        return GpuFactors(cuda.cupy, None).theta(block.theta, block.totals.total.size)


def _stepped(shard: Shard, block: GpuUserBlock, psi: Encoded, step: HalfStep, objective: Objective) -> GpuUserBlock:
    with _worker_gpu() as cuda:
        steps, users = GpuHalfSteps(cuda, psi.grid), _sent(cuda, shard).users
        factors, counted = steps.factors, objective.counted(shard.rows.counts)
        theta, value, _ = steps.user_step(users, factors.sent_psi(psi.psi), block.theta, step)
        return GpuUserBlock(theta, factors.user_totals(theta, value, step.centre, counted))


def _equations(shard: Shard, block: GpuUserBlock, first: int, last: int, step: HalfStep) -> Equations:
    with _worker_gpu() as cuda:
        return GpuHalfSteps(cuda, None).item_equations(_sent(cuda, shard).items, block.theta, first, last, step)


def _solved(equations: Equations, start: Encoded, step: HalfStep) -> Encoded:
    with _worker_gpu() as cuda:
        return Encoded.of(GpuHalfSteps(cuda, start.grid).solved_items(*equations, start.psi, step), start.grid)


class GpuShardedEngine(ShardedEngine):
    """The engine on a table in a cluster, whose workers compute on their GPUs."""

    _tasks: ClassVar[ShardTasks] = ShardTasks(_given, _theta, _stepped, _equations, _solved)

    def __init__(self, problem: Problem, table: DistributedTable, dask: Dask) -> None:
        check_solvers(problem)
        super().__init__(problem, table, dask)

    def start(self, rng: np.random.Generator, n_events: int) -> SpreadState:
        """Let every shard draw its users' thetas, where there are no more events than kernels take."""
        check_events(n_events)
        return super().start(rng, n_events)
