"""Algorithm 3, Gaussian rounding, and the homogenised problem (8) to (10): {0,1}^D to {-1,+1}^(D+1) and back.

With x = (s + 1) / 2 the value x^T S x - 2 x^T v equals [1 s] A [1 s]^T + constant, where
A = [[0, a/2], [a/2, S/4]], a = S 1 / 2 - v and constant = 1^T S 1 / 4 - 1^T v.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kolmogorov._support.jit import fill_normal, kernel
from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.solvers.contract import stop_cell


@kernel
def lift(gram, moment, lifted):
    """Write A to `lifted`, of size (D+1) x (D+1); return the constant."""
    size = moment.size
    constant = 0.0
    lifted[0, 0] = 0.0
    for d in range(size):
        row = 0.0
        for e in range(size):
            row += gram[d, e]
            lifted[d + 1, e + 1] = 0.25 * gram[d, e]
        half = 0.25 * row - 0.5 * moment[d]
        lifted[0, d + 1] = half
        lifted[d + 1, 0] = half
        constant += 0.25 * row - moment[d]
    return constant


@kernel
def best_rounding(lifted, factor, n_draws, state, stop, x):
    """Round Gaussian draws with covariance factor factor^T to signs and keep the best: Algorithm 3.

    `lifted` is A, `factor`, float64[n, k], the paper's L with X* = L L^T. The best of `n_draws` points, or of those
    that were drawn before `stop` was set, is written to `x`, float64[n - 1]. `state` begins the random stream.
    """
    n, rank = factor.shape
    draw = np.empty(max(rank, 1))
    signs = np.empty(n)
    best = np.inf
    for _ in range(n_draws):
        if stop[0]:
            break
        state = fill_normal(state, draw)
        sample = np.dot(factor, draw[:rank])
        for i in range(n):
            signs[i] = -1.0 if sample[i] < 0.0 else 1.0
        value = np.dot(signs, np.dot(lifted, signs))
        if value < best:
            best = value
            for i in range(n - 1):
                x[i] = 0.5 * (signs[0] * signs[i + 1] + 1.0)


def rounded(S: ArrayLike, v: ArrayLike, covariance: ArrayLike, *, n_draws: int = 100, random_state: Any = 0) -> Floats:
    """Round Gaussian draws to bits and return the best point for x^T S x - 2 x^T v (the paper's Algorithm 3).

    Parameters
    ----------
    covariance : array-like of shape (D + 1, D + 1)
        The paper's X*: positive semidefinite, with a row for the sign 1 in front of those of the variables.
    n_draws : int
        The paper's I_rand.

    Examples
    --------
    >>> rounded([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0], np.eye(3)).tolist()
    [0.0, 1.0]
    """
    gram, moment = np.array(S, dtype=np.float64), np.array(v, dtype=np.float64)
    lifted = np.empty((moment.size + 1, moment.size + 1))
    lift(gram, moment, lifted)
    values, vectors = np.linalg.eigh(np.array(covariance, dtype=np.float64))
    seed = row_seeds(base_seed(random_state), 0, 0, np.zeros(1, dtype=np.int64))[0]
    x = np.zeros(moment.size)
    best_rounding(lifted, vectors * np.sqrt(np.maximum(values, 0.0)), n_draws, seed, stop_cell(), x)
    return x
