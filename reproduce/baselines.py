"""What the paper compares with in Table V: matrix factorisation with biases, and SVD++."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit

from kolmogorov import Observations
from reproduce.common import split

#: Factors k by the column of the table, as MyMediaLite has them or nearest to it; SVD++'s first has k = 4.
MF_FACTORS = {4: 5, 8: 10, 16: 20, 24: 40}
SVDPP_FACTORS = {4: 4, 8: 10, 16: 20, 24: 50}
MF_REGS = (2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
SVDPP_GRID = [(rate, reg) for rate in (0.002, 0.004, 0.007) for reg in (0.02, 0.05, 0.08, 0.12, 0.2)]


class Biased:
    """p = mean + b_u + b_i + f_u . g_i, clipped to [0, 1]; whoever has no ratings has bias and factors zero."""

    mean: float
    user_bias: Any
    item_bias: Any
    user_factors: Any
    item_factors: Any

    def predict(self, table: Observations) -> Any:
        """Return predictions of the entries of a table over the ids of the training part."""
        u, i = table.user_rows(), table.item_rows()
        inner = np.einsum("nd,nd->n", self.user_factors[u], self.item_factors[i])
        return np.clip(self.mean + self.user_bias[u] + self.item_bias[i] + inner, 0.0, 1.0)

    def error(self, table: Observations) -> float:
        """Return the root mean squared error on the scale p."""
        return float(np.sqrt(np.mean((self.predict(table) - table.values) ** 2)))


class MatrixFactorization(Biased):
    """Alternating least squares with a ridge on biases and factors."""

    def __init__(self, n_factors: int, reg: float, *, max_iter: int = 20, seed: int = 0) -> None:
        self.n_factors, self.reg, self.max_iter, self.seed = n_factors, reg, max_iter, seed

    def fit(self, table: Observations) -> "MatrixFactorization":
        """Learn; the last column of the factors is the bias."""
        size, rng = self.n_factors, np.random.default_rng(self.seed)
        self.mean = float(table.values.mean())
        users = np.zeros((table.n_users, size + 1))
        items = np.hstack([0.1 * rng.standard_normal((table.n_items, size)), np.zeros((table.n_items, 1))])
        for _ in range(self.max_iter):
            self._half(table.rows, items, users)
            self._half(table.columns, users, items)
        self.user_factors, self.user_bias = users[:, :-1], users[:, -1]
        self.item_factors, self.item_bias = items[:, :-1], items[:, -1]
        return self

    def _half(self, view: Any, partners: Any, own: Any) -> None:
        """Solve one side given the other: what is left after the mean and the partners' biases."""
        left = view.values - self.mean - partners[view.indices, -1]
        factors = partners.copy()
        factors[:, -1] = 1.0
        ridge = self.reg * np.eye(own.shape[1])
        for row, (first, last) in enumerate(zip(view.indptr[:-1], view.indptr[1:], strict=True)):
            some = factors[view.indices[first:last]]
            own[row] = np.linalg.solve(some.T @ some + ridge, some.T @ left[first:last])


class SVDpp(Biased):
    """SVD++ (Koren 2008): p = mean + b_u + b_i + g_i . (f_u + |N(u)|^-1/2 sum_{j in N(u)} y_j), learned in stars."""

    def __init__(self, n_factors: int, rate: float, reg: float, *, n_epochs: int = 40, seed: int = 0) -> None:
        self.n_factors, self.rate, self.reg, self.n_epochs, self.seed = n_factors, rate, reg, n_epochs, seed

    def fit(self, table: Observations) -> "SVDpp":
        """Go over the users in random order, epoch after epoch."""
        view, rng, span = table.rows, np.random.default_rng(self.seed), table.scale.span
        ratings = span * view.values
        shapes = (table.n_users, table.n_items, table.n_items)
        f, g, y = (0.1 * rng.standard_normal((n, self.n_factors)) for n in shapes)
        bu, bi = np.zeros(table.n_users), np.zeros(table.n_items)
        for _ in range(self.n_epochs):
            order = rng.permutation(table.n_users)
            how = (ratings.mean(), self.rate, self.reg)
            svdpp_epoch(view.indptr, view.indices, ratings, order, *how, bu, bi, f, g, y)
        for u in range(table.n_users):
            rated = view.indices[view.indptr[u] : view.indptr[u + 1]]
            f[u] += y[rated].sum(axis=0) / math.sqrt(max(rated.size, 1))
        self.mean, self.user_bias, self.item_bias = ratings.mean() / span, bu / span, bi / span
        self.user_factors, self.item_factors = f / span, g
        return self


@njit(cache=True)
def svdpp_epoch(indptr, indices, ratings, order, mean, rate, reg, bu, bi, f, g, y):  # type: ignore[no-untyped-def]
    """Go once over all ratings. A user's implicit sum is made once; its gradient reaches the y_j at the user's end."""
    for u in order:
        begin, end = indptr[u], indptr[u + 1]
        if begin == end:
            continue
        norm = 1.0 / np.sqrt(end - begin)
        total, change = np.zeros(f.shape[1]), np.zeros(f.shape[1])
        for k in range(begin, end):
            total += norm * y[indices[k]]
        for k in range(begin, end):
            i = indices[k]
            e = ratings[k] - mean - bu[u] - bi[i] - np.sum(g[i] * (f[u] + total))
            bu[u] += rate * (e - reg * bu[u])
            bi[i] += rate * (e - reg * bi[i])
            for d in range(f.shape[1]):
                old = g[i, d]
                g[i, d] += rate * (e * (f[u, d] + total[d]) - reg * old)
                f[u, d] += rate * (e * old - reg * f[u, d])
                push = rate * e * old * norm
                change[d] += push
                total[d] += push / norm
        for k in range(begin, end):
            y[indices[k]] += change - rate * reg * (end - begin) * y[indices[k]]


def rivals(data: str, first: str, folds: str, quick: bool) -> Iterator[tuple[str, str, int, list[float], str]]:
    """Give (model, reading, D, errors, note): on the first split, and for D2 the mean over five.

    Regularisation and rate are chosen on a tenth of the first training part.
    """
    pairs = [split(data, which) for which in range(5 if data == "D2" and not quick else 1)]
    inner, held = pairs[0][0].split(test_size=0.1, random_state=1)
    sizes = (4,) if quick else (4, 8, 16, 24)

    def told(model: str, size: int, note: str, kind: Any, *how: Any) -> Iterator[Any]:
        errors = [kind(*how).fit(train).error(test) for train, test in pairs]
        yield model, first, size, errors[:1], note
        if len(pairs) > 1:
            yield model, folds, size, [float(np.mean(errors))], note

    for size in sizes:
        k, regs = MF_FACTORS[size], MF_REGS[:1] if quick else MF_REGS
        scores = {r: MatrixFactorization(k, r).fit(inner).error(held) for r in regs}
        reg = min(scores, key=lambda r: scores[r])
        yield from told("MF", size, f"k = {k}, reg {reg:g}", MatrixFactorization, k, reg)
    found = {how: SVDpp(10, *how).fit(inner).error(held) for how in (SVDPP_GRID[:1] if quick else SVDPP_GRID)}
    rate, reg = min(found, key=lambda how: found[how])
    for size in sizes:
        k = SVDPP_FACTORS[size]
        yield from told("SVD++", size, f"k = {k}, rate {rate:g}, reg {reg:g}", SVDpp, k, rate, reg)
