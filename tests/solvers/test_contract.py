"""What every solver of every family promises, and what single solvers say besides."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.base import clone

import naive
from helpers.processes import printed
from helpers.strategies import binary_problems, convex_problems, ridge_problems
from kolmogorov import KolmogorovModel, load
from kolmogorov._support.seeds import row_seeds
from kolmogorov.errors import DataError, ParameterError, SolverMismatchError
from kolmogorov.solvers import SOLVERS, bqp, names, resolve
from kolmogorov.solvers.problems import BinaryQP, BoxQP, RidgeQP, SimplexQP, Status


@dataclass(frozen=True)
class Family:
    """The set of a family: problems over it, their optimum found slowly, and points of it and outside."""

    problem: Any
    problems: Any
    best: Any
    holds: Any
    start: Any
    bad_start: list
    slack: Any


def by_size(share):
    """What a value may lie from the optimum by rounding alone, in entries of the matrix."""
    return lambda problem, best: share * (1 + float(np.abs(problem.gram).max()))


FAMILIES = {
    "binary": Family(
        BinaryQP,
        binary_problems(),
        naive.best_binary,
        lambda x: np.isin(x, (0.0, 1.0)).all(),
        lambda rng, size: rng.integers(0, 2, size).astype(float),
        [0.5, 1.0],
        lambda problem, best: 1e-9 * (1 + abs(best)),
    ),
    "simplex": Family(
        SimplexQP,
        convex_problems(),
        naive.best_on_simplex,
        lambda x: (x >= 0).all() and abs(float(x.sum()) - 1.0) <= 1e-12,
        lambda rng, size: rng.dirichlet(np.ones(size)),
        [0.5, 1.0],
        by_size(1e-8),
    ),
    "box": Family(
        BoxQP,
        convex_problems(max_size=5),
        naive.best_in_box,
        lambda x: ((x >= 0) & (x <= 1)).all(),
        lambda rng, size: rng.random(size),
        [0.5, 1.5],
        by_size(1e-6),
    ),
    "ridge": Family(
        RidgeQP,
        ridge_problems(),
        naive.best_without_limits,
        lambda x: np.isfinite(x).all(),
        lambda rng, size: rng.normal(size=size),
        [0.5, float("inf")],
        # The systems may be singular.
        lambda problem, best: 1e-6 * (1 + np.abs(problem.gram).max() * np.abs(problem.moment).max()),
    ),
}
#: Solvers that every run of the tests looks at; those of the others take longest to compile.
USUAL = {"auto", "exhaustive", "local_search", "enhanced_gd", "pairwise", "active_set", "coordinate", "cholesky"}
#: Solvers that descend from their start, though they are not exact.
DESCENDING = {"auto", "local_search", "dmo", "frank_wolfe"}
MORE = [
    ("binary", "enhanced_gd", {"evd": "lanczos"}),
    ("binary", "enhanced_gd", {"initial_step": True}),
]


@pytest.fixture(
    params=[
        pytest.param(case, marks=() if case[1] in USUAL else pytest.mark.long("solvers beside the usual"), id=str(case))
        for case in [*((family, name, {}) for family in FAMILIES for name in names(family)), *MORE]
    ]
)
def solver(request):
    family, name, options = request.param
    if name == "sdr":
        pytest.importorskip("clarabel", reason="needs the extra 'sdp'")
    return resolve(family, name, **options)


@pytest.fixture
def family(solver):
    return FAMILIES[solver.family]


def some(rng, n, size):
    """n convex problems that every family takes."""
    factor = rng.normal(size=(n, size, size + 2))
    return factor @ factor.transpose(0, 2, 1), rng.normal(size=(n, size))


def tolerance(solver, problem):
    return 2 * float(getattr(solver, "tol", 0.0)) * float(np.diag(problem.gram).max()) * (solver.family != "binary")


def for_all(family, check):
    """Try a check on random problems; the fixtures stay the same."""
    quiet = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    quiet(given(family.problems)(check))()


def test_it_says_what_it_found(solver, family):
    """The point is in the set, its value is the problem's, no bound is above the optimum, and proofs hold."""

    def check(problem):
        qp = family.problem(*problem)
        got, best = bqp.solve(qp, solver=solver), qp.value(family.best(qp.gram, qp.moment))
        slack = family.slack(qp, best)
        assert family.holds(got.x)
        assert got.value == qp.value(got.x)
        assert got.value >= best - slack
        if solver.exact:
            # Iterations towards a tolerance may run out, and say so.
            assert got.status is Status.OPTIMAL or (solver.family != "binary" and got.status is Status.ITERATION_LIMIT)
        if got.status is Status.OPTIMAL:
            assert got.value <= best + tolerance(solver, qp) + slack
        if got.lower_bound is not None:
            assert got.lower_bound <= best + slack

    for_all(family, check)


def test_it_is_never_worse_than_its_start(solver, family):
    if not solver.exact and solver.name not in DESCENDING:
        pytest.skip("rounds points that do not depend on its start")

    def check(problem):
        qp = family.problem(*problem)
        start = family.start(np.random.default_rng(4), qp.size)
        got, before = bqp.solve(qp, start=start, solver=solver), qp.value(start)
        assert got.value <= before + tolerance(solver, qp) + family.slack(qp, before)

    for_all(family, check)


def test_an_offset_is_carried_through(solver, family):
    gram, moment = some(np.random.default_rng(3), 1, 4)
    plain, moved = (bqp.solve(family.problem(gram[0], moment[0], offset), solver=solver) for offset in (0.0, 7.0))
    assert np.array_equal(plain.x, moved.x)
    assert moved.value == plain.value + 7.0
    if plain.lower_bound is not None:
        assert moved.lower_bound == pytest.approx(plain.lower_bound + 7.0, abs=1e-9)


def test_rows_are_solved_alike_in_any_batch(solver, family):
    """Together, alone or in parts, in this order or another, rows come out with the same bits."""
    rng, n, size = np.random.default_rng(0), 9, 6
    gram, moment = some(rng, n, size)
    start = np.stack([family.start(rng, size) for _ in range(n)])
    seeds = np.arange(n, dtype=np.uint64) * np.uint64(12345)
    together = solver.solve(gram, moment, start, seeds)
    assert together.shape == (n, size)
    for parts in ([[k] for k in range(n)], [[0, 1, 2, 3], [4, 5, 6, 7, 8]], [list(range(n))[::-1]]):
        found = np.empty_like(together)
        for part in parts:
            found[part] = solver.solve(gram[part], moment[part], start[part], seeds[part])
        assert np.array_equal(found, together)


def test_arguments_are_left_alone_and_seeds_alone_decide(solver, family):
    """The same seeds give the same bits, and NumPy's global generator is neither read nor moved."""
    rng = np.random.default_rng(2)
    given_ = (*some(rng, 3, 8), np.stack([family.start(rng, 8) for _ in range(3)]), row_seeds(5, 1, 0, np.arange(3)))
    before, found = [array.copy() for array in given_], []
    for number in (1, 2):
        np.random.seed(number)  # noqa: NPY002 (it must make no difference)
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        found.append(solver.solve(*given_))
        assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
    assert np.array_equal(*found)
    assert all(np.array_equal(array, old) for array, old in zip(given_, before, strict=True))
    qp = family.problem(given_[0][0], given_[1][0])
    assert np.array_equal(*(bqp.solve(qp, random_state=3, solver=solver).x for _ in range(2)))


def test_limits_are_declared(solver, family):
    """Too many variables, another family's problem and a start outside the set are early, named errors."""
    if solver.max_variables is not None:
        with pytest.raises(SolverMismatchError, match=solver.unlimited):
            solver.check_size(solver.max_variables + 1)
    assert resolve(solver.family, solver.unlimited).max_variables is None
    stranger = SimplexQP if family.problem is BinaryQP else BinaryQP
    with pytest.raises(ParameterError, match=f"solver is needed, got the {solver.family} solver"):
        bqp.solve(stranger(np.eye(2), [0.0, 0.0]), solver=solver)
    for start in (family.bad_start, [1.0]):
        with pytest.raises(DataError):
            bqp.solve(family.problem(np.eye(2), [0.0, 0.0]), start=start, solver=solver)


def test_its_options_make_it_again(solver):
    """A solver is stored with a model by name and options, and sent to workers."""
    assert resolve(solver.family, solver.name, **solver.options()) == solver
    assert pickle.loads(pickle.dumps(solver)) == solver


def test_every_family_is_looked_at():
    assert set(FAMILIES) == {kind.family for kind in SOLVERS.values()}


@pytest.mark.parametrize("name", names("simplex"))
def test_it_stays_on_the_simplex_for_large_moments(name, rng):
    """Numbers of 10^8 beside numbers of 1 leave the sum at one."""
    for _ in range(200):
        size = int(rng.choice([2, 3, 6, 12]))
        factor = rng.normal(size=(size, size))
        qp = SimplexQP(factor @ factor.T, rng.normal(size=size) * 10.0 ** rng.integers(0, 9))
        assert FAMILIES["simplex"].holds(bqp.solve(qp, solver=name).x)


@pytest.mark.parametrize("name", names("simplex"))
@given(problem=convex_problems())
@settings(max_examples=30)
def test_every_solution_on_the_simplex_has_a_certified_gap(name, problem):
    got = bqp.solve(SimplexQP(*problem), solver=name)
    assert got.gap >= -1e-8 * (1 + np.abs(problem[0]).max())


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 11])
def test_enumeration_is_exact_at_the_edges_of_its_low_block(size, rng):
    for _ in range(20):
        a = rng.normal(size=(size, size))
        qp = BinaryQP(a + a.T, rng.normal(size=size))
        got = bqp.solve(qp, solver="exhaustive")
        assert np.array_equal(got.x, naive.best_binary(qp.gram, qp.moment))
        assert got.iterations == 2**size


@pytest.mark.parametrize("size", [2, 6, 12])
def test_enumeration_clears_bits_that_do_not_matter(size, rng):
    # Events that none of an item's users has; rounding along the Gray code must not decide about them.
    for _ in range(30):
        theta, idle = rng.dirichlet(np.ones(size), 20), rng.random(size) < 0.4
        theta[:, idle] = 0.0
        qp = BinaryQP(theta.T @ theta, theta.T @ rng.random(20))
        got = bqp.solve(qp, solver="exhaustive")
        assert not got.x[idle].any()
        assert got.value == pytest.approx(qp.value(naive.best_binary(qp.gram, qp.moment)), abs=1e-12)


@given(binary_problems(max_size=12))
@settings(max_examples=50)
def test_local_search_ends_where_no_one_or_two_flips_help(problem):
    qp = BinaryQP(*problem)
    got = bqp.solve(qp, start=np.ones(qp.size), solver="local_search", n_starts=1)
    assert naive.is_two_flip_optimal(qp.gram, qp.moment, got.x)
    assert got.value <= qp.value(np.ones(qp.size)) + 1e-12


def test_frank_wolfe_says_when_it_stopped_early():
    qp = SimplexQP(np.diag([1.0, 2.0, 3.0]), [0.0, 0.0, 0.0])
    got = bqp.solve(qp, solver="frank_wolfe", max_iter=2, tol=1e-12)
    assert got.status is Status.ITERATION_LIMIT
    assert got.iterations == 2
    assert got.gap > 0
    assert got.lower_bound <= 6 / 11 + 1e-12


def test_auto_is_exact_up_to_sixteen_and_searches_beyond(rng):
    for size, status in ((16, Status.OPTIMAL), (17, Status.FEASIBLE)):
        a = rng.normal(size=(size, size))
        assert bqp.solve(BinaryQP(a + a.T, np.ones(size)), solver=resolve("binary", "auto")).status is status


def test_mismatches_are_named():
    with pytest.raises(SolverMismatchError, match="at most 30 variables, this problem has 31.*local_search"):
        bqp.solve(BinaryQP(np.eye(31), np.zeros(31)), solver="exhaustive")
    with pytest.raises(DataError, match="only 0 and 1"):
        bqp.solve(BinaryQP(np.eye(2), [0, 0]), start=[0.5, 1], solver="auto")
    with pytest.raises(DataError, match="sum to 1"):
        bqp.solve(SimplexQP(np.eye(2), [0, 0]), start=[0.5, 1], solver="pairwise")
    with pytest.raises(DataError, match=r"shape \(2,\)"):
        bqp.solve(SimplexQP(np.eye(2), [0, 0]), start=[1], solver="pairwise")


class Elsewhere:
    """A solver that knows nothing of the library."""

    def __init__(self, answer=None):
        self.answer = answer

    def solve(self, gram, moment, start, seeds):
        assert (gram.shape, start.shape, seeds.shape) == (
            (*moment.shape, moment.shape[1]),
            moment.shape,
            moment.shape[:1],
        )
        if self.answer is not None:
            return self.answer(start)
        return np.array([naive.best_binary(*problem) for problem in zip(gram, moment, strict=True)])


def test_any_object_that_solves_is_a_solver(zoo, tmp_path):
    options = {"n_events": 3, "learn_from": "ratings", "random_state": 0, "max_iter": 4, "n_jobs": 1}
    model = KolmogorovModel(**options, item_solver=Elsewhere()).fit(zoo)
    exact = KolmogorovModel(**options, item_solver="exhaustive").fit(zoo)
    assert model.history_[-1].objective == pytest.approx(exact.history_[-1].objective)
    assert clone(model).fit(zoo).theta_.tolist() == model.theta_.tolist()
    model.save(tmp_path / "m.km")
    assert load(tmp_path / "m.km").item_solver == "auto"


@pytest.mark.parametrize(
    ("solver", "error", "words"),
    [
        (Elsewhere(lambda start: start[:, :1]), DataError, r"must return points of shape \(\d+, 3\)"),
        (Elsewhere(lambda start: start + 0.5), DataError, "Points of solver 'Elsewhere' must hold only 0 and 1"),
        (3, ParameterError, r"or an object with a method solve\(gram, moment, start, seeds\), got 3"),
        (resolve("simplex", "pairwise"), ParameterError, "A binary solver is needed"),
    ],
)
def test_what_is_no_solver_is_named(zoo, solver, error, words):
    with pytest.raises(error, match=words):
        KolmogorovModel(3, learn_from="ratings", item_solver=solver, n_jobs=1).fit(zoo)


def test_an_indefinite_matrix_has_no_simplex_problem():
    with pytest.raises(DataError, match="positive semidefinite .*least eigenvalue is -1"):
        SimplexQP([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0])


@pytest.mark.parametrize("word", ["no", 2, None])
def test_switches_take_booleans_only(word):
    with pytest.raises(ParameterError, match="must be True or False"):
        resolve("binary", "enhanced_gd", initial_step=word)


def test_a_system_of_zeros_has_the_solution_zero():
    assert bqp.solve(RidgeQP(np.zeros((2, 2)), [0.0, 0.0])).x.tolist() == [0.0, 0.0]


def test_a_ridge_problem_without_a_minimum_is_refused():
    """A ridge that follows a negative trace never makes it positive: hence a process."""
    code = "import numpy as np; from kolmogorov.solvers.box import solve_systems\n"
    code += "solve_systems(-np.eye(2)[None], np.ones((1, 2)), x := np.empty((1, 2))); print(np.isnan(x).all())"
    assert printed(code)[-1] == "True"
    with pytest.raises(DataError, match="found no finite solution"):
        bqp.solve(RidgeQP(-np.eye(2), np.ones(2)), solver="cholesky")


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
