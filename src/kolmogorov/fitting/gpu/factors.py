"""Factors on a GPU: how they lie there, the way there and back, and sums over them.

A theta is a row of float32 that is filled up with zeros. A psi is a word with a bit for each event, or with several
levels a row like that of a theta.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.fitting.descent.equations import packed_bits
from kolmogorov.fitting.descent.objective import UserTotals
from kolmogorov.kernels.gpu import function

#: Rows that a block of threads sums, and rows whose products are summed at once, in float64; by judgement.
_ROWS_OF_TOTAL, _CHUNK = 4096, 1 << 18


def row_length(n_events: int) -> int:
    """Return the length of a row of factors: 8, or the next multiple of 16."""
    return 8 if n_events <= 8 else -(-n_events // 16) * 16


class GpuFactors:
    """The factors of a model whose items take the points of a grid, or with None 0 and 1."""

    def __init__(self, cupy: Any, grid: Floats | None) -> None:
        self._cupy = cupy
        self._grid = grid

    def sent_theta(self, theta: Floats) -> Any:
        """Send thetas: float32[n, P]."""
        rows = np.zeros((len(theta), row_length(theta.shape[1])), dtype=np.float32)
        rows[:, : theta.shape[1]] = theta
        return self._cupy.asarray(rows)

    def sent_psi(self, psi: Floats) -> Any:
        """Send psis: uint64[n], or with several levels float32[n, P]."""
        if self._grid is not None:
            return self.sent_theta(psi)
        return self._cupy.asarray(packed_bits(psi))

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

    def products(self, sent: Any, size: int) -> Floats:
        """Return the sum of the products of all rows."""
        cupy = self._cupy
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

    def item_squares(self, psi: Any, size: int, centre: float) -> float:
        """Return the sum of the squared distances of psi from what its ridge draws to."""
        products = self.products(psi, size).trace()
        if self._grid is None:
            return float(products)
        return float(products - 2.0 * centre * float(psi.sum(dtype=np.float64)) + len(psi) * size * centre * centre)

    def user_totals(self, theta: Any, value: float, centre: Floats, counted: NDArray[np.bool_]) -> UserTotals:
        """Sum up users, given the sum of the values of their rows and who counts; all others are at the centre."""
        n_users, length = theta.shape
        blocks = max(1, -(-n_users // _ROWS_OF_TOTAL))
        parts = self._cupy.empty((blocks, length + 1), dtype=np.float64)
        threads = 256 // length * length
        given = (np.int64(n_users), np.int64(_ROWS_OF_TOTAL), theta, self._cupy.asarray(counted.view(np.uint8)), parts)
        kernel = function("rows/totals.cu", "user_totals", P=length)
        kernel((blocks,), (threads,), given, shared_mem=16 * threads)
        whole = self._cupy.asnumpy(parts).sum(axis=0)
        total, squares = whole[: centre.size].copy(), float(whole[-1])
        everyone = total + (n_users - int(counted.sum())) * centre
        distance = squares - 2.0 * float(centre @ everyone) + n_users * float(centre @ centre)
        return UserTotals(value, max(distance, 0.0), total)
