"""Draws come from the posterior, and what is made of them is what it says."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import naive
from forgery import forged
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, bagged, load
from kolmogorov._support.seeds import row_seeds
from kolmogorov.data.datasets.synthetic import planted
from kolmogorov.data.observations import View
from kolmogorov.errors import ConvergenceWarning, DataError, FileFormatError, ParameterError, UnknownIdError
from kolmogorov.execution import Threads
from kolmogorov.kernels.gibbs import (
    binomial,
    draw_answers,
    draw_bits,
    draw_events,
    draw_simplex,
    gamma,
    truncated_normal,
)
from kolmogorov.metrics import effective_size, split_rhat
from kolmogorov.sampling import chain as chain_module
from kolmogorov.sampling.chain import FLOOR, BernoulliChain, GaussianChain
from kolmogorov.sampling.convergence import convergence_of
from kolmogorov.sampling.dirichlet import redrawn_alpha
from kolmogorov.sampling.priors import ItemPrior

SMALL = {"n_chains": 2, "burn_in": 20, "n_samples": 6, "thin": 2, "random_state": 0}


@pytest.fixture(scope="module")
def ratings():
    return planted(60, 40, 4, n_observations=960, noise=0.1, random_state=0).observations


@pytest.fixture(scope="module")
def model(ratings):
    return BayesianKolmogorovModel(4, **SMALL).fit(ratings)


# --- kernels -------------------------------------------------------------------------------------------------


def seeds(n):
    return row_seeds(7, 0, 0, np.arange(n))


@pytest.mark.parametrize(
    "bounds", [(-1, 1), (-0.1, 5), (0.5, 0.7), (2, 2.5), (4, 9), (-9, -4), (-3, -2.9), (-8, 8), (1, 40)]
)
def test_truncated_normals(bounds):
    state, found = np.uint64(3), []
    for _ in range(4000):
        state, x = truncated_normal(np.uint64(state), float(bounds[0]), float(bounds[1]))
        found.append(x)
    assert min(found) >= bounds[0]
    assert max(found) <= bounds[1]
    assert stats.kstest(found, stats.truncnorm(*bounds).cdf).pvalue > 1e-4


@pytest.mark.parametrize("shape", [0.2, 1.0, 3.7, 50.0])
def test_gamma_numbers(shape):
    state, found = np.uint64(5), []
    for _ in range(4000):
        state, x = gamma(np.uint64(state), shape)
        found.append(x)
    assert stats.kstest(found, stats.gamma(shape).cdf).pvalue > 1e-4


def test_bits_have_their_exact_distribution(rng):
    n, size = 20_000, 3
    theta = rng.dirichlet(np.ones(size), 5)
    values, weights, precision, logit = rng.random(5), 1 + rng.random(5), 9 * rng.random(5), rng.normal(size=size)
    indptr = np.arange(n + 1, dtype=np.int64) * 5
    table = (indptr, np.tile(np.arange(5, dtype=np.int32), n), np.tile(values, n), np.tile(weights, n))
    given = (precision, theta, np.zeros((n, size)), np.tile(logit, (n, 1)))
    out = np.empty((n, size))
    draw_bits(*table, *given, 30, seeds(n), 0, n, out)
    counts = np.bincount((out @ [4, 2, 1]).astype(int), minlength=8)
    heavy = weights * precision
    expected = naive.bit_distribution((theta.T * heavy) @ theta, theta.T @ (heavy * values) + logit)
    assert stats.chisquare(counts, n * expected).pvalue > 1e-4


def test_points_of_the_simplex_have_their_exact_distribution(rng):
    n, size = 4000, 3
    factor = 3.0 * rng.normal(size=(5, size))
    gram, moment = factor.T @ factor, 3.0 * rng.normal(size=size)
    out = np.empty((n, size))
    start = np.full((n, size), 1 / size)
    draw_simplex(np.tile(gram, (n, 1, 1)), np.tile(moment, (n, 1)), start, seeds(n), 40, out)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    assert (out >= 0).all()
    reference = naive.simplex_draws(gram, moment, n, rng)
    for d in range(size):
        assert stats.ks_2samp(out[:, d], reference[:, d]).pvalue > 1e-4


def test_answers_have_their_exact_distribution(rng):
    n, size = 20_000, 3
    theta = rng.dirichlet(np.ones(size), 5)
    values = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    logit = rng.normal(size=size)
    indptr = np.arange(n + 1, dtype=np.int64) * 5
    tables = (indptr, np.tile(np.arange(5, dtype=np.int32), n), np.tile(values, n), np.empty(0))
    psi, out = np.zeros((n, size)), np.empty((n, size))
    for sweep in range(12):
        draw_answers(*tables, theta, psi, np.tile(logit, (n, 1)), 0.05, row_seeds(1, sweep, 0, np.arange(n)), 0, n, out)
        psi = out.copy()
    counts = np.bincount((psi @ [4, 2, 1]).astype(int), minlength=8)
    expected = naive.answer_distribution(theta, values, logit, 0.05)
    assert stats.chisquare(counts, n * expected).pvalue > 1e-4


def test_events_have_their_exact_distribution(rng):
    """Two events, one of which explains both answers: the posterior of theta is a known mixture of Betas."""
    n = 4000
    psi = np.array([[1.0, 0.0], [1.0, 0.0]])
    indptr = np.arange(n + 1, dtype=np.int64) * 2
    tables = (indptr, np.tile(np.arange(2, dtype=np.int32), n), np.ones(2 * n), np.empty(0))
    theta, out = np.full((n, 2), 0.5), np.empty((n, 2))
    alpha, floor = np.array([1.5, 0.7]), 0.1
    for sweep in range(40):
        draw_events(*tables, psi, theta, alpha, floor, row_seeds(2, sweep, 0, np.arange(n)), 0, n, out)
        theta = out.copy()
    grid = (np.arange(20_000) + 0.5) / 20_000
    density = stats.beta(*alpha).pdf(grid) * ((1 - floor) * grid + floor * (1 - grid)) ** 2
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(theta[:, 0], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


# --- the whole sampler: Geweke's joint test --------------------------------------------------------------------


class TinyWorld:
    """A table of 4 × 5 with a hole, whose answers are drawn anew after every sweep."""

    users, items, events, classes = 4, 5, 2, 2
    kind = GaussianChain
    concentration: float | None = 1e-9

    def __init__(self):
        full = Observations.from_dense(np.full((self.users, self.items), 0.5))
        self.table = full.subset(np.arange(20) % 7 != 3)
        self.dealer = Threads(1)
        self.chain = self.kind(
            self.table,
            np.zeros((self.users, 0)),
            n_events=self.events,
            n_classes=self.classes,
            concentration=self.concentration,
            seed=11,
            dealer=self.dealer,
        )
        self.chain.noise_rate = 30.0
        self.start = self.chain.start()

    def prior(self, rng):
        """Draw everything from the prior; with hardly any concentration theta is uniform on the simplex."""
        start = self.start
        frequency = rng.random((self.classes, self.events))
        weights = rng.dirichlet(np.ones(self.classes), start.items.bucket.max() + 1)
        member = np.array([rng.choice(self.classes, p=weights[b]) for b in start.items.bucket])
        scale = rng.gamma(1.0) / self.chain.noise_rate
        return replace(
            start,
            theta=rng.dirichlet(np.ones(self.events), self.users),
            psi=(rng.random((self.items, self.events)) < frequency[member]).astype(float),
            noise=scale / rng.gamma(self.chain.noise_shape, size=self.users),
            items=ItemPrior(start.items.bucket, member, frequency),
            scale=scale,
        )

    def answers(self, link, rng):
        rows, columns = self.table.user_rows(), self.table.item_rows()
        mean = np.einsum("nd,nd->n", link.theta[rows], link.psi[columns])
        return mean + np.sqrt(link.noise[rows]) * rng.normal(size=len(mean))

    def with_answers(self, values):
        view = self.table.rows
        fresh = View(view.indptr, view.indices, values, np.empty(0))
        return Observations(self.table.users, self.table.items, fresh, self.table.scale)

    def functionals(self, link, values):
        chance = (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]
        expected = link.items.frequency[link.items.member]
        return [
            ((link.psi - 0.5) * (expected - 0.5)).mean(),
            ((chance - 0.5) * np.tanh(values - 0.5)).mean(),
            (link.theta**2).mean(),
            link.psi.mean(),
            (link.theta @ link.psi.T).mean(),
            (link.psi[0] * link.psi[1]).mean(),
            np.log(link.noise).mean(),
            np.log(link.scale),
            link.items.frequency.mean(),
            (link.items.member[0] == link.items.member[1]).mean(),
            np.tanh(values).mean(),
            (np.tanh(values) * (link.theta @ link.psi.T).mean()).mean(),
        ]


class YesNoWorld(TinyWorld):
    """The same table with answers yes and no."""

    kind = BernoulliChain
    concentration = None

    def prior(self, rng):
        link = super().prior(rng)
        alpha = rng.exponential(10.0, self.events)
        return replace(link, alpha=alpha, theta=rng.dirichlet(alpha, self.users))

    def answers(self, link, rng):
        chance = (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]
        return (rng.random(len(chance)) < FLOOR + (1 - 2 * FLOOR) * chance).astype(float)

    def functionals(self, link, values):
        chance = (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]
        expected = link.items.frequency[link.items.member]
        return [
            ((link.psi - 0.5) * (expected - 0.5)).mean(),
            ((chance - 0.5) * (values - 0.5)).mean(),
            (link.theta**2).mean(),
            link.psi.mean(),
            (link.psi[0] * link.psi[1]).mean(),
            np.log(link.alpha).mean(),
            (np.log(link.alpha) ** 2).mean(),
            values.mean(),
        ]


def geweke_scores(sweeps, make=TinyWorld):
    """Compare draws from the joint distribution with those of sweeps that alternate with fresh answers."""
    world, rng = make(), np.random.default_rng(5)
    direct = []
    for _ in range(6000):
        link = world.prior(rng)
        direct.append(world.functionals(link, world.answers(link, rng)))
    link = world.prior(rng)
    walked = []
    for index in range(1, sweeps + 1):
        values = world.answers(link, rng)
        world.chain.observations = world.with_answers(values)
        link = world.chain.sweep(link, index, learning=False)
        walked.append(world.functionals(link, values))
    direct, walked = np.array(direct), np.array(walked)
    batches = walked[: sweeps // 50 * 50].reshape(50, -1, walked.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / len(direct) + batches.var(axis=0, ddof=1) / 50)
    return (walked.mean(axis=0) - direct.mean(axis=0)) / error


@pytest.mark.parametrize("make", [TinyWorld, YesNoWorld])
def test_geweke_finds_nothing_wrong(make):
    assert np.abs(geweke_scores(8000, make)).max() < 4.0


def _doubled(alpha, theta, rng, **options):
    """Count every user four times."""
    return _alpha(alpha, np.concatenate([theta] * 4), rng, **options)


def _flipped(indptr, indices, values, weights, *rest):
    return _answers(indptr, indices, 1.0 - values, weights, *rest)


_alpha, _answers = chain_module.redrawn_alpha, chain_module.draw_answers


@pytest.mark.parametrize(("name", "bug"), [("redrawn_alpha", _doubled), ("draw_answers", _flipped)])
def test_geweke_finds_a_wrong_conditional_of_yes_and_no(monkeypatch, name, bug):
    monkeypatch.setattr(chain_module, name, bug)
    assert np.abs(geweke_scores(8000, YesNoWorld)).max() > 5.0


def _flat_odds(indptr, indices, values, weights, precision, theta, psi, logit, *rest):
    return draw_bits(indptr, indices, values, weights, 0.2 * precision, theta, psi, 0.2 * logit, *rest)


def _wide_steps(self, gram, moment, start, seeds):
    return _points(self, 0.5 * gram, 0.5 * moment, start, seeds)


_points = chain_module.SimplexSampler._solve_batch


@pytest.mark.parametrize("bug", ["bits", "simplex", "noise", "classes"])
def test_geweke_finds_a_wrong_conditional(monkeypatch, bug):
    if bug == "bits":
        monkeypatch.setattr(chain_module, "draw_bits", _flat_odds)
    elif bug == "simplex":
        monkeypatch.setattr(chain_module.SimplexSampler, "_solve_batch", _wide_steps)
    elif bug == "noise":
        right = GaussianChain._residuals
        monkeypatch.setattr(GaussianChain, "_residuals", lambda *a: (right(*a)[0], 2.0 * right(*a)[1]))
    else:
        right = ItemPrior.redrawn
        monkeypatch.setattr(ItemPrior, "redrawn", lambda self, psi, rng: right(self, 1.0 - psi, rng))
    assert np.abs(geweke_scores(5000)).max() > 5.0


# --- the estimator -----------------------------------------------------------------------------------------------


def test_same_bits_on_any_number_of_threads(ratings, model):
    again = BayesianKolmogorovModel(4, **SMALL, n_jobs=1).fit(ratings)
    assert (again.posterior_.theta == model.posterior_.theta).all()
    assert (again.posterior_.psi == model.posterior_.psi).all()
    other = BayesianKolmogorovModel(4, **{**SMALL, "random_state": 1}).fit(ratings)
    assert (other.posterior_.theta != model.posterior_.theta).any()


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_draws_are_models(zoo, likelihood):
    posterior = BayesianKolmogorovModel(3, likelihood=likelihood, **SMALL).fit(zoo).posterior_
    assert posterior.n_draws == 12
    assert posterior.n_chains == 2
    np.testing.assert_allclose(posterior.theta.sum(axis=2), 1.0)
    assert (posterior.theta >= 0).all()
    assert posterior.psi.dtype == bool


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_predictions_are_means_over_draws(zoo, likelihood):
    model = BayesianKolmogorovModel(3, likelihood=likelihood, **SMALL).fit(zoo)
    posterior = model.posterior_
    floor = FLOOR if likelihood == "bernoulli" else 0.0
    draws = floor + (1 - 2 * floor) * np.einsum("kud,kid->kui", posterior.theta, posterior.psi)
    mean, deviation = model.predict(zoo, return_std=True)
    rows, columns = zoo.user_rows(), zoo.item_rows()
    np.testing.assert_allclose(mean, draws.mean(axis=0)[rows, columns], atol=1e-6)
    np.testing.assert_allclose(deviation, draws.std(axis=0)[rows, columns], atol=1e-4)
    low, high = model.predict_interval(zoo, level=0.8, of="probability")
    np.testing.assert_allclose(low, np.quantile(draws, 0.1, axis=0)[rows, columns], atol=1e-6)
    np.testing.assert_allclose(high, np.quantile(draws, 0.9, axis=0)[rows, columns], atol=1e-6)
    np.testing.assert_allclose(model.as_model().predict(zoo), mean, atol=1e-6)
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
    model = BayesianKolmogorovModel(6, n_chains=2, burn_in=60, n_samples=20, thin=2, random_state=0).fit(train)
    assert 0.87 < model.evaluate(test)["coverage_90"] < 0.93


def test_chains_find_what_the_point_estimate_finds():
    """On planted data the draws are at least as good as the best point, and their intervals hold the truth."""
    made = planted(200, 100, 5, n_observations=6000, noise=0.03, random_state=0)
    train, test = made.observations.split(test_size=0.2, random_state=0)
    model = BayesianKolmogorovModel(5, n_chains=2, burn_in=60, n_samples=40, thin=2, random_state=0).fit(train)
    single = KolmogorovModel(5, user_reg=0.3, n_init=3, random_state=0).fit(train)
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


def test_a_chain_ended_early_is_left_out(ratings):
    stop = [(1, 24)]
    model = BayesianKolmogorovModel(4, **SMALL, callback=lambda d: (d.chain, d.sweep) in stop).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (1, 6)
    model = BayesianKolmogorovModel(4, **SMALL, callback=lambda d: d.sweep == 1).fit(ratings)
    assert (model.posterior_.n_chains, model.posterior_.n_draws) == (1, 1)


def test_a_table_that_fits_exactly_keeps_some_noise():
    table = Observations.from_dense(np.tile([1.0, 0.0, 1.0, 0.0, 1.0, 1.0], (8, 1)))
    options = {**SMALL, "burn_in": 300}
    model = BayesianKolmogorovModel(2, likelihood="gaussian", **options).fit(table)
    assert (model.posterior_.noise >= 1e-6).all()


def test_repeated_answers_narrow_the_posterior(rng):
    """With yes/no data a weight of four is the answer given four times."""
    n, alpha, floor = 4000, np.ones(2), 0.2
    psi = np.eye(2)
    indptr = np.arange(n + 1, dtype=np.int64)
    tables = (indptr, np.zeros(n, dtype=np.int32), np.ones(n), np.full(n, 4.0))
    theta, out = np.full((n, 2), 0.5), np.empty((n, 2))
    for sweep in range(40):
        draw_events(*tables, psi, theta, alpha, floor, row_seeds(2, sweep, 0, np.arange(n)), 0, n, out)
        theta = out.copy()
    grid = (np.arange(20_000) + 0.5) / 20_000
    density = ((1 - floor) * grid + floor * (1 - grid)) ** 4
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(theta[:, 0], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4
    table = Observations.from_dense([[1.0, 0.0], [0.0, 1.0]])
    view = table.rows
    half = Observations(
        table.users, table.items, View(view.indptr, view.indices, view.values, np.full(4, 0.5)), table.scale
    )
    with pytest.raises(DataError, match="whole numbers"):
        BayesianKolmogorovModel(2, likelihood="bernoulli").fit(half)


def test_pruning_keeps_a_model(ratings, model):
    whole = model.evaluate(ratings)["rmse"]
    distinct = np.unique(np.concatenate(list(model.posterior_.psi), axis=1), axis=1).shape[1]
    same = model.as_model(n_events=10_000)
    assert same.n_events == distinct
    assert same.evaluate(ratings)["rmse"] == pytest.approx(whole)
    small = model.as_model(n_events=3)
    assert small.n_events == 3
    np.testing.assert_allclose(small.theta_.sum(axis=1), 1.0)
    assert whole < small.evaluate(ratings)["rmse"]


def test_a_killed_fit_goes_on_to_the_same_draws(ratings, model, tmp_path, monkeypatch):
    monkeypatch.setattr("kolmogorov.sampling.sampler._PAUSE", 0.0)
    path = tmp_path / "chains.ckpt"

    class Killed(Exception):
        pass

    def kill(draw):
        if (draw.chain, draw.sweep) == (1, 25):
            raise Killed

    with pytest.raises(Killed):
        BayesianKolmogorovModel(4, **SMALL, checkpoint=path, callback=kill).fit(ratings)
    resumed = BayesianKolmogorovModel(4, **SMALL, checkpoint=path).fit(ratings)
    assert (resumed.posterior_.theta == model.posterior_.theta).all()
    assert (resumed.posterior_.noise == model.posterior_.noise).all()
    with pytest.raises(FileFormatError, match="another fit"):
        BayesianKolmogorovModel(5, **SMALL, checkpoint=path).fit(ratings)


def test_a_callback_watches_and_ends(ratings):
    train, test = ratings.split(test_size=0.2, random_state=0)
    seen = []

    def watch(draw):
        seen.append(draw)
        return draw.chain == 0 and draw.sweep == 24

    model = BayesianKolmogorovModel(4, **SMALL, callback=watch).fit(train, test=test)
    assert seen[-1].rmse is not None
    assert seen[0].rmse is None
    assert model.posterior_.n_draws == 2
    assert model.evaluate(test)["rmse"] == pytest.approx(seen[-1].rmse, abs=1e-6)


def test_saved_and_loaded(model, ratings, tmp_path):
    model.save(tmp_path / "b.km")
    back = load(tmp_path / "b.km")
    assert (back.predict(ratings) == model.predict(ratings)).all()
    assert back.get_params()["n_events"] == 4
    content = bytearray((tmp_path / "b.km").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "b.km").write_bytes(bytes(content))
    with pytest.raises(FileFormatError):
        load(tmp_path / "b.km")


def test_probabilities_of_relations_are_shares_of_draws(model):
    relations = model.relations()
    psi = model.posterior_.psi
    for j, i in itertools.islice(itertools.permutations(range(10), 2), 40):
        share = np.mean([not (draw[j] & ~draw[i]).any() for draw in psi])
        assert relations.probability(*model.items_.ids[[j, i]].tolist()) == pytest.approx(share)
    left, right, share = relations.implications(0.5)
    assert (np.diff(share) <= 0).all()
    assert (share >= 0.5).all()
    np.testing.assert_allclose(relations.probabilities(left, right), share)
    rules = relations.rules(likes=0.5, min_probability=0.5, min_support=0, max_rules=None)
    np.testing.assert_array_equal(rules.probability, share)
    assert "probability" in relations.rules(min_probability=0.5).to_frame().columns


def test_diagnostics(ratings, model):
    found = model.diagnostics(ratings, max_entries=50)
    assert found["prediction"]["rhat"].shape == (50,)
    assert found["user_noise"]["ess"].shape == (60,)
    assert found["concentration"]["rhat"].shape == (1,)


def test_convergence_measures(rng):
    independent = rng.normal(size=(4, 1000, 3))
    assert (split_rhat(independent) < 1.01).all()
    assert (np.abs(effective_size(independent) / 4000 - 1) < 0.25).all()
    sticky = np.zeros((4, 4000))
    for t in range(1, 4000):
        sticky[:, t] = 0.9 * sticky[:, t - 1] + rng.normal(size=4)
    # An AR(1) process with coefficient a has n (1 - a) / (1 + a) effective draws.
    assert effective_size(sticky) == pytest.approx(16_000 * 0.1 / 1.9, rel=0.3)
    assert (split_rhat(independent + np.arange(4)[:, None, None]) > 1.3).all()


def test_unknown_ids_get_the_population(zoo):
    model = BayesianKolmogorovModel(3, **SMALL).fit(zoo)
    assert 0 < model.predict("unicorn", "hair") < 1
    with pytest.raises(UnknownIdError, match="unicorn"):
        model.predict("unicorn", "hair", unknown="error")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_chains": 0}, "n_chains"),
        ({"likelihood": "poisson"}, "likelihood"),
        ({"concentration": -1.0}, "concentration"),
    ],
)
def test_wrong_parameters_are_told(zoo, options, words):
    with pytest.raises(ParameterError, match=words):
        BayesianKolmogorovModel(3, **options).fit(zoo)


def test_wrong_data_are_told(ratings):
    with pytest.raises(DataError, match="0 and 1"):
        BayesianKolmogorovModel(3, likelihood="bernoulli").fit(ratings)
    with pytest.raises(DataError, match="Expected Observations, or a table of numbers"):
        BayesianKolmogorovModel(3).fit({"a": 1})


def test_weights_count_as_repetitions(rng):
    """A weight of two on every answer narrows the posterior as twice the data would."""
    values = rng.random((30, 12))
    plain = Observations.from_dense(values)
    view = plain.rows
    heavy = Observations(
        plain.users, plain.items, View(view.indptr, view.indices, view.values, np.full(360, 8.0)), plain.scale
    )
    spread = [
        BayesianKolmogorovModel(3, **SMALL, concentration=1.0).fit(table).predict(table, return_std=True)[1].mean()
        for table in (plain, heavy)
    ]
    assert spread[1] < spread[0]


def test_a_bag_is_the_mean_of_its_models(zoo):
    base = KolmogorovModel(3, user_reg=0.3)
    bag = bagged(zoo, 4, model=base, random_state=5)
    assert bag.n_events == 12
    parts = [bag.theta_[:, k : k + 3] @ bag.psi_[:, k : k + 3].T for k in range(0, 12, 3)]
    for part in bag.theta_.reshape(zoo.n_users, 4, 3).sum(axis=2).T:
        np.testing.assert_allclose(part, 0.25)
    np.testing.assert_allclose(bag.predict(zoo), sum(parts)[zoo.user_rows(), zoo.item_rows()], atol=1e-12)
    fits = {part.tobytes() for part in parts}
    assert len(fits) == 4
    assert not fits & {p.tobytes() for p in (bagged(zoo, 4, model=base, random_state=6).theta_,)}
    other = bagged(zoo, 4, model=base, bootstrap=True, random_state=5)
    assert np.abs(other.predict(zoo) - bag.predict(zoo)).max() > 1e-3


def test_an_interrupt_during_the_start_of_a_chain_is_not_swallowed(ratings, monkeypatch):
    from kolmogorov.fitting.engine import ThreadedEngine

    right = ThreadedEngine.sweep

    def interrupted(self, state, index, seed):
        if index == 3:
            raise KeyboardInterrupt
        return right(self, state, index, seed)

    monkeypatch.setattr(ThreadedEngine, "sweep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        BayesianKolmogorovModel(4, **SMALL).fit(ratings)


def _cut(name):
    def change(meta, arrays):
        arrays[name] = np.ascontiguousarray(arrays[name][..., :-1])

    return change


def _put(name, number):
    def change(meta, arrays):
        arrays[name].flat[0] = number

    return change


@pytest.mark.parametrize(
    "change",
    [
        *map(_cut, ["theta", "psi", "noise", "alpha", "member", "frequency", "slopes", "theta0", "prior_draws"]),
        *(_put(name, np.nan) for name in ("theta", "psi", "noise", "alpha", "frequency", "slopes", "mean", "theta0")),
        *(_put(name, 0.0) for name in ("noise", "alpha", "noise0")),
        _put("theta", 7.0),
        _put("psi", 0.5),
        _put("psi0", 2),
        _put("member", 10**12),
        _put("bucket", -1),
        lambda meta, arrays: meta["current"].update(scale=-1.0),
        lambda meta, arrays: meta["current"].update(scale="x"),
        lambda meta, arrays: meta["current"].update(concentration=0.0),
        lambda meta, arrays: meta.update(current=None),
        lambda meta, arrays: meta.update(sweep=10**9),
        lambda meta, arrays: meta.update(sweep=2.5),
        lambda meta, arrays: meta.update(chain=1),
        lambda meta, arrays: meta.update(seed=None) or meta.update(chain=-1),
        lambda meta, arrays: meta["priors"].pop(),
        lambda meta, arrays: meta["priors"][0].update(concentration="no"),
        lambda meta, arrays: meta["priors"][0].pop("concentration"),
    ],
)
def test_a_hostile_checkpoint_is_refused(tmp_path, ratings, monkeypatch, change):
    monkeypatch.setattr("kolmogorov.sampling.sampler._PAUSE", 0.0)

    def stop(draw):
        if draw.sweep == 24:
            raise KeyboardInterrupt

    path = tmp_path / "c.ckpt"
    options = SMALL | {"random_state": None}
    with pytest.raises(KeyboardInterrupt):
        BayesianKolmogorovModel(4, **options, checkpoint=path, callback=stop).fit(ratings)
    path.write_bytes(forged(path.read_bytes(), change))
    with pytest.raises(FileFormatError, match="malformed"):
        BayesianKolmogorovModel(4, **options, checkpoint=path).fit(ratings)


# --- weights, concentration, convergence ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p"), [(17, 0.3), (100, 0.01), (1000, 0.5), (10**9, 1e-7)])
def test_binomial_numbers(n, p):
    state, draws = np.uint64(5), []
    for _ in range(4000):
        state, number = binomial(np.uint64(state), n, p)
        draws.append(number)
    exact = stats.binom(n, p)
    # A discrete number is spread evenly over its step of the distribution function.
    places = exact.cdf(np.array(draws) - 1) + np.random.default_rng(0).random(4000) * exact.pmf(draws)
    assert stats.kstest(places, "uniform").pvalue > 1e-4


def test_a_huge_weight_takes_no_longer_and_is_a_certainty(zoo):
    """Answers given a hundred million times: theta is known, and the sweep ends."""
    view = zoo.rows.weighed(np.full(len(zoo), 1e8))
    heavy = Observations(zoo.users, zoo.items, view, zoo.scale)
    model = BayesianKolmogorovModel(3, **SMALL, likelihood="bernoulli").fit(heavy)
    assert np.isfinite(model.predict(zoo)).all()
    assert model.predict(zoo, return_std=True)[1].mean() < 0.2


def test_the_concentration_of_yes_and_no_can_be_given(zoo):
    loose, tight = (
        BayesianKolmogorovModel(3, **SMALL, concentration=value).fit(zoo).posterior_ for value in (0.5, 500.0)
    )
    np.testing.assert_allclose(loose.priors["concentration"], 0.5)
    np.testing.assert_allclose(tight.priors["concentration"], 500.0)
    assert tight.theta.std(axis=1).mean() < 0.5 * loose.theta.std(axis=1).mean()


def test_alpha_with_a_fixed_total_has_its_exact_distribution(rng):
    """Two events: the share of the first has a density that can be written down."""
    theta = rng.dirichlet([3.0, 1.0], 40)
    alpha, shares = np.array([2.0, 2.0]), []
    for _ in range(4000):
        alpha = redrawn_alpha(alpha, theta, rng, total_fixed=True)
        shares.append(alpha[0] / 4.0)
    np.testing.assert_allclose(alpha.sum(), 4.0)
    grid = (np.arange(2000) + 0.5) / 2000
    logs = [stats.dirichlet([4 * g, 4 * (1 - g)]).logpdf(theta.T).sum() for g in grid]
    density = np.exp(np.array(logs) - max(logs))
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(shares[::10], lambda x: np.interp(x, grid, cdf)).pvalue > 1e-4


def test_chains_that_disagree_say_so(ratings):
    with pytest.warns(ConvergenceWarning, match="do not agree: R-hat is above 1.1 for .*more chains"):
        BayesianKolmogorovModel(4, n_chains=3, burn_in=1, n_samples=8, thin=1, random_state=0).fit(ratings)


def test_convergence_is_judged_by_predictions_and_by_priors(model):
    posterior = model.posterior_
    n = posterior.n_draws
    same = replace(posterior, theta=np.tile(posterior.theta[:1], (n, 1, 1)), psi=np.tile(posterior.psi[:1], (n, 1, 1)))
    steady = replace(same, priors={"concentration": np.full(n, 20.0)})
    assert convergence_of(steady).settled
    assert "agree: R-hat of 400 predictions is at most 1.00" in str(convergence_of(steady))
    apart = replace(same, priors={"concentration": np.repeat([20.0, 200.0], n // 2)})
    found = convergence_of(apart)
    assert found.disagreeing == ("concentration",)
    assert "their concentration is 20, 200" in str(found)
