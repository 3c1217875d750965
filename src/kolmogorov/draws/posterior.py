"""What is kept of the chains, and what it predicts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.jit import kernel
from kolmogorov._support.threads import Threads, deal_pairs, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import LARGEST_NUMBER, LEAST_NUMBER, check_between, check_simplex
from kolmogorov.data import Observations
from kolmogorov.descent.attributes import Attributed, with_centres
from kolmogorov.descent.completion import Many
from kolmogorov.descent.files import TRAINING, Arrays, Parts, Schema, count, restored_training
from kolmogorov.descent.fitted import Factors, Trained, overlap
from kolmogorov.draws.gibbs import chance_of_yes
from kolmogorov.draws.likelihood import Gaussian, kind_of
from kolmogorov.draws.plan import FURTHEST_LEVEL, MOST_LEVELS, STEPS, nearest
from kolmogorov.errors import InvariantError

#: Numbers of draws times all items that one thread goes through before others could have begun; by judgement, as all
#: sizes here. Items gone through at once are so many that their share of scratch comes to this, and users so many that
#: what all draws say of these items stays near.
_MANY, _ITEM_ENTRIES, _SOME = 1 << 22, 1 << 9, 8
#: Pairs of users and items at which draws are compared.
_PAIRS = 1_000
#: Pairs times draws held at once: 32 MB.
_BLOCK = 1 << 22
#: Pairs whose smallest draws are sought at once: some kilobytes, which the nearest cache holds.
_SIDE_BY_SIDE = 64
#: For draws that are not kept.
_NO_ROOM = np.empty((0, 0))
#: Answers come through divisions.
_NEAR = 1e-9


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
    def kind(self) -> Gaussian:
        """What answers mean."""
        return kind_of(self.likelihood, self.levels, self.unobserved)

    # --- predictions ----------------------------------------------------------------------------------------------

    @cached_property
    def population(self) -> NDArray[np.float32]:
        """The mean theta of each draw over the users observed; [n_draws, D]."""
        return np.asarray(self.theta[:, self.user_seen].mean(axis=1))

    @cached_property
    def mean_item(self) -> NDArray[np.float32]:
        """The mean psi of each draw over the items observed; [n_draws, D]."""
        return np.asarray(self.psi[:, self.item_seen].mean(axis=1, dtype=np.float32))

    @cached_property
    def placed_theta(self) -> NDArray[np.float32]:
        """Theta, but users placed by attributes are where these say, and not around there."""
        return self.theta if self.user_attributes is None else with_centres(self.theta.copy(), self.user_attributes)

    @cached_property
    def placed_psi(self) -> NDArray[np.float32]:
        """Psi, but items placed by attributes are where these say."""
        return self.psi if self.item_attributes is None else with_centres(self.psi.copy(), self.item_attributes)

    @property
    def factors(self) -> Factors:
        """What predictions are means of products of."""
        return Factors(self.placed_theta, self.placed_psi, self.kind.hidden, self.population)

    @cached_property
    def anyone(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The user and the item that an unknown one is, in each draw: some observed one.

        Means say what to expect of an unknown one; for how far off it may be, they have to differ.
        """
        rng = np.random.default_rng(0)
        seen = np.flatnonzero(self.user_seen), np.flatnonzero(self.item_seen)
        found = np.array([[rng.choice(rows) for rows in seen] for _ in range(self.n_draws)])
        return found[:, 0].copy(), found[:, 1].copy()

    def noise_of(self, users: Rows) -> NDArray[np.float32]:
        """Return the variance of users' answers in each draw; [n_draws, n]."""
        rows = np.where(users == len(self.users), self.anyone[0][:, None], users)
        return np.take_along_axis(self.noise, rows, axis=1)

    def deviations(self, users: Rows) -> Floats:
        """Return the standard deviation of users' answers in each draw; [n_draws, n]."""
        return np.sqrt(self.noise_of(users).astype(np.float64))

    def placed_rows(self, users: Rows, items: Rows) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return theta and psi of aligned rows in every draw, of the unknown the mean; float32[n_draws, n, D] each."""
        sides = ((self.placed_theta, self.population, users), (self.placed_psi, self.mean_item, items))
        theta, psi = (
            np.where((rows == of.shape[1])[:, None], mean[:, None], of[:, np.minimum(rows, of.shape[1] - 1)])
            for of, mean, rows in sides
        )
        return theta, psi

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return the mean over draws for aligned rows."""
        return self.moments(users, items)[0]

    def moments(self, users: Rows, items: Rows) -> tuple[Floats, Floats]:
        """Return mean and standard deviation over draws for aligned rows."""
        users, items = self.known_rows(users, items)
        _, mean, deviation = self._said(users, items, _NO_ROOM)
        unknown = np.flatnonzero(~(np.append(self.user_seen, False)[users] & np.append(self.item_seen, False)[items]))
        for part in self._parts(unknown.size, self.n_events):
            some = unknown[part]
            rows, expected, nothing = np.arange(some.size), np.empty(some.size), np.empty(some.size)
            given = (*self.placed_rows(users[some], items[some]), *self.anyone, rows, rows, self.kind.hidden)
            draw_products(*given, _NO_ROOM, expected, nothing)
            mean[some] = expected
        return mean, deviation

    def draws(self, users: Rows, items: Rows) -> Floats:
        """Return what every draw says, cut to the scale; float64[n_pairs, n_draws]."""
        users, items = self.known_rows(users, items)
        out, _, _ = self._said(users, items, np.empty((users.size, self.n_draws)))
        return np.clip(out, 0.0, 1.0, out=out)

    def _said(self, users: Rows, items: Rows, out: Floats) -> tuple[Floats, Floats, Floats]:
        """Write what every draw says of known rows, where there is room; return it, its mean and its deviation."""
        mean, deviation = np.empty(users.size), np.empty(users.size)
        given, hidden = (self.theta, self.psi, *self.anyone), self.kind.hidden

        def work(part: slice) -> None:
            draw_products(*given, users[part], items[part], hidden, out[part], mean[part], deviation[part])

        deal_pairs(work, users.size, self.n_draws)
        return out, mean, deviation

    def dealt(self, users: Rows, items: Rows, work: Callable[[slice, Floats, Floats], None]) -> None:
        """Call work(part, said, deviation) with parts of pairs, what draws say of them and how far answers lie from it.

        Both are float64[n, n_draws].
        """
        users, items = self.known_rows(users, items)
        for part in self._parts(users.size):
            said, _, _ = self._said(users[part], items[part], np.empty((users[part].size, self.n_draws)))
            spread = np.ascontiguousarray(self.deviations(users[part]).T)

            def share(some: slice, first: int = part.start, said: Floats = said, spread: Floats = spread) -> None:
                work(slice(first + some.start, first + some.stop), said[some], spread[some])

            deal_pairs(share, *said.shape)

    def _parts(self, n_pairs: int, each: int = 1) -> list[slice]:
        """Return parts of pairs of which so many numbers are held at once for every draw."""
        size = max(1, _BLOCK // (self.n_draws * each))
        return [slice(first, min(first + size, n_pairs)) for first in range(0, n_pairs, size)]

    def _shares_at_rows(self, users: Rows, items: Rows, points: Floats) -> Floats:
        return self.kind.shares(self, users, items, points)

    @cached_property
    def answer_variance(self) -> Floats:
        """The variance of each user's answers around the average: the noise, and how far draws differ."""
        rng = np.random.default_rng(0)
        users = rng.choice(np.flatnonzero(self.user_seen), _PAIRS)
        items = rng.choice(np.flatnonzero(self.item_seen), _PAIRS)
        spread = float((self.moments(users, items)[1] ** 2).mean())
        return self.noise.astype(np.float64).mean(axis=0) + spread

    def many(self) -> Many:
        """Return what one model is learned from."""
        given = (self.factors, self.training, self.answer_variance, self.unobserved, self.n_chains)
        return Many(*given, self.user_attributes, self.item_attributes)

    # --- intervals: between which numbers a probability, or a new answer, lies --------------------------------------

    def probability_interval(self, users: Rows, items: Rows, level: float) -> tuple[Floats, Floats]:
        """Return the central interval of the probability, for aligned rows."""
        ends = np.empty((2, users.size))
        for part in self._parts(users.size):
            ends[:, part] = np.quantile(self.draws(users[part], items[part]), _tails(level), axis=1)
        return ends[0], ends[1]

    def rating_interval(self, users: Rows, items: Rows, level: float) -> tuple[Any, Any]:
        """Return the central interval of a new rating, noise included, in rating units, for aligned rows."""
        low, high = self.kind.interval(self, users, items, _tails(level))
        return self.scale.rating(low), self.scale.rating(high)

    def coverage(self, users: Rows, items: Rows, answers: Floats, weights: Floats | None) -> float:
        """Return the share of answers that their 90% intervals hold."""
        low, high = self.kind.interval(self, users, items, _tails(0.9))
        inside = (answers >= low - _NEAR) & (answers <= high + _NEAR)
        return float(np.average(inside, weights=weights))

    # --- lists ------------------------------------------------------------------------------------------------------

    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the mean predictions of all items for some users, or what all but a share of the draws exceed."""
        return self.of_thetas(self.thetas(users), lower)

    def thetas(self, users: Rows) -> Floats:
        """Return the thetas of all draws side by side, each draw with an equal share; float64[n, n_draws * D]."""
        known, _ = self.known_rows(users, np.empty(0, dtype=np.int64))
        past = known == len(self.users)
        chosen = self.placed_theta[:, np.where(past, 0, known)]
        if past.any():
            chosen[:, past] = self.population[:, None]
        return np.concatenate(chosen.astype(np.float64), axis=1) / self.n_draws

    def of_thetas(self, theta: Floats, lower: float | None = None) -> Floats:
        """Return the predictions of all items, as `of_users` does, for thetas of all draws side by side."""
        out, kind = np.empty((len(theta), len(self.items))), self.kind
        # How far off they may be: items that attributes place may be anywhere around where these say.
        psis = self.placed_psi if lower is None else self.psi
        by_draw = (self.n_draws * theta).reshape(len(theta), self.n_draws, self.n_events).transpose(1, 0, 2).copy()

        def share(first: int, last: int) -> None:
            # As thetas of all draws are side by side: float64[n_draws * D, n].
            psi = psis[:, first:last].transpose(0, 2, 1).reshape(-1, last - first).astype(np.float64)
            if lower is None and not kind.hidden:
                np.matmul(theta, psi, out=out[:, first:last])
                return
            each = psi.reshape(self.n_draws, self.n_events, last - first)
            for begin in range(0, len(theta), _SOME):
                said = kind.expected(by_draw[:, begin : begin + _SOME] @ each)
                part = out[begin : begin + _SOME, first:last]
                if lower is None:
                    said.mean(axis=0, out=part)
                elif len(theta) == 1:
                    # The first kernel of a process takes longer to load than one user's answer.
                    np.quantile(said, lower, axis=0, out=part)
                else:
                    low_quantile(said, lower, part)

        many = len(theta) * self.psi[..., 0].size > _MANY
        with one_blas_thread(), Threads(-1 if many else None) as dealer:
            dealer.deal(share, len(self.items), _ITEM_ENTRIES)
        return np.clip(out, 0.0, 1.0, out=out)

    def similar_to(self, item: int) -> Floats:
        """Return, for every item, the mass of the shared events over that of the events of either, mean over draws."""
        total = np.zeros(len(self.items))
        for share, drawn in zip(self.population.astype(np.float64), self.placed_psi, strict=True):
            psi = drawn.astype(np.float64)
            total += overlap(share, self.kind.expected(psi) if self.kind.hidden else psi - self.levels[0], item)
        return total / self.n_draws

    # --- files --------------------------------------------------------------------------------------------------------

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = super().stored()
        meta |= {"n_chains": self.n_chains, "likelihood": self.likelihood, "unobserved": self.unobserved}
        arrays |= {
            "theta": np.rint(self.theta * np.float32(STEPS)).astype(np.uint16),
            "psi": nearest(self.psi, self.levels),
            "levels": self.levels,
            "noise": self.noise,
            **{f"prior_{name}": values for name, values in self.priors.items()},
        }
        return meta, arrays

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        levels, codes = arrays["levels"], arrays["psi"]
        check_levels(levels)
        if codes.size and int(codes.max()) >= levels.size:
            raise InvariantError("psi holds a number that stands for no level")
        prefix = "prior_"
        return cls(
            theta=arrays["theta"].astype(np.float32) / np.float32(STEPS),
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

    def validate(self) -> None:
        """Check that the draws are models, that they give answers as those of the training data, and their numbers."""
        super().validate()
        if not self.n_draws or not self.n_events or self.n_draws % self.n_chains:
            raise InvariantError("the draws must be as many of each chain, at least one")
        check_levels(self.levels)
        check_simplex("theta", self.theta)
        check_between("the noise", self.noise, LEAST_NUMBER, LARGEST_NUMBER)
        for name, numbers in self.priors.items():
            check_between(f"the prior's {name}", numbers, LEAST_NUMBER, LARGEST_NUMBER)
        if self.likelihood not in ("gaussian", "bernoulli"):
            raise InvariantError(f"the likelihood {str(self.likelihood)[:40]!r} is unknown")
        weights, noisy = self.training.weights, self.likelihood == "gaussian"
        least = 1.0 if weights is None else float(weights.min())
        if not 0.0 <= self.unobserved < least or (self.unobserved and not noisy):
            raise InvariantError("the weight of what was not observed must lie below all weights")
        if not noisy and not self.training.is_binary:
            raise InvariantError("the likelihood 'bernoulli' goes with yes and no")


def check_levels(levels: NDArray[Any]) -> None:
    """Raise `InvariantError` where an array holds no levels of draws: increasing, not too many, not too far away."""
    near = 2 <= levels.size <= MOST_LEVELS and (np.abs(levels) <= FURTHEST_LEVEL).all()
    if not near or not (np.diff(levels) > 0.0).all():
        raise InvariantError(f"the levels must be 2 to {MOST_LEVELS} increasing numbers of {FURTHEST_LEVEL:g} at most")


def _tails(level: float) -> tuple[float, float]:
    return 0.5 * (1.0 - level), 0.5 * (1.0 + level)


@kernel
def draw_products(theta, psi, any_user, any_item, users, items, hidden, out, mean, deviation):
    """Write the mean and the standard deviation of what draws say of pairs: their products or the chances of a yes.

    Where there is room, what draw k says of pair n is written to out[n, k]. The row past the last stands for another
    row in each draw.
    """
    n_users, n_items, size, draws = theta.shape[1], psi.shape[1], theta.shape[2], theta.shape[0]
    for n in range(users.size):
        first, second = 0.0, 0.0
        for k in range(draws):
            user = users[n] if users[n] < n_users else any_user[k]
            item = items[n] if items[n] < n_items else any_item[k]
            total = 0.0
            for d in range(size):
                total += theta[k, user, d] * psi[k, item, d]
            total = chance_of_yes(total) if hidden else total
            if out.size:
                out[n, k] = total
            first += total
            second += total * total
        first /= draws
        mean[n] = min(max(first, 0.0), 1.0)
        deviation[n] = np.sqrt(max(second / draws - first * first, 0.0))


@kernel
def low_quantile(said, level, out):
    """Write to out[n, i] the quantile of said[:, n, i] over draws, between neighbours by a straight line.

    The smallest ones are kept in order, for several items side by side: each draw goes down the row and leaves the
    smaller of two in every place, without a branch.
    """
    draws, width = said.shape[0], said.shape[2]
    place = level * (draws - 1)
    below = int(place)
    kept = min(below + 2, draws)
    least = np.empty((kept, _SIDE_BY_SIDE))
    value = np.empty(_SIDE_BY_SIDE)
    for n in range(said.shape[1]):
        for begin in range(0, width, _SIDE_BY_SIDE):
            some = min(_SIDE_BY_SIDE, width - begin)
            least[:] = np.inf
            for k in range(draws):
                for i in range(some):
                    value[i] = said[k, n, begin + i]
                for j in range(min(k + 1, kept)):
                    for i in range(_SIDE_BY_SIDE):
                        low, high = least[j, i], value[i]
                        least[j, i] = low if low < high else high
                        value[i] = high if low < high else low
            for i in range(some):
                low, high = least[below, i], least[kept - 1, i]
                out[n, begin + i] = low + (place - below) * (high - low)
