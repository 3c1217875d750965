"""Random numbers, conditional draws and what draws say: their exact distributions, or the numbers of slow twins."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

import naive
from helpers.processes import printed
from kolmogorov._support.seeds import row_seeds
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.gibbs import (
    chance_of_yes,
    draw_hidden,
    draw_psis,
    draw_spaced,
    draw_thetas,
    truncated_normal,
    uniform,
)
from kolmogorov.draws.likelihood import answer_shares, chances_of_yes, mixture_quantile
from kolmogorov.draws.posterior import draw_products, low_quantile

N = 20_000
DEVIATION = np.sqrt(NOISE)


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


# --- random numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds", [(-1, 1), (-0.1, 5), (0.5, 0.7), (2, 2.5), (4, 9), (-9, -4), (-3, -2.9), (-8, 8), (1, 40)]
)
def test_truncated_normals(bounds):
    state, found = np.uint64(3), []
    for _ in range(4000):
        state, x = truncated_normal(np.uint64(state), float(bounds[0]), float(bounds[1]))
        found.append(x)
    assert min(found) >= bounds[0]
    assert max(found) <= bounds[1]
    assert stats.kstest(found, stats.truncnorm(*bounds).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    "bounds", [(np.nan, 1.0), (0.0, np.nan), (np.nan, np.nan), (1e200, 2e200), (1e200, np.inf), (-2e200, -1e200)]
)
@pytest.mark.long("chains")
def test_rejection_ends_where_bounds_are_no_numbers_or_too_large(bounds):
    code = "import sys, numpy as np; from kolmogorov.draws.gibbs import truncated_normal\n"
    code += "print(truncated_normal(np.uint64(3), float(sys.argv[1]), float(sys.argv[2]))[1])"
    low, high = bounds
    (found,) = [float(line) for line in printed(code, low, high)]
    assert not found < low
    assert not found > high


# --- items and users --------------------------------------------------------------------------------------------------


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


# --- yes and no, behind which ratings are hidden ----------------------------------------------------------------------


def drawn(said, yes, times=None, n=4000):
    """Hidden ratings behind the same answer, drawn again and again."""
    indptr, indices, out = np.arange(n + 1), np.zeros(n, dtype=np.int32), np.empty(n)
    weights = np.empty(0) if times is None else np.full(n, float(times))
    own, others = np.ones((n, 1)), np.array([[said]])
    draw_hidden(indptr, indices, np.full(n, float(yes)), weights, own, others, seeds(n=n), 0, n, out)
    return out


@given(st.floats(-12.0, 12.0))
def test_the_chance_of_a_yes_is_that_of_a_rating_above_one_half(said):
    expected = naive.chance_of_yes(said)
    assert chance_of_yes(said) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert chances_of_yes(np.array([said]))[0] == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert chances_of_yes(np.array([said], dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("yes", [False, True])
@pytest.mark.parametrize("said", [-6.0, -0.4, 0.5, 0.7, 1.6, 7.0])
def test_ratings_have_their_exact_distribution(said, yes):
    found = drawn(said, yes)
    assert ((found > 0.5) == yes).all()
    ends = ((0.5 - said) / DEVIATION, np.inf) if yes else (-np.inf, (0.5 - said) / DEVIATION)
    exact = stats.truncnorm(*ends, loc=said, scale=DEVIATION)
    assert stats.kstest(found, exact.cdf).pvalue > 1e-4


@pytest.mark.parametrize("said", [-4.0, 0.1, 0.5, 0.9, 5.0])
@pytest.mark.parametrize("times", [7, 60])
def test_an_answer_that_was_given_often_is_told_by_a_mean(said, times):
    """Whether they are drawn one by one or all at once: the mean of as many that are drawn."""
    found = drawn(said, True, times)
    ends = ((0.5 - said) / DEVIATION, np.inf)
    many = stats.truncnorm(*ends, loc=said, scale=DEVIATION).rvs((4000, times), random_state=5).mean(axis=1)
    assert found.mean() == pytest.approx(many.mean(), abs=5.0 * many.std() / np.sqrt(2000))
    assert found.std() == pytest.approx(many.std(), rel=0.07)
    assert (found >= 0.5).all()


def test_far_from_one_half_the_mean_of_many_joins_what_is_drawn_one_by_one():
    for said in (-11.4, -11.6, -30.0):
        few, many = drawn(said, True, 32), drawn(said, True, 33)
        assert many.mean() - 0.5 == pytest.approx(few.mean() - 0.5, rel=0.02)
        assert many.std() == pytest.approx(few.std(), rel=0.1)


@pytest.mark.parametrize("weight", [1e-9, 0.3, 2.5, 40.5])
@pytest.mark.parametrize("said", [-0.4, 0.7])
def test_an_answer_of_any_weight_is_a_mean_that_weighs_as_much(said, weight):
    """As many ratings as it weighs, each with such noise that their mean has this precision."""
    times = max(int(weight), 1)
    wide = DEVIATION * np.sqrt(times / weight)
    ratings = stats.truncnorm((0.5 - said) / wide, np.inf, loc=said, scale=wide)
    found = drawn(said, True, weight)
    assert found.mean() == pytest.approx(ratings.mean(), abs=5.0 * ratings.std() / np.sqrt(times * 4000))
    assert found.std() == pytest.approx(ratings.std() / np.sqrt(times), rel=0.07)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_row_does_not_know_its_neighbours_nor_an_answer_its_own(seed, size, weighted):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, 6)
    indptr = np.append(0, np.cumsum(counts)).astype(np.int64)
    n = int(indptr[-1])
    items, answers = rng.integers(4, size=n).astype(np.int32), rng.integers(2, size=n).astype(float)
    weights = rng.integers(1, 50, n).astype(float) if weighted else np.empty(0)
    theta, psi = rng.dirichlet(np.ones(size), 6), rng.normal(size=(4, size))
    given_ = (indptr, items, answers, weights, theta, psi)
    whole, parts = np.empty(n), np.empty(n)
    draw_hidden(*given_, seeds(n=6), 0, 6, whole)
    for row in range(6):
        draw_hidden(*given_, seeds(n=6)[row:], row, row + 1, parts)
    assert (whole == parts).all()
    assert ((whole > 0.5) == (answers > 0.5)).all()
    # An answer that is another one leaves the ratings behind the others as they were.
    if n:
        answers[0] = 1.0 - answers[0]
        draw_hidden(*given_, seeds(n=6), 0, 6, parts)
        assert (whole[1:] == parts[1:]).all()
        assert whole[0] != parts[0]


# --- what draws say ---------------------------------------------------------------------------------------------------


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
