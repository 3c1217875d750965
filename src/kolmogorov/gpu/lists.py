"""What a fitted model says, computed on a GPU: probabilities of many pairs, and the best items of many users.

A model is one set of factors, or as many as there are draws. Scores are products of matrices in float64, so that lists
are those of threads, ties included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import Factors, Trained
from kolmogorov.gpu.cuda import Cuda

#: Fewer pairs, or fewer scores, are not worth sending; times the models that are asked. By judgement, as all here.
WORTH_PAIRS, WORTH_SCORES = 1 << 16, 1 << 22
#: The longest list that is kept beside a warp.
LONGEST_LIST = 256
#: Pairs that are asked at once, and bytes of scores that are held.
_PAIRS, _SCORES = 1 << 19, 1 << 32
_WARPS = 8
_ADVICE = "Predict without execution: set_params(execution=None)."

#: Items of each user, -1 for none, their probabilities, and what they were ranked by where that is something else.
Lists = tuple[Rows, Floats, Floats | None]


def pair_probabilities(execution: Any, fitted: Trained, users: Rows, items: Rows) -> Floats:
    """Return the probabilities of aligned rows; from the GPU, if that is the execution, where they are many."""
    factors = fitted.factors
    if not isinstance(execution, Cuda) or factors is None or users.size * len(factors.theta) < WORTH_PAIRS:
        return fitted.at_rows(users, items)
    out = np.empty(users.size)
    with execution as cuda, cuda.guarded(_ADVICE):
        model = GpuModel(cuda, factors)
        for first in range(0, users.size, _PAIRS):
            part = slice(first, first + _PAIRS)
            out[part] = model.pairs(*fitted.known_rows(users[part], items[part]))
    return out


def lists_at_once(
    execution: Any,
    fitted: Trained,
    users: Rows,
    hidden: Rows,
    seen: View,
    counts: NDArray[np.int64],
    n: int,
    least: int,
    lower: float | None = None,
) -> Lists | None:
    """Return the n best items of all users, or None where they are made here, some users at a time.

    A GPU makes them where they are many, and not too long. What the users `hidden` were observed with, in `seen`, is
    left out, and so are items whose `counts` are below the `least`. With `lower` items are ranked by what all but this
    share of the draws exceed, instead of by the mean.
    """
    factors = fitted.factors
    if not isinstance(execution, Cuda) or factors is None or n > LONGEST_LIST:
        return None
    # Where attributes place an item is one thing, and how far from there it may be another.
    placed = lower is not None and bool((fitted.item_known & ~fitted.item_seen).any())
    if placed or users.size * counts.size * len(factors.theta) < WORTH_SCORES:
        return None
    k, n_items = min(n, counts.size), counts.size
    chosen, shown = np.empty((users.size, k), dtype=np.int64), np.empty((2, users.size, k))
    known, _ = fitted.known_rows(users, np.empty(0, dtype=np.int64))
    with execution as cuda, cuda.guarded(_ADVICE):
        cupy, model = cuda.cupy, GpuModel(cuda, factors)
        # One more entry, so that a search past the last finds something that is no item.
        entries = cupy.asarray(np.append(seen.indices, -1).astype(np.int32))
        table = (cupy.asarray(seen.indptr), np.int64(seen.indptr.size - 1), entries)
        common = (cupy.asarray(counts.astype(np.int32)), np.int32(least), np.int32(k))
        kernel, room = cuda.kernel("lists.cu", "best_items", KEPT=1), 8 * _WARPS * (k + (k + 1) // 2)
        some = max(1, min(_SCORES, cuda.budget() // 4) // (8 * n_items * (len(factors.theta) + 4)))
        for first in range(0, users.size, some):
            part = slice(first, first + some)
            scores = model.scores(known[part], n_items, lower)
            best = cupy.empty((len(scores[0]), k), dtype=np.int32)
            asked = (np.int64(len(best)), np.int32(n_items), scores[-1], cupy.asarray(hidden[part].astype(np.int64)))
            kernel((-(-len(best) // _WARPS),), (32 * _WARPS,), (*asked, *table, *common, best), shared_mem=room)
            places = cupy.maximum(best, 0).astype(np.int64)
            chosen[part] = cupy.asnumpy(best)
            for score, out in zip(scores, shown, strict=False):
                out[part] = cupy.asnumpy(cupy.take_along_axis(score, places, axis=1))
    return chosen, shown[0], None if lower is None else shown[1]


class GpuModel:
    """A fitted model on a GPU, sent once and then asked; inside the context of the GPU."""

    def __init__(self, cuda: Cuda, factors: Factors) -> None:
        self._cuda, self._cupy, self._hidden = cuda, cuda.cupy, factors.hidden
        self._theta, self._psi = map(self._cupy.asarray, factors.whole())

    def pairs(self, users: Rows, items: Rows) -> Floats:
        """Return the probabilities of aligned rows, the mean over draws where there are some."""
        own, other = map(self._cupy.asarray, (users, items))
        total = self._cupy.zeros(own.size)
        for theta, psi in zip(self._theta, self._psi, strict=True):
            total += self._said((theta[own].astype(np.float64) * psi[other]).sum(axis=1))
        found: Floats = self._cupy.asnumpy(self._cupy.clip(total / len(self._theta), 0.0, 1.0))
        return found

    def scores(self, users: Rows, n_items: int, lower: float | None) -> list[Any]:
        """Return the mean over draws of all items for some users, and what all but a share of the draws exceed."""
        cupy, draws = self._cupy, len(self._theta)
        theta, psi = self._theta[:, cupy.asarray(users)], self._psi[:, :n_items].transpose(0, 2, 1)
        said = self._said(cupy.ascontiguousarray(theta.astype(np.float64) @ psi.astype(np.float64)))
        scores = [said.mean(axis=0)]
        if lower is not None:
            place, low = lower * (draws - 1), cupy.empty(said.shape[1:])
            kernel = self._cuda.kernel("lists.cu", "low_quantile", KEPT=min(int(place) + 2, draws))
            kernel((-(-low.size // 256),), (256,), (np.int64(low.size), np.int32(draws), np.float64(place), said, low))
            scores.append(low)
        return [cupy.clip(score, 0.0, 1.0) for score in scores]

    def _said(self, products: Any) -> Any:
        """Return what each model says: its products, or in their place the chances of a yes that they mean."""
        if self._hidden:
            kernel = self._cuda.kernel("lists.cu", "chances_of_yes", KEPT=1)
            kernel((-(-products.size // 256),), (256,), (np.int64(products.size), products))
        return products
