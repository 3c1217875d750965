"""What a fit leaves behind, and how its parts depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_between, check_simplex
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.errors import FitError, InvariantError
from kolmogorov.fitting.history import Sweep, history_array, history_of
from kolmogorov.fitting.stored import Parts, StoredParts, training_arrays

Floats = NDArray[np.float64]
_BLOCK = 1 << 22


class Trained:
    """What follows from the observations that a model was fitted to; for dataclasses that keep them."""

    training: Observations

    @property
    def users(self) -> Vocabulary:
        """Ids of the users."""
        return self.training.users

    @property
    def items(self) -> Vocabulary:
        """Ids of the items."""
        return self.training.items

    @property
    def scale(self) -> Scale:
        """Map between probabilities and rating units."""
        return self.training.scale

    @cached_property
    def user_counts(self) -> NDArray[np.int64]:
        """Observations of each user."""
        return self.training.rows.counts

    @cached_property
    def item_counts(self) -> NDArray[np.int64]:
        """Observations of each item."""
        items, n_items = self.training.rows.indices, len(self.items)
        counts = np.zeros(n_items, dtype=np.int64)
        # Block by block: bincount makes a copy of what it counts, twice as large.
        for first in range(0, items.size, _BLOCK):
            counts += np.bincount(items[first : first + _BLOCK], minlength=n_items)
        return counts

    @cached_property
    def user_seen(self) -> NDArray[np.bool_]:
        """Which users had observations."""
        return self.user_counts > 0

    @cached_property
    def item_seen(self) -> NDArray[np.bool_]:
        """Which items had observations."""
        return self.item_counts > 0

    def seen_by(self, user: int) -> NDArray[np.int32]:
        """Return the items that a user (row number) was observed with."""
        rows = self.training.rows
        return rows.indices[rows.indptr[user] : rows.indptr[user + 1]]

    def answers_of(self, user: int) -> Floats:
        """Return what a user (row number) said to the items of `seen_by`, on the probability scale."""
        rows = self.training.rows
        return rows.values[rows.indptr[user] : rows.indptr[user + 1]]

    def validate(self) -> None:
        """Raise `InvariantError` where the parts do not form a model; for parts that come from a file."""
        self.training.validate()
        if not len(self.training):
            raise InvariantError("there are no observations that the model was fitted to")
        self.validate_numbers()

    def validate_numbers(self) -> None:
        """Check what a fit computed: shapes, types, and what every number must be."""
        raise NotImplementedError


def checked(found: Any, remedy: str = "Smaller weights or a smaller scale may help.") -> Any:
    """Return what a fit found, unless it broke down on the way: nothing the library returns holds NaN."""
    try:
        found.validate_numbers()
    except InvariantError as error:
        raise FitError(f"The fit broke down: {error}. {remedy}") from None
    return found


def by_users(observations: Observations) -> Observations:
    """Return the same observations without the order by items, which a model does not need to keep."""
    return Observations(observations.users, observations.items, observations.rows, observations.scale)


@dataclass(frozen=True, eq=False)
class Fitted(Trained):
    """A learned Kolmogorov model.

    Attributes
    ----------
    theta : float64[n_users, D]
    psi : bool[n_items, D], or float64 where it is relaxed to [0, 1]
    centre : float64[D]
        What theta was shrunk to; fold-in shrinks to the same.
    training : Observations
        What the model was fitted to: not to be recommended again, and what rules are read against.
    history : tuple of Sweep
    """

    theta: Floats
    psi: NDArray[Any]
    centre: Floats
    training: Observations
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

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        arrays = {
            "theta": self.theta,
            "psi": np.packbits(self.psi, axis=1) if self.psi.dtype == bool else self.psi,
            "centre": self.centre,
            "history": history_array(self.history),
        }
        return {"n_events": self.n_events}, arrays | training_arrays(self.training)

    @classmethod
    def restored(cls, parts: StoredParts, *, binary: bool) -> Fitted:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        if "history" in parts.arrays:
            history = history_of(parts.arrays["history"])
        else:
            # Version 0.1.0 had it among the text.
            history = tuple(Sweep(**sweep) for sweep in parts.meta["history"])
        return cls(
            theta=parts.array("theta", 2, "float64"),
            psi=parts.unpacked("psi", 2) if binary else parts.array("psi", 2, "float64"),
            centre=parts.array("centre", 1, "float64"),
            training=parts.training(),
            history=history,
        )

    def validate_numbers(self) -> None:
        """Check that theta and the centre are distributions, and that psi is bits or lies between 0 and 1."""
        size = self.theta.shape[-1] if self.theta.ndim else 0
        if size < 1:
            raise InvariantError("theta has no events")
        check_array("theta", self.theta, np.float64, (len(self.users), size))
        check_array("psi", self.psi, bool if self.psi.dtype == bool else np.float64, (len(self.items), size))
        check_array("the centre", self.centre, np.float64, (size,))
        check_simplex("theta", self.theta)
        check_simplex("the centre", self.centre)
        check_between("psi", self.psi, 0.0, 1.0)
        for sweep in self.history:
            sweep.validate()
