"""Whether rules hold more often than readiness to say yes explains: against twins, chance, and planted rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import false_discovery_control

import naive
from helpers.strategies import tables
from kolmogorov import Observations, associations
from kolmogorov.data.observations import least_like
from kolmogorov.interpret.counting import Terms
from kolmogorov.interpret.judging import Looked
from kolmogorov.interpret.readiness import LEAST_SPREAD, Departures


def made(rng, n_users, n_items, seen=0.7, spread=1.0, planted=0):
    """Answers of users who differ in readiness, with some items that imply the next one nearly always."""
    chance = expit(rng.normal(0, spread, (n_users, 1)) + rng.normal(0, 0.8, n_items))
    yes = rng.random(chance.shape) < chance
    for j in range(0, 2 * planted, 2):
        yes[yes[:, j], j + 1] = rng.random(int(yes[:, j].sum())) < 0.95
    users, items = np.nonzero(rng.random(chance.shape) < seen)
    return Observations.from_arrays(users, items, yes[users, items].astype(float), minimum=0, maximum=1)


def counting_of(table, likes=1.0):
    return Terms(table.items, table.scale, likes).counting(table)


def test_the_chances_have_the_margins():
    table = made(np.random.default_rng(0), 80, 12)
    found = counting_of(table).readiness.chances(table.user_rows(), table.item_rows())
    for rows, counts in ((table.user_rows(), table.rows.counts), (table.item_rows(), table.columns.counts)):
        sums, yes = np.bincount(rows, found), np.bincount(rows, table.values)
        inner = (yes > 0) & (yes < counts)
        np.testing.assert_allclose(sums[inner], yes[inner], atol=0.02)
        np.testing.assert_allclose(sums, yes, atol=0.27)


@pytest.mark.parametrize("likes", [1.0, 0.5])
def test_pairs_are_compared_as_by_hand(likes):
    table = made(np.random.default_rng(1), 60, 7)
    chances, yes = naive.readiness(table, likes)
    counting = counting_of(table, likes)
    left, right = np.triu_indices(7, 1)
    compared = counting.compared(left, right)
    others = compared.turned()
    for k, (j, i) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        np.testing.assert_array_equal(compared.tables[k].reshape(2, 2), naive.contingency(table, j, i, likes))
        np.testing.assert_allclose(compared.sums[k], naive.departure(chances, yes, j, i), atol=0.02)
        np.testing.assert_array_equal(others.tables[k].reshape(2, 2), compared.tables[k].reshape(2, 2).T)
    blocks = list(counting.readiness.departures())
    every = {(j, i): z for lefts, rights, found in blocks for j, i, z in zip(lefts, rights, found.z, strict=True)}
    enough = compared.sums[:, 1] >= LEAST_SPREAD
    assert set(every) == set(zip(left[enough].tolist(), right[enough].tolist(), strict=True))
    np.testing.assert_allclose(
        [every[j, i] for j, i in zip(left[enough], right[enough], strict=True)],
        compared.departures.z[enough],
        atol=1e-4,
    )


@given(tables(weighted=False, trainable=True))
def test_any_table_has_p_values(table):
    counting = counting_of(table, least_like(table))
    left, right = np.triu_indices(table.n_items, 1)
    compared = counting.compared(left, right)
    for together in (True, False):
        p = compared.departures.p_values(together)
        assert ((p >= 0) & (p <= 1)).all()
        assert (p[compared.sums[:, 1] < LEAST_SPREAD] == 1).all()
    assert (compared.tables.sum(axis=1) <= table.n_users).all()


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=60))
def test_p_values_are_corrected_as_scipy_does(p):
    looked, p = Looked(), np.array(p)
    for part in np.array_split(p, 3):
        looked.add(part)
    exact, found = false_discovery_control(p), looked.adjusted(p)
    assert looked.number == len(p)
    assert (found >= exact * (1 - 1e-9)).all()
    assert (found <= np.minimum(1.0, exact * 1.0111) + 1e-300).all()


@given(st.lists(st.tuples(st.floats(0, 1, allow_subnormal=False), st.floats(1, 25)), min_size=1, max_size=60))
def test_weighted_p_values_are_those_of_their_shares(given_):
    p, weights = np.array(given_).T
    looked = Looked()
    looked.add(p[:5], weights[:5])
    looked.add(p[5:], weights[5:])
    exact = false_discovery_control(np.minimum(p * weights.mean() / weights, 1.0))
    found = looked.adjusted(p, weights)
    assert (found >= exact * (1 - 1e-9)).all()
    low = exact < 0.5
    assert (found[low] <= exact[low] * 1.0111 + 1e-300).all()


def test_leaning_sums_have_a_heavier_tail():
    z, skew, much = np.array([3.0, 3.0, 3.0]), np.array([0.4, 0.0, -0.4]), np.full(3, 9.0)
    upper = Departures(z, skew, much).p_values()
    assert upper[0] > upper[1] == upper[2]
    np.testing.assert_array_equal(Departures(-z, -skew, much).p_values(False), upper)
    rng = np.random.default_rng(0)
    sums = rng.gamma(4 / 0.4**2, size=400_000)
    lean, much = np.full(sums.size, 0.4), np.full(sums.size, 9.0)
    found = Departures((sums - sums.mean()) / sums.std(), lean, much).p_values()
    assert (found <= 0.001).mean() == pytest.approx(0.001, rel=0.2)


@pytest.mark.long("many tables with the same margins")
def test_chance_is_that_of_tables_with_the_same_margins():
    rng = np.random.default_rng(3)
    table = made(rng, 120, 8, seen=0.8, planted=1)
    pairs = np.triu_indices(8, 1)
    found = counting_of(table).compared(*pairs).departures.p_values()
    chances, yes = naive.readiness(table, 1.0)
    seen, other, more, times = ~np.isnan(chances), yes, np.zeros(28), 400

    def together(answers):
        # The chances are those of every table with these margins.
        rest = np.where(seen, answers - chances, 0.0)
        return (rest.T @ rest)[pairs]

    for _ in range(times):
        other = naive.swapped(other, seen, 2_000, rng)
        more += together(other) >= together(yes) - 1e-9
    assert np.abs(more / times - found).max() < 0.12
    assert abs((more / times - found).mean()) < 0.02
    assert more[0] == 0
    assert found[0] < 1e-3


@pytest.mark.parametrize("kind", ["independent", "users differ", "seen by different users", "both"])
def test_no_association_is_found_where_there_is_none(kind):
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(60):
        chance = expit(rng.normal(0, 1.0 if kind in ("users differ", "both") else 0, (300, 1)) + rng.normal(0, 1, 20))
        seen = np.full(chance.shape, 0.7)
        if kind in ("seen by different users", "both"):
            half = rng.random((300, 1)) < 0.5
            seen = np.where(half == (chance.mean(axis=0) > 0.5), 0.9, 0.3)
        users, items = np.nonzero(rng.random(chance.shape) < seen)
        yes = (rng.random(chance.shape) < chance)[users, items].astype(float)
        false += len(associations(Observations.from_arrays(users, items, yes, minimum=0, maximum=1))) > 0
    # 5% of them are 3; more than 8 come in fewer than one of a hundred such tests.
    assert false <= 8


def test_planted_rules_are_found_in_their_direction():
    rules = associations(made(np.random.default_rng(5), 1500, 12, planted=3))
    assert {("0", "1"), ("2", "3"), ("4", "5")} <= set(zip(*rules.names(), strict=True))
    assert (rules.p_adjusted <= 0.05).all()
    assert (rules.lift > 1).all()
    assert (np.diff(rules.strength) <= 0).all()
    assert rules.n_judged == 66
    none = associations(made(np.random.default_rng(6), 20, 3))
    assert len(none) == 0
    assert str(none).startswith("No rule. ")
