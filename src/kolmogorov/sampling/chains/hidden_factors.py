"""Factors of ratings that are hidden behind yes and no, as far from the line between them as answers are sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.kernels.draws.hidden import NOISE, draw_hidden
from kolmogorov.kernels.rows.products import residual_squares
from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.factors import FactorChain, Share
from kolmogorov.sampling.chains.probit import HIDDEN

#: The rating between no and yes.
_LINE = 0.5
#: The least that a stretch is divided by: an item without answers may stand on the line.
_LEAST = 1e-6


class HiddenFactorChain(FactorChain):
    """Factors for the start of a `ProbitChain`: ratings are drawn, then stretched, then explained by factors.

    Given factors a rating is drawn near them, and given ratings factors are drawn near those: where answers are sure,
    both together leave the line in steps that are far too small. So each item's ratings and values are also stretched
    away from it in one go, by a number drawn from its own conditional distribution (Liu and Sabatti 2000).
    """

    #: Items to which answers are sure take their time. By judgement, on the yes/no tables of `benchmarks/planted.py`.
    n_sweeps = 100

    def __init__(self, chain: Chain, rng: np.random.Generator) -> None:
        super().__init__(chain, rng)
        # As wide a prior as that of psi: the factors of users become moves of a D-th of the simplex.
        self._variance = chain.psi_variance / chain.n_events**2
        self._told, self._told_rows = self.columns, self.rows
        self._by_items = chain.by_items
        self._ratings, self._left_by_item = np.empty(self.columns.values.size), np.empty(len(self.columns.counts))
        self.factors = replace(self.factors, items=self.factors.prior.centre, noise=NOISE)

    def draw_answers(self, index: int) -> Share:
        """Begin to draw the rating behind each answer, and to sum the squares of what factors leave of them."""
        view, now = self._told, self.factors
        self._ratings = ratings = np.empty_like(self._ratings)
        seeds = row_seeds(self._seed, index, HIDDEN, np.arange(len(now.items)))
        given = (view.indptr, view.indices, view.values, view.weights, now.items, now.users)
        drawn = (view.indptr, view.indices, ratings, view.weights, now.items, now.users)

        def share(first: int, last: int) -> None:
            draw_hidden(*given, seeds[first:last], first, last, ratings)
            residual_squares(*drawn, first, last, self._left_by_item)

        return share

    def take_answers(self) -> None:
        """Stretch ratings and items; put the ratings in the order of users too."""
        stretch, columns, rows = self.drawn_stretch(), self._told, self._told_rows
        items = self.factors.items * stretch[:, None]
        items[:, 0] += _LINE * (1.0 - stretch)
        self.factors = replace(self.factors, items=items)
        ratings = _LINE + (self._ratings - _LINE) * np.repeat(stretch, columns.counts)
        by_users = np.empty_like(ratings)
        by_users[self._by_items] = ratings
        self.columns = View(columns.indptr, columns.indices, ratings, columns.weights)
        self.rows = View(rows.indptr, rows.indices, by_users, rows.weights)

    def drawn_stretch(self) -> Floats:
        """Draw how far each item is stretched away from the line, with its ratings.

        The log of a stretch g has the density g^n exp(slope g - square g^2 / 2), with n the numbers that are stretched:
        next to a normal one around its mode.
        """
        prior = self.factors.prior
        apart, centre = (_from_line(places) for places in (self.factors.items, prior.centre))
        pulled = apart @ prior.precision
        square = np.maximum(self._left_by_item / NOISE + (pulled * apart).sum(axis=1), _LEAST)
        slope, n = (pulled * centre).sum(axis=1), self._told.counts + apart.shape[1]
        mode = (slope + np.sqrt(slope * slope + 4.0 * square * n)) / (2.0 * square)
        drawn: Floats = mode * np.exp(self._rng.standard_normal(len(mode)) / np.sqrt(square * mode * mode + n))
        return drawn

    def drawn_noise(self, rng: np.random.Generator) -> float:
        """Leave the noise as it is: what is hidden has no scale of its own."""
        return NOISE


def _from_line(items: Floats) -> Floats:
    """Return the factors of items whose products are ratings counted from the line; those of users begin with a 1."""
    apart = items.copy()
    apart[:, 0] -= _LINE
    return apart
