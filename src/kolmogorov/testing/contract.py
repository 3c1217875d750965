"""What every row solver promises, whatever its family."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Counts, Floats
from kolmogorov.errors import DataError, SolverMismatchError
from kolmogorov.problems import Status
from kolmogorov.problems.quadratic import QuadraticProgram
from kolmogorov.solvers import RowSolver, names, resolve


class RowSolverContract:
    """Tests over one solver; subclasses say what its family's set is.

    Attributes
    ----------
    solver : RowSolver
        The solver to be judged.
    never_worse : bool or None
        Whether a point is promised that is no worse than the start. None: where the solver declares itself exact.
    n_examples : int
        Random problems for each of the tests that take some.
    """

    solver: RowSolver
    never_worse: bool | None = None
    n_examples: int = 100

    problem: ClassVar[type[QuadraticProgram]]
    stranger: ClassVar[type[QuadraticProgram]]  #: another family's problem
    bad_start: ClassVar[list[float]]
    #: How a solver may end that declares itself exact; iterations towards a tolerance may run out, and say so.
    ends_of_exact: ClassVar[tuple[Status, ...]] = (Status.OPTIMAL, Status.ITERATION_LIMIT)

    # What a family says: which problems of `testing.problems` Hypothesis draws, the optimum found slowly, whether a
    # point is in the set, some point of it, how far a value may lie from the optimum by rounding alone, and how far
    # above it a point may lie that the solver calls optimal.
    strategy: ClassVar[str] = "convex_problems"
    max_size: ClassVar[int | None] = None

    def _best(self, gram: Floats, moment: Floats) -> Floats:
        raise NotImplementedError

    def _is_feasible(self, x: Floats) -> bool:
        raise NotImplementedError

    def _start(self, rng: np.random.Generator, size: int) -> Floats:
        raise NotImplementedError

    def _slack(self, problem: QuadraticProgram, best: float) -> float:
        return 1e-8 * (1 + float(np.abs(problem.gram).max()))

    def _tolerance(self, problem: QuadraticProgram) -> float:
        return 2 * float(getattr(self.solver, "tol", 0.0)) * float(np.diag(problem.gram).max())

    def test_it_says_what_it_found(self) -> None:
        """The point is in the set, its value is the problem's, no bound is above the optimum, and proofs hold."""

        def check(problem: tuple[Floats, Floats]) -> None:
            qp = self.problem(*problem)
            got = self.solver.solve(qp)
            best = qp.value(self._best(qp.gram, qp.moment))
            slack = self._slack(qp, best)
            expect(self._is_feasible(got.x), f"{got.x} is not in the set of a {type(qp).__name__}")
            expect(got.value == qp.value(got.x), f"says its value is {got.value}, which is {qp.value(got.x)}")
            expect(got.value >= best - slack, f"says its value is {got.value}, below the optimum {best}")
            if self.solver.exact:
                expect(got.status in self.ends_of_exact, f"declares itself exact and ends with {got.status}")
            if got.status is Status.OPTIMAL:
                expect(
                    got.value <= best + self._tolerance(qp) + slack, f"calls {got.value} optimal; the optimum is {best}"
                )
            if got.lower_bound is not None:
                expect(
                    got.lower_bound <= best + slack,
                    f"says nothing is below {got.lower_bound}; the optimum is {best}",
                )

        self._for_all(check)

    def test_an_offset_is_carried_through(self) -> None:
        """A constant in the problem moves the value and the bound, and not the point."""
        rng = np.random.default_rng(3)
        gram, moment = _some(rng, 1, 4)
        plain = self.solver.solve(self.problem(gram[0], moment[0]))
        moved = self.solver.solve(self.problem(gram[0], moment[0], 7.0))
        expect(np.array_equal(plain.x, moved.x), "another point for a problem with an offset")
        expect(moved.value == plain.value + 7.0, f"value {moved.value} with an offset of 7, {plain.value} without")
        if plain.lower_bound is not None and moved.lower_bound is not None:
            expect(abs(moved.lower_bound - plain.lower_bound - 7.0) < 1e-9, "the bound does not move with the offset")

    def test_rows_are_solved_alike_in_any_batch(self) -> None:
        """Together, alone or in parts, in this order or another, rows come out with the same bits."""
        rng = np.random.default_rng(0)
        size, n = 6, 9
        gram, moment = _some(rng, n, size)
        start = np.stack([self._start(rng, size) for _ in range(n)])
        seeds = np.arange(n, dtype=np.uint64) * np.uint64(12345)

        def solved(rows: Counts) -> Floats:
            return self.solver.solve_batch(gram[rows], moment[rows], start[rows], seeds[rows])

        together = solved(np.arange(n))
        expect(together.shape == (n, size), f"a batch of {n} problems in {size} variables gives {together.shape}")
        for parts in ([[k] for k in range(n)], [[0, 1, 2, 3], [4, 5, 6, 7, 8]], [list(range(n))[::-1]]):
            found = np.empty_like(together)
            for part in parts:
                found[part] = solved(np.array(part))
            expect(np.array_equal(found, together), f"rows dealt out as {parts} come out with other bits")

    def test_arguments_are_left_alone(self) -> None:
        """A batch does not change what it is given."""
        rng = np.random.default_rng(1)
        gram, moment = _some(rng, 4, 5)
        start = np.stack([self._start(rng, 5) for _ in range(4)])
        given = (gram, moment, start, np.arange(4, dtype=np.uint64))
        before = [array.copy() for array in given]
        self.solver.solve_batch(*given)
        for name, array, old in zip(("gram", "moment", "start", "seeds"), given, before, strict=True):
            expect(np.array_equal(array, old), f"changes its argument '{name}'")

    def test_seeds_alone_decide(self) -> None:
        """The same seeds give the same bits, and NumPy's global generator is neither read nor moved."""
        rng = np.random.default_rng(2)
        gram, moment = _some(rng, 3, 8)
        start = np.stack([self._start(rng, 8) for _ in range(3)])
        seeds = row_seeds(5, 1, 0, np.arange(3))
        found = []
        for number in (1, 2):
            np.random.seed(number)  # noqa: NPY002 (it must make no difference)
            before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]  # noqa: NPY002
            found.append(self.solver.solve_batch(gram, moment, start, seeds))
            after = np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
            expect(np.array_equal(before, after), "draws from NumPy's global generator; seeds come with the batch")
        expect(np.array_equal(found[0], found[1]), "other bits from the same seeds")
        qp = self.problem(gram[0], moment[0])
        twice = [self.solver.solve(qp, random_state=3).x for _ in range(2)]
        expect(np.array_equal(twice[0], twice[1]), "other bits from the same random_state")

    def test_it_is_never_worse_than_its_start(self) -> None:
        """Where that is promised, by `never_worse` or by being exact."""
        if not (self.solver.exact if self.never_worse is None else self.never_worse):
            return

        def check(problem: tuple[Floats, Floats]) -> None:
            qp = self.problem(*problem)
            start = self._start(np.random.default_rng(4), qp.size)
            got, before = self.solver.solve(qp, start=start), qp.value(start)
            expect(
                got.value <= before + self._tolerance(qp) + self._slack(qp, before),
                f"goes from {before} up to {got.value}",
            )

        self._for_all(check)

    def test_limits_are_declared(self) -> None:
        """Too many variables, another family's problem and a start outside the set are early, named errors."""
        limit = self.solver.max_variables
        if limit is not None:
            message = refusal(SolverMismatchError, lambda: self.solver.check_size(limit + 1))
            expect(self.solver.unlimited in message, f"the refusal names no solver without the limit: {message}")
        other = resolve(self.solver.family, self.solver.unlimited)
        expect(other.max_variables is None, f"'{self.solver.unlimited}' is named as unlimited and has a limit")
        refusal(SolverMismatchError, lambda: self.solver.solve(self.stranger(np.eye(2), [0.0, 0.0])))
        qp = self.problem(np.eye(2), [0.0, 0.0])
        refusal(DataError, lambda: self.solver.solve(qp, start=self.bad_start))
        refusal(DataError, lambda: self.solver.solve(qp, start=[1.0]))

    def test_its_options_make_it_again(self) -> None:
        """A solver is stored with a model by name and options, and sent to workers."""
        solver = self.solver
        expect(isinstance(solver.name, str) and solver.name.isidentifier(), f"{solver.name!r} is no name for a solver")
        again = type(solver)(**solver.options())
        expect(again == solver, f"its options make {again!r}")
        expect(pickle.loads(pickle.dumps(solver)) == solver, "comes back from pickle as another one")
        known = solver.name in names(solver.family) and type(resolve(solver.family, solver.name)) is type(solver)
        if known:
            expect(resolve(solver.family, solver.name, **solver.options()) == solver, "is another one by its name")

    def _for_all(self, check: Callable[[tuple[Floats, Floats]], None]) -> None:
        # A function made here belongs to one subclass; Hypothesis does not like tests that are inherited.
        from hypothesis import HealthCheck, given, settings

        from kolmogorov.testing import problems

        size = {} if self.max_size is None else {"max_size": self.max_size}
        quiet = settings(
            max_examples=self.n_examples,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow],
        )
        quiet(given(getattr(problems, self.strategy)(**size))(check))()  # type: ignore[no-untyped-call]


def expect(holds: bool, otherwise: str) -> None:
    """Raise an AssertionError that says what was found; unlike assert it stays under ``python -O``."""
    if not holds:
        raise AssertionError(otherwise)


def refusal(error: type[Exception], work: Callable[[], Any]) -> str:
    """Return the message with which `work` is refused."""
    try:
        found = work()
    except error as refused:
        return str(refused)
    raise AssertionError(f"{error.__name__} was expected, got {found!r}")


def _some(rng: np.random.Generator, n: int, size: int) -> tuple[Floats, Floats]:
    """Return n convex problems that every family takes."""
    factor = rng.normal(size=(n, size, size + 2))
    return factor @ factor.transpose(0, 2, 1), rng.normal(size=(n, size))
