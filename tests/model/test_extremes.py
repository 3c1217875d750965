"""Numbers at their limits: a fit ends with numbers, or with a sentence."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.errors import FitError, ParameterError
from kolmogorov.fitted.base import checked

MODELS = {
    "point": km.KolmogorovModel(3, random_state=0, max_iter=5),
    "chances": km.KolmogorovModel(3, levels="chances", random_state=0, max_iter=5),
    "ratings": km.KolmogorovModel(3, learn_from="ratings", random_state=0, max_iter=5),
    "factors": km.baselines.MatrixFactorization(3, random_state=0),
    "svdpp": km.baselines.SVDpp(3, random_state=0, n_epochs=10),
    "draws": km.BayesianKolmogorovModel(3, n_chains=2, burn_in=5, n_samples=4, random_state=0),
}


def weighed(table, weights):
    return Observations(table.users, table.items, table.rows.weighed(weights), table.scale)


@pytest.mark.parametrize("weights", ["all", "one", "mixed"])
@pytest.mark.parametrize("name", MODELS)
def test_large_and_small_weights_end_in_numbers(zoo, name, weights):
    n = len(zoo)
    heavy = {"all": np.full(n, 1e9), "one": np.where(np.arange(n) == 7, 500.0, 1.0), "mixed": np.ones(n)}[weights]
    if weights == "mixed":
        heavy[::2] = 1e-9
    model = MODELS[name].fit(weighed(zoo, heavy))
    assert np.isfinite(model.predict(zoo)).all()
    assert all(np.isfinite(score) for score in model.evaluate(zoo).values())


def test_a_weight_in_svdpp_is_so_many_steps(zoo):
    """Answers that weigh a hundred times as much are fitted more closely, and never leapt over."""
    tables = zoo, weighed(zoo, np.full(len(zoo), 100.0))
    light, heavy = (
        km.baselines.SVDpp(3, random_state=0, n_epochs=20).fit(table).evaluate(zoo)["rmse"] for table in tables
    )
    assert heavy < light


def test_a_fit_that_breaks_down_says_so():
    table = Observations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 1e6, 1e6, 3], maximum=1e6)
    with pytest.raises(FitError, match="broke down: .* holds NaN or infinity. Lower 'rate', which is 0.9"):
        km.baselines.SVDpp(3, rate=0.9, n_epochs=50, random_state=0).fit(table)


@pytest.mark.parametrize("name", MODELS)
def test_every_fit_is_checked_at_its_end(zoo, name, monkeypatch):
    """Whatever a model computes goes through one check."""
    seen = []

    def spy(found, *remedy):
        seen.append(found)
        return checked(found, *remedy)

    modules = (
        "model.descent",
        "fitting.distillation.one_model",
        "sampling.drawing",
        "baselines.factorization",
        "baselines.svdpp",
    )
    for module in modules:
        monkeypatch.setattr(f"kolmogorov.{module}.checked", spy)
    model = MODELS[name].fit(zoo)
    assert seen[-1] is model.fitted_


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (km.KolmogorovModel(learn_from="ratings", user_reg=1e308), "user_reg"),
        (km.KolmogorovModel(learn_from="ratings", item_reg=2e12), "item_reg"),
        (km.baselines.MatrixFactorization(reg=1e308), "reg"),
        (km.baselines.SVDpp(rate=1.0), "rate"),
    ],
)
def test_parameters_beyond_all_bounds(zoo, model, words):
    with pytest.raises(ParameterError, match=f"'{words}' must be a number"):
        model.fit(zoo)


def test_the_largest_ridge_fits_and_is_saved(zoo, tmp_path):
    model = km.KolmogorovModel(3, learn_from="ratings", user_reg=1e12, item_reg=1e12, random_state=0, max_iter=3).fit(
        zoo
    )
    model.save(tmp_path / "m.km")
    assert np.isfinite(km.load(tmp_path / "m.km").predict(zoo)).all()
