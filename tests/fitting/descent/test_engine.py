import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from helpers.strategies import tables
from kolmogorov import KolmogorovModel, Observations, datasets
from kolmogorov._support.threads import Threads
from kolmogorov.descent import engine
from kolmogorov.descent.engine import Engine, HalfStep, State
from kolmogorov.descent.problem import USER_SIDE, Problem
from kolmogorov.solvers import resolve, simplex


@given(
    tables(),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5, 20.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(["mean", "uniform"]),
    st.sampled_from(["auto", "local_search"]),
    st.sampled_from(["pairwise", "frank_wolfe"]),
)
@settings(max_examples=60)
def test_sweeps_keep_the_invariants(table, size, user_reg, item_reg, prior, binary, simplex):
    rng = np.random.default_rng(0)
    with Threads(1) as dealer:
        problem = Problem(resolve("simplex", simplex), resolve("binary", binary), user_reg, item_reg, prior)
        engine = Engine(problem, table, dealer)
        state = State(
            rng.dirichlet(np.ones(size), table.n_users), np.zeros((table.n_items, size)), np.full(size, 1 / size)
        )
        before = np.inf
        for index in range(1, 6):
            state, record = engine.sweep(state, index, seed=7)
            assert (state.theta >= 0).all()
            np.testing.assert_allclose(state.theta.sum(axis=1), 1, atol=1e-12)
            assert set(np.unique(state.psi)) <= {0.0, 1.0}
            seen = engine.seen_users
            expected = (
                naive.objective(table, state.theta[seen], state.psi, state.centre, user_reg, item_reg)
                if seen.all()
                else None
            )
            if expected is not None:
                assert record.objective == pytest.approx(expected, rel=1e-9, abs=1e-9)
            if table.weights is None:
                assert record.rmse == pytest.approx(naive.rmse(table, state.theta, state.psi), abs=1e-6)
            # Users without answers count, and Frank-Wolfe leaves each as near to a centre that moves as its gap.
            loose = 1e-6 * user_reg * (~seen).sum() if simplex == "frank_wolfe" else 0.0
            assert record.objective <= before * (1 + 1e-12) + 1e-12 + loose
            before = record.objective


def test_a_sweep_with_exact_solvers_is_the_minimum_over_each_block():
    truth = datasets.planted(n_users=8, n_items=6, n_events=3, noise=0.2, random_state=1).observations
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(3), 8)
    with Threads(1) as dealer:
        problem = Problem(resolve("simplex", "pairwise"), resolve("binary", "exhaustive"), 0.5, 0.1, "uniform")
        engine = Engine(problem, truth, dealer)
        state, _ = engine.sweep(State(theta, np.zeros((6, 3)), np.full(3, 1 / 3)), 1, seed=0)
    table = truth.values.reshape(8, 6)
    for item in range(6):
        entries = [(u, table[u, item], 1.0) for u in range(8)]
        gram, moment = naive.normal_equations(entries, theta, 0.1, np.zeros(3))
        assert np.array_equal(state.psi[item], naive.best_binary(gram, moment))
    for user in range(8):
        entries = [(i, table[user, i], 1.0) for i in range(6)]
        gram, moment = naive.normal_equations(entries, state.psi, 0.5, np.full(3, 1 / 3))
        np.testing.assert_allclose(state.theta[user], naive.best_on_simplex(gram, moment), atol=1e-6)


@pytest.mark.parametrize("events", [3, 18])
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(events):
    table = datasets.load("planted", n_users=150, n_items=90, n_events=6, n_observations=4000, noise=0.1)
    options = {"learn_from": "ratings", "random_state": 5, "max_iter": 6, "n_init": 2}
    models = [KolmogorovModel(events, **options, n_jobs=n).fit(table) for n in (1, 2, 3, 8)]
    for other in models[1:]:
        assert np.array_equal(models[0].theta_, other.theta_)
        assert np.array_equal(models[0].psi_, other.psi_)
        assert [s.objective for s in models[0].history_] == [s.objective for s in other.history_]


def test_algorithm_4_without_safeguards_takes_what_rounding_finds():
    """With few roundings the error rises now and then; sweeps are neither undone nor ended by it."""
    toy = datasets.load("toy", random_state=0)
    item_solver = resolve("binary", "enhanced_gd", n_draws=1, step=0.2, tol=1e-2)
    settings = {"user_reg": 1.0, "max_iter": 6, "random_state": 0, "n_jobs": 1, "item_solver": item_solver}
    model = KolmogorovModel.as_in_paper(5, keep_better=False, **settings).fit(toy)
    errors = [sweep.rmse for sweep in model.history_]
    assert len(errors) == 6
    assert any(later > earlier for earlier, later in itertools.pairwise(errors))
    kept = [sweep.objective for sweep in KolmogorovModel.as_in_paper(5, **settings).fit(toy).history_]
    assert all(later <= earlier for earlier, later in itertools.pairwise(kept))
    assert errors[-1] == pytest.approx(naive.rmse(toy, model.theta_, model.psi_), abs=1e-9)


def test_the_ridge_of_items_may_draw_to_the_mean():
    truth = datasets.planted(n_users=30, n_items=9, n_events=3, noise=0.2, random_state=1).observations
    with Threads(1) as dealer:
        ends = {}
        for prior in ("zero", "mean"):
            problem = Problem(
                resolve("simplex", "pairwise"),
                resolve("box", "coordinate"),
                item_reg=1e6,
                prior="uniform",
                item_prior=prior,
            )
            engine = Engine(problem, truth, dealer)
            ends[prior] = engine.sweep(engine.start(np.random.default_rng(0), 3), 1, seed=0)[0].psi
    np.testing.assert_allclose(ends["zero"], 0.0, atol=1e-3)
    np.testing.assert_allclose(ends["mean"], truth.values.mean(), atol=1e-3)


def test_a_planted_model_is_recovered():
    truth = datasets.planted(n_users=80, n_items=60, n_events=3, random_state=2)
    model = KolmogorovModel(
        3, learn_from="ratings", user_reg=0.0, n_init=10, max_iter=200, tol=1e-9, random_state=0
    ).fit(truth.observations)
    assert model.history_[-1].rmse < 1e-3
    columns = {tuple(column) for column in truth.psi.T.tolist()}
    assert {tuple(column) for column in model.psi_.T.tolist()} == columns


def test_the_papers_two_by_two_example():
    theta = np.array([[0.4, 0.2, 0.1, 0.3], [0.1, 0.3, 0.1, 0.5]])
    psi = np.array([[1, 0, 1, 1], [0, 0, 1, 1]])
    np.testing.assert_allclose(theta @ psi.T, [[0.8, 0.4], [0.7, 0.6]])
    model = KolmogorovModel(4, learn_from="ratings", user_reg=0.0, n_init=5, random_state=0).fit(
        [[0.8, 0.4], [np.nan, 0.6]]
    )
    assert model.history_[-1].rmse < 1e-9
    np.testing.assert_allclose(model.predict([0, 0, 1], [0, 1, 1], output="probability"), [0.8, 0.4, 0.6], atol=1e-8)


def test_movielens_test_error(data_directory):
    train, test = datasets.load("ml-100k").split(test_size=0.2, random_state=0)
    model = KolmogorovModel(8, learn_from="ratings", user_reg=30.0, random_state=0).fit(train)
    assert model.evaluate(test)["rmse"] < 0.1945


@pytest.mark.parametrize("kind", ["bits", "levels", "weights"])
def test_rows_made_and_solved_in_one_call_are_the_same_bits(monkeypatch, kind):
    """On many threads and large tables a share of users is one compiled call; elsewhere it is three."""
    table = datasets.planted(n_users=90, n_items=30, n_events=4, noise=0.2, random_state=1).observations
    rng, calls = np.random.default_rng(0), []
    if kind == "weights":
        of_table = (table.user_rows(), table.item_rows(), table.values)
        table = Observations.from_arrays(*of_table, weights=rng.random(table.values.size) + 0.5)
    psi = rng.choice([0.0, 1.0] if kind == "bits" else [-0.2, 0.3, 0.7, 1.2], size=(table.n_items, 4))
    theta = rng.dirichlet(np.ones(4), size=table.n_users)
    kernel = simplex.active_set_rows
    monkeypatch.setattr(simplex, "active_set_rows", lambda *given: (calls.append(1), kernel(*given)))
    step = HalfStep(resolve("simplex", "active_set"), 2.0, np.full(4, 0.25), seed=0, sweep=1, side=USER_SIDE)
    with Threads(4) as dealer:
        apart = step.run(table.rows, psi, theta, dealer)
        assert not calls
        monkeypatch.setattr(engine, "_LARGE", 0)
        joined = step.run(table.rows, psi, theta, dealer)
        assert calls
    for one, other in zip(apart, joined, strict=True):
        np.testing.assert_array_equal(one, other)


@given(tables(trainable=True))
@settings(max_examples=25)
def test_a_model_with_chances_keeps_its_invariants(table):
    """The paper's normalised nonnegative model."""
    options = {"psi": "soft", "learn_from": "ratings", "user_reg": 0.5, "item_reg": 0.1, "tol": 0, "max_iter": 6}
    model = KolmogorovModel(3, **options, random_state=0, n_jobs=1).fit(table)
    assert ((model.psi_ >= 0) & (model.psi_ <= 1)).all()
    np.testing.assert_allclose(model.theta_.sum(axis=1), 1)
    history = [sweep.objective for sweep in model.history_]
    assert history == sorted(history, reverse=True)


def test_relaxing_psi_cannot_raise_the_optimum():
    truth = datasets.planted(n_users=60, n_items=40, n_events=3, noise=0.1, random_state=1).observations
    options = {"learn_from": "ratings", "user_reg": 0.0, "n_init": 5, "random_state": 0, "tol": 1e-7, "max_iter": 300}
    relaxed, binary = (KolmogorovModel(3, psi=psi, **options).fit(truth) for psi in ("soft", "binary"))
    assert relaxed.history_[-1].objective <= binary.history_[-1].objective
    assert relaxed.psi_.dtype == np.float64
