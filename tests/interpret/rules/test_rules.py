"""Rules are a sequence of sentences, counted as by hand on any data; a model's are those that data confirm, too."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from scipy.special import expit

import naive
from helpers.strategies import tables
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, associations
from kolmogorov.errors import DataError, ParameterError, UnknownIdError
from kolmogorov.interpret import Rule, Rules
from kolmogorov.interpret.counting import FLAGS


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


def test_a_models_rules_are_stated_confirmed_and_counted(model, rules, split):
    relations = model.relations()
    stated = {kind: set(map(tuple, relations.pairs(kind).tolist())) for kind in relations.counts}
    for kind, j, i in zip(rules.kind, rules.antecedent.tolist(), rules.consequent.tolist(), strict=True):
        assert (j, i) in stated[kind] or (kind != "implication" and (i, j) in stated[kind])
    assert {"implication", "exclusion"} <= set(rules.kind)
    assert (rules.p_adjusted <= 0.05).all()
    assert (rules.lift > 1.0).all()
    assert (rules.confidence >= 0.5).all()
    # 101 animals: a tenth of them.
    assert (rules.support >= 10).all()
    assert (np.diff(rules.strength) <= 0).all()
    # A pair has the same p-value whether a model is asked or not.
    sure = dict(zip(zip(*associations(split[0]).names(), strict=True), associations(split[0]).p_adjusted, strict=True))
    assert any(sure.get((rule.antecedent, rule.consequent)) == rule.p_adjusted for rule in rules)
    check_by_hand(rules, split[0])
    check_by_hand(rules.on(split[1]), split[1])
    elsewhere = model.rules(split[1])
    assert all(j in rules.terms.items.ids for j in elsewhere.names()[0])


def test_large_tables_need_twenty_cases():
    rng = np.random.default_rng(0)
    readiness = rng.normal(0, 1.5, (400, 1))
    table = Observations.from_dense(
        (rng.random((400, 12)) < expit(3 * readiness * rng.choice([-1, 1], 12))).astype(float)
    )
    for rules in (associations(table), KolmogorovModel(3, random_state=0).fit(table).rules()):
        assert len(rules)
        assert (rules.support >= 20).all()


def test_draws_are_read_through_their_one_model(split):
    model = BayesianKolmogorovModel(4, n_chains=2, burn_in=60, n_samples=40, random_state=0)
    drawn = model.fit(split[0])
    check_by_hand(drawn.rules(), split[0])


@given(tables(weighted=False, trainable=True), tables(weighted=False, trainable=True))
def test_counting_again_keeps_the_order(train, other):
    model = KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=3, n_jobs=1).fit(train)
    rules = model.relations(likes=0.6).counted(kind="exclusion")
    again = rules.on(other)
    assert again.names() == rules.names()
    assert again.n_judged == len(rules)
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
        (rules[::-1], range(n - 1, -1, -1)),
        (rules[[4, 1]], [4, 1]),
        (rules[rules.kind == "exclusion"], np.flatnonzero(rules.kind == "exclusion")),
        (rules[:0], []),
    ):
        assert isinstance(part, Rules)
        assert list(part) == [rules[int(k)] for k in expected]
    for place in (n, -n - 1):
        with pytest.raises(IndexError, match=f"There are {n} rules, and none at place {place}"):
            rules[place]
    assert [str(rule) for rule in rules.strongest(5)] == rules[:5].sentences()
    milk = rules.about("milk")
    assert 0 < len(milk) < n
    assert all("milk" in (rule.antecedent, rule.consequent) for rule in milk)
    with pytest.raises(UnknownIdError, match=r"no item 'mlik'. Did you mean 'milk'"):
        rules.about("mlik")


def test_totals_are_those_of_all_cases(rules):
    totals = rules.totals()
    assert totals["pairs"] == sum(rule.support for rule in rules)
    assert totals["confidence"] == pytest.approx(sum(rule.held for rule in rules) / totals["pairs"])
    assert totals["base_rate"] == pytest.approx(np.average(rules.base_rate, weights=rules.support))
    assert totals["lift"] == pytest.approx(totals["confidence"] / totals["base_rate"])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames(rules, backend):
    pytest.importorskip(backend, reason=f"the frame is {backend}'s")
    frame = rules.to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    columns = frame.to_pydict() if backend == "pyarrow" else {name: frame[name].to_list() for name in frame.columns}
    assert columns["held"] == [rule.held for rule in rules]
    for rule, left, right in zip(rules, columns["antecedents"], columns["consequents"], strict=True):
        assert (left, right) == (
            ("not " if rule.kind == "coverage" else "") + rule.antecedent,
            ("not " if rule.kind == "exclusion" else "") + rule.consequent,
        )


def test_words(rules):
    facts = {"antecedent": "Terminator 2", "consequent": "The Terminator", "support": 125, "held": 112}
    films = Rule(kind="implication", **facts, base_rate=0.7, p_adjusted=2e-5, rated=True)
    assert str(films) == "Who likes Terminator 2 likes The Terminator: 112 of 125; of everybody 70%."
    assert films.reasons == "the model: implication; the data: p = 2e-05"
    assert str(Rule(kind="coverage", **facts, base_rate=0.7)).startswith("Who says no to Terminator 2 says yes to ")
    unmet = Rule(kind="exclusion", antecedent="a\x1b", consequent="b", support=0, held=0, base_rate=float("nan"))
    assert str(unmet) == "Who says yes to a\\x1b says no to b: not met."
    assert np.isnan(unmet.confidence)
    assert f"{rules[0]}\n" in repr(rules)
    assert str(rules[:4]).splitlines() == rules[:4].sentences()


def test_what_was_held_out_is_said_of_twenty_cases(zoo, model):
    often = zoo.subset(np.ones(len(zoo), dtype=bool))
    rules = model.rules()
    said = rules.sentences(rules.on(often))
    met = rules.on(often).support >= 20
    assert met.any()
    assert not met.all()
    assert ["; held out " in sentence for sentence in said] == met.tolist()


def test_ratings_say_what_a_like_is():
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(300, 1)) * rng.choice([-1, 1], 8)
    stars = np.clip(np.rint(3.2 + taste + 0.5 * rng.normal(size=(300, 8))), 1, 5)
    model = KolmogorovModel(3, random_state=0).fit(Observations.from_dense(stars, maximum=5))
    rules = model.rules()
    assert len(rules)
    assert str(rules[0]).startswith("Who likes ")
    assert "to like is at least 4" in repr(rules)
    assert set(rules.to_frame()["like_at_least"]) == {4.0}
    assert "to like is at least 5" in repr(model.rules(likes=1.0)) or not len(model.rules(likes=1.0))
    # Ratings on another scale are the same ratings.
    again = rules.on(Observations.from_dense(stars, maximum=10))
    assert again.held.tolist() == rules.held.tolist()


def test_rules_keep_no_data(rules):
    again = pickle.loads(pickle.dumps(rules))
    assert len(pickle.dumps(rules)) < 40_000 + 110 * len(rules)
    assert list(again) == list(rules)


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


def test_a_model_of_liking_is_one_of_yes_and_no():
    rng = np.random.default_rng(0)
    stars = np.clip(np.rint(rng.normal(3.2, 0.7, (60, 1)) + rng.normal(0, 1, (60, 8))), 1, 5)
    model = KolmogorovModel(3, random_state=0).fit(Observations.from_dense(stars, maximum=5))
    liking = model.liking(0.8)
    assert liking.fitted_.training.is_binary
    np.testing.assert_array_equal(liking.fitted_.training.values.reshape(60, 8), stars >= 4)
    assert liking.fitted_.n_events == 3
    assert liking.liking() is liking
    with pytest.raises(ParameterError, match="likes"):
        model.liking(2.0)


def only_yes(rng, n_users=200):
    bought = rng.random((n_users, 8)) < 0.3
    bought[:, 1] |= bought[:, 0] & (rng.random(n_users) < 0.9)
    users, items = np.nonzero(bought)
    names = np.array([f"p{i}" for i in range(8)])
    return Observations.from_arrays(users, names[items], np.ones(len(users)), minimum=0, maximum=1), bought


def test_a_blank_is_a_no_where_only_yes_is_recorded():
    table, bought = only_yes(np.random.default_rng(0))
    rules = associations(table)
    assert rules.names()[0][0], rules.names()[1][0] == ("p0", "p1")
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
