"""Chains by likelihood: the same bits, killed and resumed, cut to a given time, hostile checkpoints."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.planned import planned
from kolmogorov import Observations
from kolmogorov.cluster.dask import Dask
from kolmogorov.errors import ParameterError

SMALL = {"n_chains": 2, "burn_in": 12, "n_samples": 4, "thin": 2, "random_state": 0}
LIKELIHOODS = ("gaussian", "bernoulli")


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    mean = rng.dirichlet(np.ones(3), 50) @ rng.random((3, 20))
    stars = np.clip(np.rint(5 * mean + 0.7 * rng.normal(size=mean.shape)), 1, 5)
    stars[rng.random(stars.shape) < 0.6] = np.nan
    yes = np.where(np.isnan(stars), np.nan, (stars > 2).astype(float))
    rated = Observations.from_dense(stars, maximum=5)
    return {"gaussian": rated, "bernoulli": Observations.from_dense(yes)}


def drawn(tables, likelihood, **options):
    return planned(3, likelihood=likelihood, **{**SMALL, **options}).fit(tables[likelihood])


def same(a, b):
    names = ("theta", "psi", "noise")
    return all((getattr(a.posterior_, name) == getattr(b.posterior_, name)).all() for name in names)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_same_bits_on_any_number_of_threads(tables, likelihood):
    first = drawn(tables, likelihood, n_jobs=1)
    assert all(same(first, drawn(tables, likelihood, n_jobs=n)) for n in (2, 5))
    assert not same(first, drawn(tables, likelihood, random_state=1))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_draws_are_models(tables, likelihood):
    posterior = drawn(tables, likelihood).posterior_
    assert (posterior.n_chains, posterior.n_draws) == (2, 8)
    assert (posterior.theta.sum(axis=2) == 1.0).all()
    assert (posterior.theta >= 0).all()
    assert np.isin(posterior.psi, posterior.levels.astype(np.float32)).all()
    assert len(np.unique(posterior.psi)) > 2


@pytest.mark.parametrize(("likelihood", "values"), [("gaussian", [0.0, 1.0]), ("bernoulli", [0.01, 0.99])])
def test_two_levels_are_those_of_the_paper_from_which_few_answers_go_astray(tables, likelihood, values):
    model = drawn(tables, likelihood, psi="binary", n_jobs=1)
    assert model.posterior_.levels.tolist() == values
    assert np.unique(model.posterior_.psi).tolist() == np.float32(values).tolist()
    assert same(model, drawn(tables, likelihood, psi="binary", n_jobs=2))


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_time_is_kept(tables, likelihood, monkeypatch):
    # A clock on which a hundredth of a second goes by whenever somebody looks at it.
    ticks = itertools.count()
    monkeypatch.setattr("kolmogorov.draws.sampler.time", SimpleNamespace(monotonic=lambda: 0.01 * next(ticks)))
    model = drawn(tables, likelihood, burn_in=100_000, n_samples=20, max_seconds=1.0)
    assert next(ticks) < 200
    assert model.posterior_.n_draws >= 1
    assert model.posterior_.n_draws % model.posterior_.n_chains == 0


@pytest.mark.parametrize("burn_in", [1, 3, 30])
@pytest.mark.parametrize("thin", [1, 9])
def test_no_time_at_all_still_gives_a_draw(tables, burn_in, thin):
    model = drawn(tables, "gaussian", max_seconds=1e-9, burn_in=burn_in, thin=thin, n_chains=3, n_jobs=2)
    assert model.posterior_.n_draws == model.posterior_.n_chains == 2


def test_time_is_not_given_to_a_cluster(tables):
    with pytest.raises(ParameterError, match="cluster"):
        drawn(tables, "gaussian", max_seconds=1.0, execution=object.__new__(Dask))


def test_time_enough_changes_nothing(tables):
    assert same(drawn(tables, "gaussian", max_seconds=1e6), drawn(tables, "gaussian"))
