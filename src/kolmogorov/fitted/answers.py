"""What draws say of answers: how likely those are that were given, and answers that could have been."""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py, xlogy

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.fitted.emission import chances_of_yes, emission_of
from kolmogorov.fitted.posterior import Posterior


def log_likelihood(posterior: Posterior, users: Rows, items: Rows, answers: Floats) -> Floats:
    """Return the logarithm of the density, or of the probability, of answers in every draw; float64[n_draws, n]."""
    if posterior.likelihood == "categorical":
        emission = emission_of(posterior.likelihood, posterior.levels, posterior.training)
        shares = _shares(posterior, users, items)
        return np.log(np.take_along_axis(shares, emission.codes(answers)[None, :, None], axis=2)[..., 0])
    said = _said(posterior, users, items)
    if posterior.likelihood == "bernoulli":
        chance: Floats = xlogy(answers, said) + xlog1py(1.0 - answers, -said)
        return chance
    deviation = posterior.noise_deviation[:, users]
    density: Floats = -0.5 * ((answers - said) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2.0 * np.pi)
    return density


def replicated(posterior: Posterior, users: Rows, items: Rows, rng: np.random.Generator) -> Floats:
    """Draw an answer from every draw, with its noise; float64[n_draws, n]. Those with normal noise are not cut."""
    if posterior.likelihood == "categorical":
        emission = emission_of(posterior.likelihood, posterior.levels, posterior.training)
        upto = np.cumsum(_shares(posterior, users, items), axis=2)
        chosen = (rng.random(upto.shape[:2])[..., None] * upto[..., -1:] >= upto[..., :-1]).sum(axis=2)
        return emission.answers[chosen]
    said = _said(posterior, users, items)
    if posterior.likelihood == "bernoulli":
        return (rng.random(said.shape) < said).astype(np.float64)
    noisy: Floats = said + posterior.noise_deviation[:, users] * rng.standard_normal(said.shape)
    return noisy


def _said(posterior: Posterior, users: Rows, items: Rows) -> Floats:
    """Return theta . psi in every draw, or the chance of a yes that it means."""
    factors = posterior.factors
    theta, psi = factors.theta[:, users].astype(np.float64), factors.psi[:, items].astype(np.float64)
    said: Floats = np.einsum("knd,knd->kn", theta, psi)
    return chances_of_yes(said) if factors.hidden else said


def _shares(posterior: Posterior, users: Rows, items: Rows) -> Floats:
    """Return the probability of every answer in every draw: what events say of it; float64[n_draws, n, R]."""
    emission = emission_of(posterior.likelihood, posterior.levels, posterior.training)
    factors = posterior.factors
    codes = nearest(factors.psi[:, items], posterior.levels)
    theta = factors.theta[:, users].astype(np.float64)
    return np.einsum("knd,kndr->knr", theta / theta.sum(axis=2, keepdims=True), emission.chances[codes])
