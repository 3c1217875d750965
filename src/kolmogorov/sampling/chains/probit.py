"""Chains over models of yes and no: a yes is a hidden rating, what a model says plus normal noise, above one half."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support.seeds import row_seeds
from kolmogorov.data.entries.view import View
from kolmogorov.fitting.descent.half_step import USER_SIDE
from kolmogorov.kernels.draws.hidden import NOISE, draw_hidden
from kolmogorov.sampling.chains.chain import psi_variance
from kolmogorov.sampling.chains.gaussian import GaussianChain
from kolmogorov.sampling.chains.state import ChainState

#: The first random stream of hidden ratings, by users; the next are those by items. Beside those of users, items, the
#: start and the priors.
HIDDEN = 5
#: What the draw of a hidden rating takes, in multiplications; how rows are dealt to threads, no result.
_COST = 64


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

        self.dealer.deal(share, n_users, 1, rows.indptr, _COST + self.n_events)
        by_items = View(columns.indptr, columns.indices, ratings[self.by_items], columns.weights)
        state = replace(state, noise=np.full(n_users, NOISE))
        return state, View(rows.indptr, rows.indices, ratings, rows.weights), by_items

    def noise_redrawn(self, state: ChainState, rows: View, rng: np.random.Generator) -> ChainState:
        """Leave the noise as it is: what is hidden has no scale of its own."""
        return state
