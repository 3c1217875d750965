import numpy as np
import pytest
from hypothesis import given, settings

import naive
from helpers.strategies import convex_problems
from kolmogorov.solvers import bqp
from kolmogorov.solvers.problems import BoxQP, RidgeQP, Status


@given(convex_problems(max_size=5))
@settings(max_examples=60)
def test_the_box_solver_is_exact(problem):
    qp = BoxQP(*problem)
    got = bqp.solve(qp, solver="coordinate")
    best = qp.value(naive.best_in_box(qp.gram, qp.moment))
    slack = 1e-6 * (1 + np.abs(qp.gram).max())
    assert ((got.x >= 0) & (got.x <= 1)).all()
    assert got.lower_bound - slack <= best <= got.value + slack
    # Along a direction without curvature rounds are many, and there is a limit on them.
    if got.status is not Status.ITERATION_LIMIT:
        assert got.value == pytest.approx(best, abs=slack)


@given(convex_problems(max_size=6))
@settings(max_examples=60)
def test_the_ridge_solver_solves_linear_systems(problem):
    gram, moment = problem
    regular = gram + 0.5 * np.eye(len(moment))
    got = bqp.solve(RidgeQP(regular, moment), solver="cholesky")
    np.testing.assert_allclose(got.x, np.linalg.solve(regular, moment), atol=1e-8)
    assert got.status is Status.OPTIMAL
    singular = bqp.solve(RidgeQP(gram, gram @ moment), solver="cholesky")
    assert np.abs(gram @ singular.x - gram @ moment).max() <= 1e-5 * (1 + np.abs(gram).max() * np.abs(moment).max())
    zero = bqp.solve(RidgeQP(np.zeros((2, 2)), [0.0, 0.0]), solver="cholesky")
    assert zero.x.tolist() == [0.0, 0.0]
