"""Chains over models of ratings whose users have moods: what a sitting has in common beside what a model says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.errors import DataError
from kolmogorov.kernels.draws.moods import draw_moods, mood_densities, remaining
from kolmogorov.sampling.chains.gaussian import GaussianChain
from kolmogorov.sampling.chains.state import ChainState
from kolmogorov.sampling.priors.moods import MoodPrior

#: The random stream of moods, beside those of users, items, the start and the priors.
MOODS = 4
#: What a filter takes for an answer, in multiplications; how rows are dealt to threads, no result.
_FILTER_COST = 64


class MoodChain(GaussianChain):
    """Answers are theta_u . psi_i plus the user's mood at that time plus normal noise.

    A mood is an Ornstein-Uhlenbeck process; its variance and its half-life, the same for all, are drawn with the moods
    summed out, then the moods given them. A sweep begins with that: nothing but the two numbers outlives it.
    """

    prior_names = (*GaussianChain.prior_names, "mood", "half_life")

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        rows = self.observations.rows
        when = self.observations.times
        if when is None:
            raise DataError("A model with moods needs times.")
        # Answers of one moment have one mood: their mean stands for them.
        owners = rows.owners(0, len(self.mass))
        order = np.lexsort((when, owners))
        owner, time = owners[order], when[order]
        first = np.append(True, (owner[1:] != owner[:-1]) | (time[1:] != time[:-1]))
        #: The moment of each entry; when they are, by users, and how much they weigh.
        self._moments = np.empty(order.size, dtype=np.int64)
        self._moments[order] = np.cumsum(first) - 1
        self._times = time[first]
        self._indptr = np.searchsorted(owner[first], np.arange(len(self.mass) + 1))
        self._heavy = np.bincount(self._moments, weights=rows.weights if rows.weights.size else None).astype(np.float64)
        self.mood_prior = MoodPrior.of(self._times, self._indptr, float(np.var(rows.values)))

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return also the deviation of moods, and their half-life in the unit of the times."""
        return super().priors(state) | {"mood": math.sqrt(state.mood), "half_life": state.half_life}

    def answers(self, state: ChainState, index: int) -> tuple[ChainState, View, View]:
        """Draw the variance and the half-life of moods, then moods; return what they leave of the answers."""
        rows, columns = self.observations.rows, self.observations.columns
        left = np.zeros(len(self._times))
        given = (rows.indptr, rows.indices, rows.values, rows.weights, state.theta, state.psi)
        self.dealer.deal(
            lambda first, last: remaining(*given, self._moments, self._heavy, first, last, left),
            len(self.mass),
            1,
            rows.indptr,
            self.n_events,
        )
        rng, now = generator(self.seed, MOODS, index), (state.mood, state.half_life)
        variance, half_life = self.mood_prior.redrawn(
            now if state.mood else self.mood_prior.middle, lambda *asked: self._density(left, state.noise, *asked), rng
        )
        drawn, seeds = np.empty_like(left), row_seeds(self.seed, index, MOODS, np.arange(len(self.mass)))
        told = (self._indptr, left, self._times, self._heavy, state.noise, variance, half_life)
        self._filter(lambda first, last: draw_moods(*told, seeds[first:last], first, last, drawn))
        values = rows.values - drawn[self._moments]
        state = replace(state, mood=variance, half_life=half_life)
        by_items = View(columns.indptr, columns.indices, values[self.by_items], columns.weights)
        return state, View(rows.indptr, rows.indices, values, rows.weights), by_items

    def _density(self, left: Floats, noise: Floats, variance: float, half_life: float) -> float:
        """Return the log density of the answers but for what neither number changes."""
        found = np.empty(len(noise))
        given = (self._indptr, left, self._times, self._heavy, noise, variance, half_life)
        self._filter(lambda first, last: mood_densities(*given, first, last, found))
        return float(found.sum())

    def _filter(self, share: Callable[[int, int], None]) -> None:
        self.dealer.deal(share, len(self.mass), 1, self._indptr, _FILTER_COST)
