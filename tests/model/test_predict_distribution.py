"""The probabilities of ratings: a distribution whose mean is what is predicted."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov.descent.fitted import tilt

DRAWS = {"n_chains": 2, "burn_in": 15, "n_samples": 6, "random_state": 0}
SCALES = {
    "yes and no": (0.0, 1.0),
    "stars": (0.2, 0.4, 0.6, 0.8, 1.0),
    "uneven": (0.0, 0.001, 0.5, 1.0),
    "fine": tuple(np.linspace(0.1, 0.9, 64)),
}


# --- the tilt --------------------------------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(list(SCALES)),
    st.sampled_from([0.02, 0.3, 3.0]),
    st.floats(-0.1, 1.1),
)
@settings(max_examples=150)
def test_a_tilted_distribution_is_the_nearest_with_its_mean(seed, scale, evenness, where):
    rng, points = np.random.default_rng(seed), np.array(SCALES[scale])
    shares = rng.dirichlet(np.full(points.size, evenness))
    mean = points[0] + where * (points[-1] - points[0])
    found = shares[None].copy()
    tilt(points, np.array([mean]), found)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found[0] @ points == pytest.approx(np.clip(mean, points[0], points[-1]), abs=1e-10)
    expected = naive.tilted(points, shares, mean)
    np.testing.assert_allclose(found[0], expected, atol=1e-8)
    # It is what it was, times an exponential of the points.
    safe = (found[0] > 1e-9) & (shares > 1e-9)
    if safe.sum() > 2:
        logs = np.log(found[0][safe] / shares[safe])
        line = np.polyfit(points[safe], logs, 1)
        np.testing.assert_allclose(np.polyval(line, points[safe]), logs, atol=1e-5)


def test_no_mean_is_out_of_reach_of_a_sure_distribution():
    points = np.linspace(0.0, 1.0, 64)
    means = np.linspace(0.001, 0.999, 37)
    found = np.tile(np.eye(64)[20], (37, 1))
    tilt(points, means, found)
    np.testing.assert_allclose(found @ points, means, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


# --- of models -------------------------------------------------------------------------------------------------------


def rated():
    rng = np.random.default_rng(1)
    stars = np.clip(np.rint(3 + 1.2 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))), 1, 5)
    stars[rng.random(stars.shape) < 0.3] = np.nan
    return km.Observations.from_dense(stars, minimum=0, maximum=5)


def answered():
    stars = rated()
    rows = stars.users.ids[stars.user_rows()], stars.items.ids[stars.item_rows()]
    return km.Observations.from_arrays(*rows, (stars.values > 0.6).astype(float), maximum=1)


def smooth():
    made = km.datasets.planted(n_users=40, n_items=12, n_events=3, random_state=0)
    return made.observations


TABLES = {"stars": rated, "yes and no": answered, "smooth": smooth}
MODELS = {
    "two": lambda: km.KolmogorovModel(3, random_state=0),
    "chances": lambda: km.KolmogorovModel(3, psi="soft", random_state=0),
    "ratings": lambda: km.KolmogorovModel(3, learn_from="ratings", user_reg=0.0, n_init=5, random_state=0),
    "draws": lambda: km.BayesianKolmogorovModel(3, **DRAWS),
}
CASES = [("stars", model) for model in MODELS] + [("yes and no", "two"), ("yes and no", "draws"), ("smooth", "two")]


class Fits(dict):
    """Models and their tables, fitted when they are asked for."""

    def __missing__(self, case):
        table = TABLES[case[0]]()
        self[case] = MODELS[case[1]]().fit(table), table
        return self[case]


@pytest.fixture(scope="module")
def fits():
    return Fits()


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_rows_sum_to_one_and_their_mean_is_what_is_predicted(fits, case):
    model, table = fits[case]
    users, items = np.repeat(table.users.ids, table.n_items), np.tile(table.items.ids, table.n_users)
    found, values = model.predict_distribution(users, items), model.rating_values_
    assert found.shape == (users.size, values.size)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    said = np.clip(model.predict(users, items), values[0], values[-1])
    np.testing.assert_allclose(found @ values, said, atol=1e-9 * model.scale_.span)
    seen = np.unique(table.scale.rating(table.values).round(9))
    if case[0] == "smooth":
        np.testing.assert_allclose(values, np.linspace(seen[0], seen[-1], 64), atol=1e-8)
    else:
        np.testing.assert_allclose(values, seen)


@pytest.mark.parametrize("model", ["two", "chances", "draws"])
def test_the_spread_is_the_noise(fits, model):
    """Of one model: normal noise around the product, cut between ratings, tilted."""
    fitted, table = fits["stars", model]
    points = fitted.fitted_.points
    cuts = (points[1:] + points[:-1]) / 2
    users, items = table.user_rows().astype(np.int64), table.item_rows().astype(np.int64)
    if model == "draws":
        drawn = fitted.posterior_
        theta, psi, deviation = drawn.theta.astype(float), drawn.psi.astype(float), np.sqrt(drawn.noise.astype(float))
    else:
        theta, psi = fitted.theta_[None], fitted.psi_[None].astype(float)
        deviation = np.sqrt(fitted.fitted_.noise)[None]
        assert (fitted.fitted_.noise > 0).all()
    bare = naive.answer_shares(theta, psi, deviation, users, items, cuts)
    expected = [
        naive.tilted(points, row, mean)
        for row, mean in zip(bare, fitted.predict(table, output="probability"), strict=True)
    ]
    np.testing.assert_allclose(fitted.predict_distribution(table), expected, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_the_log_score_of_evaluate_is_that_of_the_distribution(fits, case):
    model, table = fits[case]
    scores, points = model.evaluate(table), model.fitted_.points
    found = model.predict_distribution(table)
    expected = naive.distribution_scores(table.values, found, np.ones(len(table)), points, points)
    assert scores["log_score"] == pytest.approx(expected["log_score"], abs=1e-9)
    assert scores["calibration"] == pytest.approx(expected["calibration"], abs=1e-9)


def test_every_way_of_asking(fits):
    model, table = fits["stars", "two"]
    whole = model.predict_distribution(table)
    users, items = table.users.ids[table.user_rows()], table.items.ids[table.item_rows()]
    np.testing.assert_array_equal(model.predict_distribution(users, items), whole)
    one = model.predict_distribution(int(users[0]), int(items[0]))
    assert one.shape == (5,)
    np.testing.assert_array_equal(one, whole[0])
    pairs = pd.DataFrame({"user": users, "item": items})
    np.testing.assert_array_equal(model.predict_distribution(pairs), whole)
    every = model.predict_distribution(int(users[0]), model.items_.ids)
    assert every.shape == (table.n_items, 5)
