"""Tables in which only yes is recorded: unobserved entries count as a no of some weight, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from helpers.strategies import tables
from kolmogorov import Observations
from kolmogorov._support.threads import Threads
from kolmogorov.descent.engine import Engine
from kolmogorov.descent.problem import Partners, Problem, usual_weight
from kolmogorov.errors import ParameterError
from kolmogorov.solvers import resolve

WEIGHTS = st.sampled_from([0.01, 0.3, 1.0, 2.5])


def full(table, unobserved):
    values, weights = naive.full_table(table, unobserved)
    return Observations.from_dense(values, maximum=1, weights=weights[weights > 0].ravel())


@given(tables(), st.integers(1, 5), WEIGHTS, st.sampled_from([0.0, 1.5]), st.booleans())
def test_equations_are_those_of_the_full_table(table, size, unobserved, ridge, binary):
    rng = np.random.default_rng(3)
    factors = rng.random((table.n_items, size))
    factors = factors.round() if binary else factors
    centre = rng.random(size)
    partners = Partners.of(factors, table.rows, unobserved)
    gram, moment = partners.equations(table.rows, 0, table.n_users, ridge, centre)
    values, weights = naive.full_table(table, unobserved)
    for user in range(table.n_users):
        entries = [(i, values[user, i], weights[user, i]) for i in range(table.n_items)]
        expected = naive.normal_equations(entries, factors, ridge, centre)
        np.testing.assert_allclose(gram[user], expected[0], atol=1e-10)
        np.testing.assert_allclose(moment[user], expected[1], atol=1e-10)


@given(
    tables(),
    st.integers(1, 5),
    WEIGHTS,
    st.sampled_from(["binary", "box"]),
    st.sampled_from([0.0, 0.4]),
    st.sampled_from(["mean", "uniform"]),
)
@settings(max_examples=60)
def test_the_objective_is_that_of_the_full_table_and_never_rises(table, size, unobserved, family, item_reg, prior):
    rng = np.random.default_rng(0)
    solver = resolve(family, "auto" if family == "binary" else "coordinate")
    values, weights = naive.full_table(table, unobserved)
    with Threads(1) as dealer:
        problem = Problem(resolve("simplex", "pairwise"), solver, 0.5, item_reg, prior, unobserved)
        engine = Engine(problem, table, dealer)
        state, before = engine.start(rng, size), np.inf
        for index in range(1, 5):
            state, record = engine.sweep(state, index, seed=7)
            errors = weights * (state.theta @ state.psi.T - values) ** 2
            ridge = 0.5 * ((state.theta - state.centre) ** 2).sum() + item_reg * (state.psi**2).sum()
            assert record.objective == pytest.approx(errors.sum() + ridge, rel=1e-9, abs=1e-9)
            assert record.rmse == pytest.approx(np.sqrt(errors.sum() / weights.sum()), abs=1e-6)
            assert record.objective <= before * (1 + 1e-12) + 1e-12
            before = record.objective


@pytest.mark.parametrize("more", [{}, {"psi": "soft"}, {"psi": "soft", "item_reg": 0.7}])
def test_a_fit_is_that_of_the_full_table(more, visits):
    options = {"learn_from": "ratings", "user_reg": 2.0, "random_state": 0, "max_iter": 5, "tol": 0.0}
    settings = {"n_events": 3, **options, **more}
    sparse = km.KolmogorovModel(unobserved=0.2, **settings).fit(visits)
    dense = km.KolmogorovModel(**settings).fit(full(visits, 0.2))
    np.testing.assert_allclose(sparse.theta_, dense.theta_, atol=1e-8)
    np.testing.assert_allclose(sparse.psi_, dense.psi_, atol=1e-8)
    assert sparse.history_[-1].objective == pytest.approx(dense.history_[-1].objective)
    assert sparse.history_[-1].rmse == pytest.approx(dense.history_[-1].rmse)


@pytest.mark.parametrize("packed", [False, True])
def test_threads_and_packed_tables_give_the_same_bits(visits, packed, tmp_path):
    table = km.pack(visits, tmp_path / "t") if packed else visits
    base = km.KolmogorovModel(5, unobserved=0.1, random_state=0, n_jobs=1).fit(visits)
    other = km.KolmogorovModel(5, unobserved=0.1, random_state=0, n_jobs=3).fit(table)
    assert np.array_equal(base.theta_, other.theta_)
    assert np.array_equal(base.psi_, other.psi_)


def test_guests_are_placed_as_the_full_row_would_be(visits):
    model = km.KolmogorovModel(4, learn_from="ratings", user_reg=3.0, unobserved=0.2, random_state=0).fit(visits)
    guest = visits.subset(visits.user_rows() == 7)
    theta = model.fold_in(guest, side="users")[7]
    values, weights = naive.full_table(visits, 0.2)
    entries = [(i, values[7, i], weights[7, i]) for i in range(visits.n_items)]
    gram, moment = naive.normal_equations(entries, model.psi_.astype(float), 3.0, model.fitted_.user_pull.centre)
    np.testing.assert_allclose(theta, naive.best_on_simplex(gram, moment), atol=1e-5)
    item = visits.subset(visits.item_rows() == 3)
    psi = model.fold_in(item, side="items")[3]
    entries = [(u, values[u, 3], weights[u, 3]) for u in range(visits.n_users)]
    assert np.array_equal(psi, naive.best_binary(*naive.normal_equations(entries, model.theta_, 0.0, np.zeros(4))))


def test_the_weight_is_settled_by_the_table_and_kept_in_files(visits, tmp_path):
    model = km.KolmogorovModel(3, unobserved="auto", random_state=0).fit(visits)
    assert model.unobserved_ == usual_weight(len(visits), visits.n_users * visits.n_items) > 0
    same = km.KolmogorovModel(3, unobserved=model.unobserved_, random_state=0).fit(visits)
    assert np.array_equal(model.theta_, same.theta_)
    model.save(tmp_path / "m.km")
    loaded = km.load(tmp_path / "m.km")
    assert loaded.unobserved == "auto"
    assert loaded.unobserved_ == model.unobserved_
    assert np.array_equal(loaded.fold_in(visits), model.fold_in(visits))


def test_what_was_done_is_likelier_than_what_was_not(visits):
    model = km.KolmogorovModel(4, unobserved="auto", random_state=0).fit(visits)
    table = model.fitted_.of_users(np.arange(visits.n_users))
    done = np.zeros(table.shape, dtype=bool)
    done[visits.user_rows(), visits.item_rows()] = True
    assert table[done].mean() > table[~done].mean() + 0.05


@pytest.mark.parametrize("weight", [-0.1, "always", np.nan, True, 1e10])
def test_a_weight_that_is_none_is_refused(visits, weight):
    with pytest.raises(ParameterError, match="'unobserved' must be a number from 0 to 1e\\+09 or 'auto', got"):
        km.KolmogorovModel(2, unobserved=weight).fit(visits)
