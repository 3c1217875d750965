"""What holds of every row solver: points of its set, the optimum where it claims it, the same bits in any batch."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.base import clone

import naive
from helpers.strategies import binary_problems, convex_problems
from kolmogorov import KolmogorovModel, load
from kolmogorov._support.seeds import row_seeds
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.solvers import SOLVERS, bqp, names, resolve
from kolmogorov.solvers.contract import UNLIMITED


@dataclass(frozen=True)
class Family:
    """The set of a family: problems over it, their optimum found slowly, points of it, and what rounding may do."""

    problems: Any
    best: Any
    holds: Any
    start: Any
    slack: float


FAMILIES = {
    "binary": Family(
        binary_problems(),
        naive.best_binary,
        lambda x: np.isin(x, (0.0, 1.0)).all(),
        lambda rng, *shape: rng.integers(0, 2, shape).astype(float),
        1e-9,
    ),
    "simplex": Family(
        convex_problems(),
        naive.best_on_simplex,
        lambda x: (x >= 0).all() and np.abs(x.sum(axis=-1) - 1.0).max() <= 1e-12,
        lambda rng, n, size: rng.dirichlet(np.ones(size), n),
        1e-8,
    ),
    "box": Family(
        convex_problems(max_size=5),
        naive.best_in_box,
        lambda x: ((x >= 0) & (x <= 1)).all(),
        lambda rng, *shape: rng.random(shape),
        1e-6,
    ),
    "ridge": Family(
        convex_problems().map(lambda problem: (problem[0] + 0.5 * np.eye(len(problem[1])), problem[1])),
        naive.best_without_limits,
        lambda x: np.isfinite(x).all(),
        lambda rng, *shape: rng.normal(size=shape),
        1e-8,
    ),
}
#: Solvers that every run of the tests looks at; kernels of the others take longest to compile.
USUAL = {"auto", "exhaustive", "local_search", "active_set", "pairwise", "coordinate", "cholesky"}
EXACT = {"auto", "exhaustive", "dmo", "active_set", "pairwise", "coordinate", "cholesky"}
CASES = [(family, name, {}) for family in FAMILIES for name in names(family)]
CASES += [("binary", "enhanced_gd", {"evd": "lanczos"})]


@pytest.fixture(
    params=[
        pytest.param(case, marks=() if case[1] in USUAL else pytest.mark.long("solvers beside the usual"), id=str(case))
        for case in CASES
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


def test_points_are_in_the_set_near_the_optimum_and_no_worse_than_the_start(solver, family):
    def check(problem):
        gram, moment = problem
        start = family.start(np.random.default_rng(4), 1, len(moment))
        (x,) = solver.solve(gram[None], moment[None], start)
        got, best, before = (naive.value(gram, moment, point) for point in (x, family.best(gram, moment), start[0]))
        slack = family.slack * (1 + np.abs(gram).max() + np.abs(moment).max())
        tolerance = 2 * getattr(solver, "tol", 0.0) * np.diag(gram).max()
        assert family.holds(x)
        assert got >= best - slack
        if solver.name in EXACT:
            assert got <= best + slack + tolerance
        if solver.name in EXACT | {"local_search", "frank_wolfe"}:
            assert got <= before + slack + tolerance

    quiet = settings(deadline=None, database=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    quiet(given(family.problems)(check))()


def test_rows_are_solved_alike_in_any_batch(solver, family):
    """Together, alone or in parts, in this order or another: the same seeds give the same bits, arguments stay."""
    rng, n, size = np.random.default_rng(0), 9, 6
    arguments = (*some(rng, n, size), family.start(rng, n, size), row_seeds(5, 1, 0, np.arange(n)))
    before = [array.copy() for array in arguments]
    together = solver.solve(*arguments)
    assert together.shape == (n, size)
    for parts in ([[k] for k in range(n)], [[0, 1, 2, 3], [4, 5, 6, 7, 8]], [list(range(n))[::-1]]):
        found = np.empty_like(together)
        for part in parts:
            found[part] = solver.solve(*(array[part] for array in arguments))
        assert np.array_equal(found, together)
    assert all(np.array_equal(array, old) for array, old in zip(arguments, before, strict=True))


def test_it_is_named_limited_and_made_again_from_its_options(solver):
    """A solver is stored with a model by name and options, and sent to workers."""
    assert resolve(solver.family, solver.name, **vars(solver)) == solver
    assert pickle.loads(pickle.dumps(solver)) == solver
    other = "simplex" if solver.family == "binary" else "binary"
    with pytest.raises(ParameterError, match=f"A {other} solver is needed, got the {solver.family} solver"):
        resolve(other, solver)
    other = UNLIMITED[solver.family]
    assert resolve(solver.family, other).max_variables is None
    if solver.max_variables is not None:
        size = solver.max_variables + 1
        with pytest.raises(ParameterError, match=f"at most .* variables, .* has {size}.*'{other}'"):
            solver.check_size(size)


def test_every_family_is_looked_at():
    assert set(FAMILIES) == {kind.family for kind in SOLVERS.values()}


# --- one by one -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names("simplex"))
def test_it_stays_on_the_simplex_for_large_moments(name, rng):
    """Numbers of 10^8 beside numbers of 1 leave the sum at one."""
    for size in (2, 3, 6, 12):
        gram, moment = some(rng, 50, size)
        moment *= 10.0 ** rng.integers(0, 9, size=(50, 1))
        assert FAMILIES["simplex"].holds(resolve("simplex", name).solve(gram, moment, np.full((50, size), 1 / size)))


@pytest.mark.parametrize("size", [1, 5, 7, 11])
def test_enumeration_is_exact_at_the_edges_of_its_low_block(size, rng):
    """And clears bits that do not matter: events that none of an item's users has."""
    for _ in range(20):
        a, v = rng.normal(size=(size, size)), rng.normal(size=size)
        assert np.array_equal(bqp.solve(a + a.T, v, solver="exhaustive").x, naive.best_binary(a + a.T, v))
        theta, idle = rng.dirichlet(np.ones(size), 20), rng.random(size) < 0.4
        theta[:, idle] = 0.0
        got = bqp.solve(theta.T @ theta, theta.T @ rng.random(20), solver="exhaustive")
        assert not got.x[idle].any()


@given(binary_problems(max_size=12))
@settings(max_examples=50)
def test_local_search_ends_where_no_one_or_two_flips_help(problem):
    got = bqp.solve(*problem, start=np.ones(len(problem[1])), solver="local_search", n_starts=1)
    assert naive.is_two_flip_optimal(*problem, got.x)
    assert got.value <= naive.value(*problem, np.ones(len(problem[1]))) + 1e-12


def test_frank_wolfe_stops_at_its_limits():
    gram, moment = some(np.random.default_rng(1), 20, 6)
    start = np.full((20, 6), 1 / 6)

    def value(name, **options):
        x = resolve("simplex", name, **options).solve(gram, moment, start)
        return (np.einsum("nd,nde,ne->n", x, gram, x) - 2 * (x * moment).sum(axis=1)).mean()

    early, rough, fine = ({"max_iter": 2}, {"tol": 1e-2}, {"tol": 1e-4, "max_iter": 100_000})
    assert value("frank_wolfe", **early) > value("frank_wolfe", **rough) > value("frank_wolfe", **fine)
    assert value("frank_wolfe", **fine) == pytest.approx(value("active_set"), abs=1e-2)


# --- solvers from elsewhere, and what is none -------------------------------------------------------------------------


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
        (3, ParameterError, r"or an object with a method solve\(gram, moment, start, seeds\) without, got 3"),
    ],
)
def test_what_is_no_solver_is_named(zoo, solver, error, words):
    with pytest.raises(error, match=words):
        KolmogorovModel(3, learn_from="ratings", item_solver=solver, n_jobs=1).fit(zoo)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("newtn", {}, "No binary solver 'newtn'.*Did you mean 'newton'"),
        ("gd", {"gama": 1}, "no option 'gama'.*Did you mean 'gamma'"),
        ("gd", {"gamma": -1}, "Solver 'gd': 'gamma' must be a finite number > 0, got -1"),
        ("gd", {"n_draws": 10**9}, "'n_draws' must be an integer >= 1 and <= 1000000"),
        ("enhanced_gd", {"evd": "arnoldi"}, "'evd' must be one of 'full', 'lanczos'"),
        ("enhanced_gd", {"shrink": 1.0}, "'shrink' must be a number between 0 and 0.99, got 1.0"),
        ("enhanced_gd", {"initial_step": "no"}, "must be True or False"),
        ("local_search", {"n_starts": 0}, "'n_starts' must be an integer >= 1"),
    ],
)
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ParameterError, match=message):
        resolve("binary", name, **options)
