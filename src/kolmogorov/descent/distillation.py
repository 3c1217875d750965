"""From many models to one: the completed table, the descent over it, and how new rows are placed in what is learned.

Nobody tells such a model how strongly a new user is to be drawn to the population. The users that it knows do: placed
again from their own ratings, as if they were new, they should come out where they are. The pull is the one under
which they do so best; likewise for items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.attributes import Attributed, Placing, placing_of
from kolmogorov.descent.engine import MultiStart, Run, State, Sweep, solved_rows
from kolmogorov.descent.fitted import NOISE, Counted, Factors, Fitted, Pull
from kolmogorov.descent.placing import placed
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Problem
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.solvers.flips import EXACT_LIMIT
from kolmogorov.solvers.registry import usual

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
        >>> theta, psi = np.array([[[0.5, 0.5], [1.0, 0.0]]]), np.array([[[1.0, 0.0]]])
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
        self._theta, self._psi = factors.theta, factors.psi
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
        theta, psi = factors.theta, factors.psi
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
    view, rows = _part(side.view, chosen), side.rows[chosen]
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


def _part(view: View, rows: Rows) -> View:
    """Return some rows of a view, as a view of their own."""
    mask = np.zeros(view.counts.size, dtype=bool)
    mask[rows] = True
    kept = view.chosen(np.repeat(mask, view.counts))
    indptr = np.concatenate(([0], np.cumsum(view.counts[rows]))).astype(np.int64)
    return View(indptr, kept.indices, kept.values, kept.weights)


#: Sweeps of a descent where nothing else is said; descents of a table, and of one with few rows, whose are short.
#: By judgement, as are the numbers below.
SWEEPS, _STARTS, _MORE_STARTS, _FEW = 30, 2, 10, 1_000
#: Shares of the population in a theta that are tried, the users they are tried on, and what counts as never.
_SHARES, _HEDGED, _NEVER = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1), 400, 1e-6


@dataclass(frozen=True, eq=False)
class Distillation:
    """How one model is made of many: by `n_init` descents over the table that they complete.

    One starts from the events of all of them, similar ones grouped, the others from random ones; the nearest to the
    completed table is kept. Of the problem the row solvers are used, and no ridge.
    """

    problem: Problem
    n_events: int
    seed: int = 0
    n_init: int = _STARTS
    max_iter: int = SWEEPS
    tol: float = 1e-4
    on_sweep: Callable[[Sweep], Any] | None = None
    keep_interrupted: bool = False
    n_jobs: int | None = -1

    def of(self, drawn: Counted, factors: Factors, noise: Floats, unobserved: float = 0.0) -> tuple[Fitted, bool]:
        """Return the model nearest to the average of many, and whether Ctrl-C ended the search for it.

        Parameters
        ----------
        drawn : Counted
            What they were learned from.
        factors : Factors
            What they say.
        noise : float64[n_users]
            The variance of answers around the average.
        unobserved : float
            What an entry that was not observed weighs, as a no.
        """
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            target = CompletedTable.of(drawn, factors, unobserved)
            engine = CompletionEngine(self.problem, target, dealer)
            run = MultiStart(
                engine,
                n_events=self.n_events,
                seed=self.seed,
                n_init=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                on_sweep=self.on_sweep,
                start=engine.grouped_start(factors, self.n_events),
                keep_interrupted=self.keep_interrupted,
            ).run()
        theta, psi = run.state.theta.copy(), run.state.psi
        placings = _placings(drawn, factors, run.state, target)
        if target.training.is_binary and not unobserved:
            theta = _hedged(theta, psi, target)
        theta[~drawn.user_seen] = theta[drawn.user_seen].mean(axis=0)
        problem, table = engine.problem, target.training
        users = LearnedRows(theta, table.rows, psi, target.item_weights, problem.user_solver, USER_SIDE)
        items = LearnedRows(psi, table.columns, theta, target.user_weights, problem.item_solver, ITEM_SIDE)
        fitted = Fitted(
            theta=theta,
            psi=psi.astype(bool) if problem.item_solver.family == "binary" else psi,
            user_pull=best_pull(users, unobserved, self.n_jobs),
            item_pull=best_pull(items, unobserved, self.n_jobs),
            training=table.over(),
            history=run.history,
            noise=noise + run.history[-1].rmse ** 2,
            learned_from="draws",
            user_attributes=placings.get("user_attributes"),
            item_attributes=placings.get("item_attributes"),
        )
        return fitted.checked(), run.interrupted


def _placings(drawn: Counted, factors: Factors, state: State, target: CompletedTable) -> dict[str, Placing]:
    """Return how attributes place users and items in the events of a state, where draws know any."""
    found: dict[str, Placing] = {}
    theta, psi = factors.theta, factors.psi
    if isinstance(drawn.user_attributes, Attributed):
        partners = psi, state.psi, target.item_weights
        found["user_attributes"] = placing_of(drawn.user_attributes, *partners, of_users=True)
    if isinstance(drawn.item_attributes, Attributed):
        partners = theta, state.theta, target.user_weights
        found["item_attributes"] = placing_of(drawn.item_attributes, *partners, of_users=False)
    return found


def usual_starts(table: Observations) -> int:
    """Return how many descents are made by default: where they take no time, more."""
    return _MORE_STARTS if table.n_users + table.n_items <= _FEW else _STARTS


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


def _hedged(theta: Floats, psi: Floats, target: CompletedTable) -> Floats:
    """Move thetas towards the population by the share that brings chances of a yes nearest to the completed ones.

    Squared distances hardly tell a chance of a hundredth from none at all, and who is asked for a chance does.
    """
    seen = np.flatnonzero(target.user_weights > 0.0)
    some = seen[np.linspace(0, seen.size - 1, min(seen.size, _HEDGED)).round().astype(np.int64)]
    wanted = np.clip(target.completion.left[some] @ target.completion.right.T, 0.0, 1.0)
    middle = theta[seen].mean(axis=0)

    def loss(share: float) -> float:
        chance = np.clip(((1.0 - share) * theta[some] + share * middle) @ psi.T, _NEVER, 1.0 - _NEVER)
        each = wanted * np.log(chance) + (1.0 - wanted) * np.log1p(-chance)
        return -float((each @ target.item_weights).mean())

    share = min(_SHARES, key=loss)
    return (1.0 - share) * theta + share * middle


def usual_events(n_ratings: int, n_users: int, n_items: int) -> int:
    """Return how many events a model of a table has by default: as many as tell people apart and can still be read.

    Examples
    --------
    >>> usual_events(1_500, 101, 17), usual_events(80_000, 943, 1682)
    (9, 16)
    """
    wanted = round(10.0 * (max(n_ratings, 1) / 2_000.0) ** 0.25)
    return int(np.clip(wanted, 1, max(1, min(16, n_users, n_items))))


#: Sweeps, from a model that is near; by judgement.
_SWEEPS = 3


def gone_on(
    fitted: Fitted, drawn: Counted, factors: Factors, noise: Floats, problem: Problem, seed: int, n_jobs: int | None
) -> Fitted:
    """Return the model nearby that is nearest to what draws of the same users and items say on average.

    Of the problem the row solvers are used. Events keep their numbers; pulls stay as they are.
    """
    with one_blas_thread(), Threads(n_jobs) as dealer:
        engine = CompletionEngine(problem, CompletedTable.of(drawn, factors), dealer)
        state = State(fitted.theta, fitted.psi.astype(np.float64), fitted.population)
        for index in range(1, _SWEEPS + 1):
            state, sweep = engine.sweep(state, index, seed)
    theta, psi = state.theta.copy(), state.psi.astype(fitted.psi.dtype)
    theta[~fitted.user_seen] = theta[fitted.user_seen].mean(axis=0)
    # Nobody has answered for those whom attributes place.
    users, items = fitted.user_known & ~fitted.user_seen, fitted.item_known & ~fitted.item_seen
    theta[users], psi[items] = fitted.theta[users], fitted.psi[items]
    return replace(fitted, theta=theta, psi=psi, noise=noise + sweep.rmse**2).checked()
