"""Kernels for GPUs, run on the host, against slow twins."""

import numpy as np
import pytest

import naive
from helpers import emulation
from kolmogorov.gpu.descent import lanes_of_row, row_length
from kolmogorov.solvers import resolve

pytestmark = [
    pytest.mark.skipif(emulation.COMPILER is None, reason="no C++ compiler to run GPU kernels on the host"),
    pytest.mark.long("kernels of GPUs"),
]
LENGTHS = np.array([0, 1, 7, 33, 100], dtype=np.int32)


@pytest.mark.parametrize(
    ("size", "bits", "weighted"),
    [(1, False, True), (8, True, False), (8, False, False), (24, True, True), (24, False, True)],
)
def test_normal_equations(size, bits, weighted):
    rng = np.random.default_rng(size)
    length, n, total = row_length(size), 50, int(LENGTHS.sum())
    begin = np.concatenate([[0], np.cumsum(LENGTHS)[:-1]]).astype(np.int64)
    indices = rng.integers(n, size=total).astype(np.int32)
    factors = np.zeros((n, length), np.float32)
    factors[:, :size] = rng.integers(2, size=(n, size)) if bits else rng.dirichlet(np.ones(size), size=n)
    given = packed(factors[:, :size]) if bits else factors
    book = np.array([0, 0.2, 0.4, 0.6, 0.8, 1], np.float32)
    codes = rng.integers(6, size=total).astype(np.uint16)
    weights = (rng.random(total) + 0.5).astype(np.float32) if weighted else np.zeros(0, np.float32)
    shift, kind = np.float32(0.1), np.float32 if bits else np.float64
    gram, moment = np.full((5, length, length), np.nan, kind), np.full((5, length), np.nan, kind)
    constants = {"D": size, "P": length, "BITS": int(bits), "WEIGHTED": int(weighted)}
    kernel = emulation.function("gram.cu", "normal_equations", **constants)
    kernel((2,), (96,), (np.int64(5), begin, LENGTHS, indices, book[codes], weights, given, shift, gram, moment))
    for segment in range(5):
        entries = [
            (indices[k], float(book[codes[k]]), float(weights[k]) if weighted else 1.0)
            for k in range(begin[segment], begin[segment] + LENGTHS[segment])
        ]
        plain, answer = naive.normal_equations(entries, factors.astype(float), 0.0, np.zeros(length))
        ones, _ = naive.normal_equations(
            [(j, p, 1.0) for j, p, _ in entries], factors.astype(float), 0.0, np.zeros(length)
        )
        below = np.tril_indices(length)
        tolerance = 2e-6 * max(LENGTHS[segment], 1)
        np.testing.assert_allclose(gram[segment][below], (plain - float(shift) * ones)[below], atol=tolerance)
        np.testing.assert_allclose(moment[segment], answer, atol=tolerance)


def packed(bits):
    return bits.astype(np.uint64) @ (np.uint64(1) << np.arange(bits.shape[1], dtype=np.uint64))


def unpacked(words, size):
    return ((words[:, None] >> np.arange(size, dtype=np.uint64)) & np.uint64(1)).astype(float)


class Problems:
    """Rows whose normal equations come in one to three segments, as the GPU has them and as they sum up."""

    def __init__(self, size, n, seed=0, noise=3.0):
        rng = np.random.default_rng([seed, size])
        length = row_length(size)
        pieces = rng.integers(1, 4, size=n)
        self.segments = np.concatenate([[0], np.cumsum(pieces)]).astype(np.int64)
        total = int(self.segments[-1])
        rows = rng.normal(size=(total, 6, size))
        self.gram = np.zeros((total, length, length))
        self.gram[:, :size, :size] = np.einsum("sij,sik->sjk", rows, rows)
        self.moment = np.zeros((total, length))
        self.moment[:, :size] = noise * rng.normal(size=(total, size))
        self.base, self.pull = np.zeros((length, length)), np.zeros(length)
        self.base[:size, :size] = 0.5 * np.eye(size)
        self.pull[:size] = 0.5 / size
        self.whole = np.add.reduceat(self.gram, self.segments[:-1])[:, :size, :size] + self.base[:size, :size]
        self.answer = np.add.reduceat(self.moment, self.segments[:-1])[:, :size] + self.pull[:size]
        # Above the diagonal nothing is looked at.
        self.gram[:, *np.triu_indices(length, 1)] = np.nan
        self.n, self.size, self.length, self.rng = n, size, length, rng

    @property
    def arguments(self):
        equations = (self.segments, np.int64(0), self.gram, self.moment, self.base, self.pull)
        return (np.int64(self.n), *equations)

    def values(self, x):
        return np.array([naive.value(q, m, row) for q, m, row in zip(self.whole, self.answer, x, strict=True)])


@pytest.mark.parametrize("size", [1, 5, 8, 24, 64])
def test_pairwise_descent_ends_at_a_certified_point(size):
    problems = Problems(size, 7)
    length, n = problems.length, problems.n
    lanes = lanes_of_row(length)
    start = np.zeros((n, length), np.float32)
    start[:, :size] = problems.rng.dirichlet(np.ones(size), size=n)
    x, values, gaps = np.full((n, length), np.nan, np.float32), np.full(n, np.nan), np.full(n, np.nan, np.float32)
    kernel = emulation.function("simplex.cu", "pairwise_descent", D=size, P=length, G=lanes)
    blocks = -(-n // (32 // lanes))
    rows, segments, offset, gram, moment, *ridge = problems.arguments
    given = (rows, segments, offset, gram.astype(np.float32), moment.astype(np.float32), *ridge)
    kernel((blocks,), (32,), (*given, start, np.float32(5e-8), np.int32(500), x, values, gaps))
    found = x[:, :size].astype(float)
    best = resolve("simplex", "active_set").solve(problems.whole, problems.answer, np.full((n, size), 1 / size))
    scale = np.abs(problems.values(best)).max() + problems.whole.max()
    assert (x >= 0.0).all()
    assert (x[:, size:] == 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    assert (gaps <= 2e-7).all()
    np.testing.assert_allclose(problems.values(found), problems.values(best), atol=1e-6 * scale)
    np.testing.assert_allclose(values, problems.values(found), atol=1e-6 * scale)


@pytest.mark.parametrize("size", [1, 5, 7, 12])
def test_enumeration_is_exact(size):
    problems = Problems(size, 5)
    start = problems.rng.integers(1 << size, size=5).astype(np.uint64)
    words, values = np.zeros(5, np.uint64), np.zeros(5)
    kernel = emulation.function("enumeration.cu", "enumerate_all", D=size, P=problems.length)
    kernel((3,), (64,), (*problems.arguments, start, words, values))
    x = unpacked(words, size)
    best = problems.values([naive.best_binary(q, m) for q, m in zip(problems.whole, problems.answer, strict=True)])
    np.testing.assert_allclose(values, best, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(problems.values(x), best, rtol=1e-12, atol=1e-12)


def test_enumeration_takes_the_smaller_code_of_equals():
    # The second event has no mass with the item's users: its bit changes nothing.
    problems = Problems(3, 1)
    problems.gram[:, 1, :] = problems.gram[:, :, 1] = 0.0
    problems.moment[:, 1] = 0.0
    problems.base[:], problems.pull[:] = 0.0, 0.0
    words, values = np.zeros(1, np.uint64), np.zeros(1)
    kernel = emulation.function("enumeration.cu", "enumerate_all", D=3, P=8)
    kernel((1,), (32,), (*problems.arguments, np.array([7], np.uint64), words, values))
    assert not int(words[0]) & 2


@pytest.mark.parametrize("size", [17, 64])
def test_flips_end_where_no_pair_helps(size):
    problems = Problems(size, 3)
    start = problems.rng.integers(1 << min(size, 62), size=3).astype(np.uint64)
    words, values = np.zeros(3, np.uint64), np.zeros(3)
    kernel = emulation.function("flips.cu", "multi_start", D=size, P=problems.length)
    kernel((2,), (64,), (*problems.arguments, start, np.uint64(5), words, values))
    x = unpacked(words, size)
    np.testing.assert_allclose(values, problems.values(x), rtol=1e-12)
    assert (values <= problems.values(unpacked(start, size)) + 1e-9).all()
    for q, m, row in zip(problems.whole, problems.answer, x, strict=True):
        assert naive.is_two_flip_optimal(q, m, row)
