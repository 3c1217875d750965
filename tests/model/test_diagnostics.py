"""Do chains agree: numbers for those who ask, one short line for all others."""

import logging
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import kolmogorov as km
import naive
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.errors import MissingExtraError
from kolmogorov.models.diagnostics import groups_of

CHAINS = {"n_chains": 3, "burn_in": 15, "n_samples": 6, "random_state": 0}
KINDS = {
    "values": {"likelihood": "gaussian"},
    "yes and no": {},
}


@pytest.fixture(scope="module")
def halves(zoo):
    return zoo.split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def models(halves):
    return {name: km.BayesianKolmogorovModel(3, **CHAINS, **options).fit(halves[0]) for name, options in KINDS.items()}


def test_numbers_are_those_of_the_draws(models, halves):
    model = models["values"]
    users, items = halves[1].user_rows()[:20].astype(np.int64), halves[1].item_rows()[:20].astype(np.int64)
    draws = model.posterior_.draws(users, items).T.reshape(3, 6, 20)
    found = model.diagnostics(halves[1], max_entries=20)["prediction"]
    np.testing.assert_allclose(found["rhat"], km.metrics.split_rhat(draws))
    np.testing.assert_allclose(found["ess"], km.metrics.effective_size(draws))


# --- the one line ----------------------------------------------------------------------------------------------------


def test_a_fit_ends_with_one_short_line_and_no_warning(halves, caplog):
    for n_chains, n_samples in ((1, 5), (2, 2), (3, 6)):
        model = km.BayesianKolmogorovModel(6, n_chains=n_chains, burn_in=3, n_samples=n_samples, random_state=0)
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="kolmogorov"), warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(halves[0])
        said = [record.getMessage() for record in caplog.records if "compiling" not in record.getMessage()]
        assert said == [f"6 events, {convergence_of(model.posterior_)}"]
        # Of one chain, or of few draws, nothing is said of how they agree.
        assert (", which " in said[0]) == (n_chains > 1 and n_samples >= 4)


def test_the_line_says_whether_chains_agree(models):
    posterior = models["values"].posterior_
    apart = posterior.theta.copy()
    apart[6:12] = np.roll(apart[6:12], 1, axis=1)
    differ = convergence_of(replace(posterior, theta=apart))
    assert not differ.settled
    once = {"theta": posterior.theta[[0] * 18], "psi": posterior.psi[[0] * 18]}
    same = convergence_of(replace(posterior, **once, priors={}))
    assert same.settled
    # Priors that are fixed within a chain disagree where chains fixed them far apart.
    fixed = convergence_of(replace(posterior, **once, priors={"concentration": np.repeat([1.0, 2.0, 4.0], 6)}))
    assert fixed.disagreeing == ("concentration",)


# --- ArviZ -----------------------------------------------------------------------------------------------------------


def test_what_arviz_is_given(models, halves, monkeypatch):
    given = {}
    tree = SimpleNamespace(map_over_datasets=lambda function: given.update(function.keywords))
    arviz = SimpleNamespace(from_dict=lambda groups, coords, dims: given.update(groups | {"coords": coords}) or tree)
    monkeypatch.setattr("kolmogorov.models.diagnostics.require", lambda *name, **options: arviz)
    posterior, (train, test) = models["values"].posterior_, halves
    models["values"].to_arviz(test, max_entries=7)
    assert given["posterior"]["prediction"].shape == (3, 6, 7)
    assert given["posterior"]["user_noise"].shape == (3, 6, len(given["coords"]["user"]))
    assert all(given["posterior"][name].shape == (3, 6) for name in posterior.priors)
    user, item = test.users.ids[test.user_rows()[0]], test.items.ids[test.item_rows()[0]]
    assert given["coords"]["entry"][0] == f"{user}, {item}"
    assert given["whose"]["of_item"][0] == item
    for side, ids in (("user", train.users.ids[train.user_rows()]), ("item", train.items.ids[train.item_rows()])):
        counted = dict(zip(*np.unique(ids, return_counts=True), strict=True))
        assert dict(zip(given["coords"][side], given["constant_data"][f"{side}_answers"], strict=True)) == counted
    np.testing.assert_array_equal(given["observed_data"]["answer"], test.values[:7])


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_likelihood_of_answers_is_that_of_the_slow_twin(models, halves, kind):
    posterior, test = models[kind].posterior_, halves[1].subset(np.arange(len(halves[1])) < 12)
    rows = (
        posterior.users.translate(test.users)[test.user_rows()],
        posterior.items.translate(test.items)[test.item_rows()],
    )
    found = groups_of(posterior, test, 12)["log_likelihood"]["answer"].reshape(-1, 12)
    np.testing.assert_allclose(found, naive.answer_logs(posterior, *rows, test.values), rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def noisy():
    """A model of answers with noise, with as many draws as ArviZ's estimates of tails need, and what was held out."""
    truth = km.datasets.planted(n_users=60, n_items=20, n_events=3, n_observations=700, noise=0.1, random_state=0)
    train, test = truth.observations.split(test_size=0.2, random_state=0)
    return km.BayesianKolmogorovModel(3, n_chains=2, burn_in=15, n_samples=40, random_state=0).fit(train), test


@pytest.mark.filterwarnings("ignore")
def test_arviz_itself(noisy):
    stats = pytest.importorskip("arviz_stats")
    model, test = noisy
    found = model.to_arviz(test, max_entries=7)
    assert list(found["posterior"]["prediction"].dims) == ["chain", "draw", "entry"]
    assert list(found["constant_data"]["item_answers"].dims) == ["item"]
    assert np.isfinite(float(stats.loo(found).elpd))
    assert len(stats.summary(found, var_names=["prediction"])) == 7
    assert float(stats.rhat(found)["prediction"].max()) > 0.9
    user, item = test.users.ids[test.user_rows()[0]], test.items.ids[test.item_rows()[0]]
    for group, name in {"posterior": "prediction", "log_likelihood": "answer", "observed_data": "answer"}.items():
        entries = found[group][name]
        both = (entries["of_user"] == user) & (entries["of_item"] == item)
        one = entries.sel(entry=f"{user}, {item}")
        np.testing.assert_array_equal(entries.isel(entry=both).values[..., 0], one.values)


def test_without_arviz_the_command_is_told(models, halves, monkeypatch):
    monkeypatch.setattr("kolmogorov._support.outside.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[arviz\]'"):
        models["values"].to_arviz(halves[1])
