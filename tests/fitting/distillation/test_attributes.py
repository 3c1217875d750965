"""Attributes in one model: what draws say of them in its events, and rows that they place there."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from kolmogorov.data.attributes import Attribute
from kolmogorov.data.changes import with_ids, without_ids
from kolmogorov.data.observations import Observations
from kolmogorov.descent.attributes import Attributed, placing_of

AGE = Attribute("age", "number", (), (0.0,), 1.0)
SEEDS = st.integers(0, 2**32 - 1)


def attributed(slopes, drawn=None, n_rows=4):
    """Return what two columns say in every draw."""
    slopes = slopes.astype(np.float32)
    drawn = slopes[:, 1:] if drawn is None else drawn.astype(np.float32)
    n_draws, size = len(slopes), slopes.shape[2]
    values, nobody = np.zeros((n_rows, 2), dtype=np.float32), np.empty(0, dtype=np.int64)
    apart, nowhere = np.zeros((n_draws, size), dtype=np.float32), np.empty((n_draws, 0, size), dtype=np.float32)
    return Attributed((AGE, AGE), slopes, values, nobody, drawn, apart, nowhere)


@given(SEEDS)
def test_a_model_that_is_the_only_draw_says_what_it_says(seed):
    rng = np.random.default_rng(seed)
    theta, weights = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(40))
    slopes = rng.standard_normal((1, 3, 3))
    found = placing_of(attributed(slopes), theta[None], theta, weights, of_users=False)
    np.testing.assert_allclose(found.slopes, slopes[0], atol=0.02)
    psi, item_weights = rng.random((40, 3)), rng.dirichlet(np.ones(40))
    slopes[0] -= slopes[0].mean(axis=1, keepdims=True)
    slopes[0, 0] += 1.0 / 3.0
    users = placing_of(attributed(slopes), psi[None], psi, item_weights, of_users=True)
    np.testing.assert_allclose(users.slopes, slopes[0], atol=0.02)
    np.testing.assert_allclose(users.slopes.sum(axis=1), [1.0, 0.0, 0.0], atol=1e-9)


@given(SEEDS, st.integers(1, 4), st.integers(1, 5))
def test_it_is_the_nearest_to_what_draws_expect(seed, n_draws, size):
    """Where an item with attributes z is placed, its column is nearest to the mean of what draws expect of it."""
    rng = np.random.default_rng(seed)
    theta, weights = rng.dirichlet(np.ones(size), 30), rng.dirichlet(np.ones(30))
    drawn = rng.dirichlet(np.ones(4), (n_draws, 30)).astype(np.float32)
    slopes = rng.standard_normal((n_draws, 3, 4))
    found = placing_of(attributed(slopes), drawn, theta, weights, of_users=False)
    values = rng.standard_normal(2)
    expected = naive.expected_column(drawn, slopes.astype(np.float32), values)
    here = found.said(values[None])[0]
    best = naive.nearest_column(theta, weights, expected)
    loss = [float(weights @ (theta @ psi - expected) ** 2) for psi in (here, best)]
    assert loss[0] <= loss[1] + 1e-4
    # What an attribute means for events averages to nothing over everybody.
    np.testing.assert_allclose(found.effects[0] @ (theta * weights[:, None]).sum(axis=0), 0.0, atol=1e-6)
    assert (found.effects[1] <= found.effects[2]).all()


@given(SEEDS, st.lists(st.integers(3, 30), min_size=1, max_size=4), st.integers(0, 2), st.booleans())
def test_categories_are_told_from_the_others_that_they_exclude(seed, counts, n_rare, of_users):
    """What a category means is the mean of those who have it less that of all others, whatever slopes are."""
    rng = np.random.default_rng(seed)
    cells = [f"c{k}" for k, n in enumerate(counts) for _ in range(n)] + [f"rare {k}" for k in range(n_rare)]
    if len(set(cells)) == 1:
        cells += ["another", "one more"]
    job = Attribute.of("job", cells)
    slopes = rng.standard_normal((2, 1 + len(job.columns), 3))
    slopes -= slopes.mean(axis=2, keepdims=True)
    has = np.array([[cell == category for category in job.categories] for cell in cells])
    values = (has - np.array(job.centre)) / job.scale
    said = attributed(slopes)
    said = replace(said, columns=(job,), values=values.astype(np.float32))
    factors, weights = rng.random((40, 3)), np.full(40, 1.0 / 40.0)
    found = placing_of(said, factors[None].repeat(2, 0), factors, weights, of_users=of_users)
    rows = values @ slopes[:, 1:].mean(axis=0)
    if not of_users:
        # Of items: what the people of an event expect more than everybody does.
        moments, mass = rows @ (factors.T @ (factors * weights[:, None])), (factors * weights[:, None]).sum(axis=0)
        rows = moments / mass
        rows = rows - (rows @ mass)[:, None] / mass.sum()
    for place, mine in enumerate(has.T):
        expected = rows[mine].mean(axis=0) - rows[~mine].mean(axis=0)
        np.testing.assert_allclose(found.effects[0, place] / job.scale, expected, atol=0.02 * np.abs(expected).max())


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=15),
    st.booleans(),
    st.sets(st.integers(10, 20), max_size=3),
)
def test_ids_come_and_go(entries, named, new):
    pairs = {(u, i): v for u, i, v in entries}

    def called(numbers):
        return [f"n{k}" for k in numbers] if named else list(numbers)

    users, items = called(u for u, _ in pairs), called(i for _, i in pairs)
    table = Observations.from_arrays(users, items, [float(v) for v in pairs.values()])
    others = Observations.from_arrays(
        called(new) or called([99]), called([0] * max(len(new), 1)), [1.0] * max(len(new), 1)
    )
    wider, before, _ = with_ids(table, others.users, others.items)
    gone = before < 0
    again = without_ids(wider, gone, np.array([row not in table.items.ids for row in wider.items.ids]))
    assert again.users == table.users
    assert again.items == table.items
    assert again.fingerprint() == table.fingerprint()
    np.testing.assert_array_equal(wider.values, table.values)


@pytest.mark.parametrize("name", ["slopes", "gram", "effects", "values"])
def test_numbers_that_are_none_are_refused(name):
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(3), 20)
    found = placing_of(
        attributed(rng.standard_normal((2, 3, 3))), theta[None].repeat(2, 0), theta, np.full(20, 0.05), of_users=False
    )
    found = found.with_rows(np.array([1]), np.zeros((1, 2)))
    found.validate("items", 4)
    getattr(found, name).fill(np.nan)
    with pytest.raises(Exception, match="items"):
        found.validate("items", 4)
