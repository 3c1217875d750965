"""Chains on a GPU whose answers are yes and no, behind which ratings are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.execution import Cuda
from kolmogorov.fitting.descent.half_step import USER_SIDE
from kolmogorov.kernels.draws.hidden import NOISE
from kolmogorov.sampling.chains.probit import HIDDEN, ProbitChain
from kolmogorov.sampling.chains.state import ChainState
from kolmogorov.sampling.gpu.chain import THREADS, ChainSide, sent
from kolmogorov.sampling.gpu.gaussian import GaussianGpuChains
from kolmogorov.sampling.gpu.priors import Generators


class ProbitGpuChains(GaussianGpuChains):
    """Several `ProbitChain` on a GPU: ratings are drawn from the streams of chains on threads."""

    #: The ratings behind an answer, by users and by items.
    scratch_bytes = 8

    def __init__(self, cuda: Cuda, chains: list[ProbitChain], states: list[ChainState]) -> None:
        super().__init__(cuda, [*chains], states)
        self.constants["HIDDEN"] = 1
        self.noise[:] = NOISE
        n, by_items = max(1, self.users.n_entries), chains[0].by_items
        place = np.empty(len(by_items), dtype=np.int32)
        place[by_items] = np.arange(len(by_items))
        self.place = sent(cuda, place, np.int32)
        self.by_users, self.by_items = (cuda.cupy.empty((len(chains), n), dtype=np.float32) for _ in range(2))

    def draw_answers(self, index: int) -> None:
        """Draw the ratings behind all answers."""
        users, items = self.users, self.items
        sizes = (np.int64(users.n_rows), np.int64(items.n_rows), np.int64(self.by_users.shape[1]))
        when = (self.seeds, np.int32(index), np.int32(HIDDEN + USER_SIDE))
        given = (np.int32(len(self)), *users.table, self.theta, self.psi, *sizes, self.place, *when)
        kernel = self.kernel("draws/hidden.cu", "draw_hidden", WEIGHTED=int(users.weighted))
        kernel((users.n_rows * len(self),), (THREADS,), (*given, self.by_users, self.by_items))

    def told(self, side: ChainSide) -> tuple[Any, ...]:
        """Return the entries of a side with the ratings of all chains, and how far those of one are from the next."""
        ratings = self.by_users if side is self.users else self.by_items
        return side.indptr, side.indices, ratings, np.int64(ratings.shape[1]), side.weights

    def draw_noise_priors(self, rngs: Generators) -> None:
        """Leave the noise as it is: what is hidden has no scale of its own."""

    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the priors that draws come with, one of each chain."""
        return {"concentration": self.concentration}
