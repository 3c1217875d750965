"""Log score and calibration against a slow twin, and what `evaluate` says with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov.models.metrics import Scores, shares

SCALES = [[0.0, 1.0], [0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.1, 0.9]]
GRIDS = [[0.0, 1.0], [-0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4], [0.02, 0.3, 0.98]]


@given(st.integers(0, 2**32 - 1), st.sampled_from(SCALES), st.sampled_from(GRIDS), st.booleans())
@settings(max_examples=40)
def test_scores_are_those_of_the_twin_in_any_blocks(seed, points, grid, off_scale):
    rng = np.random.default_rng(seed)
    points, grid = np.array(points), np.array(grid)
    values = rng.random(23) if off_scale else rng.choice(points, 23)
    distribution = rng.dirichlet(np.full(len(grid), 0.3), 23)
    weights = rng.uniform(0.1, 3.0, 23)
    scores = Scores(1.0, points=points)
    for part in (slice(0, 5), slice(5, 23)):
        scores.add(values[part], values[part], weights[part])
        scores.add_forecasts(values[part], distribution[part] @ shares(grid, points), weights[part])
    got = scores.result()
    expected = naive.distribution_scores(values, distribution, weights, grid, points)
    assert got["log_score"] == pytest.approx(expected["log_score"], rel=1e-9)
    assert got["calibration"] == pytest.approx(expected["calibration"], abs=1e-9)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=20), st.sampled_from(SCALES))
def test_shares_are_distributions_and_keep_the_mean(values, points):
    values, points = np.array(values), np.array(points)
    got = shares(values, points)
    assert (got >= 0).all()
    assert np.allclose(got.sum(axis=1), 1.0)
    assert np.allclose(got @ points, np.clip(values, points[0], points[-1]), atol=1e-8)


def test_yes_and_no_keep_their_scores_beside_the_new_ones(zoo):
    got = km.KolmogorovModel(4, psi="soft", learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo).evaluate(zoo)
    assert {"accuracy", "log_loss", "brier", "log_score", "calibration"} <= set(got)
    # Over yes and no a distribution is a probability; only the floors differ.
    assert got["log_score"] == pytest.approx(-got["log_loss"], abs=0.02)
