"""Where chains start: near mean answers, at the end of a descent where levels are few, or from factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kolmogorov._support.nearest import nearest
from kolmogorov._support.seeds import generator
from kolmogorov.execution import Threads
from kolmogorov.fitting.descent.engine import ThreadedEngine
from kolmogorov.fitting.descent.multi_start import MultiStart
from kolmogorov.fitting.descent.objective import Objective
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.sampling.chains.chain import START, Chain
from kolmogorov.sampling.chains.factors import FactorChain, Factors, settled_factors
from kolmogorov.sampling.chains.hidden_factors import HiddenFactorChain
from kolmogorov.sampling.chains.probit import ProbitChain
from kolmogorov.sampling.chains.state import ChainState
from kolmogorov.solvers import resolve

#: How far an item's levels begin from its mean answer, and theta's concentration. By judgement: chains forget both.
_SPREAD, _CONCENTRATION = 0.3, 30.0
#: So few levels start from a descent: its sweeps, its ridge for each rating that a user has on average, with the
#: largest, and how far thetas are moved off the simplex's edges afterwards. By judgement.
_COARSE, _SWEEPS, _RIDGE, _LARGEST_RIDGE, _BLUR = 4, 40, 0.1, 10.0, 0.05


def started(chains: Sequence[Chain], dealer: Threads) -> list[ChainState]:
    """Start chains of one table that differ in their seeds, on all threads of a dealer."""
    first, states = chains[0], [plain_start(chain) for chain in chains]
    if first.levels.size <= _COARSE:
        return [_descended(chain, state, dealer) for chain, state in zip(chains, states, strict=True)]
    if first.n_events == 1 or not first.from_factors:
        return states
    rngs = [generator(chain.seed, START, 1) for chain in chains]
    kind = HiddenFactorChain if isinstance(first, ProbitChain) else FactorChain
    found = settled_factors([kind(*given) for given in zip(chains, rngs, strict=True)], dealer)
    return [_from_factors(*given) for given in zip(chains, states, found, rngs, strict=True)]


def plain_start(chain: Chain) -> ChainState:
    """Put items around their mean answers and users anywhere: chains find their modes from there.

    A descent first brings nothing: its values are at the ends of the grid, and chains take longer to leave them.
    """
    rng = generator(chain.seed, START)
    table, size = chain.observations, chain.n_events
    mean = float(table.values.mean())
    columns = table.columns
    owners = columns.owners(0, table.n_items)
    sums = np.bincount(owners, weights=columns.values, minlength=table.n_items)
    # Items with few answers begin near the mean of all.
    usual = (sums + mean) / (columns.counts + 1.0)
    psi = usual[:, None] + _SPREAD * rng.standard_normal((table.n_items, size))
    variance = max(float(np.var(table.values)), 1e-4)
    return ChainState(
        theta=rng.dirichlet(np.ones(size), size=table.n_users),
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(table.n_users, variance),
        psi_prior=chain.first_psi_prior(mean),
        theta_prior=chain.first_theta_prior(chain.concentration or _CONCENTRATION),
        scale=chain.noise_shape * variance,
        alpha=np.full(size, 1.0 if chain.concentration is None else chain.concentration / size),
        shape=chain.noise_shape,
    )


def _descended(chain: Chain, plain: ChainState, dealer: Threads) -> ChainState:
    """Start from a descent: of few levels single ones leave a poor mode too slowly."""
    ridge = min(_RIDGE * float(chain.mass[chain.seen_users].mean()), _LARGEST_RIDGE)
    two = chain.levels.size == 2
    problem = Problem(
        resolve("simplex", "active_set"),
        resolve("binary", "local_search") if two else resolve("levels", "coordinate"),
        Objective(ridge, 0.0, "mean", chain.unobserved),
        2 if two else chain.levels.tolist(),
    )
    engine = ThreadedEngine(problem, chain.observations, dealer)
    descent = MultiStart(
        engine, chain.n_events, chain.seed, n_init=1, max_iter=_SWEEPS, tol=1e-4, keep_interrupted=False
    )
    found = descent.run().state
    psi = chain.levels[nearest(found.psi, chain.levels)]
    return replace(plain, theta=(1.0 - _BLUR) * found.theta + _BLUR / chain.n_events, psi=psi)


def _from_factors(chain: Chain, plain: ChainState, found: Factors, rng: np.random.Generator) -> ChainState:
    """Put factors onto the simplex, as far from equal shares as points anywhere on it are."""
    size = chain.n_events
    theta, psi, prior = found.on_simplex(1.0 / size, rng)
    return replace(
        plain,
        theta=theta,
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(len(theta), found.noise),
        psi_prior=prior,
        theta_prior=chain.first_theta_prior(chain.concentration or float(size * size)),
        scale=chain.noise_shape * found.noise,
    )
