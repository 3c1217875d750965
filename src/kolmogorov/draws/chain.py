"""Markov chains over Kolmogorov models: a sweep draws every psi_i, every theta_u, the noise and the priors."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View, counting_order
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.gibbs import draw_hidden
from kolmogorov.draws.likelihood import entries, kind_of
from kolmogorov.draws.plan import Plan, nearest, on_grid
from kolmogorov.draws.priors import Features, PsiPrior, ThetaPrior, redrawn_noise, redrawn_noise_prior
from kolmogorov.solvers.rows import residual_squares

#: Random streams of a chain beside those of its users and items: its start, its priors, and ratings that are hidden.
START, PRIORS, HIDDEN = 2, 3, 5
#: How often a sweep goes over an item's levels, and theta's concentration before anything is known, which chains
#: forget. By judgement.
ROUNDS, CONCENTRATION = 2, 30.0
#: What a draw of one level takes, in multiplications, the moves between a user's events, in observations, and the draw
#: of a hidden rating, in multiplications; how rows are dealt to threads depends on it, no result does.
_LEVEL_COST, _THETA_COST, _ANSWER_COST = 64, 400, 64


@dataclass(frozen=True, eq=False)
class Sample:
    """What is kept of a state: the model itself.

    `theta` lies on the grid of `on_grid`, psi on the levels. `priors` are numbers on which chains that have settled
    agree.
    """

    theta: NDArray[np.float32]
    psi: NDArray[Any]
    noise: NDArray[np.float32]
    priors: dict[str, float]


@dataclass(frozen=True, eq=False)
class ChainState:
    """One state of a chain. Arrays are never changed in place.

    `noise`, the variance of each user's answers, has a prior with a `scale` and a `shape`, if it is drawn.
    """

    theta: Floats
    psi: Floats
    noise: Floats
    psi_prior: PsiPrior
    theta_prior: ThetaPrior
    scale: float
    shape: float = 3.0


class Chain:
    """Draws from the posterior given one table, by Gibbs sampling.

    The priors of theta and psi know `features`. The seed and the number of a sweep fix every random number.
    """

    #: Variances are InverseGamma(noise_shape, scale); the scale is Gamma(1, noise_rate), the rate in units of the data.
    noise_shape = 3.0
    #: Where it is, once it has started.
    state: ChainState

    def __init__(self, plan: Plan, table: Observations, features: Features, seed: int, dealer: Threads) -> None:
        self.plan, self.kind = plan, kind_of(plan.likelihood, plan.levels, plan.unobserved)
        self.n_events, self.levels, self.unobserved = plan.n_events, plan.levels, plan.unobserved
        self.observations, self.features, self.seed, self.dealer = table, features, seed, dealer
        #: Set from outside where others failed or Ctrl-C came.
        self.stopped = False
        self.noise_rate = 1.0 / (self.noise_shape * max(float(np.var(table.values)), 1e-4))
        rows = table.rows
        self.seen_users, self.seen_items = rows.counts > 0, table.columns.counts > 0
        self.mass = rows.counts.astype(np.float64)
        if rows.weights.size:
            self.mass = np.bincount(rows.owners(0, len(self.mass)), rows.weights, len(self.mass)).astype(np.float64)
        if self.unobserved:
            self.seen_users, self.seen_items = np.ones_like(self.seen_users), np.ones_like(self.seen_items)
            self.mass = self.mass + self.unobserved * (table.n_items - rows.counts)

    def run(self, sweeps: range) -> list[Sample]:
        """Go through some sweeps; return the models of those that the plan keeps."""
        kept = []
        for index in sweeps:
            self.state = self.sweep(self.state, index, learning=self.plan.learns(index))
            if self.plan.keeps(index):
                kept.append(self.sample(self.state))
        return kept

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psis, thetas and what answers have of their own, each given the rest.

        While `learning`, the priors of theta and psi are drawn too.
        """
        self.check()
        rng, kind, levels = generator(self.seed, PRIORS, index), self.kind, self.levels
        rows, columns = self.hidden_ratings(state, index) if kind.hidden else self.views
        prior = (state.psi_prior.centre, state.psi_prior.precision)
        draw = kind.psis(columns, state.theta, state.noise, prior, ROUNDS)
        costs = (_LEVEL_COST * self.n_events, 2 * len(levels))
        psi: Floats = levels[self._drawn(draw, nearest(state.psi, levels), columns, index, ITEM_SIDE, costs)]

        draw = kind.thetas(rows, psi, state.noise, state.theta_prior.pull)
        theta = self._drawn(draw, state.theta, rows, index, USER_SIDE, (self.n_events**2, _THETA_COST))

        state = replace(state, theta=theta, psi=psi)
        if not kind.hidden:
            residual = self.residuals(theta, psi, rows)
            noise = redrawn_noise(state.scale, state.shape, residual, self.mass, rng)
            rate = self.noise_rate * self.noise_shape / state.shape
            sums = float(np.log(noise).sum()), float((1.0 / noise).sum())
            scale, shape = redrawn_noise_prior(state.shape, rate, noise.size, *sums, rng)
            state = replace(state, noise=noise, scale=scale, shape=shape)
        if learning:
            theta_prior = state.theta_prior.fitted(theta, self.seen_users).stepped(theta, self.seen_users, rng)
            psi_prior = state.psi_prior.learned(psi, self.seen_items, kind.psi_variance, rng)
            state = replace(state, theta_prior=theta_prior, psi_prior=psi_prior)
        return state

    def check(self) -> None:
        """Raise an error where a table that is a file has changed, and end where nobody waits for the chain."""
        self.observations.rows.check_intact()
        if self.stopped:
            raise KeyboardInterrupt

    @property
    def views(self) -> tuple[View, View]:
        """The table by users and by items."""
        return self.observations.rows, self.observations.columns

    def hidden_ratings(self, state: ChainState, index: int) -> tuple[View, View]:
        """Draw the ratings behind all answers; return them by users and by items."""
        rows, columns = self.views
        ratings, seeds = np.empty(rows.values.size), self.row_seeds(index, HIDDEN + USER_SIDE)

        def share(first: int, last: int) -> None:
            draw_hidden(*entries(rows), state.theta, state.psi, seeds[first:last], first, last, ratings)

        self.deal(share, rows, _ANSWER_COST + self.n_events)
        return rows.with_values(ratings), columns.with_values(ratings[self.by_items])

    def _drawn(
        self, draw: Callable[..., None], now: NDArray[Any], view: View, index: int, side: int, costs: tuple[int, int]
    ) -> NDArray[Any]:
        """Draw all rows of a side, on all threads."""
        fresh, seeds = np.empty_like(now), self.row_seeds(index, side)
        self.deal(lambda first, last: draw(now, seeds[first:last], first, last, fresh), view, *costs)
        return fresh

    def deal(self, share: Callable[[int, int], None], view: View, *costs: int) -> None:
        """Go through the rows of a side of the table, on all threads."""
        self.dealer.deal(share, len(view.indptr) - 1, 1, view.indptr, *costs)

    def row_seeds(self, index: int, side: int) -> NDArray[np.uint64]:
        """Return the seeds of all items in a sweep, or of all users, for whom there are several streams."""
        n_rows = self.observations.n_items if side == ITEM_SIDE else self.observations.n_users
        return row_seeds(self.seed, index, side, np.arange(n_rows))

    def residuals(self, theta: Floats, psi: Floats, rows: View) -> Floats:
        """Return each user's residual sum of squares, of answers not given by their weight."""
        squares = np.empty(len(theta))
        self.deal(lambda *some: residual_squares(*entries(rows), theta, psi, *some, squares), rows, 16 * self.n_events)
        if self.unobserved:
            said = np.empty(len(theta))
            nothing = (rows.indptr, rows.indices, np.zeros_like(rows.values), np.empty(0))
            residual_squares(*nothing, theta, psi, 0, len(theta), said)
            squares = squares + self.unobserved * np.maximum(((theta @ (psi.T @ psi)) * theta).sum(axis=1) - said, 0.0)
        return squares

    def sample(self, state: ChainState) -> Sample:
        """Return the model of a state, with the usual deviation of the noise where that is drawn, and its shape."""
        numbers = {"concentration": state.theta_prior.concentration}
        if not self.kind.hidden:
            numbers |= {"noise": math.sqrt(state.scale / state.shape), "noise_shape": state.shape}
        return Sample(on_grid(state.theta), state.psi.astype(np.float32), state.noise.astype(np.float32), numbers)

    def first_theta_prior(self, concentration: float = CONCENTRATION) -> ThetaPrior:
        """Return the prior of theta before anything is learned."""
        beside = {"blocks": self.features.user_blocks, "only_yes": self.unobserved > 0.0}
        return ThetaPrior.start(self.features.users, self.n_events, concentration, **beside)

    def first_psi_prior(self, mean: float) -> PsiPrior:
        """Return the prior of psi before anything is learned."""
        return PsiPrior.start(self.features.items, self.n_events, mean, self.features.item_blocks)

    @cached_property
    def by_items(self) -> NDArray[Any]:
        """Where the entries by items stand among those by users."""
        return counting_order(self.observations.rows.indices, self.observations.n_items)


@dataclass(frozen=True, eq=False)
class ChainSource:
    """What chains of a fit are made of: a plan, a table, what is known of its users and items, and a seed."""

    plan: Plan
    table: Observations
    features: Features
    seed: int

    def chain(self, number: int, dealer: Threads) -> Chain:
        """Make a chain. Chains of one seed must not share streams with those of the next."""
        return Chain(self.plan, self.table, self.features, (self.seed * 1_000_003 + number) % 2**63, dealer)
