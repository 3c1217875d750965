"""Moods drawn and told by filters, beside Gaussian processes in one matrix."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from kolmogorov._support.seeds import row_seeds
from kolmogorov.kernels.draws.moods import draw_moods, mood_densities, moods_at, remaining, tell_moods


@st.composite
def answered(draw):
    """Answers of one row in the order of their times, some of them at once, with weights or without."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 12))
    times = np.sort(rng.integers(0, 30, n) * 10.0 ** draw(st.integers(-2, 3)))
    weights = rng.uniform(0.2, 5.0, n) if draw(st.booleans()) else np.empty(0)
    numbers = rng.uniform(0.01, 0.5), rng.uniform(0.01, 0.5), np.exp(rng.uniform(-3, 6))
    return rng.normal(size=n), times, weights, numbers, rng


def noise_of(case):
    answers, _, weights, (noise, _, _), _ = case
    return noise / (weights if weights.size else np.ones(len(answers)))


@given(answered())
def test_densities_are_those_of_a_gaussian_process(case):
    answers, times, weights, (noise, variance, half_life), _ = case
    found = np.empty(1)
    indptr = np.array([0, len(answers)])
    mood_densities(indptr, answers, times, weights, np.array([noise]), variance, half_life, 0, 1, found)
    wanted = naive.mood_log_density(answers, times, noise_of(case), variance, half_life)
    np.testing.assert_allclose(found[0] - 0.5 * len(answers) * np.log(2.0 * np.pi), wanted, rtol=1e-8, atol=1e-8)


@given(answered(), st.integers(1, 6))
def test_a_mood_is_told_at_any_moment(case, n_asked):
    answers, times, weights, (noise, variance, half_life), rng = case
    # Before, between, after and at the moments of the answers.
    asked = np.sort(np.append(rng.uniform(-1.0, 1.2, n_asked) * (1.0 + times.max()), rng.choice(times)))
    mean, spread = np.empty(asked.size), np.empty(asked.size)
    tell_moods(answers, times, weights, noise, variance, half_life, asked, mean, spread)
    wanted, covariance = naive.mood_posterior(answers, times, noise_of(case), variance, half_life, asked)
    np.testing.assert_allclose(mean, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(spread, np.diag(covariance), rtol=1e-6, atol=1e-9)


def test_draws_have_the_moments_of_the_process():
    rng = np.random.default_rng(0)
    times = np.array([0.0, 1.0, 1.0, 3.0, 20.0, 21.0])
    answers, weights, noise = rng.normal(size=6), np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0]), 0.4
    n = 20_000
    indptr = 6 * np.arange(n + 1)
    table = (indptr, np.tile(answers, n), np.tile(times, n), np.tile(weights, n), np.full(n, noise), 0.5, 4.0)
    drawn = np.empty(6 * n)
    draw_moods(*table, row_seeds(1, 2, 3, np.arange(n)), 0, n, drawn)
    found = drawn.reshape(n, 6)
    # At one moment there is one mood.
    np.testing.assert_array_equal(found[:, 1], found[:, 2])
    mean, covariance = naive.mood_posterior(answers, times, noise / weights, 0.5, 4.0, times)
    deviation = np.sqrt(np.diag(covariance))
    assert (np.abs(found.mean(axis=0) - mean) < 5.0 * deviation / np.sqrt(n)).all()
    # The standard error of a covariance is below that of a product of two normals.
    assert (np.abs(np.cov(found.T) - covariance) < 5.0 * np.sqrt(2.0 / n) * np.outer(deviation, deviation)).all()


@given(answered(), st.integers(2, 4))
def test_rows_do_not_depend_on_who_computes_them(case, n_rows):
    answers, times, weights, (noise, variance, half_life), rng = case
    n = len(answers)
    indptr, several = n * np.arange(n_rows + 1), rng.normal(size=n * n_rows)
    table = (indptr, several, np.tile(times, n_rows), np.tile(weights, n_rows), np.full(n_rows, noise))
    seeds = row_seeds(5, 1, 4, np.arange(n_rows))
    whole, parts = np.empty(n * n_rows), np.empty(n * n_rows)
    draw_moods(*table, variance, half_life, seeds, 0, n_rows, whole)
    for row in range(n_rows):
        draw_moods(*table, variance, half_life, seeds[row : row + 1], row, row + 1, parts)
    np.testing.assert_array_equal(whole, parts)


def test_moods_of_all_draws_are_told_of_what_each_leaves():
    rng = np.random.default_rng(3)
    n_draws, n_users, n_items, size = 3, 4, 7, 2
    theta = rng.dirichlet(np.ones(size), (n_draws, n_users)).astype(np.float32)
    psi = rng.random((n_draws, n_items, size)).astype(np.float32)
    noise = rng.uniform(0.1, 0.5, (n_draws, n_users)).astype(np.float32)
    variance, half_life = rng.uniform(0.1, 0.5, n_draws), rng.uniform(1.0, 9.0, n_draws)
    indptr = n_items * np.arange(n_users + 1)
    indices = np.concatenate([rng.permutation(n_items) for _ in range(n_users)]).astype(np.int32)
    times = np.concatenate([np.sort(rng.uniform(0, 40, n_items)) for _ in range(n_users)])
    values = rng.random(n_users * n_items)
    users, places, asked = np.array([1, 3]), np.array([0, 2, 5]), np.array([3.0, 8.0, -2.0, 5.0, 50.0])
    mean, spread = np.empty((5, n_draws)), np.empty((5, n_draws))
    table, drawn = (indptr, indices, values, times, np.empty(0)), (theta, psi, noise, variance, half_life)
    moods_at(table, drawn, users, places, asked, 0, 2, mean, spread)
    for user, part in ((1, slice(0, 2)), (3, slice(2, 5))):
        own = slice(indptr[user], indptr[user + 1])
        for k in range(n_draws):
            left = values[own] - psi[k, indices[own]].astype(float) @ theta[k, user].astype(float)
            each = np.full(n_items, noise[k, user], dtype=float)
            wanted, covariance = naive.mood_posterior(left, times[own], each, variance[k], half_life[k], asked[part])
            np.testing.assert_allclose(mean[part, k], wanted, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(spread[part, k], np.diag(covariance), rtol=1e-5)


def test_what_remains_is_a_mean_at_each_moment():
    rng = np.random.default_rng(0)
    theta, psi = rng.random((2, 3)), rng.random((4, 3))
    indptr, indices = np.array([0, 3, 5]), np.array([0, 2, 3, 1, 2], dtype=np.int32)
    values, moments, owners = rng.random(5), np.array([1, 0, 1, 3, 2]), np.array([0, 0, 0, 1, 1])
    left = values - (theta[owners] * psi[indices]).sum(axis=1)
    for weights in (np.empty(0), rng.uniform(0.5, 3.0, 5)):
        each = weights if weights.size else np.ones(5)
        heavy = np.bincount(moments, weights=each)
        found = np.zeros(4)
        remaining(indptr, indices, values, weights, theta, psi, moments, heavy, 0, 2, found)
        np.testing.assert_allclose(found, np.bincount(moments, weights=each * left) / heavy)


@given(answered(), st.floats(0.05, 2.0))
def test_a_mean_stands_for_the_answers_of_a_moment(case, other):
    """Densities of two half-lives differ by as much as those of all answers do."""
    answers, times, weights, (noise, variance, half_life), _ = case
    each = weights if weights.size else np.ones(len(answers))
    moments, places = np.unique(times, return_inverse=True)
    heavy = np.bincount(places, weights=each)
    means = np.bincount(places, weights=each * answers) / heavy
    found = np.empty((2, 1))
    for out, life in zip(found, (half_life, other * half_life), strict=True):
        indptr = np.array([0, len(moments)])
        mood_densities(indptr, means, moments, heavy, np.array([noise]), variance, life, 0, 1, out)
    wanted = [
        naive.mood_log_density(answers, times, noise_of(case), variance, life)
        for life in (half_life, other * half_life)
    ]
    np.testing.assert_allclose(found[1, 0] - found[0, 0], wanted[1] - wanted[0], rtol=1e-6, atol=1e-7)
