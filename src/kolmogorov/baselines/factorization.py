"""`MatrixFactorization`: biased, regularised alternating least squares through the same half-steps."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kolmogorov._support.seeds import base_seed, generator
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import LARGEST_RIDGE, MOST_ROUNDS, Integer, Real, Requirement
from kolmogorov.baselines.biased import BiasedFactors, BiasedModel
from kolmogorov.data.entries.view import View
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import by_users, checked
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.surface.tables import learnable

_RULES: dict[str, Requirement] = {
    "n_factors": Integer(1),
    "reg": Real(0.0, LARGEST_RIDGE),
    "max_iter": Integer(1, MOST_ROUNDS),
    "tol": Real(0.0),
}


class MatrixFactorization(BiasedModel):
    """Learn p = mean + b_u + b_i + f_u . g_i by alternating least squares with a ridge on biases and factors.

    Parameters
    ----------
    n_factors : int
    reg : float
        Ridge on every bias and factor.
    ridge_solver : str or solver object
        How the rows' linear systems are solved.
    max_iter : int
        Limit on sweeps.
    tol : float
        Stop when a sweep lowers the training error by less than this share of it.
    random_state : int, Generator or None
    n_jobs : int or None
        Threads; -1 for all processors.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("digits").split(test_size=0.2, random_state=0)
    >>> km.baselines.MatrixFactorization(n_factors=5, reg=1.0, random_state=0).fit(train).evaluate(test)["rmse"] < 0.22
    True
    """

    _rules = _RULES

    def __init__(
        self,
        n_factors: int = 10,
        *,
        reg: float = 3.0,
        ridge_solver: str | RowSolver = "cholesky",
        max_iter: int = 30,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_factors = n_factors
        self.reg = reg
        self.ridge_solver = ridge_solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from Observations, a sparse matrix, or a dense array with NaN for missing."""
        self._check_parameters()
        observations = learnable(self, X)
        rng = generator(base_seed(self.random_state))
        values, weights = observations.values, observations.weights
        mean = float(np.average(values, weights=weights))
        size = int(self.n_factors)
        # The last column is the bias; a partner's factor ends in 1 where the bias is to be learned.
        users = np.zeros((observations.n_users, size + 1))
        items = np.hstack(
            [0.1 * rng.standard_normal((observations.n_items, size)), np.zeros((observations.n_items, 1))]
        )
        last = np.inf
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            for _ in range(int(self.max_iter)):
                users = self._half(observations.rows, items, users, mean, USER_SIDE, dealer)
                items = self._half(observations.columns, users, items, mean, ITEM_SIDE, dealer)
                error = self._error(observations, mean, users, items)
                if last - error < self.tol * last:
                    break
                last = error
        fitted = BiasedFactors(
            mean=mean,
            user_bias=users[:, size].copy(),
            item_bias=items[:, size].copy(),
            user_factors=users[:, :size].copy(),
            item_factors=items[:, :size].copy(),
            training=by_users(observations),
        )
        return self._adopt(checked(fitted, "A larger 'reg' may help."))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        resolve("ridge", self.ridge_solver)

    def _half(self, view: View, partners: Floats, own: Floats, mean: float, side: int, dealer: Threads) -> Floats:
        """Solve one side given the other: what is left after the mean and the partners' biases."""
        left = view.values - mean - partners[view.indices, -1]
        factors = partners.copy()
        factors[:, -1] = 1.0
        zero = np.zeros(own.shape[1])
        step = HalfStep(resolve("ridge", self.ridge_solver), float(self.reg), zero, seed=0, sweep=0, side=side)
        return step.run(View(view.indptr, view.indices, left, view.weights), factors, own, dealer)[0]

    def _error(self, observations: Any, mean: float, users: Floats, items: Floats) -> float:
        rows, columns = observations.user_rows(), observations.item_rows()
        error = 0.0
        for first in range(0, len(rows), 1 << 16):
            part = slice(first, first + (1 << 16))
            u, i = users[rows[part]], items[columns[part]]
            guess = mean + u[:, -1] + i[:, -1] + np.einsum("nd,nd->n", u[:, :-1], i[:, :-1])
            squares = (guess - observations.values[part]) ** 2
            error += float(squares.sum() if observations.weights is None else squares @ observations.weights[part])
        return error
