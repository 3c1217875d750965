"""Exact methods: branch and bound, discrete monotonic optimisation, persistency, tabu search on known optima."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings

import naive
from helpers.strategies import binary_problems
from kolmogorov import bqp
from kolmogorov.kernels.binary.branching import persistent, pivoted_factor
from kolmogorov.kernels.binary.monotonic import increasing_values
from kolmogorov.problems import BinaryQP, Status
from kolmogorov.solvers import resolve

#: Kernels that few need take longest to compile.
pytestmark = pytest.mark.long("solvers beside the usual")


@given(binary_problems(max_size=12))
@settings(max_examples=80)
def test_branch_and_bound_proves_the_optimum(problem):
    qp = BinaryQP(*problem)
    got = bqp.solve(qp, solver="branch_bound")
    best = qp.value(naive.best_binary(qp.gram, qp.moment))
    assert got.status is Status.OPTIMAL
    assert got.value == pytest.approx(best, abs=1e-8 * (1 + abs(best)))
    assert got.lower_bound <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("seed", range(6))
def test_branch_and_bound_against_enumeration_at_twenty_variables(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(20, 20))
    qp = BinaryQP(a + a.T if seed % 2 else a @ a.T, 3 * rng.normal(size=20))
    exact, proved = bqp.solve(qp, solver="exhaustive"), bqp.solve(qp, solver="branch_bound")
    assert proved.status is Status.OPTIMAL
    assert proved.value == pytest.approx(exact.value, abs=1e-9)


@pytest.mark.long("searches of solvers")
def test_a_time_limit_returns_the_incumbent_and_its_bound():
    rng = np.random.default_rng(0)
    spins = rng.choice([-1.0, 1.0], size=(100, 100))
    coupling = np.triu(spins, 1) + np.triu(spins, 1).T
    qp = BinaryQP(4 * coupling, 2 * coupling.sum(axis=1))  # spins that want no field: far from any bound
    got = bqp.solve(qp, solver="branch_bound", time_limit=0.5)
    assert got.status is Status.ITERATION_LIMIT
    assert got.lower_bound < got.value
    longer = bqp.solve(qp, solver="branch_bound", max_nodes=1)
    assert longer.nodes == 1
    assert longer.lower_bound <= got.value


@given(binary_problems(max_size=9))
@settings(max_examples=60)
def test_persistent_bits_belong_to_an_optimum(problem):
    gram, moment = problem
    fixed = np.empty(len(moment), dtype=np.int64)
    free = persistent(gram, moment, np.zeros(1, dtype=np.int64), fixed)
    assert free == (fixed < 0).sum()
    best = naive.value(gram, moment, naive.best_binary(gram, moment))
    settled = np.flatnonzero(fixed >= 0)
    rest = min(
        naive.value(gram, moment, x)
        for x in (np.array(bits, float) for bits in np.ndindex(*[2] * len(moment)))
        if (x[settled] == fixed[settled]).all()
    )
    assert rest == pytest.approx(best, abs=1e-9 * (1 + abs(best)))


def test_the_triangular_factor(rng):
    a = rng.normal(size=(7, 7))
    matrix = a @ a.T
    order, factor = np.empty(7, dtype=np.int64), np.empty((7, 7))
    assert pivoted_factor(matrix, np.zeros(1, dtype=np.int64), order, factor)
    np.testing.assert_allclose(factor.T @ factor, matrix[np.ix_(order, order)], atol=1e-9)
    assert np.allclose(factor, np.triu(factor))


@given(binary_problems(max_size=10))
@settings(max_examples=60)
def test_dmo_is_exact_and_counts_its_boxes(problem):
    qp = BinaryQP(*problem)
    got = bqp.solve(qp, solver="dmo")
    best = qp.value(naive.best_binary(qp.gram, qp.moment))
    assert got.status is Status.OPTIMAL
    assert got.value == pytest.approx(best, abs=1e-9 * (1 + abs(best)))
    assert got.nodes >= 1
    stopped = bqp.solve(qp, solver="dmo", max_nodes=1)
    assert stopped.lower_bound <= best + 1e-9 * (1 + abs(best))
    assert stopped.value >= best - 1e-9 * (1 + abs(best))


@given(binary_problems(max_size=8))
def test_the_increasing_parts_increase_and_differ_by_the_value(problem):
    gram, moment = problem
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, len(moment)).astype(float)
    y = np.maximum(x, rng.integers(0, 2, len(moment)))
    plus, minus = increasing_values(gram, moment, x, x)
    assert plus - minus == pytest.approx(naive.value(gram, moment, x), abs=1e-9)
    more_plus, more_minus = increasing_values(gram, moment, y, y)
    assert more_plus >= plus - 1e-12
    assert more_minus >= minus - 1e-12


@pytest.fixture(scope="module")
def beasley(data_directory):
    folder = data_directory / "bqp"
    if not folder.exists():
        pytest.skip(f"Beasley's instances are not in {folder}")
    with (folder / "best_known.csv").open() as file:
        optima = {row["instance"]: float(row["best_known"]) for row in csv.DictReader(file)}
    return [(name, bqp.read(folder / f"{name}.sparse"), value) for name, value in optima.items()]


def test_local_search_finds_every_known_optimum(beasley):
    assert len(beasley) == 20
    for name, problem, optimum in beasley:
        got = bqp.solve(problem, solver="local_search")
        assert got.value == optimum, name


@pytest.mark.long("searches of solvers")
def test_branch_and_bound_proves_every_known_optimum(beasley):
    for name, problem, optimum in beasley:
        got = bqp.solve(problem, solver="branch_bound", max_nodes=10_000_000)
        assert got.value == optimum, name
        assert got.status is Status.OPTIMAL, name
        assert got.lower_bound <= optimum + 1e-6


def test_tabu_search_never_leaves_its_start_worse(rng):
    a = rng.normal(size=(60, 60))
    qp = BinaryQP(a + a.T, rng.normal(size=60))
    start = rng.integers(0, 2, 60).astype(float)
    without = resolve("binary", "local_search", tabu_moves=0).solve(qp, start=start)
    with_tabu = resolve("binary", "local_search").solve(qp, start=start)
    assert with_tabu.value <= without.value <= qp.value(start)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("name", ["branch_bound", "dmo", "local_search", "auto"])
def test_proofs_do_not_depend_on_the_units(name, scale):
    rng = np.random.default_rng(4)
    for kind in range(12):
        a = rng.normal(size=(9, 9))
        c = rng.normal(size=9)
        gram = (np.outer(c, c), a @ a.T, a + a.T)[kind % 3]
        qp = BinaryQP(scale * gram, scale * rng.normal(size=9))
        best = qp.value(naive.best_binary(qp.gram, qp.moment))
        got = bqp.solve(qp, solver=name)
        assert got.value >= best - 1e-13 * scale
        if got.status is Status.OPTIMAL:
            assert got.value <= best + 1e-12 * scale
        if got.lower_bound is not None:
            assert got.lower_bound <= best


def test_large_entries_do_not_hide_small_ones():
    assert bqp.solve(np.diag([1e12, -0.5]), solver="dmo").value == -0.5
    assert bqp.solve(np.diag([1e12, -0.5]), solver="local_search").value == -0.5
    rng = np.random.default_rng(3)
    for _ in range(12):
        b = rng.normal(size=(8, 8))
        gram, moment = np.zeros((9, 9)), np.zeros(9)
        gram[1:, 1:] = np.round(3 * (b + b.T))
        moment[0], moment[1:] = 5e11, np.round(3 * rng.normal(size=8))
        exact = bqp.solve(gram, moment, solver="exhaustive").value
        for name in ("branch_bound", "dmo", "local_search"):
            assert bqp.solve(gram, moment, solver=name).value == exact


@pytest.mark.long("searches of solvers")
def test_a_stopped_search_is_not_called_optimal_whatever_the_units():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(80, 80))
    for scale in (1e-12, 1.0, 1e9):
        got = bqp.solve(scale * (a + a.T), scale * rng.normal(size=80), solver="branch_bound", max_nodes=10)
        assert got.status is Status.ITERATION_LIMIT
        assert got.lower_bound < got.value
