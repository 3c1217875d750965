"""Users and items that one model knows by their attributes alone: placed as draws place them, by every way alike."""

from copy import copy

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from helpers.planted import Planted, grid
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError

OLD_USERS, NEW_USERS, OLD_ITEMS, NEW_ITEMS = np.arange(100), np.arange(100, 120), np.arange(70), np.arange(70, 90)
LEVELS = ["soft", "binary"]
NAMES = list(map(str, NEW_ITEMS))


@pytest.fixture(scope="module")
def planted():
    return Planted()


@pytest.fixture(scope="module")
def frames(planted):
    """Return what is known of new users and of new items."""
    return {
        "users": planted.users.set_index("user").loc[NEW_USERS],
        "items": planted.items.set_index("item").loc[NEW_ITEMS],
    }


@pytest.fixture(scope="module")
def draws(planted):
    model = km.BayesianKolmogorovModel(4, n_chains=2, burn_in=20, n_samples=10, random_state=0)
    known = {
        "users": planted.users.set_index("user").loc[OLD_USERS],
        "items": planted.items.set_index("item").loc[OLD_ITEMS],
    }
    return model.fit(planted.table(NEW_USERS, NEW_ITEMS), **known)


@pytest.fixture(scope="module", params=LEVELS)
def one(request, draws):
    return draws.as_model(5, psi=request.param)


def test_it_places_as_the_draws_do(planted, frames, draws, one):
    found, drawn = copy(one).update(**frames), copy(draws).update(**frames)
    for users, items in ((OLD_USERS, NEW_ITEMS), (NEW_USERS, OLD_ITEMS), (NEW_USERS, NEW_ITEMS)):
        assert planted.error(grid(found, users, items), users, items) < 0.5
        away = np.abs(grid(found, users, items) - grid(drawn, users, items)).mean()
        # As near as it is to the draws of those who were observed.
        usual = np.abs(grid(one, OLD_USERS, OLD_ITEMS) - grid(draws, OLD_USERS, OLD_ITEMS)).mean()
        assert away < 2.0 * usual + 0.002
    np.testing.assert_array_equal(grid(found, OLD_USERS, OLD_ITEMS), grid(one, OLD_USERS, OLD_ITEMS))
    rows = found.items_.encode(NEW_ITEMS)
    np.testing.assert_allclose(
        found.predict([3] * 20, NEW_ITEMS, output="probability"),
        np.clip(found.psi_[rows] @ found.theta_[found.users_.encode([3])[0]], 0, 1),
    )


def test_the_same_question_by_every_way_has_the_same_number(frames, draws, one, tmp_path):
    found = copy(one).update(**frames)
    users, items = np.repeat(NEW_USERS[:5], 20), np.tile(NEW_ITEMS, 5)
    said = found.predict(users, items)
    # One after the other, and in another order.
    np.testing.assert_array_equal(
        copy(one).update(items=frames["items"]).update(users=frames["users"]).predict(users, items), said
    )
    backwards = {side: frame.iloc[::-1] for side, frame in frames.items()}
    np.testing.assert_array_equal(copy(one).update(**backwards).predict(users, items), said)
    # After files.
    one.save(tmp_path / "one.km")
    np.testing.assert_array_equal(km.load(tmp_path / "one.km").update(**frames).predict(users, items), said)
    found.save(tmp_path / "found.km")
    np.testing.assert_array_equal(km.load(tmp_path / "found.km").predict(users, items), said)
    # Placed before it was distilled.
    early = copy(draws).update(**frames).as_model(5, psi=one.psi)
    np.testing.assert_array_equal(early.predict(users, items), said)
    np.testing.assert_array_equal(early.predict_distribution(users, items), found.predict_distribution(users, items))
    listed = found.recommend(100, n=200, min_count=None).set_index("item")["rating"]
    np.testing.assert_allclose(listed.loc[NAMES].to_numpy(), said[:20])
    assert found.explain(100, 75).rating == pytest.approx(said[5])


def test_new_items_are_listed_and_new_users_have_lists(frames, draws, one):
    for model in (draws, one):
        plain = model.recommend(3, n=200)
        assert not np.isin(NAMES, plain["item"]).any()
        found = copy(model).update(**frames)
        more = found.recommend(3, n=200)
        assert np.isin(NAMES, more["item"]).all()
        assert (more.set_index("item").loc[NAMES, "count"] == 0).all()
        few = found.recommend(3, n=200, min_count=1)
        assert not np.isin(NAMES, few["item"]).any()
        lists = found.recommend([100, 101], n=3)
        assert lists["user"].tolist() == ["100"] * 3 + ["101"] * 3
        several = found.recommend([3, 4, 100], n=200)
        assert several["item"].isin(NAMES).sum() == 60


def test_what_a_model_cannot_know_is_told(planted, frames, one):
    plain = km.KolmogorovModel(3, learn_from="ratings", random_state=0).fit(planted.table())
    with pytest.raises(DataError, match=r"no attributes of items. Fit it with them"):
        plain.update(items=frames["items"])
    with pytest.raises(DataError, match="knows no attributes"):
        plain.event_attributes()
    visits = km.Observations.from_arrays(*np.nonzero(np.eye(30) + np.eye(30, k=1)), np.ones(59))
    lists = km.ListModel(random_state=0).fit(visits)
    with pytest.raises(DataError, match="The model knows no attributes of users"):
        lists.update(users=frames["users"])


# --- explanations ---------------------------------------------------------------------------------------------------


def check_explanations(model, new_user, new_item):
    """Ask for what is predicted of a new user, a new item, and both."""
    for user, item in ((3, new_item), (new_user, 3), (new_user, new_item)):
        why = model.explain(user, item)
        parts = why.attributes
        total = parts.base + sum(part.amount for part in parts.parts) + parts.rest
        np.testing.assert_allclose(total, model.predict(user, item, output="probability"))
        sides = {part.side for part in parts.parts}
        assert sides == ({"users"} if user == new_user else set()) | ({"items"} if item == new_item else set())
        sizes = [abs(part.amount) for part in parts.parts]
        assert sizes == sorted(sizes, reverse=True)
        assert parts.parts[0].words in str(why)
        assert "Only attributes are known of " in str(why)
        assert parts.parts[0].words in why._repr_html_()
    assert model.explain(3, 3).attributes is None


def test_attributes_that_moved_a_prediction_add_up(frames, one):
    check_explanations(copy(one).update(**frames), 105, 75)


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
    chosen &= np.random.default_rng(0).random(chosen.size) < share
    return table.subset(chosen)


def test_ratings_of_new_items_begin_where_attributes_place_them(planted, frames, one):
    found = copy(one).update(items=frames["items"])
    few = rated(planted, NEW_ITEMS[:10], 0.05)
    told = copy(one).update(items=frames["items"]).update(few)
    plain = copy(one).update(few)
    still = found.items_.encode(np.setdiff1d(NAMES, few.items.ids[few.seen_items]))
    assert told.fitted_.item_attributes.rows.tolist() == still.tolist()
    np.testing.assert_array_equal(told.psi_[still], found.psi_[still])
    rated_now = OLD_USERS, NEW_ITEMS[:10]
    errors = [planted.error(grid(model, *rated_now), *rated_now) for model in (told, plain)]
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
    alike = known["genres"].groupby(known["genres"]).groups
    for items in alike.values():
        for item in items:
            np.testing.assert_array_equal(values[str(item)], values[str(items[0])])
    found.save(tmp_path / "m.km")
    np.testing.assert_array_equal(
        grid(km.load(tmp_path / "m.km"), OLD_USERS, NEW_ITEMS), grid(found, OLD_USERS, NEW_ITEMS)
    )
