"""The chains that a model of ratings was learned from, taken up again where they ended.

They lie where the mass of their posterior is already, so that a few draws of each complete the changed table about as
well as the many draws of a fit do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kolmogorov._support.progress import notice
from kolmogorov.data.table.changes import Change
from kolmogorov.data.table.observations import Observations
from kolmogorov.fitted.base import checked
from kolmogorov.fitted.drawn.chains import PRIORS, Chains
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.distillation.only_yes import AveragedDescents
from kolmogorov.sampling.moving.draws import Lengths, moved
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.sizes import short

#: Chosen on the split of seed 0 in `benchmarks/update.py`, among 8 to 24 draws: more than 12 take longer.
_LENGTHS = Lengths(rounds=1, learning=1, n_each=12)


def ended(drawn: Posterior) -> Chains | None:
    """Return where the chains of some draws ended; None where they are of another kind than of ratings with noise."""
    if drawn.likelihood != "gaussian" or drawn.unobserved or set(drawn.priors) != set(PRIORS):
        return None
    each = drawn.n_draws // drawn.n_chains
    last = slice(each - 1, None, each)
    theta, psi, noise = (np.ascontiguousarray(one[last]) for one in (drawn.theta, drawn.psi, drawn.noise))
    priors = {name: drawn.priors[name][last].copy() for name in PRIORS}
    return Chains(theta, psi.astype(np.float32, copy=False), noise, drawn.levels, priors)


def with_chains(fitted: Fitted, drawn: Posterior | AveragedDescents) -> Fitted:
    """Return a model with where its chains ended; without, where these are larger than the model and its ratings.

    Chains of yes and no are not kept: going on with them brings nothing.
    """
    chains = ended(drawn) if isinstance(drawn, Posterior) and _same_rows(drawn, fitted) else None
    if chains is not None and chains.n_bytes > fitted.n_bytes:
        notice("The chains are larger than the model, and are not kept: an update starts others, from the model.")
        chains = None
    return checked(replace(fitted, chains=chains))


def _same_rows(drawn: Posterior, fitted: Fitted) -> bool:
    return drawn.users == fitted.users and drawn.items == fitted.items


def drawn_on(chains: Chains, change: Change, seed: int, n_jobs: int | None) -> Posterior:
    """Return draws of a changed table, by chains that go on; the same seed gives the same bits."""
    before, table = _draws_of(chains, change.before), change.after
    lengths = {"n_events": chains.n_events, "n_chains": before.n_chains, "n_samples": _LENGTHS.n_each, "thin": 1}
    plan = Plan(**vars(short(table)) | lengths, likelihood="gaussian", levels=chains.levels)
    return moved(before, change, plan, seed, n_jobs, _LENGTHS)


def _draws_of(chains: Chains, training: Observations) -> Posterior:
    sides, n_chains = (chains.theta, chains.psi, chains.noise), len(chains.theta)
    return Posterior(*sides, n_chains, "gaussian", training, chains.levels, priors=dict(chains.priors))
