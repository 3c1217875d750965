"""Rules are a sequence of sentences, counted as by hand on any data; a model states its own, and data confirm them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from helpers.strategies import tables
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, associations
from kolmogorov.errors import DataError, ParameterError, UnknownIdError
from kolmogorov.interpret import Rule, Rules
from kolmogorov.interpret.rules import FLAGS, basis_of


@pytest.fixture(scope="module")
def split(zoo):
    return zoo.split(test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(split):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(split[0])


@pytest.fixture(scope="module")
def rules(model):
    return model.rules()


def check_by_hand(rules, observations, likes=1.0):
    assert len(rules)
    for k, rule in enumerate(rules):
        signs = [1 if so else -1 for so in FLAGS[rules.code[k]]]
        square = naive.contingency(observations, rules.antecedent[k], rules.consequent[k], likes)
        square = square[:: signs[0], :: signs[1]]
        said = observations.values[observations.item_rows() == rules.consequent[k]] >= likes
        base = (said == (signs[1] == 1)).mean() if len(said) else np.nan
        assert (rule.support, rule.held) == (square[1].sum(), square[1, 1])
        assert rule.base_rate == pytest.approx(base, nan_ok=True)
        assert rules.confidence[k] == pytest.approx(rule.confidence, nan_ok=True)
        assert rules.lift[k] == pytest.approx(rule.lift, nan_ok=True)


def check_stated(rules, model, kinds):
    """Whoever is likely to have the antecedents is predicted the consequent more often than everybody."""
    predicted = model.theta_ @ model.psi_.T
    for k, kind in enumerate(rules.kind):
        first, then = kinds[kind]
        given = predicted[:, [i for i in rules.antecedents[k] if i >= 0]]
        given = (given if first else 1 - given).prod(axis=1)
        so = predicted[:, rules.consequent[k]] if then else 1 - predicted[:, rules.consequent[k]]
        assert rules.model_lift[k] == pytest.approx((given * so).mean() / given.mean() / so.mean())
    assert (rules.model_lift > 1.0).all()


def test_a_models_rules_are_stated_confirmed_and_counted(model, rules, split):
    kinds = {"implication": (True, True), "exclusion": (True, False), "coverage": (False, True)}
    check_stated(rules, model, kinds)
    assert set(rules.kind) == set(kinds)
    assert (rules.p_adjusted <= 0.05).all()
    assert (rules.lift > 1.0).all()
    assert (rules.confidence >= 0.5).all()
    # 101 animals: a tenth of them.
    assert (rules.support >= 10).all()
    assert (np.diff(rules.strength) <= 0).all()
    # Of two items one rule is listed.
    pairs = np.sort(np.column_stack([rules.antecedent, rules.consequent]), axis=1)
    assert len(np.unique(pairs, axis=0)) == len(rules)
    # A model's rules are said of pairs that go together and of pairs that go apart: twice as many tests.
    alone = {frozenset(pair) for pair in zip(*associations(split[0]).names(), strict=True)}
    together = rules[rules.kind == "implication"]
    assert {frozenset(pair) for pair in zip(*together.names(), strict=True)} <= alone
    check_by_hand(rules, split[0])
    check_by_hand(rules.on(split[1]), split[1])
    np.testing.assert_array_equal(rules.on(split[1]).p_adjusted, rules.p_adjusted)
    long = model.rules(max_antecedents=3)
    long = long[long.antecedents[:, 1] >= 0]
    assert len(long)
    check_stated(long, model, kinds)


def test_draws_are_read_through_their_one_model(split):
    model = BayesianKolmogorovModel(4, n_chains=2, burn_in=60, n_samples=40, random_state=0)
    check_by_hand(model.fit(split[0]).rules(), split[0])


def test_large_tables_need_twenty_cases():
    rng = np.random.default_rng(0)
    kind = rng.random((400, 2)) < 0.3
    table = Observations.from_dense((rng.random((400, 12)) < np.repeat(np.where(kind, 0.9, 0.2), 6, axis=1)) * 1.0)
    for rules in (associations(table), KolmogorovModel(3, learn_from="ratings", user_reg=0.1).fit(table).rules()):
        assert len(rules)
        assert (rules.support >= 20).all()


@given(tables(weighted=False, trainable=True), tables(weighted=False, trainable=True))
def test_counting_again_keeps_the_order(train, other):
    model = KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=3, n_jobs=1).fit(train)
    rules = model.relations(likes=0.6).counted(kind="exclusion")
    again = rules.on(other)
    assert again.names() == rules.names()
    shared = {i: k for k, i in enumerate(other.items.ids.tolist())}
    ids = train.items.ids.tolist()
    for k, rule in enumerate(again):
        sides = shared.get(ids[rules.antecedent[k]]), shared.get(ids[rules.consequent[k]])
        square = np.zeros((2, 2)) if None in sides else naive.contingency(other, *sides, 0.6)[:, ::-1]
        assert (rule.support, rule.held) == (square[1].sum(), square[1, 1])


def test_rules_are_a_sequence(rules):
    n = len(rules)
    assert rules[-1] == rules[n - 1] == list(rules)[-1]
    assert isinstance(rules[0], Rule)
    assert rules[0] in rules
    assert rules.index(rules[3]) == 3
    for part, expected in (
        (rules[2:7], range(2, 7)),
        (rules[[4, 1]], [4, 1]),
        (rules[rules.kind == "exclusion"], np.flatnonzero(rules.kind == "exclusion")),
        (rules[:0], []),
    ):
        assert isinstance(part, Rules)
        assert list(part) == [rules[int(k)] for k in expected]
    with pytest.raises(IndexError, match=f"There are {n} rules, and none at place {n}"):
        rules[n]
    assert list(pickle.loads(pickle.dumps(rules))) == list(rules)
    milk = rules.about("milk")
    assert len(milk)
    assert all("milk" in (rule.antecedent, rule.consequent) for rule in milk)
    with pytest.raises(UnknownIdError, match=r"no item 'mlik'. Did you mean 'milk'"):
        rules.about("mlik")


def test_totals_are_those_of_all_cases(rules):
    totals = rules.totals()
    assert totals["pairs"] == sum(rule.support for rule in rules)
    assert totals["confidence"] == pytest.approx(sum(rule.held for rule in rules) / totals["pairs"])
    assert totals["base_rate"] == pytest.approx(np.average(rules.base_rate, weights=rules.support))
    assert totals["lift"] == pytest.approx(totals["confidence"] / totals["base_rate"])


def test_frames(rules):
    frame = rules.to_frame("pandas")
    assert frame["held"].tolist() == [rule.held for rule in rules]
    for rule, left, right in zip(rules, frame["antecedents"], frame["consequents"], strict=True):
        assert left == ("not " if rule.kind == "coverage" else "") + rule.antecedent
        assert right == ("not " if rule.kind == "exclusion" else "") + rule.consequent


def test_words(zoo, model, rules):
    facts = {"antecedent": "Terminator 2", "consequent": "The Terminator", "support": 125, "held": 112}
    films = Rule(kind="implication", **facts, base_rate=0.7, model_lift=1.214, p_adjusted=2e-5, rated=True)
    assert str(films) == "Who likes Terminator 2 likes The Terminator: 112 of 125; of everybody 70%."
    assert films.reasons == "the model: 1.21 times as often; the data: p = 2e-05"
    assert str(Rule(kind="coverage", **facts, base_rate=0.7)).startswith("Who says no to Terminator 2 says yes to ")
    unmet = Rule(kind="exclusion", antecedent="a\x1b", consequent="b", support=0, held=0, base_rate=float("nan"))
    assert str(unmet) == "Who says yes to a\\x1b says no to b: not met."
    assert np.isnan(unmet.confidence)
    assert f"{rules[0]}\n" in repr(rules)
    assert str(rules[:4]).splitlines() == rules[:4].sentences()
    # What was held out is said of twenty cases.
    again = rules.on(zoo)
    said = rules.sentences(again)
    assert 0 < (again.support >= 20).sum() < len(again)
    assert ["; held out " in sentence for sentence in said] == (again.support >= 20).tolist()


def test_items_of_one_title_have_their_ids_beside_it():
    rng = np.random.default_rng(0)
    yes = np.repeat(rng.random((300, 3)) < 0.5, 2, axis=1) ^ (rng.random((300, 6)) < 0.05)
    table = Observations.from_dense(yes * 1.0).with_titles(items={k: f"Emma {k // 2}" for k in range(6)})
    rules = associations(table)
    assert {frozenset(pair) for pair in zip(*rules.names(), strict=True)} >= {frozenset(("Emma 0 [0]", "Emma 0 [1]"))}


def test_ratings_say_what_a_like_is():
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(300, 1)) * rng.choice([-1, 1], 8)
    stars = np.clip(np.rint(3.2 + taste + 0.5 * rng.normal(size=(300, 8))), 1, 5)
    model = KolmogorovModel(3, random_state=0).fit(Observations.from_dense(stars, maximum=5))
    rules = model.rules()
    assert str(rules[0]).startswith("Who likes ")
    assert "to like is at least 4" in repr(rules)
    assert set(rules.to_frame()["like_at_least"]) == {4.0}
    # Ratings on another scale are the same ratings.
    again = rules.on(Observations.from_dense(stars, maximum=10))
    assert again.held.tolist() == rules.held.tolist()
    liking = model.liking(0.8)
    assert liking.fitted_.training.is_binary
    np.testing.assert_array_equal(liking.fitted_.training.values.reshape(300, 8), stars >= 4)
    assert liking.liking() is liking


def test_wrong_requests_are_told(model, rules, zoo):
    with pytest.raises(DataError, match="Rules are counted on Observations, got NoneType"):
        rules.on(None)
    with pytest.raises(DataError, match="associations takes Observations, got list"):
        associations([[1, 0]])
    with pytest.raises(DataError, match="nothing to count rules on"):
        rules.on(zoo.subset(np.zeros(len(zoo), dtype=bool)))
    for function in (model.rules, lambda **options: associations(zoo, **options)):
        with pytest.raises(ParameterError, match="'max_antecedents' must be an integer >= 1 and <= 3"):
            function(max_antecedents=4)
        with pytest.raises(ParameterError, match="on the probability scale"):
            function(likes=True)


def only_yes(rng, n_users=200):
    bought = rng.random((n_users, 8)) < 0.3
    bought[:, 1] |= bought[:, 0] & (rng.random(n_users) < 0.9)
    users, items = np.nonzero(bought)
    names = np.array([f"p{i}" for i in range(8)])
    return Observations.from_arrays(users, names[items], np.ones(len(users)), minimum=0, maximum=1), bought


def test_a_blank_is_a_no_where_only_yes_is_recorded():
    table, bought = only_yes(np.random.default_rng(0))
    rules = associations(table)
    assert (rules[0].antecedent, rules[0].consequent) == ("p0", "p1")
    assert "where a blank is a no" in repr(rules)
    np.testing.assert_array_equal(rules.on(table).support, rules.support)
    # Of other people, all blanks are noes; of the same, but for what they said yes to in training.
    other, theirs = only_yes(np.random.default_rng(1), 80)
    fresh = Observations.from_arrays(
        other.user_rows() + 1000, other.items.ids[other.item_rows()], np.ones(len(other)), minimum=0, maximum=1
    )
    counted = rules.on(fresh)
    met = theirs[:, 0]
    assert (counted.support[0], counted.held[0]) == (met.sum(), theirs[met, 1].sum())
    assert counted.base_rate[0] == pytest.approx(theirs[theirs.any(axis=1), 1].mean())
    kept = np.random.default_rng(2).random(len(table)) < 0.8
    train, test = table.subset(kept), table.subset(~kept)
    rules = associations(train)
    early, late = np.zeros((2, *bought.shape), dtype=bool)
    early[train.user_rows(), train.item_rows()] = True
    late[test.user_rows(), test.item_rows()] = True
    counted = rules.on(test)
    for j, i, support, held in zip(rules.antecedent, rules.consequent, counted.support, counted.held, strict=True):
        assert (support, held) == ((late[:, j] & ~early[:, i]).sum(), (late[:, j] & late[:, i]).sum())


# --- short lists from which the others follow -------------------------------------------------------------------------


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
