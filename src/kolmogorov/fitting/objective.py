"""What every half-step lowers, and the sums that it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import View

Prior = Literal["mean", "uniform"]


@dataclass(frozen=True, eq=False)
class UserTotals:
    """What the objective and the next centre need to know of some users; those of different users add up.

    Attributes
    ----------
    value : float
        Sum of the values of their rows.
    distance : float
        Sum of the squared distances of their thetas from the centre.
    total : float64[D]
        Sum of the thetas of those who were observed.
    """

    value: float
    distance: float
    total: Floats

    @classmethod
    def of(cls, theta: Floats, values: Floats, centre: Floats, seen: NDArray[np.bool_]) -> UserTotals:
        """Sum up users by their new thetas and the values of their rows."""
        return cls(float(values.sum()), float(((theta - centre) ** 2).sum()), theta[seen].sum(axis=0))

    def __add__(self, other: UserTotals) -> UserTotals:
        return UserTotals(self.value + other.value, self.distance + other.distance, self.total + other.total)


@dataclass(frozen=True)
class Mass:
    """Constants of the objective: the (weighted) sums of squared values and of values, and number of observations."""

    squares: float
    total: float
    count: float

    @classmethod
    def of(cls, view: View) -> Mass:
        """Sum block by block, so that no array as long as the table is made."""
        squares = total = count = 0.0
        for first, last in view.blocks():
            part = slice(view.indptr[first], view.indptr[last])
            weights = view.weights[part] if view.weights.size else np.ones(part.stop - part.start)
            squares += float(weights @ view.values[part] ** 2)
            total += float(weights @ view.values[part])
            count += float(weights.sum())
            view.forget(first, last)
        return cls(squares, total, count)

    def __add__(self, other: Mass) -> Mass:
        return Mass(self.squares + other.squares, self.total + other.total, self.count + other.count)


@dataclass(frozen=True)
class Objective:
    """What every half-step lowers.

    The sum over observations of w (theta_u . psi_i - p)^2, plus `user_reg` times the squared distance of every theta_u
    from the centre, plus `item_reg` times the number of ones in psi, or with several levels the squared distance of
    every psi_i from the mean of the table. With prior "mean" the centre is a third block,
    whose optimum is the mean theta of the users observed.
    """

    user_reg: float
    item_reg: float
    prior: Prior

    def centre(self, total: Floats, n_seen: int) -> Floats:
        """Return the best centre given the sum of the thetas of the users observed."""
        return np.full_like(total, 1.0 / total.size) if self.prior == "uniform" else total / n_seen

    def quality(self, totals: UserTotals, psi: Floats, centre: Floats, n_users: int, mass: Mass) -> tuple[float, float]:
        """Return the objective and the training RMSE; psi is measured from what its ridge draws to."""
        ridge = self.user_reg * totals.distance
        ones = self.item_reg * float((psi**2).sum())
        pull = self.user_reg * n_users * float(centre @ centre)
        squared_error = max(totals.value + pull - ridge + mass.squares, 0.0)
        return squared_error + ridge + ones, float(np.sqrt(squared_error / mass.count))
