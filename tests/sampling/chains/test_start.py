"""Where chains of ratings start, and the grid on which they draw."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from helpers.planned import chain_of, planned
from helpers.strategies import tables
from kolmogorov import KolmogorovModel, Observations
from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov.draws.plan import rating_levels, short, suited
from kolmogorov.draws.priors import PsiPrior, ThetaPrior
from kolmogorov.draws.sampler import drawn
from kolmogorov.draws.start import FactorChain, Factors, draw_normals


def low_rank(seed, n_users=120, n_items=60, noise=0.02):
    """A table of two factors and biases, half of it seen; and the same without noise."""
    rng = np.random.default_rng(seed)
    whole = 0.5 + 0.05 * (rng.standard_normal((n_users, 2)) @ rng.standard_normal((2, n_items)))
    whole += 0.05 * rng.standard_normal(n_items)
    said = np.where(rng.random(whole.shape) < 0.5, whole + noise * rng.standard_normal(whole.shape), np.nan)
    return Observations.from_dense(np.clip(said, 0, 1), maximum=1, minimum=0), whole


def test_free_rows_have_their_exact_distribution():
    rng, n, size = np.random.default_rng(0), 40_000, 3
    factors, values, weights = rng.standard_normal((5, size)), rng.standard_normal(5), rng.uniform(0.5, 2.0, 5)
    root = rng.standard_normal((size, size))
    pull, centre = root @ root.T + np.eye(size), rng.standard_normal(size)
    indptr, indices = np.arange(n + 1, dtype=np.int64) * 5, np.tile(np.arange(5, dtype=np.int32), n)
    out = np.empty((n, size))
    table = (indptr, indices, np.tile(values, n), np.tile(weights, n))
    given_ = (2.0, factors, np.tile(centre, (n, 1)), pull, row_seeds(1, 0, 0, np.arange(n)), 0, n, out)
    draw_normals(*table, *given_)
    mean, covariance = naive.normal_row(values, weights, 2.0, factors, centre, pull)
    error = np.sqrt(np.diag(covariance) / n)
    assert (np.abs(out.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(np.cov(out.T), covariance, atol=5 * covariance.max() * np.sqrt(2 / n))


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_on_the_simplex_products_are_the_same(seed, size):
    rng = np.random.default_rng(seed)
    users = np.column_stack([np.ones(9), rng.uniform(-0.1, 0.1, (9, size - 1))])
    prior = PsiPrior.start(np.zeros((7, 0)), size, 0.3)
    factors = Factors(users, rng.standard_normal((7, size)), prior, 0.1)
    theta, values, moved = factors.on_simplex(1.0 / size, rng)
    assert (theta > 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    np.testing.assert_allclose(theta @ values.T, users @ factors.items.T, atol=1e-9)
    # The prior's density of an item is what it was, but for the constant of the change of place.
    left, right = factors.items - prior.centre, values - moved.centre
    before, after = (np.einsum("id,de,ie->i", x, p.precision, x) for x, p in ((left, prior), (right, moved)))
    np.testing.assert_allclose(after, before, rtol=1e-6)


def test_factors_are_found_and_are_the_same_on_any_number_of_threads():
    table, whole = low_rank(0)
    found = []
    for n in (1, 3):
        with Threads(n) as dealer:
            chain = chain_of(table, n_events=4, dealer=dealer, levels=rating_levels(table, 4))
            found.append(FactorChain(chain, np.random.default_rng(7)).settled())
    first, second = found
    assert (first.users == second.users).all()
    assert (first.items == second.items).all()
    error = np.sqrt(((first.users @ first.items.T - whole) ** 2).mean())
    assert error < 0.5 * whole.std()
    assert 0.01 < np.sqrt(first.noise) < 0.03


def test_strong_factors_are_learned_in_few_sweeps():
    table, whole = low_rank(1)
    model = planned(5, n_chains=1, burn_in=20, n_samples=10, random_state=0).fit(table)
    rows, columns = np.divmod(np.arange(whole.size), whole.shape[1])
    said = model.predict(rows, columns).reshape(whole.shape)
    assert np.sqrt(((said - whole) ** 2).mean()) < 0.4 * whole.std()


@given(tables(), st.integers(1, 40))
def test_grids_hold_the_scale_and_few_enough_values(table, n_events):
    grid = rating_levels(table, n_events)
    # Steps are a quarter at most, and the grid is three scales long.
    assert 13 <= grid.size <= 64
    assert grid[0] <= -1.0
    assert grid[-1] >= 2.0
    assert (np.abs(grid - 0.0).min(), np.abs(grid - 1.0).min()) == (0.0, 0.0)
    np.testing.assert_allclose(np.diff(grid), grid[1] - grid[0])


def test_grids_are_finer_with_more_answers_and_wider_with_more_events():
    rng = np.random.default_rng(0)
    few, many = (Observations.from_dense(rng.random((n, 20)), maximum=1) for n in (10, 2000))
    assert np.diff(rating_levels(many, 4))[0] < np.diff(rating_levels(few, 4))[0]
    assert np.ptp(rating_levels(few, 40)) > np.ptp(rating_levels(few, 4))


def test_features_are_believed_as_far_as_they_say_something():
    rng = np.random.default_rng(0)
    n, k, size = 600, 25, 4
    features, seen = rng.standard_normal((n, k)), np.ones(n, dtype=bool)
    noise = rng.dirichlet(np.full(size, 20.0), n)
    users = ThetaPrior.start(features, size, 30.0)
    plain, shrunk = replace(users, only_yes=True).fitted(noise, seen), users.fitted(noise, seen)
    assert np.abs(shrunk.slopes).mean() < 0.65 * np.abs(plain.slopes).mean()
    told = noise + 0.05 * features[:, :1] * np.array([1.0, -1.0, 0.0, 0.0])
    np.testing.assert_allclose(users.fitted(told, seen).slopes[0], [0.05, -0.05, 0.0, 0.0], atol=0.01)
    items = PsiPrior.start(features, size, 0.5)
    for _ in range(30):
        items = items.learned(0.5 + 0.1 * rng.standard_normal((n, size)), seen, 0.01, rng)
    assert np.abs(items.slopes[1:]).mean() < 0.8 * 0.1 / np.sqrt(n)


def test_short_rows_tell_few_events_apart():
    rng, k = np.random.default_rng(0), np.arange(20_000)
    brief, long = (
        Observations.from_arrays(k % n, (7 * (k % n) + k // n) % n, rng.random(k.size), maximum=1) for n in (4000, 200)
    )
    events = [suited(table, answers=False).n_events for table in (brief, long)]
    assert events == [6, 11]
    assert suited(brief, answers=False, only_yes=True).n_events == 26


def test_short_chains_complete_a_table():
    table = Observations.from_dense(np.random.default_rng(0).random((300, 40)), maximum=1)
    usual, few = suited(table, answers=False), short(table, 12)
    assert (few.n_events, few.n_features) == (12, usual.n_features)
    assert few.n_chains * (few.burn_in + few.n_samples * few.thin) < usual.n_chains * usual.burn_in


@pytest.mark.parametrize("n_events", [3, 20])
def test_draws_of_short_chains_hold_no_more_than_they_may(monkeypatch, n_events):
    """However many events are found to be told apart: theta, psi and noise are counted as they are held."""
    table, _ = low_rank(0)
    room = 6 * 2 * (n_events * (table.n_users + table.n_items) + table.n_users) + 5
    monkeypatch.setattr("kolmogorov.draws.plan.SHORT_ROOM", room)
    monkeypatch.setattr("kolmogorov.draws.plan.SHORT_BURN_IN", 2)
    monkeypatch.setattr("kolmogorov.models.learning.told_apart", lambda *given: n_events)
    held = []

    def kept(*given, **options):
        held.append(drawn(*given, **options)[0])
        return held[0], False

    monkeypatch.setattr("kolmogorov.models.learning.drawn", kept)
    KolmogorovModel(2, max_iter=2, random_state=0).fit(table)
    (posterior,) = held
    assert (posterior.n_events, posterior.n_draws) == (n_events, 12)
    assert room - 8 < (posterior.theta.nbytes + posterior.psi.nbytes + posterior.noise.nbytes) / 4 <= room
    # Predictions are made of these, and of no copies.
    posterior.at_rows(np.array([0, table.n_users]), np.array([table.n_items, 0]))
    assert posterior.factors.theta is posterior.theta
    assert posterior.factors.psi is posterior.psi
    arrays = {id(found): found.nbytes for found in vars(posterior).values() if isinstance(found, np.ndarray)}
    assert sum(arrays.values()) <= 1.2 * 4 * room
    monkeypatch.setattr("kolmogorov.draws.plan.SHORT_ROOM", 1)
    assert short(table, n_events).n_samples == 5
