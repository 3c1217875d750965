import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from helpers.strategies import tables
from kolmogorov import datasets
from kolmogorov.solvers.rows import binary_normal_equations, normal_equations


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


@pytest.mark.parametrize("size", [1, 5, 24, 64])
def test_equations_of_bits_against_the_slow_twin(rng, size):
    table = datasets.load("planted", n_users=12, n_items=200, n_observations=900, noise=0.2, random_state=3)
    view = table.rows
    psi = rng.random((200, size)) < 0.6
    bits = np.array([sum(1 << d for d in range(size) if row[d]) for row in psi], dtype=np.uint64)
    centre = rng.random(size)
    gram, moment = np.empty((12, size, size)), np.empty((12, size))
    binary_normal_equations(view.indptr, view.indices, view.values, bits, 0, 12, 0.7, centre, gram, moment)
    for row in range(12):
        place = slice(view.indptr[row], view.indptr[row + 1])
        entries = [(k, value, 1.0) for k, value in zip(view.indices[place], view.values[place], strict=True)]
        expected = naive.normal_equations(entries, psi.astype(float), 0.7, centre)
        np.testing.assert_allclose(gram[row], expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moment[row], expected[1], rtol=1e-12, atol=1e-12)
