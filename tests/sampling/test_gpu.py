"""Chains on a GPU, whose kernels run on the host here: the draws of chains on threads, to rounding."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.gpu_states import states_of
from helpers.planned import chain_of, planned
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov._support.seeds import generator
from kolmogorov.data.datasets import planted
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.chain import PRIORS
from kolmogorov.draws.priors import pattern_features, redrawn_noise_prior, scored
from kolmogorov.draws.start import FactorChain, plain_start, started
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.gpu import draws as gpu
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.draws import GpuChains
from kolmogorov.gpu.start import FactorDrawing

LEVELS, HIDDEN_LEVELS = np.arange(-5, 11) / 5.0, np.arange(-6, 11) / 4.0


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    theta, x = rng.dirichlet(np.ones(3), size=24), rng.choice(LEVELS, size=(18, 3))
    users, items = np.nonzero(rng.random((24, 18)) < 0.4)
    answers = np.clip((theta @ x.T)[users, items] + 0.1 * rng.standard_normal(len(users)), 0, 1)
    return Observations.from_arrays(users, items, (5 * answers).round(), maximum=5, minimum=0)


def _weighted(table):
    ids = table.users.ids[table.user_rows()], table.items.ids[table.item_rows()]
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(table))
    return Observations.from_arrays(*ids, table.values, weights=weights)


def _chain(table, seed=5, **more):
    return chain_of(table, seed=seed, features=pattern_features(table, 2), **{"n_events": 4, "levels": LEVELS} | more)


@pytest.mark.parametrize(
    ("weighted", "unobserved", "long", "levels"),
    [(False, 0.0, 512, LEVELS), (True, 0.2, 6, LEVELS), (False, 0.0, 512, np.array([0.0, 1.0]))],
)
def test_a_sweep_draws_what_chains_on_threads_do(table, cuda, monkeypatch, weighted, unobserved, long, levels):
    monkeypatch.setattr(gpu, "LONG", long)
    table = _weighted(table) if weighted else table
    chains = [_chain(table, seed, unobserved=unobserved, levels=levels) for seed in (5, 6)]
    states = [chain.sweep(started(chain), 1, learning=True) for chain in chains]
    batch = GpuChains(cuda, chains, states)
    with cuda:
        batch.sweep(2, learning=False)
    for chain, state, mine in zip(chains, states, states_of(batch, states), strict=True):
        yours = chain.sweep(state, 2, learning=False)
        assert np.array_equal(mine.psi, yours.psi)
        np.testing.assert_allclose(mine.theta, yours.theta, atol=1e-5)


@pytest.mark.parametrize(
    ("n_features", "blocks", "unobserved"), [(0, (), 0.0), (2, (), 0.0), (4, (1, 2), 0.0), (2, (), 0.2)]
)
def test_priors_are_learned_as_by_each_chain(table, cuda, n_features, blocks, unobserved):
    features = replace(pattern_features(table, n_features), user_blocks=blocks, item_blocks=blocks)
    given = {"n_events": 4, "levels": LEVELS, "unobserved": unobserved, "features": features}
    chains = [chain_of(table, seed=seed, **given) for seed in (5, 6)]
    states = [chain.sweep(started(chain), 1, learning=True) for chain in chains]
    batch = GpuChains(cuda, chains, states)
    batch.sweep(2, learning=True)
    for chain, state, mine in zip(chains, states, states_of(batch, states), strict=True):
        rng, users = generator(chain.seed, PRIORS, 2), state.theta_prior.fitted(mine.theta, chain.seen_users)
        np.testing.assert_allclose(mine.theta_prior.mean, users.mean, atol=1e-6)
        np.testing.assert_allclose(mine.theta_prior.slopes, users.slopes, atol=1e-6)
        seen = np.flatnonzero(chain.seen_users)
        usual = ((mine.theta_prior.prior_draws - users.centre[np.resize(seen, 256)]) ** 2).sum(axis=1)
        found = ((mine.theta - users.centre)[seen] ** 2).sum(axis=1).mean()
        step = scored(state.theta_prior.concentration, len(seen), found, usual.mean(), usual.var())
        assert mine.theta_prior.concentration == pytest.approx(step, rel=1e-4)
        rate, sums = chain.noise_rate * chain.noise_shape / state.shape, (np.log(mine.noise), 1.0 / mine.noise)
        noise = redrawn_noise_prior(state.shape, rate, len(mine.noise), *(float(each.sum()) for each in sums), rng)
        assert (mine.scale, mine.shape) == pytest.approx(noise, rel=1e-5)
        items = state.psi_prior.learned(mine.psi, chain.seen_items, chain.kind.psi_variance, rng)
        np.testing.assert_allclose(mine.psi_prior.slopes, items.slopes, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(mine.psi_prior.precision, items.precision, rtol=1e-4, atol=1e-3)


def test_noise_is_drawn_given_what_is_left(table, cuda):
    chain = _chain(table, unobserved=0.2)
    state = replace(started(chain), scale=1e6)
    # With so large a scale the gamma number alone is random, and equal for equal residuals; without one it is divided.
    found = []
    for scale in (1e6, 1e-6):
        batch = GpuChains(cuda, [chain], [replace(state, scale=scale)])
        batch.draw_psis(1)
        batch.draw_thetas(1)
        found.append(states_of(batch, [state])[0])
    residual = chain.residuals(found[1].theta, found[1].psi, table.rows)
    drawn = found[0].noise / 1e6
    np.testing.assert_allclose(found[1].noise, np.maximum((1e-6 + 0.5 * residual) * drawn, 1e-6), rtol=1e-3)


def test_noise_is_inverse_gamma(table, cuda):
    chains = [_chain(table, seed) for seed in range(40)]
    state = started(chains[0])
    batch = GpuChains(cuda, chains, [state] * len(chains))
    batch.draw_thetas(1)
    off = []
    for mine in states_of(batch, [state] * len(chains)):
        residual = chains[0].residuals(mine.theta, mine.psi, table.rows)
        shape = state.shape + 0.5 * chains[0].mass
        off.append(((state.scale + 0.5 * residual) / mine.noise - shape) / np.sqrt(shape))
    assert abs(np.mean(off)) < 4.0 / np.sqrt(np.size(off))
    assert 0.8 < np.var(off) < 1.25


def test_what_is_kept_is_what_chains_on_threads_keep(table, cuda):
    chains = [_chain(table, seed) for seed in (5, 6)]
    states = [started(chain) for chain in chains]
    batch = GpuChains(cuda, chains, states)
    for chain, state, mine in zip(chains, states_of(batch, states), batch.kept(), strict=True):
        yours = chain.sample(state)
        for name in ("theta", "psi", "noise"):
            assert np.array_equal(getattr(mine, name), getattr(yours, name))
            assert getattr(mine, name).dtype == getattr(yours, name).dtype
        assert mine.priors == pytest.approx(yours.priors)


SHORT = {
    "n_chains": 3,
    "burn_in": 6,
    "n_samples": 2,
    "thin": 2,
    "random_state": 0,
    "n_features": 2,
}


def test_a_fit_is_the_same_from_run_to_run_and_in_waves(table, cuda, monkeypatch):
    seen, options = [], {"execution": cuda, **SHORT}
    models = [planned(4, callback=seen.append, **options).fit(table), planned(4, **options).fit(table)]
    monkeypatch.setattr(Cuda, "budget", lambda self: 13_000)
    models.append(planned(4, **options).fit(table))
    for other in models[1:]:
        assert np.array_equal(models[0].posterior_.theta, other.posterior_.theta)
        assert np.array_equal(models[0].posterior_.psi, other.posterior_.psi)
    assert [(draw.chain, draw.sweep) for draw in seen] == [(c, s) for s in range(1, 11) for c in range(3)]
    assert models[0].posterior_.n_chains == 3
    assert set(np.unique(models[0].posterior_.psi)) <= set(models[0].posterior_.levels.astype(np.float32))


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_one_model_is_learned_from_draws_of_a_gpu(table, cuda, monkeypatch, psi):
    for name, size in (("SHORT_BURN_IN", 10), ("SHORT_SAMPLES", 5)):
        monkeypatch.setattr(f"kolmogorov.draws.plan.{name}", size)
    seen = []
    options = {"psi": psi, "random_state": 0, "execution": cuda}
    model = KolmogorovModel(3, callback=seen.append, **options).fit(table)
    assert model.learned_from_ == "draws"
    assert [step.chain for step in seen if hasattr(step, "chain")] == [0, 1, 2, 3] * 20
    again = KolmogorovModel(3, **options).fit(table)
    np.testing.assert_array_equal(model.theta_, again.theta_)
    said = (model.theta_[table.user_rows()] * model.psi_[table.item_rows()]).sum(axis=1)
    np.testing.assert_allclose(model.set_params(execution=None).predict(table, output="probability"), said, atol=1e-12)


# --- starts -----------------------------------------------------------------------------------------------------------


class _Nothing:
    """Normal numbers that are all 0."""

    def standard_normal(self, shape):
        return np.zeros(shape)


@pytest.mark.parametrize("long", [512, 4])
def test_factors_are_drawn_around_what_answers_and_priors_say(table, cuda, monkeypatch, long):
    monkeypatch.setattr(gpu, "LONG", long)
    monkeypatch.setattr(gpu, "_SUMMED", 1 << 12)
    table = _weighted(table)
    chains = [_chain(table, seed) for seed in (5, 6)]
    batch = GpuChains(cuda, chains, [plain_start(chain) for chain in chains])
    drawing = FactorDrawing(batch, [FactorChain(chain, np.random.default_rng(k)) for k, chain in enumerate(chains)])
    drawing.random = [_Nothing(), _Nothing()]
    partners, prior = batch.theta.astype(float), [host.factors.prior for host in drawing.hosts]
    drawing.sweep(0)
    for k, noise in enumerate(host.factors.noise for host in drawing.hosts):
        view, own = table.columns, batch.psi[k].astype(float)
        for item in range(table.n_items):
            part = slice(*view.indptr[item : item + 2])
            f, w = partners[k][view.indices[part]], view.weights[part] / noise
            whole = (f.T * w) @ f + prior[k].precision
            mean = np.linalg.solve(whole, (f.T * w) @ view.values[part] + prior[k].precision @ prior[k].centre[item])
            np.testing.assert_allclose(own[item], mean, atol=1e-4)
        view = table.rows
        for user in range(table.n_users):
            part = slice(*view.indptr[user : user + 2])
            y, w = own[view.indices[part]], view.weights[part] / noise
            left = view.values[part] - y[:, 0]
            mean = np.linalg.solve((y[:, 1:].T * w) @ y[:, 1:] + np.eye(3), (y[:, 1:].T * w) @ left)
            np.testing.assert_allclose(batch.theta[k, user], [1.0, *mean], atol=1e-3)


@pytest.mark.parametrize("hidden", [False, True])
def test_factors_settle_where_those_on_threads_do(cuda, hidden):
    truth = planted(60, 40, 4, n_observations=1500, noise=0.05, random_state=1).observations
    ids = truth.user_rows(), truth.item_rows()
    table = Observations.from_arrays(*ids, (truth.values > 0.5).astype(float)) if hidden else truth
    chains = [(_hidden if hidden else _chain)(table, seed) for seed in range(3)]
    hosts = [[FactorChain(chain, np.random.default_rng(chain.seed)) for chain in chains] for _ in range(2)]
    for host in (*hosts[0], *hosts[1]):
        host.n_sweeps = 30
    drawing = FactorDrawing(GpuChains(cuda, chains, [plain_start(chain) for chain in chains]), hosts[1])
    said = [
        np.mean([(one.users @ one.items.T)[ids] for one in found], axis=0)
        for found in ([host.settled() for host in hosts[0]], drawing.settled())
    ]
    assert np.corrcoef(*said)[0, 1] > 0.9
    spread = [np.abs(one - 0.5).mean() for one in said]
    assert spread[1] == pytest.approx(spread[0], rel=0.15)


def test_more_events_than_a_block_has_room_for_are_refused(table, cuda):
    with pytest.raises(ParameterError, match="On a GPU models are drawn with at most 64 events, got 65"):
        BayesianKolmogorovModel(65, execution=cuda).fit(table)


def test_a_gpu_that_is_too_small_is_named(table, cuda, monkeypatch):
    with pytest.raises(ExecutionError, match="takes .* GB of the GPU's memory"):
        planned(4, execution=Cuda(memory=1000), **SHORT).fit(table)


# --- yes and no, behind which ratings are hidden ----------------------------------------------------------------------


def _answers(*, weighted):
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((20, 15)) < 0.4)
    weights = {"weights": rng.choice([0.3, 1, 2.5, 40], size=len(users))} if weighted else {}
    return Observations.from_arrays(users, items, rng.integers(2, size=len(users)), maximum=1, minimum=0, **weights)


def _hidden(table, seed):
    features, options = pattern_features(table, 2), {"likelihood": "bernoulli", "levels": HIDDEN_LEVELS}
    return chain_of(table, seed=seed, features=features, n_events=4, **options)


@pytest.mark.parametrize(("weighted", "long"), [(False, 512), (True, 4), (False, 4)])
def test_a_sweep_of_hidden_ratings_draws_what_chains_on_threads_do(cuda, monkeypatch, weighted, long):
    monkeypatch.setattr(gpu, "LONG", long)
    table = _answers(weighted=weighted)
    chains = [_hidden(table, seed) for seed in (5, 6)]
    states = [chain.sweep(started(chain), 1, learning=True) for chain in chains]
    batch = GpuChains(cuda, chains, states)
    batch.sweep(2, learning=False)
    for k, (chain, state, mine) in enumerate(zip(chains, states, states_of(batch, states), strict=True)):
        rows, columns = chain.hidden_ratings(state, 2)
        np.testing.assert_allclose(batch.users.answers[k], rows.values, atol=1e-5)
        np.testing.assert_allclose(batch.items.answers[k], columns.values, atol=1e-5)
        yours = chain.sweep(state, 2, learning=False)
        assert np.array_equal(mine.psi, yours.psi)
        np.testing.assert_allclose(mine.theta, yours.theta, atol=1e-4)
        np.testing.assert_allclose(mine.noise, NOISE, rtol=1e-6)
    assert set(batch.kept()[0].priors) == {"concentration"}
