"""What is kept of the chains, and what it predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kolmogorov._support.threads import Threads, deal_pairs, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import (
    LARGEST_NUMBER,
    LEAST_NUMBER,
    check_among,
    check_array,
    check_between,
    check_simplex,
)
from kolmogorov.data import Observations
from kolmogorov.descent.attributes import Attributed, Side, with_centres
from kolmogorov.descent.files import TRAINING, Arrays, Parts, Schema, count, restored_training, stored_training
from kolmogorov.descent.fitted import Factors, Trained, answer_shares, overlap
from kolmogorov.draws.averages import (
    draw_products,
    low_quantile,
    mean_products,
    mixture_quantile,
)
from kolmogorov.draws.emission import NEARLY_SURE, chances_of_yes, hides_ratings
from kolmogorov.draws.levels import FURTHEST_LEVEL, MOST_LEVELS, are_levels, middles, nearest
from kolmogorov.errors import InvariantError

#: Numbers of draws times all items that one thread goes through before others could have begun; by judgement, as all
#: sizes here. Items gone through at once are so many that their share of scratch
#: comes to this, and users so many that what all draws say of these items stays near.
_MANY, _ITEM_ENTRIES, _SOME = 1 << 22, 1 << 9, 8
#: Pairs of users and items at which draws are compared.
_PAIRS = 1_000
#: Of the grid, from 0 to 1: the finest power of two that two bytes hold.
STEPS = 1 << 15
#: Pairs times draws held at once, by judgement: 32 MB.
_BLOCK = 1 << 22
# A sum of probabilities may miss the tail by rounding, and answers come through divisions.
_ROUNDING, _NEAR = 1e-12, 1e-9


@dataclass(frozen=True, eq=False)
class Posterior(Trained):
    """Draws of models from one or more chains: those of chain 0, then those of chain 1, ...; as many of each."""

    #: Theta is multiples of 2**-15, psi are numbers of levels.
    SCHEMA: ClassVar[Schema] = {
        "theta": "u2 draws users events",
        "psi": "u1 draws items events",
        "levels": "f8 *",
        "noise": "f4 draws users",
        "prior_concentration": "f8 draws",
        "prior_noise?": "f8 draws",
        "prior_noise_shape?": "f8 draws",
        **Attributed.schema("users"),
        **Attributed.schema("items"),
        **TRAINING,
    }
    #: [n_draws, n_users, D]
    theta: NDArray[np.float32]
    #: [n_draws, n_items, D]
    psi: NDArray[Any]
    #: [n_draws, n_users], variances on the probability scale.
    noise: NDArray[np.float32]
    n_chains: int
    likelihood: str
    training: Observations
    levels: Floats
    #: [n_draws] each: numbers of the priors by name, on which chains that have settled agree.
    priors: dict[str, Floats] = field(default_factory=dict)
    #: What an entry that was not observed weighed, as a no.
    unobserved: float = 0.0
    #: What attributes say; rows without observations that they place are told of as others are.
    user_attributes: Attributed | None = None
    item_attributes: Attributed | None = None

    @property
    def n_draws(self) -> int:
        """Number of models kept."""
        return len(self.theta)

    @property
    def n_events(self) -> int:
        """Number of elementary events of a draw."""
        return self.theta.shape[2]

    @property
    def hidden(self) -> bool:
        """Whether what a draw says is a rating, hidden behind yes and no, and not a chance."""
        return hides_ratings(self.likelihood, self.levels)

    # --- predictions ----------------------------------------------------------------------------------------------

    @cached_property
    def _theta(self) -> NDArray[np.float32]:
        """Theta with one more row per draw, the population; users placed by attributes are where these say."""
        return with_centres(np.concatenate([self.theta, self._population[:, None]], axis=1), self.user_attributes)

    @cached_property
    def _population(self) -> NDArray[np.float32]:
        """The mean theta of each draw over the users observed."""
        return np.asarray(self.theta[:, self.user_seen].mean(axis=1))

    @cached_property
    def _psi(self) -> NDArray[np.float32]:
        """Psi as numbers with one more row per draw, the average over items; items placed are where attributes say."""
        mean = self.psi[:, self.item_seen].mean(axis=1, keepdims=True, dtype=np.float32)
        return with_centres(np.concatenate([self.psi, mean], axis=1, dtype=np.float32), self.item_attributes)

    @property
    def factors(self) -> Factors:
        """What predictions are means of products of."""
        return Factors(self._theta, self._psi, self.hidden)

    @cached_property
    def anyone(self) -> tuple[NDArray[np.float32], NDArray[np.float32], Floats]:
        """Theta, psi and noise's deviation in which an unknown user or item is, in each draw, some observed one.

        Their mean says what to expect of an unknown one; for how far off it may be, they have to differ. Those that
        attributes place are as far from there as some observed one is.
        """
        rng = np.random.default_rng(0)
        theta, psi = self._theta.copy(), self._psi.copy()
        theta[:, :-1], psi[:, :-1] = self.theta, self.psi
        deviation = np.sqrt(np.concatenate([self.noise, self.noise[:, :1]], axis=1).astype(np.float64))
        for k in range(self.n_draws):
            user = rng.choice(np.flatnonzero(self.user_seen))
            theta[k, -1], deviation[k, -1] = theta[k, user], deviation[k, user]
            psi[k, -1] = psi[k, rng.choice(np.flatnonzero(self.item_seen))]
        return theta, psi, deviation

    @property
    def noise_deviation(self) -> Floats:
        """The standard deviation of a user's answers in each draw, with one more for an unknown user."""
        return self.anyone[2]

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return the mean over draws for aligned rows."""
        return self.moments(users, items)[0]

    def moments(self, users: Rows, items: Rows) -> tuple[Floats, Floats]:
        """Return mean and standard deviation over draws for aligned rows."""
        users, items = self.known_rows(users, items)
        mean, deviation = np.empty(users.size), np.empty(users.size)
        theta, psi, _ = self.anyone
        deal_pairs(
            lambda part: mean_products(theta, psi, users[part], items[part], self.hidden, mean[part], deviation[part]),
            users.size,
            self.n_draws,
        )
        unknown = ~(np.append(self.user_seen, False)[users] & np.append(self.item_seen, False)[items])
        if unknown.any():
            expected, nothing = np.empty(int(unknown.sum())), np.empty(int(unknown.sum()))
            mean_products(self._theta, self._psi, users[unknown], items[unknown], self.hidden, expected, nothing)
            mean[unknown] = expected
        return mean, deviation

    def draws(self, users: Rows, items: Rows) -> Floats:
        """Return what every draw says; float64[n_pairs, n_draws]."""
        users, items = self.known_rows(users, items)
        out = np.empty((users.size, self.n_draws))
        theta, psi, _ = self.anyone
        hidden = self.hidden
        deal_pairs(lambda part: draw_products(theta, psi, users[part], items[part], hidden, out[part]), *out.shape)
        return np.clip(out, 0.0, 1.0, out=out)

    def _shares_at_rows(self, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return the probability of each rating: with normal noise of being nearest to it."""
        if self.likelihood == "bernoulli":
            chance = self.at_rows(users, items)
            return np.column_stack([1.0 - chance, chance]) @ shares(np.array([0.0, 1.0]), points)
        users, items = self.known_rows(users, items)
        theta, psi, deviation = self.anyone
        out = np.zeros((users.size, points.size))
        ends = middles(points)
        deal_pairs(
            lambda part: answer_shares(theta, psi, deviation, users[part], items[part], ends, out[part]),
            users.size,
            self.n_draws,
        )
        return out

    @cached_property
    def answer_variance(self) -> Floats:
        """The variance of each user's answers around the average: the noise, and how far draws differ."""
        rng = np.random.default_rng(0)
        users = rng.choice(np.flatnonzero(self.user_seen), _PAIRS)
        items = rng.choice(np.flatnonzero(self.item_seen), _PAIRS)
        spread = float((self.moments(users, items)[1] ** 2).mean())
        return self.noise.astype(np.float64).mean(axis=0) + spread

    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the mean predictions of all items for some users, or what all but a share of the draws exceed."""
        return self.of_thetas(self.thetas(users), lower)

    def thetas(self, users: Rows) -> Floats:
        """Return the thetas of all draws side by side, each draw with an equal share; float64[n, n_draws * D]."""
        known, _ = self.known_rows(users, np.empty(0, dtype=np.int64))
        past = known == len(self.users)
        chosen = (self.theta if self.user_attributes is None else self._theta)[:, np.where(past, 0, known)]
        if past.any():
            chosen[:, past] = self._population[:, None]
        return np.concatenate(chosen.astype(np.float64), axis=1) / self.n_draws

    def of_thetas(self, theta: Floats, lower: float | None = None) -> Floats:
        """Return the predictions of all items, as `of_users` does, for thetas of all draws side by side."""
        out = np.empty((len(theta), len(self.items)))
        if lower is not None:
            # The first kernel of a process takes longer to load than one user's answer.
            few = len(theta) == 1
            self._said_of_thetas(
                theta,
                lambda said, out: np.quantile(said, lower, axis=0, out=out) if few else low_quantile(said, lower, out),
                out,
                # Items that attributes place may be anywhere around where these say.
                self.psi,
            )
            return np.clip(out, 0.0, 1.0)
        expected = self.psi if self.item_attributes is None else self._psi
        if self.hidden:
            self._said_of_thetas(theta, lambda said, out: said.mean(axis=0, out=out), out, expected)
            return out

        def share(first: int, last: int) -> None:
            np.matmul(theta, _side_by_side(expected, first, last), out=out[:, first:last])

        self._dealt_items(share, len(theta))
        return np.clip(out, 0.0, 1.0)

    def _said_of_thetas(
        self, theta: Floats, gathered: Callable[[Floats, Floats], Any], out: Floats, psis: NDArray[Any]
    ) -> None:
        """Write what `gathered` makes of what every draw says: float64[n_draws, some of the rows, some items]."""
        by_draw = (self.n_draws * theta).reshape(len(theta), self.n_draws, self.n_events).transpose(1, 0, 2).copy()

        def share(first: int, last: int) -> None:
            psi = _side_by_side(psis, first, last).reshape(self.n_draws, self.n_events, last - first)
            for begin in range(0, len(theta), _SOME):
                said = by_draw[:, begin : begin + _SOME] @ psi
                gathered(chances_of_yes(said) if self.hidden else said, out[begin : begin + _SOME, first:last])

        self._dealt_items(share, len(theta))

    def _dealt_items(self, share: Callable[[int, int], None], n_users: int) -> None:
        """Go through the items in shares that processors keep near, with all of them where that is worth while."""
        with one_blas_thread(), Threads(-1 if n_users * self.psi[..., 0].size > _MANY else None) as dealer:
            dealer.deal(share, len(self.items), _ITEM_ENTRIES)

    def similar_to(self, item: int) -> Floats:
        """Return, for every item, the mass of the shared events over that of the events of either, mean over draws."""
        total = np.zeros(len(self.items))
        for share, drawn in zip(self._theta[:, -1].astype(np.float64), self._psi[:, :-1], strict=True):
            psi = drawn.astype(np.float64)
            total += overlap(share, chances_of_yes(psi) if self.hidden else psi - self.levels[0], item)
        return total / self.n_draws

    # --- files --------------------------------------------------------------------------------------------------------

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = stored_training(self.training)
        meta |= {"n_chains": self.n_chains, "likelihood": self.likelihood, "unobserved": self.unobserved}
        arrays |= {
            "theta": packed_thetas(self.theta),
            "psi": nearest(self.psi, self.levels),
            "levels": self.levels,
            "noise": self.noise,
            **{f"prior_{name}": values for name, values in self.priors.items()},
        }
        for side, attributed in self._attributed.items():
            more, beside = attributed.stored(side)
            meta, arrays = meta | more, arrays | beside
        return meta, arrays

    @property
    def _attributed(self) -> dict[Side, Attributed]:
        sides: dict[Side, Attributed | None] = {"users": self.user_attributes, "items": self.item_attributes}
        return {side: attributed for side, attributed in sides.items() if attributed is not None}

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        levels, codes = arrays["levels"], arrays["psi"]
        check_levels(levels)
        if codes.size and int(codes.max()) >= levels.size:
            raise InvariantError("psi holds a number that stands for no level")
        prefix = "prior_"
        return cls(
            theta=unpacked_thetas(arrays["theta"]),
            psi=levels.astype(np.float32)[codes],
            noise=arrays["noise"],
            n_chains=count(meta["n_chains"]),
            likelihood=meta["likelihood"],
            training=restored_training(meta, arrays),
            priors={name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)},
            levels=levels,
            unobserved=float(meta["unobserved"]),
            user_attributes=Attributed.restored(meta, arrays, "users"),
            item_attributes=Attributed.restored(meta, arrays, "items"),
        )

    def validate_numbers(self) -> None:
        """Check that the draws are models and the variances positive."""
        n_draws, size = (self.theta.shape[0], self.theta.shape[-1]) if self.theta.ndim == 3 else (0, 0)
        if n_draws < 1 or size < 1 or self.n_chains < 1 or n_draws % self.n_chains:
            raise InvariantError("the draws must be as many of each chain, at least one")
        self._check_answers()
        check_array("theta", self.theta, np.float32, (n_draws, len(self.users), size))
        check_array("psi", self.psi, np.float32, (n_draws, len(self.items), size))
        check_among("psi", self.psi, self.levels.astype(np.float32))
        check_array("the noise", self.noise, np.float32, (n_draws, len(self.users)))
        check_simplex("theta", self.theta)
        check_between("the noise", self.noise, LEAST_NUMBER, LARGEST_NUMBER)
        for name, values in self.priors.items():
            check_array(f"the prior's {name}", values, np.float64, (n_draws,))
            check_between(f"the prior's {name}", values, LEAST_NUMBER, LARGEST_NUMBER)
        for side, attributed in self._attributed.items():
            attributed.validate(side, n_draws, len(self.users if side == "users" else self.items), size)

    def _check_answers(self) -> None:
        """Raise `InvariantError` where the answers of the training data are none that draws of these levels give."""
        if self.likelihood not in ("gaussian", "bernoulli"):
            raise InvariantError(f"the likelihood {str(self.likelihood)[:40]!r} is unknown")
        weights = self.training.weights
        least = 1.0 if weights is None else float(weights.min())
        if not 0.0 <= self.unobserved < least or (self.unobserved and self.likelihood != "gaussian"):
            raise InvariantError("the weight of what was not observed must lie below all weights")
        if self.likelihood == "bernoulli" and not self.training.is_binary:
            raise InvariantError("the likelihood 'bernoulli' goes with yes and no")
        if self.likelihood == "bernoulli" and not self.hidden and not np.array_equal(self.levels, NEARLY_SURE):
            raise InvariantError("the levels must be those of hidden ratings, or the two of yes and no")
        check_levels(self.levels)


def check_levels(levels: NDArray[Any]) -> None:
    """Raise `InvariantError` where an array holds no levels of draws."""
    if levels.dtype != np.float64 or not are_levels(levels):
        reach = f"between -{FURTHEST_LEVEL:g} and {FURTHEST_LEVEL:g}"
        raise InvariantError(f"the levels must be 2 to {MOST_LEVELS} increasing numbers {reach}")


def _side_by_side(psi: NDArray[Any], first: int, last: int) -> Floats:
    """Return psi of some items as thetas of all draws are side by side: float64[n_draws * D, n]."""
    return psi[:, first:last].transpose(0, 2, 1).reshape(-1, last - first).astype(np.float64)


# --- thetas on a grid, in multiples of 2**-15, which two bytes hold exactly and which still sum to 1 ------------------


def on_grid(theta: Floats) -> NDArray[np.float32]:
    """Round distributions so that each still sums to 1: what is left over goes to the largest remainders.

    Examples
    --------
    >>> bool((on_grid(np.array([[0.1, 0.2, 0.7]])).sum(axis=1) == 1.0).all())
    True
    """
    scaled = np.asarray(theta, dtype=np.float64) * STEPS
    whole = np.floor(scaled)
    missing = np.rint(STEPS - whole.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(whole - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    whole += rank < missing[:, None]
    return (whole / STEPS).astype(np.float32)


def packed_thetas(theta: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return thetas of the grid as counts of its steps, for a file."""
    return np.rint(theta * np.float32(STEPS)).astype(np.uint16)


def unpacked_thetas(counts: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Undo `packed_thetas`."""
    return counts.astype(np.float32) / np.float32(STEPS)


# --- intervals: between which numbers a probability, or a new answer, lies --------------------------------------------


def probability_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
    """Return the central interval of the probability, for aligned rows."""
    low, high = np.empty(users.size), np.empty(users.size)
    for part in _parts(posterior, users.size):
        low[part], high[part] = np.quantile(posterior.draws(users[part], items[part]), _tails(level), axis=1)
    return low, high


def answer_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
    """Return the central interval of a new answer, noise included, on the probability scale, for aligned rows."""
    if posterior.likelihood == "gaussian":
        return _noisy_interval(posterior, users, items, level)
    tails = _tails(level)
    if posterior.likelihood == "bernoulli":
        chance = posterior.at_rows(users, items)
        return (chance > 1.0 - tails[0]).astype(np.float64), (chance >= tails[0]).astype(np.float64)
    points = posterior.points
    upto = np.cumsum(posterior.distribution_at_rows(users, items), axis=1)
    ends = ((upto < tail).sum(axis=1) for tail in (tails[0], tails[1] - _ROUNDING))
    low, high = (points[np.minimum(end, points.size - 1)] for end in ends)
    return low, high


def rating_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Any, Any]:
    """Return the central interval of a new rating, in rating units, for aligned rows."""
    low, high = answer_interval(posterior, users, items, level)
    return posterior.scale.rating(low), posterior.scale.rating(high)


def coverage(posterior: Posterior, users: Rows, items: Rows, answers: Floats, weights: Floats | None) -> float:
    """Return the share of answers that their 90% intervals hold."""
    low, high = answer_interval(posterior, users, items, 0.9)
    inside = (answers >= low - _NEAR) & (answers <= high + _NEAR)
    return float(np.average(inside, weights=weights))


def _noisy_interval(posterior: Posterior, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
    """Return quantiles of mixtures of normals: around what every draw says, with its noise."""
    ends = np.empty((2, users.size))
    rows, _ = posterior.known_rows(users, items)
    for part in _parts(posterior, users.size):
        centre = posterior.draws(users[part], items[part])
        spread = np.ascontiguousarray(posterior.noise_deviation[:, rows[part]].T)
        found = ends[:, part]

        def work(some: slice, centre: Floats = centre, spread: Floats = spread, found: Floats = found) -> None:
            for tail, out in zip(_tails(level), found, strict=True):
                mixture_quantile(centre[some], spread[some], tail, float(ndtri(tail)), out[some])

        deal_pairs(work, len(centre), posterior.n_draws)
    low, high = np.clip(ends, 0.0, 1.0)
    return low, high


def _parts(posterior: Posterior, n_pairs: int) -> list[slice]:
    size = max(1, _BLOCK // posterior.n_draws)
    return [slice(first, first + size) for first in range(0, n_pairs, size)]


def _tails(level: float) -> tuple[float, float]:
    return 0.5 * (1.0 - level), 0.5 * (1.0 + level)


_ROUNDING = 1e-9


def shares(values: Floats, points: Floats) -> Floats:
    """Spread values over the points of a scale: float64[n, n_points], rows sum to 1.

    A value beyond an end counts there; one between two points is divided between them so that its mean is kept.

    Parameters
    ----------
    values : float64[n]
    points : float64[n_points]
        Increasing, at least two.

    Examples
    --------
    >>> shares(np.array([-0.4, 0.6, 1.0]), np.array([0.2, 0.4, 1.0])).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.667, 0.333], [0.0, 0.0, 1.0]]
    """
    inside = np.clip(values, points[0], points[-1])
    right = np.clip(np.searchsorted(points, inside), 1, len(points) - 1)
    part = (inside - points[right - 1]) / (points[right] - points[right - 1])
    # Snapped, so that a rating that rounding has moved off its point is on it.
    part = np.where(part < _ROUNDING, 0.0, np.where(part > 1.0 - _ROUNDING, 1.0, part))
    out = np.zeros((len(values), len(points)))
    rows = np.arange(len(values))
    out[rows, right] = part
    out[rows, right - 1] += 1.0 - part
    return out
