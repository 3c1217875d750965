"""Normal equations on a GPU, on the tensor cores: batches of rows, each row's sum in segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.execution.gpu.table import GpuSide
from kolmogorov.fitting.gpu.factors import row_length
from kolmogorov.kernels.gpu import function

#: Bytes of the normal equations of a batch; by judgement.
BATCH = 1 << 26


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


def summed_batches(
    cupy: Any, side: GpuSide, factors: Any, size: int, unobserved: float, first: int = 0, last: int | None = None
) -> Iterator[Batch]:
    """Sum the normal equations of batch after batch of rows; a batch is there until the next."""
    length, bits = row_length(size), factors.dtype == np.uint64
    kind = np.dtype(np.float32 if bits else np.float64)
    limit = _rows_of_batch(length, kind.itemsize)
    most = max(limit, side.most_segments)
    flags = {"BITS": int(bits), "WEIGHTED": int(side.weighted), "CODED": int(side.coded)}
    kernel = function("rows/gram.cu", "normal_equations", D=size, P=length, **flags)
    gram = cupy.empty((most, length, length), dtype=kind)
    moment = cupy.empty((most, length), dtype=kind)
    for block, entries in side.blocks(first, last):
        table = (entries.indices, entries.values, side.book, entries.weights)
        for begin, end in block.batches(limit, first, last):
            start, stop = int(block.ends[begin]), int(block.ends[end])
            segments = (np.int64(stop - start), block.begin[start:stop], block.length[start:stop])
            arguments = (*segments, *table, factors, np.float32(unobserved), gram, moment)
            kernel((-(-(stop - start) // 8),), (256,), arguments)
            rows = block.segments[begin : end + 1]
            yield Batch(block.first + begin, block.first + end, rows, start, gram, moment)


def sent_batches(cupy: Any, gram: Floats, moment: Floats) -> Iterator[Batch]:
    """Send normal equations that are whole, batch after batch, as rows of one segment each."""
    size = moment.shape[1]
    length = row_length(size)
    limit = _rows_of_batch(length, 8)
    for first in range(0, len(moment), limit):
        last = min(first + limit, len(moment))
        square, line = np.zeros((last - first, length, length)), np.zeros((last - first, length))
        square[:, :size, :size], line[:, :size] = gram[first:last], moment[first:last]
        segments = cupy.arange(last - first + 1, dtype=np.int64)
        yield Batch(first, last, segments, 0, cupy.asarray(square), cupy.asarray(line))


def _rows_of_batch(length: int, itemsize: int) -> int:
    return max(1, BATCH // (itemsize * length * (length + 1)))
