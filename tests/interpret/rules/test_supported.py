"""A rule has one p-value, limits are told apart from support, and blanks are noes where only yes is recorded."""

import numpy as np
import pytest
from scipy.special import expit

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov.interpret.counting import Terms
from kolmogorov.interpret.mining import Limits, supported_rules

KINDS = ("implication", "equivalence", "exclusion", "coverage")


def stars(rng, n_users=200, n_items=10, seen=0.7):
    """Ratings of two tastes."""
    taste = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items))
    rating = np.clip(np.rint(3.4 + 0.8 * taste + 0.7 * rng.normal(size=taste.shape)), 1, 5)
    users, items = np.nonzero(rng.random(taste.shape) < seen)
    return Observations.from_arrays(users, [f"Film {i}" for i in items], rating[users, items], maximum=5)


def chance(rng, n_users=150, n_items=8):
    """Yes and no by chance alone."""
    yes = rng.random((n_users, n_items)) < 0.5
    return Observations.from_dense(yes.astype(float), maximum=1)


@pytest.fixture(scope="module")
def model():
    table = stars(np.random.default_rng(0))
    return KolmogorovModel(3, learn_from="ratings", user_reg=0.3, random_state=0).fit(table)


def adjusted(rules):
    """Adjusted p-values by what rules say."""
    return dict(zip(zip(*rules.names(), strict=True), rules.p_adjusted.tolist(), strict=True))


def test_a_rule_has_the_same_p_value_in_every_list(model):
    relations, items = model.relations(), model.items_.ids.tolist()
    usual = relations.rules()
    whole = adjusted(usual)
    assert len(whole) > 5
    one_by_one = {}
    for item in items:
        one_by_one |= adjusted(relations.rules(item=item))
    assert one_by_one == whole
    every = adjusted(relations.rules(kinds=KINDS, max_p=1.0, min_lift=0.0, min_support=0, min_confidence=0.0))
    said = relations.rules(kinds=KINDS, supported=False)
    for listed in (relations.rules(kinds=("implication", "exclusion")), relations.rules(max_p=0.9), said):
        found = adjusted(listed)
        assert {names: every[names] for names in found.keys() & every.keys()} == {
            names: found[names] for names in found.keys() & every.keys()
        }
        assert found.keys() & whole.keys()
    assert all(" >= 4" in name or " < 4" in name for names in adjusted(said) for name in names)
    reasons = [
        reason for user in model.users_.ids[:40] for item in items[:3] for reason in model.explain(user, item).reasons
    ]
    assert reasons
    assert all(whole[reason.antecedent, reason.consequent] == reason.p_adjusted for reason in reasons)


def test_pairs_are_counted_once(model):
    relations = model.relations()
    n = relations.rules().n_judged
    assert n == 45
    assert relations.rules(kinds=KINDS, contrapositives=True).n_judged == n
    assert relations.rules(item="Film 1").n_judged == n
    assert relations.rules(supported=False).n_judged == n


def test_item_by_item_no_more_rules_are_found_by_chance():
    rng, false = np.random.default_rng(1), 0
    for _ in range(30):
        table = chance(rng)
        counting = Terms(table.items, table.scale, 1.0).counting(table)
        considered = np.ones(table.n_items, dtype=bool)
        false += any(len(supported_rules(counting, considered, item=item)) for item in range(table.n_items))
    # 5% of them are 1.5; more than 6 come in fewer than one of two hundred such tests.
    assert false <= 6


def test_what_is_shown_by_default(model):
    rules = model.relations().rules()
    assert set(rules.kind) == {"implication"}
    assert (rules.support >= 5).all()
    assert (rules.confidence >= 0.5).all()
    assert (rules.lift > 1.0).all()
    assert (rules.p_adjusted <= 0.05).all()
    assert (np.diff(rules.strength) <= 0).all()
    wide = model.relations().rules(min_confidence=0.0, min_lift=0.0, min_support=0)
    assert len(wide) == wide.n_found >= len(rules) == rules.n_found
    few = model.relations().rules(min_lift=1.3, max_rules=2)
    assert len(few) == 2
    assert few.n_found == len(rules)


def test_no_rule_is_told_apart_from_none_that_fits(model):
    relations, number = model.relations(), model.relations().rules().n_found
    for none in (relations.rules(min_lift=99.0), relations.rules(max_p=0.0), relations.rules()[:0]):
        assert f"{number} are supported" in str(none)
    table = chance(np.random.default_rng(2))
    other = KolmogorovModel(2, learn_from="ratings", user_reg=0.3, random_state=0).fit(table).relations()
    for none in (other.rules(), other.rules(min_lift=99.0), other.rules(kinds=KINDS)[:0]):
        assert "28 pairs" in str(none)


def test_draws_without_rules_have_none_of_any_length():
    table = chance(np.random.default_rng(2), 60, 5)
    model = BayesianKolmogorovModel(3, n_chains=2, burn_in=5, n_samples=3, random_state=0).fit(table)
    rules = model.relations().rules(max_antecedents=2)
    assert len(rules) == 0
    assert rules.probability.tolist() == []


def test_longer_rules_hold_more_often_than_what_they_contain():
    rng = np.random.default_rng(1)
    taste, loads = rng.normal(size=(3000, 2)), rng.normal(size=(2, 14))
    seen = rng.random((3000, 14)) < expit(1.5 * taste[:, :1] * rng.choice([-1, 1], size=14))
    yes = rng.random((3000, 14)) < expit(1.6 * taste @ loads)
    users, items = np.nonzero(seen)
    table = Observations.from_arrays(users, items, yes[users, items].astype(float), minimum=0, maximum=1)
    counting = Terms(table.items, table.scale, 1.0).counting(table)
    options = {"considered": np.ones(14, dtype=bool), "limits": Limits(min_confidence=0.0), "max_antecedents": 2}
    rules = supported_rules(counting, **options)
    sure = {
        (frozenset(row[row >= 0].tolist()), end): confidence
        for row, end, confidence in zip(rules.antecedents, rules.consequent.tolist(), rules.confidence, strict=True)
    }
    assert sum(len(sides) > 1 for sides, _ in sure) > 3
    for (sides, end), confidence in sure.items():
        assert all(confidence > other for (part, to), other in sure.items() if to == end and part < sides)
    about = supported_rules(counting, **options, item=4)
    assert len(about)
    assert adjusted(about) == {
        names: p for names, p in adjusted(rules).items() if "4" in [*names[0].split(" and "), names[1]]
    }


def only_yes(rng, n_users=200):
    bought = rng.random((n_users, 8)) < 0.3
    bought[:, 1] |= bought[:, 0] & (rng.random(n_users) < 0.9)
    users, items = np.nonzero(bought)
    names = np.array([f"p{i}" for i in range(8)])
    return Observations.from_arrays(users, names[items], np.ones(len(users)), minimum=0, maximum=1), bought


def test_a_blank_is_a_no_where_only_yes_is_recorded():
    table, bought = only_yes(np.random.default_rng(0))
    model = KolmogorovModel(3, unobserved=0.2, learn_from="ratings", random_state=0).fit(table)
    rules = model.relations().rules()
    assert ("p0", "p1") in adjusted(rules)
    assert "where a blank is a no" in repr(rules)
    for again in (model.relations().rules(table), rules.on(table)):
        assert list(zip(again.support, again.held, strict=True)) == list(zip(rules.support, rules.held, strict=True))
    assert adjusted(model.relations().rules(table)) == adjusted(rules)
    # Of other people, all blanks are noes; of the same, but for what they said yes to in training.
    other, theirs = only_yes(np.random.default_rng(1), 80)
    fresh = Observations.from_arrays(
        other.user_rows() + 1000, other.items.ids[other.item_rows()], np.ones(len(other)), minimum=0, maximum=1
    )
    counted = rules.on(fresh)
    met = theirs[:, 0]
    place = list(zip(*rules.names(), strict=True)).index(("p0", "p1"))
    assert (counted.support[place], counted.held[place]) == (met.sum(), theirs[met, 1].sum())
    assert counted.base_rate[place] == pytest.approx(theirs[theirs.any(axis=1), 1].mean())
    kept = np.random.default_rng(2).random(len(table)) < 0.8
    train, test = table.subset(kept), table.subset(~kept)
    model = KolmogorovModel(3, unobserved=0.2, learn_from="ratings", random_state=0).fit(train)
    rules = model.relations().rules()
    early, late = np.zeros((2, *bought.shape), dtype=bool)
    early[train.user_rows(), train.item_rows()] = True
    late[test.user_rows(), test.item_rows()] = True
    counted = rules.on(test)
    for j, i, support, held in zip(rules.antecedent, rules.consequent, counted.support, counted.held, strict=True):
        assert (support, held) == ((late[:, j] & ~early[:, i]).sum(), (late[:, j] & late[:, i]).sum())
