"""From many models to one: the alternating descent over the table that they complete.

Minimised is the mean over all cells of w_u w_i (theta_u . psi_i - T_ui)^2, with T the mean of what the models say. As
the table is complete, all items have one Gram matrix, G = sum_u w_u theta_u theta_u^T, and all users another; as T is a
product of two thin matrices, the linear terms are products of these. A sweep goes over no rating and makes no table.

What is read must not depend on the seed. Descents from anywhere end anywhere; this one begins with groups of users who
lie farthest out, found in the ratings alone (successive projection: Araujo and others 2001, Gillis and Vavasis 2014),
which are the same for every sample of chains, and makes few sweeps from there: more come hardly nearer to the table and
lead away from what another sample finds. Bits come from chances on which being neither 0 nor 1 costs more and more.
Both halves of the chains go the same way apart, and tell which events are found again, and how many.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.descent.attributes import placing_of
from kolmogorov.descent.completion import CompletedTable, Many
from kolmogorov.descent.engine import Engine, Run, Search, State, Sweep, solved_rows
from kolmogorov.descent.fitted import Fitted
from kolmogorov.descent.placing import best_pull
from kolmogorov.descent.problem import EXTRA_RATINGS, ITEM_SIDE, USER_SIDE, Problem
from kolmogorov.solvers import RowSolver, resolve, usual
from kolmogorov.solvers.flips import EXACT_LIMIT

# --- where the descent begins -----------------------------------------------------------------------------------------

#: Products with the table that sharpen its leading directions.
_SHARPENED = 4
#: Power of a user's weight that counts in how far out they lie. By judgement.
_HEAVY = 0.25


def places(many: Many, most_events: int) -> Floats:
    """Return where users lie by their ratings alone, in the directions in which these differ most; float64[n_users, k].

    What a user said above an item's mean is summed, and of few ratings drawn to nothing.
    """
    rows, n_items = many.training.rows, many.training.n_items
    said = np.bincount(rows.indices, weights=rows.values, minlength=n_items)
    heard = np.bincount(rows.indices, minlength=n_items)
    usual = (said + EXTRA_RATINGS * rows.values.mean()) / (heard + EXTRA_RATINGS)
    above = rows.values - (0.0 if many.unobserved else usual[rows.indices])
    table = csr_array((above, rows.indices, rows.indptr), shape=(len(rows.counts), n_items))
    directions = np.random.default_rng(0).standard_normal((n_items, min(2 * most_events, n_items)))
    for _ in range(_SHARPENED):
        directions, _ = np.linalg.qr(table.T @ (table @ directions))
    return np.asarray(table @ directions) / (rows.counts[:, None] + EXTRA_RATINGS)


def corners(places: Floats, weights: Floats, n_events: int) -> list[Rows]:
    """Return groups of users, of whom each lies as far out as can be from those before: successive projection.

    A group is as large as half of an equal share, so that nobody's noise decides where an event begins.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [9.0, 1.0], [0.0, 5.0], [4.0, 2.0]])
    >>> [group.tolist() for group in corners(square, np.full(4, 0.25), 3)]
    [[1], [2], [0]]
    """
    apart = places - weights @ places
    _, axes = np.linalg.eigh((apart * weights[:, None]).T @ apart)
    left = apart @ axes[:, ::-1][:, : max(n_events - 1, 1)] * ((weights / weights.max()) ** _HEAVY)[:, None]
    size = max(1, round(0.5 * np.count_nonzero(weights) / n_events))
    found: list[Rows] = []
    for _ in range(n_events):
        furthest = left[np.argmax((left**2).sum(axis=1))]
        group = np.argsort(np.where(weights > 0.0, -(left @ furthest), np.inf), kind="stable")[:size]
        middle = left[group].mean(axis=0)
        # From the first group on, what counts is the distance from all groups before.
        left = left - (np.outer(left @ middle, middle) / max(float(middle @ middle), 1e-300) if found else middle)
        found.append(group)
    return found


# --- the descent over it ----------------------------------------------------------------------------------------------

#: What is added to the diagonal of a Gram matrix, as a share of its trace, so that events that nobody has are decided:
#: far below what any cell weighs.
_RIDGE = 1e-9
#: `benchmarks/stability.py choices`, planted tables: sweeps over chances, and those in which they become bits.
SWEEPS, FIRMED = 15, 10
#: Rounds of the solver of chances that become bits: what it minimises is not convex.
_ROUNDS = 5


class CompletionEngine(Engine):
    """The engine whose sweeps go over a completed table. Of its problem the row solvers are used, and no ridge."""

    def __init__(self, problem: Problem, target: CompletedTable, dealer: Threads) -> None:
        self.problem, self._target, self._dealer, self._square = problem, target, dealer, target.square

    def first(self, psi: Floats) -> Run:
        """Begin with the profiles of some groups, or of bits with what chances become from there."""
        size = psi.shape[1]
        theta, _ = self._thetas(np.full((len(self._target.left), size), 1.0 / size), psi, (0, 0))
        if self.problem.item_solver.family == "binary":
            soft = quick_solver("box", size)
            for index in range(1, SWEEPS + 1):
                psi = self._psis(soft, theta, psi, (0, index))
                theta, _ = self._thetas(theta, psi, (0, index))
            rough = resolve("box", "coordinate", tol=1e-6, max_iter=_ROUNDS)
            for index in range(1, FIRMED + 1):
                psi = self._psis(rough, theta, psi, (0, index), firm=index / FIRMED)
                theta, _ = self._thetas(theta, psi, (0, index))
            psi = (psi > 0.5).astype(np.float64)
        return Run(State(theta, psi, np.full(size, 1.0 / size)))

    def sweep(self, state: State, index: int, seed: int) -> tuple[State, Sweep]:
        """Update every psi_i and every theta_u once; `index` counts from 1."""
        began = time.perf_counter()
        psi = self._psis(self.problem.item_solver, state.theta, state.psi, (seed, index))
        between = time.perf_counter()
        theta, values = self._thetas(state.theta, psi, (seed, index))
        ended = time.perf_counter()
        distance = max(float(self._target.user_weights @ values) + self._square, 0.0)
        record = Sweep(index, distance, float(np.sqrt(distance)), ended - between, between - began)
        return State(theta, psi, state.centre), record

    def _thetas(self, theta: Floats, psi: Floats, stream: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return thetas given psis, and their values."""
        weighted = psi * self._target.item_weights[:, None]
        moment = self._target.left @ (self._target.right.T @ weighted)
        return self._solved(self.problem.user_solver, weighted.T @ psi, moment, theta, (*stream, USER_SIDE))

    def _psis(
        self, solver: RowSolver, theta: Floats, psi: Floats, stream: tuple[int, int], firm: float = 0.0
    ) -> Floats:
        """Return psis given thetas; what is neither 0 nor 1 costs more the firmer they are.

        The price of an event is that share of what it explains: firm at 1, one event alone would be there or not.
        """
        weighted = theta * self._target.user_weights[:, None]
        gram = weighted.T @ theta
        price = firm * np.diag(gram)
        moment = self._target.right @ (self._target.left.T @ weighted) - 0.5 * price
        gram[np.diag_indices_from(gram)] -= price
        return self._solved(solver, gram, moment, psi, (*stream, ITEM_SIDE))[0]

    def _solved(
        self, solver: RowSolver, gram: Floats, moment: Floats, start: Floats, stream: tuple[int, int, int]
    ) -> tuple[Floats, Floats]:
        """Solve rows that share a Gram matrix; a row whose solver returns a worse point stays as it is."""
        size = len(gram)
        gram[np.diag_indices(size)] += _RIDGE * max(np.trace(gram), _RIDGE)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            memory = self._dealer.scratch((last - first) * size * size).reshape(last - first, size, size)
            memory[:] = gram
            return memory, moment[first:last]

        return solved_rows(solver, equations, start, row_seeds(*stream, np.arange(len(moment))), self._dealer)


# --- the model --------------------------------------------------------------------------------------------------------

#: Sweeps over bits where nothing else is said.
BITS = 30
#: Shares of the population in a theta that are tried, the users they are tried on, and what counts as never.
_SHARES, _HEDGED, _NEVER = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1), 400, 1e-6
#: Sweeps, from a model that is near.
_MORE_SWEEPS = 3
#: The most events that people read, the number that is tried first, and those tried where halving it finds none.
MOST_EVENTS, _FIRST, _BETWEEN = 16, 8, (6, 5, 3)
#: How well every event must be found again where their number is left open.
RETURNING = {"box": 0.9, "binary": 0.85}
#: The largest distance from the completed table, as a share of how far it is from items' means, of a model that is
#: taken because its events return: two bits return on MovieLens 100K, and predict worse than biases (1.07 stars, 0.94).
_FARTHEST = 0.7


def distilled(
    many: Many, problem: Problem, search: Search, n_events: int | None, n_jobs: int | None, *, compared: bool = True
) -> tuple[Fitted, bool]:
    """Return the model nearest to the average of many, and whether Ctrl-C ended the search for it.

    Without `n_events` it has the largest number with which all events are found again in both halves of the chains.
    """
    table, factors = many.training, many.factors
    counts, most = table.rows.counts.astype(np.float64), n_events or min(MOST_EVENTS, table.n_users, table.n_items)
    quiet, binary = replace(search, on_sweep=None, keep_interrupted=False), problem.item_solver.family == "binary"
    with one_blas_thread(), Threads(n_jobs) as dealer:
        target, where = CompletedTable.of(many, dealer), places(many, most)
        halves = [
            [
                CompletedTable.of(many, dealer, factors._replace(theta=factors.theta[part], psi=factors.psi[part]))
                for part in way
            ]
            for way in (halvings(len(factors.theta), many.n_chains) if compared else [])
        ]

        def descended(of: CompletedTable, size: int, search: Search = quiet) -> Run:
            engine = CompletionEngine(problem, of, dealer)
            return search.run(engine, engine.first(of.profiles(corners(where, target.user_weights, size))))

        def found_again(theta: Floats) -> Floats:
            found = [
                returning(theta, [descended(half, theta.shape[1]).state.theta for half in way], counts, halved=True)
                for way in halves
            ]
            return np.asarray(np.median(found, axis=0)) if found else np.full(theta.shape[1], np.nan)

        def worst(size: int) -> float:
            run = descended(target, size)
            far = run.history[-1].rmse > _FARTHEST * target.spread
            return -1.0 if far else float(found_again(run.state.theta).min())

        if n_events is None and halves:
            n_events = largest(worst, RETURNING[problem.item_solver.family], most)
        run = descended(target, n_events or min(_FIRST, most), search)
        stability = found_again(run.state.theta) if compared else None
    theta, psi = run.state.theta, run.state.psi
    of_users = placing_of(many.user_attributes, factors.psi, psi, target.item_weights, of_users=True)
    of_items = placing_of(many.item_attributes, factors.theta, theta, target.user_weights, of_users=False)
    theta = _hedged(theta, psi, target) if table.is_binary and not many.unobserved else theta.copy()
    theta[counts == 0] = theta[counts > 0].mean(axis=0)
    last = (many.unobserved, n_jobs)
    fitted = Fitted(
        theta=theta,
        psi=psi.astype(bool) if binary else psi,
        user_pull=best_pull(problem.user_solver, table.rows, theta, psi, target.item_weights, *last),
        item_pull=best_pull(problem.item_solver, table.columns, psi, theta, target.user_weights, *last),
        training=table.over(),
        history=run.history,
        noise=many.answer_variance + run.history[-1].rmse ** 2,
        learned_from="draws",
        stability=stability,
        user_attributes=of_users,
        item_attributes=of_items,
    )
    return fitted.checked(), run.interrupted


def gone_on(fitted: Fitted, many: Many, problem: Problem, seed: int, n_jobs: int | None) -> Fitted:
    """Return the model nearby that is nearest to what draws of the same users and items say on average.

    Events keep their numbers; pulls stay as they are.
    """
    with one_blas_thread(), Threads(n_jobs) as dealer:
        engine = CompletionEngine(problem, CompletedTable.of(many, dealer), dealer)
        state = State(fitted.theta, fitted.psi.astype(np.float64), fitted.population)
        for index in range(1, _MORE_SWEEPS + 1):
            state, sweep = engine.sweep(state, index, seed)
    theta, psi = state.theta.copy(), state.psi.astype(fitted.psi.dtype)
    theta[~fitted.user_seen] = theta[fitted.user_seen].mean(axis=0)
    # Nobody has answered for those whom attributes place.
    users, items = fitted.user_known & ~fitted.user_seen, fitted.item_known & ~fitted.item_seen
    theta[users], psi[items] = fitted.theta[users], fitted.psi[items]
    return replace(fitted, theta=theta, psi=psi, noise=many.answer_variance + sweep.rmse**2).checked()


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


def alike(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return how the thetas of two models of the same users correlate, event by event.

    Examples
    --------
    >>> theta = np.array([[0.9, 0.1, 0.0], [0.0, 0.8, 0.2], [0.1, 0.1, 0.8]])
    >>> alike(theta, theta[:, [2, 0, 1]], np.ones(3)).argmax(axis=1).tolist()
    [1, 2, 0]
    """
    share = weights / weights.sum()
    first, second = first - share @ first, second - share @ second
    spread = np.outer(np.sqrt(share @ first**2), np.sqrt(share @ second**2))
    return np.clip((first * share[:, None]).T @ second / np.maximum(spread, 1e-12), -1.0, 1.0)


def returning(theta: Floats, apart: list[Floats], weights: Floats, *, halved: bool) -> Floats:
    """Return how well the events of a model are found again in two models of other samples.

    It is how their matches in the two correlate, or how they correlate with the worse match where that is less. Where
    samples are halves, two whole ones would correlate more: 2 r / (1 + r) instead of r (Spearman and Brown 1910).
    """
    found = [alike(theta, one, weights) for one in apart]
    # Which event of the other model each is: those that correlate most, all together.
    first, second = (linear_sum_assignment(-one)[1] for one in found)
    both = alike(apart[0], apart[1], weights)[first, second]
    if halved:
        both = np.where(both > 0.0, 2.0 * both / (1.0 + np.abs(both)), both)
    each = np.arange(theta.shape[1])
    return np.minimum(both, np.minimum(found[0][each, first], found[1][each, second]))


def halvings(n_draws: int, n_chains: int) -> list[list[Rows]]:
    """Return the ways to put draws into two halves: of four chains all three, of others the first and the last.

    Examples
    --------
    >>> [[half.tolist() for half in way] for way in halvings(4, 4)]
    [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]]
    >>> [[half.tolist() for half in way] for way in halvings(5, 1)]
    [[[0, 1], [2, 3, 4]]]
    """
    if n_draws < 2:
        return []
    if n_chains != 4:
        return [np.array_split(np.arange(n_draws), [n_draws // 2])]
    chain = np.arange(4).repeat(n_draws // 4)
    return [[np.flatnonzero(np.isin(chain, (0, k)) == first) for first in (True, False)] for k in (1, 2, 3)]


def largest(worst: Callable[[int], float], least: float, most: int) -> int:
    """Return the largest number of events whose worst is found again well enough, by doubling and halving.

    Where that finds none the numbers between are tried, and last the one whose worst is found again best is taken.

    Examples
    --------
    >>> [largest(lambda n: 1.0 if n <= good else 0.0, 0.9, 16) for good in (2, 3, 5, 7, 8, 11, 14, 16)]
    [2, 3, 5, 7, 8, 10, 14, 16]
    >>> largest(lambda n: 1.0 if n == 5 else 1.0 / n, 0.9, 16)
    5
    """
    found: dict[int, float] = {}

    def good(size: int) -> bool:
        found[size] = worst(size)
        return found[size] >= least

    size, bad = min(_FIRST, most), most + 1
    while not good(size) and size > 3:
        size, bad = size // 2, size
    while found[size] >= least and bad > most and 2 * size <= most:
        size, bad = (2 * size, bad) if good(2 * size) else (size, 2 * size)
    if found[size] < least:
        between = next((other for other in _BETWEEN if other < most and other not in found and good(other)), None)
        return between or max(found, key=lambda n: (found[n], n))
    while bad - size > max(1, size // 4):
        middle = (size + bad) // 2
        size, bad = (middle, bad) if good(middle) else (size, middle)
    return size


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
    return resolve("binary", "local_search", n_starts=4) if n_events > EXACT_LIMIT else usual(family, n_events)
