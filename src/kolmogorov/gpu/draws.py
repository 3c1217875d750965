"""Chains on a GPU, as many at once as its memory holds: rows are drawn there, the few numbers of the priors here.

Priors of all chains are learned at once, from sums over their rows instead of from the rows themselves.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws import priors
from kolmogorov.draws.chain import HIDDEN, PRIORS, ROUNDS, Chain, ChainState, Sample
from kolmogorov.draws.likelihood import USER_ROUNDS, corrected
from kolmogorov.draws.plan import Plan, nearest, on_grid
from kolmogorov.gpu.cuda import Cuda

# Numbers by judgement.
#: Rows with more entries are drawn by several warps.
LONG, _WARPS = 512, 8
#: Rows that are summed over in a first step, and bytes of normal equations that are solved at once.
_RUN, _SUMMED = 1 << 10, 1 << 27
#: Threads of a block that draw the ratings of a row.
_THREADS = 256
#: Side of the draws from theta's prior, beside those of users and items.
_PRIOR_SIDE = 4


def sent(cuda: Cuda, array: Any, kind: type = np.float32) -> Any:
    """Return a copy on the GPU, as kernels read it: row by row."""
    return cuda.cupy.asarray(np.ascontiguousarray(array, dtype=kind))


class ChainSide:
    """The entries of a table by users or by items on the GPU, and what is known of its rows.

    The first of the features is 1, the last are `blocks` of attributes. Of the rows that were `seen`, from which priors
    are learned, `gram` sums the products of features.
    """

    def __init__(
        self, cuda: Cuda, entries: tuple[Any, ...], features: Floats, seen: NDArray[np.bool_], blocks: priors.Blocks
    ) -> None:
        indptr, indices, answers, weights = entries
        self.indptr, self.indices = sent(cuda, indptr, np.int64), sent(cuda, indices, np.int32)
        self.answers, self.apart = sent(cuda, answers), 0
        self.weighted = bool(weights.size)
        # Where there are none, a kernel does not look at them.
        self.weights = sent(cuda, weights) if self.weighted else self.answers
        self.known, self.blocks, self.n_seen = priors.with_ones(features).astype(np.float32), blocks, int(seen.sum())
        self.features, self.seen = sent(cuda, self.known), sent(cuda, seen, np.float64)
        known = self.known[seen].astype(np.float64)
        self.gram = known.T @ known
        counts = np.diff(indptr)
        self.n_rows, self.n_entries = len(counts), int(indptr[-1])
        # Those that take longest begin first.
        order, n_long = np.argsort(-counts, kind="stable"), int((counts > LONG).sum())
        runs = ((order[:n_long], _WARPS), (order[n_long:], 1))
        self.runs = [(sent(cuda, rows, np.int32), warps) for rows, warps in runs if len(rows)]

    @property
    def table(self) -> tuple[Any, ...]:
        """Arguments of a kernel: the entries, and how far the answers of a chain are from those of the next."""
        return self.indptr, self.indices, self.answers, np.int64(self.apart), self.weights


class GpuChains:
    """Several chains of one table on a GPU, swept in step.

    Rows are drawn from the streams of chains on threads, with sums over entries in single precision: the draws of the
    two part after some sweeps, and are as good. A chain's draws depend on its own seed and on the table, not on the
    others.
    """

    def __init__(self, cuda: Cuda, chains: list[Chain], states: list[ChainState]) -> None:
        self.cuda, self.chains = cuda, chains
        first = chains[0]
        table, known = first.observations, first.features
        self.unobserved, self.hidden = first.unobserved, first.kind.hidden
        self.levels, self.size = first.levels, first.n_events
        rows, columns = (corrected(view, self.unobserved) for view in (table.rows, table.columns))
        self.users = ChainSide(cuda, rows, known.users, first.seen_users, known.user_blocks)
        self.items = ChainSide(cuda, columns, known.items, first.seen_items, known.item_blocks)
        self.seeds = sent(cuda, [chain.seed for chain in chains], np.uint64)
        self.position = sent(cuda, self.levels, np.float64)
        # Each user's sum of squared answers, each times its weight.
        mass = table.rows.weights if table.rows.weights.size else 1.0
        squares = np.bincount(table.user_rows(), weights=table.values**2 * mass, minlength=table.n_users)
        self.mass, self.squares = sent(cuda, first.mass, np.float64), sent(cuda, squares, np.float64)
        self.who = np.resize(np.flatnonzero(first.seen_users), priors.PRIOR_DRAWS)
        if self.hidden:
            by_items = first.by_items
            place = np.empty(len(by_items), dtype=np.int32)
            place[by_items] = np.arange(len(by_items))
            self.place, self.told = sent(cuda, place, np.int32), self.users.answers
            for side in (self.users, self.items):
                # Hidden ratings are each chain's own.
                side.apart = max(1, side.n_entries)
                side.answers = cuda.cupy.empty((len(chains), side.apart), dtype=np.float32)
        self.take(states)

    def take(self, states: list[ChainState]) -> None:
        """Go on from some states."""
        cuda = self.cuda
        self.codes = sent(cuda, nearest(np.array([state.psi for state in states]), self.levels), np.uint8)
        self.psi = sent(cuda, self.levels[cuda.cupy.asnumpy(self.codes)])
        self.theta = sent(cuda, [state.theta for state in states])
        self.noise = sent(cuda, [state.noise for state in states])
        self.slopes = np.array([state.psi_prior.slopes for state in states])
        self.precision = np.array([state.psi_prior.precision for state in states])
        of_thetas: list[Any] = [state.theta_prior for state in states]
        self.prior_draws = sent(cuda, [prior.prior_draws for prior in of_thetas])
        self.located = np.array([np.vstack([prior.mean, prior.slopes]) for prior in of_thetas])
        self.concentration = np.array([prior.concentration for prior in of_thetas])
        self.scale, self.shape = (np.array([getattr(s, name) for s in states]) for name in ("scale", "shape"))

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
            self.draw_answers(index, self.seeds)
        self.draw_psis(index)
        self.draw_thetas(index)
        rngs = [generator(chain.seed, PRIORS, index) for chain in self.chains]
        if not self.hidden:
            self.draw_noise_priors(rngs)
        if learning:
            self.learn(index, rngs)

    def draw_answers(self, index: int, seeds: Any) -> None:
        """Draw the ratings behind all answers."""
        users, items = self.users, self.items
        given = (np.int32(len(self)), users.indptr, users.indices, self.told, users.weights, self.theta, self.psi)
        sizes = (np.int64(users.n_rows), np.int64(items.n_rows), np.int64(users.apart), self.place)
        when = (seeds, np.int32(index), np.int32(HIDDEN + USER_SIDE))
        kernel = self.kernel("draw_hidden", users, 1)
        kernel((users.n_rows * len(self),), (_THREADS,), (*given, *sizes, *when, users.answers, items.answers))

    def draw_psis(self, index: int) -> None:
        """Draw the psi of every item."""
        items, cuda, theta = self.items, self.cuda, self.theta
        pull, tilt = sent(cuda, self.precision, np.float64), sent(cuda, self.slopes @ self.precision)
        # That all was said to be 0 by everyone, a little, is one more normal prior, around 0.
        whole = self.unobserved * self.products(theta, theta, 1.0 / self.noise) if self.unobserved else pull
        partners = (self.noise, theta, np.int64(self.users.n_rows), np.int64(items.n_rows))
        prior = (self.position, items.features, np.int32(items.features.shape[1]), tilt, pull, whole)
        rest = (np.int32(ROUNDS), self.seeds, np.int32(index), np.int32(ITEM_SIDE), self.codes, self.psi)
        for rows, warps in items.runs:
            self._draw("draw_psis", items, rows, warps, (*items.table, *partners, *prior, *rest))

    def draw_thetas(self, index: int) -> None:
        """Draw the theta of every user, then its noise."""
        users, psi, noisy = self.users, self.psi, np.int32(not self.hidden)
        whole = self.unobserved * self.products(psi, psi, self.items.seen) if self.unobserved else self.mass
        given = (users.features, np.int32(users.features.shape[1]), *self._theta_prior(), whole, np.int32(USER_ROUNDS))
        variance = (self.squares, self.mass, sent(self.cuda, self.scale, np.float64))
        noise = (noisy, *variance, sent(self.cuda, self.shape, np.float64))
        rest = (self.seeds, np.int32(index), np.int32(USER_SIDE), self.theta, self.noise)
        table = (*users.table, psi, np.int64(self.items.n_rows), np.int64(users.n_rows))
        for rows, warps in users.runs:
            self._draw("draw_thetas", users, rows, warps, (*table, *given, *noise, *rest))

    def _theta_prior(self) -> tuple[Any, Any]:
        """Return what features are multiplied with, and the concentrations."""
        tilt = self.concentration[:, None, None] * self.located
        return sent(self.cuda, tilt), sent(self.cuda, self.concentration, np.float64)

    def _draw(self, name: str, side: ChainSide, rows: Any, warps: int, given: tuple[Any, ...]) -> None:
        """Draw some rows of all chains."""
        room = 8 * (self.size * self.size + 5 * self.size + len(self.levels)) + self.tiles(warps)
        kernel = self.kernel(name, side, warps)
        kernel((len(rows) * len(self),), (32 * warps,), (rows, np.int32(len(self)), *given), shared_mem=room)

    def summed(self, side: ChainSide, factors: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield some rows of a side, and their normal equations given factors of their partners, of all chains."""
        n, size, empty = len(self), self.size, self.cuda.cupy.empty
        some = max(1, _SUMMED // (8 * n * size * (size + 1)))
        for every, warps in side.runs:
            kernel = self.kernel("sum_rows", side, warps)
            for first in range(0, len(every), some):
                rows = every[first : first + some]
                gram, moment = empty((n, len(rows), size, size)), empty((n, len(rows), size))
                given = (rows, np.int32(n), *side.table, factors, np.int64(factors.shape[1]), gram, moment)
                kernel((len(rows) * n,), (32 * warps,), given, shared_mem=self.tiles(warps))
                yield rows, gram, moment

    def tiles(self, warps: int) -> int:
        """Return the bytes that a block of so many warps shares of the entries of a row."""
        return warps * 4 * (32 if self.size <= 32 else 4) * (self.size + 1)

    def kernel(self, name: str, side: ChainSide, warps: int) -> Any:
        """Return a kernel for the number of events, and rows of one side."""
        flags = {"WEIGHTED": int(side.weighted), "WHOLE": int(self.unobserved > 0.0)}
        return self.cuda.kernel("chains.cu", name, D=self.size, L=len(self.levels), WARPS=warps, **flags)

    # --- priors ---------------------------------------------------------------------------------------------------

    def draw_noise_priors(self, rngs: Sequence[np.random.Generator]) -> None:
        """Draw what the variances of the noise lie around, and how far from it."""
        xp, noise, n_users = self.cuda.cupy, self.noise.astype(np.float64), self.users.n_rows
        sums = xp.asnumpy(xp.stack([xp.log(noise).sum(axis=1), (1.0 / noise).sum(axis=1)], axis=1))
        for k, (chain, rng) in enumerate(zip(self.chains, rngs, strict=True)):
            rate = chain.noise_rate * chain.noise_shape / self.shape[k]
            logs, inverses = sums[k].tolist()
            self.scale[k], self.shape[k] = priors.redrawn_noise_prior(self.shape[k], rate, n_users, logs, inverses, rng)

    def learn(self, index: int, rngs: Sequence[np.random.Generator]) -> None:
        """Learn the priors of both sides."""
        users, numpy = self.users, self.cuda.cupy.asnumpy
        cross = numpy(self.products(users.features, self.theta, users.seen))
        squares = np.trace(numpy(self.products(self.theta, self.theta, users.seen)), axis1=1, axis2=2)
        by = self.located = self._located(cross, squares)
        # As `ThetaPrior.stepped` does.
        found = squares - 2.0 * (by * cross).sum(axis=(1, 2)) + (by * (users.gram @ by)).sum(axis=(1, 2))
        usual, n = self._distances(index), users.n_seen
        told = np.column_stack([found / n, usual.mean(axis=1), usual.var(axis=1)]).tolist()
        pulls = zip(self.concentration.tolist(), told, strict=True)
        self.concentration = np.array([priors.scored(pull, n, *rest) for pull, rest in pulls])
        self.learn_psi_priors(rngs, self.chains[0].kind.psi_variance)

    def _located(self, cross: Floats, squares: Floats) -> Floats:
        """Return mean and slopes of theta's priors as `ThetaPrior.fitted` has them; float64[C, k, D].

        They are fitted to sums of features times thetas; `squares` are the sums of squares of thetas.
        """
        users, gram = self.users, self.users.gram[1:, 1:]
        mean = cross[:, :1] / users.n_seen
        if not gram.size:
            return mean
        about = cross[:, 1:] - users.gram[1:, :1] * mean
        total = squares - users.n_seen * (mean**2).sum(axis=(1, 2))
        if self.unobserved:
            slopes = np.linalg.inv(gram + priors.PATTERN_RIDGE * np.eye(len(gram))) @ about
        elif users.blocks:
            given = (users.n_seen, users.blocks)
            slopes = np.array([priors.shrunk_slopes(gram, *own, *given)[0] for own in zip(about, total, strict=True)])
        else:
            # All chains have the same features, so that one turn of the axes makes every system diagonal.
            lengths, axes = np.linalg.eigh(gram)
            turned, size, ridge = axes.T @ about, about.shape[2], np.full(len(about), priors.PATTERN_RIDGE)
            for _ in range(priors.ROUNDS):
                inverse = 1.0 / (lengths + ridge[:, None])
                slopes = inverse[:, :, None] * turned
                variance = np.maximum(total - (slopes * turned).sum(axis=(1, 2)), priors.TINY) / (users.n_seen * size)
                determined = about[0].size - ridge * size * inverse.sum(axis=1)
                ridge = (1.0 + determined) / (1.0 / priors.PATTERN_RIDGE + (slopes**2).sum(axis=(1, 2)) / variance)
            slopes = axes @ slopes
        return np.concatenate([mean, slopes], axis=1)

    def _distances(self, index: int) -> Floats:
        """Draw from theta's prior, as of users without entries; return how far from their centres, squared."""
        cuda, n = self.cuda, len(self)
        features = self.users.known[self.who]
        nobody, zeros = (
            sent(cuda, np.arange(priors.PRIOR_DRAWS), np.int32),
            sent(cuda, np.zeros(priors.PRIOR_DRAWS + 1), np.int64),
        )
        table = (zeros, *self.users.table[1:], self.psi, np.int64(self.items.n_rows), np.int64(priors.PRIOR_DRAWS))
        none = sent(cuda, np.zeros((n, self.size, self.size)), np.float64)
        given = (sent(cuda, features), np.int32(features.shape[1]), *self._theta_prior(), none, np.int32(USER_ROUNDS))
        unused = (np.int32(0), self.squares, self.mass, self.mass, self.mass)
        ones = sent(cuda, np.ones((n, priors.PRIOR_DRAWS)))
        rest = (self.seeds, np.int32(index), np.int32(_PRIOR_SIDE), self.prior_draws, ones)
        self._draw("draw_thetas", self.users, nobody, 1, (*table, *given, *unused, *rest))
        found: Floats = ((cuda.cupy.asnumpy(self.prior_draws) - features @ self.located) ** 2).sum(axis=2)
        return found

    def learn_psi_priors(self, rngs: Sequence[np.random.Generator], variance: float) -> None:
        """Draw slopes and precisions of psi's priors; what `PsiPrior.learned` draws from the same generators."""
        items, psi, numpy, size = self.items, self.psi, self.cuda.cupy.asnumpy, self.size
        cross, square = (numpy(self.products(left, psi, items.seen)) for left in (items.features, psi))
        before = zip(self.slopes, self.precision, rngs, strict=True)
        ridges = np.array([np.diag(priors.drawn_shrinkage(*given, items.blocks)) for given in before])
        freedom = size + priors.FREEDOM + items.n_seen - np.arange(size)
        drawn = [
            (rng.standard_normal(cross.shape[1:]), rng.standard_normal((size, size)), rng.chisquare(freedom))
            for rng in rngs
        ]
        noise, normals, chisquares = (np.array(part) for part in zip(*drawn, strict=True))
        spread, columns = np.linalg.inv(items.gram + ridges), np.linalg.cholesky(np.linalg.inv(self.precision))
        slopes = spread @ cross + np.linalg.cholesky(spread) @ noise @ columns.mT
        fitted = slopes.mT @ cross
        left = square - fitted - fitted.mT + slopes.mT @ items.gram @ slopes
        scatter = variance * size * np.eye(size) + (left + left.mT) / 2.0
        root = np.linalg.cholesky(np.linalg.inv(scatter)) @ priors.bartlett(normals, chisquares)
        found = root @ root.mT
        self.slopes, self.precision = slopes, (found + found.mT) / 2.0

    def products(self, left: Any, right: Any, weight: Any) -> Any:
        """Return sums over rows of a weight times products of rows; `left` and `weight` may be the same for all."""
        xp, even = self.cuda.cupy, right.shape[1] // _RUN * _RUN
        left, right = left.astype(np.float64) * weight[..., None], right.astype(np.float64)

        def product(rows: slice, *run: int) -> Any:
            a, b = (array[..., rows, :].reshape(*array.shape[:-2], *run, array.shape[-1]) for array in (left, right))
            return xp.matmul(xp.swapaxes(a, -1, -2), b)

        # Of many rows in two steps, of which the first has work for the whole GPU.
        return product(slice(even), even // _RUN, _RUN).sum(axis=1) + product(slice(even, None), right.shape[1] - even)

    def kept(self) -> list[Sample]:
        """Return the models of the states."""
        xp, theta = self.cuda.cupy, self.theta.astype(np.float64)
        theta /= theta.sum(axis=2, keepdims=True)
        thetas = xp.asnumpy(on_grid(theta.reshape(-1, self.size)).reshape(theta.shape))
        psis, noise = self.levels.astype(np.float32)[xp.asnumpy(self.codes)], xp.asnumpy(self.noise).copy()
        numbers = {"concentration": self.concentration}
        if not self.hidden:
            numbers |= {"noise": np.sqrt(self.scale / self.shape), "noise_shape": self.shape}
        drawn = [{name: float(values[k]) for name, values in numbers.items()} for k in range(len(self))]
        return [Sample(*model) for model in zip(thetas, psis, noise, drawn, strict=True)]
