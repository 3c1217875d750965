"""Half-steps on a GPU: normal equations on the tensor cores, one warp or a part of one for each small problem.

Rows are gone through in batches: their normal equations are summed segment by segment, then solved. Every sum has one
order, so that the same step gives the same bits on the same kind of GPU. Factors are float32; the items' normal
equations, the values of rows and everything that is summed over rows are float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Cuda
from kolmogorov.execution.gpu.table import Entries, GpuSide
from kolmogorov.fitting.descent.engine import Problem
from kolmogorov.kernels.gpu import function

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


def row_length(n_events: int) -> int:
    """Return the length of a row of factors: 8, or the next multiple of 16."""
    return 8 if n_events <= 8 else -(-n_events // 16) * 16


def lanes_of_row(length: int) -> int:
    """Return the lanes of a warp that solve a user's problem together: a quarter of its row's length."""
    return 1 << max(0, (length // 4 - 1).bit_length())


class GpuHalfSteps:
    """The half-steps of one problem on the current GPU.

    Parameters
    ----------
    cuda : Cuda
    grid : float64[L] or None
        The values of items; None for two.
    unobserved : float
        What an entry that was not observed weighs, as a no.
    """

    def __init__(self, cuda: Cuda, grid: Floats | None, unobserved: float) -> None:
        self._cupy = cuda.cupy
        self._grid = grid
        self._levels = None if grid is None else self._cupy.asarray(grid)
        self._unobserved = unobserved

    # --- factors there and back -----------------------------------------------------------------------------------

    def sent_theta(self, theta: Floats) -> Any:
        """Send thetas: float32[n, P], rows filled up with zeros."""
        rows = np.zeros((len(theta), row_length(theta.shape[1])), dtype=np.float32)
        rows[:, : theta.shape[1]] = theta
        return self._cupy.asarray(rows)

    def sent_psi(self, psi: Floats) -> Any:
        """Send psis: uint64[n], a bit for each event, or with several levels as thetas are."""
        if self._grid is not None:
            return self.sent_theta(psi)
        words = psi.astype(np.uint64) @ (np.uint64(1) << np.arange(psi.shape[1], dtype=np.uint64))
        return self._cupy.asarray(words)

    def theta(self, sent: Any, size: int) -> Floats:
        """Bring thetas back."""
        theta = self._cupy.asnumpy(sent)[:, :size].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def psi(self, sent: Any, size: int) -> Floats:
        """Bring psis back, where they lie on the levels exactly."""
        found = self._cupy.asnumpy(sent)
        if self._grid is None:
            return ((found[:, None] >> np.arange(size, dtype=np.uint64)) & np.uint64(1)).astype(np.float64)
        return self._grid[nearest(found[:, :size], self._grid)]

    # --- steps ----------------------------------------------------------------------------------------------------

    def item_step(self, side: GpuSide, theta: Any, psi: Any, ridge: float, centre: Floats, seed: int) -> Any:
        """Return new psis given the thetas; `seed` is that of the half-step."""
        size = centre.size
        base, pull = self._ridge(ridge, centre, theta)
        new = self._cupy.empty_like(psi)
        values = self._cupy.empty(len(psi), dtype=np.float64)
        solver = self._item_solver(size)
        for batch in self.equations(side, theta, size):
            rows = slice(batch.first, batch.last)
            solver(batch, (base, pull, *self._given(psi[rows], size, seed, batch.first)), (new[rows], values[rows]))
        return new

    def item_equations(
        self, side: GpuSide, theta: Any, first: int, last: int, ridge: float, centre: Floats
    ) -> tuple[Floats, Floats]:
        """Return what these thetas contribute to the normal equations of some items, whole and on the host."""
        cupy, size = self._cupy, centre.size
        base, pull = self._ridge(ridge, centre, theta)
        gram = cupy.empty((last - first, size, size), dtype=np.float64)
        moment = cupy.empty((last - first, size), dtype=np.float64)
        kernel = function("rows/segments.cu", "sum_segments", D=size, P=row_length(size))
        for batch in self.equations(side, theta, size, first, last):
            rows = slice(batch.first - first, batch.last - first)
            blocks = -(-batch.n_rows * size * (size + 1) // 256)
            kernel((blocks,), (256,), (*batch.arguments, base, pull, gram[rows], moment[rows]))
        return cupy.asnumpy(gram), cupy.asnumpy(moment)

    def solved_items(self, gram: Floats, moment: Floats, psi: Floats, seed: int, first: int) -> Floats:
        """Solve items from their normal equations, which are whole; `first` is the number of the first of them."""
        cupy, n_rows, size = self._cupy, *psi.shape
        length = row_length(size)
        limit = max(1, _BATCH // (8 * length * (length + 1)))
        nothing = cupy.zeros((length, length)), cupy.zeros(length)
        solver, new = self._item_solver(size), np.empty_like(psi)
        for begin in range(0, n_rows, limit):
            rows = slice(begin, min(begin + limit, n_rows))
            batch = self._whole(gram[rows], moment[rows])
            start = self.sent_psi(psi[rows])
            out = cupy.empty_like(start)
            given = self._given(start, size, seed, first + begin)
            solver(batch, (*nothing, *given), (out, cupy.empty(batch.n_rows, dtype=np.float64)))
            new[rows] = self.psi(out, size)
        return new

    def user_step(self, side: GpuSide, psi: Any, theta: Any, ridge: float, centre: Floats) -> tuple[Any, float, float]:
        """Return new thetas given the psis, the sum of the values of their rows, and the largest gap."""
        cupy, size = self._cupy, centre.size
        length = row_length(size)
        lanes = lanes_of_row(length)
        base, pull = self._ridge(ridge, centre, psi)
        new = cupy.empty_like(theta)
        values = cupy.empty(len(theta), dtype=np.float64)
        gaps = cupy.empty(len(theta), dtype=np.float32)
        constants = {"D": size, "P": length, "G": lanes, "BITS": int(self._grid is None)}
        rows = 32 // lanes
        room = 4 * rows * (length * length + 2 * length + max(4, lanes))
        solver = _Launch("rows/simplex.cu", "pairwise_descent", constants, room, rows=rows)
        for batch in self.equations(side, psi, size):
            part = slice(batch.first, batch.last)
            given = (base, pull, theta[part], np.float32(_GAP), np.int32(_MOVES))
            solver(batch, given, (new[part], values[part], gaps[part]))
        return new, float(values.sum()), float(gaps.max())

    # --- normal equations -----------------------------------------------------------------------------------------

    def equations(
        self, side: GpuSide, factors: Any, size: int, first: int = 0, last: int | None = None
    ) -> Iterator[Batch]:
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
        shift = np.float32(self._unobserved)
        for block, entries in side.blocks(first, last):
            for begin, end in block.batches(limit, first, last):
                start, stop = int(block.ends[begin]), int(block.ends[end])
                segments = (np.int64(stop - start), block.begin[start:stop], block.length[start:stop])
                arguments = (*segments, *_table(entries, side.book), factors, shift, gram, moment)
                kernel((-(-(stop - start) // 8),), (256,), arguments)
                rows = block.segments[begin : end + 1]
                yield Batch(block.first + begin, block.first + end, rows, start, gram, moment)

    def _whole(self, gram: Floats, moment: Floats) -> Batch:
        """Send normal equations that are whole, as rows of one segment each."""
        n_rows, size = moment.shape
        length = row_length(size)
        square, line = np.zeros((n_rows, length, length)), np.zeros((n_rows, length))
        square[:, :size, :size], line[:, :size] = gram, moment
        segments = self._cupy.arange(n_rows + 1, dtype=np.int64)
        return Batch(0, n_rows, segments, 0, self._cupy.asarray(square), self._cupy.asarray(line))

    def _item_solver(self, size: int) -> _Launch:
        length = row_length(size)
        constants = {"D": size, "P": length}
        if self._grid is not None:
            room = 8 * (length * length + length + 64 * size)
            return _Launch("levels/moves.cu", "multi_start", constants, room, common=8 * _MOST_LEVELS)
        if size <= _ENUMERATED:
            return _Launch("binary/enumeration.cu", "enumerate_all", constants, 8 * _enumeration_room(size))
        return _Launch("binary/flips.cu", "multi_start", constants, 8 * (length * length + length + 32 * size))

    def _given(self, start: Any, size: int, seed: int, first: int) -> tuple[Any, ...]:
        """Return what a solver of items takes beside equations: levels, where to start, and seeds where it draws."""
        seeds = (np.uint64(seed), np.int64(first))
        if self._levels is not None:
            return (self._levels, np.int32(self._levels.size), start, *seeds)
        return (start,) if size <= _ENUMERATED else (start, *seeds)

    def _ridge(self, ridge: float, centre: Floats, everyone: Any) -> tuple[Any, Any]:
        """Return what is added to every matrix and to every moment: the ridge, and what all partners are as a no."""
        size = centre.size
        length = row_length(size)
        base, pull = np.zeros((length, length)), np.zeros(length)
        base[np.arange(size), np.arange(size)] = ridge
        pull[:size] = ridge * centre
        if self._unobserved:
            base[:size, :size] += self._unobserved * self._products(everyone, size)
        return self._cupy.asarray(base), self._cupy.asarray(pull)

    # --- sums over rows -------------------------------------------------------------------------------------------

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

    def item_squares(self, psi: Any, size: int, centre: float) -> float:
        """Return the sum of the squared distances of psi from what its ridge draws to."""
        products = self._products(psi, size).trace()
        if self._grid is None:
            return float(products)
        return float(products - 2.0 * centre * float(psi.sum(dtype=np.float64)) + len(psi) * size * centre * centre)

    def totals(self, theta: Any, counted: Any, size: int) -> tuple[Floats, float]:
        """Return the sum of the thetas of those who count, and of the squares of all."""
        n_rows, length = theta.shape
        blocks = max(1, -(-n_rows // _ROWS_OF_TOTAL))
        parts = self._cupy.empty((blocks, length + 1), dtype=np.float64)
        threads = 256 // length * length
        function("rows/totals.cu", "user_totals", P=length)(
            (blocks,),
            (threads,),
            (np.int64(n_rows), np.int64(_ROWS_OF_TOTAL), theta, counted, parts),
            shared_mem=16 * threads,
        )
        whole = self._cupy.asnumpy(parts).sum(axis=0)
        return whole[:size].copy(), float(whole[-1])


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows `first` to `last` whose normal equations are at hand: segment s at `gram`[s - offset]."""

    first: int
    last: int
    segments: Any
    offset: int
    gram: Any
    moment: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.last - self.first

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels take of it."""
        return np.int64(self.n_rows), self.segments, np.int64(self.offset), self.gram, self.moment


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
        blocks = -(-batch.n_rows // (self._warps * self._rows))
        self._kernel((blocks,), (32 * self._warps,), batch.arguments + given + out, shared_mem=self._shared)


def _enumeration_room(size: int) -> int:
    """Return the numbers that the enumeration of a row needs: see `enumerate_all`."""
    length, lanes = row_length(size), min(size, 5)
    registers = min(size - lanes, 4)
    high = size - lanes - registers
    return (length * length + length + (1 << high) + 32 * high + (high << registers) + 3) // 4 * 4


def _table(entries: Entries, book: Any) -> tuple[Any, ...]:
    return entries.indices, entries.values, book, entries.weights


def bytes_there(*sides: View) -> int:
    """Return what sides of a table take on a GPU, with room to send them."""
    return sum(side.indices.size * (12 if side.weights.size else 8) + 32 * side.indptr.size for side in sides)


def check_events(size: int) -> None:
    """Raise where there are more events than kernels take."""
    if size > MOST_EVENTS:
        raise ParameterError(f"On a GPU a model has at most {MOST_EVENTS} events, got {size}. Fit without execution.")


def check_solvers(problem: Problem) -> None:
    """Raise where something was asked for that is not to be had on a GPU."""
    if not problem.keep_better:
        raise ParameterError("On a GPU rows always keep their better points. Leave 'keep_better' out, or 'execution'.")
    for solver, known in ((problem.user_solver, _USER_SOLVERS), (problem.item_solver, _ITEM_SOLVERS)):
        if solver.name not in known or solver.family == "box":
            raise ParameterError(
                f"Solver '{solver.name}' does not run on a GPU; for this family there are "
                f"{' and '.join(repr(name) for name in known)}, each solved by the kernel of its size. Leave it "
                "out, or fit without execution."
            )
