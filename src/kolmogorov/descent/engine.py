"""Algorithm 4: half-steps that solve all rows of a side, sweeps of both, and the loop over sweeps and starts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.progress import says_stop, warn
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import (
    check_array,
    check_between,
    check_bits,
    check_finite,
    check_simplex,
)
from kolmogorov.data.observations import Observations, check_trainable
from kolmogorov.data.view import View
from kolmogorov.descent.files import read, refusing, write
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Mass, Partners, Problem, UserTotals, squares_of
from kolmogorov.errors import ConvergenceWarning, FileFormatError, InvariantError
from kolmogorov.solvers import RowSolver
from kolmogorov.solvers.rows import batch_values, keep_better
from kolmogorov.solvers.simplex import ActiveSet

#: From so many threads and observations on it pays to have rows made and solved in one compiled call: below, threads
#: hardly wait for each other between calls, and some seconds of compilation more would be noticed. By
#: judgement; `benchmarks/threads.py large` times such a table.
_CROWD, _LARGE = 4, 1 << 19


@dataclass(frozen=True, eq=False)
class HalfStep:
    """How the rows of one side are solved: the solver, the ridge, what it shrinks to, and the seed.

    With `keep_better` a row whose solver returns a worse point than it has stays as it is. Where the rows are part of a
    larger table, `offset` is the number of the first. Entries that were not observed count as a no of weight
    `unobserved`. A table of `large` observations or more is worth calls that make and solve rows in one go.
    """

    solver: RowSolver
    ridge: float
    centre: Floats
    seed: int
    sweep: int
    side: int
    offset: int = 0
    unobserved: float = 0.0
    keep_better: bool = True
    large: int = _LARGE

    @classmethod
    def of_items(cls, problem: Problem, centre: Floats, seed: int, sweep: int) -> HalfStep:
        """Return how items are solved in a sweep."""
        step = cls(problem.item_solver, problem.objective.item_reg, centre, seed, sweep, ITEM_SIDE)
        return replace(step, unobserved=problem.unobserved, keep_better=problem.keep_better)

    @classmethod
    def of_users(cls, problem: Problem, centre: Floats, seed: int, sweep: int) -> HalfStep:
        """Return how users are solved in a sweep."""
        step = cls(problem.user_solver, problem.objective.user_reg, centre, seed, sweep, USER_SIDE)
        return replace(step, unobserved=problem.unobserved, keep_better=problem.keep_better)

    def run(self, view: View, factors: Floats, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values.

        The value of a row is x^T gram x - 2 x^T moment.
        """
        size, partners = current.shape[1], Partners.of(factors, view, self.unobserved)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            memory = dealer.scratch((last - first) * (size + 1) * size)
            return partners.equations(view, first, last, self.ridge, self.centre, memory=memory)

        crowded = dealer.n_threads >= _CROWD and view.indices.size >= self.large
        if crowded and isinstance(self.solver, ActiveSet) and not self.unobserved and self.keep_better:
            return self._run_compiled(self.solver, view, partners, current, dealer)
        seeds = self._seeds(len(current))
        return solved_rows(self.solver, equations, current, seeds, dealer, view.indptr, keeping=self.keep_better)

    def _run_compiled(
        self, solver: ActiveSet, view: View, partners: Partners, current: Floats, dealer: Threads
    ) -> tuple[Floats, Floats]:
        """Run by the solver that makes its rows' normal equations itself."""
        plain = partners.bits is not None and not view.weights.size
        bits = partners.bits if plain else np.empty(0, dtype=np.uint64)
        pull = (self.ridge, self.centre, current)
        table = (view.indptr, view.indices, view.values, view.weights, partners.factors, bits, *pull)
        result, values = np.empty_like(current), np.empty(len(current))

        def share(first: int, last: int) -> None:
            solver.solve_rows(table, first, last, result, values)
            view.forget(first, last)

        squares = current.shape[1] ** 2
        dealer.deal(share, len(current), squares, view.indptr, squares, solver.row_cost(current.shape[1]))
        return result, values

    def solved(self, gram: Floats, moment: Floats, start: Floats) -> Floats:
        """Solve rows from their normal equations."""
        seeds, dealer = self._seeds(len(start)), Threads(1)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            return gram[first:last], moment[first:last]

        return solved_rows(self.solver, equations, start, seeds, dealer, keeping=self.keep_better)[0]

    def _seeds(self, count: int) -> NDArray[np.uint64]:
        return row_seeds(self.seed, self.sweep, self.side, np.arange(self.offset, self.offset + count))


def solved_rows(
    solver: RowSolver,
    equations: Callable[[int, int], tuple[Floats, Floats]],
    start: Floats,
    seeds: NDArray[np.uint64],
    dealer: Threads,
    indptr: NDArray[np.int64] | None = None,
    *,
    keeping: bool = True,
) -> tuple[Floats, Floats]:
    """Solve rows whose Gram matrices and moments `equations` makes share by share; return them and their values.

    When `keeping`, a row whose solver returns a worse point than where it starts stays there.
    """
    result, values = np.empty_like(start), np.empty(len(start))
    squares = start.shape[1] ** 2

    def share(first: int, last: int) -> None:
        rows = slice(first, last)
        gram, moment = equations(first, last)
        result[rows] = solver.solve(gram, moment, start[rows], seeds[rows])
        if keeping:
            keep_better(gram, moment, start[rows], result[rows], values[rows])
        else:
            batch_values(gram, moment, result[rows], values[rows])

    dealer.deal(share, len(start), squares, indptr, squares, solver.row_cost(start.shape[1]))
    return result, values


#: Of an error or a time; its square is a number still.
_LARGEST = 1e100


# --- one record per sweep ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """What a sweep reached and what it cost. Fields are attributes and items: `s.rmse` and `s["rmse"]`.

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

    def validate(self) -> None:
        """Raise `InvariantError` where the record is none; for records that come from a file."""
        counted = type(self.sweep) is int and self.sweep >= 1
        numbers = [getattr(self, name) for name in self.keys() if name != "sweep"]
        if not counted or not all(type(n) is float and 0.0 <= n <= _LARGEST for n in numbers):
            raise InvariantError(f"a record of a sweep must hold a count and numbers from 0 to {_LARGEST:g}")

    def keys(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return (field.name for field in fields(self))

    def __getitem__(self, name: str) -> Any:
        try:
            return asdict(self)[name]
        except KeyError:
            raise KeyError(f"A sweep has {', '.join(self.keys())}; got {name!r}.") from None


def history_array(history: tuple[Sweep, ...]) -> NDArray[np.float64]:
    """Return the records as rows of numbers, for a file."""
    return np.array([astuple(sweep) for sweep in history], dtype=np.float64).reshape(-1, len(fields(Sweep)))


def history_of(table: NDArray[Any]) -> tuple[Sweep, ...]:
    """Undo `history_array`; what is no history is an `InvariantError`."""
    check_array("the history", table, np.float64, (None, len(fields(Sweep))))
    check_finite("the history", table)
    history = tuple(Sweep(int(row[0]), *row[1:]) for row in table.tolist())
    for number, sweep in enumerate(history, start=1):
        sweep.validate()
        if sweep.sweep != number:
            raise InvariantError("the sweeps of the history are not numbered from 1")
    return history


#: What an engine keeps between two sweeps: a `State`, or what stands for one where theta is on other machines.
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class State:
    """The factors between two sweeps. Arrays are never changed in place.

    Supports are kept as floats because the normal equations multiply them. The centre is what theta was shrunk to when
    it was last updated.
    """

    theta: Floats
    psi: Floats
    centre: Floats

    def validate(self, n_users: int, n_items: int, n_events: int, *, binary: bool) -> None:
        """Raise `InvariantError` where the arrays are not factors of such a table; for arrays that come from a file."""
        check_array("theta", self.theta, np.float64, (n_users, n_events))
        check_array("psi", self.psi, np.float64, (n_items, n_events))
        check_array("the centre", self.centre, np.float64, (n_events,))
        check_simplex("theta", self.theta)
        check_simplex("the centre", self.centre)
        if binary:
            check_bits("psi", self.psi)
        check_between("psi", self.psi, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Run(Generic[S]):
    """One descent: where it is, how it came there, and whether Ctrl-C ended it."""

    state: S
    history: tuple[Sweep, ...] = ()
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective reached; infinite before the first sweep."""
        return self.history[-1].objective if self.history else float("inf")


class Engine(Protocol[S]):
    """Sweeps over one table, be it of ratings or completed. `S` is what it keeps between two sweeps."""

    def start(self, rng: np.random.Generator, n_events: int) -> S:
        """Draw thetas on the simplex; psi follows from them in the first half-step."""

    def sweep(self, state: S, index: int, seed: int) -> tuple[S, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""

    def spread(self, state: State) -> S:
        """Take over a state that was collected."""

    def collect(self, state: S) -> State:
        """Return a state whose arrays are all here."""


class RatingsEngine(Engine[S], ABC):
    """An engine over a table of ratings, wherever that is, with everything in its problem settled.

    Parameters
    ----------
    problem : Problem
    table : Observations or DistributedTable
    mass : Mass
        Of the table.
    seen_users : bool[n_users]
        Which users the fit learns something of: those with observations, or all where the unobserved counts.
    """

    def __init__(self, problem: Problem, table: Any, mass: Mass, seen_users: NDArray[np.bool_]) -> None:
        self._table = table
        self.shape = table.n_users, table.n_items
        self.seen_users = seen_users
        self.problem = problem.settled(mass, *self.shape)
        self._mass = mass.of_table(self.problem.unobserved, table.n_users * table.n_items)
        self._item_centre = self.problem.item_centre(self._mass)

    def fingerprint(self) -> str:
        """Return a digest of everything in the table that a fit depends on."""
        digest: str = self._table.fingerprint()
        return digest

    def sweep(self, state: S, index: int, seed: int) -> tuple[S, Sweep]:
        """Update the centre, every psi_i and every theta_u once; `index` counts from 1."""
        problem, objective = self.problem, self.problem.objective
        centre = objective.centre(self._theta_total(state), int(self.seen_users.sum()))
        began = time.perf_counter()
        psi = self._items(state, HalfStep.of_items(problem, np.full_like(centre, self._item_centre), seed, index))
        between = time.perf_counter()
        new, totals = self._users(state, psi, HalfStep.of_users(problem, centre, seed, index))
        ended = time.perf_counter()
        squares = self._squares(psi, centre.size) if objective.item_reg else 0.0
        reached, rmse = objective.quality(totals, squares, centre, self.shape[0], self._mass)
        return new, Sweep(index, reached, rmse, ended - between, between - began)

    def _first_psi(self, n_events: int) -> Floats:
        return np.zeros((self.shape[1], n_events))

    @abstractmethod
    def observations(self) -> Observations:
        """Return the table, here."""

    @abstractmethod
    def _theta_total(self, state: S) -> Floats:
        """Return the sum of the thetas of the users seen."""

    @abstractmethod
    def _items(self, state: S, step: HalfStep) -> Any:
        """Return new psis."""

    @abstractmethod
    def _users(self, state: S, psi: Any, step: HalfStep) -> tuple[S, UserTotals]:
        """Return the state with new psis and thetas, and what the objective needs to know of the users."""

    def _squares(self, psi: Any, n_events: int) -> float:
        """Return the sum of the squared distances of psi from what its ridge draws to."""
        return squares_of(psi, self._item_centre)


class TableEngine(RatingsEngine[S]):
    """An engine on one table in memory, or mapped into it."""

    def __init__(self, problem: Problem, table: Observations) -> None:
        seen = problem.objective.counted(table.rows.counts)
        super().__init__(problem, table, Mass.of(table.rows), seen)

    def start(self, rng: np.random.Generator, n_events: int) -> S:
        """Draw theta uniformly on the simplex; psi follows from it in the first half-step."""
        theta = rng.dirichlet(np.ones(n_events), size=self.shape[0])
        return self.spread(State(theta, self._first_psi(n_events), np.full(n_events, 1.0 / n_events)))

    def observations(self) -> Observations:
        """Return the table."""
        table: Observations = self._table
        return table


class ThreadedEngine(TableEngine[State]):
    """The engine with rows dealt to threads."""

    def __init__(self, problem: Problem, table: Observations, dealer: Threads) -> None:
        super().__init__(problem, table)
        self._dealer = dealer

    def spread(self, state: State) -> State:
        """Take over a state that was collected; here it is one already."""
        return state

    def collect(self, state: State) -> State:
        """Return a state whose arrays are all here."""
        return state

    def _theta_total(self, state: State) -> Floats:
        total: Floats = state.theta[self.seen_users].sum(axis=0)
        return total

    def _items(self, state: State, step: HalfStep) -> Floats:
        self._table.rows.check_intact()
        return step.run(self._table.columns, state.theta, state.psi, self._dealer)[0]

    def _users(self, state: State, psi: Floats, step: HalfStep) -> tuple[State, UserTotals]:
        theta, values = step.run(self._table.rows, psi, state.theta, self._dealer)
        return State(theta, psi, step.centre), UserTotals.of(theta, values, step.centre, self.seen_users)


@contextmanager
def threaded_engine(execution: Threads, problem: Problem, table: Observations) -> Iterator[ThreadedEngine]:
    """Open the engine on threads."""
    check_trainable(table, only_yes=problem.objective.unobserved != 0.0)
    with execution as dealer:
        yield ThreadedEngine(problem, table, dealer)


KIND, _RUNS = "checkpoint", ("current", "best")
_STATE = {"theta": "f8 users events", "psi": "f8 items events", "centre": "f8 events", "history": "f8 * 5"}
#: A file holds no best descent before the first has ended.
SCHEMA = {f"{run}_{part}{'?' * (run == 'best')}": sizes for run in _RUNS for part, sizes in _STATE.items()}


@dataclass(frozen=True, eq=False)
class FitProgress(Generic[S]):
    """A fit under way: its seed, the descent in hand (`init` counts them from 0) and the best finished one."""

    seed: int
    init: int
    current: Run[S]
    best: Run[State] | None = None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file that always holds the last whole `FitProgress` of one particular fit."""

    path: Path
    #: Digest of the data and of the parameters that shape the fit. A file of another fit is refused.
    identity: str
    #: It must be the file's; None takes up the file's, whatever it is.
    seed: int | None
    #: Users, items, events: compiled code relies on the arrays having it.
    shape: tuple[int, int, int]
    binary: bool
    n_init: int

    def write(self, progress: FitProgress[State]) -> None:
        """Replace the file."""
        meta = {"identity": self.identity, "seed": progress.seed, "init": progress.init}
        arrays: dict[str, NDArray[Any]] = {}
        for name, run in zip(_RUNS, (progress.current, progress.best), strict=True):
            if run is not None:
                arrays |= {f"{name}_{part}": array for part, array in vars(run.state).items()}
                arrays[f"{name}_history"] = history_array(run.history)
        write(self.path, KIND, meta, arrays)

    def read(self) -> FitProgress[State] | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        meta, arrays = read(self.path, {KIND: SCHEMA})
        with refusing(self.path):
            if meta["identity"] != self.identity or self.seed not in (None, meta["seed"]):
                raise FileFormatError(
                    f"{self.path} is the checkpoint of another fit (other data, parameters or seed). Delete it or "
                    "choose another path."
                )
            seed, init = meta["seed"], meta["init"]
            if type(seed) is not int or not 0 <= seed < 2**63 or type(init) is not int or not 0 <= init < self.n_init:
                raise InvariantError("its seed or its start is not valid")
            best = self._run("best", arrays) if "best_theta" in arrays else None
            return FitProgress(seed, init, self._run("current", arrays), best)

    def _run(self, name: str, arrays: dict[str, NDArray[Any]]) -> Run[State]:
        state = State(*(arrays[f"{name}_{part}"] for part in ("theta", "psi", "centre")))
        state.validate(*self.shape, binary=self.binary)
        return Run(state, history_of(arrays[f"{name}_history"]))


# Places of the random streams that do not belong to a sweep.
_START, _INIT = 1, 2


@dataclass(frozen=True)
class MultiStart(Generic[S]):
    """Runs `n_init` descents of at most `max_iter` sweeps and keeps the best.

    A descent ends when a sweep lowers the objective by less than `tol` of itself, or when `on_sweep`
    returns True, Python's or NumPy's, which also ends the fit. With `keep_better` a sweep that raises it is undone.
    """

    engine: Engine[S]
    n_events: int
    seed: int
    n_init: int
    max_iter: int
    tol: float
    on_sweep: Callable[[Sweep], Any] | None = None
    checkpoint: Checkpoint | None = None
    start: Run[State] | None = None
    keep_interrupted: bool = True
    keep_better: bool = True

    def run(self) -> Run[State]:
        """Descend, from the checkpoint if there is one; after Ctrl-C return the best so far, if that is wanted."""
        found = self.checkpoint.read() if self.checkpoint else None
        if found is None:
            progress = FitProgress(self.seed, 0, self._start(self.seed, 0))
        else:
            run = Run(self.engine.spread(found.current.state), found.current.history)
            progress = FitProgress(found.seed, found.init, run, found.best)
        try:
            while True:
                while not self._finished(progress.current):
                    current = self._step(progress)
                    progress = replace(progress, current=current)
                    if self.checkpoint:
                        here = self._collected(current)
                        self.checkpoint.write(FitProgress(progress.seed, progress.init, here, progress.best))
                    if self.on_sweep is not None and says_stop(self.on_sweep(current.history[-1])):
                        return self._better(progress)
                if progress.init + 1 >= self.n_init:
                    return self._better(progress)
                init = progress.init + 1
                progress = FitProgress(progress.seed, init, self._start(progress.seed, init), self._better(progress))
        except KeyboardInterrupt:
            if not self.keep_interrupted or (not progress.current.history and progress.best is None):
                raise
            best = self._better(progress)
            warn(
                f"Interrupted in sweep {len(progress.current.history) + 1} of start {progress.init + 1} of "
                f"{self.n_init}; the best state so far is kept.",
                ConvergenceWarning,
            )
            return replace(best, interrupted=True)

    def _start(self, seed: int, init: int) -> Run[S]:
        if init == 0 and self.start is not None:
            return Run(self.engine.spread(self.start.state), self.start.history)
        return Run(self.engine.start(generator(seed, _START, init), self.n_events))

    def _step(self, progress: FitProgress[S]) -> Run[S]:
        run = progress.current
        seed = int(row_seeds(progress.seed, 0, _INIT, np.array([progress.init]))[0])
        state, record = self.engine.sweep(run.state, len(run.history) + 1, seed)
        if self.keep_better and record.objective > run.objective:
            # Where rows keep their better points only rounding can do this; the better of the two states stands.
            last = run.history[-1]
            state, record = run.state, replace(record, objective=last.objective, rmse=last.rmse)
        return Run(state, (*run.history, record))

    def _finished(self, run: Run[S]) -> bool:
        if len(run.history) >= self.max_iter:
            return True
        if len(run.history) < 2:
            return False
        before, now = run.history[-2].objective, run.history[-1].objective
        return 0.0 <= before - now < self.tol * before or now == 0.0

    def _better(self, progress: FitProgress[S]) -> Run[State]:
        best = progress.best
        if best is not None and best.objective <= progress.current.objective:
            return best
        return self._collected(progress.current)

    def _collected(self, run: Run[S]) -> Run[State]:
        return Run(self.engine.collect(run.state), run.history)
