"""Chains that are taken up: rows drawn alone are the rows of a whole sweep, and what a draw lacks is learned again."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.data.table.changes import changed
from kolmogorov.execution import Threads
from kolmogorov.sampling.chains.chain import Part
from kolmogorov.sampling.chains.source import ChainSource
from kolmogorov.sampling.chains.start import started
from kolmogorov.sampling.levels import level_grid
from kolmogorov.sampling.moving.draws import Lengths, Moving
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors.features import pattern_features

KINDS = ("gaussian", "bernoulli", "categorical")


def table_of(kind, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((30, 12)) < 0.5)
    values = (rng.random(users.size) < 0.5) if kind == "bernoulli" else rng.integers(1, 6, users.size)
    return km.Observations.from_arrays(users, items, values.astype(float), maximum=1 if kind == "bernoulli" else 5)


def source_of(kind, table):
    levels = level_grid("auto", table, kind, 3)
    plan = Plan(n_events=3, n_chains=1, burn_in=5, n_samples=2, thin=1, n_features=3, likelihood=kind, levels=levels)
    return ChainSource(plan, table, pattern_features(table, 3), 7)


@pytest.mark.parametrize("kind", KINDS)
def test_some_rows_are_drawn_as_all_rows_are(kind):
    table = table_of(kind)
    chain = source_of(kind, table).chain(0, Threads(1))
    (state,) = started([chain], Threads(1))
    state = chain.sweep(state, 1, learning=True)
    everybody, everything = np.arange(table.n_users), np.arange(table.n_items)
    nobody = np.empty(0, dtype=np.int64)
    some, few = np.array([3, 11, 29]), np.array([0, 7])

    def drawn(users, items):
        return chain.redrawn(state, Part(users, table.rows.picked(users)), Part(items, table.columns.picked(items)), 5)

    whole, part = drawn(everybody, nobody), drawn(some, nobody)
    assert np.array_equal(part.theta[some], whole.theta[some])
    others = np.setdiff1d(everybody, some)
    assert np.array_equal(part.theta[others], state.theta[others])
    assert not np.array_equal(part.theta[some], state.theta[some])
    whole, part = drawn(nobody, everything), drawn(nobody, few)
    assert np.array_equal(part.psi[few], whole.psi[few])
    others = np.setdiff1d(everything, few)
    assert np.array_equal(part.psi[others], state.psi[others])


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_is_made_of_a_draw_and_its_table(kind):
    table = table_of(kind)
    model = km.BayesianKolmogorovModel(3, likelihood=kind, n_chains=1, burn_in=20, n_samples=3, random_state=0)
    drawn = model.fit(table).posterior_
    new = km.Observations.from_arrays([100, 100], [2, 50], [1, 1], maximum=table.scale.maximum)
    change, _ = changed(drawn.training, new, ([0], [table.item_rows()[0]]))
    source = source_of(kind, change.after)
    moving = Moving(drawn, change, source, Lengths())
    chain = source.chain(0, Threads(1))
    state = moving._taken_up(chain, 2)
    state.validate(change.after.n_users, change.after.n_items, 3, drawn.levels)
    known = change.users >= 0
    assert np.allclose(state.theta[known], drawn.theta[2][change.users[known]], atol=1e-6)
    assert np.allclose(state.psi[change.items >= 0], drawn.psi[2][change.items[change.items >= 0]])
    if kind == "gaussian":
        assert np.sqrt(state.scale / state.shape) == pytest.approx(drawn.priors["noise"][2])
        assert state.theta_prior.concentration == pytest.approx(drawn.priors["concentration"][2])
    else:
        assert state.alpha.sum() == pytest.approx(drawn.priors["concentration"][2], rel=1e-3)
