"""Where the chains of a fit ended is kept with the model: updates go on from there, and nothing else knows of it."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from kolmogorov.errors import FileFormatError, InvariantError
from kolmogorov.fitted.files import StoredParts
from kolmogorov.fitted.point import Fitted
from kolmogorov.sampling.moving.kept import with_chains
from kolmogorov.surface.saving import write_model


def rated(n_users=40, n_items=15, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    values = np.clip(3 + 1.5 * (-1.0) ** (users + items) + rng.normal(0, 0.5, users.size), 1, 5).round()
    return km.Observations.from_arrays(users, items, values, minimum=1, maximum=5)


def some(users, items, values):
    return km.Observations.from_arrays(users, items, values, minimum=1, maximum=5)


@pytest.fixture(scope="module")
def fresh():
    return km.KolmogorovModel(3, random_state=0).fit(rated())


@pytest.fixture(scope="module")
def path(fresh, tmp_path_factory):
    found = tmp_path_factory.mktemp("kept") / "model.km"
    fresh.save(found)
    return found


@pytest.fixture
def model(path):
    return km.load(path).set_params(random_state=0)


@pytest.fixture(scope="module")
def new():
    more = rated(60, 15, seed=1)
    return more.subset(more.users.ids[more.user_rows()] >= 40)


def bits(model):
    meta, arrays = model.fitted_.stored()
    return meta, {name: array.tobytes() for name, array in arrays.items()}


def test_a_fit_keeps_two_chains_and_a_file_holds_them_exactly(fresh):
    chains = fresh.fitted_.chains
    assert chains.theta.shape[:2] == (2, 40)
    assert chains.psi.shape[:2] == (2, 15)
    same = Fitted.restored(StoredParts(*_parts(fresh.fitted_)))
    same.validate()
    for name in ("theta", "psi", "noise", "levels"):
        assert np.array_equal(getattr(same.chains, name), getattr(chains, name))
    assert {name: list(values) for name, values in same.chains.priors.items()} == {
        name: list(values) for name, values in chains.priors.items()
    }


def _parts(fitted):
    meta, arrays = fitted.stored()
    return meta | {"scale": {"minimum": 1.0, "maximum": 5.0}}, arrays


def test_no_prediction_knows_of_them(model):
    table, without = model.fitted_.training, km.KolmogorovModel(3)
    without._adopt(replace(model.fitted_, chains=None))
    assert np.array_equal(model.predict(table), without.predict(table))
    products = (model.theta_[table.user_rows()] * model.psi_[table.item_rows()]).sum(axis=1)
    assert np.allclose(model.predict(table), np.clip(products, 0.0, 1.0))
    guest = {0: 5, 1: 1}
    assert model.recommend(guest=guest, n=3)["item"].tolist() == without.recommend(guest=guest, n=3)["item"].tolist()


def test_a_model_goes_on_as_well_from_a_file_as_from_memory(fresh, model, new, tmp_path):
    loaded, model = model, copy(fresh)
    for part in (new.subset(new.user_rows() < 10), new.subset(new.user_rows() >= 10)):
        model.update(part)
        loaded.update(part).save(tmp_path / "model.km")
        loaded = km.load(tmp_path / "model.km").set_params(random_state=0)
        assert bits(loaded) == bits(model)


def test_an_update_goes_on_from_them_and_without_them_from_the_model(model, new):
    without = km.KolmogorovModel(3, random_state=0)._adopt(replace(model.fitted_, chains=None))
    model.update(new)
    without.update(new)
    assert not np.array_equal(model.theta_, without.theta_)
    for one in (model, without):
        assert one.fitted_.chains.theta.shape[:2] == (2, 60)
        assert one.fitted_.n_changed == 0
        error = np.abs(one.predict(new) - new.values).mean()
        assert error < np.abs(new.values.mean() - new.values).mean() / 2
    # Chains that began at a model have its events, those of a fit their own number of them.
    assert without.fitted_.chains.n_events == 3


def test_small_changes_add_up_until_the_whole_table_is_gone_over(model, tmp_path):
    known = model.fitted_.training
    theta, chains = model.theta_.copy(), model.fitted_.chains
    user, item = int(known.user_rows()[0]), int(known.item_rows()[0])
    needed = int(np.ceil(0.01 * len(known)))
    assert needed > 2
    for k in range(needed - 1):
        model.update(some([user], [item], [1 + (k + int(known.scale.rating(known.values[0]))) % 5]))
        assert model.fitted_.n_changed == k + 1
        model.save(tmp_path / "model.km")
        model = km.load(tmp_path / "model.km").set_params(random_state=0)
        others = np.arange(40) != user
        assert np.array_equal(model.theta_[others], theta[others])
        assert np.array_equal(model.fitted_.chains.theta, chains.theta)
    before = bits(model)
    assert bits(model.update(known.subset(np.zeros(len(known), dtype=bool)))) == before
    model.update(some([39], [0], [2]) if model.predict([39], [0])[0] > 0.5 else some([39], [0], [4]))
    assert model.fitted_.n_changed == 0
    assert (model.theta_[others] != theta[others]).any(axis=1).sum() > 20


def test_who_leaves_the_model_leaves_the_chains_and_who_comes_is_an_average_one(model):
    before = model.fitted_.chains
    moved = before.carried(np.array([3, -1, 0]), np.array([-1, 2]))
    moved.validate(3, 2)
    assert np.array_equal(moved.theta[:, [0, 2]], before.theta[:, [3, 0]])
    assert np.array_equal(moved.psi[:, 1], before.psi[:, 2])
    assert np.allclose(moved.theta[:, 1], before.theta.mean(axis=1), atol=1e-4)
    model.update(forget=[5])
    model.fitted_.validate()
    assert model.fitted_.chains.theta.shape[1] == 39


def test_those_that_attributes_place_have_a_row_too():
    table = rated()
    groups = pd.DataFrame({"user": range(40), "group": ["even" if k % 2 == 0 else "odd" for k in range(40)]})
    model = km.KolmogorovModel(3, random_state=0).fit(table, users=groups)
    model.fitted_.validate()
    newcomers = pd.DataFrame({"user": [90, 91], "group": ["even", "odd"]})
    known = model.introduce(users=newcomers)
    known.fitted_.validate()
    assert known.fitted_.chains.theta.shape[1] == 42
    known.update(some([90] * 8, range(8), [5, 1] * 4))
    known.fitted_.validate()


def test_chains_that_are_larger_than_the_model_and_those_of_yes_and_no_are_not_kept(model):
    table = model.fitted_.training
    wide = km.BayesianKolmogorovModel(15, n_chains=8, burn_in=2, n_samples=1, random_state=0, likelihood="gaussian")
    drawn = wide.fit(table).fitted_
    assert with_chains(model.fitted_, drawn).chains is None
    zoo = km.KolmogorovModel(3, random_state=0).fit(km.datasets.load("zoo"))
    assert zoo.fitted_.chains is None
    assert not any(name.startswith("chains") for name in zoo.fitted_.stored()[1])


WRONG = {
    "off the simplex": ("chains_theta", lambda a: a + np.uint16(1)),
    "of fewer users": ("chains_theta", lambda a: a[:, :-1]),
    "of other events": ("chains_psi", lambda a: a[:, :, :-1]),
    "of another chain": ("chains_noise", lambda a: a[:1]),
    "no level": ("chains_psi", lambda a: np.full_like(a, 255)),
    "no levels": ("chains_levels", lambda a: a[::-1].copy()),
    "not a number": ("chains_noise", lambda a: np.full_like(a, np.nan)),
    "no noise": ("chains_noise", lambda a: np.zeros_like(a)),
    "an endless prior": ("chains_prior_concentration", lambda a: np.full_like(a, np.inf)),
    "a prior for more chains": ("chains_prior_noise", lambda a: np.repeat(a, 2)),
    "of another type": ("chains_theta", lambda a: a.astype(np.float32)),
    "no chain": ("chains_theta", lambda a: a[:0]),
    "gone": ("chains_prior_noise_shape", None),
}


@pytest.mark.parametrize("kind", WRONG)
def test_chains_of_a_forged_file_are_refused(model, kind, tmp_path):
    meta, arrays = _parts(model.fitted_)
    name, forged = WRONG[kind]
    arrays = dict(arrays)
    before = arrays.pop(name)
    if forged is not None:
        arrays[name] = forged(before)
    write_model(model, tmp_path / "forged.km", meta, arrays)
    with pytest.raises(FileFormatError, match="is malformed"):
        km.load(tmp_path / "forged.km")


def test_counts_and_chains_of_other_models_are_refused(model):
    meta, arrays = _parts(model.fitted_)
    for wrong in (-1, 0, 1.5, True, "many"):
        with pytest.raises(InvariantError, match="n_changed must be a whole number above 0"):
            Fitted.restored(StoredParts(meta | {"n_changed": wrong}, arrays))
    with pytest.raises(InvariantError, match="there are chains, but the model was not learned from draws"):
        replace(model.fitted_, learned_from="ratings").validate()
