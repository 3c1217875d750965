"""Many-valued models: what they learn, say, keep in files, and do with tables of every kind."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from helpers.forgery import forged
from helpers.strategies import tables
from kolmogorov.data.table.levels import has_two
from kolmogorov.errors import FileFormatError, ParameterError
from kolmogorov.solvers import resolve

GRID = [-0.2, 0.0, 0.3, 0.6, 1.0, 1.2]


@pytest.fixture(scope="module")
def stars():
    """Ratings of 1 to 5 with a structure of three tastes, a fifth of them missing."""
    rng = np.random.default_rng(5)
    taste = rng.dirichlet(np.ones(3) * 0.3, 60)
    merit = rng.choice([0.2, 0.4, 0.6, 0.8, 1.0], (25, 3))
    ratings = np.clip((5 * taste @ merit.T + rng.normal(0, 0.3, (60, 25))).round(), 1, 5)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    return km.Observations.from_dense(ratings, maximum=5)


@pytest.fixture(scope="module")
def fitted(stars):
    return km.KolmogorovModel(3, levels="auto", learn_from="ratings", user_reg=0.3, random_state=0).fit(stars)


@given(tables(trainable=True), st.sampled_from([GRID, [0.25, 0.75], "auto"]), st.sampled_from([0.0, 0.5]))
@settings(max_examples=25)
def test_the_objective_never_rises_and_is_what_it_says(table, levels, item_reg):
    model = km.KolmogorovModel(
        3, levels=levels, learn_from="ratings", user_reg=0.7, item_reg=item_reg, random_state=0, max_iter=6
    ).fit(table)
    reached = [sweep.objective for sweep in model.history_]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(reached))
    assert np.isin(model.psi_, model.levels_).all()
    values = table.values if table.weights is None else table.values * table.weights
    mean = values.sum() / (len(table) if table.weights is None else table.weights.sum())
    state = model.fitted_
    seen = [*state.user_seen, *state.item_seen]
    expected = naive.level_objective(table, state.theta, state.psi, state.user_pull.centre, 0.7, item_reg, mean)
    # A user without observations is given the population's theta after the last sweep, an item the average's psi.
    if all(seen):
        assert reached[-1] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_two_levels_are_the_papers_model_to_the_last_bit(zoo):
    plain = km.KolmogorovModel(4, learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo)
    listed = km.KolmogorovModel(4, levels=[0, 1], learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo)
    assert listed.psi_.dtype == bool
    assert np.array_equal(plain.psi_, listed.psi_)
    assert np.array_equal(plain.theta_, listed.theta_)
    assert [s.objective for s in plain.history_] == [s.objective for s in listed.history_]
    assert listed.fitted_.levels is None
    assert listed.levels_.tolist() == [0.0, 1.0]
    assert has_two([0, 1])
    assert not has_two([0, 0.5])


def test_more_levels_fit_ratings_better(stars):
    two = km.KolmogorovModel(3, learn_from="ratings", user_reg=0.3, n_init=3, random_state=0).fit(stars)
    many = km.KolmogorovModel(3, levels="auto", learn_from="ratings", user_reg=0.3, n_init=3, random_state=0).fit(stars)
    assert many.evaluate(stars)["rmse_rating"] < 0.7 * two.evaluate(stars)["rmse_rating"]


@pytest.mark.parametrize("solver", ["coordinate", "exhaustive", resolve("levels", "binary")])
def test_every_solver_fits(stars, solver):
    grid = [0.0, 0.25, 0.5, 0.75, 1.0]
    model = km.KolmogorovModel(
        3, levels=grid, item_solver=solver, learn_from="ratings", user_reg=0.3, random_state=0
    ).fit(stars)
    assert np.isin(model.psi_, grid).all()
    assert model.evaluate(stars)["rmse"] < 0.1


def test_same_bits_on_any_number_of_threads_and_for_packed_tables(stars, fitted, tmp_path):
    km.pack(stars, tmp_path / "stars.kmt")
    for table, jobs in ((stars, 1), (stars, 3), (km.Observations.open(tmp_path / "stars.kmt"), 2)):
        other = km.KolmogorovModel(
            3, levels="auto", learn_from="ratings", user_reg=0.3, random_state=0, n_jobs=jobs
        ).fit(table)
        assert np.array_equal(other.psi_, fitted.psi_)
        assert np.array_equal(other.theta_, fitted.theta_)


def test_predictions_are_cut_to_the_scale(fitted, stars):
    assert fitted.levels_[0] < 0
    assert fitted.levels_[-1] > 1
    said = fitted.predict(stars)
    assert ((said >= 0) & (said <= 1)).all()


def test_everything_comes_back_from_a_file(fitted, stars, tmp_path):
    fitted.save(tmp_path / "m.km")
    again = km.load(tmp_path / "m.km")
    assert again.levels == "auto"
    assert np.array_equal(again.levels_, fitted.levels_)
    assert np.array_equal(again.psi_, fitted.psi_)
    assert np.array_equal(again.predict_distribution(stars), fitted.predict_distribution(stars))
    assert again.evaluate(stars) == fitted.evaluate(stars)
    for levels in (GRID, np.array(GRID), tuple(GRID)):
        solver = resolve("levels", "coordinate", n_starts=3)
        model = km.KolmogorovModel(2, levels=levels, learn_from="ratings", item_solver=solver, random_state=0).fit(
            stars
        )
        model.save(tmp_path / "g.km")
        back = km.load(tmp_path / "g.km")
        assert back.levels == GRID
        assert back.item_solver == solver
    nested = resolve("levels", "binary", solver=resolve("binary", "local_search", n_starts=2))
    model = km.KolmogorovModel(2, levels=[0, 0.5, 1], learn_from="ratings", item_solver=nested, random_state=0).fit(
        stars
    )
    model.save(tmp_path / "n.km")
    assert km.load(tmp_path / "n.km").item_solver == nested


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda meta, arrays: arrays["psi"].__setitem__((0, 0), 10), "stands for no level"),
        (lambda meta, arrays: arrays.update(levels=arrays["levels"][::-1].copy()), "the levels must be"),
        (lambda meta, arrays: arrays["levels"].__setitem__(0, np.nan), "the levels must be"),
        (lambda meta, arrays: arrays["levels"].__setitem__(9, 1e9), "the levels must be"),
        (lambda meta, arrays: arrays.update(levels=arrays["levels"].astype(np.float32)), "levels must be float64"),
        (lambda meta, arrays: arrays.pop("levels"), "do not hold 3 events"),
        (lambda meta, arrays: meta["parameters"].update(levels=2), "do not belong together"),
        (lambda meta, arrays: meta["parameters"].update(levels=[0.0, 0.5, 1.0]), "do not belong together"),
        (
            lambda meta, arrays: meta["parameters"].update(levels=[1.0, 0.5]),
            "'levels' must be 2, 'auto', 'chances', or a list",
        ),
    ],
)
def test_forged_levels_are_refused(fitted, tmp_path, lie, words):
    fitted.save(tmp_path / "m.km")
    (tmp_path / "f.km").write_bytes(forged((tmp_path / "m.km").read_bytes(), lie))
    with pytest.raises(FileFormatError, match=words):
        km.load(tmp_path / "f.km")


def test_a_fit_goes_on_from_its_checkpoint_and_refuses_other_levels(stars, tmp_path):
    options = {"n_events": 3, "learn_from": "ratings", "user_reg": 0.3, "random_state": 0, "tol": 0.0, "n_init": 2}
    whole = km.KolmogorovModel(**options, levels=GRID, max_iter=4).fit(stars)

    def stop(sweep):
        return sweep.sweep == 2

    path = tmp_path / "c"
    km.KolmogorovModel(**options, levels=GRID, max_iter=4, checkpoint=path, callback=stop).fit(stars)
    resumed = km.KolmogorovModel(**options, levels=GRID, max_iter=4, checkpoint=path).fit(stars)
    assert np.array_equal(resumed.psi_, whole.psi_)
    assert np.array_equal(resumed.theta_, whole.theta_)
    with pytest.raises(FileFormatError, match="another fit"):
        km.KolmogorovModel(**options, levels="auto", max_iter=4, checkpoint=path).fit(stars)

    def lie(meta, arrays):
        arrays["current_psi"][0, 0] = 0.11

    path.write_bytes(forged(path.read_bytes(), lie))
    with pytest.raises(FileFormatError, match="no level"):
        km.KolmogorovModel(**options, levels=GRID, max_iter=4, checkpoint=path).fit(stars)


def test_new_users_and_items_are_placed(stars):
    model = km.KolmogorovModel(
        3, levels="auto", learn_from="ratings", user_reg=0.3, item_reg=0.1, random_state=0, tol=0.0
    ).fit(stars)
    theta = model.fold_in(stars, side="users")
    assert np.allclose(theta.sum(axis=1), 1.0)
    psi = model.fold_in(stars, side="items")
    assert np.isin(psi, model.levels_).all()
    assert (psi == model.psi_).mean() > 0.9
    guest = km.Observations.from_arrays(["guest"] * 3, [0, 1, 2], [5, 1, 3], maximum=5)
    assert len(model.recommend(guest, n=3)) == 3
    # Nothing is known of an item without ratings but what the ridge says: the mean.
    nothing = model.fold_in(stars.subset(np.arange(len(stars)) < 0), side="items")
    nearest = model.levels_[np.abs(model.levels_ - stars.values.mean()).argmin()]
    assert (nothing == nearest).all()


def test_the_ridge_of_items_draws_to_the_mean(stars):
    model = km.KolmogorovModel(2, levels="auto", learn_from="ratings", item_reg=1e6, random_state=0).fit(stars)
    nearest = model.levels_[np.abs(model.levels_ - stars.values.mean()).argmin()]
    assert (model.psi_ == nearest).all()


def test_weights_count(stars):
    rng = np.random.default_rng(0)
    twice = rng.integers(1, 3, len(stars)).astype(float)
    weighed = km.Observations(stars.users, stars.items, stars.rows.weighed(twice), stars.scale)
    model = km.KolmogorovModel(3, levels=GRID, learn_from="ratings", user_reg=0.3, item_reg=0.2, random_state=0).fit(
        weighed
    )
    state, mean = model.fitted_, float(twice @ stars.values / twice.sum())
    expected = naive.level_objective(weighed, state.theta, state.psi, state.user_pull.centre, 0.3, 0.2, mean)
    assert model.history_[-1].objective == pytest.approx(expected)


def test_levels_can_be_tuned(stars):
    grid = {"n_events": 2, "user_reg": (0.3, 3.0), "item_reg": 0.0}
    found = km.tune(stars, levels=[2, "auto", [0.0, 0.5, 1.0]], folds=2, **grid)
    assert len(found.trials) == 6
    assert found.best.levels == "auto"
    assert len(found.to_frame()) == 6
    assert found.model.levels_.size == 10
    with pytest.raises(ParameterError, match="'levels' must be 2, 'auto', 'chances', or a list"):
        km.tune(stars, levels=[0.0, 0.5, 1.0], folds=2, **grid)


def test_similar_items_share_their_values(fitted):
    item = fitted.items_.ids[0]
    alike = fitted.fitted_.similar_to(0)
    assert alike[0] == pytest.approx(1.0)
    assert ((alike >= 0) & (alike <= 1)).all()
    assert len(fitted.similar_items(item, n=4)) == 4


@pytest.mark.parametrize("levels", [3, True, "many", [0.5], [1, 0], [0, np.nan], [0, 11], list(range(70))])
def test_wrong_levels_are_named(stars, levels):
    with pytest.raises(
        ParameterError, match="'levels' must be 2, 'auto', 'chances', or a list of 2 to 64 increasing numbers"
    ):
        km.KolmogorovModel(levels=levels).fit(stars)


def test_a_solver_that_does_not_suit_the_levels_is_named(stars):
    with pytest.raises(km.errors.SolverMismatchError, match="equally spaced"):
        km.KolmogorovModel(2, levels=GRID, item_solver="binary").fit(stars)
    with pytest.raises(km.errors.SolverMismatchError, match="at most 8 variables of 10 levels"):
        km.KolmogorovModel(9, levels="auto", item_solver="exhaustive").fit(stars)
