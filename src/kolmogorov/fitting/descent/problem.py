"""What a descent solves: the sets of users and of items, by their row solvers, and the objective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.data.table.levels import Levels
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE, HalfStep
from kolmogorov.fitting.descent.objective import Mass, Objective
from kolmogorov.solvers import LevelSolver, RowSolver


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit solves.

    The values of items, `levels`, may depend on the table; `grid` has them once it is known, or None for two. A ridge
    draws them to 0 or to the mean of the table (`item_prior`), by default to the mean where there are several. With
    `keep_better` a row keeps its point where its solver finds a worse one.
    """

    user_solver: RowSolver
    item_solver: RowSolver
    objective: Objective
    levels: Levels = 2
    grid: Floats | None = None
    item_prior: Literal["zero", "mean"] | None = None
    keep_better: bool = True

    def on(self, grid: Floats | None) -> Problem:
        """Return the problem with the values of items settled."""
        if grid is None:
            return self
        assert isinstance(self.item_solver, LevelSolver)
        return replace(self, item_solver=self.item_solver.on(grid), grid=grid)

    def settled(self, mass: Mass, n_users: int, n_items: int) -> Problem:
        """Return the same for a table of so many users and items, in which everything has a number."""
        return replace(self, objective=self.objective.settled(mass, n_users, n_items))

    @property
    def unobserved(self) -> float:
        """What an entry that was not observed weighs, once it is settled."""
        return float(self.objective.unobserved)

    def item_centre(self, mass: Mass) -> float:
        """Return what the ridge draws the values of items to: 0, or with several levels the mean of the table.

        Of two values 0 is "does not happen", and the ridge a price of events; of several it is the worst, or nearly so,
        and an item with few observations should look like an average one.
        """
        prior = self.item_prior or ("zero" if self.grid is None else "mean")
        return mass.mean if prior == "mean" else 0.0

    def first_level(self, centre: float) -> float:
        """Return where the values of items start: 0, or the level nearest to what the ridge draws to."""
        return 0.0 if self.grid is None else float(self.grid[nearest(np.array(centre), self.grid)])

    def item_step(self, centre: Floats, seed: int, sweep: int) -> HalfStep:
        """Return how items are solved in a sweep."""
        step = HalfStep(self.item_solver, self.objective.item_reg, centre, seed, sweep, ITEM_SIDE)
        return replace(step, unobserved=self.unobserved, keep_better=self.keep_better)

    def user_step(self, centre: Floats, seed: int, sweep: int) -> HalfStep:
        """Return how users are solved in a sweep."""
        step = HalfStep(self.user_solver, self.objective.user_reg, centre, seed, sweep, USER_SIDE)
        return replace(step, unobserved=self.unobserved, keep_better=self.keep_better)
