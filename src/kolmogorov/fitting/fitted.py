"""What a descent leaves behind: one Kolmogorov model, or one whose supports are relaxed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_among, check_array, check_between, check_simplex
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import LARGEST_RIDGE
from kolmogorov.data import Observations
from kolmogorov.data.levels import FURTHEST_LEVEL
from kolmogorov.errors import InvariantError
from kolmogorov.fitting.history import Sweep, history_array, history_of
from kolmogorov.fitting.objective import Mass
from kolmogorov.fitting.stored import Parts, StoredParts, check_levels, training_arrays
from kolmogorov.fitting.trained import Factors, Trained
from kolmogorov.kernels.rows.products import pair_distributions, pair_products

# Levels and thresholds come through divisions.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Fitted(Trained):
    """A learned Kolmogorov model.

    Attributes
    ----------
    theta : float64[n_users, D]
    psi : bool[n_items, D], or float64 where it holds levels or is relaxed to [0, 1]
    centre : float64[D]
        What theta was shrunk to; fold-in shrinks to the same.
    training : Observations
        What the model was fitted to: not to be recommended again, and what rules are read against.
    history : tuple of Sweep
    levels : float64[L] or None
        The values of a many-valued model; None for the paper's two, and where psi is relaxed.
    soft : Fitted or None
        A companion that predicts in place of this one: thetas and values that are means over what they may be. What can
        be read, rules and supports, is of this one.
    ridges : float64[2] or None
        Of a companion: the ridges on theta and psi that were learned, with which new users are placed.
    n_members : int
        Of a companion: how many models, as many events each, lie side by side in it with equal shares.
    """

    theta: Floats
    psi: NDArray[Any]
    centre: Floats
    training: Observations
    history: tuple[Sweep, ...]
    levels: Floats | None = None
    soft: Fitted | None = None
    ridges: Floats | None = None
    n_members: int = 1

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

    @property
    def factors(self) -> Factors:
        """What predictions are products of."""
        model = self if self.soft is None else self.soft
        return Factors(model.theta_or_population[None], model.psi_or_average[None])

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """Psi as numbers of levels, for a many-valued model."""
        assert self.levels is not None
        return np.searchsorted(self.levels, self.psi).astype(np.uint8)

    def item_centre(self, unobserved: float) -> float:
        """Return what the ridge draws the values of items to: 0, or with several levels the mean of the table."""
        n_cells = len(self.users) * len(self.items)
        return 0.0 if self.levels is None else Mass.of(self.training.rows).of_table(unobserved, n_cells).mean

    def first_level(self, centre: float) -> float:
        """Return where the values of a new item start: 0, or the level nearest to what the ridge draws to."""
        return 0.0 if self.levels is None else float(self.levels[np.abs(self.levels - centre).argmin()])

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return Pr(X[u, i] = 1) for aligned rows."""
        if self.soft is not None:
            return self.soft.at_rows(users, items)
        out = np.empty(users.size)
        rows = (users.astype(np.int64, copy=False), items.astype(np.int64, copy=False))
        pair_products(self.theta_or_population, self.psi_or_average, *rows, out)
        return np.clip(out, 0.0, 1.0, out=out)

    def distribution_at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return Pr(X[u, i] = v) = theta_u . [x_i = v] for aligned rows and every level v."""
        if self.levels is None:
            return super().distribution_at_rows(users, items)
        users, items = self.known_rows(users, items)
        out = np.empty((users.size, self.levels.size))
        theta, average = self.theta_or_population, self._average_levels
        pair_distributions(theta, self.codes, average, users.astype(np.int64), items.astype(np.int64), out)
        return out

    @cached_property
    def _average_levels(self) -> Floats:
        """By event, how many of the items observed are at each level, as shares; what an unknown item is."""
        assert self.levels is not None
        codes = self.codes[self.item_seen]
        shares: Floats = (codes[:, :, None] == np.arange(self.levels.size)).mean(axis=0)
        return shares

    def of_users(self, users: Rows) -> Floats:
        """Return the probabilities of all items for some users."""
        if self.soft is not None:
            return self.soft.of_users(users)
        return self.of_thetas(self.theta_or_population[users])

    def of_thetas(self, theta: Floats) -> Floats:
        """Return the probabilities of all items for given thetas."""
        return np.clip(theta @ self.psi_or_average[:-1].T, 0.0, 1.0)

    def lower_of_thetas(self, theta: Floats, level: float) -> Floats:
        """Return lower bounds of `of_thetas`; a single model has no doubt to tell."""
        return self.of_thetas(theta)

    def similar_to(self, item: int) -> Floats:
        """Return, for every item, the population's probability of both over that of either.

        Of several levels, these are the probabilities of being above a value, summed up over all values.
        """
        low = 0.0 if self.levels is None else self.levels[0]
        return overlap(self.theta_or_population[-1], self.psi_or_average[:-1] - low, item)

    def contributions(self, user: int, item: int) -> tuple[Floats, Floats]:
        """Return the user's probability of each event, and what each adds to the probability of the item."""
        if self.soft is not None:
            parts = self.soft.contributions(user, item)
            theta, amounts = (np.bincount(self.places, part, self.n_events).astype(np.float64) for part in parts)
            return theta, amounts
        theta = self.theta_or_population[user]
        return theta, theta * self.psi_or_average[item]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """For each event of the companion, the event here that it is counted to.

        A companion that goes on from this model has the same events. One with events of its own is read by people: an
        event is counted to the one whose probabilities vary over users most as its own do.
        """
        assert self.soft is not None
        if self.soft.n_members == 1 and self.soft.n_events == self.n_events:
            return np.arange(self.n_events)
        theta = self.theta[self.user_seen] - self.theta[self.user_seen].mean(axis=0)
        theta /= np.maximum(np.sqrt((theta**2).mean(axis=0)), _ROUNDING)
        return (self.soft.theta[self.user_seen].T @ theta).argmax(axis=1)

    def member(self, number: int) -> Fitted:
        """Return one of the models that lie side by side in a companion."""
        size = self.n_events // self.n_members
        part = slice(number * size, (number + 1) * size)
        theta, centre = self.n_members * self.theta[:, part], self.centre[part]
        # All of them together were rounded.
        centre = centre / max(float(centre.sum()), _ROUNDING)
        return replace(self, theta=theta, psi=self.psi[:, part], centre=centre, n_members=1)

    def reaching(self, mark: float) -> Fitted:
        """Return the model with two levels that a threshold makes: Pr(X[u, i] >= mark) = theta_u . [x_i >= mark]."""
        return replace(self, psi=self.psi >= mark - _ROUNDING, levels=None, soft=None)

    @property
    def consensus(self) -> Fitted:
        """The one model whose events can be named: itself."""
        return self

    @cached_property
    def hard(self) -> Fitted:
        """The model without its companion."""
        return self if self.soft is None else replace(self, soft=None)

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        arrays = {
            "theta": self.theta,
            "psi": np.packbits(self.psi, axis=1) if self.psi.dtype == bool else self.psi,
            "centre": self.centre,
            "history": history_array(self.history),
        }
        if self.levels is not None:
            arrays |= {"psi": self.codes, "levels": self.levels}
        if self.soft is not None:
            assert self.soft.ridges is not None
            arrays |= {"soft_theta": self.soft.theta.astype(np.float32), "soft_psi": self.soft.psi.astype(np.float32)}
            arrays |= {"soft_ridges": self.soft.ridges, "soft_centre": self.soft.centre}
        meta = {"n_events": self.n_events}
        if self.soft is not None and self.soft.n_members > 1:
            meta["n_members"] = self.soft.n_members
        return meta, arrays | training_arrays(self.training)

    @classmethod
    def restored(cls, parts: StoredParts, *, binary: bool) -> Fitted:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        if "history" in parts.arrays:
            history = history_of(parts.arrays["history"])
        else:
            # Version 0.1.0 had it among the text.
            history = tuple(Sweep(**sweep) for sweep in parts.meta["history"])
        levels = parts.levels()
        psi: NDArray[Any]
        if levels is not None:
            psi = parts.on_levels("psi", 2, levels)
        else:
            psi = parts.unpacked("psi", 2) if binary else parts.array("psi", 2, "float64")
        return cls(
            theta=parts.array("theta", 2, "float64"),
            psi=psi,
            centre=parts.array("centre", 1, "float64"),
            training=parts.training(),
            history=history,
            levels=levels,
            soft=_restored_soft(parts) if "soft_theta" in parts.arrays else None,
        )

    def validate_numbers(self) -> None:
        """Check that theta and the centre are distributions, and that psi is bits, levels, or between 0 and 1."""
        size = self.theta.shape[-1] if self.theta.ndim else 0
        if size < 1:
            raise InvariantError("theta has no events")
        check_array("theta", self.theta, np.float64, (len(self.users), size))
        check_array("psi", self.psi, bool if self.psi.dtype == bool else np.float64, (len(self.items), size))
        check_array("the centre", self.centre, np.float64, (size,))
        check_simplex("theta", self.theta)
        check_simplex("the centre", self.centre)
        if self.ridges is not None:
            check_array("the ridges", self.ridges, np.float64, (2,))
            check_between("the ridges", self.ridges, 0.0, LARGEST_RIDGE)
            check_between("psi", self.psi, -FURTHEST_LEVEL, FURTHEST_LEVEL)
            if size % self.n_members:
                raise InvariantError(
                    f"soft values are of {size} events, which are not those of {self.n_members} models"
                )
        elif self.levels is None:
            check_between("psi", self.psi, 0.0, 1.0)
        else:
            check_levels(self.levels)
            check_among("psi", self.psi, self.levels)
        if self.soft is not None:
            self.soft.validate_numbers()
        for sweep in self.history:
            sweep.validate()


def _restored_soft(parts: StoredParts) -> Fitted:
    theta = parts.array("soft_theta", 2, "float32").astype(np.float64)
    return Fitted(
        theta=theta,
        psi=parts.array("soft_psi", 2, "float32").astype(np.float64),
        centre=parts.array("soft_centre", 1, "float64"),
        training=parts.training(),
        history=(),
        ridges=parts.array("soft_ridges", 1, "float64"),
        n_members=parts.count("n_members") if "n_members" in parts.meta else 1,
    )


def overlap(share: Floats, psi: Floats, item: int) -> Floats:
    """Return, for every item, the mass of the events shared with one item over that of the events of either."""
    both = np.minimum(psi, psi[item]) @ share
    either = np.maximum(psi, psi[item]) @ share
    return np.where(either > 0.0, both / np.where(either > 0.0, either, 1.0), 0.0)
