import numpy as np
import pytest
from hypothesis import given, settings

import naive
from helpers.strategies import binary_problems
from kolmogorov import KolmogorovModel, load
from kolmogorov.errors import ParameterError, SolverMismatchError
from kolmogorov.problems import BinaryQP
from kolmogorov.solvers import BestOf, Polished, Recorded, resolve


@given(binary_problems(max_size=8))
@settings(max_examples=25)
def test_polishing_never_harms_and_ends_two_flip_optimal(problem):
    qp = BinaryQP(*problem)
    rough = resolve("binary", "enhanced_gd", n_draws=1)
    polished = Polished(rough).solve(qp)
    assert polished.value <= rough.solve(qp).value + 1e-12
    assert naive.is_two_flip_optimal(qp.gram, qp.moment, polished.x)
    assert polished.phases is not None


@pytest.mark.long("solvers beside the usual")
def test_the_best_of_several_is_no_worse_than_each(rng):
    a = rng.normal(size=(15, 15))
    qp = BinaryQP(a + a.T, rng.normal(size=15))
    rough = resolve("binary", "newton", n_draws=2)
    best = BestOf(rough, 8).solve(qp)
    assert best.value <= min(BestOf(rough, k).solve(qp).value for k in (1, 2, 4))
    assert best.value == qp.value(best.x)
    assert best.lower_bound <= resolve("binary", "exhaustive").solve(qp).value + 1e-9
    with pytest.raises(ParameterError, match="'k' must be an integer >= 1"):
        BestOf(rough, 0)


def test_recording_keeps_every_batch(zoo):
    solver = Recorded("local_search")
    options = {"learn_from": "ratings", "max_iter": 2, "tol": 0, "random_state": 0}
    model = KolmogorovModel(3, item_solver=solver, n_jobs=1, **options).fit(zoo)
    assert sum(len(batch.x) for batch in solver.records) == 2 * 15
    plain = KolmogorovModel(3, item_solver="local_search", **options).fit(zoo)
    assert np.array_equal(model.theta_, plain.theta_)


@pytest.mark.long("solvers beside the usual")
def test_wrappers_check_sizes_nest_and_are_stored_with_models(tmp_path, zoo):
    with pytest.raises(SolverMismatchError, match="at most 30"):
        Polished("exhaustive").solve(BinaryQP(np.eye(31), np.zeros(31)))
    solver = Polished(BestOf(resolve("binary", "newton", n_draws=5), 2))
    model = KolmogorovModel(2, learn_from="ratings", item_solver=solver, max_iter=1, random_state=0).fit(zoo)
    model.save(tmp_path / "m.km")
    assert load(tmp_path / "m.km").item_solver == solver
