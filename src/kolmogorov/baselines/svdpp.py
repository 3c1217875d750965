"""`SVDpp`: SVD++ of Koren (2008), which also looks at which items a user rated."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kolmogorov._support.seeds import base_seed, generator
from kolmogorov._support.validation import LARGEST_RIDGE, MOST_ROUNDS, Between, Integer, Real, Requirement
from kolmogorov.baselines.biased import BiasedFactors, BiasedModel
from kolmogorov.fitted.base import by_users, checked
from kolmogorov.kernels.svdpp import svdpp_epoch
from kolmogorov.surface.tables import learnable

_RULES: dict[str, Requirement] = {
    "n_factors": Integer(1),
    "n_epochs": Integer(1, MOST_ROUNDS),
    "rate": Between(0.0, 1.0),
    "reg": Real(0.0, LARGEST_RIDGE),
}
#: Users whose ratings are gone through in one call of the kernel; by judgement.
_USERS = 4096


class SVDpp(BiasedModel):
    """Learn p = mean + b_u + b_i + g_i . (f_u + |N(u)|^-1/2 sum_{j in N(u)} y_j) by stochastic gradient descent.

    Parameters
    ----------
    n_factors : int
    n_epochs : int
    rate : float
        Learning rate, in rating units as in the literature: a five-star table is learned in stars.
    reg : float
        Regularisation of every parameter.
    random_state : int, Generator or None

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("digits").split(test_size=0.2, random_state=0)
    >>> km.baselines.SVDpp(n_factors=5, random_state=0).fit(train).evaluate(test)["rmse"] < 0.25
    True
    """

    _rules = _RULES

    def __init__(
        self,
        n_factors: int = 20,
        *,
        n_epochs: int = 40,
        rate: float = 0.007,
        reg: float = 0.07,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.n_epochs = n_epochs
        self.rate = rate
        self.reg = reg
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from Observations, a sparse matrix, or a dense array with NaN for missing."""
        self._check_parameters()
        observations = learnable(self, X)
        rng = generator(base_seed(self.random_state))
        view = observations.rows
        n_users, n_items, size = observations.n_users, observations.n_items, int(self.n_factors)
        span = observations.scale.span
        ratings = span * observations.values
        mean = float(np.average(ratings, weights=observations.weights))
        user_bias, item_bias = np.zeros(n_users), np.zeros(n_items)
        user_factors, item_factors, implicit = (
            0.1 * rng.standard_normal((n, size)) for n in (n_users, n_items, n_items)
        )
        for _ in range(int(self.n_epochs)):
            order = rng.permutation(n_users)
            # Some users at a time, so that Ctrl-C need not wait for the whole epoch.
            for first in range(0, n_users, _USERS):
                svdpp_epoch(
                    view.indptr,
                    view.indices,
                    ratings,
                    view.weights,
                    order[first : first + _USERS],
                    mean,
                    float(self.rate),
                    float(self.reg),
                    user_bias,
                    item_bias,
                    user_factors,
                    item_factors,
                    implicit,
                )
        sums = np.add.reduceat(implicit[view.indices], np.minimum(view.indptr[:-1], len(view.indices) - 1), axis=0)
        sums[view.counts == 0] = 0.0
        combined = user_factors + sums / np.sqrt(np.maximum(view.counts, 1))[:, None]
        fitted = BiasedFactors(
            mean=mean / span,
            user_bias=user_bias / span,
            item_bias=item_bias / span,
            user_factors=combined / span,
            item_factors=item_factors,
            training=by_users(observations),
        )
        return self._adopt(
            checked(fitted, f"Lower 'rate', which is {self.rate:g}: steps were too long for this scale.")
        )
