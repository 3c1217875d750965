"""Chains: the same bits on any number of threads, ended early or interrupted; measures of whether they agree."""

import itertools

import numpy as np
import pytest

from helpers.planned import planned
from kolmogorov import Observations
from kolmogorov._support.threads import Threads
from kolmogorov.data.datasets import planted
from kolmogorov.draws import sampler
from kolmogorov.draws.chain import Chain
from kolmogorov.draws.start import FactorChain
from kolmogorov.models.metrics import effective_size, split_rhat

SMALL = {"n_chains": 2, "burn_in": 20, "n_samples": 6, "thin": 2, "random_state": 0}
LIKELIHOODS = ("gaussian", "bernoulli")


@pytest.fixture(scope="module")
def tables():
    rated = planted(60, 40, 4, n_observations=960, noise=0.1, random_state=0).observations
    given = rated.users.ids[rated.user_rows()], rated.items.ids[rated.item_rows()]
    return {"gaussian": rated, "bernoulli": Observations.from_arrays(*given, (rated.values > 0.5).astype(float))}


@pytest.fixture(scope="module")
def ratings(tables):
    return tables["gaussian"]


def same(a, b):
    names = ("theta", "psi", "noise")
    return all((getattr(a.posterior_, name) == getattr(b.posterior_, name)).all() for name in names)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_draws_are_models_and_have_the_same_bits_on_any_number_of_threads(tables, likelihood):
    options, table = SMALL | {"likelihood": likelihood}, tables[likelihood]
    first = planned(4, **options, n_jobs=1).fit(table)
    assert all(same(first, planned(4, **options, n_jobs=n).fit(table)) for n in (2, 5))
    assert not same(first, planned(4, **options | {"random_state": 1}).fit(table))
    posterior = first.posterior_
    assert (posterior.n_chains, posterior.n_draws) == (2, 12)
    assert (posterior.theta.sum(axis=2) == 1.0).all()
    assert (posterior.theta >= 0).all()
    assert np.isin(posterior.psi, posterior.levels.astype(np.float32)).all()
    assert len(np.unique(posterior.psi)) > 2


@pytest.mark.parametrize(
    ("n_jobs", "n_chains", "stop", "kept"),
    [
        (1, 2, (1, 24), (1, 6)),  # the second is ended early, and left out
        (1, 2, (1, 32), (2, 12)),  # after its last sweep a chain is not early
        (1, 2, (0, 1), (1, 1)),  # before the first draw nothing can be kept: sampling goes on to it
        (2, 3, (0, 1), (2, 2)),
        (2, 3, (1, 24), (2, 4)),  # none is through: all are kept alike
        (2, 3, (2, 24), (2, 12)),  # the third comes after the first two
    ],
)
def test_a_callback_ends_chains(ratings, n_jobs, n_chains, stop, kept):
    options = SMALL | {"n_jobs": n_jobs, "n_chains": n_chains}
    model = planned(4, **options, callback=lambda draw: (draw.chain, draw.sweep) == stop).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == kept


@pytest.mark.parametrize(("owner", "n_jobs"), [(FactorChain, 1), (FactorChain, 2), (Chain, 1), (Chain, 2)])
def test_an_interrupt_is_not_swallowed_and_ends_all_chains(ratings, monkeypatch, owner, n_jobs):
    right, calls = owner.sweep, itertools.count()

    def interrupted(self, *given, **options):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return right(self, *given, **options)

    monkeypatch.setattr(owner, "sweep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        planned(4, **SMALL, n_jobs=n_jobs).fit(ratings)
    assert next(calls) < 3 + 2 * n_jobs * sampler._LONGEST


@pytest.mark.parametrize("when", range(8, 16))
def test_draws_survive_an_interrupt_at_any_time_after_the_first(ratings, when):
    """Ctrl-C that comes while draws are taken over or told of: all chains have as many, at least one."""
    plan, told = planned(4, **SMALL | {"burn_in": 3, "n_samples": 2})._plan(ratings), itertools.count(1)

    def interrupt(draw):
        if next(told) == when:
            raise KeyboardInterrupt

    if when < 9:
        with pytest.raises(KeyboardInterrupt):
            sampler.drawn(plan, ratings, 0, Threads(2), interrupt, keep_interrupted=True)
        return
    found, early = sampler.drawn(plan, ratings, 0, Threads(2), interrupt, keep_interrupted=True)
    assert early is (when <= 14)
    assert (found.n_chains, found.n_draws) == (2, 2 if when <= 12 else 4)


def test_convergence_measures(rng):
    independent = rng.normal(size=(4, 1000, 3))
    assert (split_rhat(independent) < 1.01).all()
    assert (np.abs(effective_size(independent) / 4000 - 1) < 0.25).all()
    sticky = np.zeros((4, 4000))
    for t in range(1, 4000):
        sticky[:, t] = 0.9 * sticky[:, t - 1] + rng.normal(size=4)
    # An AR(1) process with coefficient a has n (1 - a) / (1 + a) effective draws.
    assert effective_size(sticky) == pytest.approx(16_000 * 0.1 / 1.9, rel=0.3)
    assert (split_rhat(independent + np.arange(4)[:, None, None]) > 1.3).all()
