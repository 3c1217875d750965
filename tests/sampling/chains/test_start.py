"""Where chains start: the grid they draw on, how many events a table tells apart, factors, and the room of draws."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from helpers.planned import chain_of
from helpers.strategies import tables
from kolmogorov import BayesianKolmogorovModel, Observations
from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov.data.datasets import planted
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.likelihood import Gaussian, HiddenRatings
from kolmogorov.draws.plan import Plan, level_grid, rating_levels, short, suited
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.draws.sampler import averaging_left, drawn
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


@pytest.mark.parametrize("n_events", [3, 20])
def test_draws_of_short_chains_hold_no_more_than_they_may(monkeypatch, n_events):
    table, _ = low_rank(0)
    room = 6 * 4 * (n_events * (table.n_users + table.n_items) + table.n_users) + 5
    monkeypatch.setattr("kolmogorov.draws.plan.SHORT_ROOM", room)
    sizes = replace(short(table, n_events), burn_in=2)
    posterior, _ = drawn(
        Plan(**vars(sizes), likelihood="gaussian", levels=rating_levels(table, n_events)), table, 0, Threads(1)
    )
    assert (posterior.n_events, posterior.n_draws) == (n_events, 24)
    assert room - 8 < (posterior.theta.nbytes + posterior.psi.nbytes + posterior.noise.nbytes) / 4 <= room
    # Predictions are made of these, and of no copies.
    posterior.at_rows(np.array([0, table.n_users]), np.array([table.n_items, 0]))
    arrays = {id(found): found.nbytes for found in vars(posterior).values() if isinstance(found, np.ndarray)}
    assert sum(arrays.values()) <= 1.2 * 4 * room
    monkeypatch.setattr("kolmogorov.draws.plan.SHORT_ROOM", 1)
    assert short(table, n_events).n_samples == 5


# --- ratings that are hidden behind yes and no ------------------------------------------------------------------------


def blocs(seed=0, n_users=80, n_items=40, share=0.8):
    """Two blocs that answer all questions alike, each in its way; a share of the answers is known."""
    rng = np.random.default_rng(seed)
    bloc, line = rng.integers(2, size=n_users), rng.integers(2, size=(2, n_items))
    users, items = np.nonzero(rng.random((n_users, n_items)) < share)
    return Observations.from_arrays(users, items, line[bloc[users], items].astype(float))


def hidden_factors(table, seed=7, n_events=3):
    options = {"likelihood": "bernoulli", "n_events": n_events, "levels": level_grid(table, "bernoulli", n_events)}
    return FactorChain(chain_of(table, seed=seed, **options), np.random.default_rng(seed))


def test_a_stretch_has_the_density_of_ratings_and_items_stretched_together():
    table = blocs()
    chain = hidden_factors(table)
    chain.settled()
    view, logs, now, ratings = table.columns, np.linspace(-2.0, 2.0, 2001), chain.factors, chain.columns.values
    owners = view.owners(0, table.n_items)
    left = ratings - np.einsum("nd,nd->n", now.users[view.indices], now.items[owners])
    drawn = np.log([chain.drawn_stretch(np.bincount(owners, left**2)) for _ in range(3000)])
    for item in (0, 7, 21):
        part = slice(*view.indptr[item : item + 2])
        given = (ratings[part], now.users[view.indices[part]], now.items[item], now.prior.centre[item])
        density = np.array([naive.stretch_density(np.exp(x), *given, now.prior.precision, NOISE) for x in logs])
        weight = np.exp(density - density.max())
        mean = weight @ logs / weight.sum()
        deviation = np.sqrt(weight @ (logs - mean) ** 2 / weight.sum())
        assert abs(drawn[:, item].mean() - mean) < 0.25 * deviation
        assert 0.85 < drawn[:, item].std() / deviation < 1.15


def test_sure_answers_are_far_from_the_line_at_once():
    table = blocs(2)
    factors = hidden_factors(table).settled()
    said = np.einsum("nd,nd->n", factors.users[table.user_rows()], factors.items[table.item_rows()])
    surety = np.where(table.values > 0.5, said - 0.5, 0.5 - said) / np.sqrt(NOISE)
    assert (surety > 0).mean() > 0.99
    assert np.median(surety) > 2.0


def test_items_without_answers_and_answers_that_were_given_often():
    users, items, answers = [0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0, 1.0]
    table = Observations.from_arrays(users, items, answers, weights=[1.0, 500.0, 2.0, 1.0, 40.0])
    factors = hidden_factors(table, n_events=2).settled()
    assert np.isfinite(factors.users).all()
    assert np.isfinite(factors.items).all()
    assert factors.noise == NOISE


# --- how many events, and chains --------------------------------------------------------------------------------------


def test_more_ratings_have_more_events_but_never_more_than_rows():
    rng, found = np.random.default_rng(0), []
    for n_users, n_items in ((9, 5), (20, 20), (100, 100)):
        table = Observations.from_dense(rng.random((n_users, n_items)), maximum=1)
        found.append(suited(table).n_events)
        assert found[-1] == BayesianKolmogorovModel()._plan(table).n_events <= min(n_users, n_items)
        # One model keeps fewer.
        assert min(found[-1], 12) <= short(table).n_events <= found[-1]
    assert found == sorted(set(found))
    sparse = table.subset(rng.random(len(table)) < 0.3)
    assert 10 <= suited(sparse).n_events < found[-1]


@pytest.mark.parametrize("hidden", [False, True])
def test_what_averaging_would_still_bring(rng, hidden):
    table = planted(n_users=40, n_items=20, n_events=3, n_observations=400, noise=0.1, random_state=0).observations
    chains = [
        [SimpleNamespace(theta=rng.dirichlet(np.ones(3), 40), psi=rng.random((20, 3))) for _ in range(5)]
        for _ in range(4)
    ]
    users, items, say = table.user_rows(), table.item_rows(), naive.chance_of_yes if hidden else np.asarray
    means = np.array([np.mean([say((d.theta @ d.psi.T)[users, items]) for d in c], axis=0) for c in chains])
    expected = means.var(axis=0, ddof=1).mean() / 4 / ((means.mean(axis=0) - table.values) ** 2).mean()
    kind = (HiddenRatings if hidden else Gaussian)(np.arange(2.0), 0.0)
    assert averaging_left(table, chains, kind) == pytest.approx(expected, rel=1e-5)


def test_easy_tables_take_fewer_chains_and_the_same_on_any_number_of_threads():
    table = planted(n_users=60, n_items=30, n_events=3, noise=0.3, random_state=0).observations
    options = {"burn_in": 10, "n_samples": 20, "random_state": 0}
    one, three = (BayesianKolmogorovModel(2, n_jobs=n, **options).fit(table).posterior_ for n in (1, 3))
    assert one.n_chains == three.n_chains < 8
    np.testing.assert_array_equal(one.theta, three.theta)
    assert BayesianKolmogorovModel(2, n_chains=8, **options).fit(table).posterior_.n_chains == 8
