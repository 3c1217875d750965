"""Chains over many-valued models: an item takes one value of a grid in every event."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import View
from kolmogorov.execution import Threads
from kolmogorov.fitting.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.draws.emissions import draw_emissions, draw_emitted
from kolmogorov.kernels.draws.slices import draw_sliced
from kolmogorov.kernels.draws.values import draw_thetas, draw_values
from kolmogorov.kernels.rows.products import residual_squares
from kolmogorov.sampling.chain import PRIORS, START, Chain, ChainState, noise_of
from kolmogorov.sampling.concentration import stepped
from kolmogorov.sampling.dirichlet import redrawn_alpha
from kolmogorov.sampling.emission import Emission, placed
from kolmogorov.sampling.factors import FactorChain, Factors, run_factors
from kolmogorov.sampling.noise import redrawn_shape
from kolmogorov.sampling.priors import PRIOR_DRAWS, NoisePrior, UserPrior
from kolmogorov.sampling.values import ValuePrior

Codes = NDArray[np.uint8]
#: The start: how far an item's values are from its mean answer, and theta's concentration.
_START_SPREAD, _START_CONCENTRATION = 0.3, 30.0
#: How often a sweep goes over an item's values, and over the pairs of a user's events.
ROUNDS, USER_ROUNDS = 2, 2
#: What the moves between a user's events take, in observations, and a draw of one value, in multiplications.
_THETA_COST, _VALUE_COST = 400, 64
#: Sweeps in which the Dirichlet prior of theta stays as it starts.
HELD = 30


def value_variance(*, noisy: bool) -> float:
    """Return what the prior of values' precision is around, as a variance by event.

    With noisy ratings it has to be small: events that are not needed must be able to have nearly the same values.
    """
    return 0.01 if noisy else 0.1


class LevelChain(Chain):
    """What the chains of many-valued models share: a plain start from the items' means, and a prior of values.

    Parameters
    ----------
    item_features : float64[n_items, k]
    levels : float64[L]
        The values, increasing.
    **options
        As for `Chain`.
    """

    def __init__(self, *given: Any, item_features: Floats, levels: Floats, **options: Any) -> None:
        super().__init__(*given, **options)
        self.item_features = item_features
        self.levels = levels
        self.value_variance = value_variance(noisy=False)
        self.seen_items = self.observations.columns.counts > 0
        self._drawn: tuple[Floats, Codes] | None = None

    def codes(self, psi: Floats) -> Codes:
        """Return the places of values in the grid, which are known of those drawn last."""
        if self._drawn is not None and self._drawn[0] is psi:
            return self._drawn[1]
        return placed(psi, self.levels)

    def values(self, codes: Codes) -> Floats:
        """Return values drawn as places."""
        psi: Floats = self.levels[codes]
        self._drawn = psi, codes
        return psi

    @property
    def from_factors(self) -> bool:
        """Whether chains start from factors without the simplex: these settle in a few sweeps, values in hundreds."""
        return False

    def start(self) -> ChainState:
        """Start from factors, or from next to nothing."""
        return self.started([self], self.dealer)[0]

    @classmethod
    def started(cls, chains: Sequence[Any], dealer: Threads) -> list[ChainState]:
        """Start chains that differ in their seeds, on all threads of a dealer."""
        first, states = chains[0], [chain.plain_start() for chain in chains]
        if first.n_events == 1 or not first.from_factors:
            return states
        rngs = [generator(chain.seed, START, 1) for chain in chains]
        found = run_factors(
            [
                FactorChain(
                    chain.observations,
                    chain.item_features,
                    chain.n_events,
                    chain.value_variance,
                    float(chain.mass.sum()),
                    int(rng.integers(2**63)),
                    rng,
                )
                for chain, rng in zip(chains, rngs, strict=True)
            ],
            first.observations,
            first.n_events,
            dealer,
        )
        return [chain._placed(*given) for chain, *given in zip(chains, states, found, rngs, strict=True)]

    def _placed(self, plain: ChainState, found: Factors, rng: np.random.Generator) -> ChainState:
        """Put factors onto the simplex, as far from equal shares as points anywhere on it are."""
        size = self.n_events
        theta, x, items = found.on_simplex(1.0 / size, rng)
        concentration = self.concentration or float(size * size)
        return replace(
            plain,
            theta=theta,
            psi=self.levels[placed(x, self.levels)],
            noise=np.full(len(theta), found.noise),
            items=items,
            users=UserPrior.start(self.features, size, concentration, PRIOR_DRAWS),
            scale=self.noise_shape * found.noise,
        )

    def plain_start(self) -> ChainState:
        """Put items around their mean answers and users anywhere: chains find their modes from there.

        A descent first brings nothing: its values are at the ends of the grid, and chains take longer to leave them.
        """
        rng = generator(self.seed, START)
        table, size = self.observations, self.n_events
        mean = float(table.values.mean())
        columns = table.columns
        owners = columns.owners(0, table.n_items)
        sums = np.bincount(owners, weights=columns.values, minlength=table.n_items)
        # Items with few answers begin near the mean of all.
        usual = (sums + mean) / (columns.counts + 1.0)
        x = usual[:, None] + _START_SPREAD * rng.standard_normal((table.n_items, size))
        spread = max(float(np.var(table.values)), 1e-4)
        concentration = self.concentration or _START_CONCENTRATION
        return ChainState(
            theta=rng.dirichlet(np.ones(size), size=table.n_users),
            psi=self.levels[placed(x, self.levels)],
            noise=np.full(table.n_users, spread),
            items=ValuePrior.start(self.item_features, size, mean),
            users=UserPrior.start(self.features, size, concentration, PRIOR_DRAWS),
            scale=self.noise_shape * spread,
            alpha=np.full(size, 1.0 if self.concentration is None else self.concentration / size),
            shape=self.noise_shape,
        )

    def kept(self, psi: Floats) -> Any:
        """Return psi as draws keep it: values in four bytes."""
        return psi.astype(np.float32)


class GaussianLevelChain(LevelChain):
    """Answers are theta_u . x_i plus normal noise whose variance depends on the user.

    Parameters
    ----------
    unobserved : float
        What every entry that was not observed weighs, as an answer of 0; below all weights.
    **options
        As for `LevelChain`.
    """

    prior_names = ("concentration", "noise", "noise_shape")

    def __init__(self, *given: Any, unobserved: float = 0.0, **options: Any) -> None:
        super().__init__(*given, **options)
        self.unobserved = unobserved
        self.value_variance = value_variance(noisy=not unobserved)
        if unobserved:
            self.seen_users, self.seen_items = np.ones_like(self.seen_users), np.ones_like(self.seen_items)
            self.mass = self.mass + unobserved * (self.observations.n_items - self.observations.rows.counts)

    @property
    def from_factors(self) -> bool:
        """Unless only yes is recorded."""
        return not self.unobserved

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta, fixed after burn-in, the usual deviation of the noise, and its shape."""
        usual = math.sqrt(state.scale / state.shape)
        return {"concentration": state.users.concentration, "noise": usual, "noise_shape": state.shape}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw values, thetas and noise, each given the rest; and, while `learning`, the priors of both sides."""
        self.observations.check_intact()
        rng = generator(self.seed, PRIORS, index)
        precision = 1.0 / state.noise
        psi = self._items(state, precision, index)
        theta = self._thetas(state, psi, precision, index)
        prior = NoisePrior(state.scale, state.shape, self.noise_rate * self.noise_shape / state.shape)
        noise, prior = prior.redrawn(*self._residuals(theta, psi), rng)
        shape, scale = redrawn_shape(prior.shape, prior.scale, noise, rng)
        users, items = state.users, state.items
        if learning:
            # Where only yes is recorded the pattern is the answers, and would be believed beside them.
            users = (users.located if self.unobserved else users.shrunk)(theta, self.seen_users)
            if self.concentration is None:
                users = stepped(users, theta, self.seen_users, rng)
            items = items.learned(psi, self.seen_items, self.value_variance, rng)
        return replace(state, theta=theta, psi=psi, noise=noise, items=items, users=users, scale=scale, shape=shape)

    def _items(self, state: ChainState, precision: Floats, index: int) -> Floats:
        columns = self.observations.columns
        codes = self.codes(state.psi)
        fresh = np.empty_like(codes)
        pull, centre = state.items.precision, state.items.centre
        if self.unobserved:
            # That all was said to be 0 by everyone, a little, is one more normal prior, around 0.
            everyone = pull + self.unobserved * (precision * state.theta.T) @ state.theta
            centre, pull = centre @ pull @ np.linalg.inv(everyone), everyone
        table = corrected(columns, self.unobserved)
        given = (precision, state.theta, codes, self.levels, centre, pull, ROUNDS)
        seeds = self.row_seeds(index, ITEM_SIDE)

        def share(first: int, last: int) -> None:
            draw_values(*table, *given, seeds[first:last], first, last, fresh)

        self.dealer.deal(share, len(codes), 1, columns.indptr, _VALUE_COST * self.n_events, 2 * len(self.levels))
        return self.values(fresh)

    def _thetas(self, state: ChainState, psi: Floats, precision: Floats, index: int) -> Floats:
        rows, users = self.observations.rows, state.users
        table = corrected(rows, self.unobserved)
        whole = self.unobserved * psi.T @ psi if self.unobserved else np.empty((0, 0))
        given = (precision, psi, whole, state.theta, users.concentration, users.centre, USER_ROUNDS)
        theta, seeds = np.empty_like(state.theta), self.row_seeds(index, USER_SIDE)

        def share(first: int, last: int) -> None:
            draw_thetas(*table, *given, seeds[first:last], first, last, theta)

        self.dealer.deal(share, len(theta), 1, rows.indptr, self.n_events * self.n_events, _THETA_COST)
        return theta

    def _residuals(self, theta: Floats, psi: Floats) -> tuple[Floats, Floats]:
        """Return each user's residual sum of squares and number of answers, those not given counted by their weight."""
        squares, mass = noise_of(self, theta, psi)
        if self.unobserved:
            rows = self.observations.rows
            said = np.empty(len(theta))
            nothing = (rows.indptr, rows.indices, np.zeros_like(rows.values), np.empty(0))
            residual_squares(*nothing, theta, psi, 0, len(theta), said)
            squares = squares + self.unobserved * np.maximum(((theta @ (psi.T @ psi)) * theta).sum(axis=1) - said, 0.0)
        return squares, mass


def corrected(view: View, unobserved: float) -> tuple[Any, ...]:
    """Return a table's arrays: weights without what the whole table already counts, values that make up for it."""
    if not unobserved:
        return view.indptr, view.indices, view.values, view.weights
    weights = view.weights if view.weights.size else np.ones_like(view.values)
    left = weights - unobserved
    return view.indptr, view.indices, view.values * weights / left, left


class AnswerChain(LevelChain):
    """Answers are one of a few: an event is drawn from theta_u, and in it the item's value gives each its chance."""

    prior_names = ("concentration",)

    def __init__(self, *given: Any, emission: Emission, **options: Any) -> None:
        super().__init__(*given, **options)
        self.emission = emission
        self._by_rows, self._by_columns = (
            emission.codes(view.values) for view in (self.observations.rows, self.observations.columns)
        )

    @property
    def from_factors(self) -> bool:
        """Where values reach beyond chances, as far as factors do."""
        return bool(self.emission.cuts)

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta: the sum of its Dirichlet prior's parameters."""
        return {"concentration": float(state.alpha.sum())}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw values with the events summed out, then events and thetas or thetas alone, then the priors."""
        self.observations.check_intact()
        rng = generator(self.seed, PRIORS, index)
        rows, columns, emission = self.observations.rows, self.observations.columns, self.emission
        codes = self.codes(state.psi)
        fresh, theta = np.empty_like(codes), np.empty_like(state.theta)
        prior = (state.items.centre, state.items.precision)
        item_seeds, user_seeds = self.row_seeds(index, ITEM_SIDE), self.row_seeds(index, USER_SIDE)

        def item_share(first: int, last: int) -> None:
            table = (columns.indptr, columns.indices, self._by_columns, columns.weights)
            given = (state.theta, codes, emission.chances, emission.least, emission.position, *prior)
            draw_emissions(*table, *given, item_seeds[first:last], first, last, fresh)

        def user_share(first: int, last: int) -> None:
            table = (rows.indptr, rows.indices, self._by_rows, rows.weights)
            seeds = user_seeds[first:last]
            if emission.cuts:
                given = (fresh, emission.chances, emission.least, state.theta, state.alpha, USER_ROUNDS)
                draw_sliced(*table, *given, seeds, first, last, theta)
            else:
                draw_emitted(*table, fresh, emission.chances, state.theta, state.alpha, seeds, first, last, theta)

        cost = self.n_events * len(self.levels)
        self.dealer.deal(item_share, len(codes), 1, columns.indptr, _VALUE_COST * cost)
        self.dealer.deal(user_share, len(theta), 1, rows.indptr, _VALUE_COST * self.n_events)
        alpha = state.alpha
        # At first users are alike because events are; learned from that, alpha would keep them so.
        if not learning or index > HELD:
            fixed = self.concentration is not None
            alpha = redrawn_alpha(alpha, theta[self.seen_users], rng, total_fixed=fixed)
        items = state.items
        if learning:
            items = items.learned(emission.position[fresh], self.seen_items, self.value_variance, rng)
        return replace(state, theta=theta, psi=self.values(fresh), items=items, alpha=alpha)
