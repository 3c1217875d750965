"""Models that go on learning: nothing changes by nothing, the same seed gives the same bits, and users learn."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import DataError, UnknownIdWarning

MODELS = {
    "two": lambda: km.KolmogorovModel(4, random_state=0),
    "chances": lambda: km.KolmogorovModel(4, psi="soft", learn_from="ratings", random_state=0),
    "rated": lambda: km.KolmogorovModel(4, random_state=0),
    "draws": lambda: km.BayesianKolmogorovModel(3, n_chains=2, burn_in=20, n_samples=4, random_state=0),
    "lists": lambda: km.ListModel(4, ridge=5.0, growth=0.0, balance=0.5, unobserved=0.1, random_state=0),
}


def halves(kind, n_users=60, n_items=20):
    """A table of two kinds of users, and its last fifth of users as new ones."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    likes = ((users + items) % 2 == 0) ^ (rng.random(users.size) < 0.1)
    if kind == "lists":
        users, items, likes = users[likes], items[likes], likes[likes]
    # Of ratings that are not yes and no, short chains go over the whole table.
    values = 0.1 + 0.8 * likes if kind == "rated" else likes.astype(float)
    names = np.array([f"u{user:02d}" for user in users], dtype=object)
    things = np.array([f"i{item:02d}" for item in items], dtype=object)
    first = users < n_users * 4 // 5
    return [made(names[part], things[part], values[part]) for part in (first, ~first)]


def made(users, items, values):
    return km.Observations.from_arrays(users, items, values, minimum=0, maximum=1)


def bits(model):
    return {name: array.tobytes() for name, array in model.fitted_.stored()[1].items()}


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """A function from a kind to a model from a file, its table and one of new users."""
    folder = tmp_path_factory.mktemp("updating")

    def again(kind, **more):
        known, new = halves(kind)
        path = folder / f"{kind}.km"
        if not path.exists():
            MODELS[kind]().fit(known).save(path)
        return km.load(path).set_params(random_state=0, **more), known, new

    return again


@pytest.mark.parametrize("kind", MODELS)
def test_an_update_with_nothing_changes_no_bit(fits, kind):
    model, known, _ = fits(kind)
    before = bits(model)
    for change in ((), (known,), (known.subset(np.zeros(len(known), dtype=bool)),)):
        assert bits(model.update(*change)) == before


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(fits, kind):
    found = []
    for options in ({"n_jobs": 1}, {"n_jobs": 2}, {"random_state": 4}):
        model, _, new = fits(kind)
        found.append(bits(model.set_params(**options).update(new)))
    assert found[0] == found[1]
    if kind in ("draws", "rated"):
        assert found[2] != found[0]


@pytest.mark.parametrize("kind", MODELS)
def test_new_users_are_learned_and_old_ones_stay(fits, kind):
    model, known, new = fits(kind)
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
def test_what_is_removed_is_gone(fits, kind, tmp_path):
    model, known, _ = fits(kind)
    pair = known.users.ids[known.user_rows()[0]], known.items.ids[known.item_rows()[0]]
    model.update(remove=[pair], forget=["u05"])
    training = model.fitted_.training
    left = set(zip(training.users.ids[training.user_rows()], training.items.ids[training.item_rows()], strict=True))
    assert pair not in left
    assert len(left) == len(known) - 1 - int((known.users.ids[known.user_rows()] == "u05").sum())
    model.save(tmp_path / "after.km")
    assert b"u05" not in (tmp_path / "after.km").read_bytes()
    assert bits(km.load(tmp_path / "after.km")) == bits(model)


@pytest.mark.parametrize("kind", ["two", "rated", "draws"])
def test_a_correction_moves_what_it_corrects(fits, kind):
    model, known, _ = fits(kind)
    users, items = known.users.ids[known.user_rows()], known.items.ids[known.item_rows()]
    mine = users == "u07"
    turned = made(users[mine], items[mine], 1.0 - known.values[mine])
    before = model.predict(turned)
    model.update(turned)
    assert len(model.fitted_.training) == len(known)
    assert np.abs(model.predict(turned) - turned.values).mean() < np.abs(before - turned.values).mean() - 0.1


def test_small_changes_add_up_until_chains_go_over_the_whole_table(fits, tmp_path):
    model, known, _ = fits("rated")
    theta = model.theta_.copy()
    user, item = known.users.ids[known.user_rows()[0]], known.items.ids[known.item_rows()[0]]
    others, needed = model.users_.ids != user, int(np.ceil(0.01 * len(known)))
    assert needed > 2
    for k in range(needed):
        assert np.array_equal(model.theta_[others], theta[others])
        assert model.fitted_.n_changed == k
        model.save(tmp_path / "model.km")
        model = km.load(tmp_path / "model.km").set_params(random_state=0)
        model.update(made([user], [item], [0.2 + 0.1 * k]))
    assert model.fitted_.n_changed == 0
    assert (model.theta_[others] != theta[others]).any(axis=1).sum() > 20


def test_what_does_not_fit_is_said(fits, caplog):
    model, _, new = fits("draws")
    before = model.fitted_
    for change, sentence in (
        ({"observations": km.Observations.from_arrays(["u01"], ["i01"], [0.5], maximum=1)}, "does not go with the new"),
        ({"observations": [1, 2]}, "update takes Observations, got list"),
        ({"remove": ["u01"]}, "'remove' must be pairs of a user and an item"),
        (
            {"observations": km.Observations.from_arrays(["u01"], ["i01"], [4], maximum=5)},
            "does not fit into the scale",
        ),
    ):
        with pytest.raises(DataError, match=sentence):
            model.update(**change)
    with pytest.warns(UnknownIdWarning, match="1 rating or user to remove: the model has no such rating"):
        model.update(remove=[("u01", "nothing")])
    assert model.fitted_ is before
    with caplog.at_level("INFO", logger="kolmogorov"):
        model.update(new)
    assert "Fitting the 2 chains again, each from its last draw." in caplog.messages
