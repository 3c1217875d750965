"""Chains over models of yes and no: a yes is a hidden rating, what a model says plus normal noise, above one half."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.fitting.descent.half_step import USER_SIDE
from kolmogorov.kernels.draws.hidden import NOISE, draw_hidden
from kolmogorov.sampling.chains.chain import Part, psi_variance
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
        columns = self.observations.columns
        rows = self._hidden(self.observations.rows, state.theta, state.psi, self._seeds(index, USER_SIDE))
        values = rows.values[self.by_items]
        state = replace(state, noise=np.full(len(state.theta), NOISE))
        return state, rows, View(columns.indptr, columns.indices, values, columns.weights)

    def told(self, part: Part, own: Floats, others: Floats, index: int, side: int) -> Part:
        """Draw the ratings behind the answers of some rows."""
        return replace(part, view=self._hidden(part.view, own[part.rows], others, self._seeds(index, side)[part.rows]))

    def _seeds(self, index: int, side: int) -> NDArray[np.uint64]:
        n_rows = self.observations.n_users if side == USER_SIDE else self.observations.n_items
        return row_seeds(self.seed, index, HIDDEN + side, np.arange(n_rows))

    def _hidden(self, view: View, own: Floats, others: Floats, seeds: NDArray[np.uint64]) -> View:
        values = np.empty(view.values.size)
        given = (view.indptr, view.indices, view.values, view.weights, own, others)

        def share(first: int, last: int) -> None:
            draw_hidden(*given, seeds[first:last], first, last, values)

        self.dealer.deal(share, len(own), 1, view.indptr, _COST + self.n_events)
        return View(view.indptr, view.indices, values, view.weights)

    def noise_redrawn(self, state: ChainState, rows: View, rng: np.random.Generator) -> ChainState:
        """Leave the noise as it is: what is hidden has no scale of its own."""
        return state
