"""Quadratics over a grid of values: problems, solvers against twins and against the binary ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from helpers.strategies import binary_problems
from kolmogorov import bqp
from kolmogorov.errors import DataError, ParameterError, SolverMismatchError
from kolmogorov.problems import BinaryQP, LevelQP, Status
from kolmogorov.solvers import names, resolve

GRIDS = [(0.0, 1.0), (-0.5, 0.0, 0.5, 1.0), (-0.4, 0.1, 0.15, 2.0), (0.25, 0.75)]


@given(binary_problems(max_size=5), st.sampled_from(GRIDS))
@settings(max_examples=60)
def test_exact_solvers_find_the_optimum(problem, grid):
    qp = LevelQP(*problem, grid)
    best = qp.value(naive.best_on_levels(qp.gram, qp.moment, qp.levels))
    for name in ("exhaustive",):
        got = resolve("levels", name).solve(qp)
        assert got.status is Status.OPTIMAL
        assert got.value == pytest.approx(best, abs=1e-9)
        assert got.lower_bound <= best + 1e-9
        assert got.gap < 1e-6 * (1 + np.abs(qp.moment).max() ** 2)


@given(binary_problems(max_size=6), st.sampled_from(GRIDS))
@settings(max_examples=60)
def test_coordinate_ends_where_no_one_or_two_moves_help(problem, grid):
    qp = LevelQP(*problem, grid)
    start = np.full(qp.size, grid[-1])
    got = resolve("levels", "coordinate", n_starts=1).solve(qp, start=start)
    assert naive.is_two_move_optimal(qp.gram, qp.moment, qp.levels, got.x)
    assert got.value <= qp.value(start) + 1e-12


@given(binary_problems(max_size=8))
@settings(max_examples=40)
def test_two_levels_are_bits(problem):
    bits = resolve("binary", "exhaustive").solve(BinaryQP(*problem))
    for name in ("exhaustive", "binary"):
        got = resolve("levels", name).solve(LevelQP(*problem, [0.0, 1.0]))
        assert np.array_equal(got.x, bits.x)
        assert got.value == bits.value


def test_coordinate_nearly_always_finds_the_optimum(rng):
    missed = 0
    for _ in range(100):
        factor = rng.normal(size=(5, 7))
        qp = LevelQP(factor @ factor.T, factor @ rng.normal(size=7), np.arange(-2, 8) / 5)
        best = resolve("levels", "exhaustive").solve(qp).value
        missed += resolve("levels", "coordinate", n_starts=8).solve(qp).value > best + 1e-9
    assert missed <= 3


@pytest.mark.parametrize(
    "solver",
    [
        "auto",
        "local_search",
        *(pytest.param(name, marks=pytest.mark.long("solvers beside the usual")) for name in ("enhanced_gd", "dmo")),
    ],
)
def test_every_binary_solver_can_be_named(solver, rng):
    factor = rng.normal(size=(3, 5))
    qp = LevelQP(factor @ factor.T, rng.normal(size=3), [-0.5, 0.0, 0.5, 1.0])
    got = resolve("levels", "binary", solver=solver).solve(qp)
    best = resolve("levels", "exhaustive").solve(qp)
    assert got.value >= best.value - 1e-12
    if got.status is Status.OPTIMAL:
        assert got.value == pytest.approx(best.value)
    if got.lower_bound is not None:
        assert got.lower_bound <= best.value + 1e-9


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0.0], "at least two increasing"),
        ([1.0, 0.0], "at least two increasing"),
        ([0.0, 0.0, 1.0], "at least two increasing"),
        ([0.0, np.nan], "finite"),
        ([[0.0, 1.0]], "1 dimension"),
        ([0.0, 1e9], "of size 1e"),
        ("many", "real numbers"),
    ],
)
def test_bad_levels_are_named(levels, message):
    with pytest.raises(DataError, match=message):
        LevelQP(np.eye(2), [0, 0], levels)
    with pytest.raises(ParameterError, match=f"'coordinate'.*{message}"):
        resolve("levels", "coordinate", levels=levels)


def test_mismatches_are_named():
    grid = np.arange(10) / 10
    with pytest.raises(SolverMismatchError, match="at most 8 variables of 10 levels, this problem has 9.*coordinate"):
        resolve("levels", "exhaustive").solve(LevelQP(np.eye(9), np.zeros(9), grid))
    with pytest.raises(SolverMismatchError, match="equally spaced levels, got 0, 0.4, 1"):
        resolve("levels", "binary").solve(LevelQP(np.eye(2), [0, 0], [0, 0.4, 1]))
    with pytest.raises(SolverMismatchError, match="at most 30 variables, this problem has 36"):
        resolve("levels", "binary", solver="exhaustive").solve(LevelQP(np.eye(4), np.zeros(4), grid))
    with pytest.raises(SolverMismatchError, match="takes a LevelQP, got a BinaryQP"):
        resolve("levels", "coordinate").solve(BinaryQP(np.eye(2), [0, 0]))
    with pytest.raises(DataError, match="only levels: 0, 0.5, 1"):
        resolve("levels", "coordinate").solve(LevelQP(np.eye(2), [0, 0], [0, 0.5, 1]), start=[0.5, 0.7])
    with pytest.raises(ParameterError, match="Unknown binary solver"):
        resolve("levels", "binary", solver="nonsense")


@pytest.mark.parametrize("solver", ["auto", *names("levels")])
def test_one_call_solves_problems_with_levels(solver, rng):
    gram, moment, grid = np.diag([1.0, 2.0]), [0.3, 3.0], [0.0, 0.5, 1.0]
    for got in (
        bqp.solve(LevelQP(gram, moment, grid), solver=solver),
        bqp.solve(gram, moment, levels=grid, solver=solver),
    ):
        assert got.x.tolist() == [0.5, 1.0]


def test_levels_go_with_a_matrix_only():
    with pytest.raises(DataError, match="its own levels"):
        bqp.solve(LevelQP(np.eye(2), [0, 0], [0, 1]), levels=[0, 1])
    with pytest.raises(DataError, match="its own levels"):
        bqp.solve(BinaryQP(np.eye(2), [0, 0]), levels=[0, 0.5, 1])
