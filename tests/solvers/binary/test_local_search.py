"""Local search at hundreds of variables: its kernels against their twins, and the best values known."""

import numpy as np
import pytest

import naive
from helpers.strategies import sparse_integers
from kolmogorov import bqp
from kolmogorov.kernels.binary.relinking import gains, halfway, next_pair, place_in_pool, turn
from kolmogorov.problems import BinaryQP
from kolmogorov.solvers import resolve

# (variables, seed, density): the best value that runs of ten million flips from three seeds found.
BEST = {
    (500, 12, 0.1): -118694,
    (500, 19, 0.1): -127906,
    (500, 20, 0.1): -124106,
    (500, 24, 0.1): -127560,
    (500, 0, 0.5): -270169,
    (500, 6, 0.5): -252003,
    (500, 1, 1.0): -385103,
    (500, 6, 1.0): -347618,
}


@pytest.mark.long("searches of solvers")
@pytest.mark.parametrize(("size", "seed", "density"), list(BEST))
def test_the_best_values_known_are_found(size, seed, density):
    got = bqp.solve(sparse_integers(size, seed, density), solver="local_search")
    assert got.value == BEST[size, seed, density]


def test_same_seed_same_point_in_a_batch_or_alone():
    solver = resolve("binary", "local_search")
    gram = np.stack([sparse_integers(120, seed) for seed in range(3)])
    moment, start = np.zeros((3, 120)), np.zeros((3, 120))
    seeds = np.arange(3, dtype=np.uint64)
    together = solver.solve_batch(gram, moment, start, seeds)
    for k in range(3):
        alone = solver.solve_batch(gram[k : k + 1], moment[:1], start[:1], seeds[k : k + 1])
        assert np.array_equal(alone[0], together[k])


@pytest.mark.parametrize("tabu_moves", [0, 1, None])
@pytest.mark.long("searches of solvers")
def test_large_searches_are_never_worse_than_their_start(tabu_moves):
    rng = np.random.default_rng(5)
    for scale in (1e-9, 1.0, 1e9):
        a = rng.normal(size=(130, 130))
        qp = BinaryQP(scale * (a + a.T), scale * rng.normal(size=130))
        start = rng.integers(0, 2, 130).astype(float)
        got = resolve("binary", "local_search", tabu_moves=tabu_moves, n_starts=1).solve(qp, start=start)
        assert got.value <= qp.value(start)
        assert naive.is_two_flip_optimal(qp.gram / scale, qp.moment / scale, got.x)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.long("searches of solvers")
def test_branch_and_bound_is_never_worse_than_local_search(seed):
    matrix = sparse_integers(140, seed)
    search = bqp.solve(matrix, solver="local_search", random_state=seed)
    exact = bqp.solve(matrix, solver="branch_bound", random_state=seed, max_nodes=100_000 if seed == 0 else 1_000)
    assert exact.value <= search.value


@pytest.mark.long("solvers beside the usual")
def test_fixing_bits_keeps_branch_and_bound_no_worse_than_local_search():
    rng = np.random.default_rng(7)
    for seed in range(20):
        a = rng.normal(size=(40, 40)) * (rng.random((40, 40)) < 0.2)
        qp = BinaryQP(a + a.T, 2 * rng.normal(size=40))
        search = bqp.solve(qp, solver="local_search", n_starts=1, tabu_moves=0, random_state=seed)
        assert bqp.solve(qp, solver="branch_bound", random_state=seed, max_nodes=1).value <= search.value + 1e-9


def test_gains_are_what_flips_add(rng):
    a = rng.normal(size=(12, 12))
    s, v, x = a + a.T, rng.normal(size=12), rng.integers(0, 2, 12).astype(float)
    side, gain = np.empty(12), np.empty(12)
    assert gains(s, v, x, side, gain) == pytest.approx(naive.value(s, v, x))
    for d in (3, 7, 3):
        np.testing.assert_allclose(gain, naive.flip_gains(s, v, x), atol=1e-9)
        turn(s, side, gain, d)
        x[d] = 1 - x[d]
    np.testing.assert_allclose(gain, naive.flip_gains(s, v, x), atol=1e-9)
    assert np.array_equal(side, 1 - 2 * x)


def test_paths_are_greedy_and_their_middle_third_is_searched(rng):
    for _ in range(10):
        a = rng.normal(size=(20, 20))
        s, v = a + a.T, rng.normal(size=20)
        x, y = rng.integers(0, 2, (2, 20)).astype(float)
        side, gain, middle = np.empty(20), np.empty(20), np.zeros(20)
        here = gains(s, v, x, side, gain)
        distance = halfway(s, side, gain, here, 1 - 2 * y, np.empty(20, dtype=np.int64), middle)
        assert distance == (x != y).sum()
        expected = naive.best_between(s, v, x, y)
        if distance >= 6:
            np.testing.assert_allclose((1 - middle) / 2, expected)
        else:
            assert not middle.any()


def test_the_pool_holds_different_points_and_drops_the_worst():
    pool = np.array([[1.0, 1.0], [1.0, -1.0]])
    values = np.array([-3.0, -1.0])
    assert place_in_pool(values, pool, 2, -3.0, pool[0]) == -1
    assert place_in_pool(values, pool, 2, -2.0, np.array([-1.0, -1.0])) == 1
    assert place_in_pool(values, pool, 2, 0.0, np.array([-1.0, -1.0])) == -1
    assert place_in_pool(values, pool, 1, 0.0, np.array([-1.0, -1.0])) == 1
    untried = np.ones((2, 2), dtype=bool)
    assert next_pair(values, untried) == (0, 1)
    untried[:] = False
    assert next_pair(values, untried) == (-1, -1)
