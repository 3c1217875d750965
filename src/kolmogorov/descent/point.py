"""What a fit leaves behind: one Kolmogorov model. Its thetas and psis are what is read, and what predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import (
    check_array,
    check_between,
    check_bounded,
    check_finite,
    check_positive,
    check_simplex,
)
from kolmogorov.data import Observations
from kolmogorov.data.levels import middles
from kolmogorov.descent.attribute_maps import Placing, Side
from kolmogorov.descent.files import TRAINING, Arrays, Parts, Schema, count, restored_training, stored_training
from kolmogorov.descent.trained import Factors, Trained, answer_shares
from kolmogorov.errors import InvariantError
from kolmogorov.solvers.products import pair_products

# Thresholds come through divisions.
_ROUNDING = 1e-9
#: Of an error or a time; its square is a number still.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Fitted(Trained):
    """A learned Kolmogorov model."""

    #: Psi is bits, packed by item, or chances.
    SCHEMA: ClassVar[Schema] = {
        "theta": "f8 users events",
        "psi": "u1|f8 items *",
        "noise": "f8 users",
        "history": "f8 * 5",
        "user_centre": "f8 events",
        "user_pull": "f8 events events",
        "item_centre": "f8 events",
        "item_pull": "f8 events events",
        **Placing.schema("users"),
        **Placing.schema("items"),
        **TRAINING,
    }
    #: [n_users, D]
    theta: Floats
    #: [n_items, D], bits, or chances.
    psi: NDArray[Any]
    #: What new users and items are drawn to, and how strongly.
    user_pull: Pull
    item_pull: Pull
    #: What the model was fitted to: not to be recommended again, and what rules are read against.
    training: Observations
    history: tuple[Sweep, ...]
    #: [n_users], the variance of a user's answers around what is predicted, on the probability scale.
    noise: Floats
    #: What the descent went over.
    learned_from: Literal["draws", "ratings"] = "ratings"
    #: How attributes place users and items, where the draws that it was learned from knew any.
    user_attributes: Placing | None = None
    item_attributes: Placing | None = None
    #: Ratings that have changed since chains went over the table.
    n_changed: int = 0

    @property
    def n_events(self) -> int:
        """Number of elementary events."""
        return self.theta.shape[1]

    @property
    def population(self) -> Floats:
        """The mean theta of the users observed: what somebody is of whom nothing is known."""
        return self.theta_or_population[-1]

    @cached_property
    def theta_or_population(self) -> Floats:
        """Theta with one more row, the population."""
        return np.vstack([self.theta, self.theta[self.user_seen].mean(axis=0)])

    @cached_property
    def psi_or_average(self) -> Floats:
        """Psi as floats with one more row, the mean over the items observed."""
        return np.vstack([self.psi, self.psi[self.item_seen].mean(axis=0)]).astype(np.float64, copy=False)

    @property
    def factors(self) -> Factors:
        """What predictions are products of."""
        return Factors(self.theta_or_population[None], self.psi_or_average[None])

    def known_rows(self, users: Rows, items: Rows) -> tuple[Rows, Rows]:
        """Return the rows as they are: users and items without observations have thetas and psis too."""
        return users, items

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return theta_u . psi_i for aligned rows, cut to the scale."""
        out = np.empty(users.size)
        rows = (users.astype(np.int64, copy=False), items.astype(np.int64, copy=False))
        pair_products(self.theta_or_population, self.psi_or_average, *rows, out)
        return np.clip(out, 0.0, 1.0, out=out)

    def _shares_at_rows(self, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return the probability that what is predicted, with the user's noise, is nearest to each rating."""
        if points.size == 2 and self.training.is_binary:
            chance = self.at_rows(users, items)
            return np.column_stack([1.0 - chance, chance])
        out = np.zeros((users.size, points.size))
        noise = np.append(self.noise, self.noise[self.user_seen].mean())
        rows = (users.astype(np.int64, copy=False), items.astype(np.int64, copy=False))
        theta, psi = self.theta_or_population[None], self.psi_or_average[None]
        answer_shares(theta, psi, np.sqrt(noise)[None], *rows, middles(points), out)
        return out

    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the predictions of all items for some users."""
        return self.of_thetas(self.theta_or_population[users])

    def of_thetas(self, theta: Floats, lower: float | None = None) -> Floats:
        """Return the predictions of all items for given thetas."""
        return np.clip(theta @ self.psi_or_average[:-1].T, 0.0, 1.0)

    def similar_to(self, item: int) -> Floats:
        """Return, for every item, the population's probability of both over that of either."""
        return overlap(self.population, self.psi_or_average[:-1], item)

    def reaching(self, threshold: float) -> Fitted:
        """Return the model with two levels that a threshold t makes: Pr(X[u, i] >= t) = theta_u . [x_i >= t]."""
        return replace(self, psi=self.psi >= threshold - _ROUNDING)

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = stored_training(self.training)
        meta |= {"learned_from": self.learned_from, "n_changed": self.n_changed}
        arrays |= {
            "theta": self.theta,
            "psi": np.packbits(self.psi, axis=1) if self.psi.dtype == bool else self.psi,
            "noise": self.noise,
            "history": history_array(self.history),
            **self.user_pull.arrays("user"),
            **self.item_pull.arrays("item"),
        }
        for side, placing in self._placings.items():
            more, beside = placing.stored(side)
            meta, arrays = meta | more, arrays | beside
        return meta, arrays

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        size, psi = arrays["theta"].shape[1], arrays["psi"]
        if psi.dtype == np.uint8:
            if psi.shape[1] != -(-size // 8):
                raise InvariantError(f"psi has {psi.shape[1]} bytes a row, which do not hold {size} events")
            psi = np.unpackbits(psi, axis=1, count=size).view(bool)
        return cls(
            theta=arrays["theta"],
            psi=psi,
            user_pull=Pull(arrays["user_centre"], arrays["user_pull"]),
            item_pull=Pull(arrays["item_centre"], arrays["item_pull"]),
            training=restored_training(meta, arrays),
            history=history_of(arrays["history"]),
            noise=arrays["noise"],
            learned_from=meta["learned_from"],
            user_attributes=Placing.restored(meta, arrays, "users"),
            item_attributes=Placing.restored(meta, arrays, "items"),
            n_changed=0 if meta["n_changed"] == 0 else count(meta["n_changed"]),
        )

    @property
    def _placings(self) -> dict[Side, Placing]:
        sides: dict[Side, Placing | None] = {"users": self.user_attributes, "items": self.item_attributes}
        return {side: placing for side, placing in sides.items() if placing is not None}

    def validate_numbers(self) -> None:
        """Check that theta is distributions, that psi is bits or chances, and what goes with them."""
        size = self.theta.shape[-1] if self.theta.ndim else 0
        if size < 1:
            raise InvariantError("theta has no events")
        check_array("theta", self.theta, np.float64, (len(self.users), size))
        check_array("psi", self.psi, bool if self.psi.dtype == bool else np.float64, (len(self.items), size))
        check_simplex("theta", self.theta)
        check_array("the noise", self.noise, np.float64, (len(self.users),))
        check_positive("the noise", self.noise)
        if self.learned_from not in ("draws", "ratings"):
            raise InvariantError(f"learned_from is not known: {str(self.learned_from)[:40]!r}")
        self.user_pull.validate("users", size)
        self.item_pull.validate("items", size)
        check_simplex("the centre of users", self.user_pull.centre)
        check_between("psi", self.psi, 0.0, 1.0)
        for sweep in self.history:
            sweep.validate()
        for side, placing in self._placings.items():
            placing.validate(side, len(self.users if side == "users" else self.items), size)


def overlap(share: Floats, psi: Floats, item: int) -> Floats:
    """Return, for every item, the mass of the events shared with one item over that of the events of either."""
    both = np.minimum(psi, psi[item]) @ share
    either = np.maximum(psi, psi[item]) @ share
    return np.where(either > 0.0, both / np.where(either > 0.0, either, 1.0), 0.0)


# --- what a row of which little is known is drawn to ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pull:
    """The price of a row x that is not what rows usually are: (x - centre)^T strength (x - centre).

    Attributes
    ----------
    centre : float64[D]
    strength : float64[D, D]
        Symmetric, in units of observations: a row with n of them heeds them as n times the identity would.
    """

    centre: Floats
    strength: Floats

    @classmethod
    def even(cls, centre: Floats, ridge: float) -> Pull:
        """Return a pull that is equally strong in all directions."""
        return cls(centre, ridge * np.eye(centre.size))

    def arrays(self, side: str) -> dict[str, NDArray[Any]]:
        """Return what a file holds of this."""
        return {f"{side}_centre": self.centre, f"{side}_pull": self.strength}

    def validate(self, whose: str, size: int) -> None:
        """Raise `InvariantError` where this is no pull on rows of some size; for arrays that come from a file."""
        check_array(f"the centre of {whose}", self.centre, np.float64, (size,))
        check_array(f"the pull on {whose}", self.strength, np.float64, (size, size))
        check_bounded(f"the centre of {whose}", self.centre)
        check_bounded(f"the pull on {whose}", self.strength)
        tolerance = 1e-9 * float(np.abs(self.strength).max())
        if np.abs(self.strength - self.strength.T).max() > tolerance:
            raise InvariantError(f"the pull on {whose} is not symmetric")
        if np.linalg.eigvalsh(self.strength)[0] < -tolerance * size:
            raise InvariantError(f"the pull on {whose} pushes rows away")


# --- one record per sweep ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """What a sweep reached and what it cost. Fields are attributes and items: `s.rmse` and `s["rmse"]`.

    Attributes
    ----------
    sweep : int
        Counted from 1.
    objective : float
        Weighted squared error on the training entries plus the two ridge terms.
    rmse : float
        Training error on the probability scale.
    user_seconds, item_seconds : float
        Of the two half-steps.
    """

    sweep: int
    objective: float
    rmse: float
    user_seconds: float
    item_seconds: float

    def validate(self) -> None:
        """Raise `InvariantError` where the record is none; for records that come from a file."""
        counted = type(self.sweep) is int and self.sweep >= 1
        numbers = [getattr(self, name) for name in self.keys() if name != "sweep"]
        if not counted or not all(type(n) is float and 0.0 <= n <= _LARGEST for n in numbers):
            raise InvariantError(f"a record of a sweep must hold a count and numbers from 0 to {_LARGEST:g}")

    def keys(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return (field.name for field in fields(self))

    def __getitem__(self, name: str) -> Any:
        try:
            return asdict(self)[name]
        except KeyError:
            raise KeyError(f"A sweep has {', '.join(self.keys())}; got {name!r}.") from None


def history_array(history: tuple[Sweep, ...]) -> NDArray[np.float64]:
    """Return the records as rows of numbers, for a file."""
    return np.array([astuple(sweep) for sweep in history], dtype=np.float64).reshape(-1, len(fields(Sweep)))


def history_of(table: NDArray[Any]) -> tuple[Sweep, ...]:
    """Undo `history_array`; what is no history is an `InvariantError`."""
    check_array("the history", table, np.float64, (None, len(fields(Sweep))))
    check_finite("the history", table)
    history = tuple(Sweep(int(row[0]), *row[1:]) for row in table.tolist())
    for number, sweep in enumerate(history, start=1):
        sweep.validate()
        if sweep.sweep != number:
            raise InvariantError("the sweeps of the history are not numbered from 1")
    return history
