"""Discrete monotonic optimisation, known optima, units, and local search at hundreds of variables."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings

import naive
from helpers.strategies import binary_problems
from kolmogorov.solvers import bqp
from kolmogorov.solvers.problems import BinaryQP, Status

#: Kernels that few need take longest to compile.
pytestmark = pytest.mark.long("solvers beside the usual")


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


@pytest.fixture(scope="module")
def beasley(data_directory):
    folder = data_directory / "bqp"
    if not folder.exists():
        pytest.skip(f"Beasley's instances are not in {folder}")
    with (folder / "best_known.csv").open() as file:
        optima = {row["instance"]: float(row["best_known"]) for row in csv.DictReader(file)}
    return [(name, bqp.read(folder / f"{name}.sparse"), value) for name, value in optima.items()]


def test_every_known_optimum_is_found(beasley):
    assert len(beasley) == 20
    for name, problem, optimum in beasley:
        assert bqp.solve(problem).value == optimum, name


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("name", ["dmo", "local_search", "auto"])
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
        for name in ("dmo", "local_search"):
            assert bqp.solve(gram, moment, solver=name).value == exact


def test_large_searches_are_never_worse_than_their_start():
    rng = np.random.default_rng(5)
    for scale in (1e-9, 1.0, 1e9):
        a = rng.normal(size=(130, 130))
        qp = BinaryQP(scale * (a + a.T), scale * rng.normal(size=130))
        start = rng.integers(0, 2, 130).astype(float)
        got = bqp.solve(qp, start=start, solver="local_search", n_starts=1)
        assert got.value <= qp.value(start)
        assert naive.is_two_flip_optimal(qp.gram / scale, qp.moment / scale, got.x)
