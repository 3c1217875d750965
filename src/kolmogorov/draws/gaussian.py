"""Chains over models of ratings, what a model says and normal noise around it, and of yes and no, where these hide."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.chain import LEVEL_COST, PRIORS, USER_ROUNDS, Chain, ChainState, Codes, psi_variance
from kolmogorov.draws.gaussian_kernels import draw_psis, draw_thetas
from kolmogorov.draws.hidden import draw_hidden
from kolmogorov.draws.priors import NoisePrior, redrawn_shape, stepped
from kolmogorov.solvers.products import residual_squares

#: How often a sweep goes over an item's levels. By judgement.
ROUNDS = 2
#: What the moves between a user's events take, in observations; how rows are dealt to threads, no result.
_THETA_COST = 400
#: The first random stream of hidden ratings, by users; the next are those by items. Beside those of users, items, the
#: start and the priors.
HIDDEN = 5
#: What the draw of a hidden rating takes, in multiplications; how rows are dealt to threads, no result.
_HIDDEN_COST = 64


class GaussianChain(Chain):
    """Answers are theta_u . psi_i plus normal noise whose variance depends on the user.

    Every entry that was not observed weighs `unobserved`, below all weights, as an answer of 0.
    """

    prior_names: ClassVar[tuple[str, ...]] = ("concentration", "noise", "noise_shape")

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        unobserved = self.unobserved
        self.psi_variance = psi_variance(noisy=not unobserved)
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
        return {"concentration": state.theta_prior.concentration, "noise": usual, "noise_shape": state.shape}

    def answers(self, state: ChainState, index: int) -> tuple[ChainState, View, View]:
        """Return what psis and thetas are to explain, by users and by items: the answers as they are."""
        return state, self.observations.rows, self.observations.columns

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psis, thetas and noise, each given the rest; and, while `learning`, the priors of both sides."""
        self.observations.rows.check_intact()
        rng = generator(self.seed, PRIORS, index)
        state, rows, columns = self.answers(state, index)
        precision = 1.0 / state.noise
        psi = self.decoded(self._psis(state, precision, index, columns))
        theta = self._thetas(state, psi, precision, index, rows)
        state = self.noise_redrawn(replace(state, theta=theta, psi=psi), rows, rng)
        theta_prior, psi_prior = state.theta_prior, state.psi_prior
        if learning:
            # Where only yes is recorded the pattern is the answers, and would be believed beside them.
            theta_prior = (theta_prior.located if self.unobserved else theta_prior.shrunk)(theta, self.seen_users)
            if self.concentration is None:
                theta_prior = stepped(theta_prior, theta, self.seen_users, rng)
            psi_prior = psi_prior.learned(psi, self.seen_items, self.psi_variance, rng)
        return replace(state, theta_prior=theta_prior, psi_prior=psi_prior)

    def noise_redrawn(self, state: ChainState, rows: View, rng: np.random.Generator) -> ChainState:
        """Draw the variances of the noise, and their prior, given the rest."""
        prior = NoisePrior(state.scale, state.shape, self.noise_rate * self.noise_shape / state.shape)
        noise, prior = prior.redrawn(*self._residuals(state.theta, state.psi, rows), rng)
        shape, scale = redrawn_shape(prior.shape, prior.scale, noise, rng)
        return replace(state, noise=noise, scale=scale, shape=shape)

    def _psis(self, state: ChainState, precision: Floats, index: int, columns: View) -> Codes:
        codes = self.codes(state.psi)
        fresh = np.empty_like(codes)
        pull, centre = state.psi_prior.precision, state.psi_prior.centre
        if self.unobserved:
            noes = self.unobserved * (precision * state.theta.T) @ state.theta
            centre, pull = prior_with_noes(centre, pull, noes)
        table = corrected(columns, self.unobserved)
        given = (precision, state.theta, codes, self.levels, centre, pull, ROUNDS)
        seeds = self.row_seeds(index, ITEM_SIDE)

        def share(first: int, last: int) -> None:
            draw_psis(*table, *given, seeds[first:last], first, last, fresh)

        self.dealer.deal(share, len(codes), 1, columns.indptr, LEVEL_COST * self.n_events, 2 * len(self.levels))
        return fresh

    def _thetas(self, state: ChainState, psi: Floats, precision: Floats, index: int, rows: View) -> Floats:
        prior, now = state.theta_prior, state.theta
        table = corrected(rows, self.unobserved)
        whole = self.unobserved * psi.T @ psi if self.unobserved else np.empty((0, 0))
        given = (precision, psi, whole, now, prior.concentration, prior.centre, USER_ROUNDS)
        theta, seeds = np.empty_like(now), self.row_seeds(index, USER_SIDE)

        def share(first: int, last: int) -> None:
            draw_thetas(*table, *given, seeds[first:last], first, last, theta)

        self.dealer.deal(share, len(theta), 1, rows.indptr, self.n_events * self.n_events, _THETA_COST)
        return theta

    def _residuals(self, theta: Floats, psi: Floats, rows: View) -> tuple[Floats, Floats]:
        """Return each user's residual sum of squares and number of answers, those not given counted by their weight."""
        table = (rows.indptr, rows.indices, rows.values, rows.weights)
        squares = np.empty(len(theta))

        def share(first: int, last: int) -> None:
            residual_squares(*table, theta, psi, first, last, squares)

        self.dealer.deal(share, len(theta), 1, rows.indptr, 16 * self.n_events)
        if self.unobserved:
            said = np.empty(len(theta))
            nothing = (rows.indptr, rows.indices, np.zeros_like(rows.values), np.empty(0))
            residual_squares(*nothing, theta, psi, 0, len(theta), said)
            squares = squares + self.unobserved * np.maximum(((theta @ (psi.T @ psi)) * theta).sum(axis=1) - said, 0.0)
        return squares, self.mass


class ProbitChain(GaussianChain):
    """The chance of a yes is that of a rating above one half: theta_u . psi_i plus normal noise of a fixed variance.

    A sweep draws the ratings behind the answers (Albert and Chib 1993), and then goes over them as over any others.
    """

    prior_names: ClassVar[tuple[str, ...]] = ("concentration",)

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.psi_variance = psi_variance(hidden=True)

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta, fixed after burn-in."""
        return {"concentration": state.theta_prior.concentration}

    def answers(self, state: ChainState, index: int) -> tuple[ChainState, View, View]:
        """Draw the ratings behind all answers."""
        rows, columns = self.observations.rows, self.observations.columns
        n_users, ratings = len(state.theta), np.empty(rows.values.size)
        seeds = row_seeds(self.seed, index, HIDDEN + USER_SIDE, np.arange(n_users))
        given = (rows.indptr, rows.indices, rows.values, rows.weights, state.theta, state.psi)

        def share(first: int, last: int) -> None:
            draw_hidden(*given, seeds[first:last], first, last, ratings)

        self.dealer.deal(share, n_users, 1, rows.indptr, _HIDDEN_COST + self.n_events)
        by_items = View(columns.indptr, columns.indices, ratings[self.by_items], columns.weights)
        state = replace(state, noise=np.full(n_users, NOISE))
        return state, View(rows.indptr, rows.indices, ratings, rows.weights), by_items

    def noise_redrawn(self, state: ChainState, rows: View, rng: np.random.Generator) -> ChainState:
        """Leave the noise as it is: what is hidden has no scale of its own."""
        return state


def prior_with_noes(centre: Floats, pull: Floats, noes: Floats) -> tuple[Floats, Floats]:
    """Return the means and the precision of psis to which everyone said no, a little: one more prior, around 0."""
    both: Floats = pull + noes
    return centre @ pull @ np.linalg.inv(both), both


def corrected(view: View, unobserved: float) -> tuple[Any, ...]:
    """Return a table's arrays: weights without what the whole table already counts, values that make up for it."""
    if not unobserved:
        return view.indptr, view.indices, view.values, view.weights
    weights = view.weights if view.weights.size else np.ones_like(view.values)
    left = weights - unobserved
    return view.indptr, view.indices, view.values * weights / left, left
