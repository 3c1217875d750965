"""What a fitted model says, computed on a GPU: probabilities of many pairs, and the best items of many users."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.observations import View
from kolmogorov.execution import Cuda
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.kernels.device import function

#: Fewer pairs, or fewer scores, are not worth sending.
WORTH_PAIRS, WORTH_SCORES = 1 << 16, 1 << 22
#: The longest list that is kept beside a warp, and users whose lists are made at once.
LONGEST_LIST, _USERS = 256, 1 << 20
_PAIRS = 1 << 26
_WARPS, _TILE = 8, 128
#: Events that fit beside a block of threads.
MOST_EVENTS = 384
_ADVICE = "Predict without execution: set_params(execution=None)."


class DeviceModel:
    """A fitted model on a GPU, sent once and then asked; inside the context of the device.

    Parameters
    ----------
    cuda : Cuda
    fitted : Fitted
    """

    def __init__(self, cuda: Cuda, fitted: Fitted) -> None:
        self._cuda = cuda
        self._cupy = cuda.cupy
        model = fitted if fitted.soft is None else fitted.soft
        self._n_items = len(fitted.items)
        self._size = model.n_events
        self._theta = self._cupy.asarray(model.theta_or_population.astype(np.float32))
        self._psi = self._cupy.asarray(model.psi_or_average.astype(np.float32))

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return Pr(X[u, i] = 1) for aligned rows, as float32 has it."""
        cupy = self._cupy
        out = np.empty(users.size)
        kernel = function("rows/products.cu", "pair_products")
        for first in range(0, users.size, _PAIRS):
            part = slice(first, min(first + _PAIRS, users.size))
            n = part.stop - part.start
            found = cupy.empty(n, dtype=np.float32)
            pairs = (cupy.asarray(rows[part].astype(np.int32)) for rows in (users, items))
            kernel((-(-n // 256),), (256,), (np.int64(n), np.int32(self._size), self._theta, self._psi, *pairs, found))
            out[part] = cupy.asnumpy(found)
        return out

    def lists(self, users: Rows, seen: View, counts: NDArray[np.int64], n: int, min_count: int) -> tuple[Rows, Floats]:
        """Return each user's n best items that he was not observed with, -1 for none, and their probabilities."""
        cupy = self._cupy
        k = min(n, self._n_items)
        chosen, scores = np.empty((users.size, k), dtype=np.int64), np.empty((users.size, k))
        psi = cupy.ascontiguousarray(self._psi[: self._n_items].T)
        table = (cupy.asarray(seen.indptr), np.int64(seen.indptr.size - 1))
        # One more entry, so that a search past the last finds something that is no item.
        entries = cupy.asarray(np.append(seen.indices, -1).astype(np.int32))
        common = (entries, cupy.asarray(counts.astype(np.int32)), np.int32(min_count), np.int32(k))
        kernel = function("ranking.cu", "best_items")
        room = 4 * (_TILE * self._size + _WARPS * (self._size + 2 * k))
        if room > 48 << 10:
            kernel.max_dynamic_shared_size_bytes = room
        for first in range(0, users.size, _USERS):
            part = slice(first, min(first + _USERS, users.size))
            size = part.stop - part.start
            best = cupy.empty((size, k), dtype=np.int32)
            reached = cupy.empty((size, k), dtype=np.float32)
            asked = (np.int64(size), np.int32(self._size), np.int32(self._n_items), self._theta, psi)
            rows = cupy.asarray(users[part].astype(np.int64))
            kernel(
                (-(-size // _WARPS),), (32 * _WARPS,), (*asked, rows, *table, *common, best, reached), shared_mem=room
            )
            chosen[part], scores[part] = cupy.asnumpy(best), cupy.asnumpy(reached)
        return chosen, scores


def pairs_on(execution: Any, fitted: Any, users: Rows, items: Rows) -> Floats:
    """Return the probabilities of aligned rows, on a GPU where there is one and they are many."""
    if not isinstance(execution, Cuda) or not isinstance(fitted, Fitted) or users.size < WORTH_PAIRS:
        found: Floats = fitted.at_rows(users, items)
        return found
    with execution as cuda, cuda.guarded(_ADVICE):
        return DeviceModel(cuda, fitted).at_rows(users, items)


def lists_on(
    execution: Any, fitted: Any, users: Rows, seen: View, counts: NDArray[np.int64], n: int, min_count: int
) -> tuple[Rows, Floats] | None:
    """Return the best items of users from a GPU, or None where there is none, they are few, or events many."""
    few = users.size * counts.size < WORTH_SCORES or n > LONGEST_LIST
    if few or not isinstance(execution, Cuda) or not isinstance(fitted, Fitted):
        return None
    if (fitted if fitted.soft is None else fitted.soft).n_events > MOST_EVENTS:
        return None
    with execution as cuda, cuda.guarded(_ADVICE):
        return DeviceModel(cuda, fitted).lists(users, seen, counts, n, min_count)
