"""The descent on a GPU, which holds the table: half-steps over it, batch after batch of rows.

The normal equations of a batch are summed segment by segment, then solved. Every sum has one order, so that the same
step gives the same bits on the same kind of GPU. Thetas and their normal equations are float32; the items' normal
equations, the values of rows and everything that is summed are float64. A theta is a row that is filled up with zeros,
a psi a word with a bit for each event.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.seeds import half_step_seed
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.engine import Engine, HalfStep, State
from kolmogorov.descent.problem import Problem, packed_bits
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.gpu.cuda import Cuda

# Numbers by judgement.
#: Entries of a row that one warp sums; longer rows are cut into segments.
SEGMENT = 1024
#: Entries that are sent at once, and bytes of the normal equations of a batch.
_SENT, BATCH = 1 << 26, 1 << 26
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
_ADVICE = "Give it fewer events, or fit without execution."


# --- a table ----------------------------------------------------------------------------------------------------------


class GpuSide:
    """One side of a table, which the GPU holds.

    Rows are cut into segments, those of row r being `ends`[r] to [r + 1]; one without entries has one of none.
    """

    def __init__(self, cupy: Any, view: View) -> None:
        pieces = np.maximum(1, -(-view.counts // SEGMENT))
        self.n_rows, self.most_segments = pieces.size, int(pieces.max(initial=1))
        self.ends = np.concatenate(([0], np.cumsum(pieces))).astype(np.int64)
        rows = np.repeat(np.arange(pieces.size), pieces)
        past = SEGMENT * (np.arange(rows.size) - self.ends[rows])
        self.segments, self.begin = cupy.asarray(self.ends), cupy.asarray(view.indptr[rows] + past)
        self.length = cupy.asarray(np.minimum(view.counts[rows] - past, SEGMENT).astype(np.int32))
        self.weighted = bool(view.weights.size)
        kinds = {"indices": np.int32, "values": np.float32, "weights": np.float32}
        #: Partners, values and weights, if there are any.
        self.entries = [cupy.empty(getattr(view, name).size, dtype=kind) for name, kind in kinds.items()]
        for first, last in view.blocks(_SENT):
            part = slice(view.indptr[first], view.indptr[last])
            for (name, kind), out in zip(kinds.items(), self.entries, strict=True):
                out[part] = cupy.asarray(getattr(view, name)[part].astype(kind, copy=False))
            view.forget(first, last)


def row_length(n_events: int) -> int:
    """Return the length of a row of factors: 8, or the next multiple of 16."""
    return 8 if n_events <= 8 else -(-n_events // 16) * 16


def products(cupy: Any, factors: Any, size: int) -> Floats:
    """Return the sum of the products of all thetas, or of all psis."""
    whole, places = np.zeros((size, size)), cupy.arange(size, dtype=np.uint64)
    for first in range(0, len(factors), _CHUNK):
        part = factors[first : first + _CHUNK]
        if part.dtype == np.uint64:
            part = (part[:, None] >> places) & np.uint64(1)
        rows = part[:, :size].astype(np.float64)
        whole += cupy.asnumpy(rows.T @ rows)
    return whole


# --- half-steps -------------------------------------------------------------------------------------------------------


def summed_batches(
    cuda: Cuda, side: GpuSide, factors: Any, size: int, unobserved: float
) -> Iterator[tuple[slice, tuple[Any, ...]]]:
    """Sum the normal equations of batch after batch of rows; yield the rows, and what kernels take of them.

    A batch is there until the next.
    """
    length, bits = row_length(size), factors.dtype == np.uint64
    kind = np.dtype(np.float32 if bits else np.float64)
    limit = max(1, BATCH // (kind.itemsize * length * (length + 1)))
    kernel = cuda.kernel("gram.cu", "normal_equations", D=size, P=length, BITS=int(bits), WEIGHTED=int(side.weighted))
    most = min(max(limit, side.most_segments), int(side.ends[-1]))
    gram, moment = (cuda.cupy.empty(shape, dtype=kind) for shape in ((most, length, length), (most, length)))
    first = 0
    while first < side.n_rows:
        # So many segments, or one row.
        last = max(int(np.searchsorted(side.ends, side.ends[first] + limit, side="right")) - 1, first + 1)
        start, stop = int(side.ends[first]), int(side.ends[last])
        segments = (np.int64(stop - start), side.begin[start:stop], side.length[start:stop])
        given = (*segments, *side.entries, factors, np.float32(unobserved), gram, moment)
        kernel((-(-(stop - start) // 8),), (256,), given)
        yield (
            slice(first, last),
            (np.int64(last - first), side.segments[first : last + 1], np.int64(start), gram, moment),
        )
        first = last


def lanes_of_row(length: int) -> int:
    """Return the lanes of a warp that solve a user's problem together: a quarter of its row's length."""
    return 1 << max(0, (length // 4 - 1).bit_length())


class RowKernel:
    """What solves the rows of a side: so many by each warp, which takes so many bytes of shared memory."""

    def __init__(self, cuda: Cuda, size: int, *, users: bool) -> None:
        length, self.rows = row_length(size), 1
        constants, square = {"D": size, "P": length}, length * length + length
        if users:
            lanes = lanes_of_row(length)
            self.rows, constants = 32 // lanes, constants | {"G": lanes}
            path, name = "simplex.cu", "pairwise_descent"
            room = 4 * self.rows * (square + length + max(4, lanes))
        elif size <= _ENUMERATED:
            registers = min(max(size - 5, 0), 4)
            high = size - min(size, 5) - registers
            path, name = "enumeration.cu", "enumerate_all"
            room = 8 * ((square + (1 << high) + 32 * high + (high << registers) + 3) // 4 * 4)
        else:
            path, name = "flips.cu", "multi_start"
            room = 8 * (square + 32 * size)
        self.kernel, self.warps = cuda.kernel(path, name, **constants), max(1, min(8, _SHARED // room))
        self.shared = self.warps * room
        if self.shared > _SHARED:
            self.kernel.max_dynamic_shared_size_bytes = self.shared

    def __call__(self, n_rows: int, given: tuple[Any, ...]) -> None:
        """Solve some rows."""
        self.kernel((-(-n_rows // (self.warps * self.rows)),), (32 * self.warps,), given, shared_mem=self.shared)


# --- the engine -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GpuState(State):
    """A state whose theta and psi are on the GPU; `total` sums the thetas of the users who count."""

    total: Floats


class GpuEngine(Engine):
    """The engine on one GPU."""

    def __init__(self, problem: Problem, table: Observations, cuda: Cuda) -> None:
        _check_solvers(problem)
        super().__init__(problem, table, Threads(1))
        self._cuda, self._cupy = cuda, cuda.cupy
        views = table.rows, table.columns
        size = sum((12 if view.weights.size else 8) * view.indices.size + 32 * view.indptr.size for view in views)
        room = cuda.budget()
        if size > room:
            raise ExecutionError(
                f"The table takes {size / 1e9:,.1f} GB of a GPU's memory, and this one has {room / 1e9:,.1f} GB for "
                "it. Fit without execution, or on a cluster: execution=kolmogorov.Dask(client)."
            )
        with cuda.guarded("Fit without execution, or on a cluster."):
            self.users, self.items = (GpuSide(cuda.cupy, view) for view in views)
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
        return GpuState(theta, psi, state.centre, self._totals(theta, 0.0, state.centre)[2:])

    def collect(self, state: GpuState) -> State:
        """Return a state whose arrays are on the host."""
        size = state.centre.size
        theta = self._cupy.asnumpy(state.theta)[:, :size].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        bits = self._cupy.asnumpy(state.psi)[:, None] >> np.arange(size, dtype=np.uint64)
        return State(theta, (bits & np.uint64(1)).astype(np.float64), state.centre)

    def _theta_total(self, state: GpuState) -> Floats:
        return state.total

    def _totals(self, theta: Any, value: float, centre: Floats) -> Floats:
        """Return `user_totals`, given the sum of the values of rows; users who do not count are at the centre."""
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
        return np.array([value, max(distance, 0.0), *counted])

    def _items(self, state: GpuState, step: HalfStep) -> Any:
        self.table.rows.check_intact()
        size = step.centre.size
        seed = () if size <= _ENUMERATED else (np.uint64(half_step_seed(step.seed, step.sweep, step.side)[0]),)
        with self._cuda.guarded(_ADVICE):
            kernel = RowKernel(self._cuda, size, users=False)
            psi, _ = self._solved(kernel, self.items, state.theta, state.psi, step, seed)
            self._cupy.cuda.get_current_stream().synchronize()
        return psi

    def _users(self, state: GpuState, psi: Any, step: HalfStep) -> tuple[GpuState, Floats]:
        with self._cuda.guarded(_ADVICE):
            kernel, gaps = (
                RowKernel(self._cuda, step.centre.size, users=True),
                self._cupy.empty(self.users.n_rows, dtype=np.float32),
            )
            given = (np.float32(_GAP), np.int32(_MOVES))
            theta, values = self._solved(kernel, self.users, psi, state.theta, step, given, gaps)
            self.gap = float(gaps.max())
            totals = self._totals(theta, float(values.sum()), step.centre)
        return GpuState(theta, psi, step.centre, totals[2:]), totals

    def _solved(
        self, kernel: RowKernel, side: GpuSide, partners: Any, now: Any, step: HalfStep, given: Any, *more: Any
    ) -> tuple[Any, Any]:
        """Solve all rows of a side; return them and their values, and write what `more` is measured of them."""
        cupy, size = self._cupy, step.centre.size
        # What is added to every matrix and to every moment: the ridge, and what all partners are as a no.
        length = row_length(size)
        base, pull = np.zeros((length, length)), np.zeros(length)
        base[np.arange(size), np.arange(size)] = step.ridge
        pull[:size] = step.ridge * step.centre
        if step.unobserved:
            base[:size, :size] += step.unobserved * products(cupy, partners, size)
        both = cupy.asarray(base), cupy.asarray(pull)
        out = (cupy.empty_like(now), cupy.empty(len(now)), *more)
        for rows, equations in summed_batches(self._cuda, side, partners, size, step.unobserved):
            written = (array[rows] for array in out)
            kernel(rows.stop - rows.start, (*equations, *both, now[rows], *given, *written))
        return out[0], out[1]

    def _distance(self, psi: Any, n_events: int) -> float:
        # What the ridge draws bits to is 0.
        return float(products(self._cupy, psi, n_events).trace())


def _check_solvers(problem: Problem) -> None:
    """Raise where a solver was asked for that is not to be had on a GPU."""
    users, items = ("active_set", "pairwise"), ("auto", "exhaustive", "local_search")
    for solver, family, known in ((problem.user_solver, "simplex", users), (problem.item_solver, "binary", items)):
        if solver.name not in known or solver.family != family:
            raise ParameterError(
                f"Solver '{solver.name}' does not run on a GPU; for this side there are "
                f"{' and '.join(map(repr, known))}, each solved by the kernel of its size. Leave it out, or fit "
                "without execution."
            )
