"""The dual methods: formulas, equal paths, phases, Newton's speed, bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from helpers.strategies import binary_problems, toy_problems
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel
from kolmogorov.errors import DataError
from kolmogorov.solvers import bqp, names, resolve
from kolmogorov.solvers.bqp import BinaryQP, Status
from kolmogorov.solvers.dual import dual_gradient, dual_value, shifted
from kolmogorov.solvers.gd import least_value
from kolmogorov.solvers.newton import hessian_parts, hessian_times
from kolmogorov.solvers.rounding import lift, rounded

#: Kernels that few need take longest to compile.
pytestmark = pytest.mark.long("solvers beside the usual")

DUAL = ("gd", "enhanced_gd", "quasi_newton", "newton")


@given(binary_problems())
def test_lifting_preserves_values(problem):
    gram, moment = problem
    matrix = np.empty((len(moment) + 1, len(moment) + 1))
    constant = lift(gram, moment, matrix)
    expected, offset = naive.lifted(gram, moment)
    np.testing.assert_allclose(matrix, expected, atol=1e-12)
    assert constant == pytest.approx(offset)
    x = np.random.default_rng(0).integers(0, 2, len(moment)).astype(float)
    s = np.concatenate([[1.0], 2 * x - 1])
    assert s @ matrix @ s + constant == pytest.approx(naive.value(gram, moment, x), abs=1e-9)


@given(binary_problems(), st.sampled_from([1.0, 100.0]))
@settings(max_examples=40)
def test_value_gradient_and_hessian_of_the_dual(problem, gamma):
    matrix, _ = naive.lifted(*problem)
    rng = np.random.default_rng(1)
    n = len(matrix)
    dual, direction = rng.normal(size=n), rng.normal(size=n)
    values, vectors = np.linalg.eigh(shifted(matrix, dual))
    assert dual_value(dual, gamma, values) == pytest.approx(naive.dual_value(matrix, dual, gamma))
    dual_gradient(gamma, values, vectors, got := np.empty(n))
    np.testing.assert_allclose(got, naive.dual_gradient(matrix, dual, gamma), atol=1e-8 * gamma)
    h = 1e-6
    difference = (
        naive.dual_gradient(matrix, dual + h * direction, gamma)
        - naive.dual_gradient(matrix, dual - h * direction, gamma)
    ) / (2 * h)
    if np.abs(values).min() > 1e-3:
        weights, top = hessian_parts(values, vectors)
        applied = hessian_times(gamma, weights, vectors, top, direction)
        np.testing.assert_allclose(applied, difference, atol=1e-3 * gamma * (1 + np.abs(values).max()))


@pytest.mark.parametrize("size", [4, 16])
def test_gd_and_enhanced_gd_visit_the_same_points_with_fewer_decompositions(size):
    for problem in toy_problems(size, 10):
        plain = bqp.solve(problem, solver="gd", trace=True)
        enhanced = bqp.solve(problem, solver="enhanced_gd", trace=True)
        assert plain.iterations == enhanced.iterations
        np.testing.assert_allclose(plain.dual_trace, enhanced.dual_trace, atol=1e-9)
        np.testing.assert_allclose(plain.trace, enhanced.trace, atol=1e-9)
        assert enhanced.n_evd <= plain.n_evd
        assert sum(enhanced.phases.values()) == enhanced.iterations
        stepwise = bqp.solve(problem, solver="enhanced_gd", step=0.2)
        assert stepwise.n_evd < bqp.solve(problem, solver="gd", step=0.2).n_evd
        assert stepwise.phases["I-A"] > 0


@pytest.mark.parametrize("start", [1.0, 10.0])
def test_gd_is_the_papers_algorithm_1(start):
    for problem in toy_problems(6, 5):
        matrix, _ = naive.lifted(problem.gram, problem.moment)
        expected = naive.backtracking_descent(matrix, 100.0, 1e-4, 1.0, 0.5, 0.3, start)
        got = bqp.solve(problem, solver="gd", trace=True, initial_dual=start)
        np.testing.assert_allclose(got.dual_trace, expected, atol=1e-7)
        np.testing.assert_allclose(got.trace, [naive.dual_value(matrix, u, 100.0) for u in expected], atol=1e-7)
        assert (np.diff(got.trace) <= 1e-12).all()


def test_phase_one_a_needs_no_decomposition():
    for problem in toy_problems(8, 10):
        one = bqp.solve(problem, solver="enhanced_gd", step=0.05, max_iter=1)
        assert one.phases == {"I-A": 1, "I-B": 0, "II-A": 0, "II-B": 0}
        assert one.n_evd == 1  # that of -A; the one of the lower bound is none of the algorithm's
        full = bqp.solve(problem, solver="enhanced_gd", step=0.05, trace=True)
        equal = [len(set(point)) == 1 for point in full.dual_trace[:-1]]
        assert sum(equal) == full.phases["I-A"] + full.phases["I-B"]
        assert equal == sorted(equal, reverse=True)


@pytest.mark.parametrize(
    "options",
    [{}, {"step": 0.2, "tol": 1e-2}, {"initial_dual": 10.0, "step": 20.0, "armijo": 0.01, "shrink": 0.9, "tol": 1e-2}],
)
def test_phases_are_those_of_the_points_visited(options):
    met = set()
    for problem in toy_problems(4, 12):
        matrix, _ = naive.lifted(problem.gram, problem.moment)
        got = bqp.solve(problem, solver="enhanced_gd", trace=True, **options)
        phases = [naive.descent_phase(matrix, point) for point in got.dual_trace[:-1]]
        assert got.phases == {name: phases.count(name) for name in got.phases}
        met |= set(phases)
    # The long steps of the last setting reach all four phases; short ones never see II-A.
    assert ("II-A" in met) == ("initial_dual" in options)
    assert met >= {"I-A", "I-B", "II-B"}


def test_the_start_lengthens_phase_one_a_and_nothing_else():
    for problem in toy_problems(8, 5):
        near, far = (bqp.solve(problem, solver="enhanced_gd", step=0.2, initial_dual=u) for u in (1.0, 51.0))
        assert far.phases["I-A"] == near.phases["I-A"] + 250
        assert far.n_evd == near.n_evd
        np.testing.assert_allclose(far.dual, near.dual, atol=1e-9)
        plain = bqp.solve(problem, solver="gd", step=0.2, initial_dual=51.0)
        assert plain.n_evd == bqp.solve(problem, solver="gd", step=0.2).n_evd + 250


@given(binary_problems(max_size=8), st.sampled_from([{}, {"step": 0.2, "tol": 1e-2}, {"gamma": 1000.0, "shrink": 0.8}]))
@settings(max_examples=30)
def test_screening_changes_no_point_and_saves_decompositions(problem, options):
    qp = BinaryQP(*problem)
    for name in ("gd", "enhanced_gd"):
        plain = bqp.solve(qp, solver=name, trace=True, max_iter=60, **options)
        screened = bqp.solve(qp, solver=name, trace=True, max_iter=60, screened=True, **options)
        assert plain.iterations == screened.iterations
        np.testing.assert_array_equal(plain.dual_trace, screened.dual_trace)
        np.testing.assert_array_equal(plain.x, screened.x)
        assert screened.n_evd <= plain.n_evd
        assert screened.phases == plain.phases


@given(binary_problems(max_size=8), st.floats(1e-4, 1.0))
def test_the_bound_that_screens_is_one(problem, t):
    matrix, _ = naive.lifted(*problem)
    dual = np.random.default_rng(2).normal(size=len(matrix))
    values, vectors = np.linalg.eigh(shifted(matrix, dual))
    dual_gradient(100.0, values, vectors, gradient := np.empty(len(matrix)))
    bound = least_value(dual, 100.0, values, vectors, gradient, t)
    true = naive.dual_value(matrix, dual - t * gradient, 100.0)
    assert bound <= true + 1e-9 * (1 + abs(true))


@pytest.mark.parametrize("name", DUAL)
def test_the_gradient_norm_is_the_exact_one(name):
    for problem in toy_problems(8, 4):
        matrix, _ = naive.lifted(problem.gram, problem.moment)
        got = bqp.solve(problem, solver=name)
        expected = np.linalg.norm(naive.dual_gradient(matrix, got.dual, 100.0))
        assert got.gradient_norm == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_initial_step_shortens_phase_one_a():
    for problem in toy_problems(8, 10):
        plain = bqp.solve(problem, solver="enhanced_gd", step=0.05)
        jumped = bqp.solve(problem, solver="enhanced_gd", step=0.05, initial_step=True, trace=True)
        assert jumped.phases["I-A"] == 1 < plain.phases["I-A"]
        matrix, _ = naive.lifted(problem.gram, problem.moment)
        assert np.linalg.eigvalsh(-matrix - np.diag(jumped.dual_trace[1]))[-1] > 0


@pytest.mark.parametrize("size", [4, 16, 50])
def test_newton_is_exact_with_a_fifth_of_the_decompositions(size):
    plain, newton, norms = 0, 0, []
    for problem in toy_problems(size, 8):
        matrix, _ = naive.lifted(problem.gram, problem.moment)
        first, second = bqp.solve(problem, solver="gd"), bqp.solve(problem, solver="newton")
        assert second.status is Status.FEASIBLE
        assert np.linalg.norm(naive.dual_gradient(matrix, second.dual, 100.0)) < 1.1e-8
        norms.append(np.linalg.norm(naive.dual_gradient(matrix, first.dual, 100.0)))
        plain += first.n_evd
        newton += second.n_evd
    assert 1e-4 < np.mean(norms) < 1e-2
    assert plain >= 5 * newton


@pytest.mark.parametrize("name", DUAL)
def test_methods_go_on_from_duals_nearby(name):
    problems = toy_problems(12, 6)
    grams, moments = np.array([p.gram for p in problems]), np.array([p.moment for p in problems])
    before = bqp.solve_many(grams, moments, solver=name)
    cold = bqp.solve_many(1.02 * grams, moments, solver=name)
    warm = bqp.solve_many(1.02 * grams, moments, solver=name, start=[solution.dual for solution in before])
    assert sum(s.n_evd for s in warm) < 0.8 * sum(s.n_evd for s in cold)
    for one, other in zip(warm, cold, strict=True):
        np.testing.assert_allclose(one.dual, other.dual, atol=0.02)
        assert one.gradient_norm < 2.0 * other.gradient_norm + 1e-6
    with pytest.raises(DataError, match="dual points, rows of 13"):
        bqp.solve_many(grams, moments, solver=name, start=np.zeros((6, 14)))


def test_sweeps_go_on_from_the_duals_of_the_last_one(zoo, tmp_path):
    def fit(warm, **changes):
        solver = resolve("binary", "newton", warm=warm)
        return KolmogorovModel.as_in_paper(4, item_solver=solver, max_iter=6, random_state=0, **changes).fit(zoo)

    assert not KolmogorovModel.as_in_paper(4).item_solver.warm
    warm, cold = fit(True), fit(False)
    assert warm.history_[-1].rmse == pytest.approx(cold.history_[-1].rmse, rel=0.02)
    path = tmp_path / "fit"
    with pytest.raises(ZeroDivisionError):
        fit(True, checkpoint=path, callback=lambda sweep: 1 / (3 - sweep.sweep))
    for same in (fit(True, n_jobs=2), fit(True, checkpoint=path)):
        np.testing.assert_array_equal(same.theta_, warm.theta_)
        np.testing.assert_array_equal(same.psi_, warm.psi_)


def test_the_sdr_bound_is_the_limit_of_the_regularised_ones():
    pytest.importorskip("clarabel")
    for problem in toy_problems(8, 3):
        sharp = bqp.solve(problem, solver="sdr")
        near = bqp.solve(problem, solver="newton", gamma=1e5, tol=1e-4)
        assert sharp.lower_bound <= sharp.value + 1e-9
        assert near.lower_bound == pytest.approx(sharp.lower_bound, abs=2e-3)
        assert near.lower_bound <= sharp.lower_bound + 1e-6


@pytest.fixture(scope="module")
def drawn(zoo):
    """Draws that complete the table."""
    return BayesianKolmogorovModel(5, n_chains=1, burn_in=30, n_samples=10, random_state=0).fit(zoo).posterior_


@pytest.mark.parametrize(
    "learn_from", [pytest.param("ratings", marks=pytest.mark.long("searches of solvers")), "draws"]
)
def test_every_solver_trains_a_model(zoo, drawn, learn_from):
    errors = {}
    ridge = {"user_reg": 0.3} if learn_from == "ratings" else {}
    for name in names("binary"):
        options = {"learn_from": learn_from, "item_solver": resolve("binary", name), "random_state": 0}
        if name == "sdr":
            pytest.importorskip("clarabel")
            zoo_part = zoo.subset(zoo.user_rows() < 20)
            KolmogorovModel(3, max_iter=2, **options | {"learn_from": "ratings"}).fit(zoo_part)
            continue
        model = KolmogorovModel(4, max_iter=5, tol=0, n_init=1, **options, **ridge)
        model = model.fit(zoo) if learn_from == "ratings" else model._adopt(model._distilled(drawn)[0])
        assert model.learned_from_ == learn_from
        history = [sweep.objective for sweep in model.history_]
        assert history == sorted(history, reverse=True)
        errors[name] = model.history_[-1].rmse
    assert max(errors.values()) < 1.2 * min(errors.values())


@given(binary_problems(), st.integers(0, 2**9))
@settings(max_examples=25)
def test_a_solution_of_rank_one_is_rounded_to_its_point(problem, code):
    """Algorithm 3 draws multiples of the one vector that there is."""
    qp = BinaryQP(*problem)
    x = np.array([code >> d & 1 for d in range(qp.size)], dtype=float)
    signs = np.concatenate([[1.0], 2.0 * x - 1.0])
    assert rounded(*problem, np.outer(signs, signs), n_draws=3).tolist() == x.tolist()
    many, one = (qp.value(rounded(*problem, np.eye(qp.size + 1), n_draws=n)) for n in (200, 1))
    assert many <= one


def test_newton_follows_a_path_where_the_data_are_large():
    rng = np.random.default_rng(2)
    for scale in (1e5, 1e8):
        for _ in range(5):
            a = rng.normal(size=(8, 8))
            got = bqp.solve(scale * (a + a.T), scale * rng.normal(size=8), solver="newton", tol=1e-4)
            assert got.lower_bound >= got.value - 0.2 * abs(got.value)
