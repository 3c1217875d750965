"""Rules are a sequence, counted as by hand on any data, and read the same from one model or from draws."""

import pickle

import numpy as np
import pytest
from hypothesis import given

import naive
from helpers.strategies import tables
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, datasets
from kolmogorov.errors import DataError, ParameterError, UnknownIdError
from kolmogorov.interpret import Relations, Rule, Rules

KINDS = ("implication", "equivalence", "exclusion", "coverage")


@pytest.fixture(scope="module")
def split(zoo):
    return zoo.split(test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(split):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(split[0])


@pytest.fixture(scope="module")
def rules(model):
    return model.relations().rules(kinds=KINDS, contrapositives=True, supported=False, max_rules=None)


@pytest.fixture(scope="module")
def drawn(split):
    model = BayesianKolmogorovModel(4, psi="binary", n_chains=2, burn_in=10, n_samples=5, random_state=0)
    return model.fit(split[0])


def check_by_hand(rules, observations, likes):
    assert len(rules)
    for k, rule in enumerate(rules):
        signs = rules.antecedent_yes[k], rules.consequent_yes[k]
        square = naive.contingency(observations, rules.antecedent[k], rules.consequent[k], likes)
        square = square[:: 1 if signs[0] else -1, :: 1 if signs[1] else -1]
        said = observations.values[observations.item_rows() == rules.consequent[k]] >= likes
        base = (said == signs[1]).mean() if len(said) else np.nan
        assert (rule.support, rule.held) == (square[1].sum(), square[1, 1])
        assert rule.base_rate == pytest.approx(base, nan_ok=True)
        assert rules.confidence[k] == pytest.approx(rule.confidence, nan_ok=True)
        if rule.support and base > 0:
            assert rule.confidence == pytest.approx(rule.held / rule.support)
            assert rule.lift == pytest.approx(rule.confidence / base)
            assert rules.lift[k] == pytest.approx(rule.lift)


@pytest.mark.parametrize("name", ["toy", "zoo"])
def test_rules_are_counted_as_by_hand(name):
    table = datasets.load(name)
    train, test = table.split(test_size=0.3, random_state=0)
    model = KolmogorovModel(3, learn_from="ratings", user_reg=0.3, random_state=0).fit(train)
    rules = model.relations(trivial=True).rules(
        kinds=KINDS, contrapositives=True, likes=0.5, supported=False, min_support=0, max_rules=None
    )
    check_by_hand(rules, train, 0.5)
    check_by_hand(rules.on(test), test, 0.5)


@given(tables(weighted=False, trainable=True), tables(weighted=False, trainable=True))
def test_counting_again_keeps_the_order(train, other):
    model = KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=3, n_jobs=1).fit(train)
    rules = model.relations(trivial=True).rules(
        kinds=KINDS, contrapositives=True, likes=0.6, supported=False, min_support=0, max_rules=None
    )
    again = rules.on(other)
    assert again.names() == rules.names()
    assert (again.kind == rules.kind).all()
    assert again.n_judged == len(rules)
    shared = {i: k for k, i in enumerate(other.items.ids.tolist())}
    ids = train.items.ids.tolist()
    for k, rule in enumerate(again):
        sides = shared.get(ids[rules.antecedent[k]]), shared.get(ids[rules.consequent[k]])
        if None in sides:
            assert rule.support == 0
            continue
        square = naive.contingency(other, *sides, 0.6)
        square = square[:: 1 if rules.antecedent_yes[k] else -1, :: 1 if rules.consequent_yes[k] else -1]
        assert (rule.support, rule.held) == (square[1].sum(), square[1, 1])


def test_rules_are_a_sequence(rules):
    n = len(rules)
    assert [str(rule) for rule in rules] == [str(rules[k]) for k in range(n)]
    assert rules[-1] == rules[n - 1] == list(rules)[-1]
    assert isinstance(rules[0], Rule)
    assert rules[0] in rules
    assert rules.index(rules[3]) == 3
    for part, expected in (
        (rules[2:7], range(2, 7)),
        (rules[::-1], range(n - 1, -1, -1)),
        (rules[[4, 1]], [4, 1]),
        (rules[np.array([0, 0])], [0, 0]),
        (rules[rules.kind == "exclusion"], np.flatnonzero(rules.kind == "exclusion")),
        (rules[:0], []),
    ):
        assert isinstance(part, Rules)
        assert list(part) == [rules[int(k)] for k in expected]
    for place in (n, -n - 1):
        with pytest.raises(IndexError, match=f"There are {n} rules, and none at place {place}"):
            rules[place]
    best = rules.strongest(5)
    assert len(best) == 5
    assert (np.diff(best.strength) <= 0).all()
    assert best.strength[0] == np.nanmax(rules.strength)
    assert len(rules.strongest()) == n


def test_totals_are_those_of_all_cases(rules):
    some = rules[rules.support > 0]
    totals = rules.totals()
    assert totals["rules"] == len(rules)
    assert totals["pairs"] == sum(rule.support for rule in rules)
    assert totals["confidence"] == pytest.approx(sum(rule.held for rule in rules) / totals["pairs"])
    assert totals["base_rate"] == pytest.approx(np.average(some.base_rate, weights=some.support))
    assert totals["lift"] == pytest.approx(totals["confidence"] / totals["base_rate"])
    assert all(np.isnan(rules[:0].totals()[name]) for name in ("confidence", "base_rate", "lift"))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames(rules, backend):
    pytest.importorskip(backend, reason=f"the frame is {backend}'s")
    frame = rules.to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    columns = frame.to_pydict() if backend == "pyarrow" else {name: frame[name].to_list() for name in frame.columns}
    assert columns["antecedents"] == [rule.antecedent for rule in rules]
    assert columns["held"] == [rule.held for rule in rules]
    np.testing.assert_allclose(columns["lift"], rules.lift)
    assert "probability" not in columns


def test_words(rules):
    milk = Rule(kind="implication", antecedent="milk", consequent="backbone", support=31, held=31, base_rate=0.83)
    assert str(milk) == "milk ⇒ backbone (held for 31 of 31; of all, 83%)"
    unmet = Rule(kind="exclusion", antecedent="a\x1b", consequent="not b", support=0, held=0, base_rate=float("nan"))
    assert str(unmet) == "a\\x1b ⇒ not b (not met)"
    assert np.isnan(unmet.confidence)
    assert f"{rules.strongest(1)[0]}\n" in repr(rules)
    lines = str(rules[:4]).splitlines()
    assert len(lines) == 5
    assert all(
        rule.antecedent in line and rule.consequent in line for rule, line in zip(rules, lines[1:], strict=False)
    )


def test_rules_keep_no_data(rules):
    assert len(pickle.dumps(rules)) < 40_000 + 110 * len(rules)
    again = pickle.loads(pickle.dumps(rules))
    assert list(again) == list(rules)


def test_draws_give_rules_with_the_share_that_holds_them(drawn, split):
    relations = drawn.relations()
    assert isinstance(relations, Relations)
    rules = relations.rules(supported=False, min_probability=0.3, min_support=0, max_rules=None)
    assert isinstance(rules, Rules)
    for rule, j, i in zip(rules, rules.antecedent, rules.consequent, strict=True):
        share = naive.inside_share(drawn.posterior_.psi, j, i, 0.5)
        assert rule.probability == pytest.approx(share)
        assert share >= 0.3
    assert (np.diff(rules.probability) <= 0).all()
    check_by_hand(rules, split[0], 1.0)
    counted = rules.on(split[1])
    np.testing.assert_array_equal(counted.probability, rules.probability)
    check_by_hand(counted, split[1], 1.0)
    assert next(iter(rules.to_frame("pandas").columns)) == "probability"
    assert str(rules).startswith("probability")
    assert "(probability" in str(rules[0])
    assert ">=" not in str(rules)
    milk = relations.rules(supported=False, min_probability=0.0, item="milk", max_rules=2)
    assert len(milk) == 2
    assert all("milk" in f"{rule.antecedent} {rule.consequent}" for rule in milk)
    every = relations.rules(supported=False, min_probability=0.0, min_support=0, max_rules=None)
    limited = relations.rules(supported=False, min_probability=0.0, min_support=3, min_confidence=0.8, min_lift=1.1)
    assert 0 < len(limited) < len(every)
    assert all(rule.support >= 3 and rule.confidence >= 0.8 and rule.lift >= 1.1 for rule in limited)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_probability": 2}, "'min_probability' must be a number from 0 to 1 or None, got 2"),
        ({"likes": True}, "on the probability scale, or None, got True|above 0 and at most 1"),
        ({"item": "wings"}, "no item 'wings'"),
        ({"max_rules": 0}, "'max_rules' must be an integer >= 1 or None, got 0"),
        ({"observations": [[1, 0]]}, "Rules are counted on Observations, got list"),
    ],
)
def test_wrong_requests_to_draws_are_told(drawn, options, words):
    with pytest.raises(UnknownIdError if "item" in options else (ParameterError, DataError), match=words):
        drawn.relations().rules(**options)


def test_probabilities_of_what_is_not_there_are_told(drawn):
    relations = drawn.relations()
    with pytest.raises(UnknownIdError, match="no item 'wings'"):
        relations.probability("milk", "wings")
    with pytest.raises(ParameterError, match="'kind' must be one of"):
        relations.probability("milk", "eggs", "causation")


def test_rules_are_counted_on_something(rules):
    with pytest.raises(DataError, match="Rules are counted on Observations, got NoneType"):
        rules.on(None)
    nothing = Observations.from_arrays([1], [2], [1.0]).subset(np.array([False]))
    with pytest.raises(DataError, match="nothing to count rules on"):
        rules.on(nothing)


def test_ratings_on_another_scale_are_the_same_ratings():
    stars = Observations.from_arrays(list("aabbcc"), list("xyxyxy"), [5, 4, 1, 2, 5, 5], maximum=5)
    model = KolmogorovModel(2, random_state=0).fit(stars)
    rules = model.relations(trivial=True).rules(kinds=KINDS, supported=False, min_support=0)
    wide = Observations.from_arrays(list("aabbcc"), list("xyxyxy"), [5, 4, 1, 2, 5, 5], maximum=10)
    again = rules.on(wide)
    np.testing.assert_array_equal(again.support, rules.support)
    np.testing.assert_array_equal(again.held, rules.held)


def test_a_model_of_liking_is_one_of_yes_and_no():
    rng = np.random.default_rng(0)
    stars = np.clip(np.rint(rng.normal(3.2, 0.7, (60, 1)) + rng.normal(0, 1, (60, 8))), 1, 5)
    model = KolmogorovModel(3, random_state=0).fit(Observations.from_dense(stars, maximum=5))
    liking = model.liking(0.8)
    assert liking.fitted_.training.is_binary
    np.testing.assert_array_equal(liking.fitted_.training.values.reshape(60, 8), stars >= 4)
    assert liking.fitted_.n_events == 3
    rules = liking.relations().rules(supported=False)
    assert all(">=" not in name for name in rules.names()[0])
    assert liking.liking() is liking
    with pytest.raises(ParameterError, match="likes"):
        model.liking(2.0)
