"""Attributes of users and items: learned beside answers, and all there is of those who were not observed."""

from copy import copy

import numpy as np
import pytest

import kolmogorov as km
from helpers.forgery import forged
from helpers.planted import Planted, grid
from kolmogorov.errors import DataError, FileFormatError, ParameterError

SHORT = {"n_chains": 2, "burn_in": 20, "n_samples": 10, "random_state": 0}


def fitted(table, **beside):
    return km.BayesianKolmogorovModel(4, **SHORT).fit(table, **beside)


@pytest.fixture(scope="module")
def planted():
    return Planted()


@pytest.fixture(scope="module")
def cold():
    return np.arange(70, 90)


@pytest.fixture(scope="module")
def known(planted, cold):
    """Return what is known of the items that were rated."""
    return planted.items[~planted.items["item"].isin(cold)]


@pytest.fixture(scope="module")
def model(planted, cold, known):
    return fitted(planted.table(items=cold), users=planted.users, items=known)


def test_new_items_are_placed_by_their_attributes(planted, cold, model):
    users = np.arange(120)
    frame = planted.items.set_index("item").loc[cold]
    found = copy(model).update(items=frame)
    assert planted.error(grid(found, users, cold), users, cold) < 0.5
    # Those that were observed are where they were.
    before, after = (grid(each, users, np.arange(20)) for each in (model, found))
    np.testing.assert_array_equal(before, after)
    with pytest.raises(km.errors.UnknownIdError):
        model.predict(1, 75, unknown="error")
    assert 1.0 <= found.predict(1, 75, unknown="error") <= 5.0


def test_fit_places_whom_only_the_frames_have(planted, cold, model):
    at_once = fitted(planted.table(items=cold), users=planted.users, items=planted.items)
    later = copy(model).update(items=planted.items.set_index("item").loc[cold])
    for users, items in ((np.arange(120), cold), (np.arange(120), np.arange(70))):
        np.testing.assert_array_equal(grid(at_once, users, items), grid(later, users, items))
    one = km.KolmogorovModel(4, random_state=0).fit(planted.table(items=cold), items=planted.items)
    assert np.isin(cold.astype(str), one.items_.ids).all()
    assert planted.error(grid(one, np.arange(120), cold), np.arange(120), cold) < 0.5
    low, high = at_once.predict_interval([3] * 3, [80, 71, 75], of="probability")
    assert (high - low > 0.01).all()


def test_intervals_of_new_items_hold_new_ratings(planted, cold, model):
    users = np.flatnonzero(planted.users["user"] >= 0)
    found = copy(model).update(items=planted.items.set_index("item").loc[cold])
    rows, columns = np.nonzero(~np.isnan(planted.ratings[:, cold]))
    low, high = found.predict_interval(users[rows], cold[columns])
    ratings = planted.ratings[:, cold][rows, columns]
    inside = ((ratings >= low) & (ratings <= high)).mean()
    assert 0.8 < inside < 0.98


def test_attributes_are_saved_with_the_model(planted, cold, model, tmp_path):
    model.save(tmp_path / "m.km")
    frame = planted.items.set_index("item").loc[cold]
    again, found = (each.update(items=frame) for each in (km.load(tmp_path / "m.km"), copy(model)))
    np.testing.assert_array_equal(again.predict(3, cold), found.predict(3, cold))
    found.save(tmp_path / "more.km")
    more = km.load(tmp_path / "more.km")
    users = np.arange(120)
    np.testing.assert_array_equal(grid(more, users, cold), grid(found, users, cold))
    np.testing.assert_array_equal(more.predict_interval(3, cold), found.predict_interval(3, cold))


@pytest.mark.parametrize(
    "change",
    [
        lambda meta, arrays: meta["items_attributes"].pop(),
        lambda meta, arrays: arrays.update(items_attribute_rows=np.array([10**6])),
        lambda meta, arrays: arrays["items_attribute_slopes"].fill(np.nan),
        lambda meta, arrays: arrays.pop("items_attribute_apart"),
        lambda meta, arrays: meta["items_attributes"][0].update(scale="much"),
        lambda meta, arrays: meta["items_attributes"][0].pop("kind"),
    ],
)
def test_files_that_lie_about_attributes_are_refused(model, tmp_path, change):
    model.save(tmp_path / "m.km")
    (tmp_path / "m.km").write_bytes(forged((tmp_path / "m.km").read_bytes(), change))
    with pytest.raises(FileFormatError):
        km.load(tmp_path / "m.km")


def test_what_cannot_be_done_is_told(planted, model):
    table = planted.table()
    plain = fitted(table)
    with pytest.raises(DataError, match=r"no attributes of items. Fit it with them: fit\(X, items=frame\)"):
        copy(plain).update(items=planted.items)
    with pytest.raises(ParameterError, match="attributes for draws"):
        km.KolmogorovModel(4, learn_from="ratings").fit(table, items=planted.items)


def test_yes_and_no(planted, cold):
    table = planted.table(items=cold)
    likes = np.where(table.scale.rating(table.values) >= 4, 1, 0)
    table = km.Observations.from_arrays(table.users.ids[table.user_rows()], table.items.ids[table.item_rows()], likes)
    model = km.BayesianKolmogorovModel(4, likelihood="bernoulli", **SHORT).fit(
        table, users=planted.users, items=planted.items
    )
    found = model.predict_distribution([1] * 20, cold)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    users = np.arange(120)
    chances = planted.chances[:, cold]
    assert np.corrcoef(grid(model, users, cold).ravel(), chances.ravel())[0, 1] > 0.6
