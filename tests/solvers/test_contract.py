"""One suite over every registered solver: honest about its value, never below the optimum, exact where it says so."""

import numpy as np
import pytest
from hypothesis import given, settings

import naive
from kolmogorov.errors import DataError, ParameterError, SolverMismatchError
from kolmogorov.problems import BinaryQP, SimplexQP, Status
from kolmogorov.solvers import names, register, resolve
from strategies import binary_problems, simplex_problems

BINARY = names("binary")
SIMPLEX = names("simplex")


@pytest.mark.parametrize("name", BINARY)
@given(problem=binary_problems())
def test_binary_solvers_keep_the_contract(name, problem):
    qp = BinaryQP(*problem)
    solver = resolve("binary", name)
    got = solver.solve(qp)
    best = qp.value(naive.best_binary(qp.gram, qp.moment))
    slack = 1e-9 * (1 + abs(best))
    assert set(np.unique(got.x)) <= {0.0, 1.0}
    assert got.value == qp.value(got.x)
    assert got.value >= best - slack
    if solver.exact:
        assert got.status is Status.OPTIMAL
    if got.status is Status.OPTIMAL:
        assert got.value <= best + slack
    if got.lower_bound is not None:
        assert got.lower_bound <= best + slack


@pytest.mark.parametrize("name", SIMPLEX)
@given(problem=simplex_problems())
def test_simplex_solvers_keep_the_contract(name, problem):
    qp = SimplexQP(*problem)
    got = resolve("simplex", name).solve(qp)
    best = qp.value(naive.best_on_simplex(qp.gram, qp.moment))
    scale = 1e-8 * (1 + np.abs(qp.gram).max())
    assert (got.x >= 0).all()
    assert got.x.sum() == pytest.approx(1.0, abs=1e-12)
    assert got.value == qp.value(got.x)
    assert got.value >= best - scale
    assert got.lower_bound <= best + scale
    assert got.value - got.lower_bound >= -scale
    if got.status is Status.OPTIMAL:
        tolerance = 2 * resolve("simplex", name).tol * np.diag(qp.gram).max()
        assert got.value <= best + tolerance + scale


@given(problem=simplex_problems(max_size=5))
def test_pairwise_reaches_the_exact_optimum(problem):
    qp = SimplexQP(*problem)
    got = resolve("simplex", "pairwise").solve(qp)
    assert got.status is Status.OPTIMAL
    best = qp.value(naive.best_on_simplex(qp.gram, qp.moment))
    assert got.value <= best + 1e-7 * (1 + np.abs(qp.gram).max())


@pytest.mark.parametrize(("family", "name"), [("binary", n) for n in BINARY] + [("simplex", n) for n in SIMPLEX])
def test_batches_are_the_same_bits_as_rows_alone_and_leave_their_arguments_alone(family, name, rng):
    size, n = 6, 9
    factor = rng.normal(size=(n, size, 8))
    gram = factor @ factor.transpose(0, 2, 1)
    moment = rng.normal(size=(n, size))
    start = np.full((n, size), 1 / size) if family == "simplex" else np.zeros((n, size))
    seeds = np.arange(n, dtype=np.uint64) * np.uint64(12345)
    before = [array.copy() for array in (gram, moment, start, seeds)]
    solver = resolve(family, name)
    together = solver.solve_batch(gram, moment, start, seeds)
    alone = [solver.solve_batch(*(a[k : k + 1] for a in (gram, moment, start, seeds))) for k in range(n)]
    assert np.array_equal(together, np.concatenate(alone))
    for array, old in zip((gram, moment, start, seeds), before, strict=True):
        assert np.array_equal(array, old)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 11])
def test_enumeration_is_exact_at_the_edges_of_its_low_block(size, rng):
    for _ in range(20):
        a = rng.normal(size=(size, size))
        qp = BinaryQP(a + a.T, rng.normal(size=size))
        got = resolve("binary", "exhaustive").solve(qp)
        assert np.array_equal(got.x, naive.best_binary(qp.gram, qp.moment))
        assert got.iterations == 2**size


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


def test_an_outside_solver_can_be_registered():
    register("binary", "outsider", "kolmogorov.solvers.binary.local_search:LocalSearch")
    try:
        assert resolve("binary", "outsider", n_starts=2).n_starts == 2
    finally:
        from kolmogorov.solvers import registry

        del registry._TARGETS["binary"]["outsider"]


def test_every_solver_is_found_under_the_name_of_its_file():
    for family in ("binary", "simplex"):
        for name in names(family):
            solver = resolve(family, name)
            assert solver.name == name
            assert type(solver).__module__ == f"kolmogorov.solvers.{family}.{name}"
            assert resolve(family, name, **solver.options()) == solver


def test_an_indefinite_matrix_has_no_simplex_problem():
    with pytest.raises(DataError, match="positive semidefinite .*least eigenvalue is -1"):
        SimplexQP([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0])


def test_solutions_stay_on_the_simplex_for_large_moments():
    rng = np.random.default_rng(1)
    for _ in range(200):
        size = int(rng.choice([2, 3, 6, 12]))
        b = rng.normal(size=(size, size))
        qp = SimplexQP(b @ b.T, rng.normal(size=size) * 10.0 ** rng.integers(0, 9))
        for name in SIMPLEX:
            got = resolve("simplex", name).solve(qp)
            assert got.x.sum() == pytest.approx(1.0, abs=1e-12)
            assert (got.x >= 0).all()


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
