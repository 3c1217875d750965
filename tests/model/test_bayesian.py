"""What the estimator makes of its draws is what it says."""

import numpy as np
import pytest
from scipy import stats

import naive
from helpers.forgery import forged
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, load
from kolmogorov.data.view import View
from kolmogorov.errors import DataError, FileFormatError

SMALL = {"n_chains": 2, "burn_in": 30, "n_samples": 5, "random_state": 0}
LIKELIHOODS = ("gaussian", "bernoulli")


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    mean = rng.dirichlet(np.ones(3), 60) @ rng.random((3, 20))
    stars = np.clip(np.rint(5 * mean + 0.7 * rng.normal(size=mean.shape)), 1, 5)
    stars[rng.random(stars.shape) < 0.4] = np.nan
    yes = np.where(np.isnan(stars), np.nan, (stars > 2).astype(float))
    rated = Observations.from_dense(stars, maximum=5)
    return {"gaussian": rated, "bernoulli": Observations.from_dense(yes)}


@pytest.fixture(scope="module")
def models(tables):
    return {name: BayesianKolmogorovModel(4, likelihood=name, **SMALL).fit(table) for name, table in tables.items()}


def rows_of(table):
    return table.user_rows().astype(np.int64), table.item_rows().astype(np.int64)


def test_defaults_suit_the_table(tables):
    for likelihood, ends in (("gaussian", (-4 / 3, 2.4)), ("bernoulli", (-7.25, 8.25))):
        model = BayesianKolmogorovModel(n_chains=1, burn_in=2, n_samples=2, random_state=0).fit(tables[likelihood])
        levels = model.posterior_.levels
        assert model.posterior_.likelihood == likelihood
        assert (levels[0], levels[-1]) == pytest.approx(ends)
        assert model.posterior_.n_events == 10
    with pytest.raises(DataError, match="0 and 1"):
        BayesianKolmogorovModel(3, likelihood="bernoulli").fit(tables["gaussian"])


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_predictions_are_means_over_draws(models, tables, likelihood):
    model, table = models[likelihood], tables[likelihood]
    posterior = model.posterior_
    draws = np.einsum("kud,kid->kui", posterior.theta.astype(float), posterior.psi.astype(float))
    rows = rows_of(table)
    averaged = np.clip(draws.mean(axis=0), 0.0, 1.0)[rows]
    if likelihood == "bernoulli":
        draws = naive.chance_of_yes(draws)
        assert np.abs(draws.mean(axis=0)[rows] - averaged).max() > 0.01
    expected = np.clip(draws.mean(axis=0), 0.0, 1.0)[rows]
    np.testing.assert_allclose(model.predict(table, output="probability"), expected, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(table, output="probability", return_std=True)[1], draws.std(axis=0)[rows], atol=1e-4
    )
    ids = table.users.ids
    whole = np.array([model.posterior_.of_users(np.array([row]))[0] for row in range(len(ids))])
    np.testing.assert_allclose(whole[rows], expected, atol=1e-6)
    np.testing.assert_allclose(model.posterior_.of_users(np.arange(len(ids)))[rows], expected, atol=1e-6)
    user, item = int(rows[0][5]), int(rows[1][5])
    why = model.explain(table.users.ids[user], table.items.ids[item])
    whole = why.base + why.contributions.sum() + why.rest
    assert whole == pytest.approx(np.clip(draws.mean(axis=0)[user, item], 0.0, 1.0), abs=1e-6)
    low, high = model.predict_interval(table)
    said = table.scale.rating(table.values)
    assert ((said >= low - 1e-9) & (said <= high + 1e-9)).mean() > 0.8


def _array(name, value):
    return lambda meta, arrays: arrays.update({name: np.asarray(value)})


def _parameter(name, value):
    return lambda meta, arrays: meta["parameters"].update({name: value})


@pytest.mark.parametrize(
    ("likelihood", "change"),
    [
        ("gaussian", lambda meta, arrays: arrays["psi"].__setitem__((0, 0, 0), 200)),
        ("gaussian", _array("levels", np.arange(16.0)[::-1] / 20)),
        ("gaussian", _array("levels", np.full(16, 0.5))),
        ("gaussian", _array("levels", np.arange(16.0) * 7)),
        ("gaussian", _array("levels", [0.0, np.nan, 1.0])),
        ("gaussian", _array("levels", np.arange(200.0) / 100)),
        ("gaussian", lambda meta, arrays: arrays.pop("levels")),
        ("gaussian", lambda meta, arrays: meta.update(likelihood="poisson")),
        ("gaussian", lambda meta, arrays: meta.update(likelihood="bernoulli")),
        ("gaussian", lambda meta, arrays: meta.update(n_chains=3)),
        ("gaussian", _parameter("psi", "binary")),
        ("bernoulli", _array("levels", np.arange(-9, 12) * 1.5)),
    ],
)
def test_hostile_files_are_refused(models, likelihood, change, tmp_path):
    path = tmp_path / "m.km"
    models[likelihood].save(path)
    path.write_bytes(forged(path.read_bytes(), change))
    with pytest.raises(FileFormatError, match="malformed"):
        load(path)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_new_rows_are_placed_in_the_model_that_draws_are_read_by(models, tables, likelihood):
    model, table = models[likelihood], tables[likelihood]
    theta, psi = model.fold_in(table, side="users"), model.fold_in(table, side="items")
    read = model._one_model
    assert theta.shape == read.theta.shape
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    cells = np.full((table.n_users, table.n_items), np.nan)
    cells[rows_of(table)] = table.scale.rating(table.values)
    np.testing.assert_array_equal(model.transform(cells), theta)
    said = table.scale.rating(np.clip(read.theta @ psi.T, 0.0, 1.0))[rows_of(table)]
    assert np.corrcoef(said, model.predict(table))[0, 1] > 0.7
    assert model.get_feature_names_out().tolist() == [f"event{d}" for d in range(read.n_events)]


def weighing(table, weight):
    """The same answers, each of a weight."""
    view = table.rows
    rows = View(view.indptr, view.indices, view.values, np.full(len(table), weight))
    return Observations(table.users, table.items, rows, table.scale)


def test_weights_are_repeated_answers(tables):
    """With yes and no a weight of eight is the answer given eight times: the posterior narrows."""
    plain, spread = tables["bernoulli"], []
    for weight in (1.0, 8.5):
        model = BayesianKolmogorovModel(3, **SMALL).fit(weighing(plain, weight))
        assert model.posterior_.likelihood == "bernoulli"
        spread.append(model.posterior_.moments(*rows_of(plain))[1].mean())
    assert spread[1] < 0.8 * spread[0]


@pytest.mark.parametrize("weight", [1e-6, 0.3, 2.5])
def test_answers_of_any_weight_place_new_people(models, tables, weight):
    model, table = models["bernoulli"], tables["bernoulli"]
    light = weighing(table.subset(table.user_rows() < 10), weight)
    for side in ("users", "items"):
        assert np.isfinite(model.fold_in(light, side=side)).all()
    assert np.isfinite(model.update(light).predict(table)).all()
    listed = model.recommend(light, n=3)
    assert np.isfinite(listed.select_dtypes("number").to_numpy()).all()


# --- intervals, and the one model -----------------------------------------------------------------------------------


def test_rating_intervals_are_quantiles_of_the_mixture(tables, models):
    ratings, model = tables["gaussian"], models["gaussian"]
    posterior = model.posterior_
    low, high = model.predict_interval(ratings, level=0.9)
    draws = posterior.draws(*rows_of(ratings))
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


def test_more_events_come_nearer_to_the_average(tables, models):
    model, distance = models["gaussian"], []
    whole = model.predict(tables["gaussian"])
    for n_events in (1, 3, 9):
        one = model.as_model(n_events)
        assert isinstance(one, KolmogorovModel)
        assert one.theta_.shape[1] == one.n_events == n_events
        assert one.learned_from_ == "draws"
        distance.append(np.sqrt(((one.predict(tables["gaussian"]) - whole) ** 2).mean()))
    assert distance == sorted(distance, reverse=True)
    assert distance[-1] < 0.25
