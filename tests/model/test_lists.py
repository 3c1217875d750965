"""Lists for tables in which only yes is recorded."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import kolmogorov as km
from helpers.forgery import forged
from kolmogorov.errors import DataError, FileFormatError, ParameterError, UnknownIdError


def bought(n_users=300, n_games=25, seed=0):
    """Games, and an extension of each that most of its owners buy."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 3, n_users)[:, None] == np.arange(n_games) % 3
    games = rng.random((n_users, n_games)) < 0.08 + 0.2 * taste
    extensions = games & (rng.random(games.shape) < 0.6)
    users, items = np.nonzero(np.hstack([games, extensions]))
    names = np.array([f"game {i}" for i in range(n_games)] + [f"more of {i}" for i in range(n_games)])
    return km.Observations.from_arrays(users, names[items], np.ones(users.size))


@pytest.fixture(scope="module")
def parts():
    return bought().split(0.2, by="user", random_state=1)


@pytest.fixture(scope="module")
def model(parts):
    return km.ListModel(4, random_state=0).fit(parts[0])


def test_lists_beat_events_alone(model, parts):
    train, test = parts
    found = model.evaluate(test)["ndcg"]
    events = km.KolmogorovModel(4, psi="soft", unobserved="auto", random_state=0).fit(train)
    assert found > 1.3 * events.evaluate(test, ranking=True)["ndcg"]
    assert "rmse" in model.evaluate(test, ranking=False)


def test_an_extension_follows_from_its_game(model):
    named = model.with_titles(items={"game 7": "Chess"})
    assert named.recommend(guest={"Chess": 1}, n=1)["item"].tolist() == ["more of 7"]
    assert named.explain(item="more of 7", guest={"Chess": 1}).items[0].name == "Chess"
    similar = model.similar_items("game 7", n=1)
    assert similar["item"].tolist() == ["more of 7"]
    assert similar["similarity"].between(0, 1).all()


def test_a_score_is_the_balance_of_links_and_events(model, parts):
    fitted, train = model.fitted_, parts[0]
    dense = np.zeros((train.n_users, train.n_items))
    dense[train.user_rows(), train.item_rows()] = 1.0
    balance = model.settings_.balance
    expected = (1 - balance) * dense @ fitted.links.weights + balance * model.theta_ @ model.psi_.T
    assert np.allclose(fitted.of_users(np.arange(train.n_users)), expected)
    users, items = np.array([0, 5, 9]), np.array([3, 0, 20])
    said = model.predict(train.users.ids[users], train.items.ids[items])
    assert np.allclose(said, np.clip(expected[users, items], 0, 1))
    listed = model.recommend(train.users.ids[5], n=4)
    assert list(listed) == ["item", "score", "count"]
    assert np.allclose(listed["score"].clip(0, 1), model.predict(train.users.ids[5], listed["item"].to_numpy()))
    assert not set(listed["item"]) & set(train.items.ids[train.item_rows()[train.user_rows() == 5]])


def test_an_explanation_adds_up(model, parts):
    train = parts[0]
    for at, user in enumerate(train.users.ids[:5].tolist()):
        item = model.recommend(user, n=1)["item"].iloc[0]
        why = model.explain(user, item)
        row = model.fitted_.of_users(model.users_.encode([user]))[0, model.items_.encode([item])]
        assert why.score == pytest.approx(row[0], abs=1e-9)
        assert sum(amount for _, amount in why.steps) == pytest.approx(why.score, abs=1e-9)
        assert sum(why.columns()["amount"]) == pytest.approx(why.score, abs=1e-9)
        assert {part.item for part in why.items} == set(train.items.ids[train.item_rows()[train.user_rows() == at]])
    assert "because of game" in str(model.explain(item="more of 3", guest={"game 3": 1}))
    assert "score" in why._repr_html_()


def test_a_guest_is_explained_as_he_is_recommended_to(model):
    guest = {"game 2": 1, "more of 4": 1}
    listed = model.recommend(guest=guest, n=3)
    for item, said in zip(listed["item"], listed["score"], strict=True):
        assert model.explain(item=item, guest=guest).score == pytest.approx(said, abs=1e-9)
    with pytest.raises(DataError, match="Give an item, and a user or a guest"):
        model.explain(item="game 2")
    with pytest.raises(UnknownIdError):
        model.explain(-1, "game 2", unknown="error")
    # A table of new rows is completed as guests are.
    row = np.full((1, len(model.items_)), np.nan)
    row[0, model.items_.encode(list(guest))] = 1.0
    assert np.allclose(model.predict(row)[0, model.items_.encode(listed["item"].to_numpy())], listed["score"])


@pytest.mark.parametrize("most", [20_000, 10])
def test_files(parts, tmp_path, monkeypatch, most):
    monkeypatch.setattr("kolmogorov.models.links.MOST_ITEMS", most)
    path = tmp_path / "lists.km"
    model = km.ListModel(3, balance=0.25, random_state=0).fit(parts[0])
    assert issparse(model.fitted_.links.weights) == (most == 10)
    model.save(path)
    back = km.load(path)
    assert back.settings_ == model.settings_
    rows = np.arange(parts[0].n_users)
    assert np.array_equal(back.fitted_.of_users(rows), model.fitted_.of_users(rows))
    assert back.recommend(guest={"game 7": 1}).equals(model.recommend(guest={"game 7": 1}))


def test_files_that_were_altered_are_refused(model, tmp_path):
    path = tmp_path / "lists.km"
    model.save(path)
    content = path.read_bytes()

    def settings(**changes):
        def change(meta, arrays):
            meta["settings"] = meta["settings"] | changes

        return change

    def itself(meta, arrays):
        arrays["link_matrix"] = arrays["link_matrix"] + np.eye(len(arrays["link_matrix"]), dtype=np.float32)

    def shorter(meta, arrays):
        arrays["link_matrix"] = arrays["link_matrix"][:-1]

    for change in (settings(balance=2.0), settings(ridge="nan"), settings(more=1), itself, shorter):
        path.write_bytes(forged(content, change))
        with pytest.raises(FileFormatError):
            km.load(path)


def test_what_is_given_is_not_chosen(parts):
    given = {"ridge": 40.0, "growth": 0.25, "unobserved": 0.3, "balance": 0.0}
    assert vars(km.ListModel(3, **given, random_state=0).fit(parts[0]).settings_) == given
    assert km.ListModel(3, balance=0.0, random_state=0).fit(parts[0]).settings_.balance == 0.0
    for wrong in ({"ridge": 0}, {"growth": 2}, {"balance": -1}, {"unobserved": 0}, {"n_events": 0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            km.ListModel(**wrong).fit(parts[0])


def test_events_and_clones(model):
    assert len(model.events()) == 4
    assert clone(model).get_params() == model.get_params()
    assert "ListModel" in model._repr_html_()


@pytest.mark.long("scikit-learn's checks")
@parametrize_with_checks(
    [km.ListModel(2, n_jobs=1)],
    expected_failed_checks=lambda estimator: {
        "check_estimator_sparse_array": "predict(X) returns the completed table",
        "check_estimator_sparse_matrix": "predict(X) returns the completed table",
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
