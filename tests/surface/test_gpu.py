"""Lists of single models and draws from a GPU, against those of threads."""

import numpy as np
import pytest

import kolmogorov as km
from helpers import emulation
from helpers.planned import planned
from kolmogorov import Observations
from kolmogorov.draws.posterior import low_quantile
from kolmogorov.gpu.cuda import Cuda

CHAINS = {"n_chains": 2, "burn_in": 4, "n_samples": 6, "random_state": 0}
MODELS = {
    "from draws": lambda: km.KolmogorovModel(4, random_state=3),
    "chances": lambda: km.KolmogorovModel(4, psi="soft", random_state=3),
    "draws": lambda: planned(4, likelihood="gaussian", **CHAINS),
    "yes and no, hidden": lambda: planned(4, likelihood="bernoulli", **CHAINS),
}


@pytest.fixture(scope="module")
def split():
    """Ratings in which some items are alike, so that there are ties, and some are held out."""
    rng = np.random.default_rng(0)
    users, items = np.divmod(np.flatnonzero(rng.random(40 * 30) < 0.35), 30)
    values = rng.integers(1, 6, size=users.size) / 5.0
    train, test = Observations.from_arrays(users, items, values, maximum=1.0).split(0.2, random_state=0)
    return train, test


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, split):
    train, test = split
    if request.param.startswith("yes and no"):
        train, test = (
            Observations.from_arrays(t.user_rows(), t.item_rows(), (t.values > 0.5).astype(float)) for t in split
        )
    model = MODELS[request.param]().fit(train)
    if request.param == "yes and no, hidden":
        assert model.posterior_.kind.hidden
    return model, train, test


def on_both(model, cuda, ask):
    """Return what is answered on threads and on the GPU."""
    answers = []
    for execution in (None, cuda):
        model.set_params(execution=execution)
        answers.append(ask(model))
    model.set_params(execution=None)
    return answers


def test_ranking_is_measured_alike(cuda, fitted):
    model, _, test = fitted
    host, gpu = on_both(model, cuda, lambda m: m.evaluate(test, ranking=True, k=5, unknown="ignore"))
    assert gpu == pytest.approx(host, abs=1e-12)


@pytest.mark.parametrize(
    "more", [{}, {"rank": "lower"}, {"rank": "probability"}, {"exclude_seen": False}, {"min_count": 12}, {"n": 30}]
)
def test_lists_are_the_same_ties_included(cuda, fitted, more):
    model, train, _ = fitted
    users = [*train.users.ids.tolist(), 999]
    options = {"n": 5, "unknown": "ignore"} | more
    host, gpu = on_both(model, cuda, lambda m: m._asked(users, **options))
    assert host.keys() == gpu.keys()
    for name in host:
        if host[name].dtype == float:
            np.testing.assert_allclose(gpu[name], host[name], atol=1e-12)
        else:
            np.testing.assert_array_equal(gpu[name], host[name])


def test_few_users_at_a_time(cuda, fitted):
    model, train, _ = fitted
    whole = model.set_params(execution=cuda)._asked(train.users.ids.tolist(), 5)
    parts = model.set_params(execution=Cuda(memory=1))._asked(train.users.ids.tolist(), 5)
    model.set_params(execution=None)
    for name in whole:
        if whole[name].dtype == float:
            np.testing.assert_allclose(whole[name], parts[name], atol=1e-12)
        else:
            np.testing.assert_array_equal(whole[name], parts[name])


@pytest.mark.parametrize(("draws", "level"), [(1, 0.1), (2, 0.1), (9, 0.1), (40, 0.1), (40, 0.5), (150, 0.5)])
def test_low_quantiles(draws, level):
    said = np.random.default_rng(draws).random((draws, 3, 7)).round(2)
    expected, found = np.empty((3, 7)), np.full((3, 7), np.nan)
    low_quantile(said, level, expected)
    place = level * (draws - 1)
    kernel = emulation.function("lists.cu", "low_quantile", KEPT=min(int(place) + 2, draws))
    kernel((3,), (8,), (np.int64(21), np.int32(draws), np.float64(place), said, found))
    np.testing.assert_allclose(found, np.quantile(said, level, axis=0), atol=1e-15)
    np.testing.assert_allclose(found, expected, atol=1e-15)
