"""What the estimator makes of its draws is what it says."""

import numpy as np
import pytest
from scipy import stats

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov.data.datasets import planted
from kolmogorov.errors import DataError

SMALL = {"n_chains": 2, "burn_in": 20, "n_samples": 6, "random_state": 0}


@pytest.fixture(scope="module")
def ratings():
    return planted(60, 40, 4, n_observations=960, noise=0.1, random_state=0).observations


@pytest.fixture(scope="module")
def model(ratings):
    return BayesianKolmogorovModel(4, **SMALL).fit(ratings)


def test_rating_intervals_are_quantiles_of_the_mixture(ratings, model):
    posterior = model.posterior_
    low, high = model.predict_interval(ratings, level=0.9)
    draws = posterior.draws(ratings.user_rows().astype(np.int64), ratings.item_rows().astype(np.int64))
    spread = np.sqrt(posterior.noise[:, ratings.user_rows()].T)
    for n in range(0, len(ratings), 97):
        for edge, level in ((low[n], 0.05), (high[n], 0.95)):
            p = posterior.scale.probability(edge)
            if 0.0 < p < 1.0:
                assert stats.norm.cdf(p, draws[n], spread[n]).mean() == pytest.approx(level, abs=1e-6)


def test_intervals_hold_what_they_promise():
    """On data made by a model, far from the scale's ends, 90% intervals of new ratings hold about 90%."""
    rng = np.random.default_rng(2)
    chance = rng.dirichlet(np.full(4, 3.0), 300) @ (rng.random((60, 4)) < 0.5).T
    values = np.clip(0.25 + 0.5 * chance + 0.06 * rng.normal(size=chance.shape), 0.0, 1.0)
    values[rng.random(values.shape) < 0.5] = np.nan
    whole = Observations.from_dense(values)
    train, test = whole.split(test_size=0.2, random_state=0)
    model = BayesianKolmogorovModel(6, n_chains=2, burn_in=60, n_samples=20, random_state=0).fit(train)
    assert 0.87 < model.evaluate(test)["coverage_90"] < 0.93


def test_more_events_come_nearer_to_the_average(ratings, model):
    whole = model.predict(ratings)
    distance = []
    for n_events in (1, 3, 9):
        one = model.as_model(n_events)
        assert isinstance(one, KolmogorovModel)
        assert one.theta_.shape[1] == one.n_events == n_events
        assert one.learned_from_ == "draws"
        distance.append(np.sqrt(((one.predict(ratings) - whole) ** 2).mean()))
    assert distance == sorted(distance, reverse=True)
    assert distance[-1] < 0.05


def test_wrong_data_are_told(ratings):
    with pytest.raises(DataError, match="0 and 1"):
        BayesianKolmogorovModel(3, likelihood="bernoulli").fit(ratings)
    with pytest.raises(DataError, match="Expected a table of numbers"):
        BayesianKolmogorovModel(3).fit({"a": 1})
