"""What a fit leaves behind, and how its parts depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.observations import View
from kolmogorov.errors import DataError
from kolmogorov.model.history import Sweep

Floats = NDArray[np.float64]
_BLOCK = 1 << 22


class Trained:
    """What follows from the observations that a model was fitted to; for dataclasses that keep them."""

    users: Vocabulary
    items: Vocabulary
    scale: Scale
    seen_indptr: NDArray[np.int64]
    seen_items: NDArray[np.int32]
    seen_values: Floats

    @cached_property
    def user_seen(self) -> NDArray[np.bool_]:
        """Which users had observations."""
        return np.diff(self.seen_indptr) > 0

    @cached_property
    def item_seen(self) -> NDArray[np.bool_]:
        """Which items had observations."""
        return item_counts(self.seen_items, len(self.items)) > 0

    @cached_property
    def observations(self) -> Observations:
        """The observations that the model was fitted to, without their weights."""
        view = View(self.seen_indptr, self.seen_items, self.seen_values, np.empty(0))
        return Observations(self.users, self.items, view, self.scale)


def item_counts(items: NDArray[np.int32], n_items: int) -> NDArray[np.int64]:
    """Count block by block: bincount makes a copy of what it counts, twice as large."""
    counts = np.zeros(n_items, dtype=np.int64)
    for first in range(0, items.size, _BLOCK):
        counts += np.bincount(items[first : first + _BLOCK], minlength=n_items)
    return counts


@dataclass(frozen=True, eq=False)
class Fitted(Trained):
    """A learned Kolmogorov model.

    Attributes
    ----------
    theta : float64[n_users, D]
    psi : bool[n_items, D], or float64 where it is relaxed to [0, 1]
    centre : float64[D]
        What theta was shrunk to; fold-in shrinks to the same.
    users, items : Vocabulary
    scale : Scale
    seen_indptr, seen_items, seen_values : int64[n_users + 1], int32[nnz], float64[nnz]
        What each user was observed with: not to be recommended again, and what rules are read against.
    history : tuple of Sweep
    """

    theta: Floats
    psi: NDArray[Any]
    centre: Floats
    users: Vocabulary
    items: Vocabulary
    scale: Scale
    seen_indptr: NDArray[np.int64]
    seen_items: NDArray[np.int32]
    seen_values: Floats
    history: tuple[Sweep, ...]

    @property
    def n_events(self) -> int:
        """Number of elementary events."""
        return self.theta.shape[1]

    @cached_property
    def theta_or_population(self) -> Floats:
        """Theta with one more row, the mean over the users observed; it also stands for those who were not."""
        population = self.theta[self.user_seen].mean(axis=0)
        theta = np.where(self.user_seen[:, None], self.theta, population)
        return np.vstack([theta, population])

    @cached_property
    def psi_or_average(self) -> Floats:
        """Psi as floats with one more row, the mean over the items observed; it also stands for the others."""
        average = self.psi[self.item_seen].mean(axis=0)
        psi = np.where(self.item_seen[:, None], self.psi, average)
        return np.vstack([psi, average])

    def seen_by(self, user: int) -> NDArray[np.int32]:
        """Return the items that a user (row number) was observed with."""
        return self.seen_items[self.seen_indptr[user] : self.seen_indptr[user + 1]]

    def check(self) -> None:
        """Raise where the parts do not form a Kolmogorov model; for parts that come from a file."""
        n_users, n_items, size = len(self.users), len(self.items), self.n_events
        shapes = (self.theta.shape, self.psi.shape, self.centre.shape, self.seen_indptr.shape)
        if shapes != ((n_users, size), (n_items, size), (size,), (n_users + 1,)) or size < 1:
            raise DataError(f"the shapes {shapes} do not belong together")
        if self.psi.dtype != bool and not ((self.psi >= 0) & (self.psi <= 1)).all():
            raise DataError("psi is not in [0, 1]")
        if not (self.theta >= 0).all() or not np.allclose(self.theta.sum(axis=1), 1.0):
            raise DataError("theta is not on the probability simplex")
        if not np.isfinite(self.centre).all() or self.seen_items.dtype != np.int32 or self.theta.dtype != np.float64:
            raise DataError("an array has the wrong type or holds no numbers")
        steps = np.diff(self.seen_indptr)
        ends = (int(self.seen_indptr[0]), int(self.seen_indptr[-1]))
        if (steps < 0).any() or ends != (0, self.seen_items.size) or self.seen_items.size == 0:
            raise DataError("the list of observed items is broken")
        values = self.seen_values
        if values.shape != self.seen_items.shape or not ((values >= 0) & (values <= 1)).all():
            raise DataError("the observed values are not probabilities")
        if self.seen_items.min() < 0 or self.seen_items.max() >= n_items:
            raise DataError("the list of observed items is broken")
