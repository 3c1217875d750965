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

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.packed.shards import Shard
from kolmogorov.data.table.levels import Levels, grid_of
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.execution import Dask
from kolmogorov.execution.distributed import DistributedTable, distributed_table
from kolmogorov.fitting.cluster.shard_tasks import HOST_TASKS, Encoded, ShardTasks, added, drawn
from kolmogorov.fitting.descent.engine import RatingsEngine
from kolmogorov.fitting.descent.half_step import HalfStep
from kolmogorov.fitting.descent.objective import Mass, UserTotals
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.descent.state import State

# Numbers by judgement.
#: Blocks of items that are under way at once, for each thread of the cluster, and at most; and items of a block at
#: least.
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


class ShardedEngine(RatingsEngine[SpreadState]):
    """The engine on a table in a cluster, whose workers compute on their processors."""

    _tasks: ClassVar[ShardTasks] = HOST_TASKS

    def __init__(self, problem: Problem, table: DistributedTable, dask: Dask) -> None:
        self._dask = dask
        mass, *others = dask.gather([dask.submit("sum-squares", _mass, shard) for shard in table.shards])
        seen = problem.objective.counted(table.seen_users.astype(np.int64))
        super().__init__(problem, table, _grid(problem.levels, table), sum(others, start=mass), seen)

    def start(self, rng: np.random.Generator, n_events: int) -> SpreadState:
        """Let every shard draw its users' thetas from its place in the stream of random numbers."""
        blocks, given = [], self._tasks.given
        for shard, (first, last) in zip(self._table.shards, self._table.bounds, strict=True):
            stream = rng.bit_generator.state
            blocks.append(
                self._dask.submit("start-theta", drawn, given, shard, stream, n_events, self.problem.objective)
            )
            rng.dirichlet(np.ones(n_events), size=last - first)
        return self._state(blocks, self._first_psi(n_events), np.full(n_events, 1.0 / n_events))

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
        collected: Observations = self._table.collected()
        return collected

    def _theta_total(self, state: SpreadState) -> Floats:
        return self._totals(state).total

    def _users(self, state: SpreadState, psi: Floats, step: HalfStep) -> tuple[SpreadState, UserTotals]:
        bits = self._dask.hold("broadcast-psi", Encoded.of(psi, self.problem.grid))
        blocks = [
            self._dask.submit("user-step", self._tasks.stepped, shard, block, bits, step, self.problem.objective)
            for shard, block in zip(self._table.shards, state.blocks, strict=True)
        ]
        new = self._state(blocks, psi, step.centre)
        return new, self._totals(new)

    def _state(self, blocks: list[Any], psi: Floats, centre: Floats) -> SpreadState:
        totals = [self._dask.submit("total", attrgetter("totals"), block) for block in blocks]
        return SpreadState(blocks, totals, psi, centre)

    def _totals(self, state: SpreadState) -> UserTotals:
        first, *others = self._dask.gather(state.totals)
        return sum(others, start=first)

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


@contextmanager
def sharded_engine(
    execution: Dask, problem: Problem, table: Any, kind: type[ShardedEngine] = ShardedEngine
) -> Iterator[ShardedEngine]:
    """Open an engine on a cluster, which is told to load the table unless it has."""
    with execution as dask:
        shards = distributed_table(dask, table)
        check_trainable(shards, only_yes=problem.objective.unobserved != 0.0)
        yield kind(problem, shards, dask)
