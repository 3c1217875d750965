"""Chains on a GPU whose answers are one of a few."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.execution import Cuda
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.sampling.chains.chain import PRIORS
from kolmogorov.sampling.chains.dirichlet import alpha_given
from kolmogorov.sampling.chains.discrete import HELD, DiscreteChain
from kolmogorov.sampling.chains.state import ChainState
from kolmogorov.sampling.gpu.chain import GpuChains, sent


class DiscreteGpuChains(GpuChains[DiscreteChain]):
    """Several `DiscreteChain` on a GPU.

    Psis are drawn from the streams of chains on threads, events from one of each answer's own: other draws, as good.
    """

    answer_kind = np.uint8
    #: The chance of an answer.
    scratch_bytes = 4

    def __init__(self, cuda: Cuda, chains: list[DiscreteChain], states: list[ChainState]) -> None:
        self.emission = chains[0].emission
        super().__init__(cuda, chains, states)
        self.constants = {"R": len(self.emission.answers)}
        self.chances = sent(cuda, self.emission.chances, np.float64)
        self.alpha = np.array([state.alpha for state in states])
        self.logs = cuda.cupy.empty(self.theta.shape, dtype=np.float32)
        self.scratch = cuda.cupy.empty((len(chains), max(1, self.items.n_entries)), dtype=np.float32)
        self.ones = sent(cuda, np.ones((self.users.n_rows, 1)))

    @property
    def positions(self) -> Floats:
        """Where levels stand in psi's normal prior."""
        return self.emission.position

    def entries(self, view: View) -> tuple[Any, ...]:
        """Return where rows begin, partners, answers and weights."""
        return view.indptr, view.indices, self.emission.codes(view.values), view.weights

    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw psis with the events summed out, then events and thetas, then the priors."""
        self.chains[0].observations.rows.check_intact()
        self.draw_psis(index)
        self.draw_thetas(index)
        rngs = [generator(chain.seed, PRIORS, index) for chain in self.chains]
        if not learning or index > HELD:
            logs, n = self.sums(self.users, self.ones, self.logs)[:, 0], self.users.described.n_seen
            fixed = self.chains[0].concentration is not None
            given = zip(self.alpha, logs, rngs, strict=True)
            self.alpha = np.array([alpha_given(a, own.tolist(), n, rng, total_fixed=fixed) for a, own, rng in given])
        if learning:
            self.learn_psi_priors(rngs)

    def draw_psis(self, index: int) -> None:
        """Draw the psi of every item."""
        items, cuda = self.items, self.cuda
        pull, tilt = sent(cuda, self.precision, np.float64), sent(cuda, self.slopes @ self.precision)
        sizes = (np.int64(self.users.n_rows), np.int64(items.n_rows), np.int64(items.n_entries))
        prior = (self.chances, self.position, items.features, items.n_features, tilt, pull)
        rest = (self.seeds, np.int32(index), np.int32(ITEM_SIDE), self.scratch, self.codes, self.psi)
        given = (*items.table, self.theta, *sizes, *prior, *rest)
        fixed, each = 8 * (len(self.levels) + 2 * self.size), 8 * len(self.levels)
        self.launch("draws/emissions.cu", "draw_emissions", items, given, lambda warps: fixed + warps * each)

    def draw_thetas(self, index: int) -> None:
        """Draw the events behind every user's answers, then the user's theta."""
        users, alpha = self.users, sent(self.cuda, self.alpha, np.float64)
        given = (*users.table, self.codes, np.int64(self.items.n_rows), np.int64(users.n_rows))
        when = (self.seeds, np.int32(index), np.int32(USER_SIDE))
        rest = (self.chances, alpha, *when, self.theta, self.logs)
        self.launch("draws/emissions.cu", "draw_emitted", users, (*given, *rest), lambda warps: 4 * self.size)

    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the priors that draws come with, one of each chain."""
        return {"concentration": self.alpha.sum(axis=1)}

    def priors_of(self, k: int) -> dict[str, Any]:
        """Return what a state has of theta's prior."""
        return {"alpha": self.alpha[k]}
