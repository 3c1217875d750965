"""The descent on a GPU, which holds the table: half-steps over it, batch after batch of rows.

The normal equations of a batch are summed segment by segment, then solved. Every sum has one order, so that the same
step gives the same bits on the same kind of GPU. Thetas and their normal equations are float32; the items' normal
equations, the values of rows and everything that is summed are float64. A theta is a row that is filled up with zeros,
a psi a word with a bit for each event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import half_step_seed
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.engine import Engine, HalfStep, State
from kolmogorov.descent.problem import Problem, UserTotals, packed_bits
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.gpu.cuda import Cuda

# Numbers by judgement.
#: Entries of a row that one warp sums; longer rows are cut into segments.
SEGMENT = 1024
#: Entries that are sent at once, and bytes of the normal equations of a batch.
_SENT, BATCH = 1 << 26, 1 << 26
#: Values that are looked at, and how many different ones there may be, for two bytes each instead of four.
_LOOK, _MOST_VALUES = 1 << 16, 4096
#: Rows that are summed at once, in float64, and in a first step.
_CHUNK, _RUN = 1 << 19, 1 << 10
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


class GpuSide:
    """One side of a table, which the GPU holds; two bytes stand for each value where there are few, by their book.

    Rows are cut into segments, those of row r being `ends`[r] to [r + 1]; one without entries has one of none.
    """

    def __init__(self, cuda: Cuda, view: View) -> None:
        cupy = cuda.cupy
        pieces = np.maximum(1, -(-view.counts // SEGMENT))
        self.n_rows, self.most_segments = pieces.size, int(pieces.max(initial=1))
        self.ends = np.concatenate(([0], np.cumsum(pieces))).astype(np.int64)
        rows = np.repeat(np.arange(pieces.size), pieces)
        past = SEGMENT * (np.arange(rows.size) - self.ends[rows])
        self.segments, self.begin = cupy.asarray(self.ends), cupy.asarray(view.indptr[rows] + past)
        self.length = cupy.asarray(np.minimum(view.counts[rows] - past, SEGMENT).astype(np.int32))
        self.indices = self._sent(cupy, view, "indices", np.int32)
        self.weighted = bool(view.weights.size)
        self.weights = self._sent(cupy, view, "weights", np.float32)
        book = np.unique(view.values[:_LOOK])
        codes = self._sent(cupy, view, "values", np.uint16, book) if book.size <= _MOST_VALUES else None
        self.coded = codes is not None
        self.values = self._sent(cupy, view, "values", np.float32) if codes is None else codes
        self.book = cupy.asarray((book if self.coded else np.zeros(1)).astype(np.float32))

    @staticmethod
    def _sent(cupy: Any, view: View, name: str, kind: Any, book: Floats | None = None) -> Any:
        """Send an array of entries some rows at a time: as numbers of a book, if all are in it, else None."""
        array: NDArray[Any] = getattr(view, name)
        out, known = cupy.empty(array.size, dtype=kind), None if book is None else cupy.asarray(book)
        for first, last in view.blocks(_SENT) if array.size else ():
            part = slice(view.indptr[first], view.indptr[last])
            if known is None:
                out[part] = cupy.asarray(array[part].astype(kind, copy=False))
            else:
                values = cupy.asarray(array[part])
                codes = cupy.minimum(cupy.searchsorted(known, values), known.size - 1)
                if not bool((known[codes] == values).all()):
                    return None
                out[part] = codes.astype(kind)
            view.forget(first, last)
        return out

    def batches(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows with at most so many segments, or with one row."""
        first = 0
        while first < self.n_rows:
            last = int(np.searchsorted(self.ends, self.ends[first] + limit, side="right")) - 1
            last = min(max(last, first + 1), self.n_rows)
            yield first, last
            first = last


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


def products(cuda: Cuda, sent: Any, size: int) -> Floats:
    """Return the sum of the products of all thetas, or of all psis."""
    whole, places = np.zeros((size, size)), cuda.cupy.arange(size, dtype=np.uint64)
    for first in range(0, len(sent), _CHUNK):
        part = sent[first : first + _CHUNK]
        if part.dtype == np.uint64:
            part = (part[:, None] >> places) & np.uint64(1)
        rows = part[:, :size].astype(np.float64)
        whole += cuda.cupy.asnumpy(rows.T @ rows)
    return whole


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
    flags = {"BITS": int(bits), "WEIGHTED": int(side.weighted), "CODED": int(side.coded)}
    kernel = cuda.kernel("gram.cu", "normal_equations", D=size, P=length, **flags)
    most = min(max(limit, side.most_segments), int(side.ends[-1]))
    gram, moment = (cuda.cupy.empty(shape, dtype=kind) for shape in ((most, length, length), (most, length)))
    table = (side.indices, side.values, side.book, side.weights)
    for first, last in side.batches(limit):
        start, stop = int(side.ends[first]), int(side.ends[last])
        segments = (np.int64(stop - start), side.begin[start:stop], side.length[start:stop])
        kernel((-(-(stop - start) // 8),), (256,), (*segments, *table, factors, np.float32(unobserved), gram, moment))
        rows = (np.int64(last - first), side.segments[first : last + 1], np.int64(start))
        yield Batch(first, last, (*rows, gram, moment))


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
        fixed = length * length + length
        if size > _ENUMERATED:
            return cls(cuda.kernel("flips.cu", "multi_start", D=size, P=length), 8 * (fixed + 32 * size))
        registers = min(max(size - 5, 0), 4)
        high = size - min(size, 5) - registers
        room = (fixed + (1 << high) + 32 * high + (high << registers) + 3) // 4 * 4
        return cls(cuda.kernel("enumeration.cu", "enumerate_all", D=size, P=length), 8 * room)

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


class GpuEngine(Engine):
    """The engine on one GPU."""

    def __init__(self, problem: Problem, table: Observations, cuda: Cuda) -> None:
        _check_solvers(problem)
        super().__init__(problem, table)
        self._cuda, self._cupy = cuda, cuda.cupy
        with cuda.guarded("Fit without execution, or on a cluster."):
            self.users, self.items = gpu_sides(cuda, table.rows, table.columns)
            self._counted = self._cupy.asarray(self.seen_users.astype(np.float64))
        #: The largest gap of a user's problem in the last sweep, relative to the scale of its data.
        self.gap = 0.0

    def spread(self, state: State) -> GpuState:
        """Send a state to the GPU."""
        size = state.centre.size
        if size > _MOST_EVENTS:
            raise ParameterError(
                f"On a GPU a model has at most {_MOST_EVENTS} events, got {size}. Fit without execution."
            )
        rows = np.zeros((len(state.theta), row_length(size)), dtype=np.float32)
        rows[:, :size] = state.theta
        theta, psi = self._cupy.asarray(rows), self._cupy.asarray(packed_bits(state.psi))
        return GpuState(theta, psi, state.centre, self._totals(theta, 0.0, state.centre).total)

    def collect(self, state: GpuState) -> State:
        """Return a state whose arrays are on the host."""
        size = state.centre.size
        theta = self._cupy.asnumpy(state.theta)[:, :size].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        bits = self._cupy.asnumpy(state.psi)[:, None] >> np.arange(size, dtype=np.uint64)
        return State(theta, (bits & np.uint64(1)).astype(np.float64), state.centre)

    def _theta_total(self, state: GpuState) -> Floats:
        return state.total

    def _totals(self, theta: Any, value: float, centre: Floats) -> UserTotals:
        """Sum up users, given the sum of the values of their rows; those who do not count are at the centre."""
        (n_users, length), total, squares = theta.shape, 0.0, 0.0
        for first in range(0, n_users, _CHUNK):
            rows = theta[first : first + _CHUNK].astype(np.float64)
            squares += (rows * rows).sum()
            rows *= self._counted[first : first + _CHUNK, None]
            # Columns are summed in two steps, of which the first has work for the whole GPU.
            even = len(rows) // _RUN * _RUN
            total += rows[:even].reshape(even // _RUN, _RUN, length).sum(axis=1).sum(axis=0) + rows[even:].sum(axis=0)
        counted = self._cupy.asnumpy(total)[: centre.size]
        everyone = counted + (n_users - int(self.seen_users.sum())) * centre
        distance = float(squares) - 2.0 * float(centre @ everyone) + n_users * float(centre @ centre)
        return UserTotals(value, max(distance, 0.0), counted)

    def _items(self, state: GpuState, step: HalfStep) -> Any:
        self.table.rows.check_intact()
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
            totals = self._totals(new, float(values.sum()), step.centre)
        return GpuState(new, psi, step.centre, totals.total), totals

    def _distance(self, psi: Any, n_events: int) -> float:
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
