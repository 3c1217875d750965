"""The engine on a cluster: theta stays with the users' shard, psi travels as bits, normal equations are summed up.

A sweep is made of these tasks, named so in Dask's dashboard:

- ``normal-equations`` of a block of items, from one shard; ``add-equations`` in a tree over the shards that is always
  the same; ``solve-items`` for the block;
- ``broadcast-psi``, the bits of all items;
- ``user-step`` for each shard.

Every task can be made again from the table, the seed and the psis, so Dask rebuilds what a lost worker held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.cluster.dask import Dask
from kolmogorov.cluster.shards import DistributedTable, Shard, distributed_table
from kolmogorov.data import Observations
from kolmogorov.data.observations import check_trainable
from kolmogorov.descent.engine import HalfStep, RatingsEngine, State
from kolmogorov.descent.problem import Mass, Objective, Partners, Problem, UserTotals

# Numbers by judgement.
#: Blocks of items that are under way at once, for each thread of the cluster, and at most; and items of a block at
#: least.
_WINDOW, _LARGEST_WINDOW = 2, 32
_LEAST_ROWS = 64


Equations = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class UserBlock:
    """The thetas of a shard's users, and what the rest of the world needs to know of them."""

    theta: Floats
    totals: UserTotals

    def __sizeof__(self) -> int:
        return self.theta.nbytes


@dataclass(frozen=True, eq=False)
class Encoded:
    """Psi for travelling: a bit for each event where it is bits, else numbers."""

    content: NDArray[Any]
    n_events: int

    @classmethod
    def of(cls, psi: Floats) -> Encoded:
        """Pack rows of psi."""
        bits = bool(((psi == 0.0) | (psi == 1.0)).all())
        return cls(np.packbits(psi.astype(np.uint8), axis=1) if bits else psi, psi.shape[1])

    @property
    def psi(self) -> Floats:
        """The rows as floats."""
        if self.content.dtype != np.uint8:
            return np.array(self.content)
        return np.unpackbits(self.content, axis=1, count=self.n_events).astype(np.float64)

    def __sizeof__(self) -> int:
        return self.content.nbytes


@dataclass(frozen=True, eq=False)
class SpreadState:
    """A state whose thetas are where their users are: futures of a `UserBlock` and of its totals for each shard."""

    blocks: Sequence[Any]
    totals: Sequence[Any]
    psi: Floats
    centre: Floats


class ShardedEngine(RatingsEngine[SpreadState]):
    """The engine on a table in a cluster."""

    def __init__(self, problem: Problem, table: DistributedTable, dask: Dask) -> None:
        self._dask = dask
        mass, *others = dask.gather([dask.submit("sum-squares", _mass, shard) for shard in table.shards])
        seen = problem.objective.counted(table.seen_users.astype(np.int64))
        super().__init__(problem, table, sum(others, start=mass), seen)

    def start(self, rng: np.random.Generator, n_events: int) -> SpreadState:
        """Let every shard draw its users' thetas from its place in the stream of random numbers."""
        blocks = []
        for shard, (first, last) in zip(self._table.shards, self._table.bounds, strict=True):
            stream = rng.bit_generator.state
            blocks.append(self._dask.submit("start-theta", _drawn, shard, stream, n_events, self.problem.objective))
            rng.dirichlet(np.ones(n_events), size=last - first)
        return self._state(blocks, self._first_psi(n_events), np.full(n_events, 1.0 / n_events))

    def spread(self, state: State) -> SpreadState:
        """Send every shard the thetas of its users."""
        objective = self.problem.objective
        blocks = [
            self._dask.submit("given-theta", _given, shard, np.array(state.theta[first:last]), objective)
            for shard, (first, last) in zip(self._table.shards, self._table.bounds, strict=True)
        ]
        return self._state(blocks, state.psi, state.centre)

    def collect(self, state: SpreadState) -> State:
        """Bring all thetas here, a shard at a time."""
        theta = np.empty((self._table.n_users, state.centre.size))
        for block, (first, last) in zip(state.blocks, self._table.bounds, strict=True):
            found = self._dask.submit("collect-theta", attrgetter("theta"), block)
            theta[first:last] = self._dask.gather([found])[0]
        return State(theta, state.psi, state.centre)

    def observations(self) -> Observations:
        """Bring the table here, unless it is here already."""
        collected: Observations = self._table.collected()
        return collected

    def _theta_total(self, state: SpreadState) -> Floats:
        return self._totals(state).total

    def _users(self, state: SpreadState, psi: Floats, step: HalfStep) -> tuple[SpreadState, UserTotals]:
        bits = self._dask.hold("broadcast-psi", Encoded.of(psi))
        blocks = [
            self._dask.submit("user-step", _stepped, shard, block, bits, step, self.problem.objective)
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
        others = replace(step, ridge=0.0)
        for first in range(0, n_items, rows):
            last = min(first + rows, n_items)
            if len(solved) >= window:
                self._dask.gather([solved[len(solved) - window]])
            sums = [
                self._dask.submit("normal-equations", _equations, shard, block, first, last, step if k == 0 else others)
                for k, (shard, block) in enumerate(zip(self._table.shards, state.blocks, strict=True))
            ]
            start = Encoded.of(psi[first:last])
            total = self._summed(sums)
            here = replace(step, offset=first)
            solved.append(self._dask.submit("solve-items", _solved, total, start, here))
        return np.concatenate([block.psi for block in self._dask.gather(solved)])

    def _summed(self, parts: list[Any]) -> Any:
        """Add up in a tree that depends on the number of parts alone, neighbours first: they share a worker."""
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self._dask.submit("add-equations", _added, self._summed(parts[:half]), self._summed(parts[half:]))


# --- what tasks call ---------------------------------------------------------------------------------------------


def _mass(shard: Shard) -> Mass:
    with one_blas_thread():
        return Mass.of(shard.rows)


def _drawn(shard: Shard, stream: Any, n_events: int, objective: Objective) -> UserBlock:
    """Draw thetas from the place in a stream of random numbers that belongs to the shard."""
    bits = getattr(np.random, stream["bit_generator"])()
    bits.state = stream
    return _given(shard, np.random.Generator(bits).dirichlet(np.ones(n_events), size=shard.n_users), objective)


def _added(a: Equations, b: Equations) -> Equations:
    """Add up what two shards contribute."""
    return a[0] + b[0], a[1] + b[1]


def _given(shard: Shard, theta: Floats, objective: Objective) -> UserBlock:
    nothing, counted = np.zeros(1), objective.counted(shard.rows.counts)
    return UserBlock(_writable(theta), UserTotals.of(theta, nothing, theta[0], counted))


def _stepped(shard: Shard, block: UserBlock, psi: Encoded, step: HalfStep, objective: Objective) -> UserBlock:
    here = replace(step, offset=shard.first, centre=_writable(step.centre))
    with one_blas_thread(), Threads(1) as dealer:
        theta, values = here.run(shard.rows, psi.psi, _writable(block.theta), dealer)
    return UserBlock(theta, UserTotals.of(theta, values, here.centre, objective.counted(shard.rows.counts)))


def _equations(shard: Shard, block: UserBlock, first: int, last: int, step: HalfStep) -> Equations:
    theta = _writable(block.theta)
    partners = Partners.of(theta, shard.columns, step.unobserved)
    return partners.equations(shard.columns, first, last, step.ridge, _writable(step.centre))


def _solved(equations: Equations, start: Encoded, step: HalfStep) -> Encoded:
    gram, moment = map(_writable, equations)
    with one_blas_thread():
        psi = step.solved(gram, moment, start.psi)
    return Encoded.of(psi)


def _writable(array: Floats) -> Floats:
    """Copy an array that came read-only from elsewhere: kernels are compiled for writable ones."""
    return array if array.flags.writeable else array.copy()


@contextmanager
def sharded_engine(dask: Dask, problem: Problem, table: Any) -> Iterator[ShardedEngine]:
    """Open an engine on a cluster, which is told to load the table unless it has."""
    with dask:
        shards = distributed_table(dask, table)
        check_trainable(shards, only_yes=problem.objective.unobserved != 0.0)
        yield ShardedEngine(problem, shards, dask)
