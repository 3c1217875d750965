"""Users and items that a model knows by their attributes: learned beside answers, and placed by every way alike."""

from copy import copy

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from helpers.forgery import forged
from helpers.planted import Planted, grid
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError, FileFormatError, ParameterError

OLD_USERS, NEW_USERS, OLD_ITEMS, NEW_ITEMS = np.arange(100), np.arange(100, 120), np.arange(70), np.arange(70, 90)
NAMES = list(map(str, NEW_ITEMS))
SHORT = {"n_chains": 2, "burn_in": 20, "n_samples": 10, "random_state": 0}
#: New items, new users, and both.
NEW = [(OLD_USERS, NEW_ITEMS), (NEW_USERS, OLD_ITEMS), (NEW_USERS, NEW_ITEMS)]


@pytest.fixture(scope="module")
def planted():
    return Planted()


def part(planted, users, items):
    """Return what is known of some users and of some items."""
    return {"users": planted.users.set_index("user").loc[users], "items": planted.items.set_index("item").loc[items]}


@pytest.fixture(scope="module")
def frames(planted):
    return part(planted, NEW_USERS, NEW_ITEMS)


@pytest.fixture(scope="module")
def draws(planted):
    table = planted.table(NEW_USERS, NEW_ITEMS)
    return km.BayesianKolmogorovModel(4, **SHORT).fit(table, **part(planted, OLD_USERS, OLD_ITEMS))


@pytest.fixture(scope="module", params=["soft", "binary"])
def one(request, draws):
    return draws.as_model(5, psi=request.param)


# --- where they are placed ------------------------------------------------------------------------------------------


def test_new_rows_are_placed_by_their_attributes(planted, frames, draws, one):
    found, drawn = copy(one).update(**frames), copy(draws).update(**frames)
    for users, items in NEW:
        assert planted.error(grid(found, users, items), users, items) < 0.5
        away = np.abs(grid(found, users, items) - grid(drawn, users, items)).mean()
        # As near as it is to the draws of those who were observed.
        usual = np.abs(grid(one, OLD_USERS, OLD_ITEMS) - grid(draws, OLD_USERS, OLD_ITEMS)).mean()
        assert away < 2.0 * usual + 0.002
    for before, after in ((one, found), (draws, drawn)):
        np.testing.assert_array_equal(grid(after, OLD_USERS, OLD_ITEMS), grid(before, OLD_USERS, OLD_ITEMS))
    rows = found.items_.encode(NEW_ITEMS)
    said = np.clip(found.psi_[rows] @ found.theta_[found.users_.encode([3])[0]], 0, 1)
    np.testing.assert_allclose(found.predict([3] * 20, NEW_ITEMS, output="probability"), said)
    with pytest.raises(km.errors.UnknownIdError):
        one.predict(1, 75, unknown="error")
    assert 1.0 <= found.predict(1, 75, unknown="error") <= 5.0


def test_fit_places_whom_only_the_frames_have(planted, frames, draws):
    table = planted.table(NEW_USERS, NEW_ITEMS)
    at_once = km.BayesianKolmogorovModel(4, **SHORT).fit(table, users=planted.users, items=planted.items)
    for users, items in (*NEW, (OLD_USERS, OLD_ITEMS)):
        assert np.isfinite(grid(at_once, users, items)).all()
        assert planted.error(grid(at_once, users, items), users, items) < 0.5
    single = km.KolmogorovModel(4, psi="soft", random_state=0).fit(table, items=planted.items)
    assert np.isin(NAMES, single.items_.ids).all()
    assert planted.error(grid(single, OLD_USERS, NEW_ITEMS), OLD_USERS, NEW_ITEMS) < 0.5


def test_intervals_of_new_items_hold_new_ratings(planted, frames, draws):
    rows, columns = np.nonzero(~np.isnan(planted.ratings[np.ix_(OLD_USERS, NEW_ITEMS)]))
    low, high = copy(draws).update(items=frames["items"]).predict_interval(OLD_USERS[rows], NEW_ITEMS[columns])
    ratings = planted.ratings[OLD_USERS[rows], NEW_ITEMS[columns]]
    assert 0.8 < ((ratings >= low) & (ratings <= high)).mean() < 0.98


def test_the_same_question_by_every_way_has_the_same_number(frames, draws, one, tmp_path):
    found = copy(one).update(**frames)
    users, items = np.repeat(NEW_USERS[:5], 20), np.tile(NEW_ITEMS, 5)
    said = found.predict(users, items)
    one.save(tmp_path / "one.km")
    found.save(tmp_path / "found.km")
    ways = {
        "one after the other": copy(one).update(items=frames["items"]).update(users=frames["users"]),
        "in another order": copy(one).update(**{side: frame.iloc[::-1] for side, frame in frames.items()}),
        "after a file": km.load(tmp_path / "one.km").update(**frames),
        "in a file": km.load(tmp_path / "found.km"),
        "placed before it was distilled": copy(draws).update(**frames).as_model(5, psi=one.psi),
    }
    for way, model in ways.items():
        np.testing.assert_array_equal(model.predict(users, items), said, err_msg=way)
        np.testing.assert_array_equal(model.predict_distribution(3, items), found.predict_distribution(3, items))
    listed = found.recommend(100, n=200, min_count=None).set_index("item")["rating"]
    np.testing.assert_allclose(listed.loc[NAMES].to_numpy(), said[:20])
    assert found.explain(100, 75).rating == pytest.approx(said[5])


def test_new_items_are_listed_and_new_users_have_lists(frames, draws, one):
    for model in (draws, one):
        assert not np.isin(NAMES, model.recommend(3, n=200)["item"]).any()
        found = copy(model).update(**frames)
        more = found.recommend(3, n=200)
        assert np.isin(NAMES, more["item"]).all()
        assert (more.set_index("item").loc[NAMES, "count"] == 0).all()
        assert not np.isin(NAMES, found.recommend(3, n=200, min_count=1)["item"]).any()
        assert found.recommend([100, 101], n=3)["user"].tolist() == ["100"] * 3 + ["101"] * 3


def test_yes_and_no(planted):
    table = planted.table(items=NEW_ITEMS)
    likes = np.where(table.scale.rating(table.values) >= 4, 1, 0)
    table = km.Observations.from_arrays(table.users.ids[table.user_rows()], table.items.ids[table.item_rows()], likes)
    model = km.BayesianKolmogorovModel(4, **SHORT).fit(table, users=planted.users, items=planted.items)
    np.testing.assert_allclose(model.predict_distribution([1] * 20, NEW_ITEMS).sum(axis=1), 1.0)
    users = np.arange(120)
    assert np.corrcoef(grid(model, users, NEW_ITEMS).ravel(), planted.chances[:, NEW_ITEMS].ravel())[0, 1] > 0.6


def test_what_cannot_be_done_is_told(planted, frames):
    plain = km.KolmogorovModel(3, learn_from="ratings", random_state=0).fit(planted.table())
    with pytest.raises(DataError, match=r"no attributes of items. Fit it with them: fit\(X, items=frame\)"):
        plain.update(items=frames["items"])
    with pytest.raises(DataError, match="knows no attributes"):
        plain.event_attributes()
    with pytest.raises(ParameterError, match="attributes for draws"):
        plain.fit(planted.table(), items=planted.items)
    visits = km.Observations.from_arrays(*np.nonzero(np.eye(30) + np.eye(30, k=1)), np.ones(59))
    with pytest.raises(DataError, match="The model knows no attributes of users"):
        km.ListModel(random_state=0).fit(visits).update(users=frames["users"])


@pytest.mark.parametrize(
    "change",
    [
        lambda meta, arrays: meta["items_attributes"].pop(),
        lambda meta, arrays: arrays.update(items_attribute_rows=np.array([10**6])),
        lambda meta, arrays: arrays["items_attribute_slopes"].fill(np.nan),
        lambda meta, arrays: arrays["items_attribute_values"].fill(1e15),
        lambda meta, arrays: arrays.pop("items_attribute_apart"),
        lambda meta, arrays: meta["items_attributes"][0].update(scale="much"),
        lambda meta, arrays: meta["items_attributes"][0].pop("kind"),
    ],
)
def test_files_that_lie_about_attributes_are_refused(draws, tmp_path, change):
    draws.save(tmp_path / "m.km")
    (tmp_path / "m.km").write_bytes(forged((tmp_path / "m.km").read_bytes(), change))
    with pytest.raises(FileFormatError):
        km.load(tmp_path / "m.km")


# --- what they mean --------------------------------------------------------------------------------------------------


def test_attributes_that_moved_a_prediction_add_up(frames, one):
    model = copy(one).update(**frames)
    for user, item in ((3, 75), (105, 3), (105, 75)):
        why = model.explain(user, item)
        parts = why.attributes
        total = parts.base + sum(part.amount for part in parts.parts) + parts.rest
        np.testing.assert_allclose(total, model.predict(user, item, output="probability"))
        sides = {part.side for part in parts.parts}
        assert sides == ({"users"} if user == 105 else set()) | ({"items"} if item == 75 else set())
        sizes = [abs(part.amount) for part in parts.parts]
        assert sizes == sorted(sizes, reverse=True)
        assert parts.parts[0].words in str(why)
        assert "Only attributes are known of " in str(why)
    assert model.explain(3, 3).attributes is None


def test_what_attributes_mean_for_events(planted, one):
    sure = one.event_attributes()
    assert ((sure["low"] > 0) | (sure["high"] < 0)).all()
    # Jobs are what tastes were made of, and ages say nothing.
    assert (sure["attribute"].str.startswith("job")).sum() >= 2
    assert (sure["attribute"] == "age").sum() <= 1
    # Events are those of the model: people of a job have more of it, by so much.
    jobs = planted.users.set_index("user").loc[one.users_.ids.astype(int), "job"].to_numpy()
    largest = sure[sure["side"] == "users"].sort_values("effect").iloc[-1]
    mine = jobs == largest["attribute"].removeprefix("job: ")
    shares = one.theta_[:, largest["event"]]
    assert largest["effect"] == pytest.approx(shares[mine].mean() - shares[~mine].mean(), rel=0.25)


# --- updates --------------------------------------------------------------------------------------------------------


def rated(planted, items, share=1.0):
    """Return ratings of some new items by users that were there."""
    table = planted.table()
    chosen = np.isin(table.item_rows(), table.items.encode(items)) & (table.user_rows() < 100)
    return table.subset(chosen & (np.random.default_rng(0).random(chosen.size) < share))


def test_ratings_of_new_items_begin_where_attributes_place_them(planted, frames, one):
    found, few = copy(one).update(items=frames["items"]), rated(planted, NEW_ITEMS[:10], 0.05)
    told, plain = copy(found).update(few), copy(one).update(few)
    still = found.items_.encode(np.setdiff1d(NAMES, few.items.ids[few.seen_items]))
    assert told.fitted_.item_attributes.rows.tolist() == still.tolist()
    np.testing.assert_array_equal(told.psi_[still], found.psi_[still])
    where = OLD_USERS, NEW_ITEMS[:10]
    errors = [planted.error(grid(model, *where), *where) for model in (told, plain)]
    assert errors[0] < errors[1]


def test_draws_keep_their_attributes(planted, frames, draws, tmp_path):
    found = copy(draws).update(items=frames["items"]).update(rated(planted, NEW_ITEMS[:10]))
    assert isinstance(found.fitted_, Posterior)
    assert found.fitted_.item_attributes.rows.tolist() == found.items_.encode(NEW_ITEMS[10:]).tolist()
    for items in (NEW_ITEMS[:10], NEW_ITEMS[10:]):
        assert planted.error(grid(found, OLD_USERS, items), OLD_USERS, items) < 0.5
    known = pd.concat([planted.items.set_index("item").loc[OLD_ITEMS], frames["items"]])
    values = dict(zip(found.items_.ids.tolist(), found.fitted_.item_attributes.values, strict=True))
    # What is known of a row has moved with it.
    for items in known["genres"].groupby(known["genres"]).groups.values():
        for item in items:
            np.testing.assert_array_equal(values[str(item)], values[str(items[0])])
    found.save(tmp_path / "m.km")
    again = km.load(tmp_path / "m.km")
    np.testing.assert_array_equal(grid(again, OLD_USERS, NEW_ITEMS), grid(found, OLD_USERS, NEW_ITEMS))
