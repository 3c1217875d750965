"""One suite over every model: what is written once must hold for each."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

import kolmogorov as km
from kolmogorov.data.read import read_as_told
from kolmogorov.data.told import Reading
from kolmogorov.errors import DataError, KolmogorovWarning, ParameterError, UnknownIdError, UnknownIdWarning
from kolmogorov.models import ranking

DRAWS = {"n_chains": 2, "burn_in": 10, "n_samples": 6, "random_state": 0}
MAKERS = {
    "point": lambda: km.KolmogorovModel(4, random_state=0),
    "ratings, chances": lambda: km.KolmogorovModel(4, psi="soft", learn_from="ratings", user_reg=1.0, random_state=0),
    "draws, yes/no": lambda: km.BayesianKolmogorovModel(4, **DRAWS),
    "draws, values": lambda: km.BayesianKolmogorovModel(4, likelihood="gaussian", **DRAWS),
}


@pytest.fixture(scope="module")
def table():
    return km.datasets.load("zoo").split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def models(table):
    found = {name: make().fit(table[0]) for name, make in MAKERS.items()}
    found["distilled"] = found["draws, values"].as_model(4, "soft")
    return found


@pytest.fixture(params=[*MAKERS, "distilled"])
def model(models, request):
    return models[request.param]


def stars(**more):
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 12)) < 0.5)
    values = np.clip(np.rint(3.5 + 1.5 * np.where((users + items) % 2, 1, -1) + rng.normal(size=users.size)), 1, 6)
    return km.Observations.from_arrays(users, items, values, minimum=1, maximum=6, scaling="minmax", **more)


# --- predictions ---------------------------------------------------------------------------------------------------


def test_predictions_agree_in_every_form(model, table):
    test = table[1]
    whole = model.predict(test)
    assert ((whole >= 0) & (whole <= 1)).all()
    users, items = test.users.ids[test.user_rows()[:9]], test.items.ids[test.item_rows()[:9]]
    np.testing.assert_array_equal(model.predict(users, items), whole[:9])
    assert isinstance(model.predict(users[0], items[0]), float)
    assert model.predict(users[0], items[0]) == whole[0]
    columns = {"stars": [1] * 9, "item": list(items), "user_id": list(users)}
    labelled = pd.DataFrame({"user": pd.Categorical(users), "item": items}, index=["x"] * 9)
    for frame in (*(make(columns) for make in (pd.DataFrame, pl.DataFrame, pa.table)), pl.LazyFrame(columns), labelled):
        np.testing.assert_array_equal(model.predict(frame), whole[:9])
    if model._has_draws:
        np.testing.assert_allclose(model.predict(labelled, return_std=True)[0], whole[:9])


def test_answers_are_in_the_units_of_the_data():
    table = stars()
    for model in (km.KolmogorovModel(2, random_state=0), km.BayesianKolmogorovModel(2, **DRAWS)):
        model.fit(table)
        said, chances = model.predict(table), model.predict(table, output="probability")
        np.testing.assert_allclose(said, 1 + 5 * chances)
        assert said.max() > 2
        scores, errors = model.evaluate(table), said - table.scale.rating(table.values)
        assert -model.score(table) == pytest.approx(scores["rmse_rating"]) == pytest.approx(5 * scores["rmse"])
        assert scores["rmse_rating"] == pytest.approx(np.sqrt((errors**2).mean()))
    mean, deviation = model.predict(table, return_std=True)
    np.testing.assert_allclose(deviation, 5 * model.predict(table, output="probability", return_std=True)[1])
    low, high = model.predict_interval(table)
    assert ((low <= mean) & (mean <= high)).mean() > 0.9


def test_scikit_learn_measures_in_the_units_of_the_data():
    grades = np.clip(np.rint(np.random.default_rng(0).normal(3.5, 1, (40, 6))), 1, 6)
    model = km.KolmogorovModel(2, random_state=0)
    found = cross_val_score(model, grades, grades, scoring="neg_root_mean_squared_error", cv=2)
    np.testing.assert_allclose(found, cross_val_score(model, grades, cv=2), atol=0.05)
    assert (found > -1.5).all()


@pytest.mark.parametrize(
    "split",
    [
        train_test_split,
        lambda table: cross_val_score(km.KolmogorovModel(2), table),
        lambda table: GridSearchCV(km.KolmogorovModel(2), {"n_events": [1, 2]}).fit(table),
    ],
)
def test_scikit_learns_splits_of_observations_name_what_to_use(table, split):
    with pytest.raises(DataError, match=r"obs.split.*kolmogorov.tune"):
        split(table[0])


def test_dir_and_tab_completion_never_raise(models, table):
    lists = km.ListModel(2, ridge=5.0, growth=0.0, balance=0.5, unobserved=0.1, random_state=0)
    fitted = lists.fit(table[0].subset(table[0].values > 0))
    for model in (*(make() for make in MAKERS.values()), *models.values(), km.ListModel(), fitted):
        for name in dir(model):
            getattr(model, name, None)


# --- unknown ids ---------------------------------------------------------------------------------------------------

QUESTIONS = {
    "predict": lambda model, user, **how: model.predict(user, "milk", **how),
    "predict_distribution": lambda model, user, **how: model.predict_distribution(user, "milk", **how),
    "explain": lambda model, user, **how: model.explain(user, "milk", **how).rating,
    "recommend": lambda model, user, **how: model.recommend([user, "dolphin"], exclude_seen=False, **how),
    "evaluate": lambda model, user, **how: model.evaluate(
        km.Observations.from_arrays([user, "dolphin"], ["milk"] * 2, [1, 0]), **how
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_unknown_ids_are_treated_alike(model, question):
    ask = QUESTIONS[question]
    with pytest.warns(
        UnknownIdWarning, match=r"1 unknown user \('dolphn'\): using the average. Did you mean 'dolphin'"
    ):
        average = ask(model, "dolphn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ignored = ask(model, "dolphn", unknown="ignore")
    assert str(average).replace("dolphn", "") == str(ignored).replace("dolphn", "")
    with pytest.raises(UnknownIdError, match="no data on user 'dolphn'. Did you mean 'dolphin'"):
        ask(model, "dolphn", unknown="error")
    with pytest.raises(ParameterError, match="'unknown' must be one of 'average', 'ignore', 'error'"):
        ask(model, "dolphn", unknown="none")


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, **how: model.predict(["unicorn"], ["warp"], **how),
        lambda model, **how: model.explain("unicorn", "warp", **how),
        lambda model, **how: model.recommend("unicorn", 3, **how),
    ],
)
def test_where_the_model_knows_none_of_the_ids_it_says_so(model, ask):
    with pytest.raises(UnknownIdError, match=r"knows none of these ids: 1 unknown user \('unicorn'\)"):
        ask(model)
    ask(model, unknown="ignore")


def test_unknown_ids_are_told_of_once_in_a_call(model):
    users, items = ["bear", "unicorn", "yeti", "unicorn", "orc", "elf"], ["milk"] * 5 + ["gills"]
    with pytest.warns(UnknownIdWarning) as caught:
        model.predict(users, items)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "4 unknown users ('unicorn', 'yeti', 'orc', ...) and 1 unknown item ('gills')" in str(caught[0].message)


# --- lists ---------------------------------------------------------------------------------------------------------


def test_recommendations(model, table):
    frame = model.recommend("dolphin", n=5)
    train = table[0]
    row = train.users.encode(["dolphin"])[0]
    seen = set(train.items.ids[train.rows.indices[train.rows.indptr[row] : train.rows.indptr[row + 1]]])
    assert not seen & set(frame["item"])
    for item, rating in zip(frame["item"], frame["rating"], strict=True):
        assert rating == pytest.approx(model.predict("dolphin", item), abs=1e-6)
    ranked = frame["lower"] if model._has_draws else frame["probability"]
    assert ranked.is_monotonic_decreasing
    assert model.recommend("dolphin", n=5, rank="probability")["probability"].is_monotonic_decreasing


def test_lists_of_many_are_those_of_each(model, table, monkeypatch):
    ids = table[0].users.ids[:7].tolist()
    many = model.recommend(ids, n=4)
    monkeypatch.setattr(ranking, "_ROOM", 3 * table[0].n_items + 1)
    each = [model.recommend(user, n=4) for user in ids]
    for found in (model.recommend(ids, n=4), pd.concat(each)):
        assert many["item"].tolist() == found["item"].tolist()
        for column in set(found) & {"probability", "lower"}:
            np.testing.assert_allclose(many[column], found[column], atol=1e-12)
    assert many["user"].tolist() == [user for user, one in zip(ids, each, strict=True) for _ in one["item"]]


def test_who_has_rated_everything_is_told_so(model):
    answers = dict.fromkeys(model.items_.ids.tolist(), 1)
    with pytest.warns(KolmogorovWarning, match="Nothing is left to recommend to the guest: every item has a rating"):
        assert not len(model.recommend(guest=answers))
    people = km.Observations.from_arrays(["all"] * 15 + ["one"], [*answers, "milk"], [1] * 16)
    with pytest.warns(KolmogorovWarning, match=r"Nothing is left to recommend to 1 user \('all'\)"):
        assert set(model.recommend(people)["user"]) == {"one"}


def test_what_few_saw_is_not_recommended():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((60, 50)) < 0.4)
    users, items = np.append(users, [0, 1, 2]), np.append(items, [50] * 3)
    values = np.where(items == 50, 5, rng.integers(1, 6, users.size))
    model = km.KolmogorovModel(3, random_state=0).fit(km.Observations.from_arrays(users, items, values, maximum=5))
    assert "50" not in set(model.recommend(10, n=10)["item"])
    assert "50" in set(model.recommend(10, n=50, min_count=1)["item"])


def test_similar_items(model):
    frame = model.similar_items("milk", n=4)
    assert "milk" not in set(frame["item"])
    assert frame["similarity"].is_monotonic_decreasing
    assert (frame["similarity"] <= 1 + 1e-9).all()
    assert model.fitted_.similar_to(int(model.items_.encode(["milk"])[0])).max() == pytest.approx(1.0)
    with pytest.raises(UnknownIdError, match="no data on item 'mlk'. Did you mean 'milk'.$"):
        model.similar_items("mlk")


# --- guests --------------------------------------------------------------------------------------------------------


def test_guests_are_placed(model):
    said = {"milk": 1, "feathers": 0, "eggs": 0}
    guests = km.Observations.from_arrays(["g1"] * 3 + ["g2"], [*said, "fins"], [1, 0, 0, 1])
    theta = model.fold_in(guests)
    assert theta.shape == (2, model._one_model.n_events)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-6)
    milk, feathers = model.items_.encode(["milk", "feathers"])
    completed = model.inverse_transform(theta)
    assert completed[0, milk] > completed[0, feathers]
    frame = model.recommend(guests, n=4)
    assert set(frame["user"]) == {"g1", "g2"}
    one = frame[frame["user"] == "g1"]
    assert not set(said) & set(one["item"])
    guest = model.recommend(guest=said, n=4)
    assert guest["item"].tolist() == one["item"].tolist()
    np.testing.assert_allclose(guest["probability"], one["probability"])


def test_wrong_guests_have_a_sentence(model):
    for wrong, sentence in (
        ({}, "A guest is a dictionary"),
        (["milk"], "A guest is a dictionary"),
        (None, "Give users"),
        ({"milk": 5}, "'milk': ratings lie between 0 and 1 here, got 5"),
        ({2.5: 1}, "ids or titles, got 2.5"),
        ({"mlik": 1}, "knows no item that was rated here: 1 unknown item .'mlik'.. Did you mean 'milk'"),
    ):
        with pytest.raises(km.errors.KolmogorovError, match=sentence):
            model.recommend(guest=wrong)
    with pytest.raises(DataError, match="only one of them"):
        model.recommend("dolphin", guest={"milk": 1})
    with pytest.warns(UnknownIdWarning, match=r"2 unknown items \('warp', 'wings'\): left out"):
        found = model.recommend(guest={"milk": 1, "warp": 1, "wings": 0}, n=3)
    assert found["item"].tolist() == model.recommend(guest={"milk": 1}, n=3)["item"].tolist()
    guests = km.Observations.from_arrays(["a", "a", "b"], ["milk", "warp", "warp"], [1, 1, 0])
    with pytest.warns(UnknownIdWarning, match=r"1 unknown item \('warp'\): left out"):
        assert set(model.recommend(guests, n=2)["user"]) == {"a", "b"}


def test_titles_do_for_ids():
    rated = km.Observations.from_arrays([1, 1, 2, 2, 3, 3], [10, 20, 20, 30, 10, 30], [5, 1, 4, 2, 5, 3], maximum=5)
    model = km.KolmogorovModel(2, random_state=0).fit(rated.with_titles(items={10: "Alien", 20: "Heat", 30: "Heat"}))
    assert model.similar_items("Alien", n=2).equals(model.similar_items(10, n=2))
    assert str(model.explain(1, "Alien")) == str(model.explain(1, 10))
    assert model.predict(1, "Alien") == model.predict(1, 10)
    with pytest.raises(UnknownIdError, match="Several items have the title 'Heat': 20, 30. Give the id."):
        model.similar_items("Heat")
    with pytest.raises(UnknownIdError, match="Did you mean .*Alien"):
        model.similar_items("Alein")


def test_new_items_are_placed(model, table):
    users = table[0].users.ids[:40]
    twin = km.Observations.from_arrays(users, ["milk2"] * 40, (model.predict(users, "milk") > 0.5).astype(float))
    psi = model.fold_in(twin, side="items")
    assert psi.shape == (1, model._one_model.n_events)
    said = model._one_model.theta[:40] @ psi[0].astype(float)
    assert np.corrcoef(said, model.predict(users, "milk"))[0, 1] > 0.7


# --- tables --------------------------------------------------------------------------------------------------------


def test_packed_tables_serve_wherever_observations_do(model, table, tmp_path):
    packed = km.pack(table[0], tmp_path / "t")
    np.testing.assert_array_equal(model.fold_in(packed), model.fold_in(table[0]))
    assert len(model.recommend(packed, n=1, exclude_seen=False)) == packed.n_users


def test_models_of_weights_need_none_afterwards(tmp_path):
    lines = [
        "user,item,rating,times",
        *(f"u{u},i{i},{1 + (u * i) % 5},{1 + u % 3}" for u in range(12) for i in range(6)),
    ]
    (tmp_path / "weighed.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("user,item,rating\nnew,i1,4\nnew,i2,5\n")
    table = km.read_ratings(tmp_path / "weighed.csv", weight="times", maximum=5)
    for model in (km.KolmogorovModel(2, random_state=0), km.BayesianKolmogorovModel(2, **DRAWS)):
        model.fit(table)
        told = Reading.of_recipe(model.fitted_.recipe, {"maximum": 5})
        assert read_as_told(tmp_path / "weighed.csv", told).weights.tolist() == table.weights.tolist()
        new = read_as_told(tmp_path / "new.csv", told)
        assert new.weights is None
        assert np.isfinite(model.evaluate(new, unknown="ignore")["rmse"])
        assert len(model.recommend(new, n=2, min_count=1)) == 2
        assert model.update(new).fitted_.training.weights[-2:].tolist() == [1.0, 1.0]


def test_wrong_arguments_have_a_sentence(models):
    model = models["point"]
    with pytest.raises(ParameterError, match="'exclude_seen' must be True or False"):
        model.recommend("dolphin", exclude_seen="no")
    with pytest.raises(DataError, match="finite"):
        model.inverse_transform(np.full((1, 4), np.nan))
    with pytest.raises(DataError, match="must be aligned, got 2 users and 3 items"):
        model.predict(["bear", "boar"], ["milk", "eggs", "hair"])
