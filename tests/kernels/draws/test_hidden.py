"""Ratings hidden behind yes and no: on the side of their answer, and there as normal noise has them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import naive
from kolmogorov._support.seeds import row_seeds
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.gibbs import chance_of_yes, draw_hidden
from kolmogorov.draws.likelihood import chances_of_yes

N = 4000
DEVIATION = np.sqrt(NOISE)


def seeds(n):
    return row_seeds(3, 0, 0, np.arange(n))


def drawn(said, yes, times=None, n=N):
    """Hidden ratings behind the same answer, drawn again and again."""
    indptr, indices, out = np.arange(n + 1), np.zeros(n, dtype=np.int32), np.empty(n)
    weights = np.empty(0) if times is None else np.full(n, float(times))
    own, others = np.ones((n, 1)), np.array([[said]])
    draw_hidden(indptr, indices, np.full(n, float(yes)), weights, own, others, seeds(n), 0, n, out)
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
    many = stats.truncnorm(*ends, loc=said, scale=DEVIATION).rvs((N, times), random_state=5).mean(axis=1)
    assert found.mean() == pytest.approx(many.mean(), abs=5.0 * many.std() / np.sqrt(N / 2))
    assert found.std() == pytest.approx(many.std(), rel=0.07)
    assert (found >= 0.5).all()


def test_far_from_one_half_the_mean_of_many_joins_what_is_drawn_one_by_one():
    for said in (-11.4, -11.6, -30.0):
        few, many = drawn(said, True, 32), drawn(said, True, 33)
        assert many.mean() - 0.5 == pytest.approx(few.mean() - 0.5, rel=0.02)
        assert many.std() == pytest.approx(few.std(), rel=0.1)


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
    draw_hidden(*given_, seeds(6), 0, 6, whole)
    for row in range(6):
        draw_hidden(*given_, seeds(6)[row:], row, row + 1, parts)
    assert (whole == parts).all()
    assert ((whole > 0.5) == (answers > 0.5)).all()
    # An answer that is another one leaves the ratings behind the others as they were.
    if n:
        answers[0] = 1.0 - answers[0]
        draw_hidden(*given_, seeds(6), 0, 6, parts)
        assert (whole[1:] == parts[1:]).all()
        assert whole[0] != parts[0]
