"""One suite over every model: what is written once must hold for each."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kolmogorov as km
from kolmogorov.errors import DataError, FileFormatError, UnknownIdError, UnknownIdWarning
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
    zoo = km.datasets.load("zoo")
    return zoo.split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def models(table):
    found = {name: make().fit(table[0]) for name, make in MAKERS.items()}
    found["distilled"] = found["draws, values"].as_model(4, "soft")
    return found


@pytest.fixture(params=[*MAKERS, "distilled"])
def model(models, request):
    return models[request.param]


def test_predictions_agree_in_every_form(model, table):
    test = table[1]
    whole = model.predict(test)
    assert ((whole >= 0) & (whole <= 1)).all()
    users, items = test.users.ids[test.user_rows()[:9]], test.items.ids[test.item_rows()[:9]]
    np.testing.assert_array_equal(model.predict(users, items), whole[:9])
    assert isinstance(model.predict(users[0], items[0]), float)
    assert model.predict(users[0], items[0]) == whole[0]
    np.testing.assert_allclose(model.predict(users, items, output="rating"), model.scale_.rating(whole[:9]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_of_pairs_get_a_column(model, make):
    columns = {"stars": [1, 2, 3], "item": ["milk", "eggs", "milk"], "user_id": ["dolphin", "dolphin", "gull"]}
    frame = make(columns)
    found = model.predict(frame, output="rating")
    assert type(found) is type(frame)
    expected = model.predict(columns["user_id"], columns["item"], output="rating")
    assert list(found["prediction"].to_numpy()) == pytest.approx(list(expected))
    assert [str(name) for name in getattr(found, "column_names", found.columns)][:3] == list(columns)
    assert found["stars"].to_numpy().tolist() == [1, 2, 3]
    again = model.predict(found)
    assert list(again["prediction"].to_numpy()) == pytest.approx(
        list(model.predict(columns["user_id"], columns["item"]))
    )
    if model._has_draws:
        mean, _ = model.predict(frame, return_std=True)
        assert list(mean) == pytest.approx(list(again["prediction"].to_numpy()))


def test_frames_keep_their_types_and_the_labels_of_rows():
    rated = km.Observations.from_arrays([1, 1, 2], [10, 20, 10], [5, 1, 4])
    model = km.KolmogorovModel(2, random_state=0).fit(rated)
    frame = pd.DataFrame({"user": pd.Categorical([1, 2]), "item": pd.array([10, 20], dtype="Int32")}, index=["x", "x"])
    found = model.predict(frame)
    assert found.drop(columns="prediction").equals(frame)
    assert found.index.tolist() == ["x", "x"]
    assert model.recommend([1, 2], n=2).dtypes.astype(str).tolist()[:2] == ["str", "str"]
    assert rated.to_frame().dtypes.astype(str).tolist()[:2] == ["str", "str"]
    guests = km.Observations.from_arrays([7], [10], [5])
    assert model.recommend(guests)["user"].tolist()[0] == "7"


def test_unknown_ids(model):
    with pytest.warns(UnknownIdWarning, match="1 unknown user .*: using the average"):
        average = model.predict("unicorn", "milk")
    assert 0 <= average <= 1
    assert model.predict("unicorn", "milk", unknown="ignore") == average
    with pytest.raises(UnknownIdError, match="unicorn"):
        model.predict("unicorn", "milk", unknown="error")
    with pytest.raises(UnknownIdError, match=r"knows none of these ids: 1 unknown user .* and 1 unknown item"):
        model.predict(["unicorn"], ["warp"])
    assert model.predict(["unicorn"], ["warp"], unknown="ignore").shape == (1,)
    with pytest.raises(UnknownIdError, match="Did you mean 'dolphin'"):
        model.recommend("dolphn")


def test_recommendations(model, table):
    frame = model.recommend("dolphin", n=5)
    train = table[0]
    row = train.users.encode(["dolphin"])[0]
    seen = set(train.items.ids[train.rows.indices[train.rows.indptr[row] : train.rows.indptr[row + 1]]])
    assert not seen & set(frame["item"])
    for item, probability in zip(frame["item"], frame["probability"], strict=True):
        assert probability == pytest.approx(model.predict("dolphin", item), abs=1e-6)
    ranked = frame["lower"] if model._has_draws else frame["probability"]
    assert ranked.is_monotonic_decreasing
    by_mean = model.recommend("dolphin", n=5, rank="probability")
    assert by_mean["probability"].is_monotonic_decreasing
    both = model.recommend(["dolphin", "gull"], n=3)
    assert both["user"].tolist()[:1] == ["dolphin"]
    assert set(both["user"]) <= {"dolphin", "gull"}
    first = both[both["user"] == "dolphin"]["item"].tolist()
    assert first == model.recommend("dolphin", n=3)["item"].tolist()


def test_lists_of_many_are_those_of_each(model, table, monkeypatch):
    ids = table[0].users.ids[:7].tolist()
    many = model.recommend(ids, n=4)
    monkeypatch.setattr(ranking, "_ROOM", 3 * table[0].n_items + 1)
    for name, column in model.recommend(ids, n=4).items():
        if column.dtype == float:
            np.testing.assert_allclose(many[name], column, atol=1e-12)
        else:
            assert many[name].tolist() == column.tolist()
    each = [model.recommend(user, n=4) for user in ids]
    assert many["user"].tolist() == [user for user, one in zip(ids, each, strict=True) for _ in one["item"]]
    assert many["item"].tolist() == [item for one in each for item in one["item"]]
    for column in set(each[0]) & {"probability", "lower"}:
        np.testing.assert_allclose(many[column], np.concatenate([one[column] for one in each]), atol=1e-12)


def test_what_few_saw_is_not_recommended():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((60, 50)) < 0.4)
    rare = np.array([[0, 50], [1, 50], [2, 50]])
    users, items = np.concatenate([users, rare[:, 0]]), np.concatenate([items, rare[:, 1]])
    values = np.where(items == 50, 5, rng.integers(1, 6, users.size))
    model = km.KolmogorovModel(3, random_state=0).fit(km.Observations.from_arrays(users, items, values, maximum=5))
    assert "50" not in set(model.recommend(10, n=10)["item"])
    assert "50" in set(model.recommend(10, n=50, min_count=1)["item"])


def test_similar_items(model):
    frame = model.similar_items("milk", n=4)
    assert "milk" not in set(frame["item"])
    assert frame["similarity"].is_monotonic_decreasing
    assert (frame["similarity"] <= 1 + 1e-9).all()
    own = model.fitted_.similar_to(int(model.items_.encode(["milk"])[0]))
    assert own.max() == pytest.approx(1.0)


def test_saved_and_loaded(model, table, tmp_path):
    model.save(tmp_path / "m.km")
    again = km.load(tmp_path / "m.km")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(table[1]), model.predict(table[1]))
    again.save(tmp_path / "n.km")
    assert (tmp_path / "n.km").read_bytes() == (tmp_path / "m.km").read_bytes()
    (tmp_path / "n.km").write_bytes((tmp_path / "m.km").read_bytes()[:-9])
    with pytest.raises(FileFormatError):
        km.load(tmp_path / "n.km")


# --- models with events --------------------------------------------------------------------------------------------


def test_guests_are_placed(model, table):
    guests = km.Observations.from_arrays(["g1"] * 3 + ["g2"], ["milk", "feathers", "eggs", "fins"], [1, 0, 0, 1])
    theta = model.fold_in(guests)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-6)
    assert (theta >= 0).all()
    found = model.inverse_transform(theta)
    assert found.shape == (2, 15)
    milk, feathers = model.items_.encode(["milk", "feathers"])
    assert found[0, milk] > found[0, feathers]
    frame = model.recommend(guests, n=3)
    assert set(frame["user"]) == {"g1", "g2"}
    assert not {"milk", "feathers", "eggs"} & set(frame[frame["user"] == "g1"]["item"])


def test_a_guest_in_one_call(model):
    said = {"milk": 1, "feathers": 0, "eggs": 0}
    guest = km.Observations.from_arrays(["guest"] * 3, list(said), [1, 0, 0])
    found = model.recommend(guest=said, n=4)
    expected = model.recommend(guest, n=4)
    assert found["item"].tolist() == expected["item"].tolist()
    assert "user" not in found
    np.testing.assert_allclose(found["probability"], expected["probability"])
    with pytest.raises(DataError, match="only one of them"):
        model.recommend("dolphin", guest=said)
    for wrong in ({}, ["milk"], None):
        with pytest.raises(DataError, match="A guest is a dictionary|Give users"):
            model.recommend(guest=wrong)
    with pytest.raises(DataError, match="'milk': ratings lie between 0 and 1 here, got 5"):
        model.recommend(guest={"milk": 5})
    with pytest.raises(DataError, match="ids or titles, got 2.5"):
        model.recommend(guest={2.5: 1})


def test_unknown_items_of_guests_are_left_out(model):
    with pytest.warns(UnknownIdWarning, match=r"2 unknown items \('warp', 'wings'\): left out"):
        found = model.recommend(guest={"milk": 1, "warp": 1, "wings": 0}, n=3)
    assert found["item"].tolist() == model.recommend(guest={"milk": 1}, n=3)["item"].tolist()
    with pytest.raises(
        UnknownIdError, match="knows no item that was rated here: 1 unknown item .'mlik'.. Did you mean 'milk'"
    ):
        model.recommend(guest={"mlik": 1})
    guests = km.Observations.from_arrays(["a", "a", "b"], ["milk", "warp", "warp"], [1, 1, 0])
    with pytest.warns(UnknownIdWarning, match=r"1 unknown item \('warp'\): left out"):
        frame = model.recommend(guests, n=2)
    assert set(frame["user"]) == {"a", "b"}
    with pytest.raises(UnknownIdError, match="knows no item"):
        model.recommend(km.Observations.from_arrays(["a"], ["warp"], [1]))


def test_similar_items_and_reasons_go_by_titles_too():
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
    assert psi.shape[0] == 1
    levels = getattr(model.fitted_, "levels", (0.0, 1.0))
    low, high = levels[0] - 1e-6, levels[-1] + 1e-6
    assert ((psi >= low) & (psi <= high)).all()
    theta = model.fold_in(table[0], side="users")
    said = theta[:40] @ psi[0].astype(float)
    assert np.corrcoef(said, model.predict(users, "milk"))[0, 1] > 0.7


@pytest.mark.long("scikit-learn's checks")
@parametrize_with_checks(
    [km.BayesianKolmogorovModel(2, n_chains=1, burn_in=3, n_samples=4, random_state=0)],
    expected_failed_checks=lambda estimator: {
        "check_estimator_sparse_array": "predict(X) returns the completed table",
        "check_estimator_sparse_matrix": "predict(X) returns the completed table",
    },
)
def test_draws_keep_scikit_learns_conventions(estimator, check):
    check(estimator)


# --- what a newcomer found ------------------------------------------------------------------------------------------


def test_packed_tables_serve_wherever_observations_do(models, table, tmp_path):
    packed = km.pack(table[0], tmp_path / "t")
    for name in models:
        np.testing.assert_array_equal(models[name].fold_in(packed), models[name].fold_in(table[0]))
        assert len(models[name].recommend(packed, n=1, exclude_seen=False)) == packed.n_users


@pytest.mark.parametrize("labels", [(["x", "y", "z"], ["a", "b"]), ([3, 5, 9], [10, 20])])
def test_labels_of_a_frame_are_ids(labels):
    frame = pd.DataFrame([[5.0, 1.0], [1.0, 5.0], [np.nan, 5.0]], index=labels[0], columns=labels[1])
    for name in ("point", "draws, values"):
        model = MAKERS[name]().fit(frame)
        assert model.users_.ids.tolist() == list(map(str, labels[0])), name
        assert model.items_.ids.tolist() == list(map(str, labels[1])), name


def test_labels_out_of_order_are_not_taken_in_silence():
    frame = pd.DataFrame([[5.0, 1.0], [1.0, 5.0]], index=[7, 3], columns=["a", "b"])
    with pytest.warns(km.errors.KolmogorovWarning, match="integers out of order"):
        model = MAKERS["point"]().fit(frame)
    assert model.users_.ids.tolist() == ["0", "1"]


def test_wrong_arguments_have_a_sentence(models, table):
    with pytest.raises(km.errors.ParameterError, match="'exclude_seen' must be True or False"):
        models["point"].recommend("dolphin", exclude_seen="no")
    with pytest.raises(DataError, match="finite"):
        models["point"].inverse_transform(np.full((1, 4), np.nan))
    with pytest.raises(km.errors.ParameterError, match="'model' must be a model"):
        km.tune(table[0], model="x")
    with pytest.raises(UnknownIdError) as caught:
        models["point"].similar_items("mlk")
    assert "unknown" not in str(caught.value)
