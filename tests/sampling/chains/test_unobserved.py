"""Draws where only yes is recorded: as if every blank of the table were a no of small weight."""

from dataclasses import replace

import numpy as np
import pytest

import kolmogorov as km
from helpers.planned import chain_of, planned
from kolmogorov import Observations
from kolmogorov.draws.start import started
from kolmogorov.errors import DataError, ParameterError

LEVELS = np.arange(-5, 11) / 5.0
SHORT = {"n_chains": 2, "burn_in": 30, "n_samples": 5, "thin": 2, "random_state": 0}


@pytest.fixture(scope="module")
def likes():
    rng = np.random.default_rng(0)
    kind, taste = rng.integers(3, size=60), rng.integers(3, size=40)
    chance = np.where(kind[:, None] == taste[None, :], 0.5, 0.03)
    users, items = np.nonzero(rng.random(chance.shape) < chance)
    return Observations.from_arrays(users, items, np.ones(len(users)))


@pytest.fixture(scope="module")
def model(likes):
    return planned(4, unobserved="auto", **SHORT).fit(likes)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_is_that_of_the_whole_table(likes, weighted):
    weight = 0.15
    rng = np.random.default_rng(1)
    own = rng.uniform(0.5, 2.0, len(likes)) if weighted else np.ones(len(likes))
    given = (likes.users.ids[likes.user_rows()], likes.items.ids[likes.item_rows()], likes.values)
    part = Observations.from_arrays(*given, weights=own) if weighted else likes
    full, weights = np.zeros((likes.n_users, likes.n_items)), np.full((likes.n_users, likes.n_items), weight)
    full[likes.user_rows(), likes.item_rows()] = 1.0
    weights[likes.user_rows(), likes.item_rows()] = own
    rows, columns = np.divmod(np.arange(full.size), likes.n_items)
    ids = (likes.users.ids[rows], likes.items.ids[columns])
    whole = Observations.from_arrays(*ids, full.ravel(), weights=weights.ravel())
    options = {"seed": 5, "n_events": 3, "levels": LEVELS}
    first, second = chain_of(part, unobserved=weight, **options), chain_of(whole, **options)
    state = started(first)
    first.noise_rate = second.noise_rate
    for index in (1, 2, 3):
        mine, yours = (chain.sweep(state, index, learning=False) for chain in (first, second))
        assert np.array_equal(mine.psi, yours.psi)
        np.testing.assert_allclose(mine.theta, yours.theta, atol=1e-8)
        np.testing.assert_allclose(mine.noise, yours.noise, rtol=1e-8)
        state = replace(mine, theta=yours.theta)


def test_lists_find_what_was_left_out(likes):
    train, test = likes.split(0.2, random_state=0, by="user")
    fitted = planned(4, unobserved="auto", **SHORT).fit(train)
    scores = fitted.evaluate(test, ranking=True, k=10)
    one = km.KolmogorovModel(1, unobserved="auto", learn_from="ratings", random_state=0).fit(train)
    popular = one.evaluate(test, ranking=True, k=10)
    assert scores["ndcg"] > 1.5 * popular["ndcg"]


def test_new_people_are_placed(model, likes):
    own = likes.subset(likes.user_rows() == 0)
    said = model.inverse_transform(model.fold_in(own, side="users"))[0]
    expected = model.predict(likes.users.ids[0], likes.items.ids)
    assert np.corrcoef(said, expected)[0, 1] > 0.8


def test_what_does_not_go_together(likes):
    with pytest.raises(DataError, match="unobserved"):
        planned(4, **SHORT).fit(likes)
    with pytest.raises(ParameterError, match="'unobserved' goes with likelihood 'gaussian'"):
        planned(4, unobserved=0.1, likelihood="bernoulli", **SHORT).fit(likes)
    with pytest.raises(ParameterError, match="least weight"):
        planned(4, unobserved=2.0, **SHORT).fit(likes)
