"""Numbers at their limits: a fit ends with numbers, or with a sentence."""

from dataclasses import replace

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.data.view import View
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.errors import DataError

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
    with pytest.raises(DataError, match="broke down: theta holds a number outside .* Take a smaller scale"):
        broken.checked("Take a smaller scale.")


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
