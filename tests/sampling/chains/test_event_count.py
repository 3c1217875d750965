"""The number of events is learned, and chains end when their average has settled."""

from types import SimpleNamespace

import numpy as np
import pytest

import naive
from kolmogorov import BayesianKolmogorovModel, Observations
from kolmogorov.data.datasets import planted
from kolmogorov.draws.likelihood import Gaussian, HiddenRatings
from kolmogorov.draws.plan import LEAST_RATINGS, TRIED
from kolmogorov.draws.sampler import averaging_left
from kolmogorov.draws.start import _lowest, told_apart


def of_rank(rank, n_users=150, n_items=60, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    values = 0.5 + 0.12 * rng.standard_normal((n_users, rank)) @ rng.standard_normal((rank, n_items)) / np.sqrt(rank)
    values += noise * rng.standard_normal(values.shape)
    values[rng.random(values.shape) < 0.3] = np.nan
    return Observations.from_dense(np.clip(values, 0.0, 1.0), maximum=1)


def test_tables_of_more_dimensions_have_more_events():
    found = [told_apart(of_rank(rank), 8, 0, 1) for rank in (1, 3, 7)]
    assert found == sorted(found)
    assert found[0] < 6 < found[-1]


def test_threads_do_not_matter_and_neither_does_the_guess():
    table = of_rank(3)
    assert len({told_apart(table, guess, 0, n_jobs) for guess, n_jobs in ((2, 1), (8, 2), (16, 1))}) == 1


def test_where_nothing_can_be_held_out_the_guess_is_taken():
    table = of_rank(2, 10, 10)
    assert len(table) < LEAST_RATINGS
    assert told_apart(table, 5, 0, 1) == 5


@pytest.mark.parametrize("first", range(6))
def test_the_lowest_is_found_from_anywhere(first):
    errors = [9.0, 5.0, 5.5, 4.0, 6.0, 7.0]
    looked = []

    def error(k):
        looked.append(k)
        return errors[k]

    assert _lowest(error, first, 6, 0.0) == 3
    assert len(looked) == len(set(looked)) <= len(TRIED)


@pytest.mark.parametrize("hidden", [False, True])
def test_what_averaging_would_still_bring(hidden):
    table = planted(n_users=40, n_items=20, n_events=3, n_observations=400, noise=0.1, random_state=0).observations
    model = BayesianKolmogorovModel(3, n_chains=4, burn_in=10, n_samples=5, random_state=0).fit(table)
    posterior = model.posterior_
    draws = [SimpleNamespace(theta=theta, psi=psi) for theta, psi in zip(posterior.theta, posterior.psi, strict=True)]
    chains = [draws[5 * k : 5 * (k + 1)] for k in range(4)]
    users, items, say = table.user_rows(), table.item_rows(), naive.chance_of_yes if hidden else np.asarray
    means = np.array([np.mean([say((d.theta @ d.psi.T)[users, items]) for d in c], axis=0) for c in chains])
    expected = means.var(axis=0, ddof=1).mean() / 4 / ((means.mean(axis=0) - table.values) ** 2).mean()
    assert averaging_left(
        table, chains, (HiddenRatings if hidden else Gaussian)(posterior.levels, 0.0)
    ) == pytest.approx(expected, rel=1e-5)


def test_easy_tables_take_fewer_chains_and_the_same_on_any_number_of_threads():
    table = planted(n_users=60, n_items=30, n_events=3, noise=0.3, random_state=0).observations
    options = {"burn_in": 10, "n_samples": 20, "random_state": 0}
    one, three = (BayesianKolmogorovModel(2, n_jobs=n, **options).fit(table).posterior_ for n in (1, 3))
    assert one.n_chains == three.n_chains < 8
    np.testing.assert_array_equal(one.theta, three.theta)
    assert BayesianKolmogorovModel(2, n_chains=8, **options).fit(table).posterior_.n_chains == 8
