"""The engine on a cluster: theta stays with the users' shard, psi travels as bits, normal equations are summed up.

A sweep is made of these tasks, named so in Dask's dashboard:

- ``normal-equations`` of a block of items, from one shard; ``add-equations`` in a tree over the shards that is always
  the same; ``solve-items`` for the block;
- ``broadcast-psi``, the bits of all items;
- ``user-step`` for each shard.

Every task can be made again from the table, the seed and the psis, so Dask rebuilds what a lost worker held. Tasks
compute on the worker's processors (`shard_tasks`) or on its GPU (`fitting.gpu.shard_tasks`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.packed.shards import Shard
from kolmogorov.data.table.levels import Levels, grid_of
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.execution import Dask
from kolmogorov.execution.distributed import DistributedTable, distributed_table
from kolmogorov.fitted.history import Sweep
from kolmogorov.fitting.cluster.shard_tasks import HOST_TASKS, Encoded, ShardTasks, UserBlock, added, drawn
from kolmogorov.fitting.descent.engine import Problem
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.fitting.descent.objective import Mass, UserTotals, squares_of
from kolmogorov.fitting.descent.state import State

#: Blocks of items that are under way at once, for each thread of the cluster, and at most.
_WINDOW, _LARGEST_WINDOW = 2, 32
_LEAST_ROWS = 64
#: Ratings looked at to find their step.
_LOOK = 1 << 20


@dataclass(frozen=True, eq=False)
class SpreadState:
    """A state whose thetas are where their users are: futures of a `UserBlock` and of its totals for each shard."""

    blocks: Sequence[Any]
    totals: Sequence[Any]
    psi: Floats
    centre: Floats


class ShardedEngine:
    """The engine on a table in a cluster, whose workers compute on their processors."""

    _tasks: ClassVar[ShardTasks] = HOST_TASKS

    def __init__(self, problem: Problem, table: DistributedTable, dask: Dask) -> None:
        self._table = table
        self._dask = dask
        masses = dask.gather([dask.submit("sum-squares", _mass, shard) for shard in table.shards])
        mass = masses[0]
        for more in masses[1:]:
            mass = mass + more
        self.problem = problem.on(_grid(problem.levels, table)).settled(mass, table.n_users, table.n_items)
        self._mass = mass.of_table(self.problem.unobserved, table.n_users * table.n_items)
        self._item_centre = self.problem.item_centre(self._mass)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return self._table.n_users, self._table.n_items

    @property
    def seen_users(self) -> NDArray[np.bool_]:
        """Which users the fit learns something of."""
        return self.problem.objective.counted(self._table.seen_users.astype(np.int64))

    def fingerprint(self) -> str:
        """Return a digest of the table."""
        return self._table.fingerprint()

    def start(self, rng: np.random.Generator, n_events: int) -> SpreadState:
        """Let every shard draw its users' thetas from its place in the stream of random numbers."""
        blocks, given = [], self._tasks.given
        for shard, (first, last) in zip(self._table.shards, self._table.bounds, strict=True):
            stream = rng.bit_generator.state
            blocks.append(
                self._dask.submit("start-theta", drawn, given, shard, stream, n_events, self.problem.objective)
            )
            rng.dirichlet(np.ones(n_events), size=last - first)
        psi = np.full((self._table.n_items, n_events), self.problem.first_level(self._item_centre))
        return self._state(blocks, psi, np.full(n_events, 1.0 / n_events))

    def spread(self, state: State) -> SpreadState:
        """Send every shard the thetas of its users."""
        objective, given = self.problem.objective, self._tasks.given
        blocks = [
            self._dask.submit("given-theta", given, shard, np.array(state.theta[first:last]), objective)
            for shard, (first, last) in zip(self._table.shards, self._table.bounds, strict=True)
        ]
        return self._state(blocks, state.psi, state.centre)

    def collect(self, state: SpreadState) -> State:
        """Bring all thetas here, a shard at a time."""
        theta = np.empty((self._table.n_users, state.centre.size))
        for block, (first, last) in zip(state.blocks, self._table.bounds, strict=True):
            found = self._dask.submit("collect-theta", self._tasks.theta, block)
            theta[first:last] = self._dask.gather([found])[0]
        return State(theta, state.psi, state.centre)

    def observations(self) -> Observations:
        """Bring the table here, unless it is here already."""
        return self._table.collected()

    def sweep(self, state: SpreadState, index: int, seed: int) -> tuple[SpreadState, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        problem, objective = self.problem, self.problem.objective
        centre = objective.centre(self._totals(state).total, int(self.seen_users.sum()))
        began = time.perf_counter()
        middle = np.full_like(centre, self._item_centre)
        item_step = HalfStep(problem.item_solver, objective.item_reg, middle, seed, index, ITEM_SIDE)
        item_step = replace(item_step, unobserved=problem.unobserved, keep_better=problem.keep_better)
        psi = self._items(state, item_step)
        between = time.perf_counter()
        user_step = HalfStep(problem.user_solver, objective.user_reg, centre, seed, index, USER_SIDE)
        user_step = replace(user_step, unobserved=problem.unobserved, keep_better=problem.keep_better)
        bits = self._dask.hold("broadcast-psi", Encoded.of(psi, problem.grid))
        blocks = [
            self._dask.submit("user-step", self._tasks.stepped, shard, block, bits, user_step, objective)
            for shard, block in zip(self._table.shards, state.blocks, strict=True)
        ]
        new = self._state(blocks, psi, centre)
        totals = self._totals(new)
        ended = time.perf_counter()
        squares = squares_of(psi, self._item_centre)
        reached, rmse = objective.quality(totals, squares, centre, self._table.n_users, self._mass)
        return new, Sweep(index, reached, rmse, ended - between, between - began)

    def _state(self, blocks: list[Any], psi: Floats, centre: Floats) -> SpreadState:
        totals = [self._dask.submit("total", _totals, block) for block in blocks]
        return SpreadState(blocks, totals, psi, centre)

    def _totals(self, state: SpreadState) -> UserTotals:
        parts: list[UserTotals] = self._dask.gather(state.totals)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        return whole

    def _items(self, state: SpreadState, step: HalfStep) -> Floats:
        """Sum up normal equations block by block of items, and solve each block where its sum is."""
        psi = state.psi
        n_items, size = psi.shape
        window = min(_WINDOW * self._dask.n_threads, _LARGEST_WINDOW)
        fitting = self._dask.block_memory // (window * 8 * size * (size + 1))
        rows = max(1, min(fitting, max(_LEAST_ROWS, -(-n_items // window))))
        solved: list[Any] = []
        others, equations = replace(step, ridge=0.0), self._tasks.equations
        for first in range(0, n_items, rows):
            last = min(first + rows, n_items)
            if len(solved) >= window:
                self._dask.gather([solved[len(solved) - window]])
            sums = [
                self._dask.submit("normal-equations", equations, shard, block, first, last, step if k == 0 else others)
                for k, (shard, block) in enumerate(zip(self._table.shards, state.blocks, strict=True))
            ]
            start = Encoded.of(psi[first:last], self.problem.grid)
            total = self._summed(sums)
            here = replace(step, offset=first)
            solved.append(self._dask.submit("solve-items", self._tasks.solved, total, start, here))
        return np.concatenate([block.psi for block in self._dask.gather(solved)])

    def _summed(self, parts: list[Any]) -> Any:
        """Add up in a tree that depends on the number of parts alone, neighbours first: they share a worker."""
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self._dask.submit("add-equations", added, self._summed(parts[:half]), self._summed(parts[half:]))


# --- what tasks call ---------------------------------------------------------------------------------------------


def _mass(shard: Shard) -> Mass:
    with one_blas_thread():
        return Mass.of(shard.rows)


def _grid(levels: Levels, table: DistributedTable) -> Floats | None:
    """Settle the values of items, from the same observations as on one machine where the table decides."""
    if table.source is not None or not isinstance(levels, str):
        return grid_of(levels, table.source)  # type: ignore[arg-type]  # a given grid needs no table
    found: list[Floats] = []
    for shard in table.shards:
        found += table.dask.gather([table.dask.submit("look-at-values", _values, shard)])
        if sum(part.size for part in found) >= _LOOK:
            break
    values = np.concatenate(found)[:_LOOK]
    rows = np.arange(values.size)
    return grid_of(levels, Observations.from_arrays(np.zeros_like(rows), rows, values, maximum=1.0))


def _values(shard: Shard) -> Floats:
    return np.array(shard.rows.values[:_LOOK])


def _totals(block: UserBlock) -> UserTotals:
    return block.totals


@contextmanager
def sharded_engine(
    execution: Dask, problem: Problem, table: Any, kind: type[ShardedEngine] = ShardedEngine
) -> Iterator[ShardedEngine]:
    """Open an engine on a cluster, which is told to load the table unless it has."""
    with execution as dask:
        shards = distributed_table(dask, table)
        check_trainable(shards, only_yes=problem.objective.unobserved != 0.0)
        yield kind(problem, shards, dask)
