"""What a fit leaves behind: the base that one model and draws share, and one Kolmogorov model, theta and psi.

What is read is what predicts. Rows are row numbers; the row past the last stands for the unknown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, pi
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import LARGEST_NUMBER, LEAST_NUMBER, check_among, check_between, check_simplex
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.attributes import Side
from kolmogorov.data.observations import least_like
from kolmogorov.descent.attributes import Attributed, Placing, check_form, placed_rows
from kolmogorov.descent.engine import Sweep, history_array, history_of
from kolmogorov.descent.files import TRAINING, Arrays, Parts, Schema, restored_training, stored_training
from kolmogorov.errors import DataError, InvariantError
from kolmogorov.solvers.rows import pair_products

#: Entries that are counted at once, by judgement: some 100 MB at most.
_BLOCK = 1 << 22
#: Ratings looked at to find the points of their scale, and how many these may be; by judgement.
_LOOK, _MOST_POINTS = 1 << 20, 64
#: The variance of a hidden rating's noise. With it the chance of a yes is about what is said, where that is near one
#: half.
NOISE = 1.0 / (2.0 * pi)
#: An event that is found again less well than this is marked, and names and carries nothing. By judgement.
LOST = 0.8


class Factors(NamedTuple):
    """Predictions as means over models of theta_u . psi_i: [n_models, n_users, D], and the same of items.

    With `hidden` ratings a model says the chance that a rating around this, with noise, lies above one half. `unknown`,
    [n_models, D], stands for an unknown user.
    """

    theta: NDArray[Any]
    psi: NDArray[Any]
    hidden: bool = False
    unknown: NDArray[Any] = np.empty((0, 0))


class Trained(ABC):
    """Base of what models keep under `fitted_`. Rows are row numbers; the row past the last stands for the unknown."""

    #: The arrays of its files, as `descent.files` reads them.
    SCHEMA: ClassVar[Schema]
    #: Whether lists are ordered by scores, which are neither probabilities nor ratings.
    has_scores: ClassVar[bool] = False
    #: What it was fitted to.
    training: Observations
    #: What attributes say, where anything does.
    user_attributes: Attributed | Placing | None = None
    item_attributes: Attributed | Placing | None = None

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What floors above have made of this and want again, by name; it goes when this goes."""
        return {}

    @property
    def factors(self) -> Factors | None:
        """What predictions are products of; None where they are something else, too."""
        return None

    @abstractmethod
    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return predictions in [0, 1] for aligned rows."""

    @abstractmethod
    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the predictions of all items for some users; float64[n, n_items].

        With `lower`, return what all but this share of the draws exceed. A single model is as sure of everything.
        """

    @abstractmethod
    def similar_to(self, item: int) -> Floats:
        """Return how similar every item is to one of them, 1 for the same; float64[n_items]."""

    def distribution_at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return the probability that an answer is each of `points`, for aligned rows; the mean is what is predicted.

        Where a prediction lies beyond the ratings that there are, all of it is at their end.
        """
        out = np.ascontiguousarray(self._shares_at_rows(users, items, self.points))
        tilt(self.points, self.at_rows(users, items), out)
        return out

    def _shares_at_rows(self, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return about how probable each rating is, noise included; float64[n, n_points], the caller's own."""
        raise NotImplementedError(f"{type(self).__name__} predicts no distributions.")

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

    @property
    def recipe(self) -> dict[str, Any]:
        """How the file was read that the observations came from; nothing where they came otherwise."""
        return {} if self.training.source is None else dict(self.training.source.recipe)

    @cached_property
    def points(self) -> Floats:
        """The ratings that an answer may be, on the probability scale: those of the training data.

        Where they are more than a few, so many at equal distances stand for them.
        """
        found = np.unique(self.training.values[:_LOOK].round(9))
        if self.training.is_binary or found.size < 2:
            return np.array([0.0, 1.0])
        return found if found.size <= _MOST_POINTS else np.linspace(found[0], found[-1], _MOST_POINTS)

    @cached_property
    def likes(self) -> float:
        """The least rating that is a like, on the probability scale, as the training data have it."""
        return least_like(self.training)

    #: Observations of each user and of each item; who and what had any; and who and what has a place of its own: those
    #: observed, and those that attributes place.
    user_counts = cached_property(lambda self: self.training.rows.counts)
    item_counts = cached_property(lambda self: item_counts(self.training))
    user_seen = cached_property(lambda self: self.user_counts > 0)
    item_seen = cached_property(lambda self: self.item_counts > 0)
    user_known = cached_property(lambda self: self.user_seen | placed_rows(self.user_attributes, len(self.users)))
    item_known = cached_property(lambda self: self.item_seen | placed_rows(self.item_attributes, len(self.items)))

    def known_rows(self, users: Rows, items: Rows) -> tuple[Rows, Rows]:
        """Give users and items without a place of their own the row of the unknown."""
        sides = ((self.user_known, users), (self.item_known, items))
        settled = [np.where(np.append(seen, False)[rows], rows, len(seen)) for seen, rows in sides]
        return settled[0], settled[1]

    def with_training(self, training: Observations) -> Self:
        """Return the same over observations whose users or items are called otherwise."""
        return replace(self, training=training)  # type: ignore[type-var]

    def _told(self) -> dict[Side, Attributed | Placing]:
        sides: dict[Side, Any] = {"users": self.user_attributes, "items": self.item_attributes}
        return {side: attributes for side, attributes in sides.items() if attributes is not None}

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = stored_training(self.training)
        for side, attributes in self._told().items():
            more, beside = attributes.stored(side)
            meta, arrays = meta | more, arrays | beside
        return meta, arrays

    @classmethod
    @abstractmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""

    def validate(self) -> None:
        """Raise `InvariantError` where what a fit computes is none: shapes, types, and what every number must be."""
        for side, attributes in self._told().items():
            attributes.validate(side, len(self.users if side == "users" else self.items))

    def checked(self, remedy: str = "Smaller weights or a smaller scale may help.") -> Self:
        """Return this, which a fit found, unless it broke down on the way: nothing the library returns holds NaN."""
        try:
            self.validate()
        except InvariantError as error:
            raise DataError(f"The fit broke down: {error}. {remedy}") from None
        return self


def item_counts(observations: Observations) -> NDArray[np.int64]:
    """Count the entries of each item, without their order by items."""
    items, counts = observations.rows.indices, np.zeros(observations.n_items, dtype=np.int64)
    # Block by block: bincount makes a copy of what it counts, twice as large.
    for first in range(0, items.size, _BLOCK):
        counts += np.bincount(items[first : first + _BLOCK], minlength=counts.size)
    return counts


def entry_rows(known: Observations, observations: Observations) -> tuple[Rows, Rows]:
    """Return the rows in `known` of the user and of the item of every entry of other observations; -1 for unknown ids.

    Examples
    --------
    >>> table = Observations.from_arrays(["a", "b"], ["x", "y"], [1, 0])
    >>> entry_rows(table, Observations.from_arrays(["b", "c"], ["x", "y"], [1, 0]))
    (array([ 1, -1]), array([0, 1]))
    """
    users = known.users.translate(observations.users)[observations.user_rows()]
    return users, known.items.translate(observations.items)[observations.item_rows()]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers, not to be changed: predictions would not follow."""
    view = array.view()
    view.setflags(write=False)
    return view


def overlap(share: Floats, psi: Floats, item: int) -> Floats:
    """Return, for every item, the mass of the events shared with one item over that of the events of either."""
    both, either = np.minimum(psi, psi[item]) @ share, np.maximum(psi, psi[item]) @ share
    return np.divide(both, either, out=np.zeros(len(psi)), where=either > 0.0)


# --- one model --------------------------------------------------------------------------------------------------------


class Pull(NamedTuple):
    """The price of a row x that is not what rows usually are: (x - centre)^T strength (x - centre).

    The strength is symmetric, in units of observations: a row with n of them heeds them as n times the identity would.
    """

    centre: Floats
    strength: Floats

    @classmethod
    def even(cls, centre: Floats, ridge: float) -> Pull:
        """Return a pull that is equally strong in all directions."""
        return cls(centre, ridge * np.eye(centre.size))


@dataclass(frozen=True, eq=False)
class Fitted(Trained):
    """A learned Kolmogorov model: theta, [n_users, D], and psi, [n_items, D], bits or chances.

    Pulls are what new users and items are drawn to, and attributes how they are placed, where draws knew any. `noise`
    is the variance of each user's answers around what is predicted, `stability` how well each event is found again in
    another sample, where one was looked at. `n_changed` ratings have changed since chains went over the table.
    """

    SCHEMA: ClassVar[Schema] = {
        "theta": "f8 users events",
        "psi": "u1|f8 items events",
        "noise": "f8 users",
        "history": "f8 * 5",
        "stability?": "f8 events",
        "user_centre": "f8 events",
        "user_pull": "f8 events events",
        "item_centre": "f8 events",
        "item_pull": "f8 events events",
        **Placing.schema("users"),
        **Placing.schema("items"),
        **TRAINING,
    }
    theta: Floats
    psi: NDArray[Any]
    user_pull: Pull
    item_pull: Pull
    training: Observations
    history: tuple[Sweep, ...]
    noise: Floats
    learned_from: Literal["draws", "ratings"] = "ratings"
    user_attributes: Placing | None = None
    item_attributes: Placing | None = None
    n_changed: int = 0
    stability: Floats | None = None

    @property
    def n_events(self) -> int:
        """Number of elementary events."""
        return self.theta.shape[1]

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which events another sample does not have; none where nothing was compared."""
        return np.zeros(self.n_events, dtype=bool) if self.stability is None else self.stability < LOST

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
        return Factors(self.theta[None], self.psi_or_average[None, :-1], unknown=self.population[None])

    def known_rows(self, users: Rows, items: Rows) -> tuple[Rows, Rows]:
        """Return the rows as they are: users and items without observations have thetas and psis too."""
        return users, items

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return theta_u . psi_i for aligned rows, cut to the scale."""
        return np.clip(self._products(users, items), 0.0, 1.0)

    def _products(self, users: Rows, items: Rows) -> Floats:
        out, rows = np.empty(users.size), (users.astype(np.int64, copy=False), items.astype(np.int64, copy=False))
        pair_products(self.theta_or_population, self.psi_or_average, *rows, out)
        return out

    def _shares_at_rows(self, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return the probability that what is predicted, with the user's noise, is nearest to each rating."""
        said = self._products(users, items)[:, None]
        if points.size == 2 and self.training.is_binary:
            chance = np.clip(said, 0.0, 1.0)
            return np.hstack([1.0 - chance, chance])
        deviation = np.sqrt(np.append(self.noise, self.noise[self.user_seen].mean()))[users, None]
        upto = ndtr((0.5 * (points[1:] + points[:-1]) - said) / deviation)
        return np.diff(upto, axis=1, prepend=0.0, append=1.0)

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
        # Thresholds come through divisions.
        return replace(self, psi=self.psi >= threshold - 1e-9)

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = super().stored()
        arrays |= {"theta": self.theta, "noise": self.noise, "history": history_array(self.history)}
        arrays["psi"] = self.psi.view(np.uint8) if self.psi.dtype == bool else self.psi
        for side, pull in (("user", self.user_pull), ("item", self.item_pull)):
            arrays |= {f"{side}_centre": pull.centre, f"{side}_pull": pull.strength}
        if self.stability is not None:
            arrays["stability"] = self.stability
        return meta | {"learned_from": self.learned_from, "n_changed": self.n_changed}, arrays

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        psi = arrays["psi"]
        if psi.dtype == np.uint8:
            check_among("psi", psi)
            psi = psi.view(bool)
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
            n_changed=meta["n_changed"],
            stability=arrays.get("stability"),
        )

    def validate(self) -> None:
        """Check that theta is distributions, that psi is bits or chances, and what goes with them."""
        super().validate()
        if not self.n_events or self.learned_from not in ("draws", "ratings") or not 0 <= self.n_changed < 2**63:
            raise InvariantError("there are no events, or it is not said how they were learned")
        check_simplex("theta", self.theta)
        check_between("psi", self.psi, 0.0, 1.0)
        check_between("the noise", self.noise, LEAST_NUMBER, LARGEST_NUMBER)
        check_simplex("the centre of users", self.user_pull.centre)
        check_between("the centre of items", self.item_pull.centre, -LARGEST_NUMBER, LARGEST_NUMBER)
        for pull in (self.user_pull, self.item_pull):
            check_form("the pulls", pull.strength)
        if self.stability is not None:
            check_between("the stability", self.stability[~np.isnan(self.stability)], -1.0, 1.0)


# --- distributions over a rating scale, tilted until their means are what is predicted --------------------------------

#: Steps at most, and how near the mean has to come, as a share of the scale: to rounding.
_TILTS, _NEAR = 200, 1e-13
#: The least that any rating is given before the tilt: no mean is impossible.
_LEAST = 1e-12
#: The steepest tilt, in exponents from a rating to the one that is nearest to it. By judgement.
_STEEPEST = 64.0


@kernel
def tilt(points, means, out):
    """Change distributions over `points` as little as possible so that they have given means.

    Of all with that mean, the nearest in Kullback and Leibler's sense is proportional to out[n, k] exp(s points[k]).
    Newton's steps find s, and halves of what is left where one would leave it. A mean at an end of the points, or
    beyond, puts everything there.

    `points`, float64[K], increase; shares, `out`, float64[n, K], need not sum to 1, and are distributions on return.
    """
    size = points.size
    first, span = points[0], points[size - 1] - points[0]
    steepest, parts = _STEEPEST * span / np.diff(points).min(), np.empty(size)
    for n in range(means.size):
        wanted = (means[n] - first) / span
        if wanted <= _NEAR or wanted >= 1.0 - _NEAR:
            out[n] = 0.0
            out[n, 0 if wanted <= _NEAR else size - 1] = 1.0
            continue
        low, high, slope = -steepest, steepest, 0.0
        for _ in range(_TILTS):
            total, mean, square = 0.0, 0.0, 0.0
            for k in range(size):
                place = (points[k] - first) / span
                # From the end that the tilt lifts, so that nothing overflows.
                parts[k] = max(out[n, k], _LEAST) * exp(slope * (place - (1.0 if slope > 0.0 else 0.0)))
                total += parts[k]
                mean += parts[k] * place
                square += parts[k] * place * place
            mean /= total
            missing = wanted - mean
            if abs(missing) <= _NEAR:
                break
            if missing > 0.0:
                low = slope
            else:
                high = slope
            spread = square / total - mean * mean
            step = missing / spread if spread > 0.0 else 0.0
            slope = slope + step if low < slope + step < high and step != 0.0 else 0.5 * (low + high)
        for k in range(size):
            out[n, k] = parts[k] / total
