"""What a solver of each family promises, as classes of tests.

A package that brings its own solver checks it in three lines::

    from kolmogorov.testing import BinarySolverContract

    class TestMine(BinarySolverContract):
        solver = MySolver()

Pytest finds the tests by their names; `check_solver(MySolver())` runs them without it. Hypothesis makes the problems
and is imported when the tests run.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.problems import BinaryQP, BoxQP, RidgeQP, SimplexQP, Status
from kolmogorov.problems.quadratic import QuadraticProgram
from kolmogorov.solvers import RowSolver
from kolmogorov.testing import references
from kolmogorov.testing.contract import RowSolverContract, expect


class _FiniteContract(RowSolverContract):
    """Where there are finitely many points one is the best or it is not; only the value is rounded."""

    strategy = "binary_problems"
    ends_of_exact = (Status.OPTIMAL,)

    def _slack(self, problem: QuadraticProgram, best: float) -> float:
        return 1e-9 * (1 + abs(best))

    def _tolerance(self, problem: QuadraticProgram) -> float:
        return 0.0


class BinarySolverContract(_FiniteContract):
    """Tests over a solver of the family "binary": {0,1}^D, any symmetric matrix."""

    problem = BinaryQP
    stranger = SimplexQP
    bad_start: ClassVar = [0.5, 1.0]

    def _best(self, gram: Floats, moment: Floats) -> Floats:
        return references.best_binary(gram, moment)

    def _is_feasible(self, x: Floats) -> bool:
        return bool(np.isin(x, (0.0, 1.0)).all())

    def _start(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.integers(0, 2, size).astype(np.float64)


class SimplexSolverContract(RowSolverContract):
    """Tests over a solver of the family "simplex": x >= 0, sum(x) = 1, a positive semidefinite matrix."""

    problem = SimplexQP
    stranger = BinaryQP
    bad_start: ClassVar = [0.5, 1.0]

    def _best(self, gram: Floats, moment: Floats) -> Floats:
        return references.best_on_simplex(gram, moment)

    def _is_feasible(self, x: Floats) -> bool:
        return bool((x >= 0).all()) and abs(float(x.sum()) - 1.0) <= 1e-12

    def _start(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.dirichlet(np.ones(size))

    def test_it_stays_on_the_simplex_for_large_moments(self) -> None:
        """Numbers of 10^8 beside numbers of 1 leave the sum at one."""
        rng = np.random.default_rng(1)
        for _ in range(200):
            size = int(rng.choice([2, 3, 6, 12]))
            factor = rng.normal(size=(size, size))
            qp = SimplexQP(factor @ factor.T, rng.normal(size=size) * 10.0 ** rng.integers(0, 9))
            got = self.solver.solve(qp)
            expect(self._is_feasible(got.x), f"{got.x} is not on the simplex; its sum is {got.x.sum()!r}")


class BoxSolverContract(RowSolverContract):
    """Tests over a solver of the family "box": [0,1]^D, a positive semidefinite matrix."""

    problem = BoxQP
    stranger = BinaryQP
    bad_start: ClassVar = [0.5, 1.5]
    max_size = 5

    def _best(self, gram: Floats, moment: Floats) -> Floats:
        return references.best_in_box(gram, moment)

    def _is_feasible(self, x: Floats) -> bool:
        return bool(((x >= 0) & (x <= 1)).all())

    def _start(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.random(size)

    def _slack(self, problem: QuadraticProgram, best: float) -> float:
        # The reference solves singular systems.
        return 1e-6 * (1 + float(np.abs(problem.gram).max()))


class RidgeSolverContract(RowSolverContract):
    """Tests over a solver of the family "ridge": all of R^D, a positive semidefinite matrix."""

    problem = RidgeQP
    stranger = BinaryQP
    bad_start: ClassVar = [0.5, float("inf")]
    strategy = "ridge_problems"

    def _best(self, gram: Floats, moment: Floats) -> Floats:
        return references.best_without_limits(gram, moment)

    def _is_feasible(self, x: Floats) -> bool:
        return bool(np.isfinite(x).all())

    def _start(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.normal(size=size)

    def _slack(self, problem: QuadraticProgram, best: float) -> float:
        # The systems may be singular.
        return 1e-6 * (1 + float(np.abs(problem.gram).max()) * float(np.abs(problem.moment).max()))


#: The suite of each family.
CONTRACTS: dict[str, type[RowSolverContract]] = {
    "binary": BinarySolverContract,
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
