"""Where chains start: near mean answers, at the end of a descent where levels are two, from factors, or from before.

Where a table has changed, a model lies in the middle of where chains of its table go, and the last draw of a chain
where the mass of its posterior is: they need not find the way there. What neither holds of a chain's state, the priors,
is learned again from thetas and psis, and then in a few sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.changes import Change
from kolmogorov.descent.engine import Engine, Search, ThreadedEngine
from kolmogorov.descent.fitted import NOISE, Fitted
from kolmogorov.descent.problem import Problem
from kolmogorov.draws.chain import START, Chain, ChainState
from kolmogorov.draws.factors import FactorChain, Factors, settled_factors
from kolmogorov.draws.plan import WARM_BLUR, nearest
from kolmogorov.draws.posterior import Posterior
from kolmogorov.solvers import resolve

#: How far an item's levels begin from its mean answer. By judgement: chains forget it.
_SPREAD = 0.3
#: Two levels start from a descent: its sweeps, its ridge for each rating that a user has on average, with the
#: largest, and how far thetas are moved off the simplex's edges afterwards. By judgement.
_SWEEPS, _RIDGE, _LARGEST_RIDGE, _BLUR = 40, 0.1, 10.0, 0.05
#: Draws of the items' prior before the first sweep where chains start from before. By judgement.
_PRIOR_ROUNDS = 2
#: The least share of an event where a new user begins, in equal shares.
_LEAST_SHARE = 1e-3


def started(chains: Sequence[Chain], dealer: Threads) -> list[ChainState]:
    """Start chains of one table that differ in their seeds, on all threads of a dealer."""
    first, states = chains[0], [plain_start(chain) for chain in chains]
    if first.levels.size == 2:
        engine = ThreadedEngine(start_problem(first), first.observations, dealer)
        return [descended(chain, state, engine) for chain, state in zip(chains, states, strict=True)]
    if first.n_events == 1 or first.unobserved:
        return states
    rngs = [generator(chain.seed, START, 1) for chain in chains]
    found = settled_factors([FactorChain(*given) for given in zip(chains, rngs, strict=True)], dealer)
    return [from_factors(*given) for given in zip(chains, states, found, rngs, strict=True)]


def plain_start(chain: Chain) -> ChainState:
    """Put items around their mean answers and users anywhere: chains find their modes from there.

    A descent first brings nothing: its values are at the ends of the grid, and chains take longer to leave them.
    """
    rng = generator(chain.seed, START)
    table, size = chain.observations, chain.n_events
    mean, variance = float(table.values.mean()), max(float(np.var(table.values)), 1e-4)
    columns = table.columns
    sums = np.bincount(columns.owners(0, table.n_items), weights=columns.values, minlength=table.n_items)
    # Items with few answers begin near the mean of all.
    usual = (sums + mean) / (columns.counts + 1.0)
    psi = usual[:, None] + _SPREAD * rng.standard_normal((table.n_items, size))
    return ChainState(
        theta=rng.dirichlet(np.ones(size), size=table.n_users),
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(table.n_users, NOISE if chain.kind.hidden else variance),
        psi_prior=chain.first_psi_prior(mean),
        theta_prior=chain.first_theta_prior(),
        scale=chain.noise_shape * variance,
        shape=chain.noise_shape,
    )


def start_problem(chain: Chain) -> Problem:
    """Return what a descent solves, in which two levels start: single ones leave a poor mode too slowly."""
    ridge = min(_RIDGE * float(chain.mass[chain.seen_users].mean()), _LARGEST_RIDGE)
    solvers = resolve("simplex", "active_set"), resolve("binary", "local_search")
    return Problem(*solvers, user_reg=ridge, unobserved=chain.unobserved)


def descended(chain: Chain, plain: ChainState, engine: Engine) -> ChainState:
    """Start from the end of a descent."""
    found = Search(chain.n_events, chain.seed, max_iter=_SWEEPS).run(engine).state
    psi = chain.levels[nearest(found.psi, chain.levels)]
    return replace(plain, theta=(1.0 - _BLUR) * found.theta + _BLUR / chain.n_events, psi=psi)


def from_factors(chain: Chain, plain: ChainState, found: Factors, rng: np.random.Generator) -> ChainState:
    """Put factors onto the simplex, as far from equal shares as points anywhere on it are."""
    size = chain.n_events
    theta, psi, prior = found.on_simplex(1.0 / size, rng)
    return replace(
        plain,
        theta=theta,
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(len(theta), found.noise),
        psi_prior=prior,
        theta_prior=chain.first_theta_prior(float(size * size)),
        scale=chain.noise_shape * found.noise,
    )


# --- from what was learned before -------------------------------------------------------------------------------------


def started_from(fitted: Fitted, chain: Chain) -> ChainState:
    """Return the state of a chain that begins at a model; psis follow its thetas in the first sweep."""
    size, shape = chain.n_events, chain.noise_shape
    theta = (1.0 - WARM_BLUR) * fitted.theta + WARM_BLUR / size
    codes = nearest(fitted.psi.astype(np.float64), chain.levels)
    scale = shape * float(fitted.noise.mean())
    known = np.ones(len(theta), dtype=bool), np.ones(len(codes), dtype=bool)
    return _state_of(chain, theta, codes, fitted.noise.copy(), known, float(size * size), scale, shape)


def taken_up(posterior: Posterior, k: int, change: Change, chain: Chain) -> ChainState:
    """Return the state that a draw was, over the rows of the new table."""
    known, users = (change.users >= 0, change.items >= 0), np.maximum(change.users, 0)
    theta = posterior.theta[k][users].astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    codes = nearest(posterior.psi[k], posterior.levels)[np.maximum(change.items, 0)]
    noise = posterior.noise[k][users].astype(np.float64)
    noise[~known[0]] = float(posterior.noise[k, posterior.user_seen].mean())
    drawn = {name: float(values[k]) for name, values in posterior.priors.items()}
    shape = drawn.get("noise_shape", chain.noise_shape)
    scale = shape * drawn.get("noise", 1.0) ** 2
    return _state_of(chain, theta, codes, noise, known, drawn["concentration"], scale, shape)


def _state_of(
    chain: Chain,
    theta: Floats,
    codes: NDArray[np.uint8],
    noise: Floats,
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    concentration: float,
    scale: float,
    shape: float,
) -> ChainState:
    """Return a state whose priors are learned from the thetas and psis that are known, and place the others by them."""
    users, items = known
    theta_prior = chain.first_theta_prior(concentration).fitted(theta, users & chain.seen_users)
    # What may lie beyond the simplex is cut.
    fresh = np.maximum(theta_prior.pull[1][~users], _LEAST_SHARE / chain.n_events)
    theta[~users] = fresh / fresh.sum(axis=1, keepdims=True)
    rng, positions = generator(chain.seed, START, 1), chain.kind.positions
    psi_prior = chain.first_psi_prior(float(chain.observations.values.mean()))
    for _ in range(_PRIOR_ROUNDS):
        psi_prior = psi_prior.learned(positions[codes], items & chain.seen_items, chain.kind.psi_variance, rng)
    codes[~items] = nearest(psi_prior.centre[~items], positions)
    return ChainState(theta, chain.levels[codes], noise, psi_prior, theta_prior, scale, shape)
