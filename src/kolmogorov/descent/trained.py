"""What is known of anything learned: the observations it was fitted to, and what it predicts for rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import erf, exp, pi, sqrt
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.liking import least_like
from kolmogorov.descent.attribute_maps import Placed, placed_rows
from kolmogorov.descent.files import Arrays, Parts, Schema
from kolmogorov.errors import FitError, InvariantError

#: Entries that are counted at once, by judgement: some 100 MB at most.
_BLOCK = 1 << 22
#: Ratings looked at to find the points of their scale, and how many these may be; by judgement.
_LOOK, _MOST_POINTS = 1 << 20, 64
#: Steps at most, and how near the mean has to come, as a share of the scale: to rounding.
_TILTS, _NEAR = 200, 1e-13
#: The least that any rating is given before the tilt: no mean is impossible.
_LEAST = 1e-12
#: The steepest tilt, in exponents from a rating to the one that is nearest to it. By judgement.
_STEEPEST = 64.0
#: The variance of a hidden rating's noise. With it the chance of a yes is about what is said, where that is near one
#: half.
NOISE = 1.0 / (2.0 * pi)
T = TypeVar("T", bound="Trained")


@dataclass(frozen=True, eq=False)
class Factors:
    """Predictions as means over models of theta_u . psi_i; the last row of each side stands for the unknown.

    With `hidden` ratings a model says the chance that a rating around this, with noise, lies above one half.
    """

    #: [n_models, n_users + 1, D], float32 or float64; psi the same for items.
    theta: NDArray[Any]
    psi: NDArray[Any]
    hidden: bool = False


class Counted:
    """What is known of the users and items of a table that something was learned from."""

    training: Observations
    #: What attributes say, where anything does.
    user_attributes: Placed | None = None
    item_attributes: Placed | None = None

    @cached_property
    def user_counts(self) -> NDArray[np.int64]:
        """Observations of each user."""
        return self.training.rows.counts

    @cached_property
    def item_counts(self) -> NDArray[np.int64]:
        """Observations of each item."""
        return item_counts(self.training)

    @cached_property
    def user_seen(self) -> NDArray[np.bool_]:
        """Which users had observations."""
        return self.user_counts > 0

    @cached_property
    def item_seen(self) -> NDArray[np.bool_]:
        """Which items had observations."""
        return self.item_counts > 0

    @cached_property
    def user_known(self) -> NDArray[np.bool_]:
        """Which users have a place of their own: those observed, and whom attributes place."""
        return self.user_seen | placed_rows(self.user_attributes, self.training.n_users)

    @cached_property
    def item_known(self) -> NDArray[np.bool_]:
        """Which items have a place of their own."""
        return self.item_seen | placed_rows(self.item_attributes, self.training.n_items)


class Trained(Counted, ABC):
    """Base of what models keep under `fitted_`. Rows are row numbers; the row past the last stands for the unknown."""

    training: Observations
    #: The arrays of its files, as `fitted.files` reads them.
    SCHEMA: ClassVar[Schema]
    #: Whether lists are ordered by scores, which are neither probabilities nor ratings.
    has_scores: ClassVar[bool] = False

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What floors above have made of this and want again, by name; it goes when this goes."""
        return {}

    @property
    def factors(self) -> Factors | None:
        """What predictions are products of; None where they are something else, too."""
        return None

    # --- what it predicts -------------------------------------------------------------------------------------

    @abstractmethod
    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return predictions in [0, 1] for aligned rows."""

    def distribution_at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return the probability that an answer is each of `points`, for aligned rows; the mean is what is predicted.

        Where a prediction lies beyond the ratings that there are, all of it is at their end.
        """
        points = self.points
        out = np.ascontiguousarray(self._shares_at_rows(users, items, points))
        tilt(points, self.at_rows(users, items), out)
        return out

    def _shares_at_rows(self, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return about how probable each rating is, noise included; float64[n, n_points], the caller's own."""
        raise NotImplementedError(f"{type(self).__name__} predicts no distributions.")

    @abstractmethod
    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the predictions of all items for some users; float64[n, n_items].

        With `lower`, return what all but this share of the draws exceed. A single model is as sure of everything.
        """

    @abstractmethod
    def similar_to(self, item: int) -> Floats:
        """Return how similar every item is to one of them, 1 for the same; float64[n_items]."""

    # --- what it was fitted to --------------------------------------------------------------------------------

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
        source = self.training.source
        return {} if source is None else dict(source.recipe)

    @cached_property
    def points(self) -> Floats:
        """The ratings that an answer may be, on the probability scale: those of the training data.

        Where they are more than a few, so many at equal distances stand for them.
        """
        found = self._distinct
        if self.training.is_binary or found.size < 2:
            return np.array([0.0, 1.0])
        return found if found.size <= _MOST_POINTS else np.linspace(found[0], found[-1], _MOST_POINTS)

    @cached_property
    def _distinct(self) -> Floats:
        return np.unique(self.training.values[:_LOOK].round(9))

    @cached_property
    def likes(self) -> float:
        """The least rating that is a like, on the probability scale, as the training data have it."""
        return least_like(self.training)

    def known_rows(self, users: Rows, items: Rows) -> tuple[Rows, Rows]:
        """Give users and items without a place of their own the row of the unknown."""
        sides = ((self.user_known, users), (self.item_known, items))
        settled = [np.where(np.append(seen, False)[rows], rows, len(seen)) for seen, rows in sides]
        return settled[0], settled[1]

    def with_training(self, training: Observations) -> Self:
        """Return the same over observations whose users or items are called otherwise."""
        return replace(self, training=training)  # type: ignore[type-var]

    # --- files --------------------------------------------------------------------------------------------------

    @abstractmethod
    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""

    @classmethod
    @abstractmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""

    def validate(self) -> None:
        """Raise `InvariantError` where the parts do not form a model; for parts that come from a file."""
        self.training.rows.validate(self.training.n_users, self.training.n_items)
        if not len(self.training):
            raise InvariantError("there are no observations that the model was fitted to")
        self.validate_numbers()

    @abstractmethod
    def validate_numbers(self) -> None:
        """Check what a fit computed: shapes, types, and what every number must be."""


def item_counts(observations: Observations, block: int = _BLOCK) -> NDArray[np.int64]:
    """Count the entries of each item, without their order by items."""
    items, n_items = observations.rows.indices, observations.n_items
    counts = np.zeros(n_items, dtype=np.int64)
    # Block by block: bincount makes a copy of what it counts, twice as large.
    for first in range(0, items.size, block):
        counts += np.bincount(items[first : first + block], minlength=n_items)
    return counts


def checked(found: T, remedy: str = "Smaller weights or a smaller scale may help.") -> T:
    """Return what a fit found, unless it broke down on the way: nothing the library returns holds NaN."""
    try:
        found.validate_numbers()
    except InvariantError as error:
        raise FitError(f"The fit broke down: {error}. {remedy}") from None
    return found


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


def by_users(observations: Observations) -> Observations:
    """Return the same observations without the order by items, which a model does not need to keep."""
    return observations.over()


# --- distributions over a rating scale, tilted until their means are what is predicted --------------------------------


@kernel
def answer_shares(theta, psi, deviation, users, items, cuts, out):
    """Write each pair's probability of a new answer between neighbouring cuts: normal noise around every draw."""
    size, draws = theta.shape[2], theta.shape[0]
    for n in range(users.size):
        for k in range(draws):
            centre = 0.0
            for d in range(size):
                centre += theta[k, users[n], d] * psi[k, items[n], d]
            spread = deviation[k, users[n]] * sqrt(2.0)
            below = 0.0
            for c in range(cuts.size):
                upto = 0.5 * (1.0 + erf((cuts[c] - centre) / spread))
                out[n, c] += (upto - below) / draws
                below = upto
            out[n, cuts.size] += (1.0 - below) / draws


@kernel
def tilt(points, means, out):
    """Change distributions over `points` as little as possible so that they have given means.

    Of all with that mean, the nearest in Kullback and Leibler's sense is proportional to out[n, k] exp(s points[k]).
    Newton's steps find s, and halves of what is left where one would leave it. A mean at an end of the points, or
    beyond, puts everything there.

    Parameters
    ----------
    points : float64[K]
        Increasing, at least two.
    means : float64[n]
    out : float64[n, K]
        Shares, which need not sum to 1; distributions on return.
    """
    size = points.size
    first, span = points[0], points[size - 1] - points[0]
    nearest = span
    for k in range(1, size):
        nearest = min(nearest, points[k] - points[k - 1])
    steepest = _STEEPEST * span / nearest
    for n in range(means.size):
        wanted = (means[n] - first) / span
        if wanted <= _NEAR or wanted >= 1.0 - _NEAR:
            for k in range(size):
                out[n, k] = 0.0
            out[n, 0 if wanted <= _NEAR else size - 1] = 1.0
            continue
        for k in range(size):
            out[n, k] = max(out[n, k], _LEAST)
        low, high, slope = -steepest, steepest, 0.0
        for _ in range(_TILTS):
            total, mean, square = 0.0, 0.0, 0.0
            for k in range(size):
                place = (points[k] - first) / span
                # From the end that the tilt lifts, so that nothing overflows.
                part = out[n, k] * exp(slope * (place - (1.0 if slope > 0.0 else 0.0)))
                total += part
                mean += part * place
                square += part * place * place
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
        total = 0.0
        for k in range(size):
            place = (points[k] - first) / span
            out[n, k] *= exp(slope * (place - (1.0 if slope > 0.0 else 0.0)))
            total += out[n, k]
        for k in range(size):
            out[n, k] /= total
