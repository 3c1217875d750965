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
from kolmogorov.descent import completion as completed
from kolmogorov.descent import distillation as distilled
from kolmogorov.descent import implicit as only_yes
from kolmogorov.descent.completion import CompletedTable, completion
from kolmogorov.descent.distillation import (
    CompletionEngine,
    corners,
    places,
    returning,
)
from kolmogorov.descent.engine import Search, Sweep
from kolmogorov.descent.fitted import Pull
from kolmogorov.descent.implicit import averaged_descents
from kolmogorov.descent.placing import LearnedRows, _pulls, best_pull
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Problem
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.sampler import SamplingProgress
from kolmogorov.errors import ConvergenceWarning, ParameterError
from kolmogorov.models.metrics import popularity_scores
from kolmogorov.solvers import names, resolve

SMALL = {"n_chains": 2, "burn_in": 10, "n_samples": 5, "random_state": 0}

#: The other solvers take longest to compile.
USUAL, BESIDE = {"auto", "exhaustive", "local_search"}, pytest.mark.long("solvers beside the usual")


def posterior_of(rng, n_users, n_items, n_events, n_draws, kind="gaussian", observed=0.6):
    """Draws that no chain made, of a table of which some rows and columns are empty."""
    values = rng.random((n_users, n_items))
    if kind != "gaussian":
        values = values.round()
    values[rng.random(values.shape) > observed] = np.nan
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


def averaged(table, drawn):
    """The same, where users and items without observations are average ones."""
    users, items, table = drawn.user_seen, drawn.item_seen, table.copy()
    table[~users] = table[users].mean(axis=0)
    table[:, ~items] = table[:, items].mean(axis=1, keepdims=True)
    return table


def table_of(drawn):
    """The table that draws complete, for learning from."""
    with Threads(1) as dealer:
        return CompletedTable.of(drawn, dealer)


def said_by(drawn, rank=160, n_jobs=1):
    """The product of the two matrices that stand for it."""
    with Threads(n_jobs) as dealer:
        left, right = completion(drawn.factors, dealer, rank)
    assert left.shape[1] == right.shape[1] <= max(rank, 160)
    return left @ right.T


# --- the completed table ---------------------------------------------------------------------------------------------


@given(posteriors)
@settings(max_examples=40)
def test_a_completion_is_the_mean_of_what_models_say(drawn):
    expected = dense(drawn)
    np.testing.assert_allclose(said_by(drawn), expected, atol=2e-6)
    # It is what the draws predict, but for the last cut.
    users, items = (side.ravel() for side in np.indices(expected.shape))
    known = drawn.user_seen[users] & drawn.item_seen[items]
    said = drawn.at_rows(users, items)
    np.testing.assert_allclose(np.clip(expected.ravel(), 0, 1)[known], said[known], atol=1e-6)


@given(posteriors)
@settings(max_examples=20)
def test_the_unseen_are_average_rows_of_a_completion(drawn):
    found = table_of(drawn)
    np.testing.assert_allclose(found.left @ found.right.T, averaged(dense(drawn), drawn), atol=2e-6)


def test_a_completion_of_more_rows_and_columns_than_its_rank():
    drawn = posterior_of(np.random.default_rng(0), 70, 50, 3, 4)
    whole = dense(drawn)
    # Twelve events together: no more rank than that.
    np.testing.assert_allclose(said_by(drawn, 12), whole, atol=1e-6)
    sizes = np.linalg.svd(whole, compute_uv=False)
    for rank in (3, 6, 9):
        error = np.sqrt(((said_by(drawn, rank) - whole) ** 2).sum())
        best = np.sqrt((sizes[rank:] ** 2).sum())
        assert best - 1e-9 <= error <= 1.05 * best


def test_chances_of_a_yes_are_gone_through_once_and_come_near():
    """As near as random vectors come on average: within a root of what half as many could (Halko and others 2011)."""
    drawn = posterior_of(np.random.default_rng(1), 60, 40, 3, 4, "yes/no")
    assert drawn.factors.hidden
    whole = dense(drawn)
    sizes = np.linalg.svd(whole, compute_uv=False)
    error = []
    for rank in (5, 10, 20, 39):
        error.append(np.sqrt(((said_by(drawn, rank) - whole) ** 2).sum()))
        half = rank // 2
        assert error[-1] <= np.sqrt((1 + half / (rank - half - 1)) * (sizes[half:] ** 2).sum())
    assert error == sorted(error, reverse=True)


@pytest.mark.parametrize("cells", [1, 100, 333])
def test_blocks_of_users_make_the_same_table(cells, monkeypatch):
    """On any number of threads, to the bit."""
    drawn = posterior_of(np.random.default_rng(2), 30, 20, 3, 3, "yes/no")
    whole = said_by(drawn, 7)
    monkeypatch.setattr(completed, "_BLOCK", cells)
    parts = [said_by(drawn, 7, n_jobs) for n_jobs in (1, 2, 3)]
    np.testing.assert_allclose(parts[0], whole, atol=1e-5)
    assert all(np.array_equal(parts[0], part) for part in parts[1:])


def test_large_tables_of_chances_are_spanned_by_some_rows_and_columns(monkeypatch):
    """Nearly as well as by all of them, at a number of cells that grows with rows plus columns."""
    drawn = posterior_of(np.random.default_rng(1), 300, 200, 3, 4, "yes/no")
    whole, cells = dense(drawn), []
    sizes = np.linalg.svd(whole, compute_uv=False)
    all_of_it = {rank: said_by(drawn, rank) for rank in (10, 20)}
    monkeypatch.setattr(completed, "CELLS", 100)
    monkeypatch.setattr(completed, "SAMPLE", 80)
    normal = completed.ndtr
    monkeypatch.setattr(completed, "ndtr", lambda said: (cells.append(said.size), normal(said))[1])
    for rank, usual in all_of_it.items():
        cells.clear()
        found = [said_by(drawn, rank, n_jobs) for n_jobs in (1, 3)]
        assert np.array_equal(*found)
        assert sum(cells) == 2 * 4 * 80 * (300 + 200 + 80)
        error, best = np.sqrt(((found[0] - whole) ** 2).sum()), np.sqrt((sizes[rank:] ** 2).sum())
        assert error <= 1.1 * np.sqrt(((usual - whole) ** 2).sum())
        assert error <= 3.0 * best


def test_squares_are_summed_without_the_table():
    rng = np.random.default_rng(3)
    users, items = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(7))
    found = CompletedTable(rng.normal(size=(9, 4)), rng.normal(size=(7, 4)), users, items)
    expected = naive.table_distance(found.left @ found.right.T, np.zeros((9, 1)), np.zeros((7, 1)), users, items)
    assert found.square == pytest.approx(expected)


@given(posteriors, st.booleans())
@settings(max_examples=20)
def test_cells_weigh_what_they_are_asked_for(drawn, unobserved):
    target = table_of(replace(drawn, unobserved=0.1 if unobserved else 0.0))
    sides = (target.user_weights, drawn.user_counts), (target.item_weights, drawn.item_counts)
    for weights, counts in sides:
        expected = np.where(counts > 0, 1.0 if unobserved else counts + 10.0, 0.0)
        np.testing.assert_allclose(weights, expected / expected.sum())


# --- the descent over it ---------------------------------------------------------------------------------------------

USUAL = {"binary": "auto", "box": "coordinate"}


def problem_of(family, item_solver=None, user_solver="active_set"):
    solvers = resolve("simplex", user_solver), resolve(family, item_solver or USUAL[family])
    return Problem(*solvers)


def inside(psi, family):
    if family == "box":
        return ((psi >= 0) & (psi <= 1)).all()
    return np.isin(psi, (0.0, 1.0)).all()


def begun(family, target, drawn, n_events, dealer, *solvers):
    """An engine, and where it begins."""
    profiles = target.profiles(corners(places(drawn, n_events), target.user_weights, n_events))
    engine = CompletionEngine(problem_of(family, *solvers), target, dealer)
    return engine, engine.first(profiles).state


@given(posteriors, st.sampled_from(list(USUAL)), st.integers(1, 4), st.booleans(), st.integers(0, 99))
@settings(max_examples=60)
def test_a_sweep_says_its_distance_and_never_raises_it(drawn, family, n_events, unobserved, seed):
    drawn = replace(drawn, unobserved=0.1 if unobserved else 0.0)
    target, table = table_of(drawn), averaged(dense(drawn), drawn)
    with Threads(1) as dealer:
        engine, state = begun(family, target, drawn, n_events, dealer)
        assert engine.shape == (drawn.training.n_users, drawn.training.n_items)
        np.testing.assert_array_equal(engine.seen_users, drawn.training.rows.counts > 0)
        before = np.inf
        for index in range(1, 5):
            state, record = engine.sweep(state, index, seed)
            assert (state.theta >= 0).all()
            np.testing.assert_allclose(state.theta.sum(axis=1), 1.0, atol=1e-12)
            assert inside(state.psi, family)
            weights = target.user_weights, target.item_weights
            expected = naive.table_distance(table, state.theta, state.psi, *weights)
            # The ridge that decides events which nobody has is in the objective too, and squares are differences.
            assert record.objective == pytest.approx(expected, abs=1e-6)
            assert record.rmse == pytest.approx(np.sqrt(record.objective))
            assert record.objective <= before + 1e-8
            before = record.objective


@given(posteriors, st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=30)
def test_a_start_lies_at_users_and_does_not_depend_on_the_draws(drawn, n_events, seed):
    found = corners(places(drawn, n_events), table_of(drawn).user_weights, n_events)
    assert len(found) == n_events
    assert all(0 < len(group) <= drawn.training.n_users for group in found)
    rng = np.random.default_rng(seed)
    other = replace(drawn, psi=rng.permuted(drawn.psi), theta=drawn.theta[:, rng.permutation(drawn.training.n_users)])
    again = corners(places(other, n_events), table_of(other).user_weights, n_events)
    assert all(np.array_equal(*pair) for pair in zip(found, again, strict=True))


def test_corners_are_the_users_who_lie_farthest_out():
    """Of three kinds of users and mixtures of them, one group of each kind."""
    rng = np.random.default_rng(0)
    kinds, shares = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]]), rng.dirichlet(np.ones(3), 60)
    shares[:30] = np.repeat(np.eye(3), 10, axis=0)
    found = corners(shares @ kinds, np.full(60, 1 / 60), 3)
    assert sorted(tuple(sorted(group.tolist())) for group in found) == [tuple(range(k, k + 10)) for k in (0, 10, 20)]


@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=BESIDE) for name in names("binary")]
)
def test_every_solver_of_items_serves_and_none_beats_the_exact_one(name):
    drawn = posterior_of(np.random.default_rng(5), 12, 9, 3, 3)
    target, table = table_of(drawn), averaged(dense(drawn), drawn)
    weights = target.user_weights, target.item_weights
    found = {}
    with Threads(1) as dealer:
        for solver in (name, "exhaustive"):
            engine, start = begun("binary", target, drawn, 4, dealer, solver)
            state, _ = engine.sweep(start, 1, 0)
            # Items were chosen for the thetas of the start.
            found[solver] = naive.table_distance(table, start.theta, state.psi, *weights)
            nothing = naive.table_distance(table, start.theta, start.psi, *weights)
            assert found[solver] <= nothing + 1e-9
    assert found["exhaustive"] <= found[name] + 1e-9


def test_the_exact_solver_finds_the_best_of_all_supports():
    drawn = posterior_of(np.random.default_rng(6), 10, 6, 3, 3)
    target, table = table_of(drawn), averaged(dense(drawn), drawn)
    with Threads(1) as dealer:
        engine, start = begun("binary", target, drawn, 3, dealer, "exhaustive", "pairwise")
        state, _ = engine.sweep(start, 1, 0)
    for item in range(6):
        errors = [
            target.user_weights @ (start.theta @ np.array(psi) - table[:, item]) ** 2
            for psi in itertools.product((0.0, 1.0), repeat=3)
        ]
        mine = target.user_weights @ (start.theta @ state.psi[item] - table[:, item]) ** 2
        assert mine == pytest.approx(min(errors), abs=1e-7)
    for user in range(10):
        weighted = state.psi * target.item_weights[:, None]
        gram, moment = weighted.T @ state.psi, weighted.T @ table[user]
        best = naive.value(gram, moment, naive.best_on_simplex(gram, moment))
        assert naive.value(gram, moment, state.theta[user]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("family", USUAL)
def test_the_same_bits_on_any_number_of_threads(family):
    drawn = posterior_of(np.random.default_rng(7), 400, 90, 4, 3)
    found = []
    for n_jobs in (1, 2, 3):
        fitted, interrupted = distilled.distilled(drawn, problem_of(family), Search(5, 0, max_iter=4), 5, n_jobs)
        assert not interrupted
        found.append(fitted)
    for other in found[1:]:
        for name in ("theta", "psi", "noise", "stability"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(other, name))
        np.testing.assert_array_equal(found[0].user_pull.strength, other.user_pull.strength)
        assert [sweep.objective for sweep in found[0].history] == [sweep.objective for sweep in other.history]


def test_a_model_is_distilled_to_itself():
    """One draw, whose product the same number of events can say exactly."""
    made = km.datasets.planted(n_users=50, n_items=30, n_events=3, random_state=2)
    theta, noise = made.theta[None].astype(np.float32), np.full((1, 50), 0.01, dtype=np.float32)
    psi = made.psi[None].astype(np.float32)
    drawn = Posterior(theta, psi, noise, 1, "gaussian", made.observations, np.array([0.0, 1.0]))
    fitted, _ = distilled.distilled(drawn, problem_of("binary"), Search(3, 0, max_iter=30), 3, -1)
    assert np.isnan(fitted.stability).all()
    assert fitted.history[-1].rmse < 1e-3
    assert {tuple(column) for column in fitted.psi.T.tolist()} == {
        tuple(column) for column in (made.psi > 0).T.tolist()
    }
    np.testing.assert_allclose(fitted.theta @ fitted.psi.T, made.theta @ made.psi.T, atol=2e-3)


def test_a_planted_model_is_recovered():
    made = km.datasets.planted(n_users=80, n_items=60, n_events=3, noise=0.02, random_state=2)
    model = KolmogorovModel(3, random_state=0).fit(made.observations)
    truth = {tuple(column) for column in (made.psi > 0).T.tolist()}
    assert {tuple(column) for column in model.psi_.T.tolist()} == truth
    assert np.sqrt(((model.theta_ @ model.psi_.T - made.theta @ made.psi.T) ** 2).mean()) < 0.03


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_what_a_fit_says_of_its_distance(psi):
    """`history_` is of the average of the draws, not of the ratings."""
    table = stars()
    drawn = BayesianKolmogorovModel(4, **SMALL).fit(table)
    model = drawn.as_model(4, psi)
    target, said = (
        table_of(drawn.posterior_),
        averaged(dense(drawn.posterior_), drawn.posterior_),
    )
    weights = target.user_weights, target.item_weights
    expected = naive.table_distance(said, model.theta_, model.psi_.astype(float), *weights)
    assert model.history_[-1].rmse == pytest.approx(np.sqrt(expected), abs=1e-4)
    reached = [sweep.objective for sweep in model.history_]
    assert all(later <= earlier for earlier, later in itertools.pairwise(reached))
    again = drawn.as_model(4, psi)
    np.testing.assert_array_equal(again.theta_, model.theta_)
    np.testing.assert_allclose(model.fitted_.noise, drawn.posterior_.answer_variance + model.history_[-1].rmse ** 2)


@given(posteriors.filter(lambda drawn: drawn.likelihood == "bernoulli"))
@settings(max_examples=15)
def test_chances_of_a_yes_are_hedged_by_the_best_share_that_is_tried(drawn):
    target = table_of(drawn)
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(3, 0.1), drawn.training.n_users)
    psi = (rng.random((drawn.training.n_items, 3)) < 0.5).astype(float)
    middle, table = theta[drawn.user_seen].mean(axis=0), averaged(dense(drawn), drawn)

    def loss(share):
        total = 0.0
        for user in np.flatnonzero(drawn.user_seen):
            mixed = (1 - share) * theta[user] + share * middle
            for item, weight in enumerate(target.item_weights):
                chance = np.clip(mixed @ psi[item], 1e-6, 1 - 1e-6)
                wanted = np.clip(table[user, item], 0, 1)
                total -= weight * (wanted * np.log(chance) + (1 - wanted) * np.log(1 - chance))
        return total

    found = distilled._hedged(theta, psi, target)
    share = min(distilled._SHARES, key=loss)
    np.testing.assert_allclose(found, (1 - share) * theta + share * middle, atol=1e-12)


# --- events that are found again --------------------------------------------------------------------------------------


def kinds(seed=0, n_kinds=4):
    """Ratings of people of so many kinds, nearly all of one each."""
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.full(n_kinds, 0.1), 300), rng.random((40, n_kinds))
    users, items = np.nonzero(rng.random((300, 40)) < 0.5)
    stars = np.clip(np.rint(1 + 4 * (theta @ psi.T) + rng.normal(0, 0.5, (300, 40))), 1, 5)
    return Observations.from_arrays(users, items, stars[users, items], maximum=5)


def test_events_are_as_many_as_are_found_again(caplog):
    table = kinds()
    with caplog.at_level(logging.INFO, logger="kolmogorov"):
        found = [KolmogorovModel(psi="soft", random_state=seed).fit(table) for seed in (0, 1)]
    for model in found:
        assert 3 <= model.theta_.shape[1] <= 6
        assert (model.stability_ >= 0.9).all()
    assert "events, each found again in both halves of the chains" in notices(caplog)[0]
    # Another seed finds the same events, which the model said of itself.
    same = [KolmogorovModel(4, psi="soft", random_state=seed).fit(table) for seed in (0, 1)]
    assert returning(same[0].theta_, [model.theta_ for model in same], table.rows.counts, halved=False).min() > 0.9


def test_what_is_no_event_is_not_found_again(caplog):
    """More events than there are kinds of people: some of them are chance."""
    with caplog.at_level(logging.INFO, logger="kolmogorov"):
        model = KolmogorovModel(12, random_state=0).fit(kinds())
    assert model.stability_.shape == (12,)
    assert model.stability_.min() < 0.8
    assert "another sample of the chains has no event" in notices(caplog)[0]


def test_of_ratings_two_samples_are_compared_on_request():
    table = kinds(1)
    options = {"learn_from": "ratings", "random_state": 0, "psi": "soft"}
    plain, compared = (KolmogorovModel(4, **options, stability=wanted).fit(table) for wanted in (False, True))
    assert np.isnan(plain.stability_).all()
    np.testing.assert_array_equal(plain.theta_, compared.theta_)
    assert ((compared.stability_ > -1) & (compared.stability_ <= 1)).all()


# --- new rows --------------------------------------------------------------------------------------------------------


def sides_of(family):
    """Both sides of a small model, and the rest of what placing needs."""
    rng = np.random.default_rng(9)
    drawn = posterior_of(rng, 12, 8, 3, 3)
    theta, table = rng.dirichlet(np.full(3, 0.5), 12), drawn.training
    psi = rng.choice({"binary": (0.0, 1.0), "box": np.linspace(0, 1, 9)}[family], (8, 3))
    target = table_of(drawn)
    solver = resolve(family, "exhaustive" if family == "binary" else "coordinate")
    users = LearnedRows(theta, table.rows, psi, target.item_weights, resolve("simplex", "active_set"), USER_SIDE)
    return users, LearnedRows(psi, table.columns, theta, target.user_weights, solver, ITEM_SIDE)


def best_point(side, gram, moment):
    if side.solver.family == "simplex":
        return naive.best_on_simplex(gram, moment)
    if side.solver.family == "box":
        return naive.best_in_box(gram, moment)
    return naive.best_binary(gram, moment)


def distance(side, pull, unobserved):
    """How far rows come out from where they are, one row and one partner at a time."""
    total = 0.0
    for row, was in enumerate(side.rows):
        begin, end = side.view.indptr[row : row + 2]
        if begin == end:
            continue
        entries = {
            int(i): (p, 1.0) for i, p in zip(side.view.indices[begin:end], side.view.values[begin:end], strict=True)
        }
        gram, moment = naive.placed_row(entries, side.factors, pull.centre, pull.strength, unobserved)
        away = side.factors @ (best_point(side, gram, moment) - was)
        total += side.weights @ away**2
    return total


@pytest.mark.parametrize("unobserved", [0.0, 0.2])
@pytest.mark.parametrize("family", USUAL)
def test_the_pull_is_the_best_of_those_that_are_tried(family, unobserved):
    for side in sides_of(family):
        seen = side.view.counts > 0
        assert not seen.all()
        found = best_pull(side, unobserved, 1)
        np.testing.assert_allclose(found.centre, side.rows[seen].mean(axis=0))
        np.testing.assert_array_equal(found.strength, found.strength.T)
        assert np.linalg.eigvalsh(found.strength)[0] > 0
        tried = list(_pulls(found.centre, side.rows[seen]))
        assert any(np.array_equal(found.strength, pull.strength) for pull in tried)
        least = min(distance(side, pull, unobserved) for pull in tried)
        assert distance(side, found, unobserved) <= least * (1 + 1e-4) + 1e-9


def test_of_many_rows_some_are_placed_again():
    users, _ = sides_of("box")
    few = best_pull(users, 0.0, 1, most_rows=4)
    np.testing.assert_allclose(few.centre, users.rows[users.view.counts > 0].mean(axis=0))
    assert isinstance(few, Pull)


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


@pytest.fixture(scope="module")
def table():
    return stars()


@pytest.mark.long("more kinds of models")
@pytest.mark.parametrize("name", ["stars", "clicks", "zoo"])
def test_one_model_beats_biases_and_with_many_events_is_near_the_draws(name, zoo):
    whole = {"stars": stars(0, 150, 60, 0.35), "clicks": clicks(), "zoo": zoo}[name]
    # The test of a split of the zoo has 300 cells: one says little.
    splits = [whole.split(test_size=0.2, random_state=k) for k in range(5 if name == "zoo" else 1)]
    biases = np.mean([_error_of_biases(*split) for split in splits])
    drawn = _mean_error(lambda: BayesianKolmogorovModel(random_state=0), splits)
    for psi, allowed in (("binary", 1.06), ("soft", 1.04)):
        readable, near = (
            _mean_error(lambda n=n, psi=psi: KolmogorovModel(n, psi=psi, random_state=0), splits) for n in ("auto", 16)
        )
        assert readable < biases
        assert near < allowed * drawn


def _mean_error(make, splits):
    return np.mean([make().fit(train).evaluate(test)["rmse"] for train, test in splits])


def _error_of_biases(train, test):
    return km.metrics.guess_scores(train, test)["user and item biases"]["rmse"]


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


def visits(seed=0):
    """Only yes is recorded, of what tastes lead to."""
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.full(5, 0.2), 200), rng.random((90, 5)) < 0.2
    users, items = np.nonzero(rng.random((200, 90)) < 0.6 * theta @ psi.T)
    return Observations.from_arrays(users, items, np.ones(users.size))


def test_only_yes_makes_lists_from_draws_too():
    train, test = visits().split(0.2, random_state=0, by="user")
    model = KolmogorovModel(6, psi="soft", unobserved="auto", random_state=0).fit(train)
    assert model.learned_from_ == "draws"
    popular = popularity_scores(train, test, 10)["ndcg"]
    assert model.evaluate(test, ranking=True)["ndcg"] > 1.5 * popular
    # A guest who did what somebody did gets about the same list.
    user = int(train.rows.counts.argmax())
    done = train.items.ids[train.rows.indices[train.rows.indptr[user] : train.rows.indptr[user + 1]]]
    mine = model.recommend(train.users.ids[user], n=5)["item"].tolist()
    theirs = model.recommend(guest=dict.fromkeys(done.tolist(), 1), n=5)["item"].tolist()
    assert len({*mine} & {*theirs}) >= 4


def test_only_yes_is_completed_by_descents():
    """Several, over values that may be any number; one model is then learned from what they say on average."""
    table = visits().subset(visits().user_rows() < 30)
    average, interrupted = averaged_descents(table, 0.2, 0, 1, lambda sweep: False, keep_interrupted=False)
    assert not interrupted
    theta, psi = average.factors.theta, average.factors.psi
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=2), 1.0, atol=1e-9)
    said = naive.completed_table(theta, psi)
    done = np.zeros(said.shape, dtype=bool)
    done[table.user_rows(), table.item_rows()] = True
    assert said[done].mean() > said[~done].mean() + 0.1
    model = KolmogorovModel(4, psi="soft", unobserved=0.2, random_state=0, n_jobs=1).fit(table)
    target = table_of(average)
    users, items = table.rows.counts > 0, table.seen_items
    said[~users] = said[users].mean(axis=0)
    said[:, ~items] = said[:, items].mean(axis=1, keepdims=True)
    weights = target.user_weights, target.item_weights
    expected = naive.table_distance(said, model.theta_, model.psi_, *weights)
    assert model.history_[-1].rmse ** 2 == pytest.approx(expected, abs=1e-6)


def test_ctrl_c_in_the_descents_of_only_yes_keeps_those_that_are_done():
    heard = []

    def interrupt(sweep):
        heard.append(sweep)
        if len(heard) == 2 * only_yes._SWEEPS + 1:
            raise KeyboardInterrupt

    model = KolmogorovModel(3, unobserved=0.2, random_state=0, callback=interrupt)
    with pytest.warns(ConvergenceWarning, match="Interrupted while the table was completed"):
        model.fit(visits())
    assert model.interrupted_
    assert len(model.history_) > 0


def test_a_callback_hears_of_the_descents_of_only_yes_and_ends_them():
    heard = []

    def stop(sweep):
        heard.append(sweep)
        return True

    model = KolmogorovModel(3, unobserved="auto", random_state=0, n_jobs=1, callback=stop).fit(visits())
    # One descent completes the table, of whose other sweeps nothing is heard, and one sweep goes over it.
    assert [sweep.sweep for sweep in heard] == [1, 1]
    assert model.n_iter_ == 1


def test_a_callback_hears_of_chains_and_then_of_the_descent(table):
    heard = []
    model = KolmogorovModel(3, random_state=0, n_jobs=1, max_iter=4, callback=heard.append).fit(table)
    first = [type(progress) for progress in heard].index(Sweep)
    assert {type(progress) for progress in heard[:first]} == {SamplingProgress}
    assert model.history_ == heard[first:]


@pytest.mark.parametrize("kind", [SamplingProgress, Sweep])
def test_a_callback_can_end_either_step(table, kind):
    heard = []

    def told(progress):
        heard.append(progress)
        return isinstance(progress, kind)

    model = KolmogorovModel(3, random_state=0, n_jobs=1, callback=told).fit(table)
    chains = [progress for progress in heard if isinstance(progress, SamplingProgress)]
    # Chains end at the first draw that is kept.
    assert (len(chains) < chains[0].n_chains * chains[0].n_sweeps) == (kind is SamplingProgress)
    assert (model.n_iter_ == 1) == (kind is Sweep)
    assert not model.interrupted_
    np.testing.assert_allclose(model.predict(table, output="probability"), products(model, table), atol=1e-9)


def products(model, table):
    return np.clip(model.theta_ @ model.psi_.T, 0, 1)[table.user_rows(), table.item_rows()]


def test_ctrl_c_in_the_chains_keeps_the_draws_so_far(table):
    def interrupt(progress):
        if isinstance(progress, SamplingProgress) and progress.chain == 0 and progress.sweep == progress.n_sweeps - 5:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="completed; what was done so far is used"):
        model = KolmogorovModel(3, random_state=0, n_jobs=1, callback=interrupt).fit(table)
    assert model.interrupted_
    assert model.learned_from_ == "draws"
    np.testing.assert_allclose(model.predict(table, output="probability"), products(model, table), atol=1e-9)
    guess = np.sqrt(((table.values - table.values.mean()) ** 2).mean())
    assert model.evaluate(table)["rmse"] < guess


def test_ctrl_c_before_any_draw_is_passed_on(table):
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KolmogorovModel(3, random_state=0, n_jobs=1, callback=interrupt).fit(table)


def test_ctrl_c_in_the_descent_keeps_the_best_so_far(table):
    def interrupt(progress):
        if isinstance(progress, Sweep) and progress.sweep == 2:
            raise KeyboardInterrupt

    options = {"tol": 0.0, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="Interrupted in sweep 3"):
        model = KolmogorovModel(3, **options, callback=interrupt).fit(table)
    assert model.interrupted_
    assert model.n_iter_ == 2
    two = KolmogorovModel(3, **options, max_iter=2).fit(table)
    np.testing.assert_array_equal(model.theta_, two.theta_)
    assert not two.interrupted_


# --- what is learned from --------------------------------------------------------------------------------------------


def notices(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "kolmogorov"]


@pytest.mark.parametrize(
    "options",
    [
        {"user_reg": 1.0},
        {"item_reg": 0.0},
        {"user_reg": 10.0, "item_reg": 0.1},
        {"prior": "uniform"},
        {"keep_better": False},
        {"n_init": 2},
        {"stability": True},
        {"checkpoint": "c.km"},
        {"checkpoint": "c.km", "unobserved": 0.2},
    ],
)
def test_parameters_of_a_descent_over_ratings_do_not_choose_it(table, options):
    names = [name for name in options if name != "unobserved"]
    said = f"^{' and '.join(map(repr, names))} (is|are) for learning from ratings. Set learn_from='ratings'"
    with pytest.raises(ParameterError, match=said):
        KolmogorovModel(3, **options, max_iter=2, random_state=0).fit(table)


def test_more_ratings_than_draws_are_made_of(table, caplog, monkeypatch):
    monkeypatch.setattr("kolmogorov.models.learning.MOST_RATINGS", len(table) - 1)
    with caplog.at_level(logging.INFO, logger="kolmogorov"):
        model = KolmogorovModel(3, max_iter=2, random_state=0).fit(table)
    assert model.learned_from_ == "ratings"
    assert str(len(table) - 1) in notices(caplog)[0]
    monkeypatch.setattr("kolmogorov.models.learning.MOST_RATINGS", len(table))
    assert KolmogorovModel(3, max_iter=2, random_state=0).fit(table).learned_from_ == "draws"


def test_a_default_fit_warns_of_nothing(table, caplog, recwarn):
    with caplog.at_level(logging.INFO, logger="kolmogorov"):
        model = KolmogorovModel(3, random_state=0).fit(table)
    assert model.learned_from_ == "draws"
    assert all(re.search("compiling|3 events", words) for words in notices(caplog))
    assert not [warning for warning in recwarn if issubclass(warning.category, km.errors.KolmogorovWarning)]


def test_settings_of_the_descent_over_the_completed_table_count(table):
    solver = resolve("binary", "local_search", n_starts=1)
    other = KolmogorovModel(3, random_state=0, item_solver=solver, user_solver="pairwise").fit(table)
    assert other.history_[-1].rmse < 1.2 * KolmogorovModel(3, random_state=0).fit(table).history_[-1].rmse
    many = KolmogorovModel(3, random_state=0, tol=0.0, max_iter=40).fit(table)
    assert many.n_iter_ == 40


# --- what lies between feasible points -------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_every_set_has_a_nearest_point(point):
    """Of a mean of feasible points; the simplex and the box hold it themselves."""
    point = np.array(point)
    share = (point + 1e-3) / (point + 1e-3).sum()
    np.testing.assert_array_equal(resolve("simplex", "active_set").nearest(share), share)
    np.testing.assert_array_equal(resolve("box", "coordinate").nearest(point), point)
    np.testing.assert_array_equal(resolve("ridge", "cholesky").nearest(point), point)
    for name in names("binary"):
        solver = resolve("binary", name)
        found = solver.nearest(point)
        assert found.dtype == np.float64
        assert np.isin(found, (0.0, 1.0)).all()
        np.testing.assert_allclose(np.abs(found - point), np.minimum(point, 1.0 - point), atol=1e-12)
        np.testing.assert_array_equal(solver.nearest(found), found)
