import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from kolmogorov.kernels.gram import normal_equations
from strategies import tables


@given(tables(), st.integers(1, 6), st.sampled_from([0.0, 2.5]), st.integers(0, 1000))
def test_every_row_matches_the_sums_of_the_definition(table, size, ridge, seed):
    rng = np.random.default_rng(seed)
    factors, centre = rng.random((table.n_items, size)), rng.random(size)
    view = table.rows
    gram, moment = np.full((table.n_users, size, size), np.nan), np.full((table.n_users, size), np.nan)
    normal_equations(
        view.indptr, view.indices, view.values, view.weights, factors, 0, table.n_users, ridge, centre, gram, moment
    )
    weights = np.ones(len(table)) if table.weights is None else table.weights
    for row in range(table.n_users):
        part = range(view.indptr[row], view.indptr[row + 1])
        expected = naive.normal_equations(
            [(view.indices[k], view.values[k], weights[k]) for k in part], factors, ridge, centre
        )
        np.testing.assert_allclose(gram[row], expected[0], atol=1e-12)
        np.testing.assert_allclose(moment[row], expected[1], atol=1e-12)


@pytest.mark.parametrize("first", [0, 3])
def test_a_share_is_the_same_bits_as_the_whole(rng, first):
    size, users, items = 5, 7, 30
    table = np.where(rng.random((users, items)) < 0.6, rng.random((users, items)), np.nan)
    from kolmogorov import Observations

    view = Observations.from_dense(table, maximum=1).rows
    factors, centre = rng.random((items, size)), np.zeros(size)

    def run(first, last):
        gram, moment = np.empty((last - first, size, size)), np.empty((last - first, size))
        normal_equations(
            view.indptr, view.indices, view.values, view.weights, factors, first, last, 1.0, centre, gram, moment
        )
        return gram, moment

    whole, part = run(0, users), run(first, first + 2)
    assert np.array_equal(whole[0][first : first + 2], part[0])
    assert np.array_equal(whole[1][first : first + 2], part[1])
