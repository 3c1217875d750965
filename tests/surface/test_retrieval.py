"""Lists of recommendations against what was held out: the definitions, and what other libraries compute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov import Observations
from kolmogorov.data.view import View
from kolmogorov.errors import UnknownIdWarning
from kolmogorov.models.metrics import Scores, SimpleGuesses, guess_scores, list_scores, verdict
from kolmogorov.models.ranking import best

NAMES = ("recall", "precision", "ndcg", "map", "mrr", "hit_rate")


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 14), st.booleans(), st.integers(0, 2))
def test_best_items_against_the_slow_twin(seed, k, n_items, tied, least):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (4, n_items)) / 7.0 if tied else rng.random((4, n_items))
    seen = rng.random((4, n_items)) < 0.3
    counts = rng.integers(0, 3, n_items)
    indptr = np.concatenate(([0], np.cumsum(seen.sum(axis=1)))).astype(np.int64)
    # What somebody was observed with need not be in order.
    indices = np.concatenate([rng.permutation(np.flatnonzero(row)) for row in seen]).astype(np.int32)
    users, scores = np.arange(5), np.vstack([scores, scores[0]])
    view = View(indptr, indices, np.ones(indices.size), np.empty(0))
    out = best(scores, users, view, counts, k, least)
    for row in range(5):
        taken = set(np.flatnonzero(seen[row])) if row < 4 else set()
        expected = naive.best_list(scores[row], taken, counts, k, least)
        assert out[row].tolist() == expected + [-1] * (min(k, n_items) - len(expected))
        assert best(scores[[row]], users[[row]], view, counts, k, least)[0].tolist() == expected


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_scores_of_lists_against_the_slow_twin(seed, k):
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(12)[:k] for _ in range(5)])
    lists[0, k // 2 :] = -1
    relevant = [rng.permutation(14)[: rng.integers(1, 6)] for _ in range(5)]
    users = np.repeat(np.arange(5), [len(mine) for mine in relevant])
    found = np.array([*list_scores(lists, users, np.concatenate(relevant)).values()]).T
    for row, mine in enumerate(relevant):
        expected = naive.list_scores([i for i in lists[row] if i >= 0], set(mine.tolist()), k)
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


@pytest.fixture(scope="module")
def halves():
    table = km.datasets.load("planted", n_users=70, n_items=50, n_events=4, n_observations=1600, noise=0.2)
    return table.split(0.3, random_state=0)


MODELS = {
    "kolmogorov": lambda: km.KolmogorovModel(3, random_state=0),
    "ratings": lambda: km.KolmogorovModel(3, learn_from="ratings", random_state=0),
    "draws": lambda: km.BayesianKolmogorovModel(3, n_chains=1, burn_in=5, n_samples=4, random_state=0),
}


def by_hand(model, train, test, k, likes):
    """Every score by the definitions, user by user."""
    counts = np.bincount(train.item_rows(), minlength=train.n_items)
    rows, lists = [], []
    for user in range(train.n_users):
        mine = test.user_rows() == user
        relevant = set(test.item_rows()[mine & (test.values >= likes)].tolist())
        if not relevant:
            continue
        seen = set(train.item_rows()[train.user_rows() == user].tolist())
        listed = naive.best_list(model.fitted_.of_users(np.array([user]))[0], seen, counts, k)
        rows.append(naive.list_scores(listed, relevant, k))
        lists += listed
    scores = dict(zip(NAMES, np.mean(rows, axis=0), strict=True))
    return scores | {"coverage": len(set(lists)) / train.n_items, "mean_popularity": counts[lists].mean()}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_scored_by_the_definitions(name, halves):
    train, test = halves
    model = MODELS[name]().fit(train)
    found = model.evaluate(test, ranking=True, k=7, likes=0.5)
    assert list(found) == [*NAMES, "coverage", "mean_popularity"]
    assert found == pytest.approx(by_hand(model, train, test, 7, 0.5))


def test_unknown_items_are_missed_and_unknown_users_get_what_everybody_gets(halves):
    train, _ = halves
    model = km.KolmogorovModel(4, random_state=0).fit(train)
    item = int(train.items.ids[np.argmax(model.fitted_.of_users(np.array([train.n_users]))[0])])
    strange = Observations.from_arrays([9999, 9999], [item, 8888], [1, 1])
    with pytest.warns(UnknownIdWarning, match="1 unknown user .* and 1 unknown item"):
        found = model.evaluate(strange, ranking=True)
    assert found["recall"] == 0.5
    assert found["hit_rate"] == 1.0


# --- means, biases and popularity beside a model -----------------------------------------------------------------


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
    expected = guess_scores(train, test)
    for name, scores in guess_scores(km.pack(train, tmp_path / "t"), test).items():
        assert scores == pytest.approx(expected[name])
    some = test.subset(test.user_rows() % 2 == 1)
    ids = Observations.from_arrays(
        some.users.ids[some.user_rows()], some.items.ids[some.item_rows()], some.values, maximum=1
    )
    found = guess_scores(train, ids)["item means"]
    guess = SimpleGuesses.of(train).at(some.user_rows(), some.item_rows())["item means"]
    expected = Scores(1.0, binary=True).add(some.values, guess).result()
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_the_verdict_names_the_best_guess():
    guesses = {"item means": {"rmse": 0.2, "ndcg": 0.3}, "overall mean": {"rmse": 0.3, "ndcg": 0.1}}
    assert verdict({"rmse": 0.19, "ndcg": 0.2}, guesses, "rmse") is None
    assert "does not beat the item means: ndcg 0.2000 against 0.3000" in verdict({"ndcg": 0.2}, guesses, "ndcg")
    assert "does not beat the item means" in verdict({"rmse": 0.2}, guesses, "rmse")
