"""Local search at hundreds of variables."""

import numpy as np
import pytest

import naive
from helpers.strategies import sparse_integers
from kolmogorov.problems import BinaryQP
from kolmogorov.solvers import resolve


def test_same_seed_same_point_in_a_batch_or_alone():
    solver = resolve("binary", "local_search")
    gram = np.stack([sparse_integers(120, seed) for seed in range(3)])
    moment, start = np.zeros((3, 120)), np.zeros((3, 120))
    seeds = np.arange(3, dtype=np.uint64)
    together = solver.solve_batch(gram, moment, start, seeds)
    for k in range(3):
        alone = solver.solve_batch(gram[k : k + 1], moment[:1], start[:1], seeds[k : k + 1])
        assert np.array_equal(alone[0], together[k])


@pytest.mark.long("searches of solvers")
def test_large_searches_are_never_worse_than_their_start():
    rng = np.random.default_rng(5)
    for scale in (1e-9, 1.0, 1e9):
        a = rng.normal(size=(130, 130))
        qp = BinaryQP(scale * (a + a.T), scale * rng.normal(size=130))
        start = rng.integers(0, 2, 130).astype(float)
        got = resolve("binary", "local_search", n_starts=1).solve(qp, start=start)
        assert got.value <= qp.value(start)
        assert naive.is_two_flip_optimal(qp.gram / scale, qp.moment / scale, got.x)
