"""Whether rules hold more often than readiness to say yes explains: against twins, chance, and planted rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import false_discovery_control

import naive
from helpers.strategies import tables
from kolmogorov import KolmogorovModel, Observations, associations
from kolmogorov.data.observations import least_like
from kolmogorov.interpret.mining import _added
from kolmogorov.interpret.readiness import LEAST_SPREAD, corrected, p_values
from kolmogorov.interpret.rules import Rules, Terms


def made(rng, n_users, n_items, conjunctions=0, pairs=0, seen=0.75, spread=1.0):
    """Answers in which the first items of every three together imply the third, and after them items the next."""
    chance = expit(rng.normal(0, spread, (n_users, 1)) + rng.normal(0, 0.8, n_items))
    yes = rng.random(chance.shape) < chance
    for k in range(0, 3 * conjunctions, 3):
        both = yes[:, k] & yes[:, k + 1]
        yes[both, k + 2] = rng.random(int(both.sum())) < 0.97
    for j in range(3 * conjunctions, 3 * conjunctions + 2 * pairs, 2):
        yes[yes[:, j], j + 1] = rng.random(int(yes[:, j].sum())) < 0.95
    return observed(yes, rng.random(yes.shape) < seen)


def observed(yes, seen):
    users, items = np.nonzero(seen)
    return Observations.from_arrays(users, items, yes[users, items].astype(float), minimum=0, maximum=1)


def counting_of(table, likes=1.0):
    return Terms.of(table, likes).counting(table)


@pytest.mark.parametrize("likes", [1.0, 0.5])
def test_pairs_depart_as_by_hand(likes):
    table = made(np.random.default_rng(1), 60, 7)
    chances, yes = naive.readiness(table, likes)
    found = counting_of(table, likes).readiness.departures(np.arange(7))
    for j, i in zip(*np.triu_indices(7, 1), strict=True):
        np.testing.assert_allclose(found[j, i], naive.departure(chances, yes, j, i), atol=0.02)
        np.testing.assert_allclose(found[i, j], found[j, i], atol=1e-5)
    later = counting_of(table, likes).readiness.departures(np.arange(7), later=True)
    np.testing.assert_array_equal(later[np.triu_indices(7, 1)], found[np.triu_indices(7, 1)])
    assert not later[np.tril_indices(7)].any()


@given(tables(weighted=False, trainable=True))
def test_any_table_has_p_values(table):
    found = counting_of(table, least_like(table)).readiness.departures(np.arange(table.n_items)).reshape(-1, 3)
    for together in (True, False):
        p = p_values(found, together)
        assert ((p >= 0) & (p <= 1)).all()
        assert (p[found[:, 1] < LEAST_SPREAD] == 1).all()


@given(st.lists(st.tuples(st.floats(0, 1, allow_subnormal=False), st.floats(1, 25)), min_size=1, max_size=60))
def test_p_values_are_corrected_as_scipy_does(given_):
    p, weight = np.array(given_).T
    plain = corrected(p, np.ones(p.size), p.size)
    np.testing.assert_allclose(plain, false_discovery_control(p))
    weighted = corrected(p, weight, weight.sum())
    share = false_discovery_control(np.minimum(p * weight.mean() / weight, 1.0))
    np.testing.assert_allclose(np.maximum(share, p), weighted, rtol=1e-9)
    # Without the larger ones those that remain become no smaller, and the smallest are the same.
    small = p <= 0.05
    fewer = corrected(p[small], weight[small], weight.sum())
    assert (fewer >= weighted[small] * (1 - 1e-12)).all()


def test_leaning_sums_have_a_heavier_tail():
    upper = p_values(np.array([[9.0, 9.0, 10.8], [9.0, 9.0, 0.0], [9.0, 9.0, -10.8]]))
    assert upper[0] > upper[1] == upper[2]
    np.testing.assert_array_equal(p_values(np.array([[-9.0, 9.0, -10.8]]), False), upper[:1])
    sums = np.random.default_rng(0).gamma(4 / 0.4**2, size=400_000)
    sums = 3.0 * (sums - sums.mean()) / sums.std()
    found = p_values(np.column_stack([sums, np.full(sums.size, 9.0), np.full(sums.size, 0.4 * 27.0)]))
    assert (found <= 0.001).mean() == pytest.approx(0.001, rel=0.2)


@pytest.mark.long("many tables with the same margins")
def test_chance_is_that_of_tables_with_the_same_margins():
    rng = np.random.default_rng(3)
    table = made(rng, 120, 8, pairs=1, seen=0.8)
    pairs = np.triu_indices(8, 1)
    found = p_values(counting_of(table).readiness.departures(np.arange(8))[pairs])
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
def test_nothing_is_found_where_there_is_nothing(kind):
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(60):
        chance = expit(rng.normal(0, 1.0 if kind in ("users differ", "both") else 0, (300, 1)) + rng.normal(0, 1, 20))
        seen = np.full(chance.shape, 0.7)
        if kind in ("seen by different users", "both"):
            half = rng.random((300, 1)) < 0.5
            seen = np.where(half == (chance.mean(axis=0) > 0.5), 0.9, 0.3)
        seen = rng.random(chance.shape) < seen
        false += len(associations(observed(rng.random(chance.shape) < chance, seen), max_antecedents=2)) > 0
    # 5% of them are 3; more than 8 come in fewer than one of a hundred such tests.
    assert false <= 8


def test_planted_rules_are_found_in_their_direction():
    rules = associations(made(np.random.default_rng(5), 1500, 12, pairs=3))
    assert {("0", "1"), ("2", "3"), ("4", "5")} <= set(zip(*rules.names(), strict=True))
    assert (rules.p_adjusted <= 0.05).all()
    assert (rules.lift > 1).all()
    assert (np.diff(rules.strength) <= 0).all()
    assert rules.n_judged == 66
    none = associations(made(np.random.default_rng(6), 20, 3))
    assert len(none) == 0
    assert str(none).startswith("No rule. ")


# --- several antecedents ----------------------------------------------------------------------------------------------


def test_what_an_antecedent_adds_is_as_by_hand():
    """It is the departure of two items among those who said yes to a third, in a table of their own."""
    table = made(np.random.default_rng(0), 150, 7, conjunctions=1)
    found = counting_of(table).readiness.among((0,)).departures(np.array([2, 5]))
    users, items, yes = table.user_rows(), table.item_rows(), table.values == 1
    mine = np.isin(users, users[(items == 0) & yes]) & (items != 0)
    smaller = Observations.from_arrays(users[mine], items[mine], yes[mine].astype(float), minimum=0, maximum=1)
    chances, yes = naive.readiness(smaller, 1.0)
    for row, end in enumerate((2, 5)):
        for more in {1, 2, 3, 4, 5, 6} - {end}:
            np.testing.assert_allclose(
                found[row, more], naive.departure(chances, yes, more - 1, end - 1), rtol=0.05, atol=0.1
            )
    assert not found[:, 0].any()


def test_every_part_that_is_a_rule_must_say_that_the_rest_adds_something():
    table = made(np.random.default_rng(1), 1500, 8, conjunctions=1)
    counting, every = counting_of(table), np.ones(8, dtype=bool)

    def longer(*bases):
        sides, ends = np.array([[base] for base, _ in bases]), np.array([end for _, end in bases])
        sides, ends, p, _ = _added(counting, Rules.counted(counting, 0, sides, ends), every, 2)
        return dict(zip([(*row, end) for row, end in zip(sides.tolist(), ends.tolist(), strict=True)], p, strict=True))

    first, second, both = longer((0, 2)), longer((1, 2)), longer((0, 2), (1, 2))
    assert (0, 1, 2) in first.keys() & second.keys() & both.keys()
    assert set(both) <= first.keys() | second.keys()
    # With a base that says nothing the third item must add to it as well.
    assert (0, 4, 2) not in longer((0, 2), (4, 2))


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_pairs_make_no_longer_rules(spread):
    rng, false = np.random.default_rng(3), 0
    for _ in range(20):
        rules = associations(made(rng, 400, 14, pairs=4, spread=spread), max_antecedents=2)
        false += bool((rules.antecedents[:, 1] >= 0).any())
    # 5% of them are 1; more than 4 come in fewer than one of two hundred such tests.
    assert false <= 4


def test_planted_conjunctions_are_found_and_hold_more_often_than_what_they_contain():
    table = made(np.random.default_rng(2), 2000, 12, conjunctions=2, pairs=2)
    rules = associations(table, max_antecedents=3)
    sure = {
        (tuple(sorted(row[row >= 0].tolist())), end): confidence
        for row, end, confidence in zip(rules.antecedents, rules.consequent.tolist(), rules.confidence, strict=True)
    }
    assert {((0, 1), 2), ((3, 4), 5), ((6,), 7), ((8,), 9)} <= sure.keys()
    # Six and anything else imply seven as well, but say no more.
    assert sum(len(sides) > 1 for sides, _ in sure) <= 5
    for (sides, end), confidence in sure.items():
        assert all(confidence > other for (part, to), other in sure.items() if to == end and {*part} < {*sides})
    long = rules[rules.antecedents[:, 1] >= 0]
    assert long[0].antecedent.count(" and ") == 1
    other = made(np.random.default_rng(5), 300, 12, conjunctions=2)
    said = np.full((300, 12), -1)
    said[other.user_rows(), other.items.ids[other.item_rows()].astype(int)] = other.values
    for rule, row, end in zip(long.on(other), long.antecedents, long.consequent, strict=True):
        ids = rules.terms.items.ids.astype(int)
        met = (said[:, ids[row[row >= 0]]] == 1).all(axis=1) & (said[:, ids[end]] >= 0)
        assert (rule.support, rule.held) == (met.sum(), (said[met, ids[end]] == 1).sum())


@pytest.mark.long("fits of tables without events")
def test_a_models_rules_are_found_in_tables_whose_events_do_not_come_back():
    """Six pairs among independent items are no events; what all events together say of a pair is enough."""
    stated = found = 0
    for seed in range(2):
        table = made(np.random.default_rng(seed), 1500, 30, pairs=6, spread=0.0)
        model = KolmogorovModel(random_state=seed).fit(table)
        both = [set(zip(*rules.names(), strict=True)) for rules in (model.rules(), associations(table))]
        said, known = ({frozenset(pair) for pair in pairs} for pairs in both)
        truth = {frozenset((str(k), str(k + 1))) for k in range(0, 12, 2)}
        stated, found = stated + len(said & truth), found + len(known & truth)
    assert found >= 10
    assert stated >= 0.75 * found
