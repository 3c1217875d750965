"""The probabilities of ratings: a distribution whose mean is what is predicted."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov.descent.fitted import tilt

SCALES = {
    "yes and no": (0.0, 1.0),
    "stars": (0.2, 0.4, 0.6, 0.8, 1.0),
    "uneven": (0.0, 0.001, 0.5, 1.0),
    "fine": tuple(np.linspace(0.1, 0.9, 64)),
}


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
    np.testing.assert_allclose(found[0], naive.tilted(points, shares, mean), atol=1e-8)
    # It is what it was, times an exponential of the points.
    safe = (found[0] > 1e-9) & (shares > 1e-9)
    if safe.sum() > 2:
        logs = np.log(found[0][safe] / shares[safe])
        line = np.polyfit(points[safe], logs, 1)
        np.testing.assert_allclose(np.polyval(line, points[safe]), logs, atol=1e-5)


def test_no_mean_is_out_of_reach_of_a_sure_distribution():
    points, means = np.linspace(0.0, 1.0, 64), np.linspace(0.001, 0.999, 37)
    found = np.tile(np.eye(64)[20], (37, 1))
    tilt(points, means, found)
    np.testing.assert_allclose(found @ points, means, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


# --- of models -------------------------------------------------------------------------------------------------------


def rated(scale):
    rng = np.random.default_rng(1)
    stars = np.clip(np.rint(3 + 1.2 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))), 1, 5)
    stars[rng.random(stars.shape) < 0.3] = np.nan
    if scale == "smooth":
        return km.datasets.planted(n_users=40, n_items=12, n_events=3, random_state=0).observations
    if scale == "stars":
        return km.Observations.from_dense(stars, minimum=0, maximum=5)
    return km.Observations.from_dense(np.where(np.isnan(stars), np.nan, stars > 3), maximum=1)


MODELS = {
    "two": lambda: km.KolmogorovModel(3, random_state=0),
    "chances": lambda: km.KolmogorovModel(3, psi="soft", random_state=0),
    "ratings": lambda: km.KolmogorovModel(3, learn_from="ratings", user_reg=0.0, n_init=5, random_state=0),
    "draws": lambda: km.BayesianKolmogorovModel(3, n_chains=2, burn_in=15, n_samples=6, random_state=0),
}
CASES = [("stars", model) for model in MODELS] + [("yes and no", "two"), ("yes and no", "draws"), ("smooth", "two")]


@cache
def fitted(scale, model):
    table = rated(scale)
    return MODELS[model]().fit(table), table


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_rows_sum_to_one_their_mean_is_predicted_and_evaluate_scores_them(case):
    model, table = fitted(*case)
    users, items = np.repeat(table.users.ids, table.n_items), np.tile(table.items.ids, table.n_users)
    found, values = model.predict_distribution(users, items), model.rating_values_
    assert found.shape == (users.size, values.size)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    said = np.clip(model.predict(users, items), values[0], values[-1])
    np.testing.assert_allclose(found @ values, said, atol=1e-9 * model.scale_.span)
    seen = np.unique(table.scale.rating(table.values).round(9))
    smooth = np.linspace(seen[0], seen[-1], 64)
    np.testing.assert_allclose(values, smooth if case[0] == "smooth" else seen, atol=1e-8)
    scores, points = model.evaluate(table), model.fitted_.points
    forecast = model.predict_distribution(table)
    expected = naive.distribution_scores(table.values, forecast, np.ones(len(table)), points, points)
    for name in ("log_score", "calibration"):
        assert scores[name] == pytest.approx(expected[name], abs=1e-9)


@pytest.mark.parametrize("name", ["two", "chances", "draws"])
def test_the_spread_is_the_noise(name):
    """Of one model: normal noise around the product, cut between ratings, tilted."""
    model, table = fitted("stars", name)
    points, learned = model.fitted_.points, model.fitted_
    users, items = table.user_rows().astype(np.int64), table.item_rows().astype(np.int64)
    theta, psi, noise = (np.asarray(part, dtype=float) for part in (learned.theta, learned.psi, learned.noise))
    if name != "draws":
        theta, psi, noise = theta[None], psi[None], noise[None]
    bare = naive.answer_shares(theta, psi, np.sqrt(noise), users, items, (points[1:] + points[:-1]) / 2)
    means = model.predict(table, output="probability")
    expected = [naive.tilted(points, row, mean) for row, mean in zip(bare, means, strict=True)]
    np.testing.assert_allclose(model.predict_distribution(table), expected, atol=1e-5)


def test_every_way_of_asking():
    model, table = fitted("stars", "two")
    whole = model.predict_distribution(table)
    users, items = table.users.ids[table.user_rows()], table.items.ids[table.item_rows()]
    for asked in ((users, items), (pd.DataFrame({"user": users, "item": items}),)):
        np.testing.assert_array_equal(model.predict_distribution(*asked), whole)
    np.testing.assert_array_equal(model.predict_distribution(int(users[0]), int(items[0])), whole[0])
    assert model.predict_distribution(int(users[0]), model.items_.ids).shape == (table.n_items, 5)
