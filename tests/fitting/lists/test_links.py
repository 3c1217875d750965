"""Links in closed form beside one regression at a time, and scores beside sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

import naive
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov.data.view import View
from kolmogorov.errors import InvariantError
from kolmogorov.models.links import Links, closed_form, from_neighbours, gram_of, links_of, ridges_of

SEEDS = st.integers(0, 2**32 - 1)


def random_table(seed, n_users, n_items, whole=True):
    rng = np.random.default_rng(seed)
    had = rng.random((n_users, n_items)) < 0.35
    return had * (1.0 if whole else rng.uniform(0.1, 1.0, had.shape))


@given(SEEDS, st.integers(1, 12), st.integers(1, 9), st.booleans(), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=30, deadline=None)
def test_the_closed_form_is_one_regression_for_each_item(seed, n_users, n_items, whole, growth):
    dense = random_table(seed, n_users, n_items, whole)
    table = csr_array(dense)
    ridges = ridges_of(table, 2.0, growth)
    with one_blas_thread():
        assert np.allclose(gram_of(table), dense.T @ dense)
        links = closed_form(gram_of(table), ridges)
    links.validate()
    assert np.allclose(links.weights, naive.link_weights(dense, ridges), atol=1e-5)


def test_an_even_ridge_is_that_of_scikit_learn():
    dense = random_table(3, 60, 12)
    table = csr_array(dense)
    links = closed_form(gram_of(table), ridges_of(table, 7.0, 0.0))
    for item in range(12):
        others = np.delete(np.arange(12), item)
        expected = Ridge(alpha=7.0, fit_intercept=False).fit(dense[:, others], dense[:, item]).coef_
        assert np.allclose(links.into(item)[others], expected, atol=1e-5)


@given(SEEDS, st.integers(2, 14), st.integers(2, 9), st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_neighbours_are_regressed_on_alone(seed, n_users, n_items, size):
    # Where everybody has something of everything no two cosines are equal.
    dense = np.random.default_rng(seed).uniform(0.1, 1.0, (n_users, n_items))
    table = csr_array(dense)
    ridges = ridges_of(table, 1.5, 0.5)
    with one_blas_thread(), Threads(2) as dealer:
        links = from_neighbours(table, ridges, size, dealer)
    links.validate()
    weights = np.array([links.out_of(item) for item in range(n_items)])
    assert np.allclose(weights, naive.neighbour_links(dense, ridges, size), atol=1e-5)
    assert np.allclose(weights, np.array([links.into(item) for item in range(n_items)]).T)


@given(SEEDS, st.booleans())
@settings(max_examples=20, deadline=None)
def test_scores_are_sums_of_weights(seed, sparse):
    dense = random_table(seed, 6, 5, whole=False)
    table = csr_array(dense)
    with one_blas_thread(), Threads(1) as dealer:
        ridges = ridges_of(table, 1.0, 0.0)
        links = from_neighbours(table, ridges, 3, dealer) if sparse else links_of(table, ridges, dealer)
    weights = np.array([links.out_of(item) for item in range(5)])
    expected = np.vstack([dense, np.zeros(5)]) @ weights
    rows = np.array([6, 0, 3])
    view = View(table.indptr.astype(np.int64), table.indices, table.data, np.empty(0))
    assert np.allclose(links.scores(view, rows), expected[rows])
    users, items = np.array([0, 6, 2, 5]), np.array([4, 1, 0, 5])
    padded = np.hstack([expected, np.zeros((7, 1))])
    assert np.allclose(links.pairs(view, users, items), padded[users, items])


def test_links_that_are_none_are_refused():
    def refused(match, n_items, **arrays):
        with pytest.raises(InvariantError, match=match):
            Links.restored({f"link_{name}": array for name, array in arrays.items()}, n_items).validate()

    refused("from an item to itself", 3, matrix=np.eye(3, dtype=np.float32))
    refused("must be float32", 3, matrix=np.zeros((2, 3), dtype=np.float32))
    indptr, weights = np.array([0, 1, 2]), np.ones(2, dtype=np.float32)
    for match, items, numbers in (
        ("from an item to itself", [0, 1], weights),
        (r"outside \[0, 1\]", [1, 2], weights),
        ("holds a number outside", [1, 0], np.float32([np.nan, 1])),
    ):
        refused(match, 2, indptr=indptr, items=np.array(items, dtype=np.int32), weights=numbers)
