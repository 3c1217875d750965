"""Chains: the same bits, ended early, killed and resumed, hostile checkpoints, and whether they agree."""

import itertools
import logging
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from helpers.planned import planned
from kolmogorov.data.datasets import planted
from kolmogorov.descent.engine import Engine
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.draws.start import FactorChain
from kolmogorov.errors import ConvergenceWarning
from kolmogorov.models.metrics import effective_size, split_rhat

SMALL = {"psi": "binary", "n_chains": 2, "burn_in": 20, "n_samples": 6, "thin": 2, "random_state": 0}


@pytest.fixture(scope="module")
def ratings():
    return planted(60, 40, 4, n_observations=960, noise=0.1, random_state=0).observations


@pytest.fixture(scope="module")
def model(ratings):
    return planned(4, **SMALL).fit(ratings)


def test_a_chain_ended_early_is_left_out(ratings):
    stop = [(1, 24)]
    alone = SMALL | {"n_jobs": 1}
    model = planned(4, **alone, callback=lambda d: (d.chain, d.sweep) in stop).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (1, 6)
    model = planned(4, **alone, callback=lambda d: d.sweep == 1).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (1, 1)
    # After its last sweep a chain is not early.
    model = planned(4, **alone, callback=lambda d: (d.chain, d.sweep) == (1, 32)).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (2, 12)


def test_chains_side_by_side_that_are_ended_early_are_kept_alike_when_none_is_through(ratings):
    alongside = SMALL | {"n_jobs": 2, "n_chains": 3}
    model = planned(4, **alongside, callback=lambda d: (d.chain, d.sweep) == (1, 24)).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (2, 4)
    # The third comes after the first two, which are through.
    model = planned(4, **alongside, callback=lambda d: (d.chain, d.sweep) == (2, 24)).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (2, 12)
    # Before the first draw nothing can be kept, so that sampling goes on to it.
    model = planned(4, **alongside, callback=lambda d: d.sweep == 1).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (2, 2)


def test_a_callback_watches_and_ends(ratings):
    train, test = ratings.split(test_size=0.2, random_state=0)
    seen = []

    def watch(draw):
        seen.append(draw)
        return draw.chain == 0 and draw.sweep == 24

    model = planned(4, **SMALL, n_jobs=1, callback=watch).fit(train, test=test)
    assert seen[-1].rmse is not None
    assert seen[0].rmse is None
    assert model.posterior_.n_draws == 2
    assert model.evaluate(test)["rmse"] == pytest.approx(seen[-1].rmse, abs=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("psi", "owner", "name"), [("auto", FactorChain, "sweep"), ("binary", Engine, "sweep")])
def test_an_interrupt_during_the_start_of_a_chain_is_not_swallowed(ratings, monkeypatch, n_jobs, psi, owner, name):
    right, calls = getattr(owner, name), itertools.count()

    def interrupted(self, *given):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return right(self, *given)

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        planned(4, **SMALL | {"psi": psi}, n_jobs=n_jobs).fit(ratings)
    assert next(calls) == 4


def test_diagnostics(ratings, model):
    found = model.diagnostics(ratings, max_entries=50)
    assert found["prediction"]["rhat"].shape == (50,)
    assert found["user_noise"]["ess"].shape == (60,)
    # The users' prior is fixed after burn-in: nothing varies within a chain, and R-hat would have no end.
    assert len(np.unique(model.posterior_.priors["concentration"])) == 2
    assert set(found) == {"prediction", "noise", "noise_shape", "user_noise"}
    assert all(np.isfinite(numbers).all() for each in found.values() for numbers in each.values())


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


def test_a_fit_ends_with_one_short_line_that_says_whether_chains_agree(ratings, caplog):
    caplog.set_level(logging.INFO, logger="kolmogorov")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = planned(4, psi="binary", n_chains=3, burn_in=1, n_samples=8, random_state=0).fit(ratings)
        planned(4, psi="binary", n_chains=1, burn_in=1, n_samples=8, random_state=0).fit(ratings)
    differ, alone = (record.message for record in caplog.records)
    assert (
        differ
        == "4 events, 3 chains of 8 draws, which found different solutions; averages are usable, rules may not be"
    )
    assert alone == "4 events, 1 chain of 8 draws"
    told = str(convergence_of(model.posterior_))
    assert re.search("do not agree: R-hat is above 1.1 for .*More chains", told)


def test_convergence_is_judged_by_predictions_and_by_priors(model):
    posterior = model.posterior_
    n = posterior.n_draws
    same = replace(posterior, theta=np.tile(posterior.theta[:1], (n, 1, 1)), psi=np.tile(posterior.psi[:1], (n, 1, 1)))
    steady = replace(same, priors={"concentration": np.full(n, 20.0)})
    assert convergence_of(steady).settled
    assert convergence_of(steady).line == "2 chains of 6 draws, which agree"
    assert "agree: R-hat of 400 predictions is at most 1.00" in str(convergence_of(steady))
    apart = replace(same, priors={"concentration": np.repeat([20.0, 200.0], n // 2)})
    found = convergence_of(apart)
    assert found.disagreeing == ("concentration",)
    assert "their concentration is 20, 200" in str(found)
