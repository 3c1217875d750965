"""Chains that start from what was learned before, where a table has changed: from one model, or from the last draws.

A model lies in the middle of where chains of its table go, and the last draw of a chain where the mass of its posterior
is: they need not find the way there. What neither holds of a chain's state, the priors, is learned again from thetas
and psis, and then in a few sweeps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes import Attributes, TableAttributes
from kolmogorov.data.changes import Change
from kolmogorov.data.observations import Observations
from kolmogorov.descent.attributes import Attributed, carried, moved_rows
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.chain import START, Chain, ChainState
from kolmogorov.draws.features import pattern_features
from kolmogorov.draws.levels import level_grid, nearest
from kolmogorov.draws.placement import attributed
from kolmogorov.draws.plan import Plan, short
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.draws.running import ChainSource
from kolmogorov.draws.sampler import Sampler
from kolmogorov.draws.start import plain_start

#: Sweeps before the first that is kept, those that are kept, and the share of equal shares in a theta at the start:
#: those of a model lie near the edges of the simplex, and chains further inside. Chosen on two splits of MovieLens
#: 100K, one of them that of seed 0 in `benchmarks/update.py`.
_BURN_IN, _SAMPLES, _BLUR = 10, 20, 0.2
#: Draws of the items' prior before the first sweep. By judgement.
_PRIOR_ROUNDS = 2
#: The least share of an event where a new user begins, in equal shares.
_LEAST_SHARE = 1e-3


def drawn_from(fitted: Fitted, table: Observations, seed: int, n_jobs: int | None) -> Posterior:
    """Return draws of a table of ratings, by chains that start from a model of its users and items.

    The same seed gives the same bits on any number of threads.
    """
    sizes, size = short(table), fitted.n_events
    lengths = {"n_events": size, "burn_in": _BURN_IN, "n_samples": min(_SAMPLES, sizes.n_samples), "thin": 1}
    grid = level_grid("auto", table, "gaussian", size)
    plan = Plan(**vars(sizes) | lengths, likelihood="gaussian", levels=grid)
    with one_blas_thread():
        source = ChainSource(plan, table, pattern_features(table, plan.n_features), seed)
        chains = [source.chain(number, Threads(1)) for number in range(plan.n_chains)]
        return _run(source, [started_from(fitted, chain) for chain in chains], n_jobs)


def drawn_again(posterior: Posterior, change: Change, plan: Plan, seed: int, n_jobs: int | None) -> Posterior:
    """Return the draws of a changed table, by as many chains, each from where the last draw of one was."""
    table, each = change.after, posterior.n_draws // posterior.n_chains
    plan = replace(plan, n_chains=posterior.n_chains, n_samples=each, burn_in=_BURN_IN, enough=0.0)
    known = TableAttributes(
        _kept(posterior.user_attributes, change.users, table.rows.counts > 0),
        _kept(posterior.item_attributes, change.items, table.columns.counts > 0),
    )
    with one_blas_thread():
        features = pattern_features(table, plan.n_features).with_attributes(known)
        source = ChainSource(plan, table, features, seed)
        chains = [source.chain(number, Threads(1)) for number in range(plan.n_chains)]
        states = [taken_up(posterior, (k + 1) * each - 1, change, chain) for k, chain in enumerate(chains)]
        return attributed(_run(source, states, n_jobs), known)


def _run(source: ChainSource, states: list[ChainState], n_jobs: int | None) -> Posterior:
    sampler = Sampler(source, lambda _: False, states=states)
    sampler.run(Threads(n_jobs))
    return sampler.posterior().checked()


def started_from(fitted: Fitted, chain: Chain) -> ChainState:
    """Return the state of a chain that begins at a model; psis follow its thetas in the first sweep."""
    plain, size = plain_start(chain), chain.n_events
    theta = (1.0 - _BLUR) * fitted.theta + _BLUR / size
    codes = nearest(fitted.psi.astype(np.float64), chain.levels)
    return replace(
        plain,
        theta=theta,
        psi=chain.levels[codes],
        noise=fitted.noise.copy(),
        theta_prior=chain.first_theta_prior(float(size * size)).shrunk(theta, chain.seen_users),
        psi_prior=_psi_prior(chain, chain.positions[codes], chain.seen_items, generator(chain.seed, START, 1)),
        scale=plain.shape * float(fitted.noise.mean()),
    )


def taken_up(posterior: Posterior, k: int, change: Change, chain: Chain) -> ChainState:
    """Return the state that a draw was, over the rows of the new table."""
    plain, known_users, known_items = plain_start(chain), change.users >= 0, change.items >= 0
    theta = posterior.theta[k][np.maximum(change.users, 0)].astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    codes = nearest(posterior.psi[k], posterior.levels)[np.maximum(change.items, 0)]
    noise = posterior.noise[k][np.maximum(change.users, 0)].astype(np.float64)
    noise[~known_users] = float(posterior.noise[k, posterior.user_seen].mean())
    drawn = {name: float(values[k]) for name, values in posterior.priors.items()}
    seen = known_users & chain.seen_users
    theta_prior = chain.first_theta_prior(drawn["concentration"])
    theta_prior = (theta_prior.located if chain.unobserved else theta_prior.shrunk)(theta, seen)
    theta[~known_users] = _on_simplex(theta_prior.centre[~known_users])
    rng = generator(chain.seed, START, 1)
    psi_prior = _psi_prior(chain, chain.positions[codes], known_items & chain.seen_items, rng)
    codes[~known_items] = nearest(psi_prior.centre[~known_items], chain.positions)
    shape = drawn.get("noise_shape", plain.shape)
    return replace(
        plain,
        theta=theta,
        psi=chain.levels[codes],
        noise=noise,
        theta_prior=theta_prior,
        psi_prior=psi_prior,
        scale=shape * drawn.get("noise", 1.0) ** 2,
        shape=shape,
        alpha=np.maximum(drawn["concentration"] * theta[seen].mean(axis=0), 1e-6),
    )


def _psi_prior(chain: Chain, psi: Floats, seen: NDArray[np.bool_], rng: np.random.Generator) -> PsiPrior:
    prior = chain.first_psi_prior(float(chain.observations.values.mean()))
    for _ in range(_PRIOR_ROUNDS):
        prior = prior.learned(psi, seen, chain.psi_variance, rng)
    return prior


def _kept(side: Attributed | None, before: Rows, seen: NDArray[np.bool_]) -> Attributes | None:
    """Return what is known of the rows of the new table: what was known of them before."""
    if side is None:
        return None
    rows, _ = moved_rows(side.rows, before)
    known = seen & (before >= 0)
    known[rows] = True
    return Attributes(side.columns, carried(side.values, before).astype(np.float64), known)


def _on_simplex(centre: Floats) -> Floats:
    """Cut what may lie beyond the simplex."""
    size = centre.shape[1]
    cut = np.maximum(centre, _LEAST_SHARE / size)
    found: Floats = cut / cut.sum(axis=1, keepdims=True)
    return found
