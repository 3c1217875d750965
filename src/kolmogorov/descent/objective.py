"""What a descent solves: the objective that every half-step lowers, the sums it is made of, and the row solvers."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.descent.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.solvers import RowSolver

Prior = Literal["mean", "uniform"]
#: What all unobserved entries weigh by default, for each one observed; chosen in benchmarks/only_yes.py.
UNOBSERVED_MASS = 8.0


@dataclass(frozen=True, eq=False)
class UserTotals:
    """What the objective and the next centre need to know of some users; those of different users add up.

    Sums over the users: of the values of their rows, of the squared distances of their thetas from the centre, and of
    the thetas of those who were observed.
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
    """Constants of the objective: the (weighted) sums of squared values and of values, and number of entries."""

    squares: float
    total: float
    count: float
    entries: int

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
        return cls(squares, total, count, view.indices.size)

    def __add__(self, other: Mass) -> Mass:
        return Mass(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return self.total / self.count

    def of_table(self, unobserved: float, n_cells: int) -> Mass:
        """Count the cells of a table that are no entries as a no of weight `unobserved`, of which no square is left."""
        return replace(self, count=self.count + unobserved * (n_cells - self.entries), entries=n_cells)


@dataclass(frozen=True)
class Objective:
    """What every half-step lowers.

    The sum over observations of w (theta_u . psi_i - p)^2, plus `unobserved` times the sum of (theta_u . psi_i)^2 over
    all other pairs, plus `user_reg` times the squared distance of every theta_u from the centre, plus `item_reg` times
    the squared distance of every psi_i from what it is drawn to: of bits and 0, the number of ones. With prior "mean"
    the centre is a third block, whose optimum is the mean theta of the users observed, or of all where the unobserved
    counts.
    """

    user_reg: float
    item_reg: float
    prior: Prior
    unobserved: float | Literal["auto"] = 0.0

    def settled(self, mass: Mass, n_users: int, n_items: int) -> Objective:
        """Return the same with the weight that is usual for such a table, where it is to be found."""
        if self.unobserved != "auto":
            return self
        return replace(self, unobserved=usual_weight(mass.entries, n_users * n_items))

    def counted(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which users count in the centre, by their numbers of entries: where a blank is a no, all do."""
        return (counts > 0) | (self.unobserved != 0.0)

    def centre(self, total: Floats, n_seen: int) -> Floats:
        """Return the best centre given the sum of the thetas of the users observed."""
        return np.full_like(total, 1.0 / total.size) if self.prior == "uniform" else total / n_seen

    def quality(
        self, totals: UserTotals, squares: float, centre: Floats, n_users: int, mass: Mass
    ) -> tuple[float, float]:
        """Return the objective and the training RMSE; `squares` sums those of psi less what its ridge draws to."""
        ridge = self.user_reg * totals.distance
        ones = self.item_reg * squares
        pull = self.user_reg * n_users * float(centre @ centre)
        squared_error = max(totals.value + pull - ridge + mass.squares, 0.0)
        return squared_error + ridge + ones, float(np.sqrt(squared_error / mass.count))


def squares_of(psi: Floats, centre: float) -> float:
    """Return the sum of the squared distances of psi from what its ridge draws to."""
    return float(((psi - centre) ** 2).sum())


def usual_weight(n_entries: int, n_cells: int) -> float:
    """Return what an unobserved entry weighs by default: all of them together weigh some times what was observed.

    Examples
    --------
    >>> usual_weight(50, 1050)
    0.4
    """
    return min(1.0, UNOBSERVED_MASS * n_entries / max(n_cells - n_entries, 1))


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit solves.

    The ridge on psi draws to 0, "does not happen", or to the mean of the table (`item_prior`). With `keep_better` a row
    keeps its point where its solver finds a worse one.
    """

    user_solver: RowSolver
    item_solver: RowSolver
    objective: Objective
    item_prior: Literal["zero", "mean"] = "zero"
    keep_better: bool = True

    def settled(self, mass: Mass, n_users: int, n_items: int) -> Problem:
        """Return the same for a table of so many users and items, in which everything has a number."""
        return replace(self, objective=self.objective.settled(mass, n_users, n_items))

    @property
    def unobserved(self) -> float:
        """What an entry that was not observed weighs, once it is settled."""
        return float(self.objective.unobserved)

    def item_centre(self, mass: Mass) -> float:
        """Return what the ridge draws the values of items to."""
        return mass.mean if self.item_prior == "mean" else 0.0

    def item_step(self, centre: Floats, seed: int, sweep: int) -> HalfStep:
        """Return how items are solved in a sweep."""
        step = HalfStep(self.item_solver, self.objective.item_reg, centre, seed, sweep, ITEM_SIDE)
        return replace(step, unobserved=self.unobserved, keep_better=self.keep_better)

    def user_step(self, centre: Floats, seed: int, sweep: int) -> HalfStep:
        """Return how users are solved in a sweep."""
        step = HalfStep(self.user_solver, self.objective.user_reg, centre, seed, sweep, USER_SIDE)
        return replace(step, unobserved=self.unobserved, keep_better=self.keep_better)
