"""What a fitted model says, computed on a GPU: probabilities of many pairs, and the best items of many users.

A model is one set of factors, or as many as there are draws. Scores are products of matrices in float64, so that lists
are those of threads, ties included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import Trained
from kolmogorov.gpu.cuda import Cuda

#: Fewer pairs, or fewer scores, are not worth sending; times the models that are asked. By judgement, as all here.
WORTH_PAIRS, WORTH_SCORES = 1 << 16, 1 << 22
#: The longest list that is kept beside a warp.
LONGEST_LIST = 256
#: Pairs that are asked at once, and bytes of scores that are held.
_PAIRS, _SCORES = 1 << 19, 1 << 32
_WARPS = 8
_ADVICE = "Predict without execution: set_params(execution=None)."


@dataclass(frozen=True, eq=False)
class ListRules:
    """What goes onto lists."""

    #: What users were observed with.
    seen: View
    #: Observations of each item.
    counts: NDArray[np.int64]
    #: The length of a list.
    n: int
    #: Items with fewer observations are left out.
    min_count: int
    #: Rank by what all but this share of the draws exceed, instead of by the mean.
    lower: float | None = None


#: Items of each user, -1 for none, their probabilities, and what they were ranked by where that is something else.
Lists = tuple[Rows, Floats, Floats | None]


class GpuModel:
    """A fitted model on a GPU, sent once and then asked; inside the context of the GPU."""

    def __init__(self, cuda: Cuda, fitted: Trained) -> None:
        self._cuda, self._cupy, self._fitted, factors = cuda, cuda.cupy, fitted, fitted.factors
        assert factors is not None
        self._theta, self._psi = map(self._cupy.asarray, factors.whole())
        self._hidden, self._n_items = factors.hidden, len(fitted.items)

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return the probabilities of aligned rows, the mean over draws where there are some."""
        out = np.empty(users.size)
        for first in range(0, users.size, _PAIRS):
            part = slice(first, first + _PAIRS)
            own, other = map(self._cupy.asarray, self._fitted.known_rows(users[part], items[part]))
            total = self._cupy.zeros(own.size)
            for theta, psi in zip(self._theta, self._psi, strict=True):
                total += self._said((theta[own].astype(np.float64) * psi[other]).sum(axis=1))
            out[part] = self._cupy.asnumpy(self._cut(total / len(self._theta)))
        return out

    def lists(self, users: Rows, hidden: Rows, rules: ListRules) -> Lists:
        """Return each user's best items, but for those that the users `hidden` were observed with."""
        cupy = self._cupy
        k = min(rules.n, self._n_items)
        chosen, shown = np.empty((users.size, k), dtype=np.int64), np.empty((users.size, k))
        lower = None if rules.lower is None else np.empty((users.size, k))
        rank = self._ranking(rules, k)
        said = len(self._theta) if lower is not None else 1
        some = max(1, min(_SCORES, self._cuda.budget() // 4) // (8 * self._n_items * (said + 4)))
        known, _ = self._fitted.known_rows(users, np.empty(0, dtype=np.int64))
        for first in range(0, users.size, some):
            part = slice(first, first + some)
            mean, other = self._scores(cupy.asarray(known[part]), rules.lower)
            best = rank(mean if other is None else other, hidden[part])
            places = cupy.maximum(best, 0).astype(np.int64)
            chosen[part] = cupy.asnumpy(best)
            shown[part] = cupy.asnumpy(cupy.take_along_axis(mean, places, axis=1))
            if lower is not None:
                lower[part] = cupy.asnumpy(cupy.take_along_axis(other, places, axis=1))
        return chosen, shown, lower

    def _ranking(self, rules: ListRules, k: int) -> Any:
        """Return a function from scores, and whose observations to leave out, to the best items of each row."""
        cupy, seen = self._cupy, rules.seen
        # One more entry, so that a search past the last finds something that is no item.
        entries = cupy.asarray(np.append(seen.indices, -1).astype(np.int32))
        table = (cupy.asarray(seen.indptr), np.int64(seen.indptr.size - 1), entries)
        common = (cupy.asarray(rules.counts.astype(np.int32)), np.int32(rules.min_count), np.int32(k))
        kernel, room = self._cuda.kernel("lists.cu", "best_items", KEPT=1), 8 * _WARPS * (k + (k + 1) // 2)

        def rank(scores: Any, hidden: Rows) -> Any:
            best = cupy.empty((len(hidden), k), dtype=np.int32)
            asked = (np.int64(len(hidden)), np.int32(self._n_items), scores, cupy.asarray(hidden.astype(np.int64)))
            blocks = -(-len(hidden) // _WARPS)
            kernel((blocks,), (32 * _WARPS,), (*asked, *table, *common, best), shared_mem=room)
            return best

        return rank

    def _scores(self, users: Any, lower: float | None) -> tuple[Any, Any]:
        """Return the mean over draws of all items for some users, and what all but a share of the draws exceed."""
        cupy, draws, items = self._cupy, len(self._theta), slice(self._n_items)
        if lower is None:
            total = cupy.zeros((len(users), self._n_items))
            for theta, psi in zip(self._theta, self._psi, strict=True):
                total += self._said(theta[users].astype(np.float64) @ psi[items].astype(np.float64).T)
            return self._cut(total / draws), None
        theta = self._theta[:, users].astype(np.float64)
        said = self._said(cupy.ascontiguousarray(theta @ self._psi[:, items].transpose(0, 2, 1).astype(np.float64)))
        place, low = lower * (draws - 1), cupy.empty((len(users), self._n_items))
        kernel = self._cuda.kernel("lists.cu", "low_quantile", KEPT=min(int(place) + 2, draws))
        kernel((-(-low.size // 256),), (256,), (np.int64(low.size), np.int32(draws), np.float64(place), said, low))
        return self._cut(said.mean(axis=0)), self._cut(low)

    def _said(self, products: Any) -> Any:
        """Return what each model says: its products, or in their place the chances of a yes that they mean."""
        if self._hidden:
            kernel = self._cuda.kernel("lists.cu", "chances_of_yes", KEPT=1)
            kernel((-(-products.size // 256),), (256,), (np.int64(products.size), products))
        return products

    def _cut(self, chance: Any) -> Any:
        return self._cupy.clip(chance, 0.0, 1.0)


def pair_probabilities(execution: Any, fitted: Trained, users: Rows, items: Rows) -> Floats:
    """Return the probabilities of aligned rows; from the GPU, if that is the execution, where they are many."""
    if not isinstance(execution, Cuda) or users.size * _models(fitted) < WORTH_PAIRS:
        return fitted.at_rows(users, items)
    with execution as cuda, cuda.guarded(_ADVICE):
        return GpuModel(cuda, fitted).at_rows(users, items)


def lists_at_once(execution: Any, fitted: Trained, users: Rows, hidden: Rows, rules: ListRules) -> Lists | None:
    """Return the best items of all users, or None where they are made here, some users at a time.

    A GPU makes them where they are many, and not too long. What the users `hidden` were observed with is left out.
    """
    if not isinstance(execution, Cuda) or rules.n > LONGEST_LIST:
        return None
    # Where attributes place an item is one thing, and how far from there it may be another.
    placed = rules.lower is not None and bool((fitted.item_known & ~fitted.item_seen).any())
    if placed or users.size * rules.counts.size * _models(fitted) < WORTH_SCORES:
        return None
    with execution as cuda, cuda.guarded(_ADVICE):
        return GpuModel(cuda, fitted).lists(users, hidden, rules)


def _models(fitted: Trained) -> int:
    """Return how many models are asked; none where their predictions are not products alone."""
    factors = fitted.factors
    return 0 if factors is None else len(factors.theta)
