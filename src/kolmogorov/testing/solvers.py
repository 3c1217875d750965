"""What every row solver promises, as classes of tests: one for each family.

A package that brings its own solver checks it in three lines::

    from kolmogorov.testing import BinarySolverContract

    class TestMine(BinarySolverContract):
        solver = MySolver()

Pytest finds the tests by their names; `check_solver(MySolver())` runs them without it. Hypothesis makes the problems
and is imported when the tests run.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kolmogorov.problems import BinaryQP, BoxQP, LevelQP, RidgeQP, SimplexQP, Status
from kolmogorov.problems.quadratic import QuadraticProgram
from kolmogorov.solvers import LevelSolver, RowSolver
from kolmogorov.testing import references
from kolmogorov.testing.contract import RowSolverContract, expect
from kolmogorov.testing.references import Floats


class BinarySolverContract(RowSolverContract):
    """Tests over a solver of the family "binary": {0,1}^D, any symmetric matrix."""

    problem = BinaryQP
    stranger = SimplexQP
    bad_start: ClassVar = [0.5, 1.0]
    ends_of_exact = (Status.OPTIMAL,)

    def problems(self) -> Any:
        """Return problems, convex or not."""
        from kolmogorov.testing.problems import binary_problems

        return binary_problems()

    def best(self, gram: Floats, moment: Floats) -> Floats:
        """Try all points."""
        return references.best_binary(gram, moment)

    def is_feasible(self, x: Floats) -> bool:
        """Tell whether there are only bits."""
        return bool(np.isin(x, (0.0, 1.0)).all())

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Toss coins."""
        return rng.integers(0, 2, size).astype(np.float64)

    def slack(self, problem: QuadraticProgram, best: float) -> float:
        """Allow for rounding, and no more: there are finitely many points."""
        return 1e-9 * (1 + abs(best))

    def tolerance(self, problem: QuadraticProgram) -> float:
        """Allow nothing: a point is the best one or it is not."""
        return 0.0


class LevelSolverContract(RowSolverContract):
    """Tests over a solver of the family "levels": levels^D with the solver's own levels, any symmetric matrix."""

    stranger = BinaryQP
    bad_start: ClassVar = [0.123, 1.0]
    ends_of_exact = (Status.OPTIMAL,)

    @property
    def levels(self) -> Floats:
        """The levels that the solver was made for."""
        assert isinstance(self.solver, LevelSolver)
        return self.solver.grid

    def problem(self, gram: Any, moment: Any, offset: float = 0.0) -> LevelQP:  # type: ignore[override]
        """Return a problem over the solver's levels."""
        return LevelQP(gram, moment, self.levels, offset)

    def problems(self) -> Any:
        """Return problems, convex or not."""
        from kolmogorov.testing.problems import binary_problems

        # About a thousand points.
        return binary_problems(max_size=max(1, int(np.log(1500) / np.log(len(self.levels)))))

    def best(self, gram: Floats, moment: Floats) -> Floats:
        """Try all points."""
        return references.best_on_levels(gram, moment, self.levels)

    def is_feasible(self, x: Floats) -> bool:
        """Tell whether there are only levels."""
        return bool(np.isin(x, self.levels).all())

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw levels evenly."""
        return rng.choice(self.levels, size)

    def slack(self, problem: QuadraticProgram, best: float) -> float:
        """Allow for rounding, and no more: there are finitely many points."""
        return 1e-9 * (1 + abs(best))

    def tolerance(self, problem: QuadraticProgram) -> float:
        """Allow nothing: a point is the best one or it is not."""
        return 0.0


class SimplexSolverContract(RowSolverContract):
    """Tests over a solver of the family "simplex": x >= 0, sum(x) = 1, a positive semidefinite matrix."""

    problem = SimplexQP
    stranger = BinaryQP
    bad_start: ClassVar = [0.5, 1.0]

    def problems(self) -> Any:
        """Return convex problems, some of them singular."""
        from kolmogorov.testing.problems import convex_problems

        return convex_problems()

    def best(self, gram: Floats, moment: Floats) -> Floats:
        """Try all supports."""
        return references.best_on_simplex(gram, moment)

    def is_feasible(self, x: Floats) -> bool:
        """Tell whether the entries are not negative and sum to one, to rounding."""
        return bool((x >= 0).all()) and abs(float(x.sum()) - 1.0) <= 1e-12

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw evenly from the simplex."""
        return rng.dirichlet(np.ones(size))

    def test_it_stays_on_the_simplex_for_large_moments(self) -> None:
        """Numbers of 10^8 beside numbers of 1 leave the sum at one."""
        rng = np.random.default_rng(1)
        for _ in range(200):
            size = int(rng.choice([2, 3, 6, 12]))
            factor = rng.normal(size=(size, size))
            qp = SimplexQP(factor @ factor.T, rng.normal(size=size) * 10.0 ** rng.integers(0, 9))
            got = self.solver.solve(qp)
            expect(self.is_feasible(got.x), f"{got.x} is not on the simplex; its sum is {got.x.sum()!r}")


class BoxSolverContract(RowSolverContract):
    """Tests over a solver of the family "box": [0,1]^D, a positive semidefinite matrix."""

    problem = BoxQP
    stranger = BinaryQP
    bad_start: ClassVar = [0.5, 1.5]

    def problems(self) -> Any:
        """Return convex problems, some of them singular."""
        from kolmogorov.testing.problems import convex_problems

        return convex_problems(max_size=5)

    def best(self, gram: Floats, moment: Floats) -> Floats:
        """Try all choices of entries at the ends."""
        return references.best_in_box(gram, moment)

    def is_feasible(self, x: Floats) -> bool:
        """Tell whether every entry is between 0 and 1."""
        return bool(((x >= 0) & (x <= 1)).all())

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw evenly from the box."""
        return rng.random(size)

    def slack(self, problem: QuadraticProgram, best: float) -> float:
        """Allow for the rounding of the reference, which solves singular systems."""
        return 1e-6 * (1 + float(np.abs(problem.gram).max()))


class RidgeSolverContract(RowSolverContract):
    """Tests over a solver of the family "ridge": all of R^D, a positive semidefinite matrix."""

    problem = RidgeQP
    stranger = BinaryQP
    bad_start: ClassVar = [0.5, float("inf")]

    def problems(self) -> Any:
        """Return convex problems that have a minimum."""
        from kolmogorov.testing.problems import ridge_problems

        return ridge_problems()

    def best(self, gram: Floats, moment: Floats) -> Floats:
        """Solve the linear system."""
        return references.best_without_limits(gram, moment)

    def is_feasible(self, x: Floats) -> bool:
        """Tell whether there are only numbers."""
        return bool(np.isfinite(x).all())

    def start(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw from a normal distribution."""
        return rng.normal(size=size)

    def slack(self, problem: QuadraticProgram, best: float) -> float:
        """Allow for the rounding of singular systems."""
        return 1e-6 * (1 + float(np.abs(problem.gram).max()) * float(np.abs(problem.moment).max()))


#: The suite of each family.
CONTRACTS: dict[str, type[RowSolverContract]] = {
    "binary": BinarySolverContract,
    "levels": LevelSolverContract,
    "simplex": SimplexSolverContract,
    "box": BoxSolverContract,
    "ridge": RidgeSolverContract,
}


def check_solver(solver: RowSolver, *, never_worse: bool | None = None, n_examples: int = 100) -> None:
    """Run the suite of the solver's family, without pytest; the first promise that is broken raises.

    Parameters
    ----------
    solver : RowSolver
    never_worse : bool, optional
        Whether a point is promised that is no worse than the start; by default where the solver is exact.
    n_examples : int
        Random problems for each of the tests that take some.

    Examples
    --------
    >>> from kolmogorov.solvers import resolve
    >>> check_solver(resolve("ridge", "cholesky"), n_examples=5)
    """
    suite = CONTRACTS[solver.family]()
    suite.solver, suite.never_worse, suite.n_examples = solver, never_worse, n_examples
    for name in dir(suite):
        if name.startswith("test_"):
            getattr(suite, name)()
