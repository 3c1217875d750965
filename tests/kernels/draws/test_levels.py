"""Draws of many-valued models have their exact distributions, by going through all that an item can be."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

import naive
from kolmogorov._support.seeds import row_seeds
from kolmogorov.draws.gibbs import (
    draw_emissions,
    draw_emitted,
    draw_psis,
    draw_spaced,
    draw_thetas,
    gamma,
    uniform,
)
from kolmogorov.draws.likelihood import answer_shares, draw_products, mixture_quantile
from kolmogorov.draws.posterior import low_quantile

N = 20_000


def seeds(sweep=0, n=N):
    return row_seeds(7, sweep, 0, np.arange(n))


def copies(values, weights, n=N):
    """The same row again and again: row pointers, partners, what was said, and its weight."""
    size = len(values)
    indptr = np.arange(n + 1, dtype=np.int64) * size
    return indptr, np.tile(np.arange(size, dtype=np.int32), n), np.tile(values, n), np.tile(weights, n)


def places(codes, n_values):
    """Number vectors of places, the first event most significant."""
    return codes.astype(np.int64) @ n_values ** np.arange(codes.shape[1])[::-1]


def agree(found, expected):
    """Tell whether counts come from a distribution; what is rarer than five times is gathered."""
    few = len(found) * expected < 5.0
    counts = np.bincount(found, minlength=len(expected)).astype(float)
    counts = np.append(counts[~few], counts[few].sum())
    wanted = len(found) * np.append(expected[~few], expected[few].sum())
    return stats.chisquare(counts[wanted > 0], wanted[wanted > 0]).pvalue > 1e-4


def precision_matrix(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + np.eye(size)


def draw_level(state, logs):
    """The place that a uniform number stands for, given log weights."""
    _, u = uniform(np.uint64(state))
    return int(np.searchsorted(np.cumsum(naive.softmax(logs)), u))


@given(
    st.integers(1, 60),
    st.floats(1e-3, 10.0),
    st.floats(-1e4, 1e4),
    st.one_of(st.just(0.0), st.floats(1e-6, 1e8)),
    st.integers(0, 2**63 - 1),
)
@example(60, 0.1, np.inf, 1.0, 1)
@example(60, 0.1, -np.inf, 1.0, 1)
@example(60, 0.1, np.nan, 1.0, 1)
@example(1, 1.0, 3.0, 1.0, 1)
def test_equally_spaced_places_are_those_drawn_by_their_weights(n, step, slope, square, state):
    away = step * np.arange(n)
    state, drop = np.uint64(state), np.exp(-square * step**2)
    _, place = draw_spaced(state, step, slope, square, drop, np.empty(n))
    assert 0 <= place < n
    if np.isfinite(slope):
        assert place == min(draw_level(state, away * (slope - 0.5 * square * away)), n - 1)


@pytest.mark.parametrize("grid", [np.array([0.0, 1.0]), np.array([-0.5, 0.0, 0.5, 1.0])])
def test_values_have_their_exact_distribution(rng, grid):
    size = 3
    theta = rng.dirichlet(np.ones(size), 6)
    values, weights, precision = rng.random(6), 1 + rng.random(6), 6 * rng.random(6)
    centre, pull = rng.random(size), precision_matrix(rng, size)
    start, out = np.zeros((N, size), dtype=np.uint8), np.empty((N, size), dtype=np.uint8)
    given_ = (precision, theta, grid, np.tile(centre, (N, 1)), pull, 40, start)
    draw_psis(*copies(values, weights), *given_, seeds(), 0, N, out)
    expected = naive.value_distribution(theta, values, weights * precision, grid, centre, pull)
    assert agree(places(out, grid.size), expected)


def test_values_behind_answers_have_their_exact_distribution(rng):
    chance = np.array([0.1, 0.9])
    emission, position, size = np.column_stack([1.0 - chance, chance]), np.array([0.2, 0.8]), 3
    theta = rng.dirichlet(np.ones(size), 6)
    answers = rng.integers(2, size=6).astype(np.uint8)
    times = rng.integers(1, 4, 6).astype(float)
    centre, pull = rng.random(size), precision_matrix(rng, size)
    codes, out = np.zeros((N, size), dtype=np.uint8), np.empty((N, size), dtype=np.uint8)
    prior = (position, np.tile(centre, (N, 1)), pull)
    for sweep in range(25):
        draw_emissions(*copies(answers, times), theta, emission, *prior, codes, seeds(sweep), 0, N, out)
        codes = out.copy()
    given_ = (emission, position, centre, pull)
    expected = naive.emission_distribution(theta, answers, times, *given_)
    assert agree(places(codes, len(emission)), expected)


def test_thetas_have_their_exact_distribution(rng):
    n, size = 4000, 3
    psi = np.array([-0.4, 0.0, 0.6, 1.4])[rng.integers(4, size=(5, size))]
    values, weights, centre = rng.random(5), 1 + rng.random(5), rng.dirichlet(np.ones(size))
    precision, pull = 4.0, 3.0
    theta, out = np.full((n, size), 1 / size), np.empty((n, size))
    given_ = (np.full(n, precision), psi, np.empty((0, 0)), pull, np.tile(centre, (n, 1)), 40, theta)
    draw_thetas(*copies(values, weights, n), *given_, seeds(n=n), 0, n, out)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    assert (out >= 0).all()
    gram = precision * (psi.T * weights) @ psi + pull * np.eye(size)
    reference = naive.simplex_draws(gram, precision * psi.T @ (weights * values) + pull * centre, n, rng)
    for d in range(size):
        assert stats.ks_2samp(out[:, d], reference[:, d]).pvalue > 1e-4


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_thetas_behind_answers_are_those_of_the_twin(seed, size):
    rng = np.random.default_rng(seed)
    emission = rng.dirichlet(np.ones(2), 2)
    counts = rng.integers(0, 6, 7)
    indptr = np.append(0, np.cumsum(counts)).astype(np.int64)
    items, answers = rng.integers(4, size=indptr[-1]).astype(np.int32), rng.integers(2, size=indptr[-1])
    codes = rng.integers(2, size=(4, size)).astype(np.uint8)
    theta, alpha = rng.dirichlet(np.ones(size), 7), rng.uniform(0.5, 3.0, size)
    out = np.empty_like(theta)
    table = (indptr, items, answers.astype(np.uint8), np.empty(0))
    draw_emitted(*table, codes, emission, np.tile(alpha, (7, 1)), theta, seeds(n=7), 0, 7, out)
    for u in range(7):
        part = slice(indptr[u], indptr[u + 1])
        given_ = (answers[part], items[part], codes, emission, theta[u], alpha, seeds(n=7)[u], uniform, gamma)
        np.testing.assert_allclose(out[u], naive.emitted_theta(*given_), rtol=1e-12)


def test_many_equal_answers_are_drawn_as_if_one_by_one():
    """A weight of 40 goes through another way than 40 answers, to the same distribution."""
    n, alpha, emission = 4000, np.tile([1.0, 2.0], (4000, 1)), np.array([[0.7, 0.3], [0.1, 0.9]])
    codes, ways = np.array([[0, 1]], dtype=np.uint8), []
    for repeats, weight in ((1, 40.0), (40, 1.0)):
        indptr = np.arange(n + 1, dtype=np.int64) * repeats
        table = (indptr, np.zeros(n * repeats, dtype=np.int32), np.ones(n * repeats, dtype=np.uint8))
        theta, out = np.full((n, 2), 0.5), np.empty((n, 2))
        for sweep in range(40):
            given_ = (np.full(n * repeats, weight), codes, emission, alpha, theta, seeds(sweep, n), 0, n, out)
            draw_emitted(*table, *given_)
            theta = out.copy()
        ways.append(theta[:, 0])
    assert stats.ks_2samp(*ways).pvalue > 1e-4


def _draws(rng, grid):
    theta = rng.dirichlet(np.ones(3), (4, 5)).astype(np.float32)
    psi = rng.choice(grid, (4, 6, 3))
    return theta, psi, rng.integers(5, size=30), rng.integers(6, size=30)


def test_shares_of_answers_are_those_of_the_twin(rng):
    theta, psi, users, items = _draws(rng, np.array([-0.2, 0.3, 0.8]))
    deviation, cuts = rng.uniform(0.05, 0.5, (4, 5)), np.array([0.1, 0.4, 0.9])
    said, out, nothing = np.empty((30, 4)), np.zeros((30, 4)), np.empty(30)
    anyone = np.zeros(4, dtype=np.int64)
    draw_products(theta, psi.astype(np.float32), anyone, anyone, users, items, False, said, nothing, nothing.copy())
    answer_shares(said, np.ascontiguousarray(deviation[:, users].T), cuts, out)
    np.testing.assert_allclose(out, naive.answer_shares(theta, psi, deviation, users, items, cuts), atol=1e-6)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 0.999), st.sampled_from([1e-3, 0.1, 1.0]), st.integers(1, 7))
@example(6, 0.4462390268930827, 1e-3, 6)  # steps that went to and fro
@settings(max_examples=60, deadline=None)
@example(354, 0.625, 1e-3, 7)
def test_quantiles_of_mixtures(seed, level, spread, n_draws):
    rng = np.random.default_rng(seed)
    centre = rng.choice([0.0, 0.5, 1.0], (9, n_draws)) + 0.01 * rng.normal(size=(9, n_draws))
    wide = spread * rng.uniform(0.1, 2.0, (9, n_draws))
    out = np.empty(9)
    mixture_quantile(centre, wide, level, float(ndtri(level)), out)
    below = stats.norm.cdf(out[:, None] - 1e-7, centre, wide).mean(axis=1)
    above = stats.norm.cdf(out[:, None] + 1e-7, centre, wide).mean(axis=1)
    assert (below <= level + 1e-9).all()
    assert (above >= level - 1e-9).all()


@given(st.integers(0, 10_000), st.integers(1, 30), st.floats(0.0, 1.0))
def test_low_quantiles_against_the_slow_twin(seed, n_draws, level):
    said = np.random.default_rng(seed).integers(0, 9, (n_draws, 2, 70)) / 8.0
    out = np.empty((2, 70))
    low_quantile(said, level, out)
    expected = [[naive.low_quantile(said[:, n, i], level) for i in range(70)] for n in range(2)]
    np.testing.assert_allclose(out, expected, atol=1e-12)
    np.testing.assert_allclose(out, np.quantile(said, level, axis=0), atol=1e-12)
