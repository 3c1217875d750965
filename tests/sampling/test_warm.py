"""Chains that start from the last draws: what a draw does not hold of a state is learned again."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov._support.threads import Threads
from kolmogorov.data.changes import changed
from kolmogorov.draws.chain import ChainSource
from kolmogorov.draws.plan import Plan, level_grid
from kolmogorov.draws.priors import pattern_features
from kolmogorov.draws.start import taken_up


def table_of(kind, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((30, 12)) < 0.5)
    values = (rng.random(users.size) < 0.5) if kind == "bernoulli" else rng.integers(1, 6, users.size)
    return km.Observations.from_arrays(users, items, values.astype(float), maximum=1 if kind == "bernoulli" else 5)


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_a_state_is_made_of_a_draw_and_its_table(kind):
    table = table_of(kind)
    model = km.BayesianKolmogorovModel(3, likelihood=kind, n_chains=1, burn_in=20, n_samples=3, random_state=0)
    drawn = model.fit(table).posterior_
    new = km.Observations.from_arrays([100, 100], [2, 50], [1, 1], maximum=table.scale.maximum)
    change, _ = changed(drawn.training, new, ([0], [table.item_rows()[0]]))
    after = change.after
    levels = level_grid("auto", table, kind, 3)
    plan = Plan(n_events=3, n_chains=1, burn_in=5, n_samples=2, thin=1, n_features=3, likelihood=kind, levels=levels)
    chain = ChainSource(plan, after, pattern_features(after, 3), 7).chain(0, Threads(1))
    state = taken_up(drawn, 2, change, chain)
    known = change.users >= 0
    assert np.allclose(state.theta[known], drawn.theta[2][change.users[known]], atol=1e-6)
    assert np.allclose(state.psi[change.items >= 0], drawn.psi[2][change.items[change.items >= 0]])
    assert state.theta_prior.concentration == pytest.approx(drawn.priors["concentration"][2])
    if kind == "gaussian":
        assert np.sqrt(state.scale / state.shape) == pytest.approx(drawn.priors["noise"][2])
