"""Forged files with right checksums: each is refused with a sentence, or is what it says it is and can be used."""

import numpy as np
import pytest

import kolmogorov as km
from helpers.forgery import mutated
from kolmogorov.errors import FileFormatError

FORGED = 200
POINT = {"n_events": 3, "learn_from": "ratings", "max_iter": 2, "random_state": 0}
CHAINS = {"n_chains": 2, "burn_in": 2, "n_samples": 3, "random_state": 0}
MODELS = {
    "binary": lambda: km.KolmogorovModel(**POINT),
    "chances": lambda: km.KolmogorovModel(**POINT, psi="soft"),
    "draws": lambda: km.BayesianKolmogorovModel(2, **CHAINS),
    "lists": lambda: km.ListModel(random_state=0),
}


@pytest.fixture(scope="module")
def rated():
    rng = np.random.default_rng(1)
    users, items = np.repeat(np.arange(6), 4), np.tile([3, 5, 8, 11], 6)
    table = km.Observations.from_arrays(users, items, rng.integers(1, 6, 24), weights=rng.integers(1, 4, 24), maximum=5)
    return table.with_titles(items={3: "Three", 5: "<script>"})


def check_table(table):
    """Compare both orders of a table with a dictionary."""
    entries, again = {}, {}
    weights = np.ones(len(table)) if table.weights is None else table.weights
    for *pair, value, weight in zip(table.user_rows(), table.item_rows(), table.values, weights, strict=True):
        assert 0 <= pair[0] < table.n_users
        assert 0 <= pair[1] < table.n_items
        assert 0 <= value <= 1
        assert 0 < weight < np.inf
        entries[tuple(pair)] = (value, weight)
    assert len(entries) == len(table) > 0
    view = table.columns
    for item in range(table.n_items):
        for place in range(view.indptr[item], view.indptr[item + 1]):
            weight = view.weights[place] if view.weights.size else 1.0
            again[view.indices[place], item] = (view.values[place], weight)
    assert again == entries


def use(model, folder):
    users, items = model.users_.ids, model.items_.ids
    if not isinstance(model, km.ListModel):
        theta, psi = model.fitted_.theta, model.fitted_.psi
        assert (theta >= 0).all()
        assert np.allclose(theta.sum(axis=-1), 1.0, atol=1e-5)
        assert theta.shape[-2:] == (len(users), psi.shape[-1])
        assert psi.shape[-2] == len(items)
        check_table(model.fitted_.training)
        said = model.predict(users[0], items, output="probability")
        assert ((said >= 0) & (said <= 1)).all()
    model.recommend(users[0], 3)
    model.save(folder / "again")
    assert (folder / "again").stat().st_size > 1000


@pytest.mark.parametrize("name", MODELS)
def test_forged_models_are_refused_or_whole(name, rated, visits, tmp_path):
    MODELS[name]().fit(visits if name == "lists" else rated).save(tmp_path / "honest")
    content, refused = (tmp_path / "honest").read_bytes(), 0
    use(km.load(tmp_path / "honest"), tmp_path)
    for seed in range(FORGED):
        (tmp_path / "forged").write_bytes(mutated(np.random.default_rng(seed), content))
        try:
            model = km.load(tmp_path / "forged")
        except FileFormatError:
            refused += 1
        else:
            use(model, tmp_path)
    assert FORGED / 2 < refused < FORGED
