"""The engine on a GPU: normal equations on the tensor cores, one warp or a part of one for each small problem.

Rows are gone through in batches: their normal equations are summed segment by segment, then solved. Every sum has one
order, so that the same fit gives the same bits on the same kind of device. Numbers are float32, values of rows and
everything that is summed over rows float64.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.seeds import half_step_seed
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.trainable import check_trainable
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Cuda
from kolmogorov.execution.device_table import Block, DeviceSide, Entries
from kolmogorov.fitting.engine import Problem, TableEngine, opened_engine
from kolmogorov.fitting.half_step import ITEM_SIDE
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.objective import UserTotals
from kolmogorov.fitting.state import State
from kolmogorov.kernels.device import function

#: The most events: a word of bits, and what a warp holds of a row.
MOST_EVENTS = 64
#: Up to so many events every support of an item is looked at.
_ENUMERATED = 16
_MOST_LEVELS = 256
#: Gap of a user's problem that counts as none, relative to the largest diagonal entry of its matrix; and its moves.
_GAP, _MOVES = 5e-8, 500
#: Bytes of the normal equations of a batch.
_BATCH = 1 << 26
#: Bytes of shared memory that a block of threads may ask for without being granted more.
_SHARED = 48 << 10
_ROWS_OF_TOTAL = 4096
#: Rows whose products are summed at once, in float64.
_CHUNK = 1 << 18
_USER_SOLVERS = ("active_set", "pairwise")
_ITEM_SOLVERS = ("auto", "exhaustive", "local_search", "coordinate")


@dataclass(frozen=True, eq=False)
class DeviceState:
    """A state whose factors are on the device. Arrays are never changed in place.

    Attributes
    ----------
    theta : float32[n_users, P]
        Rows are filled up with zeros.
    psi : uint64[n_items], a bit for each event, or with several levels float32[n_items, P]
    centre : float64[D]
    total : float64[D]
        Sum of the thetas of the users who count.
    squares : float
        Sum of the squares of all thetas.
    """

    theta: Any
    psi: Any
    centre: Floats
    total: Floats
    squares: float


def row_length(n_events: int) -> int:
    """Return the length of a row of factors: 8, or the next multiple of 16."""
    return 8 if n_events <= 8 else -(-n_events // 16) * 16


def lanes_of_row(length: int) -> int:
    """Return the lanes of a warp that solve a user's problem together: a quarter of its row's length."""
    return 1 << max(0, (length // 4 - 1).bit_length())


class DeviceEngine(TableEngine):
    """The engine on one GPU."""

    def __init__(self, problem: Problem, table: Observations, cuda: Cuda) -> None:
        _check_solvers(problem)
        super().__init__(problem, table)
        self._cuda = cuda
        self._cupy = cuda.cupy
        self._counted = self._cupy.asarray(self._seen.view(np.uint8))
        resident = _table_bytes(table) < cuda.budget() // 2
        self._users = DeviceSide(cuda, table.rows, resident=resident)
        self._items = DeviceSide(cuda, table.columns, resident=resident)
        self._grid = None if self.problem.grid is None else self._cupy.asarray(self.problem.grid)
        #: The largest gap of a user's problem in the last sweep, relative to the scale of its data.
        self.gap = 0.0

    @property
    def resident(self) -> bool:
        """Whether the table is kept on the device."""
        return self._users.resident

    # --- states -----------------------------------------------------------------------------------------------------

    def start(self, rng: np.random.Generator, n_events: int) -> DeviceState:
        """Draw the thetas that the engine on threads draws."""
        return self.spread(self._drawn(rng, n_events))

    def spread(self, state: State) -> DeviceState:
        """Send a state to the device."""
        size = state.centre.size
        if size > MOST_EVENTS:
            raise ParameterError(
                f"On a GPU a model has at most {MOST_EVENTS} events, got {size}. Fit without execution."
            )
        theta = self._padded(state.theta)
        if self._grid is None:
            words = state.psi.astype(np.uint64) @ (np.uint64(1) << np.arange(size, dtype=np.uint64))
            psi = self._cupy.asarray(words)
        else:
            psi = self._padded(state.psi)
        return DeviceState(theta, psi, state.centre, *self._totals(theta, size))

    def collect(self, state: DeviceState) -> State:
        """Return a state whose arrays are on the host."""
        size = state.centre.size
        theta = self._cupy.asnumpy(state.theta)[:, :size].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        found = self._cupy.asnumpy(state.psi)
        if self.problem.grid is None:
            psi = ((found[:, None] >> np.arange(size, dtype=np.uint64)) & np.uint64(1)).astype(np.float64)
        else:
            grid = self.problem.grid
            middles = 0.5 * (grid[1:] + grid[:-1])
            psi = grid[np.searchsorted(middles, found[:, :size])]
        return State(theta, psi, state.centre)

    def _padded(self, factors: Floats) -> Any:
        rows = np.zeros((len(factors), row_length(factors.shape[1])), dtype=np.float32)
        rows[:, : factors.shape[1]] = factors
        return self._cupy.asarray(rows)

    # --- sweeps -----------------------------------------------------------------------------------------------------

    def sweep(self, state: DeviceState, index: int, seed: int) -> tuple[DeviceState, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        self._table.check_intact()
        objective, size = self.problem.objective, state.centre.size
        centre = objective.centre(state.total, int(self._seen.sum()))
        with self._cuda.guarded(
            "Give it fewer events, or less of it with 'memory': what does not fit is sent in blocks."
        ):
            began = time.perf_counter()
            psi = self._item_step(state, index, seed)
            self._wait()
            between = time.perf_counter()
            theta, value = self._user_step(state, psi, centre)
            total, squares = self._totals(theta, size)
            ended = time.perf_counter()
        n_users = self._table.n_users
        everyone = total + (n_users - int(self._seen.sum())) * centre
        distance = max(squares - 2.0 * float(centre @ everyone) + n_users * float(centre @ centre), 0.0)
        squares_of_items = self._item_squares(psi, size) if objective.item_reg else 0.0
        totals = UserTotals(value, distance, total)
        reached, rmse = objective.quality(totals, squares_of_items, centre, n_users, self._mass)
        new = DeviceState(theta, psi, centre, total, squares)
        return new, Sweep(index, reached, rmse, ended - between, between - began)

    def _wait(self) -> None:
        self._cupy.cuda.get_current_stream().synchronize()

    def _item_step(self, state: DeviceState, index: int, seed: int) -> Any:
        """Return new psis given the thetas."""
        cupy, size = self._cupy, state.centre.size
        constants = {"D": size, "P": row_length(size)}
        base, pull = self._ridge(self.problem.objective.item_reg, np.full(size, self._item_centre), state.theta)
        psi = cupy.empty_like(state.psi)
        values = cupy.empty(len(psi), dtype=np.float64)
        half_step = np.uint64(half_step_seed(seed, index, ITEM_SIDE)[0])
        length, enumerated = constants["P"], self._grid is None and size <= _ENUMERATED
        if enumerated:
            solver = _Launch("binary/enumeration.cu", "enumerate_all", constants, 8 * _enumeration_room(size))
        elif self._grid is None:
            solver = _Launch("binary/flips.cu", "multi_start", constants, 8 * (length * length + length + 32 * size))
        else:
            room = 8 * (length * length + length + 64 * size)
            solver = _Launch("levels/moves.cu", "multi_start", constants, room, common=8 * _MOST_LEVELS)
        for batch in self._equations(self._items, state.theta, size):
            first, last = batch.first, batch.last
            given: tuple[Any, ...] = (base, pull)
            if self._grid is not None:
                given += (self._grid, np.int32(self._grid.size))
            given += (state.psi[first:last],)
            if not enumerated:
                given += (half_step, np.int64(first))
            solver(batch, given, (psi[first:last], values[first:last]))
        return psi

    def _user_step(self, state: DeviceState, psi: Any, centre: Floats) -> tuple[Any, float]:
        """Return new thetas given the psis, and the sum of the values of their rows."""
        cupy, size = self._cupy, centre.size
        length = row_length(size)
        lanes = lanes_of_row(length)
        base, pull = self._ridge(self.problem.objective.user_reg, centre, psi)
        theta = cupy.empty_like(state.theta)
        values = cupy.empty(len(theta), dtype=np.float64)
        gaps = cupy.empty(len(theta), dtype=np.float32)
        constants = {"D": size, "P": length, "G": lanes, "BITS": int(self._grid is None)}
        rows = 32 // lanes
        solver = _Launch(
            "rows/simplex.cu",
            "pairwise_descent",
            constants,
            4 * rows * (length * length + 2 * length + max(4, lanes)),
            rows=rows,
        )
        for batch in self._equations(self._users, psi, size):
            first, last = batch.first, batch.last
            given = (base, pull, state.theta[first:last], np.float32(_GAP), np.int32(_MOVES))
            solver(batch, given, (theta[first:last], values[first:last], gaps[first:last]))
        self.gap = float(gaps.max())
        return theta, float(values.sum())

    def _equations(self, side: DeviceSide, factors: Any, size: int) -> Iterator[Batch]:
        """Sum the normal equations of batch after batch of rows; a batch is there until the next."""
        cupy, length = self._cupy, row_length(size)
        bits = factors.dtype == np.uint64
        kind = np.dtype(np.float32 if bits else np.float64)
        limit = max(1, _BATCH // (kind.itemsize * length * (length + 1)))
        most = max(limit, side.most_segments)
        constants = {
            "D": size,
            "P": length,
            "BITS": int(bits),
            "WEIGHTED": int(side.weighted),
            "CODED": int(side.coded),
        }
        kernel = function("rows/gram.cu", "normal_equations", **constants)
        gram = cupy.empty((most, length, length), dtype=kind)
        moment = cupy.empty((most, length), dtype=kind)
        shift = np.float32(self.problem.unobserved)
        for block, entries in side.blocks():
            for first, last in block.batches(limit):
                begin, end = int(block.ends[first]), int(block.ends[last])
                segments = (np.int64(end - begin), block.begin[begin:end], block.length[begin:end])
                arguments = (*segments, *_table(entries, side.book), factors, shift, gram, moment)
                kernel((-(-(end - begin) // 8),), (256,), arguments)
                yield Batch(block, first, last, begin, gram, moment)

    def _ridge(self, ridge: float, centre: Floats, everyone: Any) -> tuple[Any, Any]:
        """Return what is added to every matrix and to every moment: the ridge, and what all partners are as a no."""
        size = centre.size
        length = row_length(size)
        base, pull = np.zeros((length, length)), np.zeros(length)
        base[np.arange(size), np.arange(size)] = ridge
        pull[:size] = ridge * centre
        if self.problem.unobserved:
            base[:size, :size] += self.problem.unobserved * self._products(everyone, size)
        return self._cupy.asarray(base), self._cupy.asarray(pull)

    def _products(self, factors: Any, size: int) -> Floats:
        """Sum the products of all rows of factors, or of bits."""
        cupy = self._cupy
        whole = np.zeros((size, size))
        places = cupy.arange(size, dtype=np.uint64)
        for first in range(0, len(factors), _CHUNK):
            part = factors[first : first + _CHUNK]
            if part.dtype == np.uint64:
                rows = ((part[:, None] >> places) & np.uint64(1)).astype(np.float64)
            else:
                rows = part[:, :size].astype(np.float64)
            whole += cupy.asnumpy(rows.T @ rows)
        return whole

    def _item_squares(self, psi: Any, size: int) -> float:
        products = self._products(psi, size).trace()
        if self.problem.grid is None:
            return float(products)
        c = self._item_centre
        return float(products - 2.0 * c * float(psi.sum(dtype=np.float64)) + len(psi) * size * c * c)

    def _totals(self, theta: Any, size: int) -> tuple[Floats, float]:
        """Return the sum of the thetas of those who count, and of the squares of all."""
        n_rows, length = theta.shape
        blocks = max(1, -(-n_rows // _ROWS_OF_TOTAL))
        parts = self._cupy.empty((blocks, length + 1), dtype=np.float64)
        threads = 256 // length * length
        function("rows/totals.cu", "user_totals", P=length)(
            (blocks,),
            (threads,),
            (np.int64(n_rows), np.int64(_ROWS_OF_TOTAL), theta, self._counted, parts),
            shared_mem=16 * threads,
        )
        whole = self._cupy.asnumpy(parts).sum(axis=0)
        return whole[:size].copy(), float(whole[-1])


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of a block whose normal equations are at hand: segment s of the block at `gram`[s - offset]."""

    block: Block
    row: int
    end: int
    offset: int
    gram: Any
    moment: Any

    @property
    def first(self) -> int:
        """Number of the first row in its side."""
        return self.block.first + self.row

    @property
    def last(self) -> int:
        """Number past that of the last row in its side."""
        return self.block.first + self.end


class _Launch:
    """A solver's kernel with its layout: so many bytes of shared memory and so many rows for each warp."""

    def __init__(
        self, path: str, name: str, constants: dict[str, int], room: int, *, rows: int = 1, common: int = 0
    ) -> None:
        self._kernel = function(path, name, **constants)
        self._rows = rows
        self._warps = max(1, min(8, (_SHARED - common) // room))
        self._shared = common + self._warps * room
        if self._shared > _SHARED:
            self._kernel.max_dynamic_shared_size_bytes = self._shared

    def __call__(self, batch: Batch, given: tuple[Any, ...], out: tuple[Any, ...]) -> None:
        n_rows = batch.end - batch.row
        segments = batch.block.segments[batch.row : batch.end + 1]
        equations = (np.int64(n_rows), segments, np.int64(batch.offset), batch.gram, batch.moment)
        blocks = -(-n_rows // (self._warps * self._rows))
        self._kernel((blocks,), (32 * self._warps,), equations + given + out, shared_mem=self._shared)


def _enumeration_room(size: int) -> int:
    """Return the numbers that the enumeration of a row needs: see `enumerate_all`."""
    length, lanes = row_length(size), min(size, 5)
    registers = min(size - lanes, 4)
    high = size - lanes - registers
    return (length * length + length + (1 << high) + 32 * high + (high << registers) + 3) // 4 * 4


def _table(entries: Entries, book: Any) -> tuple[Any, ...]:
    return entries.indices, entries.values, book, entries.weights


def _table_bytes(table: Observations) -> int:
    """Return what the table takes on a device, in both orders, with room to send it."""
    rows = 32 * (table.n_users + table.n_items)
    return 2 * table.rows.indices.size * (12 if table.rows.weights.size else 8) + rows


def _check_solvers(problem: Problem) -> None:
    """Raise where a solver was asked for that is not to be had on a GPU."""
    for solver, known in ((problem.user_solver, _USER_SOLVERS), (problem.item_solver, _ITEM_SOLVERS)):
        if solver.name not in known or solver.family == "box":
            raise ParameterError(
                f"Solver '{solver.name}' does not run on a GPU; for this family there are "
                f"{' and '.join(repr(name) for name in known)}, each solved by the kernel of its size. Leave it "
                "out, or fit without execution."
            )


@opened_engine.register
@contextmanager
def _(execution: Cuda, problem: Problem, table: Observations) -> Iterator[DeviceEngine]:
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as cuda:
        with cuda.guarded("Pack the table ('kolmogorov data pack') or say 'memory': it is then sent in blocks."):
            engine = DeviceEngine(problem, table, cuda)
        yield engine
