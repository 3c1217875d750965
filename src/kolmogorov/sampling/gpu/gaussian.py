"""Chains on a GPU whose answers have normal noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.execution import Cuda
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.sampling.chains.chain import PRIORS, USER_ROUNDS
from kolmogorov.sampling.chains.gaussian import ROUNDS, GaussianChain, corrected
from kolmogorov.sampling.chains.state import ChainState
from kolmogorov.sampling.gpu.chain import THREADS, ChainSide, GpuChains, on_simplex, sent
from kolmogorov.sampling.gpu.priors import (
    Generators,
    located_thetas,
    redrawn_noise,
    shrunk_thetas,
    stepped_concentration,
)
from kolmogorov.sampling.priors import PRIOR_DRAWS

#: Side of the draws from theta's prior, beside those of users and items.
_PRIOR_SIDE = 4


class GaussianGpuChains(GpuChains[GaussianChain]):
    """Several `GaussianChain` on a GPU.

    Rows are drawn from the streams of chains on threads, with sums over entries in single precision: the draws of the
    two part after some sweeps, and are as good.
    """

    def __init__(self, cuda: Cuda, chains: list[GaussianChain], states: list[ChainState]) -> None:
        self.unobserved = chains[0].unobserved
        super().__init__(cuda, chains, states)
        self.constants = {"WHOLE": int(self.unobserved > 0.0), "HIDDEN": 0}
        self.mass = sent(cuda, chains[0].mass, np.float64)
        self.squares = sent(cuda, _squares(chains[0].observations.rows), np.float64)
        self.who = sent(cuda, np.resize(np.flatnonzero(chains[0].seen_users), PRIOR_DRAWS), np.int32)
        self.prior_draws = sent(cuda, [state.theta_prior.prior_draws for state in states])
        self.located = np.array([np.vstack([state.theta_prior.mean, state.theta_prior.slopes]) for state in states])
        self.concentration = np.array([state.theta_prior.concentration for state in states])
        self.scale = np.array([state.scale for state in states])
        self.shape = np.array([state.shape for state in states])

    def entries(self, view: View) -> tuple[Any, ...]:
        """Return where rows begin, partners, answers and weights."""
        return corrected(view, self.unobserved)

    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw psis, thetas and noise, each given the rest; and, while `learning`, the priors of both sides."""
        self.chains[0].observations.rows.check_intact()
        self.draw_answers(index)
        self.draw_psis(index)
        self.draw_thetas(index)
        rngs = [generator(chain.seed, PRIORS, index) for chain in self.chains]
        self.draw_noise_priors(rngs)
        if learning:
            self.learn(index, rngs)

    def draw_answers(self, index: int) -> None:
        """Leave the answers as they are."""

    def draw_noise_priors(self, rngs: Generators) -> None:
        """Draw what the variances of the noise lie around, and how far from it."""
        rates = np.array([chain.noise_rate * chain.noise_shape for chain in self.chains]) / self.shape
        self.scale, self.shape = redrawn_noise(
            self.scale, self.shape, rates, self.users.n_rows, self._noise_sums(), rngs
        )

    def told(self, side: ChainSide) -> tuple[Any, ...]:
        """Return the entries of a side, and how far the answers of a chain are from those of the next."""
        indptr, indices, answers, weights = side.table
        return indptr, indices, answers, np.int64(0), weights

    def draw_psis(self, index: int) -> None:
        """Draw the psi of every item."""
        items, cuda = self.items, self.cuda
        pull, tilt = sent(cuda, self.precision, np.float64), sent(cuda, self.slopes @ self.precision)
        # That all was said to be 0 by everyone, a little, is one more normal prior, around 0.
        part, theta = self.unobserved, self.theta
        whole = self.products(self.users, theta, theta, part, self.noise) if part else pull
        table = (*self.told(items), self.noise, self.theta, np.int64(self.users.n_rows), np.int64(items.n_rows))
        prior = (self.position, items.features, items.n_features, tilt, pull, whole)
        rest = (np.int32(ROUNDS), self.seeds, np.int32(index), np.int32(ITEM_SIDE), self.codes, self.psi)
        self._draw("draw_psis", items, (*table, *prior, *rest))

    def draw_thetas(self, index: int) -> None:
        """Draw the theta of every user, then its noise."""
        users, cuda = self.users, self.cuda
        whole = self.products(self.items, self.psi, self.psi, self.unobserved) if self.unobserved else self.mass
        pull, tilt = sent(cuda, self.concentration, np.float64), self.concentration[:, None, None] * self.located
        table = (*self.told(users), self.psi, np.int64(self.items.n_rows), np.int64(users.n_rows))
        prior = (users.features, users.n_features, sent(cuda, tilt), pull, whole, np.int32(USER_ROUNDS))
        noise = (self.squares, self.mass, sent(cuda, self.scale, np.float64), sent(cuda, self.shape, np.float64))
        rest = (self.seeds, np.int32(index), np.int32(USER_SIDE), self.theta, self.noise)
        self._draw("draw_thetas", users, (*table, *prior, *noise, *rest))

    def _draw(self, name: str, side: ChainSide, given: tuple[Any, ...]) -> None:
        size = self.size
        fixed, tile = 8 * (size * size + 5 * size + len(self.levels)), 4 * (32 if size <= 32 else 4) * (size + 1)
        self.launch("draws/gaussian.cu", name, side, given, lambda warps: fixed + warps * tile)

    def _noise_sums(self) -> Floats:
        xp, n = self.cuda.cupy, len(self)
        sums = xp.empty((n, 2), dtype=np.float64)
        kernel = self.kernel("draws/sums.cu", "add_noise")
        kernel((n,), (THREADS,), (self.noise, np.int64(self.users.n_rows), sums), shared_mem=16 * THREADS)
        found: Floats = xp.asnumpy(sums)
        return found

    def learn(self, index: int, rngs: Generators) -> None:
        """Learn the priors of both sides."""
        users, theta = self.users, self.theta
        cross = self.sums(users, users.features, theta)
        squares = np.trace(self.sums(users, theta, theta), axis1=1, axis2=2)
        if self.unobserved:
            self.located = located_thetas(users.described, cross)
        else:
            self.located = shrunk_thetas(users.described, cross, squares)
        if self.chains[0].concentration is None:
            self.concentration = stepped_concentration(
                users.described, self.located, cross, squares, self.concentration, self._distances(index)
            )
        self.learn_psi_priors(rngs)

    def _distances(self, index: int) -> Floats:
        """Draw from theta's prior; return how far the draws are from their centres, squared."""
        users, cuda, n, size = self.users, self.cuda, len(self), self.size
        distance = cuda.cupy.empty((n, PRIOR_DRAWS), dtype=np.float64)
        by, pull = sent(cuda, self.located), sent(cuda, self.concentration, np.float64)
        whose = (self.who, np.int32(n), np.int32(PRIOR_DRAWS), users.features, users.n_features, by, pull)
        how = (np.int32(USER_ROUNDS), self.seeds, np.int32(index), np.int32(_PRIOR_SIDE), self.prior_draws, distance)
        kernel = self.kernel("draws/gibbs.cu", "draw_simplex")
        kernel((PRIOR_DRAWS * n,), (32,), (*whose, *how), shared_mem=8 * (size * size + 3 * size))
        found: Floats = cuda.cupy.asnumpy(distance)
        return found

    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the priors that draws come with, one of each chain."""
        usual = np.sqrt(self.scale / self.shape)
        return {"concentration": self.concentration, "noise": usual, "noise_shape": self.shape}

    def priors_of(self, k: int) -> dict[str, Any]:
        """Return what a state has of theta's prior and of the noise's."""
        prior = replace(
            self._given[k].theta_prior,
            mean=self.located[k, 0],
            slopes=self.located[k, 1:],
            concentration=float(self.concentration[k]),
            prior_draws=on_simplex(self.cuda.cupy.asnumpy(self.prior_draws[k])),
        )
        return {"theta_prior": prior, "scale": float(self.scale[k]), "shape": float(self.shape[k])}


def _squares(rows: View) -> Floats:
    """Return each user's sum of squared answers, each times its weight."""
    squares = rows.values**2 * (rows.weights if rows.weights.size else 1.0)
    n = len(rows.counts)
    return np.bincount(rows.owners(0, n), weights=squares, minlength=n).astype(np.float64)
