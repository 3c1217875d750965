"""All chains at once on a GPU: rows are drawn there, the few numbers of the priors here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import View
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.execution import Cuda
from kolmogorov.fitting.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.device import function
from kolmogorov.sampling.chain import PRIORS, ChainState, Sample
from kolmogorov.sampling.emission import placed
from kolmogorov.sampling.grid import STEPS
from kolmogorov.sampling.levels import ROUNDS, USER_ROUNDS, GaussianLevelChain, corrected
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors import PRIOR_DRAWS
from kolmogorov.sampling.together import (
    Described,
    learned_values,
    located_users,
    redrawn_noise,
    stepped_concentration,
)

#: Side of the draws from the users' prior, beside those of users and items.
_PRIOR_SIDE = 4
#: Rows with more entries are summed by several warps.
_LONG, _WARPS = 512, 8
#: Sums over rows are made in so many parts at most, of so many rows at least.
_PARTS, _PART = 64, 128
#: Threads that share out sums.
_THREADS = 256
#: The most events: a row's equations lie in the memory that a block shares.
_MOST_EVENTS = 64


def check_on_device(plan: Plan) -> None:
    """Raise where chains of a kind are not drawn on a GPU."""
    if plan.kind is not GaussianLevelChain:
        found = "two levels" if plan.levels is None else f"likelihood '{plan.likelihood}'"
        raise ParameterError(
            f"On a GPU models are drawn with likelihood 'gaussian' and several levels, got {found}. "
            "Leave out 'execution', or set likelihood='gaussian' and levels='auto'."
        )
    if plan.n_events > _MOST_EVENTS:
        raise ParameterError(
            f"On a GPU models are drawn with at most {_MOST_EVENTS} events, got n_events={plan.n_events}."
        )


def fitting_chains(cuda: Cuda, chain: GaussianLevelChain) -> int:
    """Return how many chains the device's memory holds at once."""
    table, size, budget = chain.observations, chain.n_events, cuda.budget()
    fixed = 2 * 12 * len(table) + 4 * (chain.features.size + chain.item_features.size)
    n_features = 1 + max(chain.features.shape[1], chain.item_features.shape[1], size)
    own = 4 * size * table.n_users + 5 * size * table.n_items + 4 * table.n_users + 8 * size * n_features * (_PARTS + 4)
    count = (budget - fixed) // own
    if count < 1:
        raise ExecutionError(
            f"A chain of this table takes {(fixed + own) / 1e9:,.1f} GB of the GPU's memory, of which "
            f"{budget / 1e9:,.1f} GB may be used. Take fewer events (n_events), or leave out 'execution'."
        )
    return count


def _sent(cuda: Cuda, array: Any, kind: type = np.float32) -> Any:
    """Return a copy on the device, as kernels read it: row by row."""
    return cuda.cupy.asarray(np.ascontiguousarray(array, dtype=kind))


class _Side:
    """A view of the table on the device, and what is known of its rows."""

    def __init__(self, cuda: Cuda, view: View, unobserved: float, described: Described, partners: int) -> None:
        indptr, indices, values, weights = corrected(view, unobserved)
        self.indptr, self.indices = _sent(cuda, indptr, np.int64), _sent(cuda, indices, np.int32)
        self.values = _sent(cuda, values)
        self.weighted = bool(weights.size)
        self.weights = _sent(cuda, weights) if self.weighted else self.values
        self.described = described
        self.features, self.seen = _sent(cuda, described.features), _sent(cuda, described.seen)
        self.n_rows, self.n_partners = len(indptr) - 1, partners
        # Those that take longest begin first.
        order = np.argsort(-view.counts, kind="stable")
        n_long = int((view.counts > _LONG).sum())
        self.runs = [
            (_sent(cuda, rows, np.int32), warps)
            for rows, warps in ((order[:n_long], _WARPS), (order[n_long:], 1))
            if len(rows)
        ]

    @property
    def table(self) -> tuple[Any, ...]:
        """Arguments of a kernel: its entries."""
        return self.indptr, self.indices, self.values, self.weights

    @property
    def n_features(self) -> np.int32:
        return np.int32(self.features.shape[1])


class DeviceChains:
    """Several Gaussian chains of many-valued models on a GPU, swept in step.

    A chain's draws depend on its own seed and on the table. Its rows are drawn from the streams of a chain on threads,
    with sums in single precision: the draws of the two part after some sweeps, and are as good.

    Parameters
    ----------
    cuda : Cuda
    chains : list of GaussianLevelChain
        As they would run on threads; of one table.
    states : list of ChainState
        Where they are.
    """

    def __init__(self, cuda: Cuda, chains: list[GaussianLevelChain], states: list[ChainState]) -> None:
        self.cuda, self.chains = cuda, chains
        any_chain = chains[0]
        self.levels, self.unobserved, size = any_chain.levels, any_chain.unobserved, any_chain.n_events
        table = any_chain.observations
        described = Described.of(any_chain.item_features, any_chain.seen_items)
        self.items = _Side(cuda, table.columns, self.unobserved, described, table.n_users)
        described = Described.of(any_chain.features, any_chain.seen_users)
        self.users = _Side(cuda, table.rows, self.unobserved, described, table.n_items)
        self.size = size
        self.seeds = _sent(cuda, [chain.seed for chain in chains], np.uint64)
        self.grid, self.mass = _sent(cuda, self.levels, np.float64), _sent(cuda, any_chain.mass, np.float64)
        self.squares = _sent(cuda, _squares(table.rows), np.float64)
        self.who = _sent(cuda, np.resize(np.flatnonzero(any_chain.seen_users), PRIOR_DRAWS), np.int32)
        self._take_up(states)

    def __len__(self) -> int:
        return len(self.chains)

    def _take_up(self, states: list[ChainState]) -> None:
        cuda, psi = self.cuda, np.array([state.psi for state in states])
        self.codes, self.psi = _sent(cuda, placed(psi, self.levels), np.uint8), _sent(cuda, psi)
        self.theta = _sent(cuda, [state.theta for state in states])
        self.noise = _sent(cuda, [state.noise for state in states])
        self.prior_draws = _sent(cuda, [state.users.prior_draws for state in states])
        self.slopes = np.array([state.items.slopes for state in states])
        self.precision = np.array([state.items.precision for state in states])
        self.located = np.array([np.vstack([state.users.mean, state.users.slopes]) for state in states])
        self.concentration = np.array([state.users.concentration for state in states])
        self.scale = np.array([state.scale for state in states])
        self.shape = np.array([state.shape for state in states])
        self._given = states

    # --- one sweep ------------------------------------------------------------------------------------------------

    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw everything of every chain once; what `GaussianLevelChain.sweep` does."""
        self.chains[0].observations.check_intact()
        self._draw_values(index)
        self._draw_thetas(index)
        rngs = [generator(chain.seed, PRIORS, index) for chain in self.chains]
        rates = np.array([chain.noise_rate * chain.noise_shape for chain in self.chains]) / self.shape
        self.scale, self.shape = redrawn_noise(
            self.scale, self.shape, rates, self.users.n_rows, self._noise_sums(), rngs
        )
        if learning:
            self._learn(index, rngs)

    def _draw_values(self, index: int) -> None:
        items, cuda = self.items, self.cuda
        pull, tilt = _sent(cuda, self.precision, np.float64), _sent(cuda, self.slopes @ self.precision)
        # That all was said to be 0 by everyone, a little, is one more normal prior, around 0.
        part, theta = self.unobserved, self.theta
        whole = self._products(self.users, theta, theta, part, self.noise) if part else pull
        table = (*items.table, self.noise, self.theta, np.int64(items.n_partners), np.int64(items.n_rows))
        prior = (self.grid, items.features, items.n_features, tilt, pull, whole)
        rest = (np.int32(ROUNDS), self.seeds, np.int32(index), np.int32(ITEM_SIDE), self.codes, self.psi)
        self._draw("draw_values", items, (*table, *prior, *rest))

    def _draw_thetas(self, index: int) -> None:
        users, cuda = self.users, self.cuda
        whole = self._products(self.items, self.psi, self.psi, self.unobserved) if self.unobserved else self.mass
        pull, tilt = _sent(cuda, self.concentration, np.float64), self.concentration[:, None, None] * self.located
        table = (*users.table, self.psi, np.int64(users.n_partners), np.int64(users.n_rows))
        prior = (users.features, users.n_features, _sent(cuda, tilt), pull, whole, np.int32(USER_ROUNDS))
        noise = (self.squares, self.mass, _sent(cuda, self.scale, np.float64), _sent(cuda, self.shape, np.float64))
        rest = (self.seeds, np.int32(index), np.int32(USER_SIDE), self.theta, self.noise)
        self._draw("draw_thetas", users, (*table, *prior, *noise, *rest))

    def _draw(self, name: str, side: _Side, given: tuple[Any, ...]) -> None:
        n, size, n_levels = len(self.chains), self.size, len(self.levels)
        constants = {"D": size, "L": n_levels, "WEIGHTED": int(side.weighted), "WHOLE": int(self.unobserved > 0.0)}
        for rows, warps in side.runs:
            kernel = function("draws/values.cu", name, WARPS=warps, **constants)
            tiles = 4 * warps * (32 if size <= 32 else 4) * (size + 1)
            room = 8 * (size * size + 5 * size + n_levels) + tiles
            kernel((len(rows) * n,), (32 * warps,), (rows, np.int32(n), *given), shared_mem=room)

    def _noise_sums(self) -> Floats:
        xp, n = self.cuda.cupy, len(self.chains)
        sums = xp.empty((n, 2), dtype=np.float64)
        kernel = function("draws/sums.cu", "add_noise", D=self.size)
        kernel((n,), (_THREADS,), (self.noise, np.int64(self.users.n_rows), sums), shared_mem=16 * _THREADS)
        found: Floats = xp.asnumpy(sums)
        return found

    def _products(self, side: _Side, left: Any, right: Any, factor: float = 1.0, noise: Any = None) -> Any:
        """Return a factor times sums over a side's rows of products of rows; those of `left` may be the same for all.

        With `noise` each is divided by it and all rows count; without, those seen.
        """
        xp, n, n_left = self.cuda.cupy, len(self.chains), left.shape[-1]
        per = max(_PART, -(-side.n_rows // _PARTS))
        runs, size = -(-side.n_rows // per), n_left * self.size
        parts, out = xp.empty((n, runs, size), dtype=np.float64), xp.empty((n, n_left, self.size), dtype=np.float64)
        how = (np.int32(n_left), np.int32(left.ndim == 3), side.seen if noise is None else noise)
        given = (left, *how, np.int32(noise is not None), right, np.int64(side.n_rows), np.int32(runs), np.int64(per))
        function("draws/sums.cu", "add_products", D=self.size)((runs * n,), (_THREADS,), (*given, parts))
        function("draws/sums.cu", "add_parts", D=self.size)(
            (-(-size * n // _THREADS),),
            (_THREADS,),
            (parts, np.int32(n), np.int32(runs), np.int32(size), np.float64(factor), out),
        )
        return out

    def _learn(self, index: int, rngs: list[np.random.Generator]) -> None:
        """Learn the priors of both sides."""
        users, items, numpy = self.users, self.items, self.cuda.cupy.asnumpy
        of_users, of_items = (
            (numpy(self._products(side, side.features, right)), numpy(self._products(side, right, right)))
            for side, right in ((users, self.theta), (items, self.psi))
        )
        self.located = located_users(users.described, of_users[0])
        if self.chains[0].concentration is None:
            squares = np.trace(of_users[1], axis1=1, axis2=2)
            self.concentration = stepped_concentration(
                users.described, self.located, of_users[0], squares, self.concentration, self._distances(index)
            )
        self.slopes, self.precision = learned_values(items.described, *of_items, self.precision, rngs)

    def _distances(self, index: int) -> Floats:
        """Draw from the users' prior; return how far the draws are from their centres, squared."""
        users, xp, n, size = self.users, self.cuda.cupy, len(self.chains), self.size
        distance = xp.empty((n, PRIOR_DRAWS), dtype=np.float64)
        by, pull = _sent(self.cuda, self.located), _sent(self.cuda, self.concentration, np.float64)
        whose = (self.who, np.int32(n), np.int32(PRIOR_DRAWS), users.features, users.n_features, by)
        how = (
            pull,
            np.int32(USER_ROUNDS),
            self.seeds,
            np.int32(index),
            np.int32(_PRIOR_SIDE),
        )
        kernel = function("draws/gibbs.cu", "draw_simplex", D=size)
        room = 8 * (size * size + 3 * size)
        kernel((PRIOR_DRAWS * n,), (32,), (*whose, *how, self.prior_draws, distance), shared_mem=room)
        found: Floats = xp.asnumpy(distance)
        return found

    # --- what is kept ---------------------------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        """Return the models of the states."""
        xp, n_rows = self.cuda.cupy, len(self.chains) * self.users.n_rows
        on_grid = xp.empty(self.theta.shape, dtype=np.float32)
        kernel = function("draws/grid.cu", "put_on_grid", D=self.size)
        kernel((-(-n_rows // _THREADS),), (_THREADS,), (self.theta, np.int64(n_rows), np.float64(STEPS), on_grid))
        usual = np.sqrt(self.scale / self.shape)
        priors = zip(GaussianLevelChain.prior_names, (self.concentration, usual, self.shape), strict=True)
        numbers = {name: values.tolist() for name, values in priors}
        drawn = zip(*(xp.asnumpy(array).copy() for array in (on_grid, self.psi, self.noise)), strict=True)
        return [
            Sample(theta, psi, noise, {name: values[k] for name, values in numbers.items()})
            for k, (theta, psi, noise) in enumerate(drawn)
        ]

    def states(self) -> list[ChainState]:
        """Return the states as chains on threads have them."""
        numpy = self.cuda.cupy.asnumpy
        theta, noise = _on_simplex(numpy(self.theta)), numpy(self.noise).astype(np.float64)
        psi, drawn = self.levels[numpy(self.codes)], _on_simplex(numpy(self.prior_draws))
        return [
            replace(
                state,
                theta=theta[k],
                psi=psi[k],
                noise=noise[k],
                items=replace(state.items, slopes=self.slopes[k], precision=self.precision[k]),
                users=replace(
                    state.users,
                    mean=self.located[k, 0],
                    slopes=self.located[k, 1:],
                    concentration=float(self.concentration[k]),
                    prior_draws=drawn[k],
                ),
                scale=float(self.scale[k]),
                shape=float(self.shape[k]),
            )
            for k, state in enumerate(self._given)
        ]


def _on_simplex(theta: NDArray[np.float32]) -> Floats:
    wide = theta.astype(np.float64)
    total: Floats = wide / wide.sum(axis=-1, keepdims=True)
    return total


def _squares(rows: View) -> Floats:
    """Return each user's sum of squared answers, each times its weight."""
    squares = rows.values**2 * (rows.weights if rows.weights.size else 1.0)
    n = len(rows.counts)
    return np.bincount(rows.owners(0, n), weights=squares, minlength=n).astype(np.float64)
