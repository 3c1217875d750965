"""Rules with several antecedents against twins and planted ones, and short lists from which the others follow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import naive
from kolmogorov import KolmogorovModel, Observations, associations
from kolmogorov.interpret.counting import Terms
from kolmogorov.interpret.judging import Conjunctions
from kolmogorov.interpret.readiness import Departures
from kolmogorov.interpret.rules import basis_of


def made(rng, n_users, n_items, conjunctions=0, pairs=0, seen=0.8, spread=0.7):
    """Answers in which the first items of every three together imply the third, and after them items the next."""
    yes = rng.random((n_users, n_items)) < expit(rng.normal(0, spread, (n_users, 1)) + rng.normal(0, 0.5, n_items))
    for k in range(0, 3 * conjunctions, 3):
        both = yes[:, k] & yes[:, k + 1]
        yes[both, k + 2] = rng.random(int(both.sum())) < 0.97
    for j in range(3 * conjunctions, 3 * conjunctions + 2 * pairs, 2):
        yes[yes[:, j], j + 1] = rng.random(int(yes[:, j].sum())) < 0.9
    users, items = np.nonzero(rng.random(yes.shape) < seen)
    return Observations.from_arrays(users, items, yes[users, items].astype(float), minimum=0, maximum=1)


def supported(table, most=2):
    return associations(table, max_antecedents=most)


def longest(rules):
    return rules[rules.antecedents[:, 1] >= 0]


def among(table, item):
    """The answers of those who said yes to an item, to all others."""
    users, items, yes = table.user_rows(), table.item_rows(), table.values == 1
    mine = np.isin(users, users[(items == item) & yes]) & (items != item)
    ids = [f"{i:02}" for i in items[mine].tolist()]
    part = Observations.from_arrays(users[mine], ids, yes[mine].astype(float), minimum=0, maximum=1)
    return part, {int(name): k for k, name in enumerate(part.items.ids.tolist())}


def test_what_an_antecedent_adds_is_as_by_hand():
    table = made(np.random.default_rng(0), 150, 7, conjunctions=1)
    found = Conjunctions(Terms(table.items, table.scale, 1.0).counting(table).readiness)
    more, ends = np.array([1, 3, 4, 2]), np.array([2, 2, 5, 6])
    part = found.added((0,), more, ends)
    smaller, place = among(table, 0)
    chances, yes = naive.readiness(smaller, 1.0)
    for k, (b, c) in enumerate(zip(more.tolist(), ends.tolist(), strict=True)):
        square = naive.contingency(smaller, place[b], place[c], 1.0)
        assert (part.support[k], part.held[k]) == (square[1].sum(), square[1, 1])
        sums = naive.departure(chances, yes, place[b], place[c])
        expected = Departures.of(*(np.array([value]) for value in sums)).p_values()[0]
        assert part.p_value[k] == pytest.approx(expected, rel=0.1, abs=0.01)


def test_all_are_looked_at_as_one_by_one():
    """The first look goes over all items at once: p-values and weights are those of single additions."""
    table = made(np.random.default_rng(8), 300, 9, conjunctions=1)
    found = Conjunctions(Terms(table.items, table.scale, 1.0).counting(table).readiness)
    shorter, ends = np.array([[0], [1], [0], [3]]), np.array([2, 2, 5, 4])
    sides, to, p_value, weight = found._first_look(shorter, ends, np.arange(9), None)
    met = set()
    for row, end, p, w in zip(sides.tolist(), to.tolist(), p_value, weight, strict=True):
        base = next((k,) for k in row if [k] in shorter[ends == end].tolist())
        (more,) = set(row) - set(base)
        one = found.added(base, np.array([more]), np.array([end]))
        assert p == pytest.approx(one.p_value[0], rel=1e-9)
        assert w == pytest.approx(one.weight[0], rel=1e-9)
        met.add((tuple(row), end))
    assert len(met) == len(sides)
    assert ((0, 1), 2) in met
    # What was found of a base once is the same when it is asked again.
    again = Conjunctions(found._readiness)
    for base in ((0,), (0, 1)):
        first, second = again.among(base), again.among(base)
        np.testing.assert_array_equal(first.users, second.users)
        np.testing.assert_array_equal(first.variance, second.variance)


def test_the_antecedent_that_adds_least_decides():
    table = made(np.random.default_rng(1), 400, 8, conjunctions=1)
    found = Conjunctions(Terms(table.items, table.scale, 1.0).counting(table).readiness)
    both = found.counted(np.array([[0, 1], [0, 4]]), np.array([2, 2]))
    for k, (a, b) in enumerate([(0, 1), (0, 4)]):
        orders = [found.added((x,), np.array([y]), np.array([2])) for x, y in ((a, b), (b, a))]
        assert both.p_value[k] == max(order.p_value[0] for order in orders)
        assert both.support[k] == orders[0].support[0] == orders[1].support[0]
    assert both.p_value[0] < 1e-4 < both.p_value[1]


def test_planted_conjunctions_are_found_and_no_longer_than_needed():
    rules = supported(made(np.random.default_rng(2), 1500, 12, conjunctions=2, pairs=2), most=3)
    found = {
        (tuple(sorted(row[row >= 0].tolist())), end)
        for row, end in zip(rules.antecedents, rules.consequent, strict=True)
    }
    assert {((0, 1), 2), ((3, 4), 5), ((6,), 7), ((8,), 9)} <= found
    # Six and anything else imply seven as well, but say no more.
    assert sum(len(sides) > 1 for sides, _ in found) <= 4
    long = longest(rules)
    assert " and " in long.names()[0][0]
    assert long[0].antecedent.count(" and ") == 1
    assert (rules.p_adjusted <= 0.05).all()


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_pairs_make_no_longer_rules(spread):
    rng, false = np.random.default_rng(3), 0
    for _ in range(20):
        rules = supported(made(rng, 400, 14, pairs=4, spread=spread))
        false += bool(len(rules)) and bool(len(longest(rules)))
    # 5% of them are 1; more than 4 come in fewer than one of two hundred such tests.
    assert false <= 4


def test_longer_rules_are_counted_on_other_data():
    table = made(np.random.default_rng(4), 1500, 9, conjunctions=1)
    rules = supported(table)
    long = longest(rules)
    other = made(np.random.default_rng(5), 300, 9, conjunctions=1)
    again = long.on(other)
    assert again.names() == long.names()
    said = np.full((300, 9), -1)
    said[other.users.ids[other.user_rows()].astype(int), other.items.ids[other.item_rows()].astype(int)] = other.values
    for rule, row, end in zip(again, long.antecedents, long.consequent, strict=True):
        met = (said[:, row[row >= 0]] == 1).all(axis=1) & (said[:, end] >= 0)
        assert (rule.support, rule.held) == (met.sum(), (said[met, end] == 1).sum())
    without = other.subset(other.item_rows() != long.antecedent[0])
    assert long[:1].on(without).support.tolist() == [0]


def test_a_models_longer_rules_are_those_that_it_states(zoo):
    model = KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(zoo)
    long = longest(model.rules(max_antecedents=3))
    assert len(long)
    for row, end in zip(long.antecedents, long.consequent, strict=True):
        together = model.psi_[row[row >= 0]].all(axis=0)
        assert together.any()
        assert not (together & ~model.psi_[end]).any()
    every = {frozenset(row[row >= 0].tolist()): end for row, end in zip(long.antecedents, long.consequent, strict=True)}
    assert len(long.on(zoo)) == len(long)
    np.testing.assert_array_equal(long.on(zoo).held, long.held)
    assert all(len(sides) > 1 for sides in every)


def test_longer_rules_hold_more_often_than_what_they_contain():
    rules = supported(made(np.random.default_rng(1), 3000, 12, conjunctions=2, pairs=2), most=3)
    sure = {
        (frozenset(row[row >= 0].tolist()), end): confidence
        for row, end, confidence in zip(rules.antecedents, rules.consequent.tolist(), rules.confidence, strict=True)
    }
    assert sum(len(sides) > 1 for sides, _ in sure) >= 2
    for (sides, end), confidence in sure.items():
        assert all(confidence > other for (part, to), other in sure.items() if to == end and part < sides)


def closure(statements, rules):
    known, size = set(statements), -1
    while size < len(known):
        size = len(known)
        known |= {end for sides, end in rules if set(sides) <= known}
    return known


@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(0, 6), min_size=1, max_size=3), st.integers(0, 6), st.sampled_from([0.5, 0.8, 1.0])
        ).filter(lambda rule: rule[1] not in rule[0]),
        max_size=25,
    )
)
def test_the_others_follow_and_none_of_the_basis_does(rules):
    sides, ends, sure = [sorted(r[0]) for r in rules], [r[1] for r in rules], np.array([r[2] for r in rules])
    kept = basis_of(sides, ends, sure).tolist()
    assert kept == sorted(set(kept))
    for k in range(len(rules)):
        others = [(sides[r], ends[r]) for r in kept if r != k and sure[r] >= sure[k]]
        assert (ends[k] in closure(sides[k], others)) == (k not in kept)


def test_a_chain_is_enough():
    table = made(np.random.default_rng(7), 2000, 6, pairs=1, spread=0.3)
    rules = supported(table, most=1)
    assert set(rules.basis().names()[0]) <= set(rules.names()[0])
    assert len(rules.basis()) <= len(rules)
    assert len(rules[:0].basis()) == 0
