"""Chains whose table has changed, taken up where they ended.

The last draw of a chain lies where the mass of its posterior is, and the posterior of a table with some entries more
lies near. What a draw does not hold of a chain's state, the priors that burn-in learned, is learned again from its
thetas and psis. Users and items that were touched are drawn some times given all the rest, those that are new from
their priors on; then the chain goes on, a sweep for each draw that it has, and its draws are those sweeps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes.reading import Attributes, TableAttributes
from kolmogorov.data.table.changes import Change
from kolmogorov.execution import Threads
from kolmogorov.fitted.attributes.attributed import Attributed, carried, moved_rows
from kolmogorov.fitted.base import by_users, checked
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.chain import START, Chain, Part
from kolmogorov.sampling.chains.source import ChainSource, chain_kind
from kolmogorov.sampling.chains.start import plain_start
from kolmogorov.sampling.chains.state import ChainState, Sample
from kolmogorov.sampling.placement import attributed
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors.features import pattern_features

#: Draws of the items' prior before the first sweep. By judgement.
_PRIOR_ROUNDS = 2
#: The least share of an event where a new user begins, in equal shares.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Lengths:
    """How far chains go on."""

    #: How often touched rows are drawn given the rest. By judgement, as the next.
    rounds: int = 3
    #: Sweeps over everything that are not kept, in which priors are learned.
    learning: int = 2
    #: Draws of each chain; None for as many as there are.
    n_each: int | None = None


@dataclass(frozen=True, eq=False)
class Moving:
    """What all chains have in common: the draws before, the change, and where chains of the new table come from."""

    posterior: Posterior
    change: Change
    source: ChainSource
    lengths: Lengths

    def samples(self, number: int) -> list[Sample]:
        """Return the draws of a chain, moved on."""
        chain, lengths = self.source.chain(number, Threads(1)), self.lengths
        before = self.posterior.n_draws // self.posterior.n_chains
        state = self._taken_up(chain, (number + 1) * before - 1)
        after = self.change.after
        users = Part(self.change.touched_users, after.rows.picked(self.change.touched_users))
        items = Part(self.change.touched_items, after.columns.picked(self.change.touched_items))
        for index in range(lengths.rounds):
            state = chain.redrawn(state, users, items, index)
        found, first = [], lengths.rounds + lengths.learning
        for index in range(lengths.rounds, first + (lengths.n_each or before)):
            learning = index < first
            state = chain.sweep(state, index, learning=learning)
            if not learning:
                found.append(chain.sample(state))
        return found

    def _taken_up(self, chain: Chain, k: int) -> ChainState:
        """Return the state that a draw was, over the rows of the new table."""
        posterior, change = self.posterior, self.change
        known_users, known_items = change.users >= 0, change.items >= 0
        rng = generator(chain.seed, START)
        theta = posterior.theta[k][np.maximum(change.users, 0)].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        codes = nearest(posterior.psi[k], posterior.levels)[np.maximum(change.items, 0)]
        noise = posterior.noise[k][np.maximum(change.users, 0)].astype(np.float64)
        noise[~known_users] = float(posterior.noise[k, posterior.user_seen].mean())
        drawn = {name: float(values[k]) for name, values in posterior.priors.items()}
        start = plain_start(chain)
        seen_users = known_users & chain.seen_users
        theta_prior = chain.first_theta_prior(drawn["concentration"])
        theta_prior = (theta_prior.located if chain.unobserved else theta_prior.shrunk)(theta, seen_users)
        theta[~known_users] = _on_simplex(theta_prior.centre[~known_users])
        position = chain.positions
        psi_prior = chain.first_psi_prior(float(chain.observations.values.mean()))
        for _ in range(_PRIOR_ROUNDS):
            psi_prior = psi_prior.learned(position[codes], known_items & chain.seen_items, chain.psi_variance, rng)
        codes[~known_items] = nearest(psi_prior.centre[~known_items], position)
        shape = drawn.get("noise_shape", start.shape)
        return replace(
            start,
            theta=theta,
            psi=chain.levels[codes],
            noise=noise,
            theta_prior=theta_prior,
            psi_prior=psi_prior,
            scale=shape * drawn.get("noise", 1.0) ** 2,
            shape=shape,
            alpha=np.maximum(drawn["concentration"] * theta[seen_users].mean(axis=0), 1e-6),
        )


def moved(
    posterior: Posterior, change: Change, plan: Plan, seed: int, n_jobs: int | None, lengths: Lengths | None = None
) -> Posterior:
    """Return the draws after a change of their table; the same seed gives the same bits on any number of threads."""
    table = change.after
    known = TableAttributes(
        _kept(posterior.user_attributes, change.users, table.rows.counts > 0),
        _kept(posterior.item_attributes, change.items, table.columns.counts > 0),
    )
    with one_blas_thread():
        features = pattern_features(table, plan.n_features).with_attributes(known)
        source = ChainSource(plan, table, features, seed)
        moving = Moving(posterior, change, source, lengths or Lengths())
        # Made once, before threads ask for it at the same time.
        _ = table.columns
        with ThreadPoolExecutor(thread_count(n_jobs)) as pool:
            chains = list(pool.map(moving.samples, range(posterior.n_chains)))
    samples = [sample for chain in chains for sample in chain]
    names = chain_kind(plan).prior_names
    found = replace(
        posterior,
        theta=np.array([sample.theta for sample in samples]),
        psi=np.array([sample.psi for sample in samples]),
        noise=np.array([sample.noise for sample in samples]),
        priors={name: np.array([sample.priors[name] for sample in samples]) for name in names},
        training=by_users(table),
        user_attributes=None,
        item_attributes=None,
    )
    return attributed(checked(found), known)


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
