"""Means, biases and popularity beside a model."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.metrics import SimpleGuesses, evaluate
from kolmogorov.surface.comparison import decisive, guess_scores, log_loss, popularity_scores, verdict


def test_biases_are_those_of_the_definition():
    table = Observations.from_arrays([1, 1, 2, 3], [1, 2, 1, 2], [5, 3, 4, 1], weights=[1, 2, 1, 3], maximum=5)
    guesses = SimpleGuesses.of(table)
    weights, values = np.array([1, 2, 1, 3]), np.array([1, 0.6, 0.8, 0.2])
    mean = (weights * values).sum() / 7
    assert guesses.mean == pytest.approx(mean)
    first = (weights * (values - mean))[[0, 2]].sum() / (2 + 10)
    assert guesses.item_bias[0] == pytest.approx(first)
    rest = values - mean - guesses.item_bias[[0, 1, 0, 1]]
    assert guesses.user_bias[0] == pytest.approx((weights * rest)[:2].sum() / (3 + 15))
    assert guesses.item_bias[-1] == guesses.user_bias[-1] == 0.0


def test_packed_tables_and_other_orders_of_ids_give_the_same(zoo, tmp_path):
    train, test = zoo.split(random_state=0)
    model = km.KolmogorovModel(4, random_state=0).fit(km.pack(train, tmp_path / "t.kmt"))
    expected = guess_scores(km.KolmogorovModel(4, random_state=0).fit(train).fitted_.training, test)
    for name, scores in guess_scores(model.fitted_.training, test).items():
        assert scores == pytest.approx(expected[name])
    some = test.subset(test.user_rows() % 2 == 1)
    ids = Observations.from_arrays(
        some.users.ids[some.user_rows()], some.items.ids[some.item_rows()], some.values, maximum=1
    )
    found = guess_scores(model.fitted_.training, ids)
    assert found["item means"] == pytest.approx(guess_scores(model.fitted_.training, some)["item means"])
    guess = SimpleGuesses.of(train).at(some.user_rows(), some.item_rows())["item means"]
    assert found["item means"] == pytest.approx(
        evaluate(some.values, guess, None, 1.0, binary=True)
        | {name: found["item means"][name] for name in ("log_score", "calibration")}
    )
    assert -found["item means"]["log_score"] == pytest.approx(log_loss(some.values, guess, None))


def test_popularity_is_a_list_that_is_the_same_for_all(zoo):
    train, test = zoo.split(random_state=0)
    found = popularity_scores(train, test, 3)
    assert 0 < found["recall"] < 1
    assert found["coverage"] <= 1


def test_a_model_is_judged_by_what_its_table_holds():
    assert decisive({"recall": 0.1, "ndcg": 0.2}) == "ndcg"
    assert decisive({"rmse": 0.1, "log_loss": 0.2}) == "log_loss"
    assert decisive({"rmse": 0.1, "log_loss": 0.2, "log_score": -0.1}) == "log_score"
    assert decisive({"rmse": 0.1, "log_score": -0.1}) == "rmse"


def test_the_verdict_names_the_best_guess():
    guesses = {"item means": {"rmse": 0.2, "ndcg": 0.3}, "overall mean": {"rmse": 0.3, "ndcg": 0.1}}
    assert verdict({"rmse": 0.19, "ndcg": 0.2}, guesses, "rmse") is None
    assert "does not beat the item means: ndcg 0.2000 against 0.3000" in verdict({"ndcg": 0.2}, guesses, "ndcg")
    assert "does not beat the item means" in verdict({"rmse": 0.2}, guesses, "rmse")
