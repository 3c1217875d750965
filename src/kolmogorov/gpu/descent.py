"""The descent on a GPU, which holds the table: half-steps over it, batch after batch of rows.

The normal equations of a batch are summed segment by segment, then solved. Every sum has one order, so that the same
step gives the same bits on the same kind of GPU. Factors are float32; the items' normal equations, the values of rows
and everything that is summed over rows are float64. A theta is a row of float32 that is filled up with zeros, a psi a
word with a bit for each event.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import half_step_seed
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations, check_trainable
from kolmogorov.data.view import View
from kolmogorov.descent.engine import HalfStep, State, TableEngine
from kolmogorov.descent.problem import Problem, UserTotals, packed_bits
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.gpu.cuda import Cuda

# Numbers by judgement.
#: Entries of a row that one warp sums; longer rows are cut into segments.
SEGMENT = 1024
#: Entries of a block of rows, and bytes of the normal equations of a batch.
_BLOCK, BATCH = 1 << 26, 1 << 26
#: Values that are looked at, and how many different ones there may be, for two bytes each instead of four.
_LOOK, _MOST_VALUES = 1 << 16, 4096
#: Rows that a block of threads sums, and rows whose products are summed at once, in float64.
_ROWS_OF_TOTAL, _CHUNK = 4096, 1 << 18
#: Gap of a user's problem that counts as none, relative to the largest diagonal entry of its matrix: about what
#: float32 can tell. And its moves at most. `benchmarks/gpu.py` prints the gaps that are left.
_GAP, _MOVES = 5e-8, 500
#: The most events: a word of bits, and what a warp holds of a row.
_MOST_EVENTS = 64
#: Up to so many events every support of an item is looked at; as many as on threads (`solvers.flips.EXACT_LIMIT`).
_ENUMERATED = 16
#: Bytes of shared memory that a block of threads may ask for without being granted more.
_SHARED = 48 << 10
_USER_SOLVERS = ("active_set", "pairwise")
_ITEM_SOLVERS = ("auto", "exhaustive", "local_search")
_ADVICE = "Give it fewer events, or fit without execution."


# --- a table ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Rows `first` to `last` of a side; row r's segments are `segments[r - first] to [r - first + 1].

    Attributes
    ----------
    ends : int64[n + 1]
        `segments` on the host.
    segments : int64[n + 1]
    begin, length : int64[n_segments], int32[n_segments]
        Where the entries of each segment are, counted from the block's first.
    indices, values, weights
        Of the entries: values are uint16 with a book, else float32.
    """

    first: int
    last: int
    ends: NDArray[np.int64]
    segments: Any
    begin: Any
    length: Any
    indices: Any
    values: Any
    weights: Any

    @classmethod
    def sent(cls, cupy: Any, view: View, first: int, last: int, book: NDArray[np.float64] | None) -> Block | None:
        """Send rows, cut into segments; one without entries has one of none. None where a value is not in the book."""
        part = slice(view.indptr[first], view.indptr[last])
        values = cupy.asarray(view.values[part])
        if book is None:
            values = values.astype(np.float32)
        else:
            known = cupy.asarray(book)
            codes = cupy.minimum(cupy.searchsorted(known, values), book.size - 1).astype(np.uint16)
            if not bool((known[codes] == values).all()):
                return None
            values = codes
        indices = cupy.asarray(view.indices[part].astype(np.int32, copy=False))
        weights = cupy.asarray((view.weights[part] if view.weights.size else view.weights).astype(np.float32))
        starts = view.indptr[first : last + 1] - view.indptr[first]
        counts = np.diff(starts)
        pieces = np.maximum(1, -(-counts // SEGMENT))
        ends = np.concatenate(([0], np.cumsum(pieces))).astype(np.int64)
        rows = np.repeat(np.arange(last - first), pieces)
        past = SEGMENT * (np.arange(rows.size) - ends[rows])
        length = np.minimum(counts[rows] - past, SEGMENT).astype(np.int32)
        view.forget(first, last)
        segments, begin, length = (cupy.asarray(array) for array in (ends, starts[rows] + past, length))
        return cls(first, last, ends, segments, begin, length, indices, values, weights)

    def batches(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows, counted from the block's first, with at most so many segments, or with one row."""
        first, past = 0, self.last - self.first
        while first < past:
            last = int(np.searchsorted(self.ends, self.ends[first] + limit, side="right")) - 1
            last = min(max(last, first + 1), past)
            yield first, last
            first = last


class GpuSide:
    """One side of a table, which the GPU holds; two bytes stand for each value where there are few, by their book."""

    def __init__(self, cuda: Cuda, view: View) -> None:
        self._given = cuda.cupy, view
        self.weighted = bool(view.weights.size)
        book = np.unique(view.values[:_LOOK])
        blocks = self._sent(book) if book.size <= _MOST_VALUES else None
        self.coded = blocks is not None
        self.book = cuda.cupy.asarray(book.astype(np.float32) if self.coded else np.zeros(1, dtype=np.float32))
        self.blocks = blocks or self._sent(None) or []
        #: Segments of the longest row.
        self.most_segments = max((int(np.diff(block.ends).max()) for block in self.blocks), default=1)

    def _sent(self, book: NDArray[np.float64] | None) -> list[Block] | None:
        found = []
        for first, last in self._given[1].blocks(_BLOCK):
            block = Block.sent(*self._given, first, last, book)
            if block is None:
                return None
            found.append(block)
        return found


def gpu_sides(cuda: Cuda, *views: View) -> list[GpuSide]:
    """Return sides of a table on a GPU; raise where it has no room for them."""
    size = sum(view.indices.size * (12 if view.weights.size else 8) + 32 * view.indptr.size for view in views)
    room = cuda.budget()
    if size > room:
        raise ExecutionError(
            f"The table takes {size / 1e9:,.1f} GB of a GPU's memory, and this one has {room / 1e9:,.1f} GB for it. "
            "Fit without execution, or on a cluster: execution=kolmogorov.Dask(client)."
        )
    return [GpuSide(cuda, view) for view in views]


# --- factors ----------------------------------------------------------------------------------------------------------


def row_length(n_events: int) -> int:
    """Return the length of a row of factors: 8, or the next multiple of 16."""
    return 8 if n_events <= 8 else -(-n_events // 16) * 16


def sent_theta(cuda: Cuda, theta: Floats) -> Any:
    """Send thetas: float32[n, P]."""
    rows = np.zeros((len(theta), row_length(theta.shape[1])), dtype=np.float32)
    rows[:, : theta.shape[1]] = theta
    return cuda.cupy.asarray(rows)


def products(cuda: Cuda, sent: Any, size: int) -> Floats:
    """Return the sum of the products of all thetas, or of all psis."""
    cupy = cuda.cupy
    whole = np.zeros((size, size))
    places = cupy.arange(size, dtype=np.uint64)
    for first in range(0, len(sent), _CHUNK):
        part = sent[first : first + _CHUNK]
        if part.dtype == np.uint64:
            rows = ((part[:, None] >> places) & np.uint64(1)).astype(np.float64)
        else:
            rows = part[:, :size].astype(np.float64)
        whole += cupy.asnumpy(rows.T @ rows)
    return whole


def user_totals(cuda: Cuda, theta: Any, value: float, centre: Floats, counted: NDArray[np.bool_]) -> UserTotals:
    """Sum up users, given the sum of the values of their rows and who counts; all others are at the centre."""
    n_users, length = theta.shape
    blocks = max(1, -(-n_users // _ROWS_OF_TOTAL))
    parts = cuda.cupy.empty((blocks, length + 1), dtype=np.float64)
    threads = 256 // length * length
    given = (np.int64(n_users), np.int64(_ROWS_OF_TOTAL), theta, cuda.cupy.asarray(counted.view(np.uint8)), parts)
    cuda.kernel("totals.cu", "user_totals", P=length)((blocks,), (threads,), given, shared_mem=16 * threads)
    whole = cuda.cupy.asnumpy(parts).sum(axis=0)
    total, squares = whole[: centre.size].copy(), float(whole[-1])
    everyone = total + (n_users - int(counted.sum())) * centre
    distance = squares - 2.0 * float(centre @ everyone) + n_users * float(centre @ centre)
    return UserTotals(value, max(distance, 0.0), total)


# --- half-steps -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows `first` to `last` with what kernels take of them: their normal equations, segment by segment."""

    first: int
    last: int
    arguments: tuple[Any, ...]


def summed_batches(cuda: Cuda, side: GpuSide, factors: Any, size: int, unobserved: float) -> Iterator[Batch]:
    """Sum the normal equations of batch after batch of rows; a batch is there until the next."""
    length, bits = row_length(size), factors.dtype == np.uint64
    kind = np.dtype(np.float32 if bits else np.float64)
    limit = max(1, BATCH // (kind.itemsize * length * (length + 1)))
    most = max(limit, side.most_segments)
    flags = {"BITS": int(bits), "WEIGHTED": int(side.weighted), "CODED": int(side.coded)}
    kernel = cuda.kernel("gram.cu", "normal_equations", D=size, P=length, **flags)
    gram = cuda.cupy.empty((most, length, length), dtype=kind)
    moment = cuda.cupy.empty((most, length), dtype=kind)
    for block in side.blocks:
        table = (block.indices, block.values, side.book, block.weights)
        for begin, end in block.batches(limit):
            start, stop = int(block.ends[begin]), int(block.ends[end])
            segments = (np.int64(stop - start), block.begin[start:stop], block.length[start:stop])
            arguments = (*segments, *table, factors, np.float32(unobserved), gram, moment)
            kernel((-(-(stop - start) // 8),), (256,), arguments)
            found = (np.int64(end - begin), block.segments[begin : end + 1], np.int64(start), gram, moment)
            yield Batch(block.first + begin, block.first + end, found)


def lanes_of_row(length: int) -> int:
    """Return the lanes of a warp that solve a user's problem together: a quarter of its row's length."""
    return 1 << max(0, (length // 4 - 1).bit_length())


class RowKernel:
    """A kernel that solves rows: so many by each warp, which takes so many bytes of shared memory."""

    def __init__(self, kernel: Any, room: int, rows: int = 1) -> None:
        self._kernel, self._rows = kernel, rows
        self._warps = max(1, min(8, _SHARED // room))
        self._shared = self._warps * room
        if self._shared > _SHARED:
            kernel.max_dynamic_shared_size_bytes = self._shared

    @classmethod
    def of_users(cls, cuda: Cuda, size: int) -> RowKernel:
        """Return what solves users: one warp, or a part of one, for each."""
        length = row_length(size)
        lanes = lanes_of_row(length)
        rows = 32 // lanes
        room = 4 * rows * (length * length + 2 * length + max(4, lanes))
        return cls(cuda.kernel("simplex.cu", "pairwise_descent", D=size, P=length, G=lanes), room, rows)

    @classmethod
    def of_items(cls, cuda: Cuda, size: int) -> RowKernel:
        """Return what solves items: it looks at all supports of up to 16 events, and searches beyond."""
        length = row_length(size)
        constants = {"D": size, "P": length}
        if size > _ENUMERATED:
            kernel = cuda.kernel("flips.cu", "multi_start", **constants)
            return cls(kernel, 8 * (length * length + length + 32 * size))
        lanes = min(size, 5)
        registers = min(size - lanes, 4)
        high = size - lanes - registers
        room = (length * length + length + (1 << high) + 32 * high + (high << registers) + 3) // 4 * 4
        return cls(cuda.kernel("enumeration.cu", "enumerate_all", **constants), 8 * room)

    def __call__(self, batch: Batch, given: tuple[Any, ...], out: tuple[Any, ...]) -> None:
        """Solve the rows of a batch."""
        blocks = -(-(batch.last - batch.first) // (self._warps * self._rows))
        self._kernel((blocks,), (32 * self._warps,), batch.arguments + given + out, shared_mem=self._shared)


# --- the engine -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GpuState:
    """A state whose theta and psi are on the GPU; `total` sums the thetas of the users who count.

    Arrays are never changed in place.
    """

    theta: Any
    psi: Any
    centre: Floats
    total: Floats


class GpuEngine(TableEngine[GpuState]):
    """The engine on one GPU."""

    def __init__(self, problem: Problem, table: Observations, cuda: Cuda) -> None:
        _check_solvers(problem)
        super().__init__(problem, table)
        self._cuda, self._cupy = cuda, cuda.cupy
        self.users, self.items = gpu_sides(cuda, table.rows, table.columns)
        #: The largest gap of a user's problem in the last sweep, relative to the scale of its data.
        self.gap = 0.0

    def spread(self, state: State) -> GpuState:
        """Send a state to the GPU."""
        size = state.centre.size
        if size > _MOST_EVENTS:
            raise ParameterError(
                f"On a GPU a model has at most {_MOST_EVENTS} events, got {size}. Fit without execution."
            )
        theta, psi = sent_theta(self._cuda, state.theta), self._cupy.asarray(packed_bits(state.psi))
        total = user_totals(self._cuda, theta, 0.0, state.centre, self.seen_users).total
        return GpuState(theta, psi, state.centre, total)

    def collect(self, state: GpuState) -> State:
        """Return a state whose arrays are on the host."""
        size = state.centre.size
        theta = self._cupy.asnumpy(state.theta)[:, :size].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        bits = self._cupy.asnumpy(state.psi)[:, None] >> np.arange(size, dtype=np.uint64)
        return State(theta, (bits & np.uint64(1)).astype(np.float64), state.centre)

    def _theta_total(self, state: GpuState) -> Floats:
        return state.total

    def _items(self, state: GpuState, step: HalfStep) -> Any:
        self._table.rows.check_intact()
        cupy, size, psi = self._cupy, step.centre.size, state.psi
        with self._cuda.guarded(_ADVICE):
            base, pull = self._ridge(step, state.theta)
            new, values = cupy.empty_like(psi), cupy.empty(len(psi), dtype=np.float64)
            kernel, seed = RowKernel.of_items(self._cuda, size), half_step_seed(step.seed, step.sweep, step.side)[0]
            for batch in summed_batches(self._cuda, self.items, state.theta, size, step.unobserved):
                rows = slice(batch.first, batch.last)
                seeds = () if size <= _ENUMERATED else (np.uint64(seed), np.int64(batch.first))
                kernel(batch, (base, pull, psi[rows], *seeds), (new[rows], values[rows]))
            self.wait()
        return new

    def _users(self, state: GpuState, psi: Any, step: HalfStep) -> tuple[GpuState, UserTotals]:
        cupy, size, theta = self._cupy, step.centre.size, state.theta
        with self._cuda.guarded(_ADVICE):
            base, pull = self._ridge(step, psi)
            new, values = cupy.empty_like(theta), cupy.empty(len(theta), dtype=np.float64)
            gaps, kernel = cupy.empty(len(theta), dtype=np.float32), RowKernel.of_users(self._cuda, size)
            for batch in summed_batches(self._cuda, self.users, psi, size, step.unobserved):
                rows = slice(batch.first, batch.last)
                given = (base, pull, theta[rows], np.float32(_GAP), np.int32(_MOVES))
                kernel(batch, given, (new[rows], values[rows], gaps[rows]))
            self.gap = float(gaps.max())
            totals = user_totals(self._cuda, new, float(values.sum()), step.centre, self.seen_users)
        return GpuState(new, psi, step.centre, totals.total), totals

    def _squares(self, psi: Any, n_events: int) -> float:
        # What the ridge draws bits to is 0.
        return float(products(self._cuda, psi, n_events).trace())

    def _ridge(self, step: HalfStep, everyone: Any) -> tuple[Any, Any]:
        """Return what is added to every matrix and to every moment: the ridge, and what all partners are as a no."""
        size = step.centre.size
        length = row_length(size)
        base, pull = np.zeros((length, length)), np.zeros(length)
        base[np.arange(size), np.arange(size)] = step.ridge
        pull[:size] = step.ridge * step.centre
        if step.unobserved:
            base[:size, :size] += step.unobserved * products(self._cuda, everyone, size)
        return self._cupy.asarray(base), self._cupy.asarray(pull)

    def wait(self) -> None:
        """Wait until the GPU has done what it was asked for."""
        self._cupy.cuda.get_current_stream().synchronize()


def _check_solvers(problem: Problem) -> None:
    """Raise where a solver was asked for that is not to be had on a GPU."""
    for solver, family, known in (
        (problem.user_solver, "simplex", _USER_SOLVERS),
        (problem.item_solver, "binary", _ITEM_SOLVERS),
    ):
        if solver.name not in known or solver.family != family:
            raise ParameterError(
                f"Solver '{solver.name}' does not run on a GPU; for this side there are "
                f"{' and '.join(repr(name) for name in known)}, each solved by the kernel of its size. Leave it "
                "out, or fit without execution."
            )


@contextmanager
def gpu_engine(execution: Cuda, problem: Problem, table: Observations) -> Iterator[GpuEngine]:
    """Open the engine on a GPU."""
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as cuda:
        with cuda.guarded("Fit without execution, or on a cluster."):
            engine = GpuEngine(problem, table, cuda)
        yield engine
