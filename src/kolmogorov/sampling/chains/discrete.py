"""Chains over models of yes and no: each answer comes from an event of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.fitted.emission import Emission
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.draws.emissions import draw_emissions, draw_emitted
from kolmogorov.sampling.chains.chain import LEVEL_COST, PRIORS, Chain, Codes
from kolmogorov.sampling.chains.dirichlet import redrawn_alpha
from kolmogorov.sampling.chains.state import ChainState

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
    def positions(self) -> Floats:
        """Where the levels stand in the items' normal prior: of chances, by their log odds."""
        return self.emission.position

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta: the sum of its Dirichlet prior's parameters."""
        return {"concentration": float(state.alpha.sum())}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psis with the events summed out, then events and thetas, then the priors."""
        self.observations.rows.check_intact()
        rng = generator(self.seed, PRIORS, index)
        fresh = self._psis(state, index)
        theta = self._thetas(state, fresh, index)
        alpha = state.alpha
        # At first users are alike because events are; learned from that, alpha would keep them so.
        if not learning or index > HELD:
            fixed = self.concentration is not None
            alpha = redrawn_alpha(alpha, theta[self.seen_users], rng, total_fixed=fixed)
        prior = state.psi_prior
        if learning:
            prior = prior.learned(self.emission.position[fresh], self.seen_items, self.psi_variance, rng)
        return replace(state, theta=theta, psi=self.decoded(fresh), psi_prior=prior, alpha=alpha)

    def _psis(self, state: ChainState, index: int) -> Codes:
        columns, answers, emission = self.observations.columns, self._by_columns, self.emission
        codes = self.codes(state.psi)
        fresh, seeds = np.empty_like(codes), self.row_seeds(index, ITEM_SIDE)
        normal = (state.psi_prior.centre, state.psi_prior.precision)
        table = (columns.indptr, columns.indices, answers, columns.weights)
        given = (state.theta, codes, emission.chances, emission.position, *normal)

        def share(first: int, last: int) -> None:
            draw_emissions(*table, *given, seeds[first:last], first, last, fresh)

        cost = self.n_events * len(self.levels)
        self.dealer.deal(share, len(codes), 1, columns.indptr, LEVEL_COST * cost)
        return fresh

    def _thetas(self, state: ChainState, codes: Codes, index: int) -> Floats:
        rows, emission, now = self.observations.rows, self.emission, state.theta
        theta, seeds = np.empty_like(now), self.row_seeds(index, USER_SIDE)
        table = (rows.indptr, rows.indices, self._by_rows, rows.weights)

        def share(first: int, last: int) -> None:
            given = (codes, emission.chances, now, state.alpha, seeds[first:last])
            draw_emitted(*table, *given, first, last, theta)

        self.dealer.deal(share, len(theta), 1, rows.indptr, LEVEL_COST * self.n_events)
        return theta
