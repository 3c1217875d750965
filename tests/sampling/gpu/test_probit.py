"""Chains on a GPU whose answers are yes and no; kernels run on the host here."""

import numpy as np
import pytest

from helpers import emulation
from kolmogorov import Observations
from kolmogorov.execution import Threads
from kolmogorov.kernels.draws.hidden import NOISE
from kolmogorov.sampling.chains.probit import ProbitChain
from kolmogorov.sampling.chains.start import started
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.gpu import chain as gpu_chain
from kolmogorov.sampling.gpu.probit import ProbitGpuChains

LEVELS = np.arange(-6, 11) / 4.0
pytestmark = pytest.mark.skipif(emulation.COMPILER is None, reason="no C++ compiler to run kernels of a GPU with")


def _table(*, weighted):
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((20, 15)) < 0.4)
    weights = {"weights": rng.choice([1, 2, 40], size=len(users)).astype(float)} if weighted else {}
    return Observations.from_arrays(users, items, rng.integers(2, size=len(users)), maximum=1, minimum=0, **weights)


def _chain(table, seed):
    features, dealer = pattern_features(table, 2), Threads(1)
    return ProbitChain(table, features, n_events=4, concentration=None, seed=seed, dealer=dealer, levels=LEVELS)


@pytest.mark.parametrize(("weighted", "long"), [(False, 512), (True, 4), (False, 4)])
def test_a_sweep_draws_what_chains_on_threads_do(cuda, monkeypatch, weighted, long):
    monkeypatch.setattr(gpu_chain, "LONG", long)
    table = _table(weighted=weighted)
    chains = [_chain(table, seed) for seed in (5, 6)]
    states = [chain.sweep(started([chain], chain.dealer)[0], 1, learning=True) for chain in chains]
    batch = ProbitGpuChains(cuda, chains, states)
    batch.sweep(2, learning=False)
    for k, (chain, state, mine) in enumerate(zip(chains, states, batch.states(), strict=True)):
        _, rows, columns = chain.answers(state, 2)
        np.testing.assert_allclose(batch.by_users[k], rows.values, atol=1e-5)
        np.testing.assert_allclose(batch.by_items[k], columns.values, atol=1e-5)
        yours = chain.sweep(state, 2, learning=False)
        assert np.array_equal(mine.psi, yours.psi)
        np.testing.assert_allclose(mine.theta, yours.theta, atol=1e-4)
        np.testing.assert_allclose(mine.noise, NOISE, rtol=1e-6)
        mine.validate(table.n_users, table.n_items, 4, LEVELS)
    assert set(batch.numbers()) == {"concentration"}
