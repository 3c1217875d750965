"""Chains on a GPU whose answers are one of a few; kernels run on the host here."""

import numpy as np
import pytest

from helpers import emulation
from helpers.planned import planned
from kolmogorov import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitted.emission import emission_of
from kolmogorov.sampling.chains.discrete import DiscreteChain
from kolmogorov.sampling.chains.start import started
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.gpu import chain as gpu_chain
from kolmogorov.sampling.gpu.discrete import DiscreteGpuChains

CHANCES, TWO = np.array([0.02, 0.3, 0.6, 0.97]), np.array([0.01, 0.99])
pytestmark = pytest.mark.skipif(emulation.COMPILER is None, reason="no C++ compiler to run kernels of a GPU with")


def _table(*, weighted, answers=2):
    rng = np.random.default_rng(0)
    theta, chance = rng.dirichlet(np.ones(3), size=20), rng.choice(CHANCES, size=(15, 3))
    users, items = np.nonzero(rng.random((20, 15)) < 0.4)
    said = rng.binomial(answers - 1, (theta @ chance.T)[users, items])
    weights = {"weights": rng.choice([1, 2, 40], size=len(users)).astype(float)} if weighted else {}
    return Observations.from_arrays(users, items, said, maximum=answers - 1, minimum=0, **weights)


def _chain(table, likelihood, seed=5, chances=CHANCES):
    features = pattern_features(table, 2)
    emission = emission_of(likelihood, chances, table)
    return DiscreteChain(
        table,
        features,
        n_events=4,
        concentration=None,
        seed=seed,
        dealer=Threads(1),
        levels=emission.levels,
        emission=emission,
    )


@pytest.mark.parametrize(
    ("likelihood", "weighted", "long", "chances"),
    [
        ("bernoulli", False, 512, CHANCES),
        ("bernoulli", True, 4, CHANCES),
        ("bernoulli", False, 512, TWO),
        ("categorical", False, 512, CHANCES),
    ],
)
def test_values_are_those_of_chains_on_threads(cuda, monkeypatch, likelihood, weighted, long, chances):
    monkeypatch.setattr(gpu_chain, "LONG", long)
    table = _table(weighted=weighted, answers=5 if likelihood == "categorical" else 2)
    chains = [_chain(table, likelihood, seed, chances) for seed in (5, 6)]
    states = [chain.sweep(started([chain], chain.dealer)[0], 1, learning=True) for chain in chains]
    batch = DiscreteGpuChains(cuda, chains, states)
    batch.sweep(2, learning=True)
    for chain, state, mine in zip(chains, states, batch.states(), strict=True):
        yours = chain.sweep(state, 2, learning=True)
        assert np.array_equal(mine.psi, yours.psi)
        np.testing.assert_allclose(mine.psi_prior.precision, yours.psi_prior.precision, rtol=1e-4, atol=1e-5)
        mine.validate(table.n_users, table.n_items, 4, chain.levels)


@pytest.mark.parametrize(("weighted", "chances"), [(False, CHANCES), (True, CHANCES), (False, TWO)])
def test_thetas_are_dirichlet_given_the_events(cuda, weighted, chances):
    table, n = _table(weighted=weighted), 120
    chain = _chain(table, "bernoulli", chances=chances)
    state = chain.sweep(started([chain], chain.dealer)[0], 1, learning=True)
    batch = DiscreteGpuChains(cuda, [_chain(table, "bernoulli", seed, chances) for seed in range(n)], [state] * n)
    batch.draw_thetas(2)
    drawn = np.array([mine.theta for mine in batch.states()])
    codes = chain.emission.codes(table.values)
    places = np.abs(np.subtract.outer(state.psi, chain.levels)).argmin(axis=2)
    chance = chain.emission.chances[places[table.item_rows()], codes[:, None]] * state.theta[table.user_rows()]
    chance /= chance.sum(axis=1, keepdims=True)
    times = np.ones(len(table)) if table.weights is None else table.weights
    counts = np.zeros_like(state.theta)
    np.add.at(counts, table.user_rows(), chance * times[:, None])
    mass = np.bincount(table.user_rows(), weights=times, minlength=table.n_users)
    mean = (state.alpha + counts) / (state.alpha.sum() + mass)[:, None]
    apart = (drawn.mean(axis=0) - mean) / (drawn.std(axis=0) / np.sqrt(n) + 1e-9)
    assert np.abs(apart).max() < 4.5
    assert 0.6 < (apart**2).mean() < 1.5
    np.testing.assert_allclose(batch.logs, np.log(drawn), atol=1e-4)


@pytest.mark.parametrize(
    ("likelihood", "levels"),
    [("bernoulli", tuple(CHANCES)), ("bernoulli", 2), ("bernoulli", "auto"), ("categorical", "auto")],
)
def test_a_fit_is_the_same_from_run_to_run_and_settles(cuda, likelihood, levels):
    table = _table(weighted=False, answers=5 if likelihood == "categorical" else 2)
    short = {"n_chains": 2, "burn_in": 32, "n_samples": 4, "random_state": 0, "n_features": 2}
    models = [
        planned(4, likelihood=likelihood, levels=levels, execution=execution, **short).fit(table)
        for execution in (cuda, cuda, None)
    ]
    assert np.array_equal(models[0].posterior_.theta, models[1].posterior_.theta)
    errors = [model.evaluate(table)["rmse"] for model in models]
    assert errors[0] == pytest.approx(errors[2], rel=0.15)
