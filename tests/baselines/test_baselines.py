import numpy as np
import pytest
from hypothesis import given, settings

import naive
from helpers.strategies import convex_problems, tables
from kolmogorov import KolmogorovModel, Observations, datasets, load
from kolmogorov.baselines import MatrixFactorization, SVDpp
from kolmogorov.errors import DataError, ParameterError, UnknownIdError
from kolmogorov.kernels.svdpp import svdpp_epoch
from kolmogorov.problems import BoxQP, RidgeQP, Status
from kolmogorov.solvers import resolve


@given(convex_problems(max_size=5))
@settings(max_examples=60)
def test_the_box_solver_is_exact(problem):
    qp = BoxQP(*problem)
    got = resolve("box", "coordinate").solve(qp)
    best = qp.value(naive.best_in_box(qp.gram, qp.moment))
    slack = 1e-6 * (1 + np.abs(qp.gram).max())
    assert ((got.x >= 0) & (got.x <= 1)).all()
    assert got.lower_bound - slack <= best <= got.value + slack
    # Along a direction without curvature rounds are many, and there is a limit on them.
    if got.status is not Status.ITERATION_LIMIT:
        assert got.value == pytest.approx(best, abs=slack)


@given(convex_problems(max_size=6))
@settings(max_examples=60)
def test_the_ridge_solver_solves_linear_systems(problem):
    gram, moment = problem
    regular = gram + 0.5 * np.eye(len(moment))
    got = resolve("ridge", "cholesky").solve(RidgeQP(regular, moment))
    np.testing.assert_allclose(got.x, np.linalg.solve(regular, moment), atol=1e-8)
    assert got.status is Status.OPTIMAL
    singular = resolve("ridge", "cholesky").solve(RidgeQP(gram, gram @ moment))
    assert np.abs(gram @ singular.x - gram @ moment).max() <= 1e-5 * (1 + np.abs(gram).max() * np.abs(moment).max())
    zero = resolve("ridge", "cholesky").solve(RidgeQP(np.zeros((2, 2)), [0.0, 0.0]))
    assert zero.x.tolist() == [0.0, 0.0]


@given(tables(trainable=True))
@settings(max_examples=25)
def test_a_model_with_chances_keeps_its_invariants(table):
    """The paper's normalised nonnegative model."""
    options = {"levels": "chances", "learn_from": "ratings", "user_reg": 0.5, "item_reg": 0.1, "tol": 0, "max_iter": 6}
    model = KolmogorovModel(3, **options, random_state=0, n_jobs=1).fit(table)
    assert ((model.psi_ >= 0) & (model.psi_ <= 1)).all()
    np.testing.assert_allclose(model.theta_.sum(axis=1), 1)
    history = [sweep.objective for sweep in model.history_]
    assert history == sorted(history, reverse=True)


def test_relaxing_psi_cannot_raise_the_optimum():
    truth = datasets.planted(n_users=60, n_items=40, n_events=3, noise=0.1, random_state=1).observations
    options = {"learn_from": "ratings", "user_reg": 0.0, "n_init": 5, "random_state": 0, "tol": 1e-7, "max_iter": 300}
    relaxed, binary = (KolmogorovModel(3, levels=levels, **options).fit(truth) for levels in ("chances", 2))
    assert relaxed.history_[-1].objective <= binary.history_[-1].objective
    assert relaxed.psi_.dtype == np.float64


def test_svdpp_kernel_against_its_twin(rng):
    table = np.where(rng.random((6, 5)) < 0.6, rng.random((6, 5)), np.nan)
    table[2] = np.nan
    table[0, 0] = 0.5
    view = Observations.from_dense(table, maximum=1).rows
    shapes = [(6,), (5,), (6, 3), (5, 3), (5, 3)]
    start = [rng.normal(size=shape) for shape in shapes]
    ours, theirs = [a.copy() for a in start], [a.copy() for a in start]
    order = np.array([3, 0, 1, 2, 5, 4])
    svdpp_epoch(view.indptr, view.indices, view.values, view.weights, order, 0.4, 0.05, 0.1, *ours)
    entries = [[(i, table[u, i]) for i in range(5) if not np.isnan(table[u, i])] for u in range(6)]
    naive.svdpp_epoch(entries, order, 0.4, 0.05, 0.1, *theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def nonnegative(random_state):
    return KolmogorovModel(16, levels="chances", learn_from="ratings", random_state=random_state)


@pytest.mark.parametrize("make", [nonnegative, MatrixFactorization, SVDpp])
def test_baselines_beat_the_mean_and_are_stored(make, tmp_path):
    train, test = datasets.load("digits").split(random_state=0)
    model = make(random_state=0).fit(train)
    mean = train.values.mean()
    assert model.evaluate(test)["rmse"] < 0.8 * np.sqrt(((test.values - mean) ** 2).mean())
    model.save(tmp_path / "m.km")
    again = load(tmp_path / "m.km")
    assert type(again) is type(model)
    assert np.array_equal(again.predict(test), model.predict(test))
    assert again.get_params() == {**model.get_params(), "random_state": None}
    same = make(random_state=0).fit(train)
    assert np.array_equal(same.predict(test), model.predict(test))


@pytest.mark.parametrize("cls", [MatrixFactorization, SVDpp])
def test_factor_models_predict_by_their_formula(cls):
    ratings = Observations.from_arrays(["a", "a", "b"], [1, 2, 1], [5, 1, 4], maximum=5)
    model = cls(2, random_state=0).fit(ratings)
    f = model.fitted_
    parts = (f.mean, f.user_bias, f.item_bias, f.user_factors, f.item_factors)
    assert model.predict("a", 2) == pytest.approx(naive.biased_prediction(*parts, 0, 1))
    assert model.predict("zz", 1, unknown="ignore") == pytest.approx(np.clip(f.mean + f.item_bias[0], 0, 1))
    assert model.predict("zz", 9, unknown="ignore") == pytest.approx(f.mean)
    assert model.predict(["a", "b"], 1).shape == (2,)
    with pytest.raises(UnknownIdError):
        model.predict("zz", 1, unknown="error")
    assert set(model.evaluate(ratings)) == {"rmse", "mae", "rmse_rating", "mae_rating"}


def test_factorisation_is_the_same_on_any_number_of_threads():
    table = datasets.load("planted", n_users=80, n_items=60, noise=0.1)
    fits = [MatrixFactorization(3, random_state=1, n_jobs=n).fit(table) for n in (1, 3)]
    assert np.array_equal(fits[0].fitted_.user_factors, fits[1].fitted_.user_factors)


def test_bad_parameters_of_baselines():
    with pytest.raises(ParameterError, match="'n_factors' must be an integer >= 1"):
        MatrixFactorization(0).fit([[1.0]])
    with pytest.raises(ParameterError, match="'rate' must be a number between 0 and 1"):
        SVDpp(rate=0).fit([[1.0]])
    with pytest.raises(DataError, match=r"Read files with kolmogorov.read_ratings"):
        SVDpp().fit("x.csv")
    with pytest.raises(ParameterError, match="Unknown box solver"):
        KolmogorovModel(2, levels="chances", item_solver="exhaustive").fit([[1.0, 0.0]])


def test_rivals_on_movielens(data_directory):
    train, test = datasets.load("ml-100k").split(test_size=0.2, random_state=0)
    assert MatrixFactorization(10, random_state=0).fit(train).evaluate(test)["rmse_rating"] < 0.917
    assert SVDpp(10, random_state=0).fit(train).evaluate(test)["rmse_rating"] < 0.918


@pytest.mark.long("other libraries")
def test_svdpp_against_surprise(data_directory):
    surprise = pytest.importorskip("surprise", reason="Surprise is in the extra 'bench'")
    train, test = datasets.load("ml-100k").split(test_size=0.2, random_state=0)
    frame = train.to_frame("pandas")[["user", "item", "rating"]]
    whole = surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(1, 5))).build_full_trainset()
    theirs = surprise.SVDpp(n_factors=10, n_epochs=5, random_state=0).fit(whole)
    held = test.to_frame("pandas")
    guesses = [theirs.predict(u, i).est for u, i in zip(held["user"], held["item"], strict=True)]
    expected = np.sqrt(((np.array(guesses) - held["rating"]) ** 2).mean())
    ours = SVDpp(10, n_epochs=5, rate=0.007, reg=0.02, random_state=0).fit(train).evaluate(test)["rmse_rating"]
    assert ours == pytest.approx(expected, abs=0.02)
