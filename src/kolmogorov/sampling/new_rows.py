"""Users and items that were not there when chains were run: drawn given each draw, and averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import View
from kolmogorov.execution import Threads
from kolmogorov.fitting.equations import Partners
from kolmogorov.fitting.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.draws.gibbs import draw_answers, draw_bits, draw_events
from kolmogorov.sampling.posterior import Posterior
from kolmogorov.solvers.samplers import SimplexSampler

#: Sweeps over a new row for each draw, and how many of the last are averaged.
_SWEEPS, _LAST = 12, 8
#: Rounds over the bits of a new item.
_ROUNDS = 12


def new_thetas(posterior: Posterior, view: View, n_jobs: int | None) -> Floats:
    """Return thetas for the rows of `view`, whose partners are the model's items: all draws side by side.

    For each draw a row is drawn some times given that draw's psis, and the mean of the last ones is taken. A row
    without entries gets the population's.
    """
    parts = []
    with one_blas_thread(), Threads(n_jobs) as dealer:
        for k in range(posterior.n_draws):
            population = posterior.theta[k, posterior.user_seen].mean(axis=0, dtype=np.float64)
            make = _yes_no_thetas if posterior.likelihood == "bernoulli" else _noisy_thetas
            theta = make(posterior, k, view, population, dealer)
            theta[view.counts == 0] = population / population.sum()
            parts.append(theta / posterior.n_draws)
    return np.concatenate(parts, axis=1)


def _noisy_thetas(posterior: Posterior, k: int, view: View, population: Floats, dealer: Threads) -> Floats:
    psi = posterior.psi[k].astype(np.float64)
    precision = np.full(view.counts.size, 1.0 / float(posterior.noise[k].mean()))
    pull = concentration(posterior, k, population)
    partners, view, weights = Partners.with_precision(psi, view, precision)
    total = np.zeros((precision.size, psi.shape[1]))

    def share(first: int, last: int) -> None:
        gram, moment = partners.equations(view, first, last, pull, np.zeros_like(population), weights)
        theta = np.tile(population, (last - first, 1))
        for sweep in range(_SWEEPS):
            seeds = _seeds(k, sweep, USER_SIDE, last - first)
            theta = SimplexSampler().solve_batch(gram, moment + pull * population, theta, seeds)
            if sweep >= _SWEEPS - _LAST:
                total[first:last] += theta / _LAST

    dealer.deal(share, precision.size, psi.shape[1] ** 2)
    return total


def _yes_no_thetas(posterior: Posterior, k: int, view: View, population: Floats, dealer: Threads) -> Floats:
    psi = posterior.psi[k].astype(np.float64)
    alpha = concentration(posterior, k, population) * population
    total = np.zeros((view.counts.size, psi.shape[1]))
    table = (view.indptr, view.indices, view.values, view.weights)

    def share(first: int, last: int) -> None:
        theta, out = np.tile(population, (len(total), 1)), np.empty_like(total)
        for sweep in range(_SWEEPS):
            seeds = _seeds(k, sweep, USER_SIDE, last - first)
            draw_events(*table, psi, theta, alpha, posterior.floor, seeds, first, last, out)
            theta[first:last] = out[first:last]
            if sweep >= _SWEEPS - _LAST:
                total[first:last] += theta[first:last] / _LAST

    dealer.deal(share, len(total), psi.shape[1] ** 2)
    return total


def _seeds(draw: int, sweep: int, side: int, n: int) -> NDArray[np.uint64]:
    """Return the same seed for every row: where a new row stands among others must not matter."""
    return np.repeat(row_seeds(draw, sweep, side, np.zeros(1, dtype=np.int64)), n)


def concentration(posterior: Posterior, k: int, population: Floats) -> float:
    """Return how tightly a draw's thetas lie around the population: what was drawn, or what their spread suggests."""
    if "concentration" in posterior.priors:
        return float(posterior.priors["concentration"][k])
    theta = posterior.theta[k, posterior.user_seen].astype(np.float64)
    distance = float(((theta - population) ** 2).sum(axis=1).mean())
    return float(np.clip((population.size - 1) / max(distance, 1e-9), 1.0, 300.0))


def new_psis(posterior: Posterior, view: View) -> NDArray[Any]:
    """Return psis for the rows of `view`, whose partners are the model's users: all draws side by side.

    Before its ratings are looked at, a new item happens in an event as often as the items known do.
    """
    parts = []
    table = (view.indptr, view.indices, view.values, view.weights)
    n = view.counts.size
    with one_blas_thread():
        for k in range(posterior.n_draws):
            theta = np.ascontiguousarray(posterior.theta[k], dtype=np.float64)
            frequency = np.clip(posterior.psi[k, posterior.item_seen].mean(axis=0), 0.01, 0.99)
            logit = np.tile(np.log(frequency) - np.log1p(-frequency), (n, 1))
            start = np.tile((frequency > 0.5).astype(np.float64), (n, 1))
            psi = np.empty_like(start)
            if posterior.likelihood == "bernoulli":
                for sweep in range(_ROUNDS):
                    seeds = _seeds(k, sweep, ITEM_SIDE, n)
                    draw_answers(*table, theta, start, logit, posterior.floor, seeds, 0, n, psi)
                    start, psi = psi, start
                psi = start
            else:
                precision = 1.0 / posterior.noise[k].astype(np.float64)
                draw_bits(*table, precision, theta, start, logit, _ROUNDS, _seeds(k, 0, ITEM_SIDE, n), 0, n, psi)
            parts.append(psi > 0.5)
    return np.concatenate(parts, axis=1)
