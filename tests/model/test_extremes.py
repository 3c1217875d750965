"""Numbers at their limits: a fit ends with numbers, or with a sentence."""

from dataclasses import replace

import numpy as np
import pytest

import kolmogorov as km
from helpers.processes import printed
from kolmogorov import Observations
from kolmogorov.data.view import View
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.errors import FitError, ParameterError

MODELS = {
    "point": km.KolmogorovModel(3, random_state=0, max_iter=5),
    "chances": km.KolmogorovModel(3, psi="soft", random_state=0, max_iter=5),
    "ratings": km.KolmogorovModel(3, learn_from="ratings", random_state=0, max_iter=5),
    "draws": km.BayesianKolmogorovModel(3, n_chains=2, burn_in=5, n_samples=4, random_state=0),
}


def weighed(table, weights):
    return Observations(
        table.users, table.items, View(table.rows.indptr, table.rows.indices, table.values, weights), table.scale
    )


@pytest.mark.parametrize("weights", ["all", "one", "mixed"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.long("more kinds of models")
def test_large_and_small_weights_end_in_numbers(zoo, name, weights):
    n = len(zoo)
    heavy = {"all": np.full(n, 1e9), "one": np.where(np.arange(n) == 7, 500.0, 1.0), "mixed": np.ones(n)}[weights]
    if weights == "mixed":
        heavy[::2] = 1e-9
    model = MODELS[name].fit(weighed(zoo, heavy))
    assert np.isfinite(model.predict(zoo)).all()
    assert all(np.isfinite(score) for score in model.evaluate(zoo).values())


def test_a_fit_that_breaks_down_says_so(zoo):
    fitted = MODELS["ratings"].fit(zoo).fitted_
    broken = replace(fitted, theta=np.full_like(fitted.theta, np.nan))
    with pytest.raises(FitError, match="broke down: theta holds a number outside .* Take a smaller scale"):
        broken.checked("Take a smaller scale.")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (km.KolmogorovModel(learn_from="ratings", user_reg=1e308), "user_reg"),
        (km.KolmogorovModel(learn_from="ratings", item_reg=2e12), "item_reg"),
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


def of_weights(weights, n_users=12, n_items=8, seed=1):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    values = rng.integers(0, 2, users.size)
    return Observations.from_arrays(users, items, values, weights=weights(rng, users.size), maximum=1)


#: Weights that are allowed and make sums of products singular to working precision, or vanish in a gamma number.
WEIGHTS = {
    "either end": lambda rng, n: np.where(rng.random(n) < 0.5, 1e-9, 1e9),
    "all sizes": lambda rng, n: 10.0 ** rng.uniform(-9.0, 9.0, n),
    "least": lambda rng, n: np.full(n, 1e-9),
}


_LONG = pytest.mark.long("more kinds of models")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "all sizes" else _LONG) for name in WEIGHTS])
@pytest.mark.parametrize("model", [pytest.param(km.KolmogorovModel, marks=_LONG), km.BayesianKolmogorovModel])
@pytest.mark.long("more kinds of models")
def test_draws_end_with_any_weights(model, name):
    """Where they did not, they did not listen to Ctrl-C either: hence a process."""
    code = "import sys, numpy as np, kolmogorov as km; from model.test_extremes import WEIGHTS, of_weights\n"
    code += "table, cls = of_weights(WEIGHTS[sys.argv[2]]), getattr(km, sys.argv[1])\n"
    code += "short = {} if cls is km.KolmogorovModel else {'n_chains': 2, 'burn_in': 20, 'n_samples': 4}\n"
    code += "print(np.isfinite(cls(3, random_state=0, n_jobs=1, **short).fit(table).predict(table)).all())"
    assert printed(code, model.__name__, name)[-1] == "True"


@pytest.mark.parametrize("seed", [1, 6])
def test_more_features_than_items_leave_priors_that_can_be_drawn(seed):
    """Slopes that touch no item grew until their covariance was singular."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((6, 8))
    prior = PsiPrior.start(features, 64, 0.5)
    for _ in range(60):
        prior = prior.learned(rng.standard_normal((6, 64)), np.ones(6, dtype=bool), 0.01, rng)
    assert np.isfinite(prior.slopes).all()
    assert np.linalg.eigvalsh(prior.precision)[0] > 0.0
