"""Do chains agree: numbers for those who ask, one short line for all others."""

import logging
import sys
import warnings
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import DataError, MissingExtraError, ParameterError
from kolmogorov.sampling.convergence import convergence_of

CHAINS = {"n_chains": 3, "burn_in": 15, "n_samples": 6, "random_state": 0}
KINDS = {
    "values": {"likelihood": "gaussian"},
    "two": {"levels": 2, "likelihood": "gaussian"},
    "yes and no": {},
    "two of yes and no": {"levels": 2},
    "answers": {"likelihood": "categorical"},
}


@pytest.fixture(scope="module")
def halves(zoo):
    return zoo.split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def models(halves):
    return {name: km.BayesianKolmogorovModel(3, **CHAINS, **options).fit(halves[0]) for name, options in KINDS.items()}


def with_priors(model, **priors):
    """The same draws with other numbers of priors, by chain and draw."""
    numbers = {name: np.asarray(values, dtype=float).reshape(-1) for name, values in priors.items()}
    return km.BayesianKolmogorovModel(3)._adopt(replace(model.posterior_, priors=numbers))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_fixed_after_burn_in_is_left_out(models, halves, kind):
    model, posterior = models[kind], models[kind].posterior_
    found = model.diagnostics(halves[1], max_entries=50)
    moving = {
        name
        for name, values in posterior.priors.items()
        if np.ptp(values.reshape(3, 6), axis=1).max() > 1e-12 * np.abs(values).max()
    }
    noise = {"user_noise"} if posterior.likelihood == "gaussian" else set()
    assert set(found) == {"prediction"} | moving | noise
    for name, numbers in found.items():
        assert set(numbers) == {"rhat", "ess"}
        sizes = {"prediction": 50, "user_noise": int(posterior.user_seen.sum())}
        assert numbers["rhat"].shape == numbers["ess"].shape == (sizes.get(name, 1),)
        finite = numbers["rhat"][np.isfinite(numbers["rhat"])]
        assert (finite < 1e3).all()
        assert (numbers["ess"] > 0).all()


def test_numbers_are_those_of_the_draws(models, halves):
    model = models["values"]
    users, items = halves[1].user_rows()[:20].astype(np.int64), halves[1].item_rows()[:20].astype(np.int64)
    draws = model.posterior_.draws(users, items).T.reshape(3, 6, 20)
    found = model.diagnostics(halves[1], max_entries=20)["prediction"]
    np.testing.assert_allclose(found["rhat"], km.metrics.split_rhat(draws))
    np.testing.assert_allclose(found["ess"], km.metrics.effective_size(draws))


def test_a_number_that_is_constant_within_chains_has_no_rhat(models, halves):
    rng = np.random.default_rng(0)
    model = with_priors(
        models["values"],
        fixed=np.repeat([1.0, 2.0, 3.0], 6),
        almost=np.repeat([1.0, 2.0, 3.0], 6) * (1 + 1e-15 * rng.random(18)),
        same=np.ones(18),
        moving=rng.random(18) + 1,
        moving_in_one=np.concatenate([np.ones(12), rng.random(6) + 1]),
    )
    found = model.diagnostics(halves[1], max_entries=5)
    assert set(found) == {"prediction", "moving", "moving_in_one", "user_noise"}
    assert np.isfinite(found["moving"]["rhat"]).all()


def test_diagnostics_need_some_draws(halves):
    short = km.BayesianKolmogorovModel(2, n_chains=2, burn_in=2, n_samples=3, random_state=0).fit(halves[0])
    with pytest.raises(DataError, match="at least 4 draws of each chain; raise n_samples"):
        short.diagnostics(halves[1])
    with pytest.raises(ParameterError, match="'max_entries' must be an integer >= 1"):
        short.diagnostics(halves[1], max_entries=0)


# --- the one line ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_chains", "n_samples"), [(1, 5), (2, 2), (3, 6)])
def test_a_fit_ends_with_one_short_line_and_no_warning(halves, caplog, n_chains, n_samples):
    model = km.BayesianKolmogorovModel(6, n_chains=n_chains, burn_in=3, n_samples=n_samples, random_state=0)
    with caplog.at_level(logging.INFO, logger="kolmogorov"), warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(halves[0])
    said = [record.getMessage() for record in caplog.records if "compiling" not in record.getMessage()]
    assert said == [convergence_of(model.posterior_).line]
    assert len(said[0]) < 100
    assert said[0].startswith(f"{n_chains} chain{'s' if n_chains > 1 else ''} of {n_samples} draws")
    # Of one chain, or of few draws, nothing is said of how they agree.
    assert (", which " in said[0]) == (n_chains > 1 and n_samples >= 4)


def test_the_line_says_whether_chains_agree(models):
    posterior = models["values"].posterior_
    apart = posterior.theta.copy()
    apart[6:12] = np.roll(apart[6:12], 1, axis=1)
    differ = convergence_of(replace(posterior, theta=apart))
    assert not differ.settled
    assert differ.line == "3 chains of 6 draws, which found different solutions; averages are usable, rules may not be"
    assert "R-hat is above 1.1" in str(differ)
    once = {"theta": posterior.theta[[0] * 18], "psi": posterior.psi[[0] * 18]}
    same = convergence_of(replace(posterior, **once, priors={}))
    assert same.settled
    assert same.line == "3 chains of 6 draws, which agree"
    # Priors that are fixed within a chain disagree where chains fixed them far apart.
    fixed = convergence_of(replace(posterior, **once, priors={"concentration": np.repeat([1.0, 2.0, 4.0], 6)}))
    assert fixed.disagreeing == ("concentration",)
    assert "their concentration is 1, 2, 4" in str(fixed)


# --- ArviZ -----------------------------------------------------------------------------------------------------------


class InferenceData:
    pass


def of_names(posterior=None, *, posterior_predictive=None, coords=None, dims=None):
    """As in versions before 1."""
    return ("by names", posterior, posterior_predictive)


def of_groups(data, *, name=None, sample_dims=None, coords=None, dims=None):
    """As from version 1 on."""
    return ("in one", data, name)


@pytest.mark.parametrize("version", ["0.23", "1.0"])
def test_arviz_of_either_signature(models, halves, monkeypatch, version):
    fake = ModuleType("arviz")
    fake.__spec__ = ModuleSpec("arviz", None)
    fake.__version__ = version
    if version < "1":
        fake.InferenceData = InferenceData
    fake.from_dict = of_names if version < "1" else of_groups
    monkeypatch.setitem(sys.modules, "arviz", fake)
    way, groups, rest = models["values"].to_arviz(halves[1], max_entries=7)
    assert rest is None
    assert way == ("by names" if version < "1" else "in one")
    posterior = groups if version < "1" else groups["posterior"]
    assert version < "1" or list(groups) == ["posterior"]
    assert posterior["prediction"].shape == (3, 6, 7)
    assert posterior["user_noise"].shape[:2] == (3, 6)
    assert set(models["values"].posterior_.priors) <= set(posterior)


def test_arviz_itself(models, halves):
    arviz = pytest.importorskip("arviz", reason="the extra 'arviz' is not installed")
    found = models["values"].to_arviz(halves[1], max_entries=7)
    shape = found["posterior"]["prediction"].shape
    assert shape == (3, 6, 7)
    assert float(arviz.rhat(found)["prediction"].max()) > 0.9


def test_without_arviz_the_command_is_told(models, halves, monkeypatch):
    monkeypatch.setattr("kolmogorov._support.optional.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[arviz\]'"):
        models["values"].to_arviz(halves[1])
