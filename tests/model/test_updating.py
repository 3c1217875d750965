"""Models that go on learning: nothing changes by nothing, the same seed gives the same bits, and users learn."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import DataError, UnknownIdWarning

MODELS = {
    "two": lambda **more: km.KolmogorovModel(4, random_state=0, **more),
    "chances": lambda **more: km.KolmogorovModel(4, psi="soft", learn_from="ratings", random_state=0, **more),
    "rated": lambda **more: km.KolmogorovModel(4, random_state=0, **more),
    "draws": lambda **more: km.BayesianKolmogorovModel(3, n_chains=2, burn_in=20, n_samples=4, random_state=0, **more),
    "lists": lambda **more: km.ListModel(4, ridge=5.0, growth=0.0, balance=0.5, unobserved=0.1, random_state=0, **more),
}


def table(kind, seed=0, n_users=60, n_items=20):
    """A table of two kinds of users, and its last fifth of users as new ones."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    likes = ((users + items) % 2 == 0) ^ (rng.random(users.size) < 0.1)
    if kind == "lists":
        users, items, likes = users[likes], items[likes], likes[likes]
    # Of ratings that are not yes and no, short chains go over the whole table.
    values = 0.1 + 0.8 * likes if kind == "rated" else likes.astype(float)
    first = users < n_users * 4 // 5
    names = np.array([f"u{user:02d}" for user in range(n_users)], dtype=object)[users]
    things = np.array([f"i{item:02d}" for item in range(n_items)], dtype=object)[items]
    parts = [
        km.Observations.from_arrays(names[part], things[part], values[part], minimum=0, maximum=1)
        for part in (first, ~first)
    ]
    return parts


def bits(model):
    arrays = model.fitted_.stored()[1]
    return {name: array.tobytes() for name, array in arrays.items()}


class Fits(dict):
    """Models in files by their names, each with its table and one of new users; fitted when first asked for."""

    def __init__(self, folder):
        self._folder = folder

    def __missing__(self, kind):
        known, new = table(kind)
        path = self._folder / f"{kind}.km"
        MODELS[kind]().fit(known).save(path)
        self[kind] = path, known, new
        return self[kind]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return Fits(tmp_path_factory.mktemp("updating"))


@pytest.mark.parametrize("kind", MODELS)
def test_an_update_with_nothing_changes_no_bit(fitted, kind):
    path, known, _ = fitted[kind]
    model = km.load(path)
    before = bits(model)
    nothing = known.subset(np.zeros(len(known), dtype=bool))
    for change in ((), (known,), (nothing,)):
        assert bits(model.update(*change)) == before


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(fitted, kind):
    path, _, new = fitted[kind]
    found = [bits(km.load(path).set_params(random_state=3, n_jobs=jobs).update(new)) for jobs in (1, 2)]
    assert found[0] == found[1]
    if hasattr(km.load(path), "posterior_") or kind == "rated":
        assert bits(km.load(path).set_params(random_state=4).update(new)) != found[0]


@pytest.mark.parametrize("kind", MODELS)
def test_new_users_are_learned_and_old_ones_stay(fitted, kind):
    path, known, new = fitted[kind]
    model = km.load(path).set_params(random_state=0)
    before = model.predict(known)
    model.update(new)
    assert len(model.users_) == 60
    assert len(model.fitted_.training) == len(known) + len(new)
    model.fitted_.validate()
    # New users say yes to every other item; the model tells which from what they were observed with.
    even, odd = (model.predict(["u58"], [f"i{k:02d}" for k in range(first, 20, 2)]).mean() for first in (0, 1))
    assert even > odd + 0.1
    assert np.abs(model.predict(known) - before).mean() < 0.08


@pytest.mark.parametrize("kind", MODELS)
def test_what_is_removed_is_gone(fitted, kind, tmp_path):
    path, known, _ = fitted[kind]
    model = km.load(path).set_params(random_state=0)
    pair = known.users.ids[known.user_rows()[0]], known.items.ids[known.item_rows()[0]]
    model.update(remove=[pair], forget=["u05"])
    assert "u05" not in model.users_.ids
    training = model.fitted_.training
    left = set(zip(training.users.ids[training.user_rows()], training.items.ids[training.item_rows()], strict=True))
    assert pair not in left
    assert len(left) == len(known) - 1 - int((known.users.ids[known.user_rows()] == "u05").sum())
    model.save(tmp_path / "after.km")
    assert b"u05" not in (tmp_path / "after.km").read_bytes()
    assert bits(km.load(tmp_path / "after.km")) == bits(model)


@pytest.mark.parametrize("kind", ["two", "rated", "draws"])
def test_a_correction_moves_what_it_corrects(fitted, kind):
    path, known, _ = fitted[kind]
    model = km.load(path).set_params(random_state=0)
    users, items = known.users.ids[known.user_rows()], known.items.ids[known.item_rows()]
    mine = users == "u07"
    turned = km.Observations.from_arrays(users[mine], items[mine], 1.0 - known.values[mine], minimum=0, maximum=1)
    before = model.predict(turned)
    model.update(turned)
    assert len(model.fitted_.training) == len(known)
    assert np.abs(model.predict(turned) - turned.values).mean() < np.abs(before - turned.values).mean() - 0.1


def test_small_changes_add_up_until_chains_go_over_the_whole_table(fitted, tmp_path):
    path, known, _ = fitted["rated"]
    model = km.load(path).set_params(random_state=0)
    theta = model.theta_.copy()
    user, item = known.users.ids[known.user_rows()[0]], known.items.ids[known.item_rows()[0]]
    others = model.users_.ids != user
    needed = int(np.ceil(0.01 * len(known)))
    assert needed > 2
    for k in range(needed):
        assert np.array_equal(model.theta_[others], theta[others])
        assert model.fitted_.n_changed == k
        model.save(tmp_path / "model.km")
        model = km.load(tmp_path / "model.km").set_params(random_state=0)
        model.update(km.Observations.from_arrays([user], [item], [0.2 + 0.1 * k], minimum=0, maximum=1))
    assert model.fitted_.n_changed == 0
    assert (model.theta_[others] != theta[others]).any(axis=1).sum() > 20


def test_an_update_of_draws_says_that_it_fits_again(fitted, caplog):
    path, _, new = fitted["draws"]
    with caplog.at_level("INFO", logger="kolmogorov"):
        km.load(path).update(new)
    assert "Fitting the 2 chains again, each from its last draw." in caplog.messages


def test_what_does_not_fit_is_said(fitted):
    path, _, _new = fitted["draws"]
    model = km.load(path)
    before = model.fitted_
    with pytest.raises(
        DataError, match="The draws are of likelihood 'bernoulli', which does not go with the new ratings"
    ):
        model.update(km.Observations.from_arrays(["u01"], ["i01"], [0.5], maximum=1))
    with pytest.raises(DataError, match="update takes Observations, got list"):
        model.update([1, 2])
    with pytest.raises(DataError, match="'remove' must be pairs of a user and an item"):
        model.update(remove=["u01"])
    with pytest.warns(UnknownIdWarning, match="1 rating or user to remove: the model has no such rating"):
        model.update(remove=[("u01", "nothing")])
    with pytest.raises(DataError, match="does not fit into the scale"):
        model.update(km.Observations.from_arrays(["u01"], ["i01"], [4], maximum=5))
    assert model.fitted_ is before
