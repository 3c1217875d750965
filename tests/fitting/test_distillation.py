"""From many models to one: the completed table, the descent over it, and what new rows are drawn to."""

import itertools
import logging
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov._support.threads import Threads
from kolmogorov.descent import completion, distillation, implicit
from kolmogorov.descent.completion import CompletedTable
from kolmogorov.descent.distillation import CompletionEngine, corners, distilled, places, returning
from kolmogorov.descent.engine import Search, Sweep
from kolmogorov.descent.placing import _pulls, best_pull
from kolmogorov.descent.problem import Problem
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.sampler import SamplingProgress
from kolmogorov.errors import ConvergenceWarning, ParameterError
from kolmogorov.models.metrics import popularity_scores
from kolmogorov.solvers import names, resolve

USUAL = {"binary": "exhaustive", "box": "coordinate"}


def posterior_of(rng, n_users, n_items, n_events, n_draws, kind="gaussian"):
    """Draws that no chain made, of a table of which some rows and columns are empty."""
    values = rng.random((n_users, n_items))
    if kind != "gaussian":
        values = values.round()
    values[rng.random(values.shape) > 0.6] = np.nan
    values[0, :2], values[-1], values[:, -1] = (0.0, 1.0), np.nan, np.nan
    table = Observations.from_dense(values, maximum=1)
    theta = rng.dirichlet(np.full(n_events, 0.4), (n_draws, n_users)).astype(np.float32)
    levels = np.array([0.01, 0.99]) if kind == "two" else np.arange(-4, 9) / 4
    psi = rng.choice(levels, (n_draws, n_items, n_events)).astype(np.float32)
    likelihood = "gaussian" if kind == "gaussian" else "bernoulli"
    noise = rng.uniform(0.01, 0.1, (n_draws, n_users)).astype(np.float32)
    return Posterior(theta, psi, noise, 1, likelihood, table, levels)


posteriors = st.builds(
    lambda seed, *sizes: posterior_of(np.random.default_rng(seed), *sizes),
    st.integers(0, 2**32 - 1),
    st.integers(3, 12),
    st.integers(3, 9),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(["gaussian", "yes/no", "two"]),
)


def dense(drawn):
    """What draws say of every cell on average, one at a time."""
    factors = drawn.factors
    return naive.completed_table(factors.theta, factors.psi, factors.hidden)


def averaged(drawn):
    """The same, where users and items without observations are average ones."""
    users, items, table = drawn.user_seen, drawn.item_seen, dense(drawn)
    table[~users] = table[users].mean(axis=0)
    table[:, ~items] = table[:, items].mean(axis=1, keepdims=True)
    return table


def target_of(many):
    with Threads(1) as dealer:
        return CompletedTable.of(many, dealer)


def weights_of(target):
    return target.user_weights, target.item_weights


def said_by(drawn, rank=160, n_jobs=1):
    """The product of the two matrices that stand for what draws say."""
    with Threads(n_jobs) as dealer:
        left, right = completion.completion(drawn.factors, dealer, rank)
    assert left.shape[1] == right.shape[1] <= max(rank, 160)
    return left @ right.T


def distance(a, b):
    return np.sqrt(((a - b) ** 2).sum())


# --- the completed table ---------------------------------------------------------------------------------------------


@given(posteriors, st.booleans())
@settings(max_examples=40)
def test_a_completion_is_the_mean_of_what_models_say(drawn, unobserved):
    expected = dense(drawn)
    np.testing.assert_allclose(said_by(drawn), expected, atol=2e-6)
    # It is what the draws predict, but for the last cut.
    users, items = (side.ravel() for side in np.indices(expected.shape))
    known, said = drawn.user_seen[users] & drawn.item_seen[items], drawn.at_rows(users, items)
    np.testing.assert_allclose(np.clip(expected.ravel(), 0, 1)[known], said[known], atol=1e-6)
    # Whoever was not seen is average and weighs nothing; others weigh what they are asked for.
    found = target_of(replace(drawn, unobserved=0.1 if unobserved else 0.0).many())
    np.testing.assert_allclose(found.left @ found.right.T, averaged(drawn), atol=2e-6)
    for weights, counts in zip(weights_of(found), (drawn.user_counts, drawn.item_counts), strict=True):
        plain = np.where(counts > 0, 1.0 if unobserved else counts + 10.0, 0.0)
        np.testing.assert_allclose(weights, plain / plain.sum())


def test_a_completion_of_more_rows_and_columns_than_its_rank():
    """Ratings nearly as near as can be; chances, gone through once, as near as random vectors come on average: within a
    root of what half as many could (Halko and others 2011)."""
    drawn = posterior_of(np.random.default_rng(0), 70, 50, 3, 4)
    whole = dense(drawn)
    # Twelve events together: no more rank than that.
    np.testing.assert_allclose(said_by(drawn, 12), whole, atol=1e-6)
    sizes = np.linalg.svd(whole, compute_uv=False)
    for rank in (3, 6, 9):
        best = np.sqrt((sizes[rank:] ** 2).sum())
        assert best - 1e-9 <= distance(said_by(drawn, rank), whole) <= 1.05 * best
    drawn = posterior_of(np.random.default_rng(1), 60, 40, 3, 4, "yes/no")
    whole = dense(drawn)
    sizes, error = np.linalg.svd(whole, compute_uv=False), []
    for rank in (5, 10, 20, 39):
        error.append(distance(said_by(drawn, rank), whole))
        half = rank // 2
        assert error[-1] <= np.sqrt((1 + half / (rank - half - 1)) * (sizes[half:] ** 2).sum())
    assert error == sorted(error, reverse=True)


def test_large_tables_of_chances_are_spanned_by_some_rows_and_columns(monkeypatch):
    """Nearly as well as by all of them, at a number of cells that grows with rows plus columns; the same bits on any
    number of threads."""
    drawn = posterior_of(np.random.default_rng(1), 300, 200, 3, 4, "yes/no")
    whole, cells, normal = dense(drawn), [], completion.ndtr
    sizes = np.linalg.svd(whole, compute_uv=False)
    all_of_it = {rank: said_by(drawn, rank) for rank in (10, 20)}
    monkeypatch.setattr(completion, "_BLOCK", 333)
    assert all(np.array_equal(said_by(drawn, 10, n_jobs), said_by(drawn, 10)) for n_jobs in (2, 3))
    np.testing.assert_allclose(said_by(drawn, 10), all_of_it[10], atol=1e-5)
    monkeypatch.setattr(completion, "CELLS", 100)
    monkeypatch.setattr(completion, "SAMPLE", 80)
    monkeypatch.setattr(completion, "ndtr", lambda said: (cells.append(said.size), normal(said))[1])
    for rank, usual in all_of_it.items():
        cells.clear()
        found = [said_by(drawn, rank, n_jobs) for n_jobs in (1, 3)]
        assert np.array_equal(*found)
        assert sum(cells) == 2 * 4 * 80 * (300 + 200 + 80)
        assert distance(found[0], whole) <= 1.1 * distance(usual, whole)
        assert distance(found[0], whole) <= 3.0 * np.sqrt((sizes[rank:] ** 2).sum())


# --- the descent over it ---------------------------------------------------------------------------------------------


def problem_of(family):
    return Problem(resolve("simplex", "pairwise"), resolve(family, USUAL[family]))


def begun(family, target, many, n_events, dealer):
    """An engine, and where it begins."""
    profiles = target.profiles(corners(places(many, n_events), target.user_weights, n_events))
    engine = CompletionEngine(problem_of(family), target, dealer)
    return engine, engine.first(profiles).state


@given(posteriors, st.sampled_from(list(USUAL)), st.integers(1, 4), st.booleans(), st.integers(0, 99))
@settings(max_examples=60)
def test_a_sweep_says_its_distance_and_never_raises_it(drawn, family, n_events, unobserved, seed):
    many, table, before = replace(drawn, unobserved=0.1 if unobserved else 0.0).many(), averaged(drawn), np.inf
    target = target_of(many)
    with Threads(1) as dealer:
        engine, state = begun(family, target, many, n_events, dealer)
        for index in range(1, 5):
            state, record = engine.sweep(state, index, seed)
            assert (state.theta >= 0).all()
            np.testing.assert_allclose(state.theta.sum(axis=1), 1.0, atol=1e-12)
            assert (np.isin(state.psi, (0.0, 1.0)) if family == "binary" else (state.psi >= 0) & (state.psi <= 1)).all()
            expected = naive.table_distance(table, state.theta, state.psi, *weights_of(target))
            # The ridge that decides events which nobody has is in the objective too, and squares are differences.
            assert record.objective == pytest.approx(expected, abs=1e-6)
            assert record.rmse == pytest.approx(np.sqrt(record.objective))
            assert record.objective <= before + 1e-8
            before = record.objective


@given(posteriors, st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=30)
def test_a_start_lies_at_users_and_does_not_depend_on_the_draws(drawn, n_events, seed):
    rng = np.random.default_rng(seed)
    other = replace(drawn, psi=rng.permuted(drawn.psi), theta=drawn.theta[:, rng.permutation(drawn.training.n_users)])
    found, again = (
        corners(places(many, n_events), target_of(many).user_weights, n_events) for many in (drawn.many(), other.many())
    )
    assert len(found) == n_events
    assert all(0 < len(group) <= drawn.training.n_users for group in found)
    assert all(np.array_equal(*pair) for pair in zip(found, again, strict=True))


def test_a_sweep_with_exact_solvers_is_the_minimum_over_each_block():
    drawn = posterior_of(np.random.default_rng(6), 10, 6, 3, 3)
    target, table = target_of(drawn.many()), averaged(drawn)
    with Threads(1) as dealer:
        engine, start = begun("binary", target, drawn.many(), 3, dealer)
        state, _ = engine.sweep(start, 1, 0)

    def error(psi, item):
        return target.user_weights @ (start.theta @ np.array(psi) - table[:, item]) ** 2

    for item in range(6):
        best = min(error(psi, item) for psi in itertools.product((0.0, 1.0), repeat=3))
        assert error(state.psi[item], item) == pytest.approx(best, abs=1e-7)
    weighted = state.psi * target.item_weights[:, None]
    for user in range(10):
        gram, moment = weighted.T @ state.psi, weighted.T @ table[user]
        best = naive.value(gram, moment, naive.best_on_simplex(gram, moment))
        assert naive.value(gram, moment, state.theta[user]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("family", USUAL)
def test_the_same_bits_on_any_number_of_threads(family):
    many = posterior_of(np.random.default_rng(7), 400, 90, 4, 3).many()
    found = [distilled(many, problem_of(family), Search(5, 0, max_iter=4), 5, n_jobs)[0] for n_jobs in (1, 2, 3)]
    for other in found[1:]:
        for name in ("theta", "psi", "noise", "stability"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(other, name))
        np.testing.assert_array_equal(found[0].user_pull.strength, other.user_pull.strength)
        assert [sweep.objective for sweep in found[0].history] == [sweep.objective for sweep in other.history]


def test_a_model_is_distilled_to_itself_and_a_planted_one_is_recovered():
    """One draw, whose product the same number of events can say exactly; and a whole fit."""
    made = km.datasets.planted(n_users=50, n_items=30, n_events=3, random_state=2)
    truth = {tuple(column) for column in (made.psi > 0).T.tolist()}
    factors = made.theta[None].astype(np.float32), made.psi[None].astype(np.float32)
    noise = np.full((1, 50), 0.01, dtype=np.float32)
    drawn = Posterior(*factors, noise, 1, "gaussian", made.observations, np.array([0.0, 1.0]))
    fitted, _ = distilled(drawn.many(), problem_of("binary"), Search(3, 0, max_iter=30), 3, -1)
    assert np.isnan(fitted.stability).all()
    assert fitted.history[-1].rmse < 1e-3
    assert {tuple(column) for column in fitted.psi.T.tolist()} == truth
    np.testing.assert_allclose(fitted.theta @ fitted.psi.T, made.theta @ made.psi.T, atol=2e-3)
    made = km.datasets.planted(n_users=80, n_items=60, n_events=3, noise=0.02, random_state=2)
    model = KolmogorovModel(3, random_state=0).fit(made.observations)
    assert {tuple(column) for column in model.psi_.T.tolist()} == {tuple(c) for c in (made.psi > 0).T.tolist()}
    assert np.sqrt(((model.theta_ @ model.psi_.T - made.theta @ made.psi.T) ** 2).mean()) < 0.03


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_what_a_fit_says_of_its_distance(psi):
    """`history_` is of the average of the draws, not of the ratings."""
    drawn = BayesianKolmogorovModel(4, n_chains=2, burn_in=10, n_samples=5, random_state=0).fit(stars())
    model, posterior = drawn.as_model(4, psi), drawn.posterior_
    weights = weights_of(target_of(posterior.many()))
    expected = naive.table_distance(averaged(posterior), model.theta_, model.psi_.astype(float), *weights)
    assert model.history_[-1].rmse == pytest.approx(np.sqrt(expected), abs=1e-4)
    reached = [sweep.objective for sweep in model.history_]
    assert all(later <= earlier for earlier, later in itertools.pairwise(reached))
    np.testing.assert_array_equal(drawn.as_model(4, psi).theta_, model.theta_)
    np.testing.assert_allclose(model.fitted_.noise, posterior.answer_variance + model.history_[-1].rmse ** 2)


@given(posteriors.filter(lambda drawn: drawn.likelihood == "bernoulli"))
@settings(max_examples=15)
def test_chances_of_a_yes_are_hedged_by_the_best_share_that_is_tried(drawn):
    target, table, rng = target_of(drawn.many()), averaged(drawn), np.random.default_rng(0)
    theta = rng.dirichlet(np.full(3, 0.1), drawn.training.n_users)
    psi = (rng.random((drawn.training.n_items, 3)) < 0.5).astype(float)
    middle = theta[drawn.user_seen].mean(axis=0)

    def loss(share):
        total = 0.0
        for user in np.flatnonzero(drawn.user_seen):
            mixed = (1 - share) * theta[user] + share * middle
            for item, weight in enumerate(target.item_weights):
                chance, wanted = np.clip(mixed @ psi[item], 1e-6, 1 - 1e-6), np.clip(table[user, item], 0, 1)
                total -= weight * (wanted * np.log(chance) + (1 - wanted) * np.log(1 - chance))
        return total

    share = min(distillation._SHARES, key=loss)
    found = distillation._hedged(theta, psi, target)
    np.testing.assert_allclose(found, (1 - share) * theta + share * middle, atol=1e-12)


# --- events that are found again --------------------------------------------------------------------------------------


def kinds(seed=0, n_kinds=4):
    """Ratings of people of so many kinds, nearly all of one each."""
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.full(n_kinds, 0.1), 300), rng.random((40, n_kinds))
    users, items = np.nonzero(rng.random((300, 40)) < 0.5)
    stars = np.clip(np.rint(1 + 4 * (theta @ psi.T) + rng.normal(0, 0.5, (300, 40))), 1, 5)
    return Observations.from_arrays(users, items, stars[users, items], maximum=5)


def notices(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "kolmogorov"]


def test_events_are_as_many_as_are_found_again(caplog):
    table = kinds()
    caplog.set_level(logging.INFO, logger="kolmogorov")
    for model in [KolmogorovModel(psi="soft", random_state=seed).fit(table) for seed in (0, 1)]:
        assert 3 <= model.theta_.shape[1] <= 6
        assert (model.stability_ >= 0.9).all()
    assert any("events, each found again in both halves of the chains" in words for words in notices(caplog))
    # Another seed finds the same events, which the model said of itself.
    same = [KolmogorovModel(4, psi="soft", random_state=seed).fit(table) for seed in (0, 1)]
    assert returning(same[0].theta_, [model.theta_ for model in same], table.rows.counts, halved=False).min() > 0.9
    # More events than there are kinds of people: some of them are chance.
    caplog.clear()
    model = KolmogorovModel(12, random_state=0).fit(table)
    assert model.stability_.min() < 0.8
    assert any("another sample of the chains has no event" in words for words in notices(caplog))


def test_of_ratings_two_samples_are_compared_on_request():
    table, options = kinds(1), {"learn_from": "ratings", "random_state": 0, "psi": "soft"}
    plain, compared = (KolmogorovModel(4, **options, stability=wanted).fit(table) for wanted in (False, True))
    assert np.isnan(plain.stability_).all()
    np.testing.assert_array_equal(plain.theta_, compared.theta_)
    assert ((compared.stability_ > -1) & (compared.stability_ <= 1)).all()


# --- what new rows are drawn to ---------------------------------------------------------------------------------------

BEST = {"simplex": naive.best_on_simplex, "box": naive.best_in_box, "binary": naive.best_binary}


def moved_by(pull, solver, view, rows, factors, weights, unobserved):
    """How far rows come out from where they are, one row and one partner at a time."""
    total = 0.0
    for row, was in enumerate(rows):
        part = slice(*view.indptr[row : row + 2])
        entries = {int(i): (p, 1.0) for i, p in zip(view.indices[part], view.values[part], strict=True)}
        if entries:
            gram, moment = naive.placed_row(entries, factors, pull.centre, pull.strength, unobserved)
            total += weights @ (factors @ (BEST[solver.family](gram, moment) - was)) ** 2
    return total


@pytest.mark.parametrize("unobserved", [0.0, 0.2])
@pytest.mark.parametrize("family", USUAL)
def test_the_pull_is_the_best_of_those_that_are_tried(family, unobserved):
    rng = np.random.default_rng(9)
    many = posterior_of(rng, 12, 8, 3, 3).many()
    theta, table, target = rng.dirichlet(np.full(3, 0.5), 12), many.training, target_of(many)
    psi = rng.choice({"binary": (0.0, 1.0), "box": np.linspace(0, 1, 9)}[family], (8, 3))
    for solver, view, rows, factors, weights in (
        (resolve("simplex", "active_set"), table.rows, theta, psi, target.item_weights),
        (resolve(family, USUAL[family]), table.columns, psi, theta, target.user_weights),
    ):
        seen, given = view.counts > 0, (solver, view, rows, factors, weights, unobserved)
        assert not seen.all()
        found = best_pull(*given, 1)
        np.testing.assert_allclose(found.centre, rows[seen].mean(axis=0))
        assert np.linalg.eigvalsh(found.strength)[0] > 0
        tried = list(_pulls(found.centre, rows[seen]))
        assert any(np.array_equal(found.strength, pull.strength) for pull in tried)
        least = min(moved_by(pull, *given) for pull in tried)
        assert moved_by(found, *given) <= least * (1 + 1e-4) + 1e-9


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_every_set_has_a_nearest_point(point):
    """Of a mean of feasible points; the simplex and the box hold it themselves."""
    point = np.array(point)
    share = (point + 1e-3) / (point + 1e-3).sum()
    np.testing.assert_array_equal(resolve("simplex", "active_set").nearest(share), share)
    np.testing.assert_array_equal(resolve("box", "coordinate").nearest(point), point)
    for name in names("binary"):
        found = resolve("binary", name).nearest(point)
        assert np.isin(found, (0.0, 1.0)).all()
        np.testing.assert_allclose(np.abs(found - point), np.minimum(point, 1.0 - point), atol=1e-12)


# --- as a user meets it ----------------------------------------------------------------------------------------------


def stars(seed=0, n_users=40, n_items=16, observed=0.6):
    """Ratings from 1 to 5: biases, two tastes, noise."""
    rng = np.random.default_rng(seed)
    score = 3 + rng.normal(0, 0.5, (n_users, 1)) + rng.normal(0, 0.5, (1, n_items))
    score = score + rng.normal(size=(n_users, 2)) @ rng.normal(0, 0.7, (2, n_items))
    score = score + rng.normal(0, 0.7, (n_users, n_items))
    users, items = np.nonzero(rng.random((n_users, n_items)) < observed)
    return Observations.from_arrays(users, items, np.clip(np.rint(score), 1, 5)[users, items], maximum=5)


def clicks(seed=0):
    """Yes and no by tastes."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(150, 2)) @ rng.normal(0, 1.5, (2, 60)) + rng.normal(0, 0.5, (1, 60))
    users, items = np.nonzero(rng.random((150, 60)) < 0.35)
    yes = rng.random((150, 60)) < 1 / (1 + np.exp(-score))
    return Observations.from_arrays(users, items, yes[users, items].astype(float))


def visits(seed=0):
    """Only yes is recorded, of what tastes lead to."""
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.full(5, 0.2), 200), rng.random((90, 5)) < 0.2
    users, items = np.nonzero(rng.random((200, 90)) < 0.6 * theta @ psi.T)
    return Observations.from_arrays(users, items, np.ones(users.size))


@pytest.fixture(scope="module")
def table():
    return stars()


@pytest.mark.long("more kinds of models")
@pytest.mark.parametrize("name", ["stars", "clicks", "zoo"])
def test_one_model_beats_biases_and_with_many_events_is_near_the_draws(name, zoo):
    whole = {"stars": stars(0, 150, 60, 0.35), "clicks": clicks(), "zoo": zoo}[name]
    # The test of a split of the zoo has 300 cells: one says little.
    splits = [whole.split(test_size=0.2, random_state=k) for k in range(5 if name == "zoo" else 1)]

    def error(make):
        return np.mean([make().fit(train).evaluate(test)["rmse"] for train, test in splits])

    biases = np.mean([km.metrics.guess_scores(*split)["user and item biases"]["rmse"] for split in splits])
    drawn = error(lambda: BayesianKolmogorovModel(random_state=0))
    for psi, allowed in (("binary", 1.06), ("soft", 1.04)):
        assert error(lambda psi=psi: KolmogorovModel(psi=psi, random_state=0)) < biases
        assert error(lambda psi=psi: KolmogorovModel(16, psi=psi, random_state=0)) < allowed * drawn


def test_small_tables_are_not_left_in_a_poor_mode():
    """Two kinds of users and of items."""
    rng = np.random.default_rng(0)
    kind, taste = rng.random(12) < 0.5, rng.random(40) < 0.5
    values = np.where(taste[:, None] == kind, 4.5, 1.5) + 0.3 * rng.standard_normal((40, 12))
    values[rng.random(values.shape) < 0.5] = np.nan
    ratings = Observations.from_dense(np.clip(values, 1, 5), minimum=1, maximum=5)
    for seed in range(6):
        train, test = ratings.split(0.2, random_state=seed)
        assert KolmogorovModel(random_state=seed).fit(train).evaluate(test)["rmse"] < 0.2


def test_only_yes_makes_lists_and_is_completed_by_descents():
    """Several, over values that may be any number; one model is then learned from what they say on average."""
    train, test = visits().split(0.2, random_state=0, by="user")
    model = KolmogorovModel(6, psi="soft", unobserved="auto", random_state=0).fit(train)
    assert model.learned_from_ == "draws"
    assert model.evaluate(test, ranking=True)["ndcg"] > 1.5 * popularity_scores(train, test, 10)["ndcg"]
    # A guest who did what somebody did gets about the same list.
    user = int(train.rows.counts.argmax())
    done = train.items.ids[train.rows.indices[slice(*train.rows.indptr[user : user + 2])]]
    mine = model.recommend(train.users.ids[user], n=5)["item"].tolist()
    assert len({*mine} & {*model.recommend(guest=dict.fromkeys(done.tolist(), 1), n=5)["item"].tolist()}) >= 4

    table = visits().subset(visits().user_rows() < 30)
    average, interrupted = implicit.averaged_descents(table, 0.2, 0, 1, lambda sweep: False, keep_interrupted=False)
    assert not interrupted
    np.testing.assert_allclose(average.factors.theta.sum(axis=2), 1.0, atol=1e-9)
    said, done = dense(average), np.zeros((table.n_users, table.n_items), dtype=bool)
    done[table.user_rows(), table.item_rows()] = True
    assert said[done].mean() > said[~done].mean() + 0.1
    model, target = KolmogorovModel(4, psi="soft", unobserved=0.2, random_state=0).fit(table), target_of(average)
    expected = naive.table_distance(target.left @ target.right.T, model.theta_, model.psi_, *weights_of(target))
    assert model.history_[-1].rmse ** 2 == pytest.approx(expected, abs=1e-6)


def fitted(data, on_progress, **options):
    """Fit with a callback; return the model and what it was told."""
    heard = []
    model = KolmogorovModel(3, random_state=0, n_jobs=1, callback=lambda p: (heard.append(p), on_progress(p))[1])
    return model.set_params(**options).fit(data), heard


def test_a_callback_hears_of_both_steps_and_can_end_either(table):
    model, heard = fitted(table, lambda progress: None, max_iter=4)
    first = [type(progress) for progress in heard].index(Sweep)
    assert {type(progress) for progress in heard[:first]} == {SamplingProgress}
    assert model.history_ == heard[first:]
    for kind in (SamplingProgress, Sweep):
        model, heard = fitted(table, lambda progress, kind=kind: isinstance(progress, kind))
        chains = [progress for progress in heard if isinstance(progress, SamplingProgress)]
        # Chains end at the first draw that is kept.
        assert (len(chains) < chains[0].n_chains * chains[0].n_sweeps) == (kind is SamplingProgress)
        assert (model.n_iter_ == 1) == (kind is Sweep)
        assert not model.interrupted_
    # One descent completes a table of yeses, of whose other sweeps nothing is heard, and one sweep goes over it.
    model, heard = fitted(visits(), lambda sweep: True, unobserved="auto")
    assert [sweep.sweep for sweep in heard] == [1, 1]
    assert model.n_iter_ == 1


def interrupting(when):
    def on_progress(progress):
        if when(progress):
            raise KeyboardInterrupt

    return on_progress


def test_ctrl_c_keeps_what_there_is(table):
    def near_the_end(progress):
        return isinstance(progress, SamplingProgress) and progress.sweep == progress.n_sweeps - 5

    with pytest.warns(ConvergenceWarning, match="completed; what was done so far is used"):
        model, _ = fitted(table, interrupting(near_the_end))
    assert model.interrupted_
    said = np.clip(model.theta_ @ model.psi_.T, 0, 1)[table.user_rows(), table.item_rows()]
    np.testing.assert_allclose(model.predict(table, output="probability"), said, atol=1e-9)
    assert model.evaluate(table)["rmse"] < table.values.std()
    with pytest.raises(KeyboardInterrupt):
        fitted(table, interrupting(lambda progress: True))
    with pytest.warns(ConvergenceWarning, match="Interrupted in sweep 3"):
        model, _ = fitted(table, interrupting(lambda p: isinstance(p, Sweep) and p.sweep == 2), tol=0.0)
    assert model.interrupted_
    two, _ = fitted(table, lambda progress: None, tol=0.0, max_iter=2)
    np.testing.assert_array_equal(model.theta_, two.theta_)
    heard = itertools.count(1)
    with pytest.warns(ConvergenceWarning, match="Interrupted while the table was completed"):
        model, _ = fitted(visits(), interrupting(lambda _: next(heard) == 2 * implicit._SWEEPS + 1), unobserved=0.2)
    assert model.interrupted_
    assert len(model.history_) > 0


# --- what is learned from --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"user_reg": 10.0, "item_reg": 0.1},
        {"prior": "uniform"},
        {"keep_better": False},
        {"n_init": 2},
        {"stability": True},
        {"checkpoint": "c.km", "unobserved": 0.2},
    ],
)
def test_parameters_of_a_descent_over_ratings_do_not_choose_it(table, options):
    names = [name for name in options if name != "unobserved"]
    said = f"^For learning from ratings alone: {' and '.join(map(repr, names))}. Set learn_from='ratings'"
    with pytest.raises(ParameterError, match=said):
        KolmogorovModel(3, **options, max_iter=2, random_state=0).fit(table)


def test_more_ratings_than_draws_are_made_of(table, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="kolmogorov")
    monkeypatch.setattr("kolmogorov.models.learning.MOST_RATINGS", len(table) - 1)
    assert KolmogorovModel(3, max_iter=2, random_state=0).fit(table).learned_from_ == "ratings"
    assert any(f"{len(table) - 1:,}" in words for words in notices(caplog))
    monkeypatch.setattr("kolmogorov.models.learning.MOST_RATINGS", len(table))
    assert KolmogorovModel(3, max_iter=2, random_state=0).fit(table).learned_from_ == "draws"


def test_a_default_fit_warns_of_nothing_and_settings_of_its_descent_count(table, caplog, recwarn):
    caplog.set_level(logging.INFO, logger="kolmogorov")
    usual = KolmogorovModel(3, random_state=0).fit(table)
    assert all(re.search("compiling|3 events", words) for words in notices(caplog))
    assert not [warning for warning in recwarn if issubclass(warning.category, km.errors.KolmogorovWarning)]
    solver = resolve("binary", "local_search", n_starts=1)
    other = KolmogorovModel(3, random_state=0, item_solver=solver, user_solver="pairwise").fit(table)
    assert other.history_[-1].rmse < 1.2 * usual.history_[-1].rmse
    assert KolmogorovModel(3, random_state=0, tol=0.0, max_iter=40).fit(table).n_iter_ == 40
