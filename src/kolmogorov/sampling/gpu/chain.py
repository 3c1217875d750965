"""Chains on a GPU, all at once: rows are drawn there, the few numbers of the priors here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.execution import Cuda
from kolmogorov.fitted.fixed_point import STEPS
from kolmogorov.kernels.gpu import function
from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.running import swept
from kolmogorov.sampling.chains.state import ChainState, Sample
from kolmogorov.sampling.gpu.priors import Described, Generators, learned_psi_priors
from kolmogorov.sampling.plan import Plan

#: Rows with more entries are drawn by several warps. By judgement.
LONG, _WARPS = 512, 8
#: Sums over rows are made in so many parts at most, of so many rows at least. By judgement.
_PARTS, _PART = 64, 128
#: Threads that share out sums.
THREADS = 256
#: The most events: a row's equations lie in the memory that a block shares.
_MOST_EVENTS = 64

AnyChain = TypeVar("AnyChain", bound=Chain)


def fitting_chains(cuda: Cuda, chain: Chain, per_entry: int) -> int:
    """Return how many chains the GPU's memory holds at once, each with so many bytes of scratch for an entry."""
    if chain.n_events > _MOST_EVENTS:
        raise ParameterError(
            f"On a GPU models are drawn with at most {_MOST_EVENTS} events, got n_events={chain.n_events}."
        )
    table, size, budget = chain.observations, chain.n_events, cuda.budget()
    features = chain.features
    fixed = 2 * 12 * len(table) + 4 * (features.users.size + features.items.size)
    n_features = 1 + max(features.users.shape[1], features.items.shape[1], size)
    rows = 8 * size * table.n_users + 5 * size * table.n_items + 4 * table.n_users
    own = rows + 8 * size * n_features * (_PARTS + 4) + per_entry * len(table)
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

    def __init__(self, cuda: Cuda, entries: tuple[Any, ...], kind: type, described: Described) -> None:
        indptr, indices, answers, weights = entries
        self.indptr, self.indices = sent(cuda, indptr, np.int64), sent(cuda, indices, np.int32)
        self.answers = sent(cuda, answers, kind)
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


class GpuChains(ABC, Generic[AnyChain]):
    """Several chains on a GPU, swept in step.

    They are of one table, as they would run on threads. A chain's draws depend on its own seed and on the table, not on
    the others.
    """

    #: What an answer is there.
    answer_kind: type = np.float32
    #: Bytes of scratch for an entry of a chain.
    scratch_bytes = 0
    unseen = False

    def __init__(self, cuda: Cuda, chains: list[AnyChain], states: list[ChainState]) -> None:
        self.cuda, self.chains, self._given = cuda, chains, states
        # Of a kind of chain's own kernels.
        self.constants: dict[str, int] = {}
        any_chain = chains[0]
        self.levels, self.size = any_chain.levels, any_chain.n_events
        table = any_chain.observations
        known = any_chain.features
        self.items, self.users = (
            ChainSide(cuda, self.entries(view), self.answer_kind, Described.of(*described))
            for view, described in (
                (table.columns, (known.items, any_chain.seen_items, known.item_blocks)),
                (table.rows, (known.users, any_chain.seen_users, known.user_blocks)),
            )
        )
        self.seeds = sent(cuda, [chain.seed for chain in chains], np.uint64)
        self.codes = sent(cuda, nearest(np.array([state.psi for state in states]), self.levels), np.uint8)
        # The levels themselves, or where they stand in psi's prior.
        self.position = sent(cuda, self.positions, np.float64)
        self.psi = sent(cuda, self.positions[cuda.cupy.asnumpy(self.codes)])
        self.theta = sent(cuda, [state.theta for state in states])
        self.noise = sent(cuda, [state.noise for state in states])
        self.slopes = np.array([state.psi_prior.slopes for state in states])
        self.precision = np.array([state.psi_prior.precision for state in states])

    def __len__(self) -> int:
        return len(self.chains)

    @property
    def positions(self) -> Floats:
        """Where levels stand in psi's normal prior."""
        return self.levels

    @abstractmethod
    def entries(self, view: View) -> tuple[Any, ...]:
        """Return where rows begin, partners, answers and weights."""

    @abstractmethod
    def sweep(self, index: int, *, learning: bool) -> None:
        """Draw everything of every chain once; what their `sweep` does on threads."""

    def run(self, sweeps: range, plan: Plan) -> list[list[Sample]]:
        """Go through some sweeps; return, for each that the plan keeps, the models of all chains."""
        return swept(self, sweeps, plan)

    # --- kernels --------------------------------------------------------------------------------------------------

    def kernel(self, path: str, name: str, **constants: int) -> Any:
        """Return a kernel for the number of events."""
        return function(path, name, D=self.size, **constants)

    def launch(self, path: str, name: str, side: ChainSide, given: tuple[Any, ...], room: Callable[[int], int]) -> None:
        """Draw all rows of a side; `room` is the shared memory of a block of so many warps."""
        n = len(self)
        for rows, warps in side.runs:
            sizes = {"WARPS": warps, "L": len(self.levels), "WEIGHTED": int(side.weighted)}
            kernel = self.kernel(path, name, **sizes, **self.constants)
            kernel((len(rows) * n,), (32 * warps,), (rows, np.int32(n), *given), shared_mem=room(warps))

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
        self.kernel("draws/sums.cu", "add_products")((runs * n,), (THREADS,), (*given, parts))
        sizes = (np.int32(n), np.int32(runs), np.int32(size), np.float64(factor))
        self.kernel("draws/sums.cu", "add_parts")((-(-size * n // THREADS),), (THREADS,), (parts, *sizes, out))
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

    @abstractmethod
    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the priors that draws come with, one of each chain."""

    @abstractmethod
    def priors_of(self, k: int) -> dict[str, Any]:
        """Return what a state has of a kind of chain's own priors."""

    def kept(self) -> list[Sample]:
        """Return the models of the states."""
        xp, n_rows = self.cuda.cupy, len(self) * self.users.n_rows
        on_grid = xp.empty(self.theta.shape, dtype=np.float32)
        kernel = self.kernel("draws/grid.cu", "put_on_grid")
        kernel((-(-n_rows // THREADS),), (THREADS,), (self.theta, np.int64(n_rows), np.float64(STEPS), on_grid))
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
                **self.priors_of(k),
            )
            for k, state in enumerate(self._given)
        ]


def on_simplex(theta: NDArray[np.float32]) -> Floats:
    """Return distributions in double precision, whose sums are 1 there too."""
    wide = theta.astype(np.float64)
    total: Floats = wide / wide.sum(axis=-1, keepdims=True)
    return total
