"""One model for many: the alternating descent, on the table that many models completed instead of on ratings.

Minimised is the mean over all cells of w_u w_i (theta_u . psi_i - T_ui)^2, with T the mean of what the models say. As
the table is complete, all items have one Gram matrix, G = sum_u w_u theta_u theta_u^T, and all users another; as T is a
product of two thin matrices, the linear terms are products of these. A sweep goes over no rating and makes no table.

The mean of products Theta_k X_k^T has the rank of all events together, and what matters of it far less. A few
products with random vectors find the part that matters (Halko, Martinsson and Tropp 2011); the table itself is never
made. Where products are ratings hidden behind yes and no, the mean of chances is no product: blocks of users are then
made one after another, and forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.descent.engine import Run, State
from kolmogorov.descent.half_step import ITEM_SIDE, USER_SIDE, solved_rows
from kolmogorov.descent.objective import Problem
from kolmogorov.descent.point import Sweep
from kolmogorov.descent.trained import NOISE, Counted, Factors
from kolmogorov.solvers import RowSolver

#: Columns of the two matrices, by judgement: what a model of 32 events is learned from changes no more beyond.
RANK = 160
#: Times that what was found is multiplied again, which lets what is small in the table fade; two are usual (Halko,
#: Martinsson and Tropp 2011).
_POWERS = 2


@dataclass(frozen=True, eq=False)
class Completion:
    """``left @ right.T`` is what models say of every user and item, on average."""

    left: Floats
    right: Floats

    @classmethod
    def of(cls, factors: Factors, rank: int = RANK) -> Completion:
        """Complete the table by some models.

        Exact where the table has no more than `rank` rows or columns, and to what lies beyond its leading `rank`
        singular values elsewhere.

        Examples
        --------
        >>> theta, psi = np.array([[[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]]), np.array([[[1.0, 0.0], [1.0, 1.0]]])
        >>> found = Completion.of(Factors(theta, psi))
        >>> (found.left @ found.right.T).round(6).tolist()
        [[0.5], [1.0]]
        """
        table = (_YesTable if factors.hidden else _MeanTable)(factors)
        n_users, n_items = table.shape
        if n_items <= rank:
            return cls(table.times(np.eye(n_items)), np.eye(n_items))
        if n_users <= rank:
            return cls(np.eye(n_users), table.transposed_times(np.eye(n_users)))
        found = table.times(np.random.default_rng(0).standard_normal((n_items, rank)))
        left, _ = np.linalg.qr(found)
        for _ in range(table.powers):
            right, _ = np.linalg.qr(table.transposed_times(left))
            left, _ = np.linalg.qr(table.times(right))
        return cls(left, table.transposed_times(left))

    def averaged(self, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Completion:
        """Let all users and items but these be average ones."""
        left, right = self.left.copy(), self.right.copy()
        left[~users], right[~items] = left[users].mean(axis=0), right[items].mean(axis=0)
        return Completion(left, right)

    def mean_square(self, user_weights: Floats, item_weights: Floats) -> float:
        """Return the weighted mean of the squares of all cells; weights sum to 1."""
        users = (self.left * user_weights[:, None]).T @ self.left
        items = (self.right * item_weights[:, None]).T @ self.right
        return float((users * items).sum())


class _MeanTable:
    """The table that models complete, multiplied with thin matrices but never made."""

    powers = _POWERS

    def __init__(self, factors: Factors) -> None:
        # The last row of either side stands for the unknown.
        self._theta, self._psi = factors.theta[:, :-1], factors.psi[:, :-1]
        self.shape = (self._theta.shape[1], self._psi.shape[1])

    def times(self, vectors: Floats) -> Floats:
        """Return the table times some columns, one entry for each item."""
        return self._multiplied(self._theta, self._psi, vectors)

    def transposed_times(self, vectors: Floats) -> Floats:
        """Return the transposed table times some columns, one entry for each user."""
        return self._multiplied(self._psi, self._theta, vectors)

    def _multiplied(self, outer: NDArray[np.floating], inner: NDArray[np.floating], vectors: Floats) -> Floats:
        total = np.zeros((outer.shape[1], vectors.shape[1]))
        for one, other in zip(outer, inner, strict=True):
            total += one.astype(np.float64) @ (other.astype(np.float64).T @ vectors)
        return total / len(outer)


class _YesTable(_MeanTable):
    """The same where each model says the chance of a yes: made for some users at a time."""

    #: Cells of the users that are made together: 16 MB.
    cells: ClassVar[int] = 1 << 21
    # Every pass goes through all cells of all models.
    powers = 0

    def times(self, vectors: Floats) -> Floats:
        """Return the table times some columns, one entry for each item."""
        return np.concatenate([block @ vectors for _, block in self._blocks()])

    def transposed_times(self, vectors: Floats) -> Floats:
        """Return the transposed table times some columns, one entry for each user."""
        return sum((block.T @ vectors[users] for users, block in self._blocks()), start=np.zeros(1))

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        n_users, n_items = self.shape
        some = max(1, self.cells // n_items)
        for first in range(0, n_users, some):
            users = slice(first, min(first + some, n_users))
            total = np.zeros((users.stop - first, n_items))
            for theta, psi in zip(self._theta, self._psi, strict=True):
                said = theta[users].astype(np.float32) @ psi.astype(np.float32).T
                total += ndtr((said - np.float32(0.5)) * np.float32(1.0 / np.sqrt(NOISE)))
            yield users, total / len(self._theta)


#: Ratings that every user and item counts as having beside its own (`benchmarks/one_model.py choices`, a split that is
#: not reported); nothing between 0 and 30 is much worse.
_EXTRA = 10.0
#: Dirichlet's parameters of a random start: users near a few events each; by judgement.
_START = 0.5
#: What is added to the diagonal of a Gram matrix, as a share of its trace, so that events that nobody has are decided:
#: far below what any cell weighs.
_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class CompletedTable:
    """What is learned from: a completed table, and what its rows and columns weigh.

    The weights of either side sum to 1, and are 0 for those without observations. The models that completed the table
    were learned from `training`.
    """

    completion: Completion
    user_weights: Floats
    item_weights: Floats
    training: Observations

    @classmethod
    def of(cls, drawn: Counted, factors: Factors, unobserved: float = 0.0) -> CompletedTable:
        """Let models complete the table that they were learned from.

        A cell weighs as much as it is likely to be asked for: its user's ratings times its item's. Where the
        unobserved counts as a no every cell is one that was observed, and weighs the same.
        """
        sides = ((drawn.user_counts, drawn.user_seen), (drawn.item_counts, drawn.item_seen))
        plain = [np.where(seen, 1.0 if unobserved else counts + _EXTRA, 0.0) for counts, seen in sides]
        users, items = (weights / weights.sum() for weights in plain)
        completion = Completion.of(factors).averaged(drawn.user_seen, drawn.item_seen)
        return cls(completion, users, items, drawn.training)


class CompletionEngine:
    """The `Engine` whose sweeps go over a completed table."""

    def __init__(self, problem: Problem, target: CompletedTable, dealer: Threads) -> None:
        self.problem = problem
        self._target, self._dealer = target, dealer
        self._square = target.completion.mean_square(target.user_weights, target.item_weights)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return len(self._target.user_weights), len(self._target.item_weights)

    @property
    def seen_users(self) -> NDArray[np.bool_]:
        """Which users weigh anything."""
        seen: NDArray[np.bool_] = self._target.user_weights > 0.0
        return seen

    def start(self, rng: np.random.Generator, n_events: int) -> State:
        """Draw users near a few events each; psi follows from them in the first half-step."""
        return self._from(rng.dirichlet(np.full(n_events, _START), size=self.shape[0]))

    def grouped_start(self, factors: Factors, n_events: int) -> Run[State]:
        """Start from the events of all models, similar ones gathered: a user's share of a group is that of its events.

        Events are similar whose columns of psi are, as far as they are part of the completed table.
        """
        theta, psi = factors.theta[:, :-1], factors.psi[:, :-1]
        basis, _ = np.linalg.qr(self._target.completion.right)
        columns = np.concatenate([draw.astype(np.float64).T @ basis for draw in psi])
        mass = np.concatenate([self._target.user_weights @ draw for draw in theta]) + 1e-12
        distinct = len(np.unique(columns.round(9), axis=0))
        # Sums of OpenMP depend on how many threads add them up.
        with threadpool_limits(1):
            found = KMeans(min(n_events, distinct), n_init=1, random_state=0).fit(columns, sample_weight=mass)
        groups = found.labels_
        gather = np.zeros((groups.size, n_events))
        gather[np.arange(groups.size), groups] = 1.0
        parts = gather.reshape(len(theta), -1, n_events)
        shares = sum((draw.astype(np.float64) @ part for draw, part in zip(theta, parts, strict=True)), start=0.0)
        return Run(self._from(shares / np.sum(shares, axis=1, keepdims=True)))

    def _from(self, theta: Floats) -> State:
        return State(theta, np.zeros((self.shape[1], theta.shape[1])), self._centre(theta))

    def _centre(self, theta: Floats) -> Floats:
        mean: Floats = theta[self.seen_users].mean(axis=0)
        return mean / mean.sum()

    def spread(self, state: State) -> State:
        """Take over a state; here it is one already."""
        return state

    def collect(self, state: State) -> State:
        """Return a state whose arrays are all here."""
        return state

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update every psi_i and every theta_u once; `index` counts from 1."""
        target, problem = self._target, self.problem
        table = target.completion
        began = time.perf_counter()
        gram, moment = _equations(state.theta, target.user_weights, table.left, table.right)
        seeds = row_seeds(seed, index, ITEM_SIDE, np.arange(len(moment)))
        psi, _ = self._solved(problem.item_solver, gram, moment, state.psi, seeds)
        between = time.perf_counter()
        gram, moment = _equations(psi, target.item_weights, table.right, table.left)
        seeds = row_seeds(seed, index, USER_SIDE, np.arange(len(moment)))
        theta, values = self._solved(problem.user_solver, gram, moment, state.theta, seeds)
        ended = time.perf_counter()
        distance = max(float(target.user_weights @ values) + self._square, 0.0)
        record = Sweep(index, distance, float(np.sqrt(distance)), ended - between, between - began)
        return State(theta, psi, self._centre(theta)), record

    def _solved(
        self, solver: RowSolver, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]
    ) -> tuple[Floats, Floats]:
        """Solve rows that share a Gram matrix; a row whose solver returns a worse point stays as it is."""
        size = len(gram)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            memory = self._dealer.scratch((last - first) * size * size).reshape(last - first, size, size)
            memory[:] = gram
            return memory, moment[first:last]

        return solved_rows(solver, equations, start, seeds, self._dealer)


def _equations(factors: Floats, weights: Floats, near: Floats, far: Floats) -> tuple[Floats, Floats]:
    """Return the Gram matrix that all rows of one side share, and their moments.

    Parameters
    ----------
    factors : float64[n, D]
        Of the other side.
    weights : float64[n]
    near, far : float64[n, R], float64[n_rows, R]
        The two matrices of the completed table.
    """
    weighted = factors * weights[:, None]
    gram = weighted.T @ factors
    gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram)
    moment: Floats = far @ (near.T @ weighted)
    return gram, moment
