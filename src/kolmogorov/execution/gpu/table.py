"""A table on a GPU: one side's entries in blocks of rows, kept there or sent anew in every pass."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import usable_cpus
from kolmogorov.data.entries.view import View
from kolmogorov.execution.gpu.cuda import Cuda

# Numbers by judgement.
#: Entries of a row that one warp sums; longer rows are cut into segments.
SEGMENT = 1024
#: Entries of a block that is kept, and of one that is sent in every pass: while one is filled others are worked on.
_BLOCK, _SENT_BLOCK = 1 << 26, 1 << 23
#: Entries that a thread copies at once.
_SHARE = 1 << 19
#: Values that are looked at, and how many different ones there may be, for two bytes each instead of four.
_LOOK, _MOST_VALUES = 1 << 16, 4096


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a block of rows, on the GPU: values are uint16 with a book, else float32."""

    indices: Any
    values: Any
    weights: Any


@dataclass(frozen=True, eq=False)
class Block:
    """Rows `first` to `last` of a side; row r's segments are `segments`[r - first] to [r - first + 1].

    Attributes
    ----------
    ends : int64[n + 1]
        `segments` on the host.
    segments : int64[n + 1]
    begin, length : int64[n_segments], int32[n_segments]
        Where the entries of each segment are, counted from the block's first.
    """

    first: int
    last: int
    ends: NDArray[np.int64]
    segments: Any
    begin: Any
    length: Any

    @classmethod
    def of(cls, cupy: Any, indptr: NDArray[np.int64], first: int, last: int) -> Block:
        """Cut rows into segments; a row without entries has one of none."""
        starts = indptr[first : last + 1] - indptr[first]
        counts = np.diff(starts)
        pieces = np.maximum(1, -(-counts // SEGMENT))
        ends = np.concatenate(([0], np.cumsum(pieces))).astype(np.int64)
        rows = np.repeat(np.arange(last - first), pieces)
        past = SEGMENT * (np.arange(rows.size) - ends[rows])
        length = np.minimum(counts[rows] - past, SEGMENT).astype(np.int32)
        arrays = (ends, starts[rows] + past, length)
        return cls(first, last, ends, *(cupy.asarray(array) for array in arrays))

    def batches(self, limit: int, row: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows, counted from the block's first, with at most so many segments, or with one row.

        They are those of the rows `row` to `end` of the side.
        """
        first, past = max(row - self.first, 0), (self.last if end is None else min(end, self.last)) - self.first
        while first < past:
            last = int(np.searchsorted(self.ends, self.ends[first] + limit, side="right")) - 1
            last = min(max(last, first + 1), past)
            yield first, last
            first = last


class GpuSide:
    """One side of a table: blocks of rows with their entries.

    Parameters
    ----------
    cuda : Cuda
    view : View
    resident : bool
        Keep the entries on the GPU. Otherwise they stay where they are, and every pass sends them through two
        buffers, one of which is filled while the other is worked on.
    """

    def __init__(self, cuda: Cuda, view: View, *, resident: bool) -> None:
        self._cupy = cuda.cupy
        self._view = view
        self.resident = resident
        self.n_rows = view.indptr.size - 1
        self.weighted = bool(view.weights.size)
        entries = _BLOCK if resident else min(_SENT_BLOCK, max(1 << 20, view.indices.size // 4))
        self._blocks = [Block.of(self._cupy, view.indptr, first, last) for first, last in view.blocks(entries)]
        #: The different values, where there are few, by which two bytes stand for each; else none.
        self.book: Any = self._cupy.zeros(1, dtype=np.float32)
        self.coded = False
        self._kept: list[Entries] | None = None
        if resident:
            self._keep()
        else:
            # Its threads end with it.
            copying = ThreadPoolExecutor(usable_cpus(), thread_name_prefix="kolmogorov")
            self._buffers = [_Buffer(self._cupy, view, self._longest(), copying) for _ in range(2)]

    @property
    def most_segments(self) -> int:
        """Segments of the longest row."""
        return max((int(np.diff(block.ends).max()) for block in self._blocks), default=1)

    def blocks(self, first: int = 0, last: int | None = None) -> Iterator[tuple[Block, Entries]]:
        """Yield rows, those from `first` to `last` among them; what was yielded may be overwritten after the next."""
        end = self.n_rows if last is None else last
        wanted = [number for number, block in enumerate(self._blocks) if block.first < end and first < block.last]
        if self._kept is not None:
            yield from ((self._blocks[number], self._kept[number]) for number in wanted)
            return
        for number in wanted:
            block = self._blocks[number]
            buffer = self._buffers[number % 2]
            yield block, buffer.filled(block.first, block.last)
            buffer.released()

    def _keep(self) -> None:
        book = np.unique(self._view.values[:_LOOK])
        self._kept = [] if book.size <= _MOST_VALUES else None
        if self._kept is not None:
            for block in self._blocks:
                entries = self._sent(block, book)
                if entries is None:
                    self._kept = None
                    break
                self._kept.append(entries)
        if self._kept is None:
            self._kept = [self._sent(block, None) for block in self._blocks]  # type: ignore[misc]
            return
        self.coded, self.book = True, self._cupy.asarray(book.astype(np.float32))

    def _sent(self, block: Block, book: NDArray[np.float64] | None) -> Entries | None:
        """Send a block; None where a value is not in the book."""
        cupy, view = self._cupy, self._view
        part = slice(view.indptr[block.first], view.indptr[block.last])
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
        weights = view.weights[part] if self.weighted else view.weights
        sent = Entries(indices, values, cupy.asarray(weights.astype(np.float32)))
        view.forget(block.first, block.last)
        return sent

    def _longest(self) -> int:
        indptr = self._view.indptr
        return max((int(indptr[block.last] - indptr[block.first]) for block in self._blocks), default=1)


def gpu_sides(cuda: Cuda, *views: View) -> list[GpuSide]:
    """Return sides of a table on a GPU, where they stay if they take less than half of what may be used."""
    entries = sum(view.indices.size * (12 if view.weights.size else 8) + 32 * view.indptr.size for view in views)
    resident = entries < cuda.budget() // 2
    return [GpuSide(cuda, view, resident=resident) for view in views]


class _Buffer:
    """Room for the entries of one block, on both sides of the way, and a stream to send them in."""

    def __init__(self, cupy: Any, view: View, size: int, copying: ThreadPoolExecutor) -> None:
        self._cupy = cupy
        self._copying = copying
        self._view = view
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._free = cupy.cuda.Event()
        self._free.record()
        kinds: list[tuple[str, Any]] = [("indices", np.int32), ("values", np.float32)]
        kinds += [("weights", np.float32)] if view.weights.size else []
        self._here = {name: _pinned(cupy, size, kind) for name, kind in kinds}
        self._there = {name: cupy.empty(size, dtype=kind) for name, kind in kinds}
        self._none = cupy.zeros(0, dtype=np.float32)

    def filled(self, first: int, last: int) -> Entries:
        """Send rows, once what was here before is no longer needed; the work that follows waits for them."""
        self._free.synchronize()
        start, stop = int(self._view.indptr[first]), int(self._view.indptr[last])
        n = stop - start
        for name, here in self._here.items():
            source = getattr(self._view, name)[start:stop]

            def copy(first: int, here: NDArray[Any] = here[:n], source: NDArray[Any] = source) -> None:
                part = slice(first, first + _SHARE)
                np.copyto(here[part], source[part], casting="same_kind")

            # One thread alone copies at a tenth of the rate at which the GPU fetches.
            list(self._copying.map(copy, range(0, n, _SHARE)))
            self._there[name][:n].set(here[:n], stream=self._stream)
        self._view.forget(first, last)
        sent = self._cupy.cuda.Event()
        sent.record(self._stream)
        self._cupy.cuda.get_current_stream().wait_event(sent)
        parts = {name: there[:n] for name, there in self._there.items()}
        return Entries(parts["indices"], parts["values"], parts.get("weights", self._none))

    def released(self) -> None:
        """Note that all work on what was sent has been asked for."""
        self._free.record()


def _pinned(cupy: Any, size: int, kind: Any) -> NDArray[Any]:
    """Return an array in memory that the GPU can fetch from while the host does something else."""
    memory = cupy.cuda.alloc_pinned_memory(max(size, 1) * np.dtype(kind).itemsize)
    return np.frombuffer(memory, dtype=kind, count=size)
