"""Random numbers and conditional draws have their exact distributions."""

import numpy as np
import pytest
from scipy import stats

from helpers.processes import printed
from kolmogorov._support.seeds import row_seeds
from kolmogorov.draws.gibbs import (
    draw_emitted,
    gamma,
    truncated_normal,
)


def seeds(n):
    return row_seeds(7, 0, 0, np.arange(n))


def two_valued(floor):
    """The chances of no and yes where an item does not happen, and where it does."""
    return np.array([[1.0 - floor, floor], [floor, 1.0 - floor]])


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


@pytest.mark.parametrize("shape", [0.2, 1.0, 3.7, 50.0])
def test_gamma_numbers(shape):
    state, found = np.uint64(5), []
    for _ in range(4000):
        state, x = gamma(np.uint64(state), shape)
        found.append(x)
    assert stats.kstest(found, stats.gamma(shape).cdf).pvalue > 1e-4


def test_events_have_their_exact_distribution(rng):
    """Two events, one of which explains both answers: the posterior of theta is a known mixture of Betas."""
    n = 4000
    codes = np.array([[1, 0], [1, 0]], dtype=np.uint8)
    indptr = np.arange(n + 1, dtype=np.int64) * 2
    tables = (indptr, np.tile(np.arange(2, dtype=np.int32), n), np.ones(2 * n, dtype=np.uint8), np.empty(0))
    theta, out = np.full((n, 2), 0.5), np.empty((n, 2))
    alpha, floor = np.array([1.5, 0.7]), 0.1
    for sweep in range(40):
        seeds, prior = row_seeds(2, sweep, 0, np.arange(n)), np.tile(alpha, (n, 1))
        draw_emitted(*tables, codes, two_valued(floor), prior, theta, seeds, 0, n, out)
        theta = out.copy()
    grid = (np.arange(20_000) + 0.5) / 20_000
    density = stats.beta(*alpha).pdf(grid) * ((1 - floor) * grid + floor * (1 - grid)) ** 2
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(theta[:, 0], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


def test_repeated_answers_narrow_the_posterior(rng):
    """With yes/no data a weight of four is the answer given four times."""
    n, alpha, floor = 4000, np.ones(2), 0.2
    codes = np.eye(2, dtype=np.uint8)
    indptr = np.arange(n + 1, dtype=np.int64)
    tables = (indptr, np.zeros(n, dtype=np.int32), np.ones(n, dtype=np.uint8), np.full(n, 4.0))
    theta, out = np.full((n, 2), 0.5), np.empty((n, 2))
    for sweep in range(40):
        seeds, prior = row_seeds(2, sweep, 0, np.arange(n)), np.tile(alpha, (n, 1))
        draw_emitted(*tables, codes, two_valued(floor), prior, theta, seeds, 0, n, out)
        theta = out.copy()
    grid = (np.arange(20_000) + 0.5) / 20_000
    density = ((1 - floor) * grid + floor * (1 - grid)) ** 4
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(theta[:, 0], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


@pytest.mark.parametrize(
    "bounds", [(np.nan, 1.0), (0.0, np.nan), (np.nan, np.nan), (1e200, 2e200), (1e200, np.inf), (-2e200, -1e200)]
)
@pytest.mark.long("chains")
def test_rejection_ends_where_bounds_are_no_numbers_or_too_large(bounds):
    code = "import sys, numpy as np; from kolmogorov.draws.gibbs import truncated_normal, gamma\n"
    code += "print(truncated_normal(np.uint64(3), float(sys.argv[1]), float(sys.argv[2]))[1])\n"
    code += "print(gamma(np.uint64(3), float(sys.argv[1]))[1])"
    low, high = bounds
    found = [float(line) for line in printed(code, low, high)]
    assert not found[0] < low
    assert not found[0] > high
