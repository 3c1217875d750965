"""From many models to one: the table that they complete, the alternating descent over it, and what new rows heed.

Minimised is the mean over all cells of w_u w_i (theta_u . psi_i - T_ui)^2, with T the mean of what the models say. As
the table is complete, all items have one Gram matrix, G = sum_u w_u theta_u theta_u^T, and all users another; as T is a
product of two thin matrices, the linear terms are products of these. A sweep goes over no rating and makes no table.

The mean of products Theta_k X_k^T has the rank of all events together, and what matters of it far less. A few
products with random vectors find the part that matters (Halko, Martinsson and Tropp 2011); the table itself is never
made. Where products are ratings hidden behind yes and no, the mean of chances is no product: cells are then computed
one by one, of a large table those of some users and of some items, whose columns and rows span the others.

Nobody tells such a model how strongly a new user is to be drawn to the population. The users that it knows do: placed
again from their own ratings, as if they were new, they should come out where they are. The pull is the one under
which they do so best; likewise for items.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.attributes import Attributed, placing_of
from kolmogorov.descent.engine import Engine, Run, Search, State, Sweep, solved_rows
from kolmogorov.descent.fitted import NOISE, Factors, Fitted, Pull, item_counts
from kolmogorov.descent.placing import placed
from kolmogorov.descent.problem import EXTRA_RATINGS, ITEM_SIDE, SAMPLE, USER_SIDE, Problem
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.solvers.flips import EXACT_LIMIT
from kolmogorov.solvers.registry import usual

if TYPE_CHECKING:
    from kolmogorov.descent.implicit import AveragedDescents
    from kolmogorov.draws.posterior import Posterior

    Many = Posterior | AveragedDescents

# --- the completed table ----------------------------------------------------------------------------------------------

#: Columns of the two matrices, by judgement: what a model of 32 events is learned from changes no more beyond.
RANK = 160
#: Times that what was found is multiplied again, which lets what is small in the table fade; two are usual (Halko,
#: Martinsson and Tropp 2011). Where cells are computed one by one none, since each takes all of them.
_POWERS = 2
#: Chances of a yes that are computed together, 1 MB, as a processor's cache holds; and the largest table of which all
#: are computed: 128 MB. By judgement.
_BLOCK, CELLS = 1 << 17, 1 << 24


@dataclass(frozen=True, eq=False)
class CompletedTable:
    """``left @ right.T``, what models say of every user and item, and what users and items weigh.

    The weights of either side sum to 1, and are 0 for those without observations.
    """

    left: Floats
    right: Floats
    user_weights: Floats
    item_weights: Floats

    @classmethod
    def of(cls, drawn: Many, dealer: Threads) -> CompletedTable:
        """Let models complete the table that they were learned from; users and items without observations are average.

        A cell weighs as much as it is likely to be asked for: its user's ratings times its item's. Where the
        unobserved counts as a no every cell is one that was observed, and weighs the same.
        """
        found, weights = [], []
        sides = drawn.training.rows.counts, item_counts(drawn.training)
        for side, counts in zip(completion(drawn.factors, dealer), sides, strict=True):
            side, seen = side.copy(), counts > 0
            side[~seen] = side[seen].mean(axis=0)
            plain = np.where(seen, 1.0 if drawn.unobserved else counts + EXTRA_RATINGS, 0.0)
            found.append(side)
            weights.append(plain / plain.sum())
        return cls(*found, *weights)

    @property
    def square(self) -> float:
        """The weighted mean of the squares of all cells."""
        users = (self.left * self.user_weights[:, None]).T @ self.left
        items = (self.right * self.item_weights[:, None]).T @ self.right
        return float((users * items).sum())


def completion(factors: Factors, dealer: Threads, rank: int = RANK) -> tuple[Floats, Floats]:
    """Return two matrices whose product is what some models say of every user and item, on average.

    Exact where the table has no more than `rank` rows or columns, and to what lies beyond its leading `rank` singular
    values elsewhere.

    Examples
    --------
    >>> theta, psi = np.array([[[0.5, 0.5], [1.0, 0.0]]]), np.array([[[1.0, 0.0]]])
    >>> left, right = completion(Factors(theta, psi), Threads(1))
    >>> (left @ right.T).round(6).tolist()
    [[0.5], [1.0]]
    """
    theta, psi = factors.theta, factors.psi
    n_users, n_items = theta.shape[1], psi.shape[1]
    if factors.hidden and min(n_users, n_items) > rank and n_users * n_items > CELLS:
        return _spanned(theta, psi, dealer, rank)
    whole = _chances(theta, psi, dealer) if factors.hidden else None

    def times(outer: NDArray[np.floating], inner: NDArray[np.floating], vectors: Floats) -> Floats:
        """Return the table of two sides times some columns, one entry for each row of the inner side."""
        if whole is not None:
            found: Floats = (whole if outer is theta else whole.T) @ vectors
            return found
        total = np.zeros((outer.shape[1], vectors.shape[1]))
        for one, other in zip(outer, inner, strict=True):
            total += one.astype(np.float64) @ (other.astype(np.float64).T @ vectors)
        return total / len(outer)

    if n_items <= rank:
        return times(theta, psi, np.eye(n_items)), np.eye(n_items)
    if n_users <= rank:
        return np.eye(n_users), times(psi, theta, np.eye(n_users))
    left, _ = np.linalg.qr(times(theta, psi, np.random.default_rng(0).standard_normal((n_items, rank))))
    for _ in range(0 if factors.hidden else _POWERS):
        right, _ = np.linalg.qr(times(psi, theta, left))
        left, _ = np.linalg.qr(times(theta, psi, right))
    return left, times(psi, theta, left)


def _spanned(
    theta: NDArray[np.floating], psi: NDArray[np.floating], dealer: Threads, rank: int
) -> tuple[Floats, Floats]:
    """Return the same of chances of a yes in a large table, of which only some columns and some rows are computed.

    The leading sums of the columns of some items, which some users tell, span what matters of all columns. Each column
    is then the sum of these that comes nearest at some users, who are drawn by how much they tell of it, and weighed so
    that they stand for all.
    """
    rng, n_users, n_items = np.random.default_rng(0), theta.shape[1], psi.shape[1]
    users, items = (np.sort(rng.choice(n, min(SAMPLE, n), replace=False)) for n in (n_users, n_items))
    _, _, sums = np.linalg.svd(_chances(theta[:, users], psi[:, items], dealer), full_matrices=False)
    left, _ = np.linalg.qr(_chances(theta, psi[:, items], dealer, sums[:rank].T))
    share = 0.5 / n_users + 0.5 * (left**2).sum(axis=1) / rank
    users = np.sort(rng.choice(n_users, min(SAMPLE, n_users), replace=False, p=share / share.sum()))
    weights = 1.0 / np.sqrt(share[users, None])
    return left, _chances(psi, theta[:, users], dealer, np.linalg.pinv(weights * left[users], 1e-6).T * weights)


def _chances(
    outer: NDArray[np.floating], inner: NDArray[np.floating], dealer: Threads, sums: Floats | None = None
) -> Floats:
    """Return the mean chance of a yes for every row of two sides, or sums of them over the inner side."""
    n, m = outer.shape[1], inner.shape[1]
    found = np.empty((n, m if sums is None else sums.shape[1]))
    some = max(1, _BLOCK // m)

    def blocks(first: int, last: int) -> None:
        for start in range(first * some, min(last * some, n), some):
            rows = slice(start, min(start + some, n))
            total = np.zeros((rows.stop - start, m))
            for one, other in zip(outer, inner, strict=True):
                said = one[rows].astype(np.float32) @ other.astype(np.float32).T
                total += ndtr((said - np.float32(0.5)) * np.float32(1.0 / np.sqrt(NOISE)))
            total /= len(outer)
            found[rows] = total if sums is None else total @ sums

    # Blocks are the same on any number of threads.
    dealer.deal(blocks, -(-n // some), _BLOCK)
    return found


# --- the descent over it ----------------------------------------------------------------------------------------------

#: Dirichlet's parameters of a random start: users near a few events each; by judgement.
_START = 0.5
#: What is added to the diagonal of a Gram matrix, as a share of its trace, so that events that nobody has are decided:
#: far below what any cell weighs.
_RIDGE = 1e-9


class CompletionEngine(Engine):
    """The engine whose sweeps go over a completed table. Of its problem the row solvers are used, and no ridge."""

    def __init__(self, problem: Problem, target: CompletedTable, dealer: Threads) -> None:
        self.problem = problem
        self.shape = len(target.user_weights), len(target.item_weights)
        self.seen_users = target.user_weights > 0.0
        self._target, self._dealer, self._square = target, dealer, target.square

    def start(self, rng: np.random.Generator, n_events: int) -> State:
        """Draw users near a few events each; psi follows from them in the first half-step."""
        return self._from(rng.dirichlet(np.full(n_events, _START), size=self.shape[0]))

    def grouped_start(self, factors: Factors, n_events: int) -> Run:
        """Start from the events of all models, similar ones gathered: a user's share of a group is that of its events.

        Events are similar whose columns of psi are, as far as they are part of the completed table.
        """
        theta, psi = factors.theta, factors.psi
        basis, _ = np.linalg.qr(self._target.right)
        columns = np.concatenate([draw.astype(np.float64).T @ basis for draw in psi])
        mass = np.concatenate([self._target.user_weights @ draw for draw in theta]) + 1e-12
        distinct = len(np.unique(columns.round(9), axis=0))
        # Sums of OpenMP depend on how many threads add them up.
        with threadpool_limits(1):
            found = KMeans(min(n_events, distinct), n_init=1, random_state=0).fit(columns, sample_weight=mass)
        gather = np.zeros((len(columns), n_events))
        gather[np.arange(len(columns)), found.labels_] = 1.0
        parts = gather.reshape(len(theta), -1, n_events)
        shares = sum((draw.astype(np.float64) @ part for draw, part in zip(theta, parts, strict=True)), start=0.0)
        return Run(self._from(shares / np.sum(shares, axis=1, keepdims=True)))

    def _from(self, theta: Floats) -> State:
        return State(theta, np.zeros((self.shape[1], theta.shape[1])), self._centre(theta))

    def _centre(self, theta: Floats) -> Floats:
        mean: Floats = theta[self.seen_users].mean(axis=0)
        return mean / mean.sum()

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update every psi_i and every theta_u once; `index` counts from 1."""
        target, problem = self._target, self.problem
        began = time.perf_counter()
        sides = (state.theta, target.user_weights, target.left, target.right)
        psi, _ = self._solved(problem.item_solver, sides, state.psi, (seed, index, ITEM_SIDE))
        between = time.perf_counter()
        sides = (psi, target.item_weights, target.right, target.left)
        theta, values = self._solved(problem.user_solver, sides, state.theta, (seed, index, USER_SIDE))
        ended = time.perf_counter()
        distance = max(float(target.user_weights @ values) + self._square, 0.0)
        record = Sweep(index, distance, float(np.sqrt(distance)), ended - between, between - began)
        return State(theta, psi, self._centre(theta)), record

    def _solved(
        self, solver: RowSolver, sides: tuple[Floats, Floats, Floats, Floats], start: Floats, stream: tuple[int, ...]
    ) -> tuple[Floats, Floats]:
        """Solve rows that share a Gram matrix; a row whose solver returns a worse point stays as it is.

        `sides` are the factors of the other side, its weights, its part of the completed table, and that of the rows.
        """
        factors, weights, near, far = sides
        seed, index, number = stream
        weighted = factors * weights[:, None]
        shared = weighted.T @ factors
        shared[np.diag_indices_from(shared)] += _RIDGE * np.trace(shared)
        moment, size = far @ (near.T @ weighted), len(shared)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            memory = self._dealer.scratch((last - first) * size * size).reshape(last - first, size, size)
            memory[:] = shared
            return memory, moment[first:last]

        return solved_rows(
            solver, equations, start, row_seeds(seed, index, number, np.arange(len(moment))), self._dealer
        )


# --- the model --------------------------------------------------------------------------------------------------------

#: Sweeps of a descent where nothing else is said; descents of a table, and of one with few rows, whose are short.
#: By judgement, as are the numbers below.
SWEEPS, _STARTS, _MORE_STARTS, _FEW = 30, 2, 10, 1_000
#: Shares of the population in a theta that are tried, the users they are tried on, and what counts as never.
_SHARES, _HEDGED, _NEVER = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1), 400, 1e-6
#: Sweeps, from a model that is near.
_MORE_SWEEPS = 3


def distilled(drawn: Many, problem: Problem, search: Search, n_jobs: int | None) -> tuple[Fitted, bool]:
    """Return the model nearest to the average of many, and whether Ctrl-C ended the search for it.

    One descent starts from the events of all of them, similar ones grouped, the others from random ones; the nearest to
    the completed table is kept.
    """
    with one_blas_thread(), Threads(n_jobs) as dealer:
        target = CompletedTable.of(drawn, dealer)
        engine = CompletionEngine(problem, target, dealer)
        run = search.run(engine, engine.grouped_start(drawn.factors, search.n_events))
    theta, psi, table = run.state.theta.copy(), run.state.psi, drawn.training
    factors, seen = drawn.factors, table.rows.counts > 0
    of_users, of_items = (getattr(drawn, f"{side}_attributes", None) for side in ("user", "item"))
    partners = factors.psi, psi, target.item_weights
    placed_users = placing_of(of_users, *partners, of_users=True) if isinstance(of_users, Attributed) else None
    partners = factors.theta, run.state.theta, target.user_weights
    placed_items = placing_of(of_items, *partners, of_users=False) if isinstance(of_items, Attributed) else None
    if table.is_binary and not drawn.unobserved:
        theta = _hedged(theta, psi, target)
    theta[~seen] = theta[seen].mean(axis=0)
    users = LearnedRows(theta, table.rows, psi, target.item_weights, problem.user_solver, USER_SIDE)
    items = LearnedRows(psi, table.columns, theta, target.user_weights, problem.item_solver, ITEM_SIDE)
    fitted = Fitted(
        theta=theta,
        psi=psi.astype(bool) if problem.item_solver.family == "binary" else psi,
        user_pull=best_pull(users, drawn.unobserved, n_jobs),
        item_pull=best_pull(items, drawn.unobserved, n_jobs),
        training=table.over(),
        history=run.history,
        noise=drawn.answer_variance + run.history[-1].rmse ** 2,
        learned_from="draws",
        user_attributes=placed_users,
        item_attributes=placed_items,
    )
    return fitted.checked(), run.interrupted


def gone_on(fitted: Fitted, drawn: Many, problem: Problem, seed: int, n_jobs: int | None) -> Fitted:
    """Return the model nearby that is nearest to what draws of the same users and items say on average.

    Events keep their numbers; pulls stay as they are.
    """
    with one_blas_thread(), Threads(n_jobs) as dealer:
        engine = CompletionEngine(problem, CompletedTable.of(drawn, dealer), dealer)
        state = State(fitted.theta, fitted.psi.astype(np.float64), fitted.population)
        for index in range(1, _MORE_SWEEPS + 1):
            state, sweep = engine.sweep(state, index, seed)
    theta, psi = state.theta.copy(), state.psi.astype(fitted.psi.dtype)
    theta[~fitted.user_seen] = theta[fitted.user_seen].mean(axis=0)
    # Nobody has answered for those whom attributes place.
    users, items = fitted.user_known & ~fitted.user_seen, fitted.item_known & ~fitted.item_seen
    theta[users], psi[items] = fitted.theta[users], fitted.psi[items]
    return replace(fitted, theta=theta, psi=psi, noise=drawn.answer_variance + sweep.rmse**2).checked()


def _hedged(theta: Floats, psi: Floats, target: CompletedTable) -> Floats:
    """Move thetas towards the population by the share that brings chances of a yes nearest to the completed ones.

    Squared distances hardly tell a chance of a hundredth from none at all, and who is asked for a chance does.
    """
    seen = np.flatnonzero(target.user_weights > 0.0)
    some = seen[np.linspace(0, seen.size - 1, min(seen.size, _HEDGED)).round().astype(np.int64)]
    wanted = np.clip(target.left[some] @ target.right.T, 0.0, 1.0)
    middle = theta[seen].mean(axis=0)

    def loss(share: float) -> float:
        chance = np.clip(((1.0 - share) * theta[some] + share * middle) @ psi.T, _NEVER, 1.0 - _NEVER)
        each = wanted * np.log(chance) + (1.0 - wanted) * np.log1p(-chance)
        return -float((each @ target.item_weights).mean())

    share = min(_SHARES, key=loss)
    return (1.0 - share) * theta + share * middle


def usual_starts(table: Observations) -> int:
    """Return how many descents are made by default: where they take no time, more."""
    return _MORE_STARTS if table.n_users + table.n_items <= _FEW else _STARTS


def usual_events(n_ratings: int, n_users: int, n_items: int) -> int:
    """Return how many events a model of a table has by default: as many as tell people apart and can still be read.

    Examples
    --------
    >>> usual_events(1_500, 101, 17), usual_events(80_000, 943, 1682)
    (9, 16)
    """
    wanted = round(10.0 * (max(n_ratings, 1) / 2_000.0) ** 0.25)
    return int(np.clip(wanted, 1, max(1, min(16, n_users, n_items))))


def quick_solver(family: str, n_events: int) -> RowSolver:
    """Return the solver of items that suits sweeps over a completed table.

    Every sweep meets every item again: none has to be solved to the last digit, or from very many starts.

    Examples
    --------
    >>> quick_solver("box", 16).tol, quick_solver("binary", 24).n_starts, quick_solver("binary", 16).name
    (1e-06, 4, 'auto')
    """
    if family == "box":
        return resolve("box", "coordinate", tol=1e-6)
    if family == "binary" and n_events > EXACT_LIMIT:
        return resolve("binary", "local_search", n_starts=4)
    return usual(family, n_events)


# --- what new rows are drawn to ---------------------------------------------------------------------------------------

# Numbers by judgement; `benchmarks/one_model.py placed` shows what comes of them.
#: Rows that are placed again.
_ROWS = 400
#: Strengths that are tried: equal in all directions, in ratings; and the more where rows differ less, as shares of the
#: inverse of their covariance.
_EVEN = np.geomspace(0.03, 100.0, 8)
_SHAPED = np.geomspace(0.001, 1.0, 13)
#: The least variance of rows in any direction, as a share of the usual one.
_LEAST = 1e-2
#: Rows that differ by less are the same but for rounding, and their spread says nothing.
_NO_SPREAD = 1e-12


class LearnedRows(NamedTuple):
    """Rows of one side as they were learned, their observations, and the partners that they were learned with.

    Differences of predictions count by the partners' weights; `number` is `USER_SIDE` or `ITEM_SIDE`.
    """

    rows: Floats
    view: View
    factors: Floats
    weights: Floats
    solver: RowSolver
    number: int


def best_pull(side: LearnedRows, unobserved: float, n_jobs: int | None, most_rows: int = _ROWS) -> Pull:
    """Return the pull under which some rows, placed again from their observations, predict most as they did."""
    seen = np.flatnonzero(side.view.counts > 0)
    centre = side.rows[seen].mean(axis=0)
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, min(seen.size, most_rows)).round().astype(np.int64)])
    view, rows = side.view.picked(chosen), side.rows[chosen]
    gram = (side.factors * side.weights[:, None]).T @ side.factors

    def distance(pull: Pull) -> float:
        away = placed(view, side.factors, pull, side.solver, side.number, unobserved, n_jobs) - rows
        return float(((away @ gram) * away).sum())

    return min(_pulls(centre, side.rows[seen]), key=distance)


def _pulls(centre: Floats, rows: Floats) -> Iterator[Pull]:
    """Yield those that are tried."""
    covariance = np.cov(rows.T, bias=True).reshape(centre.size, centre.size)
    usual = float(np.trace(covariance)) / centre.size
    for ridge in _EVEN:
        yield Pull.even(centre, ridge)
    if usual > _NO_SPREAD:
        inverse = np.linalg.inv(covariance + _LEAST * usual * np.eye(centre.size))
        for share in _SHAPED:
            yield Pull(centre, share * (inverse + inverse.T) / 2.0)
