"""The contract suite over every registered solver of every family, and what single solvers say besides."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings

import naive
from helpers.processes import printed
from helpers.strategies import binary_problems, simplex_problems
from kolmogorov.errors import DataError, ParameterError, SolverMismatchError
from kolmogorov.problems import BinaryQP, RidgeQP, SimplexQP, Status
from kolmogorov.solvers import Batch, BinarySolver, names, registry, resolve
from kolmogorov.testing import (
    BinarySolverContract,
    BoxSolverContract,
    RidgeSolverContract,
    SimplexSolverContract,
    check_solver,
)
from kolmogorov.testing.families import CONTRACTS

#: Solvers that every run of the tests looks at; those of the others take longest to compile.
USUAL = {"auto", "exhaustive", "local_search", "enhanced_gd", "pairwise", "active_set", "coordinate", "cholesky"}
#: Solvers that descend from their start, though they are not exact.
DESCENDING = {"auto", "coordinate", "local_search", "dmo", "frank_wolfe", "away_steps"}


def every(family, **more):
    """A fixture that hands each registered solver of a family, and some with options, to the suite."""
    solvers = {name: (name, {}) for name in names(family)} | more
    long = pytest.mark.long("solvers beside the usual")

    @pytest.fixture(autouse=True, params=[pytest.param(name, marks=() if name in USUAL else long) for name in solvers])
    def solver(self, request):
        made, options = solvers[request.param]
        if made == "sdr":
            pytest.importorskip("clarabel", reason="needs the extra 'sdp'")
        self.solver = resolve(family, made, **options) if isinstance(made, str) else made
        self.never_worse = True if request.param in DESCENDING else None

    return solver


class TestBinarySolvers(BinarySolverContract):
    given_solver = every(
        "binary",
        lanczos=("enhanced_gd", {"evd": "lanczos"}),
        initial_step=("enhanced_gd", {"initial_step": True}),
    )


class TestSimplexSolvers(SimplexSolverContract):
    given_solver = every("simplex", away_steps=("frank_wolfe", {"away_steps": True}))


class TestBoxSolvers(BoxSolverContract):
    given_solver = every("box")


class TestRidgeSolvers(RidgeSolverContract):
    given_solver = every("ridge")


def test_every_family_has_a_suite():
    assert set(CONTRACTS) == set(registry._TARGETS)


@dataclass(frozen=True)
class Liar(BinarySolver):
    """Breaks one promise at a time."""

    lie: str

    name = "liar"

    def _solve_batch(self, gram, moment, start, seeds):
        batch = resolve("binary", "exhaustive")._solve_batch(gram, moment, start, seeds)
        x = batch.x.copy()
        if self.lie == "set":
            x[:, 0] = 0.5
        elif self.lie == "bound":
            return Batch(x, lower_bound=batch.lower_bound + 1.0)
        elif self.lie == "proof":
            return Batch(np.ones_like(x), proved=np.ones(len(x), dtype=bool))
        elif self.lie == "batching":
            x[1:] = 1 - x[1:]
        elif self.lie == "arguments":
            moment += 1.0
        elif self.lie == "global":
            np.random.random()  # noqa: NPY002
        elif self.lie == "seeds":
            x = np.random.default_rng().integers(0, 2, x.shape).astype(float)
        elif self.lie == "worse":
            x = 1 - x
        return Batch(x)


@pytest.mark.parametrize(
    ("lie", "test", "words"),
    [
        ("set", "it_says_what_it_found", "not in the set of a BinaryQP"),
        ("bound", "it_says_what_it_found", "says nothing is below"),
        ("proof", "it_says_what_it_found", "optimal; the optimum is"),
        ("batching", "rows_are_solved_alike_in_any_batch", "come out with other bits"),
        ("arguments", "arguments_are_left_alone", "changes its argument 'moment'"),
        ("global", "seeds_alone_decide", "NumPy's global generator"),
        ("seeds", "seeds_alone_decide", "other bits from the same seeds"),
        ("worse", "it_is_never_worse_than_its_start", "goes from"),
    ],
)
def test_the_suite_finds_a_broken_promise(lie, test, words):
    suite = BinarySolverContract()
    suite.solver, suite.never_worse = Liar(lie), True
    with pytest.raises(AssertionError, match=words):
        getattr(suite, f"test_{test}")()


def test_the_suite_runs_without_pytest():
    check_solver(Liar("none"), never_worse=True)
    with pytest.raises(AssertionError, match="not in the set"):
        check_solver(Liar("set"))


@pytest.mark.parametrize("name", names("simplex"))
@given(problem=simplex_problems())
@settings(max_examples=30)
def test_every_solution_on_the_simplex_has_a_certified_gap(name, problem):
    got = resolve("simplex", name).solve(SimplexQP(*problem))
    assert got.gap >= -1e-8 * (1 + np.abs(problem[0]).max())


@given(problem=simplex_problems(max_size=5))
def test_pairwise_reaches_the_exact_optimum(problem):
    qp = SimplexQP(*problem)
    got = resolve("simplex", "pairwise").solve(qp)
    assert got.status is Status.OPTIMAL
    best = qp.value(naive.best_on_simplex(qp.gram, qp.moment))
    assert got.value <= best + 1e-7 * (1 + np.abs(qp.gram).max())


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 11])
def test_enumeration_is_exact_at_the_edges_of_its_low_block(size, rng):
    for _ in range(20):
        a = rng.normal(size=(size, size))
        qp = BinaryQP(a + a.T, rng.normal(size=size))
        got = resolve("binary", "exhaustive").solve(qp)
        assert np.array_equal(got.x, naive.best_binary(qp.gram, qp.moment))
        assert got.iterations == 2**size


@pytest.mark.parametrize("size", [2, 6, 12])
def test_enumeration_clears_bits_that_do_not_matter(size, rng):
    # Events that none of an item's users has; rounding along the Gray code must not decide about them.
    for _ in range(30):
        theta, idle = rng.dirichlet(np.ones(size), 20), rng.random(size) < 0.4
        theta[:, idle] = 0.0
        qp = BinaryQP(theta.T @ theta, theta.T @ rng.random(20))
        got = resolve("binary", "exhaustive").solve(qp)
        assert not got.x[idle].any()
        assert got.value == pytest.approx(qp.value(naive.best_binary(qp.gram, qp.moment)), abs=1e-12)


@given(binary_problems(max_size=12))
@settings(max_examples=50)
def test_local_search_ends_where_no_one_or_two_flips_help(problem):
    qp = BinaryQP(*problem)
    got = resolve("binary", "local_search", n_starts=1).solve(qp, start=np.ones(qp.size))
    assert naive.is_two_flip_optimal(qp.gram, qp.moment, got.x)
    assert got.value <= qp.value(np.ones(qp.size)) + 1e-12


def test_local_search_depends_on_its_seed_alone(rng):
    a = rng.normal(size=(40, 40))
    qp = BinaryQP(a + a.T, rng.normal(size=40))
    solver = resolve("binary", "local_search")
    first, second = solver.solve(qp, random_state=3), solver.solve(qp, random_state=3)
    assert np.array_equal(first.x, second.x)


def test_frank_wolfe_says_when_it_stopped_early():
    qp = SimplexQP(np.diag([1.0, 2.0, 3.0]), [0.0, 0.0, 0.0])
    got = resolve("simplex", "frank_wolfe", max_iter=2, tol=1e-12).solve(qp)
    assert got.status is Status.ITERATION_LIMIT
    assert got.iterations == 2
    assert qp.gap(got.x) > 0
    assert got.lower_bound <= 6 / 11 + 1e-12


def test_auto_is_exact_up_to_sixteen_and_searches_beyond(rng):
    for size, status in ((16, Status.OPTIMAL), (17, Status.FEASIBLE)):
        a = rng.normal(size=(size, size))
        assert resolve("binary", "auto").solve(BinaryQP(a + a.T, np.ones(size))).status is status


@pytest.mark.parametrize(
    ("gram", "moment", "message"),
    [
        ([[1.0, 2.0], [3.0, 1.0]], [0, 0], r"symmetric.*\(0, 1\) is 2"),
        ([[1.0, np.nan], [np.nan, 1.0]], [0, 0], "finite"),
        (np.eye(3), [0, 0], r"\(3, 3\) and \(2,\)"),
        (np.empty((0, 0)), [], "no variables"),
        ("nonsense", [0], "real numbers"),
        (np.ones(3), [0, 0, 0], "2 dimension"),
    ],
)
@pytest.mark.parametrize("kind", [BinaryQP, SimplexQP])
def test_bad_problems_are_named(kind, gram, moment, message):
    with pytest.raises(DataError, match=message):
        kind(gram, moment)


def test_mismatches_are_named():
    with pytest.raises(SolverMismatchError, match="at most 30 variables, this problem has 31.*local_search"):
        resolve("binary", "exhaustive").solve(BinaryQP(np.eye(31), np.zeros(31)))
    with pytest.raises(SolverMismatchError, match="takes a BinaryQP, got a SimplexQP"):
        resolve("binary", "auto").solve(SimplexQP(np.eye(2), [0, 0]))
    with pytest.raises(ParameterError, match=r"Did you mean 'exhaustive'\?"):
        resolve("binary", "exhaustiv")
    with pytest.raises(ParameterError, match=r"no option 'n_start'.*Did you mean 'n_starts'\?"):
        resolve("binary", "local_search", n_start=3)
    with pytest.raises(ParameterError, match="A binary solver is needed"):
        resolve("binary", resolve("simplex", "pairwise"))
    with pytest.raises(DataError, match="only 0 and 1"):
        resolve("binary", "auto").solve(BinaryQP(np.eye(2), [0, 0]), start=[0.5, 1])
    with pytest.raises(DataError, match="sum to 1"):
        resolve("simplex", "pairwise").solve(SimplexQP(np.eye(2), [0, 0]), start=[0.5, 1])
    with pytest.raises(DataError, match=r"shape \(2,\)"):
        resolve("simplex", "pairwise").solve(SimplexQP(np.eye(2), [0, 0]), start=[1])


def test_every_solver_is_found_under_the_name_of_its_file():
    for family in CONTRACTS:
        for name in names(family):
            solver = resolve(family, name)
            assert solver.name == name
            assert type(solver).__module__ == f"kolmogorov.solvers.{family}.{name}"
            assert resolve(family, name, **solver.options()) == solver


def test_an_indefinite_matrix_has_no_simplex_problem():
    with pytest.raises(DataError, match="positive semidefinite .*least eigenvalue is -1"):
        SimplexQP([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0])


@pytest.mark.parametrize("word", ["no", 2, None])
def test_switches_take_booleans_only(word):
    with pytest.raises(ParameterError, match="must be True or False"):
        resolve("binary", "enhanced_gd", initial_step=word)
    with pytest.raises(ParameterError, match="must be True or False"):
        resolve("simplex", "frank_wolfe", away_steps=word)


def test_away_steps_make_frank_wolfe_exact(rng):
    worse = 0
    for _ in range(30):
        b = rng.normal(size=(8, 8))
        qp = SimplexQP(b @ b.T + 0.1 * np.eye(8), rng.normal(size=8))
        plain = resolve("simplex", "frank_wolfe", tol=1e-10).solve(qp)
        away = resolve("simplex", "frank_wolfe", tol=1e-10, away_steps=True).solve(qp)
        assert away.status is Status.OPTIMAL
        worse += plain.status is not Status.OPTIMAL
    assert worse > 0


def test_a_ridge_problem_without_a_minimum_is_refused():
    """A ridge that follows a negative trace never makes it positive: hence a process."""
    code = "import numpy as np; from kolmogorov.kernels.rows.ridge import solve_systems\n"
    code += "solve_systems(-np.eye(2)[None], np.ones((1, 2)), x := np.empty((1, 2))); print(np.isnan(x).all())"
    assert printed(code)[-1] == "True"
    with pytest.raises(DataError, match="found no finite solution"):
        resolve("ridge", "cholesky").solve(RidgeQP(-np.eye(2), np.ones(2)))


@pytest.mark.parametrize(
    ("family", "name", "options"),
    [
        ("simplex", "pairwise", {"max_iter": 2**62}),
        ("simplex", "frank_wolfe", {"max_iter": 10**9}),
        ("box", "coordinate", {"max_iter": 10**9}),
        ("binary", "local_search", {"n_starts": 10**9}),
        ("binary", "gd", {"n_draws": 10**9}),
        ("binary", "gd", {"shrink": 1.0 - 1e-12}),
    ],
)
def test_options_that_would_never_end_are_refused(family, name, options):
    with pytest.raises(ParameterError, match="must be|at most"):
        resolve(family, name, **options)
