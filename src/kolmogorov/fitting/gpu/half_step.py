"""Half-steps on a GPU.

Rows are gone through in batches: their normal equations are summed segment by segment, then solved. Every sum has one
order, so that the same step gives the same bits on the same kind of GPU. Factors are float32; the items' normal
equations, the values of rows and everything that is summed over rows are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.seeds import half_step_seed
from kolmogorov._support.typing import Floats
from kolmogorov.execution import Cuda
from kolmogorov.execution.gpu.table import GpuSide
from kolmogorov.fitting.descent.half_step import HalfStep
from kolmogorov.fitting.gpu.equations import sent_batches, summed_batches
from kolmogorov.fitting.gpu.factors import GpuFactors, row_length
from kolmogorov.fitting.gpu.solvers import ENUMERATED, item_kernel, user_kernel
from kolmogorov.kernels.gpu import function

#: Gap of a user's problem that counts as none, relative to the largest diagonal entry of its matrix: about what
#: float32 can tell. And its moves at most. Both by judgement; `benchmarks/gpu.py` prints the gaps that are left.
_GAP, _MOVES = 5e-8, 500


class GpuHalfSteps:
    """The half-steps of one problem on the current GPU.

    Parameters
    ----------
    cuda : Cuda
    grid : float64[L] or None
        The values of items; None for two.
    """

    def __init__(self, cuda: Cuda, grid: Floats | None) -> None:
        self._cupy = cuda.cupy
        self.factors = GpuFactors(cuda.cupy, grid)
        self._levels = None if grid is None else self._cupy.asarray(grid)

    def item_step(self, side: GpuSide, theta: Any, psi: Any, step: HalfStep) -> Any:
        """Return new psis given the thetas."""
        size = step.centre.size
        base, pull = self._ridge(step, theta)
        new = self._cupy.empty_like(psi)
        values = self._cupy.empty(len(psi), dtype=np.float64)
        kernel = item_kernel(size, levels=self._levels is not None)
        for batch in summed_batches(self._cupy, side, theta, size, step.unobserved):
            rows = slice(batch.first, batch.last)
            kernel(batch, (base, pull, *self._given(psi[rows], size, step, batch.first)), (new[rows], values[rows]))
        return new

    def item_equations(self, side: GpuSide, theta: Any, first: int, last: int, step: HalfStep) -> tuple[Floats, Floats]:
        """Return what these thetas contribute to the normal equations of some items, whole and on the host."""
        cupy, size = self._cupy, step.centre.size
        base, pull = self._ridge(step, theta)
        gram = cupy.empty((last - first, size, size), dtype=np.float64)
        moment = cupy.empty((last - first, size), dtype=np.float64)
        kernel = function("rows/segments.cu", "sum_segments", D=size, P=row_length(size))
        for batch in summed_batches(cupy, side, theta, size, step.unobserved, first, last):
            rows = slice(batch.first - first, batch.last - first)
            blocks = -(-batch.n_rows * size * (size + 1) // 256)
            kernel((blocks,), (256,), (*batch.arguments, base, pull, gram[rows], moment[rows]))
        return cupy.asnumpy(gram), cupy.asnumpy(moment)

    def solved_items(self, gram: Floats, moment: Floats, psi: Floats, step: HalfStep) -> Floats:
        """Solve items from their normal equations, which are whole."""
        cupy, size = self._cupy, psi.shape[1]
        length = row_length(size)
        nothing = cupy.zeros((length, length)), cupy.zeros(length)
        kernel, new = item_kernel(size, levels=self._levels is not None), np.empty_like(psi)
        for batch in sent_batches(cupy, gram, moment):
            rows = slice(batch.first, batch.last)
            start = self.factors.sent_psi(psi[rows])
            out = cupy.empty_like(start)
            given = self._given(start, size, step, batch.first)
            kernel(batch, (*nothing, *given), (out, cupy.empty(batch.n_rows, dtype=np.float64)))
            new[rows] = self.factors.psi(out, size)
        return new

    def user_step(self, side: GpuSide, psi: Any, theta: Any, step: HalfStep) -> tuple[Any, float, float]:
        """Return new thetas given the psis, the sum of the values of their rows, and the largest gap."""
        cupy, size = self._cupy, step.centre.size
        base, pull = self._ridge(step, psi)
        new = cupy.empty_like(theta)
        values = cupy.empty(len(theta), dtype=np.float64)
        gaps = cupy.empty(len(theta), dtype=np.float32)
        kernel = user_kernel(size, bits=self._levels is None)
        for batch in summed_batches(cupy, side, psi, size, step.unobserved):
            rows = slice(batch.first, batch.last)
            given = (base, pull, theta[rows], np.float32(_GAP), np.int32(_MOVES))
            kernel(batch, given, (new[rows], values[rows], gaps[rows]))
        return new, float(values.sum()), float(gaps.max())

    def _given(self, start: Any, size: int, step: HalfStep, first: int) -> tuple[Any, ...]:
        """Return what a solver of items takes beside equations: levels, where to start, and seeds where it draws."""
        seeds = (np.uint64(half_step_seed(step.seed, step.sweep, step.side)[0]), np.int64(step.offset + first))
        if self._levels is not None:
            return (self._levels, np.int32(self._levels.size), start, *seeds)
        return (start,) if size <= ENUMERATED else (start, *seeds)

    def _ridge(self, step: HalfStep, everyone: Any) -> tuple[Any, Any]:
        """Return what is added to every matrix and to every moment: the ridge, and what all partners are as a no."""
        size = step.centre.size
        length = row_length(size)
        base, pull = np.zeros((length, length)), np.zeros(length)
        base[np.arange(size), np.arange(size)] = step.ridge
        pull[:size] = step.ridge * step.centre
        if step.unobserved:
            base[:size, :size] += step.unobserved * self.factors.products(everyone, size)
        return self._cupy.asarray(base), self._cupy.asarray(pull)
