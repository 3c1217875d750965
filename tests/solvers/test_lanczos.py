"""Algorithm 5 and the paper's Lemmas 2 and 3."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive
from helpers.strategies import toy_problems
from kolmogorov.solvers import bqp
from kolmogorov.solvers.bqp import Status
from kolmogorov.solvers.lanczos import ritz_pairs, threshold, tridiagonalise

#: Kernels that few need take longest to compile.
pytestmark = pytest.mark.long("solvers beside the usual")


@st.composite
def symmetric(draw, max_size=14):
    n = draw(st.integers(3, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a = rng.normal(size=(n, n))
    if draw(st.booleans()):
        q = np.linalg.qr(a)[0]
        a = q @ np.diag(rng.normal(size=n) * 10.0 ** rng.uniform(-6, 2, size=n)) @ q.T
    start = rng.normal(size=n)
    return (a + a.T) / 2, start / np.linalg.norm(start)


def lanczos(matrix, start, delta, reorthogonalised=True):
    n = len(start)
    basis, diagonal, off = np.empty((n, n)), np.empty(n), np.empty(n + 1)
    m, beta = tridiagonalise(matrix, start, delta, reorthogonalised, basis, diagonal, off)
    small = np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1)
    return m, beta, basis[:m], small


@given(symmetric(), st.floats(1e-6, 1.0))
def test_the_basis_is_orthonormal_and_tridiagonalises(pair, share):
    matrix, start = pair
    scale = np.abs(np.linalg.eigvalsh(matrix)).max()
    m, beta, basis, small = lanczos(matrix, start, share * scale)
    np.testing.assert_allclose(basis @ basis.T, np.eye(m), atol=1e-10)
    np.testing.assert_allclose(basis @ matrix @ basis.T, small, atol=1e-8 * scale)
    assert m == len(start) or beta <= share * scale


@given(symmetric(), st.floats(1e-6, 1.0))
def test_without_reorthogonalisation_it_is_the_recurrence_that_the_paper_prints(pair, share):
    matrix, start = pair
    delta = share * np.abs(np.linalg.eigvalsh(matrix)).max()
    expected_basis, expected = naive.printed_lanczos(matrix, start, delta)
    m, _, basis, small = lanczos(matrix, start, delta, reorthogonalised=False)
    assert m == len(expected)
    # Where orthogonality is being lost, rounding grows from step to step.
    lost = np.abs(expected_basis @ expected_basis.T - np.eye(m)).max()
    slack = 1e-9 + 100 * lost
    np.testing.assert_allclose(small, expected, atol=slack * np.abs(matrix).max() * m)
    np.testing.assert_allclose(basis, expected_basis, atol=slack)


def test_the_printed_recurrence_loses_orthogonality_where_ritz_values_have_converged(rng):
    q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    matrix = q @ np.diag(np.concatenate([[1e4], rng.uniform(0, 1, 39)])) @ q.T
    start = np.ones(40) / np.sqrt(40)
    for reorthogonalised, lost in ((True, False), (False, True)):
        m, _, basis, _ = lanczos(matrix, start, 0.0, reorthogonalised)
        assert (np.abs(basis @ basis.T - np.eye(m)).max() > 0.5) == lost


@given(symmetric(), st.floats(1e-3, 1.0))
def test_lemma_2(pair, share):
    matrix, start = pair
    true = np.linalg.eigvalsh(matrix)
    scale = np.abs(true).max()
    m, beta, basis, small = lanczos(matrix, start, share * scale)
    beta = 0.0 if m == len(start) else beta
    values, q = np.linalg.eigh(small)
    slack = 1e-9 * scale
    for k in range(m):
        vector = basis.T @ q[:, k]
        residual = np.linalg.norm(matrix @ vector - values[k] * vector)
        assert residual <= beta + slack  # i
        assert np.abs(true - values[k]).min() <= beta + slack  # ii, each Ritz value has an eigenvalue that near
        assert np.abs(true - values[k]).min() <= beta * abs(q[m - 1, k]) + slack  # iii


def trace_bounds(matrix):
    n = len(matrix)
    mean = np.trace(matrix) / n
    spread = np.sqrt(max(np.trace(matrix @ matrix) / n - mean**2, 0))
    return mean + spread / np.sqrt(n - 1), mean + spread * np.sqrt(n - 1)


@given(symmetric())
def test_lemma_3_where_its_premise_holds(pair):
    matrix, start = pair
    low, high = trace_bounds(matrix)
    sigma = np.abs(np.linalg.eigvalsh(matrix)).max()
    minkowski = np.abs(matrix).sum() / len(matrix)
    assert low - 1e-9 <= np.linalg.eigvalsh(matrix)[-1] <= high + 1e-9  # they bound the largest eigenvalue
    assume(low <= sigma <= high and low <= minkowski <= high)
    for delta in (0.0, 0.1 * sigma, sigma):
        m, beta, *_ = lanczos(matrix, start, delta)
        assert beta <= 2 * m * ((high - low) + minkowski) + 1e-9


def test_lemma_3s_premise_fails_where_a_negative_eigenvalue_dominates():
    matrix = -np.ones((5, 5))
    low, high = trace_bounds(matrix)
    sigma = np.abs(np.linalg.eigvalsh(matrix)).max()
    assert sigma == pytest.approx(5.0)
    assert high < sigma  # so UB does not bound the largest singular value
    assert low <= np.linalg.eigvalsh(matrix)[-1] + 1e-12 <= high + 1e-9


def test_the_threshold_is_the_formula(rng):
    a = rng.normal(size=(9, 9))
    matrix = a + a.T
    low, high = trace_bounds(matrix)
    expected = ((high - low) + np.abs(matrix).sum() / 9) / (7.0 * 8 * np.log(8))
    assert threshold(matrix, 7.0) == pytest.approx(expected)


def test_ritz_pairs_become_eigenpairs_as_a_grows(rng):
    a = rng.normal(size=(12, 12))
    matrix = a + a.T
    start = rng.normal(size=12)
    start /= np.linalg.norm(start)
    values, vectors = ritz_pairs(matrix, 1e12, True, start)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-9)
    assert len(ritz_pairs(matrix, 0.05, True, start)[0]) < 12


def test_the_lanczos_option_counts_its_runs_apart():
    for problem in toy_problems(12, 5):
        got = bqp.solve(problem, solver="enhanced_gd", evd="lanczos", a=1e4)
        full = bqp.solve(problem, solver="enhanced_gd")
        assert got.n_lanczos > 0
        assert got.n_evd == 1  # that of -A
        assert got.value <= full.value + 0.05
        assert got.lower_bound <= bqp.solve(problem, solver="exhaustive").value + 1e-9


def test_the_printed_recurrence_is_an_option():
    for problem in toy_problems(12, 3):
        kept, printed = (
            bqp.solve(problem, solver="enhanced_gd", evd="lanczos", a=10.0, reorthogonalised=choice, tol=1e-2)
            for choice in (True, False)
        )
        # At this size and threshold little is lost.
        assert printed.n_lanczos > 0
        np.testing.assert_allclose(printed.dual, kept.dual, atol=1e-4)


def test_ritz_values_are_those_of_the_krylov_space(rng):
    a = rng.normal(size=(9, 9))
    matrix = a + a.T
    start = rng.normal(size=9)
    start /= np.linalg.norm(start)
    for m in (1, 3, 5):
        basis, diagonal, off = np.empty((9, 9)), np.empty(9), np.empty(10)
        tridiagonalise(matrix, start, 0.0, True, basis, diagonal, off)
        small = np.diag(diagonal[:m]) + np.diag(off[1:m], 1) + np.diag(off[1:m], -1)
        expected = naive.krylov_ritz_values(matrix, start, m)
        np.testing.assert_allclose(np.linalg.eigvalsh(small), expected, atol=1e-7)


def test_convergence_is_judged_by_the_exact_gradient():
    rough = [bqp.solve(problem, solver="enhanced_gd", evd="lanczos", a=1.0) for problem in toy_problems(8, 20)]
    assert any(solution.gradient_norm > 0.1 for solution in rough)
    for solution in rough:
        assert solution.gradient_norm <= 100.0 * 1e-4 or solution.status is Status.ITERATION_LIMIT
    fine = [bqp.solve(problem, solver="enhanced_gd", evd="lanczos", a=1e9) for problem in toy_problems(8, 5)]
    assert all(solution.status is Status.FEASIBLE for solution in fine)
