"""Chains over models of answers, yes and no or one of a few ratings: each comes from an event of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov.fitted.emission import Emission
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.draws.emissions import draw_emissions, draw_emitted
from kolmogorov.kernels.draws.slices import draw_sliced
from kolmogorov.sampling.chains.chain import LEVEL_COST, PRIORS, USER_ROUNDS, Chain
from kolmogorov.sampling.chains.state import ChainState
from kolmogorov.sampling.priors.dirichlet import redrawn_alpha

#: Sweeps in which the Dirichlet prior of theta stays as it starts. By judgement.
HELD = 30


class DiscreteChain(Chain):
    """Answers are one of a few: an event is drawn from theta_u, and in it the item's level gives each its chance."""

    prior_names = ("concentration",)

    def __init__(self, *given: Any, emission: Emission, **options: Any) -> None:
        super().__init__(*given, **options)
        self.emission = emission
        self._by_rows, self._by_columns = (
            emission.codes(view.values) for view in (self.observations.rows, self.observations.columns)
        )

    @property
    def from_factors(self) -> bool:
        """Where levels lie beyond chances, as far as factors do."""
        return bool(self.emission.beyond)

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta: the sum of its Dirichlet prior's parameters."""
        return {"concentration": float(state.alpha.sum())}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psis with the events summed out, then events and thetas or thetas alone, then the priors."""
        self.observations.rows.check_intact()
        rng = generator(self.seed, PRIORS, index)
        rows, columns, emission = self.observations.rows, self.observations.columns, self.emission
        codes = self.codes(state.psi)
        fresh, theta = np.empty_like(codes), np.empty_like(state.theta)
        normal = (state.psi_prior.centre, state.psi_prior.precision)
        item_seeds, user_seeds = self.row_seeds(index, ITEM_SIDE), self.row_seeds(index, USER_SIDE)

        def item_share(first: int, last: int) -> None:
            table = (columns.indptr, columns.indices, self._by_columns, columns.weights)
            given = (state.theta, codes, emission.chances, emission.least, emission.position, *normal)
            draw_emissions(*table, *given, item_seeds[first:last], first, last, fresh)

        def user_share(first: int, last: int) -> None:
            table = (rows.indptr, rows.indices, self._by_rows, rows.weights)
            seeds = user_seeds[first:last]
            if emission.beyond:
                given = (fresh, emission.chances, emission.least, state.theta, state.alpha, USER_ROUNDS)
                draw_sliced(*table, *given, seeds, first, last, theta)
            else:
                draw_emitted(*table, fresh, emission.chances, state.theta, state.alpha, seeds, first, last, theta)

        cost = self.n_events * len(self.levels)
        self.dealer.deal(item_share, len(codes), 1, columns.indptr, LEVEL_COST * cost)
        self.dealer.deal(user_share, len(theta), 1, rows.indptr, LEVEL_COST * self.n_events)
        alpha = state.alpha
        # At first users are alike because events are; learned from that, alpha would keep them so.
        if not learning or index > HELD:
            fixed = self.concentration is not None
            alpha = redrawn_alpha(alpha, theta[self.seen_users], rng, total_fixed=fixed)
        prior = state.psi_prior
        if learning:
            prior = prior.learned(emission.position[fresh], self.seen_items, self.psi_variance, rng)
        return replace(state, theta=theta, psi=self.decoded(fresh), psi_prior=prior, alpha=alpha)
