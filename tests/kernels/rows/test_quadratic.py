import numpy as np
import pytest
from hypothesis import given

import naive
from helpers.strategies import binary_problems
from kolmogorov.solvers.rows import batch_values, keep_better, pair_products, residual_squares


@given(binary_problems())
def test_the_better_of_two_points_stands(problem):
    gram, moment = problem
    rng = np.random.default_rng(0)
    old, new = rng.random((20, len(moment))), rng.random((20, len(moment)))
    grams, moments = np.repeat(gram[None], 20, axis=0), np.repeat(moment[None], 20, axis=0)
    result, values = new.copy(), np.empty(20)
    keep_better(grams, moments, old, result, values)
    for k in range(20):
        a, b = naive.value(gram, moment, old[k]), naive.value(gram, moment, new[k])
        assert np.isclose(values[k], min(a, b))
        assert np.array_equal(result[k], old[k]) or np.array_equal(result[k], new[k])
    batch_values(grams, moments, result, again := np.empty(20))
    assert np.array_equal(values, again)


def test_products_at_pairs(rng):
    theta, psi = rng.random((4, 3)), rng.random((5, 3))
    users, items = rng.integers(4, size=50), rng.integers(5, size=50)
    pair_products(theta, psi, users, items, out := np.empty(50))
    np.testing.assert_allclose(out, [theta[u] @ psi[i] for u, i in zip(users, items, strict=True)])


@pytest.mark.parametrize("weighted", [False, True])
def test_residual_squares(rng, weighted):
    theta, psi = rng.random((6, 3)), rng.random((5, 3))
    counts = np.array([2, 0, 3, 1, 4, 0])
    indptr = np.append(0, np.cumsum(counts))
    indices, values = rng.integers(5, size=10).astype(np.int32), rng.random(10)
    weights = rng.random(10) if weighted else np.empty(0)
    out = np.full(6, -1.0)
    residual_squares(indptr, indices, values, weights, theta, psi, 1, 6, out)
    of_entry = np.repeat(np.arange(6), counts)
    squares = ((theta[of_entry] * psi[indices]).sum(axis=1) - values) ** 2 * (weights if weighted else 1.0)
    expected = np.bincount(of_entry, weights=squares, minlength=6)
    np.testing.assert_allclose(out[1:], expected[1:])
    assert out[0] == -1.0
