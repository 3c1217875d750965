"""Users and items that were not there when chains were run: drawn given each draw, and averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import mixed, row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.chain import USER_ROUNDS, Codes, psi_variance
from kolmogorov.draws.emission import CHANCES, POSITION
from kolmogorov.draws.emission_kernels import draw_emissions, settle_emitted
from kolmogorov.draws.gaussian import corrected, prior_with_noes
from kolmogorov.draws.gaussian_kernels import draw_psis, draw_thetas
from kolmogorov.draws.hidden import draw_hidden
from kolmogorov.draws.levels import nearest
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.priors import usual_precision

#: Sweeps over a new row for each draw, and how many of the last are averaged. By judgement.
_SWEEPS, _LAST = 12, 8
#: The same where an event is drawn for every answer: from one event to another there is a longer way. By judgement.
_ANSWER_SWEEPS, _LAST_ANSWERS = 120, 80
#: Rounds over the levels of a new item. By judgement.
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
            noisy, hidden = posterior.likelihood == "gaussian", posterior.hidden
            make = _noisy_thetas if noisy else _hiding_thetas if hidden else _answering_thetas
            theta = make(posterior, k, view, population, dealer)
            theta[view.counts == 0] = population / population.sum()
            parts.append(theta / posterior.n_draws)
    return np.concatenate(parts, axis=1)


def _noisy_thetas(posterior: Posterior, k: int, view: View, population: Floats, dealer: Threads) -> Floats:
    n = view.counts.size
    precision = np.full(n, 1.0 / (float(posterior.noise[k].mean())))
    psi = posterior.psi[k].astype(np.float64)
    whole = posterior.unobserved * psi.T @ psi if posterior.unobserved else np.empty((0, 0))
    given = (*corrected(view, posterior.unobserved), precision, psi, whole)
    prior = (concentration(posterior, k, population), np.tile(population, (n, 1)), USER_ROUNDS)
    return _averaged(lambda theta, *rows: draw_thetas(*given, theta, *prior, *rows), k, n, population, dealer)


def _hiding_thetas(posterior: Posterior, k: int, view: View, population: Floats, dealer: Threads) -> Floats:
    n = view.counts.size
    psi = posterior.psi[k].astype(np.float64)
    prior = (concentration(posterior, k, population), np.tile(population, (n, 1)), USER_ROUNDS)
    given = (np.full(n, 1.0 / NOISE), psi, np.empty((0, 0)))
    ratings = np.empty(view.values.size)

    def sweep(theta: Floats, seeds: NDArray[np.uint64], first: int, last: int, out: Floats) -> None:
        draw_hidden(*_entries(view), theta, psi, mixed(seeds), first, last, ratings)
        table = (view.indptr, view.indices, ratings, view.weights)
        draw_thetas(*table, *given, theta, *prior, seeds, first, last, out)

    return _averaged(sweep, k, n, population, dealer)


def _answering_thetas(posterior: Posterior, k: int, view: View, population: Floats, dealer: Threads) -> Floats:
    alpha = concentration(posterior, k, population) * population
    table = (view.indptr, view.indices, (view.values > 0.5).astype(np.uint8), view.weights)
    codes = _codes(posterior, k)
    seeds = row_seeds(k, 0, USER_SIDE, np.arange(_ANSWER_SWEEPS))
    theta = np.tile(population, (view.counts.size, 1))
    found = np.empty_like(theta)

    def share(first: int, last: int) -> None:
        settle_emitted(*table, codes, CHANCES, theta, alpha, seeds, _LAST_ANSWERS, first, last, found)

    dealer.deal(share, len(theta), 1, view.indptr, 16 * _ANSWER_SWEEPS * population.size)
    return found


def _averaged(sweep: Any, k: int, n: int, population: Floats, dealer: Threads) -> Floats:
    """Draw rows again and again from the population on; return the mean of the last draws."""
    total = np.zeros((n, population.size))

    def share(first: int, last: int) -> None:
        theta, out = np.tile(population, (n, 1)), np.empty_like(total)
        for index in range(_SWEEPS):
            sweep(theta, _seeds(k, index, USER_SIDE, last - first), first, last, out)
            theta[first:last] = out[first:last]
            if index >= _SWEEPS - _LAST:
                total[first:last] += theta[first:last] / _LAST

    dealer.deal(share, n, population.size**2)
    return total


def _seeds(draw: int, sweep: int, side: int, n: int) -> NDArray[np.uint64]:
    """Return the same seed for every row: where a new row stands among others must not matter."""
    return np.repeat(row_seeds(draw, sweep, side, np.zeros(1, dtype=np.int64)), n)


def _entries(view: View) -> tuple[Any, ...]:
    return view.indptr, view.indices, view.values, view.weights


def _codes(posterior: Posterior, k: int) -> NDArray[np.uint8]:
    return nearest(posterior.psi[k], posterior.levels)


def concentration(posterior: Posterior, k: int, population: Floats) -> float:
    """Return how tightly a draw's thetas lie around the population: what was drawn, or what their spread suggests."""
    if "concentration" in posterior.priors:
        return float(posterior.priors["concentration"][k])
    theta = posterior.theta[k, posterior.user_seen].astype(np.float64)
    distance = float(((theta - population) ** 2).sum(axis=1).mean())
    return float(np.clip((population.size - 1) / max(distance, 1e-9), 1.0, 300.0))


def new_psis(posterior: Posterior, view: View) -> NDArray[Any]:
    """Return psis for the rows of `view`, whose partners are the model's users: all draws side by side.

    Before its ratings are looked at, a new item is what the items known are on average.
    """
    with one_blas_thread():
        return np.concatenate([_new_psis(posterior, view, k) for k in range(posterior.n_draws)], axis=1)


def _new_psis(posterior: Posterior, view: View, k: int) -> NDArray[Any]:
    """Draw psis around the mean item of the draw, as far off as its items are from it."""
    n = view.counts.size
    noisy, hidden = posterior.likelihood == "gaussian", posterior.hidden
    position = posterior.levels if noisy or hidden else POSITION
    known = position[_codes(posterior, k)[posterior.item_seen]]
    usual = psi_variance(noisy=noisy and not posterior.unobserved, hidden=hidden)
    prior = (np.tile(known.mean(axis=0), (n, 1)), usual_precision(known - known.mean(axis=0), usual))
    make = _noisy_psis if noisy else _hiding_psis if hidden else _answering_psis
    return posterior.levels[make(posterior, k, view, nearest(prior[0], position), prior)].astype(np.float32)


def _noisy_psis(posterior: Posterior, k: int, view: View, start: Codes, prior: tuple[Floats, Floats]) -> Codes:
    n, theta = view.counts.size, _theta(posterior, k)
    precision = 1.0 / posterior.noise[k].astype(np.float64)
    if posterior.unobserved:
        prior = prior_with_noes(*prior, posterior.unobserved * (precision * theta.T) @ theta)
    table, given = corrected(view, posterior.unobserved), (precision, theta, start, posterior.levels, *prior, _ROUNDS)
    fresh = np.empty_like(start)
    draw_psis(*table, *given, _seeds(k, 0, ITEM_SIDE, n), 0, n, fresh)
    return fresh


def _hiding_psis(posterior: Posterior, k: int, view: View, start: Codes, prior: tuple[Floats, Floats]) -> Codes:
    theta, levels, ratings = _theta(posterior, k), posterior.levels, np.empty(view.values.size)
    known = (np.full(len(theta), 1.0 / NOISE), theta)

    def sweep(codes: Codes, seeds: NDArray[np.uint64], last: int, out: Codes) -> None:
        draw_hidden(*_entries(view), levels[codes], theta, mixed(seeds), 0, last, ratings)
        table = (view.indptr, view.indices, ratings, view.weights)
        draw_psis(*table, *known, codes, levels, *prior, 1, seeds, 0, last, out)

    return _settled(sweep, k, start)


def _answering_psis(posterior: Posterior, k: int, view: View, start: Codes, prior: tuple[Floats, Floats]) -> Codes:
    theta, given = _theta(posterior, k), (CHANCES, POSITION, *prior)
    answers = (view.indptr, view.indices, (view.values > 0.5).astype(np.uint8), view.weights)

    def sweep(codes: Codes, seeds: NDArray[np.uint64], last: int, out: Codes) -> None:
        draw_emissions(*answers, theta, codes, *given, seeds, 0, last, out)

    return _settled(sweep, k, start)


def _settled(sweep: Any, k: int, codes: Codes) -> Codes:
    """Draw items again and again; return the last draws."""
    fresh = np.empty_like(codes)
    for index in range(_ROUNDS):
        sweep(codes, _seeds(k, index, ITEM_SIDE, len(codes)), len(codes), fresh)
        codes, fresh = fresh, codes
    return codes


def _theta(posterior: Posterior, k: int) -> Floats:
    return np.ascontiguousarray(posterior.theta[k], dtype=np.float64)
