"""Attributes in one model: what draws say of them in its events, and rows that they place there."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from kolmogorov.data.attributes import Attribute
from kolmogorov.descent.attributes import Attributed, placing_of
from kolmogorov.errors import InvariantError

AGE = Attribute("age", "number", (), (0.0,), 1.0)
SEEDS = st.integers(0, 2**32 - 1)


def attributed(slopes):
    """Return what two columns say of four rows in every draw."""
    slopes = slopes.astype(np.float32)
    n_draws, size = len(slopes), slopes.shape[2]
    apart, nowhere = np.zeros((n_draws, size), dtype=np.float32), np.empty((n_draws, 0, size), dtype=np.float32)
    values, nobody = np.zeros((4, 2), dtype=np.float32), np.empty(0, dtype=np.int64)
    return Attributed((AGE, AGE), slopes, values, nobody, slopes[:, 1:], apart, nowhere)


@given(SEEDS)
def test_a_model_that_is_the_only_draw_says_what_it_says(seed):
    rng = np.random.default_rng(seed)
    theta, weights = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(40))
    slopes, psi = rng.standard_normal((1, 3, 3)), rng.random((40, 3))
    found = placing_of(attributed(slopes), theta[None], theta, weights, of_users=False)
    np.testing.assert_allclose(found.slopes, slopes[0], atol=0.02)
    slopes[0] -= slopes[0].mean(axis=1, keepdims=True)
    slopes[0, 0] += 1.0 / 3.0
    users = placing_of(attributed(slopes), psi[None], psi, weights, of_users=True)
    np.testing.assert_allclose(users.slopes, slopes[0], atol=0.02)
    np.testing.assert_allclose(users.slopes.sum(axis=1), [1.0, 0.0, 0.0], atol=1e-9)


@given(SEEDS, st.integers(1, 4), st.integers(1, 5))
def test_it_is_the_nearest_to_what_draws_expect(seed, n_draws, size):
    """Where an item with attributes z is placed, its column is nearest to the mean of what draws expect of it."""
    rng = np.random.default_rng(seed)
    theta, weights = rng.dirichlet(np.ones(size), 30), rng.dirichlet(np.ones(30))
    drawn, slopes = rng.dirichlet(np.ones(4), (n_draws, 30)).astype(np.float32), rng.standard_normal((n_draws, 3, 4))
    found, values = placing_of(attributed(slopes), drawn, theta, weights, of_users=False), rng.standard_normal(2)
    expected = naive.expected_column(drawn, slopes.astype(np.float32), values)
    best = naive.nearest_column(theta, weights, expected)
    here, least = (float(weights @ (theta @ psi - expected) ** 2) for psi in (found.said(values[None])[0], best))
    assert here <= least + 1e-4
    # What an attribute means for events averages to nothing over everybody.
    np.testing.assert_allclose(found.effects[0] @ (theta * weights[:, None]).sum(axis=0), 0.0, atol=1e-6)
    assert (found.effects[1] <= found.effects[2]).all()


@given(SEEDS, st.lists(st.integers(3, 30), min_size=2, max_size=4), st.integers(0, 2), st.booleans())
def test_categories_are_told_from_the_others_that_they_exclude(seed, counts, n_rare, of_users):
    """What a category means is the mean of those who have it less that of all others, whatever slopes are."""
    rng = np.random.default_rng(seed)
    cells = [f"c{k}" for k, n in enumerate(counts) for _ in range(n)] + [f"rare {k}" for k in range(n_rare)]
    job = Attribute.of("job", cells)
    slopes = rng.standard_normal((2, 1 + len(job.columns), 3))
    slopes -= slopes.mean(axis=2, keepdims=True)
    has = np.array([[cell == category for category in job.categories] for cell in cells])
    values = (has - np.array(job.centre)) / job.scale
    said = replace(attributed(slopes), columns=(job,), values=values.astype(np.float32))
    factors, weights = rng.random((40, 3)), np.full(40, 1.0 / 40.0)
    found = placing_of(said, factors[None].repeat(2, 0), factors, weights, of_users=of_users)
    rows = values @ slopes[:, 1:].mean(axis=0)
    if not of_users:
        # Of items: what the people of an event expect more than everybody does.
        mass = (factors * weights[:, None]).sum(axis=0)
        rows = rows @ (factors.T @ (factors * weights[:, None])) / mass
        rows = rows - (rows @ mass)[:, None] / mass.sum()
    for place, mine in enumerate(has.T):
        expected = rows[mine].mean(axis=0) - rows[~mine].mean(axis=0)
        np.testing.assert_allclose(found.effects[0, place] / job.scale, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["slopes", "gram", "effects", "values"])
def test_numbers_that_are_none_are_refused(name):
    rng = np.random.default_rng(0)
    theta, slopes = rng.dirichlet(np.ones(3), 20), rng.standard_normal((2, 3, 3))
    found = placing_of(attributed(slopes), theta[None].repeat(2, 0), theta, np.full(20, 0.05), of_users=False)
    found = found.with_rows(np.array([1]), np.zeros((1, 2)))
    found.validate("items", 4)
    getattr(found, name).fill(np.nan)
    with pytest.raises(InvariantError, match="items"):
        found.validate("items", 4)
