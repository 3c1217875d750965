"""What a descent solves: the sets of users and of items, by their row solvers, and the objective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from kolmogorov._support.typing import Floats
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.fitting.descent.objective import Mass, Objective
from kolmogorov.solvers import RowSolver


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
