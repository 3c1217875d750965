"""The best items of many users, made on a GPU.

A model is one set of factors, or as many as there are draws. Scores are products of matrices in float64, so that lists
are those of threads, ties included.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE, Trained
from kolmogorov.gpu.cuda import Cuda

#: Fewer scores are not worth sending; times the models that are asked. By judgement, as all here.
WORTH_SCORES = 1 << 22
#: The longest list that is kept beside a warp, and bytes of scores that are held.
_LONGEST, _SCORES = 256, 1 << 32
_WARPS = 8
#: Items of each user, -1 for none, their probabilities, and what they were ranked by where that is something else.
Lists = tuple[Rows, Floats, Floats | None]


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
    if not isinstance(execution, Cuda) or factors is None or n > _LONGEST:
        return None
    # Where attributes place an item is one thing, and how far from there it may be another.
    placed = lower is not None and bool((fitted.item_known & ~fitted.item_seen).any())
    if placed or users.size * counts.size * len(factors.theta) < WORTH_SCORES:
        return None
    k, n_items, draws = min(n, counts.size), counts.size, len(factors.theta)
    chosen, shown = np.empty((users.size, k), dtype=np.int64), np.empty((2, users.size, k))
    known, _ = fitted.known_rows(users, np.empty(0, dtype=np.int64))
    with execution as cuda, cuda.guarded("Make them without execution: set_params(execution=None)."):
        cupy = cuda.cupy
        theta = cupy.asarray(np.concatenate((factors.theta, factors.unknown[:, None]), axis=1))
        psi = cupy.asarray(factors.psi).transpose(0, 2, 1).astype(np.float64)
        # One more entry, so that a search past the last finds something that is no item.
        entries = cupy.asarray(np.append(seen.indices, -1).astype(np.int32))
        table = (cupy.asarray(seen.indptr), np.int64(seen.indptr.size - 1), entries)
        common = (cupy.asarray(counts.astype(np.int32)), np.int32(least), np.int32(k))
        kernel, room = cuda.kernel("lists.cu", "best_items", KEPT=1), 8 * _WARPS * (k + (k + 1) // 2)
        some = max(1, min(_SCORES, cuda.budget() // 4) // (8 * n_items * (draws + 4)))
        for first in range(0, users.size, some):
            part = slice(first, first + some)
            said = cupy.ascontiguousarray(theta[:, cupy.asarray(known[part])].astype(np.float64) @ psi)
            if factors.hidden:
                # Chances of a yes, as `draws.likelihood.chances_of_yes` has them.
                from cupyx.scipy.special import ndtr

                said = ndtr((said - 0.5) * (1.0 / np.sqrt(NOISE)))
            scores = [said.mean(axis=0)]
            if lower is not None:
                # What all but a share of the draws exceed.
                place, low = lower * (draws - 1), cupy.empty_like(scores[0])
                given = (np.int64(low.size), np.int32(draws), np.float64(place), said, low)
                quantile = cuda.kernel("lists.cu", "low_quantile", KEPT=min(int(place) + 2, draws))
                quantile((-(-low.size // 256),), (256,), given)
                scores.append(low)
            scores = [cupy.clip(score, 0.0, 1.0) for score in scores]
            best = cupy.empty((len(scores[0]), k), dtype=np.int32)
            asked = (np.int64(len(best)), np.int32(n_items), scores[-1], cupy.asarray(hidden[part].astype(np.int64)))
            kernel((-(-len(best) // _WARPS),), (32 * _WARPS,), (*asked, *table, *common, best), shared_mem=room)
            places = cupy.maximum(best, 0).astype(np.int64)
            chosen[part] = cupy.asnumpy(best)
            for score, out in zip(scores, shown, strict=False):
                out[part] = cupy.asnumpy(cupy.take_along_axis(score, places, axis=1))
    return chosen, shown[0], None if lower is None else shown[1]
