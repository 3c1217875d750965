"""The engine on a cluster: theta stays with the users' shard, psi travels as bits, normal equations are summed up.

A sweep is made of these tasks, named so in Dask's dashboard:

- ``normal-equations`` of a block of items, from one shard; ``add-equations`` in a tree over the shards that is always
  the same; ``solve-items`` for the block;
- ``broadcast-psi``, the bits of all items;
- ``user-step`` for each shard.

Every task can be made again from the table, the seed and the psis, so Dask rebuilds what a lost worker held.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data.packed.shards import Shard
from kolmogorov.execution import Dask, Threads
from kolmogorov.execution.tables import DistributedTable
from kolmogorov.fitting.engine import (
    ITEM_SIDE,
    USER_SIDE,
    HalfStep,
    Mass,
    Objective,
    Partners,
    State,
    Tally,
)
from kolmogorov.fitting.history import Sweep
from kolmogorov.solvers import RowSolver

Floats = NDArray[np.float64]
Equations = tuple[Floats, Floats]
#: Blocks of items that are under way at once, for each thread of the cluster, and at most.
_WINDOW, _LARGEST_WINDOW = 2, 32
_LEAST_ROWS = 64


@dataclass(frozen=True, eq=False)
class UserBlock:
    """The thetas of a shard's users, and what the rest of the world needs to know of them."""

    theta: Floats
    tally: Tally

    def __sizeof__(self) -> int:
        return self.theta.nbytes


@dataclass(frozen=True, eq=False)
class Encoded:
    """Psi for travelling: a bit for each event where it is bits, numbers where it is not."""

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
class SpreadTheta:
    """Theta where its users are: a future of a `UserBlock` for each shard, and their tallies."""

    blocks: Sequence[Any]
    tallies: Sequence[Any]


class ShardedEngine:
    """Does what `Engine` does, on a table in a cluster."""

    def __init__(
        self,
        table: DistributedTable,
        user_solver: RowSolver,
        item_solver: RowSolver,
        objective: Objective,
        dask: Dask,
    ) -> None:
        self.table = table
        self.user_solver = user_solver
        self.item_solver = item_solver
        self.objective = objective
        self.dask = dask
        self.seen_users = table.seen_users
        masses = dask.gather([dask.submit("sum-squares", _mass, shard) for shard in table.shards])
        self._mass = masses[0]
        for mass in masses[1:]:
            self._mass = self._mass + mass

    def start(self, rng: np.random.Generator, n_events: int) -> State:
        """Let every shard draw its users' thetas from its place in the stream of random numbers."""
        blocks = []
        for shard, (first, last) in zip(self.table.shards, self.table.bounds, strict=True):
            blocks.append(self.dask.submit("start-theta", _drawn, shard, rng.bit_generator.state, n_events))
            rng.dirichlet(np.ones(n_events), size=last - first)
        psi = np.zeros((self.table.n_items, n_events))
        return self._state(blocks, psi, np.full(n_events, 1.0 / n_events))

    def spread(self, state: State) -> State:
        """Send every shard the thetas of its users."""
        blocks = [
            self.dask.submit("given-theta", _given, shard, np.array(state.theta[first:last]))
            for shard, (first, last) in zip(self.table.shards, self.table.bounds, strict=True)
        ]
        return self._state(blocks, state.psi, state.centre)

    def collect(self, state: State) -> State:
        """Bring all thetas here, a shard at a time."""
        spread: SpreadTheta = state.theta
        theta = np.empty((self.table.n_users, state.centre.size))
        for block, (first, last) in zip(spread.blocks, self.table.bounds, strict=True):
            theta[first:last] = self.dask.gather([block])[0].theta
        return State(theta, state.psi, state.centre)

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        spread: SpreadTheta = state.theta
        centre = self.objective.centre(self._tally(spread).total, int(self.seen_users.sum()))
        began = time.perf_counter()
        psi = self._items(
            spread,
            state.psi,
            HalfStep(self.item_solver, self.objective.item_reg, np.zeros_like(centre), seed, index, ITEM_SIDE),
        )
        between = time.perf_counter()
        step = HalfStep(self.user_solver, self.objective.user_reg, centre, seed, index, USER_SIDE)
        bits = self.dask.hold("broadcast-psi", Encoded.of(psi))
        blocks = [
            self.dask.submit("user-step", _stepped, shard, block, bits, step)
            for shard, block in zip(self.table.shards, spread.blocks, strict=True)
        ]
        new = self._state(blocks, psi, centre)
        tally = self._tally(new.theta)
        ended = time.perf_counter()
        objective, rmse = self.objective.quality(tally, psi, centre, self.table.n_users, self._mass)
        return new, Sweep(index, objective, rmse, ended - between, between - began)

    def _state(self, blocks: list[Any], psi: Floats, centre: Floats) -> State:
        tallies = [self.dask.submit("tally", _tally, block) for block in blocks]
        return State(SpreadTheta(blocks, tallies), psi, centre)

    def _tally(self, spread: SpreadTheta) -> Tally:
        tallies: list[Tally] = self.dask.gather(spread.tallies)
        total = tallies[0]
        for tally in tallies[1:]:
            total = total + tally
        return total

    def _items(self, spread: SpreadTheta, psi: Floats, step: HalfStep) -> Floats:
        """Sum up normal equations block by block of items, and solve each block where its sum is."""
        n_items, size = psi.shape
        window = min(_WINDOW * self.dask.n_threads, _LARGEST_WINDOW)
        fitting = self.dask.block_memory // (window * 8 * size * (size + 1))
        rows = max(1, min(fitting, max(_LEAST_ROWS, -(-n_items // window))))
        solved: list[Any] = []
        for first in range(0, n_items, rows):
            last = min(first + rows, n_items)
            if len(solved) >= window:
                self.dask.gather([solved[len(solved) - window]])
            sums = [
                self.dask.submit(
                    "normal-equations", _equations, shard, block, first, last, step.ridge if k == 0 else 0.0
                )
                for k, (shard, block) in enumerate(zip(self.table.shards, spread.blocks, strict=True))
            ]
            start = Encoded.of(psi[first:last])
            total = self._summed(sums)
            solved.append(self.dask.submit("solve-items", _solved, total, start, replace(step, offset=first)))
        return np.concatenate([block.psi for block in self.dask.gather(solved)])

    def _summed(self, parts: list[Any]) -> Any:
        """Add up in a tree that depends on the number of parts alone, neighbours first: they share a worker."""
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self.dask.submit("add-equations", _added, self._summed(parts[:half]), self._summed(parts[half:]))


# --- what tasks call ---------------------------------------------------------------------------------------------


def _mass(shard: Shard) -> Mass:
    with one_blas_thread():
        return Mass.of(shard.rows)


def _tally(block: UserBlock) -> Tally:
    return block.tally


def _drawn(shard: Shard, stream: Any, n_events: int) -> UserBlock:
    """Draw thetas from the place in a stream of random numbers that belongs to the shard."""
    bits = getattr(np.random, stream["bit_generator"])()
    bits.state = stream
    return _given(shard, np.random.Generator(bits).dirichlet(np.ones(n_events), size=shard.n_users))


def _given(shard: Shard, theta: Floats) -> UserBlock:
    nothing = np.zeros(1)
    return UserBlock(_writable(theta), Tally.of(theta, nothing, theta[0], shard.rows.counts > 0))


def _stepped(shard: Shard, block: UserBlock, bits: Encoded, step: HalfStep) -> UserBlock:
    """Solve a shard's users given psi."""
    here = replace(step, offset=shard.first, centre=_writable(step.centre))
    with one_blas_thread(), Threads(1) as dealer:
        theta, values = here.run(shard.rows, bits.psi, _writable(block.theta), dealer)
    return UserBlock(theta, Tally.of(theta, values, here.centre, shard.rows.counts > 0))


def _equations(shard: Shard, block: UserBlock, first: int, last: int, ridge: float) -> Equations:
    """Return what a shard's users contribute to the normal equations of some items."""
    theta = _writable(block.theta)
    partners = Partners.of(theta, shard.columns)
    return partners.equations(shard.columns, first, last, ridge, np.zeros(theta.shape[1]))


def _added(a: Equations, b: Equations) -> Equations:
    return a[0] + b[0], a[1] + b[1]


def _solved(equations: Equations, start: Encoded, step: HalfStep) -> Encoded:
    """Solve a block of items."""
    gram, moment = map(_writable, equations)
    with one_blas_thread():
        psi, _ = step.solved(gram, moment, start.psi, 0)
    return Encoded.of(psi)


def _writable(array: Floats) -> Floats:
    """Copy an array that came read-only from elsewhere: kernels are compiled for writable ones."""
    return array if array.flags.writeable else array.copy()
