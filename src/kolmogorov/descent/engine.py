"""Algorithm 4: half-steps that solve all rows of one side, sweeps of both, and the search over sweeps and starts."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.display import says_stop, warn
from kolmogorov._support.outside import check_writable
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import check_between
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.files import Schema, read, refusing, write
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Partners, Problem, usual_weight
from kolmogorov.errors import ConvergenceWarning, FileFormatError, InvariantError
from kolmogorov.solvers import RowSolver
from kolmogorov.solvers.rows import batch_values, keep_better
from kolmogorov.solvers.simplex import ActiveSet

#: From so many threads and observations on it pays to have rows made and solved in one compiled call: below, threads
#: hardly wait for each other between calls, and some seconds of compilation more would be noticed. By
#: judgement; `benchmarks/train.py threads` times such a table.
_CROWD, _LARGE = 4, 1 << 19


def solved_rows(
    solver: RowSolver,
    equations: Callable[[int, int], tuple[Floats, Floats]],
    start: Floats,
    seeds: NDArray[np.uint64],
    dealer: Threads,
    indptr: NDArray[np.int64] | None = None,
    *,
    keeping: bool = True,
    duals: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Solve rows whose Gram matrices and moments `equations` makes share by share; return them and their values.

    The value of a row is x^T gram x - 2 x^T moment. When `keeping`, a row whose solver returns a worse point than where
    it starts stays there. A solver that goes on from dual points starts from `duals`, which become where it ends.
    """
    result, values, squares = np.empty_like(start), np.empty(len(start)), start.shape[1] ** 2

    def share(first: int, last: int) -> None:
        rows = slice(first, last)
        gram, moment = equations(first, last)
        result[rows] = solver.solve(gram, moment, (start if duals is None else duals)[rows], seeds[rows])
        if keeping:
            keep_better(gram, moment, start[rows], result[rows], values[rows])
        else:
            batch_values(gram, moment, result[rows], values[rows])

    dealer.deal(share, len(start), squares, indptr, squares, solver.row_cost(start.shape[1]))
    return result, values


@dataclass(frozen=True, eq=False)
class HalfStep:
    """How the rows of one side are solved: the solver, the ridge, what it shrinks to, and the seed.

    Entries that were not observed count as a no of weight `unobserved`; `keep_better` is that of `Problem`. Where the
    rows are part of a larger table, `offset` is the number of the first. `duals` are those of `solved_rows`.
    """

    solver: RowSolver
    ridge: float
    centre: Floats
    seed: int
    sweep: int
    side: int
    unobserved: float = 0.0
    keep_better: bool = True
    offset: int = 0
    duals: Floats | None = None

    def run(self, view: View, factors: Floats, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values."""
        size, partners, solver = current.shape[1], Partners.of(factors, view, self.unobserved), self.solver

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            memory = dealer.scratch((last - first) * (size + 1) * size)
            return partners.equations(view, first, last, self.ridge, self.centre, memory)

        crowded = dealer.n_threads >= _CROWD and view.indices.size >= _LARGE
        if not crowded or not isinstance(solver, ActiveSet) or self.unobserved or not self.keep_better:
            return self.solved(equations, current, dealer, view.indptr)
        bits = np.empty(0, dtype=np.uint64) if partners.bits is None else partners.bits
        entries = (view.indptr, view.indices, view.values, view.weights)
        table = (*entries, factors, bits, self.ridge, self.centre, current)
        result, values = np.empty_like(current), np.empty(len(current))

        def share(first: int, last: int) -> None:
            solver.solve_rows(table, first, last, result, values)
            view.forget(first, last)

        dealer.deal(share, len(current), size**2, view.indptr, size**2, solver.row_cost(size))
        return result, values

    def solved(
        self,
        equations: Callable[[int, int], tuple[Floats, Floats]],
        start: Floats,
        dealer: Threads,
        indptr: NDArray[np.int64] | None = None,
    ) -> tuple[Floats, Floats]:
        """Solve the rows that some normal equations are of."""
        seeds = row_seeds(self.seed, self.sweep, self.side, np.arange(self.offset, self.offset + len(start)))
        how: dict[str, Any] = {"keeping": self.keep_better, "duals": self.duals}
        return solved_rows(self.solver, equations, start, seeds, dealer, indptr, **how)


# --- sweeps -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """What a sweep reached and what it cost.

    Attributes
    ----------
    sweep : int
        Counted from 1.
    objective : float
        Weighted squared error on the training entries plus the two ridge terms.
    rmse : float
        Training error on the probability scale.
    user_seconds, item_seconds : float
        Of the two half-steps.
    """

    sweep: int
    objective: float
    rmse: float
    user_seconds: float
    item_seconds: float


def history_array(history: tuple[Sweep, ...]) -> NDArray[np.float64]:
    """Return the records as rows of numbers, for a file."""
    return np.array(list(map(astuple, history)), dtype=np.float64).reshape(-1, 5)


def history_of(table: NDArray[Any]) -> tuple[Sweep, ...]:
    """Undo `history_array`; what is no history is an `InvariantError`."""
    # Squares of errors and times are numbers still.
    check_between("the history", table, 0.0, 1e100)
    return tuple(Sweep(index, *row[1:]) for index, row in enumerate(table.tolist(), 1))


@dataclass(frozen=True, eq=False)
class State:
    """The factors between two sweeps. Arrays are never changed in place.

    Supports are kept as floats because the normal equations multiply them. The centre is what theta was shrunk to when
    it was last updated. `duals` are where a solver of items that goes on from dual points ended; empty for others.
    """

    theta: Floats
    psi: Floats
    centre: Floats
    duals: Floats = field(default_factory=lambda: np.empty((0, 0)), kw_only=True)


def user_totals(theta: Floats, values: Floats, centre: Floats, seen: NDArray[np.bool_]) -> Floats:
    """Return sums over users: of their rows' values, of squared distances from the centre, of thetas of those seen."""
    return np.array([values.sum(), ((theta - centre) ** 2).sum(), *theta[seen].sum(axis=0)])


class Engine:
    """Sweeps over one table of ratings, by threads that rows are dealt to; where they are elsewhere, subclasses say.

    `unobserved` is what an entry that was not observed weighs, `seen_users` are those of whom a fit learns anything,
    all where a blank is a no, and `item_centre` is what the ridge draws psi to.
    """

    problem: Problem
    table: Observations
    #: Numbers of users and items.
    shape: tuple[int, int]
    seen_users: NDArray[np.bool_]

    def __init__(self, problem: Problem, table: Observations, dealer: Threads) -> None:
        self.problem, self.table, self.shape = problem, table, (table.n_users, table.n_items)
        self._dealer, n_cells, weight = dealer, table.n_users * table.n_items, problem.unobserved
        self.unobserved = usual_weight(len(table), n_cells) if weight == "auto" else float(weight)
        self.seen_users = (table.rows.counts > 0) | (self.unobserved != 0.0)
        self._squares, total, count = self._sums().tolist()
        # Blanks are a no, of which no square is left.
        self._count = count + self.unobserved * (n_cells - len(table))
        self.item_centre = total / self._count if problem.item_prior == "mean" else 0.0

    def start(self, rng: np.random.Generator, n_events: int) -> Any:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        theta = rng.dirichlet(np.ones(n_events), size=self.shape[0])
        duals = np.full((self.shape[1], n_events + 1) if self.problem.item_solver.warm else (0, 0), np.nan)
        psi, centre = np.zeros((self.shape[1], n_events)), np.full(n_events, 1.0 / n_events)
        return self.spread(State(theta, psi, centre, duals=duals))

    def sweep(self, state: Any, index: int, seed: int) -> tuple[Any, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        problem, total = self.problem, self._theta_total(state)
        centre = np.full_like(total, 1.0 / total.size)
        if problem.prior == "mean":
            centre = total / int(self.seen_users.sum())
        middle, rest = np.full_like(centre, self.item_centre), (self.unobserved, problem.keep_better)
        duals = state.duals.copy() if state.duals.size else None
        items = HalfStep(problem.item_solver, problem.item_reg, middle, seed, index, ITEM_SIDE, *rest, duals=duals)
        users = HalfStep(problem.user_solver, problem.user_reg, centre, seed, index, USER_SIDE, *rest)
        began = time.perf_counter()
        psi = self._items(state, items)
        between = time.perf_counter()
        new, totals = self._users(state, psi, users)
        ended = time.perf_counter()
        value, distance = totals[:2].tolist()
        ridge = problem.user_reg * distance
        pull = problem.user_reg * self.shape[0] * float(centre @ centre)
        error = max(value + pull - ridge + self._squares, 0.0)
        ones = problem.item_reg * self._distance(psi, centre.size) if problem.item_reg else 0.0
        rmse = float(np.sqrt(error / self._count))
        if duals is not None:
            new = replace(new, duals=duals)
        return new, Sweep(index, error + ridge + ones, rmse, ended - between, between - began)

    # --- where it is --------------------------------------------------------------------------------------------------

    def spread(self, state: State) -> Any:
        """Take over a state that was collected."""
        return state

    def collect(self, state: Any) -> State:
        """Return a state whose arrays are all here."""
        found: State = state
        return found

    def _sums(self) -> Floats:
        """Return the sums over all entries."""
        return self.table.rows.sums

    def _theta_total(self, state: Any) -> Floats:
        """Return the sum of the thetas of the users seen."""
        total: Floats = state.theta[self.seen_users].sum(axis=0)
        return total

    def _items(self, state: Any, step: HalfStep) -> Any:
        """Return new psis."""
        self.table.rows.check_intact()
        return step.run(self.table.columns, state.theta, state.psi, self._dealer)[0]

    def _users(self, state: Any, psi: Any, step: HalfStep) -> tuple[Any, Floats]:
        """Return the state with new psis and thetas, and `user_totals`."""
        theta, values = step.run(self.table.rows, psi, state.theta, self._dealer)
        return State(theta, psi, step.centre), user_totals(theta, values, step.centre, self.seen_users)

    def _distance(self, psi: Any, n_events: int) -> float:
        """Return the sum of the squared distances of psi from what its ridge draws to."""
        return float(((psi - self.item_centre) ** 2).sum())


# --- the search over sweeps and starts --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Run:
    """One descent: where it is, how it came there, and whether Ctrl-C ended it."""

    state: Any
    history: tuple[Sweep, ...] = ()
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective reached; infinite before the first sweep."""
        return self.history[-1].objective if self.history else float("inf")


#: Places of the random streams that do not belong to a sweep.
_START, _INIT = 1, 2


@dataclass(frozen=True)
class Search:
    """How a model is looked for: by `n_init` descents of at most `max_iter` sweeps, of which the best is kept.

    A descent ends when a sweep lowers the objective by less than `tol` of itself, or when `on_sweep` returns True,
    Python's or NumPy's, which also ends the search. A sweep that raises the objective is undone, unless the problem
    wants points as they were found. Ctrl-C is raised, or where `keep_interrupted` the best so far is returned, if there
    is any. A `checkpoint` holds the search after its last sweep; with `any_seed` its seed is taken up.
    """

    n_events: int
    seed: int
    n_init: int = 1
    max_iter: int = 100
    tol: float = 1e-4
    on_sweep: Callable[[Sweep], Any] | None = None
    keep_interrupted: bool = False
    checkpoint: Path | None = None
    any_seed: bool = False

    def run(self, engine: Engine, start: Run | None = None) -> Run:
        """Search, from the checkpoint if there is one, with the first descent from `start` where that is given."""
        seed, init, run, best = self.seed, 0, start, None
        kept = None if self.checkpoint is None else _Checkpoint(self, engine, self.checkpoint)
        if kept and kept.path.exists():
            seed, init, run, best = kept.read()
        run = run and replace(run, state=engine.spread(run.state))

        def better() -> Run:
            if run is None or (best is not None and best.objective <= run.objective):
                return best  # type: ignore[return-value]
            return replace(run, state=engine.collect(run.state))

        try:
            while True:
                run = run or Run(engine.start(generator(seed, _START, init), self.n_events))
                while not self._ended(run.history):
                    run = self._swept(engine, run, int(row_seeds(seed, 0, _INIT, np.array([init]))[0]))
                    if kept:
                        kept.write(seed, init, replace(run, state=engine.collect(run.state)), best)
                    if self.on_sweep is not None and says_stop(self.on_sweep(run.history[-1])):
                        return better()
                if init + 1 >= self.n_init:
                    return better()
                best, init, run = better(), init + 1, None
        except KeyboardInterrupt:
            n_sweeps = len(run.history) if run else 0
            if not self.keep_interrupted or (not n_sweeps and best is None):
                raise
            place = f"sweep {n_sweeps + 1} of start {init + 1} of {self.n_init}"
            warn(f"Interrupted in {place}; the best state so far is kept.", ConvergenceWarning)
            return replace(better(), interrupted=True)

    def _swept(self, engine: Engine, run: Run, seed: int) -> Run:
        state, record = engine.sweep(run.state, len(run.history) + 1, seed)
        if engine.problem.keep_better and record.objective > run.objective:
            # Where rows keep their better points only rounding can do this; the better of the two states stands.
            last = run.history[-1]
            state, record = run.state, replace(record, objective=last.objective, rmse=last.rmse)
        return Run(state, (*run.history, record))

    def _ended(self, history: tuple[Sweep, ...]) -> bool:
        if len(history) >= self.max_iter:
            return True
        if len(history) < 2:
            return False
        before, now = history[-2].objective, history[-1].objective
        return 0.0 <= before - now < self.tol * before or now == 0.0


_STATE = {"theta": "f8 users events", "psi": "f8 items events", "centre": "f8 events", "duals": "f8 * *"}
_STATE |= {"history": "f8 * 5"}
#: Of the descent in hand, and of the best before it where there was one.
_SCHEMA: Schema = {"place": "i8 2", **{f"current_{part}": sizes for part, sizes in _STATE.items()}}
_SCHEMA |= {f"best_{part}?": sizes for part, sizes in _STATE.items()}


class _Checkpoint:
    """The file of a search: its seed, the descent in hand (counted from 0) with its state, and the best one ended."""

    def __init__(self, search: Search, engine: Engine, path: Path) -> None:
        check_writable(path)
        # Everything that shapes the sweeps.
        seed = None if search.any_seed else search.seed
        problem = vars(engine.problem) | {"unobserved": engine.unobserved}
        shape = repr((search.n_events, search.n_init, seed, problem, engine.table.fingerprint()))
        self.path, self._identity = path, hashlib.sha256(shape.encode()).hexdigest()
        self._sizes, self._n_init = (*engine.shape, search.n_events), search.n_init

    def write(self, seed: int, init: int, current: Run, best: Run | None) -> None:
        """Replace the file; states are here."""
        arrays: dict[str, Any] = {"place": np.array([seed, init], dtype=np.int64)}
        for name, run in (("current", current), ("best", best)):
            parts = {} if run is None else vars(run.state) | {"history": history_array(run.history)}
            arrays |= {f"{name}_{part}": array for part, array in parts.items()}
        write(self.path, "checkpoint", {"identity": self._identity}, arrays)

    def read(self) -> tuple[int, int, Run, Run | None]:
        """Return what to go on from."""
        about, arrays = read(self.path, {"checkpoint": _SCHEMA})
        with refusing(self.path):
            if about["identity"] != self._identity:
                raise FileFormatError(
                    f"{self.path} is the checkpoint of another fit (other data, parameters or seed). Delete it or "
                    "choose another path."
                )
            seed, init = arrays["place"].tolist()
            if seed < 0 or not 0 <= init < self._n_init:
                raise InvariantError("its seed or its start is not one of the fit")
            best = self._run("best", arrays) if "best_theta" in arrays else None
            return seed, init, self._run("current", arrays), best

    def _run(self, name: str, arrays: dict[str, NDArray[Any]]) -> Run:
        theta, psi, centre, duals, history = (arrays[f"{name}_{part}"] for part in _STATE)
        warm = duals.shape in ((0, 0), (len(psi), centre.size + 1))
        if (len(theta), len(psi), centre.size) != self._sizes or not warm:
            raise InvariantError("its sizes are not those of the table")
        return Run(State(theta, psi, centre, duals=duals), history_of(history))
