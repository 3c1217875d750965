"""What the estimator makes of its draws is what it says."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import naive
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov._support.threads import Threads
from kolmogorov.data.datasets import planted
from kolmogorov.data.view import View
from kolmogorov.draws import sampler
from kolmogorov.errors import DataError, ParameterError

SMALL = {"psi": "binary", "n_chains": 2, "burn_in": 20, "n_samples": 6, "random_state": 0}


def drawn(model, table, concentration):
    """Draw as a model would, with a prior of users that is fixed."""
    plan = replace(model._plan(table), concentration=concentration)
    return sampler.drawn(plan, table, 0, Threads(1), lambda progress: False)[0]


def spread_of(posterior):
    """The mean over entries of how far draws differ."""
    training = posterior.training
    return posterior.moments(training.user_rows().astype(np.int64), training.item_rows().astype(np.int64))[1].mean()


@pytest.fixture(scope="module")
def ratings():
    return planted(60, 40, 4, n_observations=960, noise=0.1, random_state=0).observations


@pytest.fixture(scope="module")
def model(ratings):
    return BayesianKolmogorovModel(4, **SMALL).fit(ratings)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_draws_are_models(zoo, likelihood):
    posterior = BayesianKolmogorovModel(3, likelihood=likelihood, **SMALL).fit(zoo).posterior_
    assert posterior.n_draws == 12
    assert posterior.n_chains == 2
    np.testing.assert_allclose(posterior.theta.sum(axis=2), 1.0)
    assert (posterior.theta >= 0).all()
    # With yes and no, no answer is impossible.
    expected = (0.0, 1.0) if likelihood == "gaussian" else (0.01, 0.99)
    assert posterior.levels.tolist() == list(expected)
    assert np.isin(posterior.psi, np.float32(expected)).all()


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_predictions_are_means_over_draws(zoo, likelihood):
    model = BayesianKolmogorovModel(3, likelihood=likelihood, **SMALL).fit(zoo)
    posterior = model.posterior_
    draws = np.einsum("kud,kid->kui", posterior.theta, posterior.psi)
    mean, deviation = model.predict(zoo, return_std=True)
    rows, columns = zoo.user_rows(), zoo.item_rows()
    np.testing.assert_allclose(mean, draws.mean(axis=0)[rows, columns], atol=1e-6)
    np.testing.assert_allclose(deviation, draws.std(axis=0)[rows, columns], atol=1e-4)
    low, high = model.predict_interval(zoo, level=0.8, of="probability")
    np.testing.assert_allclose(low, np.quantile(draws, 0.1, axis=0)[rows, columns], atol=1e-6)
    np.testing.assert_allclose(high, np.quantile(draws, 0.9, axis=0)[rows, columns], atol=1e-6)
    assert model.predict("dove", "eggs") == pytest.approx(
        mean[(rows == zoo.users.encode(["dove"])[0]) & (columns == zoo.items.encode(["eggs"])[0])][0]
    )


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
    model = BayesianKolmogorovModel(6, psi="binary", n_chains=2, burn_in=60, n_samples=20, random_state=0).fit(train)
    assert 0.87 < model.evaluate(test)["coverage_90"] < 0.93


def test_chains_find_what_the_point_estimate_finds():
    """On planted data the draws are at least as good as the best point, and their intervals hold the truth."""
    made = planted(200, 100, 5, n_observations=6000, noise=0.03, random_state=0)
    train, test = made.observations.split(test_size=0.2, random_state=0)
    model = BayesianKolmogorovModel(5, psi="binary", n_chains=2, burn_in=60, n_samples=40, random_state=0).fit(train)
    single = KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=3, random_state=0).fit(train)
    assert model.evaluate(test)["rmse"] < 1.02 * single.evaluate(test)["rmse"]
    truth = (made.theta @ made.psi.T)[test.user_rows(), test.item_rows()]
    low, high = model.predict_interval(test, of="probability")
    assert ((truth >= low) & (truth <= high)).mean() > 0.75


def test_intervals_of_the_unknown_are_wide(ratings):
    keep = ratings.item_rows() < 30
    model = BayesianKolmogorovModel(4, **SMALL).fit(ratings.subset(keep))
    scores = model.evaluate(ratings.subset(~keep))
    assert scores["coverage_90"] > 0.8
    known, unknown = (model.predict(int(u), int(i), return_std=True)[1] for u, i in ((3, 3), (3, 35)))
    assert unknown > known


def test_a_table_that_fits_exactly_keeps_some_noise():
    table = Observations.from_dense(np.tile([1.0, 0.0, 1.0, 0.0, 1.0, 1.0], (8, 1)))
    options = {**SMALL, "burn_in": 300}
    model = BayesianKolmogorovModel(2, likelihood="gaussian", **options).fit(table)
    assert (model.posterior_.noise >= 1e-6).all()


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


def test_one_model_has_the_events_that_were_asked_of_the_draws(ratings):
    """Unless the table chose them: there may be more than anybody reads."""
    asked = BayesianKolmogorovModel(3, **SMALL).fit(ratings)
    assert asked.as_model().theta_.shape[1] == asked._one_model.n_events == 3
    free = BayesianKolmogorovModel(**SMALL).fit(ratings)
    assert free.as_model().theta_.shape[1] == free._one_model.n_events <= 16


def test_probabilities_of_relations_are_shares_of_draws(model):
    relations = model.relations()
    for j, i in itertools.permutations(range(10), 2):
        share = naive.inside_share(model.posterior_.psi, j, i, relations.level)
        assert relations.probability(*model.items_.ids[[j, i]].tolist()) == pytest.approx(share)
    found = relations.implications(0.5)
    share = found["probability"]
    assert (np.diff(share) <= 0).all()
    assert (share >= 0.5).all()
    np.testing.assert_allclose(relations.probabilities(found["antecedent"], found["consequent"]), share)
    rules = relations.rules(supported=False, min_probability=0.5, min_support=0, max_rules=None)
    np.testing.assert_array_equal(rules.probability, share)
    assert "probability" in relations.rules(min_probability=0.5).to_frame().columns


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_chains": 0}, "n_chains"),
        ({"likelihood": "poisson"}, "likelihood"),
        ({"unobserved": -1.0}, "unobserved"),
        ({"psi": "soft"}, "'psi' must be"),
    ],
)
def test_wrong_parameters_are_told(zoo, options, words):
    with pytest.raises(ParameterError, match=words):
        BayesianKolmogorovModel(3, **options).fit(zoo)


def test_wrong_data_are_told(ratings):
    with pytest.raises(DataError, match="0 and 1"):
        BayesianKolmogorovModel(3, likelihood="bernoulli").fit(ratings)
    with pytest.raises(DataError, match="Expected a table of numbers"):
        BayesianKolmogorovModel(3).fit({"a": 1})


def test_weights_count_as_repetitions(rng):
    """A weight of two on every answer narrows the posterior as twice the data would."""
    values = rng.random((30, 12))
    plain = Observations.from_dense(values)
    view = plain.rows
    heavy = Observations(
        plain.users, plain.items, View(view.indptr, view.indices, view.values, np.full(360, 8.0)), plain.scale
    )
    spread = [spread_of(drawn(BayesianKolmogorovModel(3, **SMALL), table, 1.0)) for table in (plain, heavy)]
    assert spread[1] < spread[0]


def test_a_huge_weight_takes_no_longer_and_is_a_certainty(zoo):
    """Answers given a hundred million times: theta is known, and the sweep ends."""
    view = View(zoo.rows.indptr, zoo.rows.indices, zoo.values, np.full(len(zoo), 1e8))
    heavy = Observations(zoo.users, zoo.items, view, zoo.scale)
    model = BayesianKolmogorovModel(3, **SMALL, likelihood="bernoulli").fit(heavy)
    assert np.isfinite(model.predict(zoo)).all()
    assert model.predict(zoo, return_std=True)[1].mean() < 0.2


def test_answers_are_repeated_whole_times():
    table = Observations.from_dense([[1.0, 0.0], [0.0, 1.0]])
    view = table.rows
    half = Observations(
        table.users, table.items, View(view.indptr, view.indices, view.values, np.full(4, 0.5)), table.scale
    )
    with pytest.raises(DataError, match="whole numbers"):
        BayesianKolmogorovModel(2, likelihood="bernoulli").fit(half)
