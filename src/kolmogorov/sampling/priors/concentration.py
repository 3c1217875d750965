"""How tightly thetas lie around their centres, learned although the prior's normalising constant is unknown."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.kernels.draws.gibbs import draw_simplex
from kolmogorov.sampling.priors.theta import ThetaPrior

#: The concentration's own prior: its logarithm is Normal. Wide, by judgement.
_USUAL, _SPREAD = math.log(100.0), 2.0
#: The largest step of the logarithm, the least information of a theta about it, and where the concentration lies. By
#: judgement: they bind in the first sweeps at most.
_LARGEST_STEP, _LEAST_INFORMATION, _LEAST, _MOST = 0.2, 1e-4, 0.1, 1e4


def stepped(prior: ThetaPrior, theta: Floats, seen: NDArray[np.bool_], rng: np.random.Generator) -> ThetaPrior:
    """Take one scoring step for the logarithm of the concentration, given thetas of all users.

    Its slope is how much closer thetas lie to their centres than draws from the prior do, its information the variance
    of those draws' distances: on the simplex a step that is right for a normal distribution is far too short where the
    edges and not the concentration hold thetas together.
    """
    who = np.resize(np.flatnonzero(seen), len(prior.prior_draws))
    pull, centre = prior.concentration, prior.centre
    size = centre.shape[1]
    drawn = np.empty_like(prior.prior_draws)
    seeds = rng.integers(2**63, size=len(who)).astype(np.uint64)
    draw_simplex(np.tile(pull * np.eye(size), (len(who), 1, 1)), pull * centre[who], prior.prior_draws, seeds, 2, drawn)
    usual = ((drawn - centre[who]) ** 2).sum(axis=1)
    found = float(((theta[seen] - centre[seen]) ** 2).sum(axis=1).mean())
    n = int(seen.sum())
    concentration = scored(pull, n, found, float(usual.mean()), float(usual.var()))
    return replace(prior, prior_draws=drawn, concentration=concentration)


def scored(pull: float, n: int, found: float, usual: float, variance: float) -> float:
    """Return the concentration after the step, given the mean square distance of `n` thetas and that of prior draws."""
    information = n * max(0.25 * pull * pull * variance, _LEAST_INFORMATION) + _SPREAD**-2
    slope = n * 0.5 * pull * (usual - found) + (_USUAL - math.log(pull)) * _SPREAD**-2
    step = min(max(slope / information, -_LARGEST_STEP), _LARGEST_STEP)
    return min(max(pull * math.exp(step), _LEAST), _MOST)
