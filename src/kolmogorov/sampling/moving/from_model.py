"""Chains that start from one model: where its table has changed they complete it again, in a few sweeps.

A model lies in the middle of where chains of its table go, so that they need not find the way there. Its psis are few
values and its thetas lie near the edges of the simplex, and chains have many values and lie further inside: thetas are
moved there, and psis follow in the first sweep.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kolmogorov._support.nearest import nearest
from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data.table.observations import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import checked
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.chain import START, Chain
from kolmogorov.sampling.chains.source import ChainSource
from kolmogorov.sampling.chains.start import plain_start
from kolmogorov.sampling.chains.state import ChainState, SamplerState
from kolmogorov.sampling.levels import level_grid
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors.features import pattern_features
from kolmogorov.sampling.sampler import Sampler
from kolmogorov.sampling.sizes import short

#: Sweeps before the first that is kept, those that are kept, and the share of equal shares in a theta at the start.
#: Chosen on two splits of MovieLens 100K, one of them that of seed 0 in `benchmarks/update.py`.
_BURN_IN, _SAMPLES, _BLUR = 10, 20, 0.2
#: Draws of the items' prior before the first sweep. By judgement.
_PRIOR_ROUNDS = 2


def drawn_from(fitted: Fitted, table: Observations, seed: int, n_jobs: int | None) -> Posterior:
    """Return draws of a table of ratings, by chains that start from a model of its users and items.

    The same seed gives the same bits on any number of threads.
    """
    sizes, size = short(table), fitted.n_events
    lengths = {"n_events": size, "burn_in": _BURN_IN, "n_samples": min(_SAMPLES, sizes.n_samples), "thin": 1}
    grid = level_grid("auto", table, "gaussian", size)
    plan = Plan(**vars(sizes) | lengths, likelihood="gaussian", levels=grid)
    with one_blas_thread():
        features = pattern_features(table, plan.n_features)
        source = ChainSource(plan, table, features, seed)
        states = [started_from(fitted, source.chain(number, Threads(1))) for number in range(plan.n_chains)]
        progress = SamplerState(seed, samples=[[] for _ in states], current=states)
        sampler = Sampler(plan, table, features, progress, None, None, lambda _: False)
        sampler.run(Threads(n_jobs))
    return checked(sampler.posterior())


def started_from(fitted: Fitted, chain: Chain) -> ChainState:
    """Return the state of a chain that begins at a model."""
    plain, size, rng = plain_start(chain), chain.n_events, generator(chain.seed, START, 1)
    theta = (1.0 - _BLUR) * fitted.theta + _BLUR / size
    codes = nearest(fitted.psi.astype(np.float64), chain.levels)
    theta_prior = chain.first_theta_prior(float(size * size)).shrunk(theta, chain.seen_users)
    psi_prior = chain.first_psi_prior(float(chain.observations.values.mean()))
    for _ in range(_PRIOR_ROUNDS):
        psi_prior = psi_prior.learned(chain.positions[codes], chain.seen_items, chain.psi_variance, rng)
    return replace(
        plain,
        theta=theta,
        psi=chain.levels[codes],
        noise=fitted.noise.copy(),
        theta_prior=theta_prior,
        psi_prior=psi_prior,
        scale=plain.shape * float(fitted.noise.mean()),
    )
