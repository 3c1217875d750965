"""Chains on a GPU, as many at once as its memory holds: rows are drawn there, the few numbers of the priors here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.chain import PRIORS, ROUNDS, Chain, ChainSource, ChainState, Sample
from kolmogorov.draws.levels import nearest
from kolmogorov.draws.likelihood import HIDDEN, USER_ROUNDS, DrawnEvents, corrected
from kolmogorov.draws.plan import Plan
from kolmogorov.draws.posterior import STEPS
from kolmogorov.draws.priors import PRIOR_DRAWS
from kolmogorov.draws.start import started
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.priors import (
    Described,
    Generators,
    learned_psi_priors,
    located_thetas,
    redrawn_noise,
    shrunk_thetas,
    stepped_concentration,
)

#: Rows with more entries are drawn by several warps. By judgement.
LONG, _WARPS = 512, 8
#: Sums over rows are made in so many parts at most, of so many rows at least. By judgement.
_PARTS, _PART = 64, 128
#: Threads that share out sums.
_THREADS = 256
#: The most events: a row's equations lie in the memory that a block shares.
_MOST_EVENTS = 64
#: Side of the draws from theta's prior, beside those of users and items.
_PRIOR_SIDE = 4


def fitting_chains(cuda: Cuda, chain: Chain) -> int:
    """Return how many chains the GPU's memory holds at once."""
    if chain.n_events > _MOST_EVENTS:
        raise ParameterError(
            f"On a GPU models are drawn with at most {_MOST_EVENTS} events, got n_events={chain.n_events}."
        )
    table, size, budget = chain.observations, chain.n_events, cuda.budget()
    features = chain.features
    fixed = 2 * 12 * len(table) + 4 * (features.users.size + features.items.size)
    n_features = 1 + max(features.users.shape[1], features.items.shape[1], size)
    rows = 8 * size * table.n_users + 5 * size * table.n_items + 4 * table.n_users
    # The ratings behind an answer, by users and by items.
    scratch = 8 * len(table) if chain.kind.hidden else 0
    own = rows + 8 * size * n_features * (_PARTS + 4) + scratch
    count = (budget - fixed) // own
    if count < 1:
        raise ExecutionError(
            f"A chain of this table takes {(fixed + own) / 1e9:,.1f} GB of the GPU's memory, of which "
            f"{budget / 1e9:,.1f} GB may be used. Take fewer events (n_events), or leave out 'execution'."
        )
    return count


def sent(cuda: Cuda, array: Any, kind: type = np.float32) -> Any:
    """Return a copy on the GPU, as kernels read it: row by row."""
    return cuda.cupy.asarray(np.ascontiguousarray(array, dtype=kind))


class ChainSide:
    """The entries of a table by users or by items on the GPU, and what is known of its rows."""

    def __init__(self, cuda: Cuda, entries: tuple[Any, ...], described: Described) -> None:
        indptr, indices, answers, weights = entries
        self.indptr, self.indices = sent(cuda, indptr, np.int64), sent(cuda, indices, np.int32)
        self.answers = sent(cuda, answers)
        self.weighted = bool(weights.size)
        # Where there are none, a kernel does not look at them.
        self.weights = sent(cuda, weights) if self.weighted else self.indices
        self.described = described
        self.features, self.seen = sent(cuda, described.features), sent(cuda, described.seen)
        counts = np.diff(indptr)
        self.n_rows, self.n_entries = len(counts), int(indptr[-1])
        # Those that take longest begin first.
        order, n_long = np.argsort(-counts, kind="stable"), int((counts > LONG).sum())
        self.runs = [
            (sent(cuda, rows, np.int32), warps)
            for rows, warps in ((order[:n_long], _WARPS), (order[n_long:], 1))
            if len(rows)
        ]

    @property
    def table(self) -> tuple[Any, ...]:
        """Arguments of a kernel: the entries."""
        return self.indptr, self.indices, self.answers, self.weights

    @property
    def n_features(self) -> np.int32:
        """Columns of `features`."""
        return np.int32(self.features.shape[1])


class GpuChains:
    """Several chains of one table on a GPU, swept in step.

    Rows are drawn from the streams of chains on threads, with sums over entries in single precision: the draws of the
    two part after some sweeps, and are as good. A chain's draws depend on its own seed and on the table, not on the
    others.
    """

    def __init__(self, cuda: Cuda, chains: list[Chain], states: list[ChainState]) -> None:
        self.cuda, self.chains, self._given = cuda, chains, states
        any_chain = chains[0]
        self.unobserved, self.hidden = any_chain.unobserved, any_chain.kind.hidden
        self.constants = {"WHOLE": int(self.unobserved > 0.0), "HIDDEN": int(self.hidden)}
        self.levels, self.size = any_chain.levels, any_chain.n_events
        table = any_chain.observations
        known = any_chain.features
        self.items, self.users = (
            ChainSide(cuda, corrected(view, self.unobserved), Described.of(*described))
            for view, described in (
                (table.columns, (known.items, any_chain.seen_items, known.item_blocks)),
                (table.rows, (known.users, any_chain.seen_users, known.user_blocks)),
            )
        )
        self.seeds = sent(cuda, [chain.seed for chain in chains], np.uint64)
        self.codes = sent(cuda, nearest(np.array([state.psi for state in states]), self.levels), np.uint8)
        self.position = sent(cuda, self.levels, np.float64)
        self.psi = sent(cuda, self.levels[cuda.cupy.asnumpy(self.codes)])
        self.theta = sent(cuda, [state.theta for state in states])
        self.noise = sent(cuda, [state.noise for state in states])
        self.slopes = np.array([state.psi_prior.slopes for state in states])
        self.precision = np.array([state.psi_prior.precision for state in states])
        self.mass = sent(cuda, any_chain.mass, np.float64)
        self.squares = sent(cuda, _squares(table.rows), np.float64)
        self.who = sent(cuda, np.resize(np.flatnonzero(any_chain.seen_users), PRIOR_DRAWS), np.int32)
        self.prior_draws = sent(cuda, [state.theta_prior.prior_draws for state in states])
        self.located = np.array([np.vstack([state.theta_prior.mean, state.theta_prior.slopes]) for state in states])
        self.concentration = np.array([state.theta_prior.concentration for state in states])
        self.scale = np.array([state.scale for state in states])
        self.shape = np.array([state.shape for state in states])
        if self.hidden:
            self.noise[:] = NOISE
            n, by_items = max(1, self.users.n_entries), any_chain.by_items
            place = np.empty(len(by_items), dtype=np.int32)
            place[by_items] = np.arange(len(by_items))
            self.place = sent(cuda, place, np.int32)
            self.by_users, self.by_items = (cuda.cupy.empty((len(chains), n), dtype=np.float32) for _ in range(2))

    def __len__(self) -> int:
        return len(self.chains)

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps; return, for each that the plan keeps, the models of all chains."""
        found = []
        for index in sweeps:
            self.sweep(index, learning=plan.learns(index))
            if plan.keeps(index):
                found.append(self.kept())
        return found

    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw psis, thetas and noise, each given the rest; and, while `learning`, the priors of both sides."""
        self.chains[0].observations.rows.check_intact()
        if self.hidden:
            self.draw_answers(index)
        self.draw_psis(index)
        self.draw_thetas(index)
        rngs = [generator(chain.seed, PRIORS, index) for chain in self.chains]
        if not self.hidden:
            self.draw_noise_priors(rngs)
        if learning:
            self.learn(index, rngs)

    def draw_answers(self, index: int) -> None:
        """Draw the ratings behind all answers."""
        users, items = self.users, self.items
        sizes = (np.int64(users.n_rows), np.int64(items.n_rows), np.int64(self.by_users.shape[1]))
        when = (self.seeds, np.int32(index), np.int32(HIDDEN + USER_SIDE))
        given = (np.int32(len(self)), *users.table, self.theta, self.psi, *sizes, self.place, *when)
        kernel = self.kernel("hidden.cu", "draw_hidden", WEIGHTED=int(users.weighted))
        kernel((users.n_rows * len(self),), (_THREADS,), (*given, self.by_users, self.by_items))

    def draw_noise_priors(self, rngs: Generators) -> None:
        """Draw what the variances of the noise lie around, and how far from it."""
        rates = np.array([chain.noise_rate * chain.noise_shape for chain in self.chains]) / self.shape
        self.scale, self.shape = redrawn_noise(
            self.scale, self.shape, rates, self.users.n_rows, self._noise_sums(), rngs
        )

    def told(self, side: ChainSide) -> tuple[Any, ...]:
        """Return the entries of a side, and how far the answers of a chain are from those of the next.

        Hidden ratings are each chain's own.
        """
        indptr, indices, answers, weights = side.table
        if not self.hidden:
            return indptr, indices, answers, np.int64(0), weights
        ratings = self.by_users if side is self.users else self.by_items
        return indptr, indices, ratings, np.int64(ratings.shape[1]), weights

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
        """Draw all rows of a side."""
        size, n = self.size, len(self)
        fixed, tile = 8 * (size * size + 5 * size + len(self.levels)), 4 * (32 if size <= 32 else 4) * (size + 1)
        for rows, warps in side.runs:
            sizes = {"WARPS": warps, "L": len(self.levels), "WEIGHTED": int(side.weighted)}
            kernel = self.kernel("gaussian.cu", name, **sizes, **self.constants)
            room = fixed + warps * tile
            kernel((len(rows) * n,), (32 * warps,), (rows, np.int32(n), *given), shared_mem=room)

    def _noise_sums(self) -> Floats:
        xp, n = self.cuda.cupy, len(self)
        sums = xp.empty((n, 2), dtype=np.float64)
        kernel = self.kernel("sums.cu", "add_noise")
        kernel((n,), (_THREADS,), (self.noise, np.int64(self.users.n_rows), sums), shared_mem=16 * _THREADS)
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
        kernel = self.kernel("gibbs.cu", "draw_simplex")
        kernel((PRIOR_DRAWS * n,), (32,), (*whose, *how), shared_mem=8 * (size * size + 3 * size))
        found: Floats = cuda.cupy.asnumpy(distance)
        return found

    # --- kernels --------------------------------------------------------------------------------------------------

    def kernel(self, path: str, name: str, **constants: int) -> Any:
        """Return a kernel for the number of events."""
        return self.cuda.kernel(path, name, D=self.size, **constants)

    def products(self, side: ChainSide, left: Any, right: Any, factor: float = 1.0, noise: Any = None) -> Any:
        """Return a factor times sums over a side's rows of products of rows; those of `left` may be the same for all.

        With `noise` each is divided by it and all rows count; without, those seen.
        """
        xp, n, n_left = self.cuda.cupy, len(self), left.shape[-1]
        per = max(_PART, -(-side.n_rows // _PARTS))
        runs, size = -(-side.n_rows // per), n_left * self.size
        parts, out = xp.empty((n, runs, size), dtype=np.float64), xp.empty((n, n_left, self.size), dtype=np.float64)
        how = (np.int32(n_left), np.int32(left.ndim == 3), side.seen if noise is None else noise)
        given = (left, *how, np.int32(noise is not None), right, np.int64(side.n_rows), np.int32(runs), np.int64(per))
        self.kernel("sums.cu", "add_products")((runs * n,), (_THREADS,), (*given, parts))
        sizes = (np.int32(n), np.int32(runs), np.int32(size), np.float64(factor))
        self.kernel("sums.cu", "add_parts")((-(-size * n // _THREADS),), (_THREADS,), (parts, *sizes, out))
        return out

    def sums(self, side: ChainSide, left: Any, right: Any) -> Floats:
        """Return `products` here."""
        found: Floats = self.cuda.cupy.asnumpy(self.products(side, left, right))
        return found

    def learn_psi_priors(self, rngs: Generators) -> None:
        """Learn psi's priors."""
        items, psi = self.items, self.psi
        cross, square = self.sums(items, items.features, psi), self.sums(items, psi, psi)
        given = (self.slopes, self.precision, self.chains[0].psi_variance)
        self.slopes, self.precision = learned_psi_priors(items.described, cross, square, *given, rngs)

    # --- what is kept ---------------------------------------------------------------------------------------------

    def kept(self) -> list[Sample]:
        """Return the models of the states."""
        xp, n_rows = self.cuda.cupy, len(self) * self.users.n_rows
        on_grid = xp.empty(self.theta.shape, dtype=np.float32)
        kernel = self.kernel("grid.cu", "put_on_grid")
        kernel((-(-n_rows // _THREADS),), (_THREADS,), (self.theta, np.int64(n_rows), np.float64(STEPS), on_grid))
        theta, noise = xp.asnumpy(on_grid), xp.asnumpy(self.noise).copy()
        psi = self.levels.astype(np.float32)[xp.asnumpy(self.codes)]
        numbers = {name: values.tolist() for name, values in self.numbers().items()}
        return [
            Sample(theta[k], psi[k], noise[k], {name: values[k] for name, values in numbers.items()})
            for k in range(len(self))
        ]

    def states(self) -> list[ChainState]:
        """Return the states as chains on threads have them."""
        numpy = self.cuda.cupy.asnumpy
        theta, noise = on_simplex(numpy(self.theta)), numpy(self.noise).astype(np.float64)
        psi = self.levels[numpy(self.codes)]
        return [
            replace(
                state,
                theta=theta[k],
                psi=psi[k],
                noise=noise[k],
                psi_prior=replace(state.psi_prior, slopes=self.slopes[k], precision=self.precision[k]),
                **self._priors_of(k),
            )
            for k, state in enumerate(self._given)
        ]

    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the priors that draws come with, one of each chain."""
        if self.hidden:
            return {"concentration": self.concentration}
        usual = np.sqrt(self.scale / self.shape)
        return {"concentration": self.concentration, "noise": usual, "noise_shape": self.shape}

    def _priors_of(self, k: int) -> dict[str, Any]:
        """Return what a state has of theta's prior and of the noise's."""
        prior = replace(
            self._given[k].theta_prior,
            mean=self.located[k, 0],
            slopes=self.located[k, 1:],
            concentration=float(self.concentration[k]),
            prior_draws=on_simplex(self.cuda.cupy.asnumpy(self.prior_draws[k])),
        )
        return {"theta_prior": prior, "scale": float(self.scale[k]), "shape": float(self.shape[k])}


def on_simplex(theta: NDArray[np.float32]) -> Floats:
    """Return distributions in double precision, whose sums are 1 there too."""
    wide = theta.astype(np.float64)
    total: Floats = wide / wide.sum(axis=-1, keepdims=True)
    return total


def _squares(rows: View) -> Floats:
    """Return each user's sum of squared answers, each times its weight."""
    squares = rows.values**2 * (rows.weights if rows.weights.size else 1.0)
    n = len(rows.counts)
    return np.bincount(rows.owners(0, n), weights=squares, minlength=n).astype(np.float64)


@contextmanager
def gpu_group(cuda: Cuda, source: ChainSource, number: int) -> Iterator[GpuChains]:
    """Open as many chains as the GPU's memory holds; they start on the host, on all its threads."""
    with Threads(-1) as dealer:
        first = source.chain(number, dealer)
        if isinstance(first.kind, DrawnEvents):
            raise ParameterError("Of these draws there are none on a GPU. Leave 'execution' out.")
        n = min(fitting_chains(cuda, first), source.plan.n_chains - number)
        chains = [first, *(source.chain(number + k, dealer) for k in range(1, n))]
        states = started(chains, dealer)
    with cuda.guarded("Run fewer chains at once: execution=Cuda(memory=...) with less than is free."):
        yield GpuChains(cuda, chains, states)
